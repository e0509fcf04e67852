//! [`reader`]: applies the rules for all dialects, around the reader of a dialect:
//!
//! - A call in thoughts that were never closed counts if it is complete, calls a known tool, and ends the reply.
//! - Tokens that end a reply for the server are not text.
//! - Arguments may be inside one superfluous parameter.
mod endings;
mod unclosed;

use super::{
    Call, ProblemKind, Reader, Reading, Said, Setting, WRAPPERS,
    tokens::say,
    typed::{self, Schema},
};
use endings::Endings;
pub(super) use endings::without_endings;
use serde_json::{Map, Value};
use unclosed::Unclosed;

/// A reader of whole replies, around that of a dialect.
pub(super) fn reader(reading: Reading, setting: &Setting) -> Box<dyn Reader> {
    let inner = reading.reader(setting);
    let thoughts = Unclosed::new(inner.opens_calls());
    Box::new(Reply { inner, reading, setting: setting.clone(), thoughts, endings: Endings::default() })
}

struct Reply {
    inner: Box<dyn Reader>,
    reading: Reading,
    setting: Setting,
    thoughts: Unclosed,
    endings: Endings,
}

impl Reader for Reply {
    fn push(&mut self, text: &str, said: &mut Vec<Said>) {
        let mut read = Vec::new();
        self.inner.push(text, &mut read);
        read.into_iter().for_each(|read| self.hear(read, said));
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        let mut read = Vec::new();
        self.inner.end(&mut read);
        if !self.setting.beginnings {
            drop_beginnings(&mut read);
        }
        read.into_iter().for_each(|read| self.hear(read, said));
        let held = self.thoughts.rest();
        match unclosed::calls(&held, self.reading, &self.setting) {
            Some(found) => found.into_iter().for_each(|found| self.say(found, said)),
            None => say(said, Said::Thinking, &held),
        }
        self.endings.flush(true, said);
    }
}

impl Reply {
    fn hear(&mut self, read: Said, said: &mut Vec<Said>) {
        match read {
            Said::Thinking(text) => {
                self.endings.flush(false, said);
                self.thoughts.push(&text, said);
            }
            // The thoughts have ended, so the held text contains no call.
            Said::ThinkingEnd => self.thoughts.flush(said),
            other => {
                self.thoughts.flush(said);
                self.say(other, said);
            }
        }
    }

    fn say(&mut self, read: Said, said: &mut Vec<Said>) {
        if let Said::Text(text) = read {
            return self.endings.push(text, said);
        }
        self.endings.flush(false, said);
        said.push(match read {
            Said::Call(call) => Said::Call(unwrapped(call, &self.setting)),
            other => other,
        });
    }
}

/// Replaces each incomplete call by the problem that it was cut off.
fn drop_beginnings(said: &mut Vec<Said>) {
    let is_cut_off =
        |said: &Said| matches!(said, Said::Problem(problem) if problem.kind == ProblemKind::CutOff);
    for at in (1..said.len()).rev().filter(|at| *at > 0) {
        if let (Said::Call(call), true) = (&said[at - 1], is_cut_off(&said[at])) {
            said[at] = Said::cut_off(format!("the end of a call: `{}` with {}", call.name, call.arguments));
            said.remove(at - 1);
        }
    }
}

/// The call with its arguments unwrapped, if they are inside one parameter that its tool does not have.
fn unwrapped(call: Call, setting: &Setting) -> Call {
    let inner = inner(&call, setting).map(|inner| Value::Object(inner).to_string());
    Call { arguments: inner.unwrap_or(call.arguments), ..call }
}

fn inner(call: &Call, setting: &Setting) -> Option<Map<String, Value>> {
    if !WRAPPERS.iter().any(|name| call.arguments.contains(name)) {
        return None;
    }
    let schema = Schema::new(&setting.tool(&call.name)?.parameters);
    let arguments = call.object().ok().filter(|arguments| arguments.len() == 1)?;
    let (name, value) = arguments.into_iter().next()?;
    if !WRAPPERS.contains(&name.as_str()) || schema.property(&name).is_known() {
        return None;
    }
    let mut inner = match value {
        Value::Object(inner) => inner,
        Value::String(text) => typed::object(&text)?,
        _ => return None,
    };
    for (name, value) in &mut inner {
        let schema = schema.property(name);
        if !schema.is_known() {
            return None;
        }
        // The type of the value was unknown when it was parsed.
        if let Value::String(text) = value
            && schema.kinds().are_known()
        {
            *value = typed::typed(text, schema.kinds());
        }
    }
    Some(inner)
}
