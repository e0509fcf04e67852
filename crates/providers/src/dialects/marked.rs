//! Dialects with signs: something begins a thought or a call, something ends it.
use super::{Call, Reader, Said, Setting, json::JsonEnd, signs};

/// The signs of a dialect. Of two that begin at the same place the longer one counts.
pub(super) struct Marks {
    /// What opens and closes thoughts.
    pub(super) thinking: &'static [(&'static str, &'static str)],
    /// What opens and closes calls.
    pub(super) calls: &'static [Block],
    /// Signs that mean nothing in the text, and are left out.
    pub(super) noise: &'static [&'static str],
}

/// A part of the text that holds calls.
pub(super) struct Block {
    /// What it begins with.
    pub(super) open: &'static str,
    /// Where it ends.
    pub(super) close: Close,
    /// Reads what lies between, or all of it where the signs belong to it: the calls, or why it holds none.
    pub(super) read: fn(&str, &Setting) -> Result<Vec<Call>, String>,
}

/// Where a block ends.
#[derive(Clone, Copy)]
pub(super) enum Close {
    /// At the first of these signs, wherever it stands.
    At(&'static [&'static str]),
    /// At the first of these signs outside of a JSON value.
    AfterJson(&'static [&'static str]),
    /// Where its JSON value ends.
    Json,
    /// Where the reply ends.
    Never,
}

/// A reader of a dialect with signs.
pub(super) fn reader(marks: &'static Marks, setting: &Setting) -> Box<dyn Reader> {
    let thinking = setting.split_thinking.then_some(marks.thinking).unwrap_or_default();
    let calls = setting.find_calls.then_some(marks.calls).unwrap_or_default();
    let opening = thinking.iter().map(|(open, _)| *open).chain(calls.iter().map(|block| block.open));
    let signs = opening.chain(thinking.iter().map(|(_, close)| *close)).chain(marks.noise.iter().copied());
    let within = match setting.begins_thinking.unwrap_or_else(|| is_open(thinking, &setting.prompt_end)) {
        true if !thinking.is_empty() => Within::Thinking(0),
        _ => Within::Text,
    };
    let reader = Marked {
        thinking,
        calls,
        signs: signs.collect(),
        within,
        buffer: String::new(),
        seen: 0,
        setting: setting.clone(),
    };
    Box::new(reader)
}

/// Whether the prompt has opened the thoughts and not closed them.
fn is_open(thinking: &[(&str, &str)], prompt: &str) -> bool {
    thinking.iter().any(|(open, close)| match (prompt.rfind(open), prompt.rfind(close)) {
        (Some(open), close) => close.is_none_or(|close| close < open),
        _ => false,
    })
}

struct Marked {
    thinking: &'static [(&'static str, &'static str)],
    calls: &'static [Block],
    /// Those that count in the text: what opens thoughts, what opens calls, what closes thoughts, noise.
    signs: Vec<&'static str>,
    within: Within,
    /// What was not said yet. In a block: all of it, after its opening sign.
    buffer: String,
    /// As far as the buffer was searched.
    seen: usize,
    setting: Setting,
}

/// Where the reader stands.
enum Within {
    Text,
    /// Between the signs of this number.
    Thinking(usize),
    /// In the block of this number.
    Call(usize, JsonEnd),
}

impl Reader for Marked {
    fn push(&mut self, text: &str, said: &mut Vec<Said>) {
        self.buffer.push_str(text);
        while self.step(said) {}
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        let rest = std::mem::take(&mut self.buffer);
        match std::mem::replace(&mut self.within, Within::Text) {
            Within::Text => say(said, Said::Text, &rest),
            Within::Thinking(_) => say(said, Said::Thinking, &rest),
            Within::Call(block, _) => self.close(block, &rest, "", said),
        }
    }
}

