//! Inkling: each message states its author, then its content.
//!
//! ```text
//! <|content_thinking|>I must look.<|end_message|><|message_model|>look<|content_invoke_tool_json|>
//! {"name":"look","args":{"path":"a.txt"}}<|end_message|>
//! ```
use crate::{
    Call, Dialect, Said, Setting, json_calls,
    tokens::{self, Machine, say},
    writing::Writing,
};

pub(crate) static INKLING: Dialect = Dialect::own(
    "inkling",
    &["inkling"],
    |setting| {
        let within = match setting.begins_thinking {
            Some(true) if setting.split_thinking => Within::Thoughts,
            _ => Within::Name { name: String::new() },
        };
        tokens::reader(SIGNS, Inkling { within, setting: setting.clone() })
    },
    Writing::json_with(["name", "args"], "<|message_model|><|content_invoke_tool_json|>", "<|end_message|>"),
);

const CALL: &str = "<|content_invoke_tool_json|>";
const THINKING: &str = "<|content_thinking|>";
const END: &str = "<|end_message|>";
const MODEL: &str = "<|message_model|>";

static SIGNS: &[&str] = &[
    MODEL,
    "<|message_user|>",
    "<|message_system|>",
    "<|message_tool|>",
    "<|content_text|>",
    THINKING,
    CALL,
    "<|content_invoke_tool_text|>",
    "<|content_tool_error|>",
    "<|content_audio_input|>",
    "<|audio_end|>",
    END,
    "<|content_model_end_sampling|>",
];

/// Maximum length of a tool's name.
const LONGEST_NAME: usize = 200;

struct Inkling {
    within: Within,
    setting: Setting,
}

enum Within {
    /// Text that may be the name of a tool, until its delimiter comes. At the start, `<|message_model|>` was part of
    /// the prompt.
    Name {
        name: String,
    },
    Text,
    /// A call that stays text.
    Raw,
    Thoughts,
    Call {
        name: String,
        body: String,
    },
}

impl Machine for Inkling {
    fn text(&mut self, text: &str, said: &mut Vec<Said>) {
        match &mut self.within {
            Within::Text | Within::Raw => say(said, Said::Text, text),
            Within::Thoughts if self.setting.split_thinking => say(said, Said::Thinking, text),
            Within::Thoughts => say(said, Said::Text, text),
            Within::Call { body, .. } => body.push_str(text),
            Within::Name { name, .. } => {
                name.push_str(text);
                if name.contains(char::is_whitespace) || name.len() > LONGEST_NAME {
                    self.leave_name(said);
                }
            }
        }
    }

    fn delimiter(&mut self, delimiter: &'static str, said: &mut Vec<Said>) {
        match (delimiter, &mut self.within) {
            // The model starts its call again.
            (CALL, Within::Call { body, .. }) => body.clear(),
            (CALL, within) if self.setting.find_calls => {
                let name =
                    if let Within::Name { name } = within { std::mem::take(name) } else { String::new() };
                self.within = Within::Call { name, body: String::new() };
            }
            (CALL, _) => {
                self.leave_name(said);
                say(said, Said::Text, delimiter);
                self.within = Within::Raw;
            }
            (THINKING, _) => self.turn_to(Within::Thoughts, said),
            (MODEL, _) => self.turn_to(Within::Name { name: String::new() }, said),
            (END, Within::Raw) => {
                say(said, Said::Text, delimiter);
                self.within = Within::Text;
            }
            _ => self.turn_to(Within::Text, said),
        }
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        self.turn_to(Within::Text, said);
    }
}

impl Inkling {
    fn turn_to(&mut self, within: Within, said: &mut Vec<Said>) {
        self.leave_name(said);
        if let Within::Call { name, body } = std::mem::replace(&mut self.within, within) {
            finish(&name, &body, said);
        }
    }

    /// Emits text that looked like the name of a tool.
    fn leave_name(&mut self, said: &mut Vec<Said>) {
        if let Within::Name { name, .. } = &self.within {
            say(said, Said::Text, name);
            self.within = Within::Text;
        }
    }
}

/// Parses a call; if that fails, it stays text.
fn finish(name: &str, body: &str, said: &mut Vec<Said>) {
    match json_calls::calls(body) {
        Ok(calls) => {
            said.extend(calls.into_iter().map(|call| Said::Call(Call { id: String::new(), ..call })))
        }
        Err(why) => {
            say(said, Said::Text, &format!("{name}{body}"));
            said.push(Said::problem(why));
        }
    }
}
