//! Python calls in lists that are in prose without any delimiter.
use super::call;
use crate::{
    Reader, Said, Setting,
    leading::behind_thoughts,
    pythonic::{self, Beginning},
    tokens::{self, Machine, say},
};

static SIGNS: &[&str] =
    &["<|python_start|>", "<|python_end|>", "<|eom|>", "<|eot|>", "<|eot_id|>", "<|eom_id|>"];

pub(super) fn reader(setting: &Setting) -> Box<dyn Reader> {
    let lists =
        Lists { setting: setting.clone(), buffer: String::new(), next_look: 0, tried: 0, expected: true };
    behind_thoughts(tokens::reader(SIGNS, lists), setting)
}

/// Minimum length of text that looks like a call for parsing it before its `]`.
const SHORT: usize = 64;

/// Whether a list begins with a name and `(`, or may do so.
fn may_become_list(text: &str) -> bool {
    let rest = text[1..].trim_start();
    let of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let behind = rest.trim_start_matches(of_name);
    let begins = behind.is_empty() || (behind.len() < rest.len() && behind.starts_with('('));
    begins && !text.contains(']')
}

struct Lists {
    setting: Setting,
    /// Text from the `[` on that may begin a list.
    buffer: String,
    /// The length of the buffer at which it is parsed again: twice as long each time, so that each byte is parsed only
    /// a few times.
    next_look: usize,
    /// Number of bytes from here on that were parsed loosely, and are not a list.
    tried: usize,
    /// Whether a list at this place counts as calls even if it names no known tool, since there is no text before it.
    expected: bool,
}

impl Machine for Lists {
    fn text(&mut self, text: &str, said: &mut Vec<Said>) {
        if !self.setting.find_calls {
            return say(said, Said::Text, text);
        }
        self.buffer.push_str(text);
        let may_end = text.contains(']') && self.buffer.len() <= SHORT;
        if may_end || self.buffer.len() >= self.next_look {
            self.look(false, said);
        }
    }

    fn delimiter(&mut self, delimiter: &'static str, said: &mut Vec<Said>) {
        if !self.setting.find_calls {
            return say(said, Said::Text, delimiter);
        }
        self.look(true, said);
        self.expected |= delimiter == "<|python_start|>";
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        self.look(true, said);
    }
}

impl Lists {
    /// Emits what is certain. `ended`: whether the reply has ended, so that an unfinished list is text.
    fn look(&mut self, ended: bool, said: &mut Vec<Said>) {
        let buffer = std::mem::take(&mut self.buffer);
        let mut at = 0;
        loop {
            let prose = buffer[at..].find('[').unwrap_or(buffer.len() - at);
            self.say_prose(&buffer[at..at + prose], said);
            self.tried = self.tried.saturating_sub(prose);
            at += prose;
            let list = &buffer[at..];
            if list.is_empty() || (!ended && list.len() < SHORT && may_become_list(list)) {
                self.next_look = if list.is_empty() { 0 } else { SHORT };
                self.buffer = list.to_owned();
                return;
            }
            let read = match pythonic::read(list) {
                Beginning::Other { .. } if self.calls_tool(list) => self.read_loosely(list, ended),
                read => read,
            };
            let length = match read {
                Beginning::Calls { calls, length } if self.is_meant(&calls) => {
                    said.extend(calls.into_iter().map(|read| Said::Call(call(read))));
                    length
                }
                Beginning::Unfinished { .. } if !ended => {
                    self.next_look = 2 * list.len();
                    self.buffer = list.to_owned();
                    return;
                }
                // A single bracket at the end is dropped.
                Beginning::Unfinished { .. } if list.trim() == "[" => list.len(),
                _ => {
                    self.say_prose("[", said);
                    1
                }
            };
            at += length;
            self.tried = self.tried.saturating_sub(length);
        }
    }

    /// Parses a list that deviates from the grammar. Text that is not a list is not parsed again.
    fn read_loosely(&mut self, list: &str, ended: bool) -> Beginning {
        if self.tried > 0 {
            return Beginning::Other { at: 0 };
        }
        let read = pythonic::read_list_loosely(list);
        self.tried = match &read {
            Beginning::Other { at } => *at,
            Beginning::Unfinished { .. } if ended => list.len(),
            Beginning::Unfinished { .. } | Beginning::Calls { .. } => 0,
        };
        read
    }

    /// Whether a list begins with a call of a known tool.
    fn calls_tool(&self, list: &str) -> bool {
        let begun = list[1..].trim_start();
        let name = begun.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'))).next();
        name.is_some_and(|name| begun[name.len()..].starts_with('(') && self.setting.tool(name).is_some())
    }

    /// Whether the list is meant as calls, since prose may have brackets, too: it calls a known tool, or begins the
    /// reply.
    fn is_meant(&self, calls: &[pythonic::Call]) -> bool {
        let knows = |call: &pythonic::Call| self.setting.tool(&call.name).is_some();
        !calls.is_empty() && (self.expected || self.setting.tools.is_empty() || calls.iter().any(knows))
    }

    fn say_prose(&mut self, text: &str, said: &mut Vec<Said>) {
        self.expected &= text.trim().is_empty();
        say(said, Said::Text, text);
    }
}
