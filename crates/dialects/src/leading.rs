//! [`leading_thoughts`]: tells the thoughts at the beginning of a reply from the rest of it.
use crate::{Reader, Said, Setting, tokens::say};

/// How models write that they begin and stop to think, where their server does not read it (Qwen, DeepSeek, GLM; 2026-11).
pub const THINK_TAGS: [&str; 2] = ["<think>", "</think>"];

/// Returns a reader that tells thoughts between these two delimiters at the beginning of a reply from its text, and looks
/// for no calls. The same delimiters anywhere else are text.
pub fn leading_thoughts(delimiters: [&'static str; 2]) -> Box<dyn Reader> {
    Box::new(Leading::new(delimiters))
}

/// A reader of a dialect that has no thoughts of its own: `inner` reads the text behind the thoughts at the beginning.
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

/// Where in a reply the next text belongs.
enum Place {
    /// At the beginning, after this, which may become the opening delimiter.
    Begin(String),
    /// In the thoughts, after this, which may become the end of them.
    Thoughts(String),
    /// Behind the thoughts: line breaks that only separate are left out.
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

    /// Says what is held back, once it is clear that no delimiter follows.
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
