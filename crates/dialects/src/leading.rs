//! [`leading_thoughts`]: separates the thoughts at the beginning of a reply from the rest.
use crate::{Reader, Said, Setting, tokens::say};

/// The tags around a model's thoughts, if its server does not parse them (Qwen, DeepSeek, GLM; 2026-11).
pub const THINK_TAGS: [&str; 2] = ["<think>", "</think>"];

/// Returns a reader that separates thoughts between these two delimiters at the beginning of a reply from its text, and
/// does not parse calls. The same delimiters at other places are text.
pub fn leading_thoughts(delimiters: [&'static str; 2]) -> Box<dyn Reader> {
    Box::new(Leading::new(delimiters))
}

/// A reader for a dialect without thoughts: `inner` parses the text after the thoughts at the beginning.
pub(crate) fn behind_thoughts(inner: Box<dyn Reader>, setting: &Setting) -> Box<dyn Reader> {
    match setting.split_thinking {
        true => Box::new(Behind { thoughts: Leading::new(THINK_TAGS), inner }),
        false => inner,
    }
}

struct Leading {
    delimiters: [&'static str; 2],
    place: Place,
}

/// The state: where in a reply the next text belongs.
enum Place {
    /// At the beginning, after this text, which may become the opening delimiter.
    Begin(String),
    /// In the thoughts, after this text, which may become the closing delimiter.
    Thoughts(String),
    /// After the thoughts: separating line breaks are dropped.
    Gap,
    Text,
}

impl Leading {
    fn new(delimiters: [&'static str; 2]) -> Self {
        Self { delimiters, place: Place::Begin(String::new()) }
    }
}

impl Reader for Leading {
    fn push(&mut self, text: &str, said: &mut Vec<Said>) {
        let [open, close] = self.delimiters;
        match &mut self.place {
            Place::Begin(held) => {
                held.push_str(text);
                let begun = held.trim_start();
                if open.starts_with(begun) {
                    return;
                }
                let Some(thoughts) = begun.strip_prefix(open).map(str::to_owned) else {
                    return self.end(said);
                };
                self.place = Place::Thoughts(String::new());
                self.push(&thoughts, said);
            }
            Place::Thoughts(held) => {
                held.push_str(text);
                if let Some((thoughts, rest)) = held.split_once(close) {
                    say(said, Said::Thinking, thoughts);
                    said.push(Said::ThinkingEnd);
                    let rest = rest.to_owned();
                    self.place = Place::Gap;
                    return self.push(&rest, said);
                }
                let may_close =
                    |length: &usize| close.get(..*length).is_some_and(|begun| held.ends_with(begun));
                let kept = (1..close.len()).rev().find(may_close).unwrap_or_default();
                let rest = held.split_off(held.len() - kept);
                say(said, Said::Thinking, &std::mem::replace(held, rest));
            }
            Place::Gap => {
                let rest = text.trim_start();
                if !rest.is_empty() {
                    self.place = Place::Text;
                    say(said, Said::Text, rest);
                }
            }
            Place::Text => say(said, Said::Text, text),
        }
    }

    /// Emits the held text, since no delimiter can follow.
    fn end(&mut self, said: &mut Vec<Said>) {
        match std::mem::replace(&mut self.place, Place::Text) {
            Place::Begin(held) => say(said, Said::Text, &held),
            Place::Thoughts(held) => say(said, Said::Thinking, &held),
            Place::Gap | Place::Text => {}
        }
    }
}

struct Behind {
    thoughts: Leading,
    inner: Box<dyn Reader>,
}

impl Behind {
    fn hear(&mut self, read: Vec<Said>, said: &mut Vec<Said>) {
        for read in read {
            match read {
                Said::Text(text) => self.inner.push(&text, said),
                thoughts => said.push(thoughts),
            }
        }
    }
}

impl Reader for Behind {
    fn push(&mut self, text: &str, said: &mut Vec<Said>) {
        let mut read = Vec::new();
        self.thoughts.push(text, &mut read);
        self.hear(read, said);
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        let mut read = Vec::new();
        self.thoughts.end(&mut read);
        self.hear(read, said);
        self.inner.end(said);
    }
}
