//! [`Held`]: holds calls in the text of a reply back until its end, since they may turn out not to be calls: native
//! calls take precedence, and a call in a Markdown fence that is followed by words is only quoted.
use haft_dialects::{Dialect, SENTINEL, Said, Setting, read};

/// From the first uncertain call on, everything waits for the end of the reply.
pub(super) struct Held {
    /// Whether calls in the text count only in a reply without native ones.
    native_first: bool,
    has_native: bool,
    /// The text that was passed on.
    shown: String,
    waiting: Vec<Said>,
}

impl Held {
    pub(super) fn new(native_first: bool) -> Self {
        Self { native_first, has_native: false, shown: String::new(), waiting: Vec::new() }
    }

    /// Starts again, since the reply is repeated.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.native_first);
    }

    /// Notes that the reply has a native call.
    pub(super) fn native(&mut self) {
        self.has_native = true;
    }

    /// Adds items of a reader, and returns those that are certain.
    pub(super) fn hear(&mut self, said: Vec<Said>) -> Vec<Said> {
        let mut certain = Vec::new();
        for said in said {
            let is_certain = self.waiting.is_empty()
                && match &said {
                    Said::Text(_) | Said::Thinking(_) | Said::ThinkingEnd => true,
                    Said::Call(_) | Said::Problem(_) => {
                        !self.native_first && open_fence(&self.shown).is_none()
                    }
                };
            match (&said, is_certain) {
                (_, false) => self.waiting.push(said),
                (Said::Text(text), true) => {
                    self.shown += text;
                    certain.push(said);
                }
                (_, true) => certain.push(said),
            }
        }
        certain
    }

    /// Returns the rest at the end of `reply`: the calls, or the text in which they were written. The text after the
    /// sentinel is never shown to the user.
    pub(super) fn end(
        &mut self,
        said: Vec<Said>,
        dialect: &Dialect,
        setting: &Setting,
        reply: &str,
    ) -> Vec<Said> {
        let mut certain = self.hear(said);
        let mut waiting = joined(std::mem::take(&mut self.waiting));
        let quoted = quotations(&self.shown, &waiting);
        let is_call = |said: &Said| matches!(said, Said::Call(_) | Said::Problem(_));
        let calls = waiting.iter().filter(|said| is_call(said)).count();
        let is_text = calls > 0 && (quoted.len() == calls || (self.native_first && self.has_native));
        if is_text {
            let text = self.rest(dialect, setting, reply);
            let is_hidden = text.contains(SENTINEL);
            waiting.retain(|said| {
                matches!(said, Said::Thinking(_)) || (is_hidden && matches!(said, Said::Text(_)))
            });
            certain.append(&mut waiting);
            certain.extend((!is_hidden).then_some(Said::Text(text)));
            return certain;
        }
        // Calls that are only quoted beside real ones are emitted as text, in the dialect's notation.
        for at in quoted {
            waiting[at] = Said::Text(match &waiting[at] {
                Said::Call(call) => dialect.written(call),
                _ => String::new(),
            });
        }
        certain.append(&mut waiting);
        certain
    }

    /// The text of the reply, including calls and without thoughts, after the part that was passed on.
    fn rest(&self, dialect: &Dialect, setting: &Setting, reply: &str) -> String {
        let setting = Setting { find_calls: false, ..setting.clone() };
        let mut text = String::new();
        for said in read(dialect, &setting, [reply]) {
            if let Said::Text(more) = said {
                text += &more;
            }
        }
        // The text that was passed on may lack delimiters, which a reader that parses calls removes.
        let mut rest = text.chars();
        self.shown.chars().all(|letter| rest.any(|next| next == letter));
        rest.as_str().to_owned()
    }
}

fn joined(said: Vec<Said>) -> Vec<Said> {
    let mut joined: Vec<Said> = Vec::new();
    for next in said {
        match (joined.last_mut(), &next) {
            (Some(Said::Text(before)), Said::Text(more)) => before.push_str(more),
            _ => joined.push(next),
        }
    }
    joined
}

/// The indices in `said`, which follows the text `shown`, of the calls that are only quoted: they are in a Markdown
/// fence, and words follow before the next call. A call in a fence at the end of the reply is a real one, since some
/// models write all calls in fences.
fn quotations(shown: &str, said: &[Said]) -> Vec<usize> {
    let (mut text, mut fenced, mut quoted) = (shown.to_owned(), Vec::new(), Vec::new());
    for (at, said) in said.iter().enumerate() {
        match said {
            Said::Text(more) => {
                text += more;
                if has_words(more) {
                    quoted.append(&mut fenced);
                }
            }
            Said::Call(_) | Said::Problem(_) if open_fence(&text).is_some() => fenced.push(at),
            Said::Call(_) | Said::Problem(_) => fenced.clear(),
            Said::Thinking(_) | Said::ThinkingEnd => {}
        }
    }
    quoted
}

/// Whether the text contains more than blanks and lines that open or close fences.
fn has_words(text: &str) -> bool {
    let is_plain = |line: &str| match fence(line) {
        Some((_, info)) => info.split_whitespace().count() < 2,
        None => line.trim().is_empty(),
    };
    !text.lines().all(is_plain)
}

/// The Markdown fence that is open at the end of `text`.
pub(super) fn open_fence(text: &str) -> Option<&str> {
    let mut open: Option<&str> = None;
    for (marks, info) in text.lines().filter_map(fence) {
        open = match open {
            None => Some(marks),
            Some(opened) if info.is_empty() && marks.starts_with(opened) => None,
            opened => opened,
        };
    }
    open
}

/// The marks of a fence that this line opens or closes, and the text after them.
fn fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '>');
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let info = line.trim_start_matches(mark);
    let marks = &line[..line.len() - info.len()];
    (marks.len() >= 3 && !info.contains('`')).then_some((marks, info.trim()))
}
