//! [`Shape`]: the notation of calls as tags, for the reader in `tagged_calls`.

/// The notation of calls and parameters.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// The tag of the call.
    pub(crate) call: Tag,
    /// The tag of a parameter, with its value.
    pub(crate) parameter: Tag,
    /// Whether the value has its own tag after that of the key: the end of the parameter's head.
    pub(crate) is_keyed: bool,
    /// Deviations from the usual form.
    pub(crate) options: TagOptions,
}

impl Shape {
    /// A shape with elements for the parameters and without deviations.
    pub(crate) const fn new(call: Tag, parameter: Tag) -> Self {
        Self { call, parameter, is_keyed: false, options: TagOptions::PLAIN }
    }

    /// Sets the options.
    pub(crate) const fn with(self, options: TagOptions) -> Self {
        Self { options, ..self }
    }

    /// The delimiters that precede a value (or the parameter's name, followed by the value).
    pub(crate) fn value_from(&'static self) -> &'static [&'static str] {
        if self.is_keyed { std::slice::from_ref(&self.parameter.head_end) } else { self.parameter.opens }
    }
}

/// A [`Tag`] with this name and an attribute `name`. Models sometimes omit the blank or the quotes.
macro_rules! named_tag {
    ($name:literal) => {
        Tag {
            opens: &[
                concat!("<", $name, " name=\""),
                concat!("<", $name, "name=\""),
                concat!("<", $name, " name="),
                concat!("<", $name, "name="),
            ],
            name_ends: &["\"", ">"],
            head_end: ">",
            close: concat!("</", $name, ">"),
        }
    };
}
pub(crate) use named_tag;

/// The notation of something with a name: `open`, name, one of `name_ends`, optionally attributes, `head_end`; …,
/// `close`.
#[derive(Clone, Copy)]
pub(crate) struct Tag {
    /// Opening delimiters; if empty, it begins at the start of the block.
    pub(crate) opens: &'static [&'static str],
    /// Delimiters that end the name.
    pub(crate) name_ends: &'static [&'static str],
    /// The end of the head; if empty, the head ends with the name.
    pub(crate) head_end: &'static str,
    /// The closing delimiter.
    pub(crate) close: &'static str,
}

impl Tag {
    pub(crate) const fn new(
        opens: &'static [&'static str],
        name_ends: &'static [&'static str],
        head_end: &'static str,
        close: &'static str,
    ) -> Self {
        Self { opens, name_ends, head_end, close }
    }
}

/// The differences of dialects with the same shape.
#[derive(Clone, Copy)]
pub(crate) struct TagOptions {
    /// A line break after the opening tag and one before the closing tag belong to the tags.
    pub(crate) on_lines: bool,
    /// A value that no schema describes has the type that it looks like, instead of being a string.
    pub(crate) by_looks: bool,
    /// A tool may be called by its namespace and its name.
    pub(crate) has_namespaces: bool,
    /// A value has the type that it looks like, whatever the schema says.
    pub(crate) ignores_schema: bool,
    /// The opening delimiter of a block is never only a mention.
    pub(crate) is_certain: bool,
    /// A string may be in quotes.
    pub(crate) quoted: bool,
    /// A value may be in `<![CDATA[…]]>`.
    pub(crate) cdata: bool,
    /// Parameters count only if the schema lists them, and only once.
    pub(crate) declared: bool,
    /// A call that was cut off is not emitted as text.
    pub(crate) silent_when_cut: bool,
    /// Whether an incomplete call at the end of the reply is emitted, if the reader's settings ask for it.
    pub(crate) says_beginnings: bool,
    /// Text that may be between the beginning of a block and the first call.
    pub(crate) leads: &'static [&'static str],
}

impl TagOptions {
    /// No deviations.
    pub(crate) const PLAIN: Self = Self {
        on_lines: false,
        by_looks: false,
        has_namespaces: false,
        ignores_schema: false,
        is_certain: false,
        quoted: false,
        cdata: false,
        declared: false,
        silent_when_cut: false,
        says_beginnings: false,
        leads: &[],
    };
}

/// Delimiters of text in which tags are not read.
pub(crate) const CDATA: (&str, &str) = ("<![CDATA[", "]]>");