impl Marked {
    /// Whether there may be more to find in what is there.
    fn step(&mut self, said: &mut Vec<Said>) -> bool {
        match &mut self.within {
            Within::Text => self.in_text(said),
            Within::Thinking(pair) => {
                let close = self.thinking[*pair].1;
                self.in_thoughts(close, said)
            }
            Within::Call(block, json) => {
                let block = *block;
                let Some((end, after)) = end_of(self.calls[block].close, &self.buffer, &mut self.seen, json)
                else {
                    return false;
                };
                let rest = self.buffer.split_off(after);
                let body = std::mem::replace(&mut self.buffer, rest);
                self.turn_to(Within::Text);
                self.close(block, &body[..end], &body[end..], said);
                true
            }
        }
    }

    fn in_text(&mut self, said: &mut Vec<Said>) -> bool {
        let Some((at, sign)) = signs::first(&self.buffer, 0, &self.signs) else {
            self.say_what_is_certain(said, Said::Text);
            return false;
        };
        say(said, Said::Text, &self.buffer[..at]);
        self.buffer.drain(..at + self.signs[sign].len());
        let opening = self.thinking.len() + self.calls.len();
        self.turn_to(match sign {
            pair if pair < self.thinking.len() => Within::Thinking(pair),
            block if block < opening => Within::Call(block - self.thinking.len(), JsonEnd::default()),
            // A thought that was never opened has ended, or a sign means nothing.
            _ => Within::Text,
        });
        true
    }

    fn in_thoughts(&mut self, close: &'static str, said: &mut Vec<Said>) -> bool {
        let Some(at) = self.buffer.find(close) else {
            let held = signs::unfinished(&self.buffer, &[close]);
            let certain = self.buffer.len() - held;
            say(said, Said::Thinking, &self.buffer[..certain]);
            self.buffer.drain(..certain);
            return false;
        };
        say(said, Said::Thinking, &self.buffer[..at]);
        self.buffer.drain(..at + close.len());
        self.turn_to(Within::Text);
        true
    }

    fn say_what_is_certain(&mut self, said: &mut Vec<Said>, kind: fn(String) -> Said) {
        let certain = self.buffer.len() - signs::unfinished(&self.buffer, &self.signs);
        say(said, kind, &self.buffer[..certain]);
        self.buffer.drain(..certain);
    }

    fn turn_to(&mut self, within: Within) {
        (self.within, self.seen) = (within, 0);
    }

    /// What cannot be read stays text.
    fn close(&self, block: usize, body: &str, sign: &str, said: &mut Vec<Said>) {
        let block = &self.calls[block];
        match (block.read)(body, &self.setting) {
            Ok(calls) => said.extend(calls.into_iter().map(Said::Call)),
            Err(why) => {
                say(said, Said::Text, &format!("{}{body}{sign}", block.open));
                said.push(Said::Problem(why));
            }
        }
    }
}

fn say(said: &mut Vec<Said>, kind: fn(String) -> Said, text: &str) {
    if !text.is_empty() {
        said.push(kind(text.to_owned()));
    }
}

/// Where the body ends, and where the sign that ends it does.
fn end_of(close: Close, buffer: &str, seen: &mut usize, json: &mut JsonEnd) -> Option<(usize, usize)> {
    let at_sign = |from: usize, closing: &[&str]| {
        let found = signs::first(buffer, from, closing)?;
        Some((found.0, found.0 + closing[found.1].len()))
    };
    match close {
        Close::Never => None,
        Close::Json => json.find(buffer).map(|end| (end, end)),
        Close::At(closing) => at_sign(*seen, closing).or_else(|| {
            *seen = buffer.len() - signs::unfinished(buffer, closing);
            None
        }),
        Close::AfterJson(closing) => {
            if *seen == 0 {
                // A sign before any value, or a value first.
                let opened = buffer.find(['{', '[']);
                if let Some(found) = at_sign(0, closing)
                    && opened.is_none_or(|opened| found.0 < opened)
                {
                    return Some(found);
                }
                opened?;
                *seen = json.find(buffer)?;
            }
            at_sign(*seen, closing)
        }
    }
}
