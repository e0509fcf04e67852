//! [`reader`]: separates delimiters from the text between them; a [`Machine`] interprets both.
use super::{
    Reader, Said,
    delimiters::{Delimiters, Found},
};

/// Interprets the delimiters and texts of a dialect.
pub(super) trait Machine: Send {
    /// Handles text; how it is split into pieces has no meaning.
    fn text(&mut self, text: &str, said: &mut Vec<Said>);
    /// Handles a delimiter.
    fn delimiter(&mut self, delimiter: &'static str, said: &mut Vec<Said>);
    /// Handles the end of the reply.
    fn end(&mut self, said: &mut Vec<Said>);
    /// See [`Reader::opens_calls`].
    fn opens_calls(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// A reader that separates delimiters from text.
pub(super) fn reader(
    delimiters: &'static [&'static str],
    machine: impl Machine + 'static,
) -> Box<dyn Reader> {
    let delimiters = Delimiters::new(delimiters.iter().copied());
    Box::new(Tokens { delimiters, machine, held: String::new() })
}

struct Tokens<G> {
    delimiters: Delimiters,
    machine: G,
    /// Text that may be the beginning of a delimiter.
    held: String,
}

impl<G: Machine> Reader for Tokens<G> {
    fn opens_calls(&self) -> Vec<&'static str> {
        self.machine.opens_calls()
    }

    fn push(&mut self, text: &str, said: &mut Vec<Said>) {
        let mut buffer = std::mem::take(&mut self.held);
        buffer.push_str(text);
        let mut from = 0;
        loop {
            match self.delimiters.find(&buffer, from, false) {
                Found::Delimiter { at, delimiter, .. } => {
                    self.text(&buffer[from..at], said);
                    self.machine.delimiter(delimiter, said);
                    from = at + delimiter.len();
                }
                Found::Open(at) => {
                    buffer[at..].clone_into(&mut self.held);
                    return self.text(&buffer[from..at], said);
                }
            }
        }
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        let held = std::mem::take(&mut self.held);
        self.text(&held, said);
        self.machine.end(said);
    }
}

impl<G: Machine> Tokens<G> {
    fn text(&mut self, text: &str, said: &mut Vec<Said>) {
        if !text.is_empty() {
            self.machine.text(text, said);
        }
    }
}

/// Emits `text`, unless it is empty.
pub(super) fn say(said: &mut Vec<Said>, kind: fn(String) -> Said, text: &str) {
    if !text.is_empty() {
        said.push(kind(text.to_owned()));
    }
}

/// The raw header of a message.
pub(super) struct Header {
    pub(super) raw: String,
    /// Whether the reply begins with it: then it may be the rest of a header that the prompt began.
    pub(super) at_start: bool,
}

impl Header {
    /// Maximum length; longer text is not a header.
    const MAX_LENGTH: usize = 1_000;

    pub(super) fn at_start() -> Self {
        Self { raw: String::new(), at_start: true }
    }

    /// The state after a delimiter, which belongs to it unless it is empty.
    pub(super) fn behind(delimiter: &str) -> Self {
        Self { raw: delimiter.into(), at_start: false }
    }

    /// Adds text, and returns whether it may still be a header.
    pub(super) fn push(&mut self, text: &str) -> bool {
        self.raw.push_str(text);
        let begun = self.raw.trim_start();
        let fits = !self.at_start || begun.starts_with("to=") || "to=".starts_with(begun);
        fits && self.raw.len() <= Self::MAX_LENGTH
    }
}

/// The recipient in a header such as `assistant to=NAME`.
pub(super) fn recipient(header: &str) -> Option<&str> {
    header.split_whitespace().find_map(|word| word.strip_prefix("to=")).filter(|name| !name.is_empty())
}
