//! [`Unclosed`]: finds calls in thoughts that were never closed. Text that may be a call is held back until the
//! thoughts or the reply end.
use crate::{Reading, Said, Setting, delimiters::Delimiters, tokens::say};

/// The state of thoughts that are arriving.
pub(super) struct Unclosed {
    /// Delimiters with which calls begin; `None` if calls end the thoughts anyway.
    opens: Option<Delimiters>,
    held: String,
    /// Whether the held text begins with such a delimiter; otherwise with a prefix of one.
    is_begun: bool,
}

impl Unclosed {
    pub(super) fn new(opens: Vec<&'static str>) -> Self {
        let opens = (!opens.is_empty()).then(|| Delimiters::new(opens));
        Self { opens, held: String::new(), is_begun: false }
    }

    pub(super) fn push(&mut self, text: &str, said: &mut Vec<Said>) {
        self.held.push_str(text);
        let Some(opens) = &self.opens else { return self.flush(said) };
        if self.is_begun {
            return;
        }
        let found = opens.first(&self.held, 0);
        self.is_begun = found.is_some();
        let from = found.map_or(self.held.len() - opens.unfinished(&self.held), |(at, ..)| at);
        let rest = self.held.split_off(from);
        say(said, Said::Thinking, &std::mem::replace(&mut self.held, rest));
    }

    /// Emits the held text.
    pub(super) fn flush(&mut self, said: &mut Vec<Said>) {
        say(said, Said::Thinking, &self.rest());
    }

    /// Takes the held text.
    pub(super) fn rest(&mut self) -> String {
        self.is_begun = false;
        std::mem::take(&mut self.held)
    }
}

/// Parses `thoughts` as a reply, if they contain complete calls that can all be run and end with them. The text before
/// the first call stays thoughts. Some models forget to close their thoughts before a call; but models that continue
/// after a call only consider it.
pub(super) fn calls(thoughts: &str, reading: Reading, setting: &Setting) -> Option<Vec<Said>> {
    if thoughts.is_empty() {
        return None;
    }
    let told = Setting { begins_thinking: Some(false), beginnings: false, ..setting.clone() };
    let mut reader = reading.reader(&told);
    let mut said = Vec::new();
    reader.push(thoughts, &mut said);
    reader.end(&mut said);
    let is_known = |name: &str| setting.tools.is_empty() || setting.tool(name).is_some();
    let is_good = |said: &Said| match said {
        Said::Call(call) => is_known(&call.name) && call.object().is_ok(),
        said => !matches!(said, Said::Problem(_)),
    };
    let first = said.iter().position(|said| matches!(said, Said::Call(_)))?;
    // A model that calls an unknown tool after other text may be quoting.
    let is_meant = first == 0 || !setting.tools.is_empty();
    let is_word = |said: &Said| matches!(said, Said::Text(text) if !text.trim().is_empty());
    let last = said.iter().rposition(|said| matches!(said, Said::Call(_)))?;
    if !is_meant || !said.iter().all(is_good) || said[last..].iter().any(is_word) {
        return None;
    }
    for before in &mut said[..first] {
        if let Said::Text(text) = before {
            *before = Said::Thinking(std::mem::take(text));
        }
    }
    said.retain(|said| *said != Said::ThinkingEnd);
    Some(said)
}
