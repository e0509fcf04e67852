//! [`Shape`]: how calls are written as tags, for the reader in `tags`.

/// How calls and parameters are written.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// The call.
    pub(crate) call: Tag,
    /// A parameter, with its value.
    pub(crate) parameter: Tag,
    /// Whether the value has a tag of its own behind that of the key: the end of the parameter's head.
    pub(crate) is_keyed: bool,
    /// Options for what differs from the usual form.
    pub(crate) options: TagOptions,
}

impl Shape {
    /// A shape with elements for the parameters and no further options.
    pub(crate) const fn new(call: Tag, parameter: Tag) -> Self {
        Self { call, parameter, is_keyed: false, options: TagOptions::PLAIN }
    }

    /// Sets the options.
    pub(crate) const fn with(self, options: TagOptions) -> Self {
        Self { options, ..self }
    }

    /// After one of these stands a value (or the parameter's name, and then the value).
    pub(crate) fn value_from(&'static self) -> &'static [&'static str] {
        if self.is_keyed { std::slice::from_ref(&self.parameter.head_end) } else { self.parameter.opens }
    }
}

/// A [`Tag`] of this name with an attribute `name`. Models leave out the blank at times, or the quotes.
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

/// How something with a name is written: `open`, name, one of `name_ends`, perhaps attributes, `head_end`; …, `close`.
#[derive(Clone, Copy)]
pub(crate) struct Tag {
    /// Opening delimiters; without any, it begins where the block does.
    pub(crate) opens: &'static [&'static str],
    /// What ends the name.
    pub(crate) name_ends: &'static [&'static str],
    /// What ends its head; empty: the name does.
    pub(crate) head_end: &'static str,
    /// What ends it.
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

/// What sets one dialect apart from another of the same shape.
#[derive(Clone, Copy)]
pub(crate) struct TagOptions {
    /// A line break after the tag and one before its end belong to the tags.
    pub(crate) on_lines: bool,
    /// A value that no schema describes is what it looks like, not a string.
    pub(crate) by_looks: bool,
    /// A tool may be called by its namespace and its name.
    pub(crate) has_namespaces: bool,
    /// A value is what it looks like, whatever the schema says.
    pub(crate) ignores_schema: bool,
    /// What opens a block is never only mentioned.
    pub(crate) is_certain: bool,
    /// A string may be in quotes.
    pub(crate) quoted: bool,
    /// A value may be in `<![CDATA[…]]>`.
    pub(crate) cdata: bool,
    /// Parameters count only if the schema lists them, and once.
    pub(crate) declared: bool,
    /// A call that was cut off is not said as text.
    pub(crate) silent_when_cut: bool,
    /// Whether the beginning of a call that was cut off is reported, if the reader's settings ask for it.
    pub(crate) says_beginnings: bool,
    /// What may be between the beginning of a block and the first call.
    pub(crate) leads: &'static [&'static str],
}

impl TagOptions {
    /// The shape without any deviation.
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
