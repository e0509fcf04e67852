//! [`Said`]: splits the messages of a client into the conversation so far and the new prompt.
use crate::{
    conversations::Key,
    error::{Answer, ApiError},
};
use haft_core::{Part, picture::from_base64, text_of};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A conversation up to a prompt.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Instructions of the client for the agent.
    pub(super) instructions: String,
    /// Earlier messages, with their speakers.
    pub(super) before: Vec<(Speaker, Vec<Part>)>,
    /// The new prompt.
    pub(super) prompt: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    Person,
    Agent,
}

/// A message of either endpoint. Other fields are ignored.
#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    role: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    content: Value,
}

impl Said {
    /// Reads the messages of `/v1/chat/completions`, or the items of `/v1/responses`.
    pub(super) fn read(messages: &[Value], instructions: Option<String>) -> Answer<Self> {
        let mut said = Self { instructions: instructions.unwrap_or_default(), ..Self::default() };
        for message in messages {
            said.add(message)?;
        }
        // The prompt is all user messages since the agent's last one.
        let place = said
            .before
            .iter()
            .rposition(|(speaker, _)| *speaker == Speaker::Agent)
            .map_or(0, |place| place + 1);
        for (_, parts) in said.before.drain(place..) {
            if !said.prompt.is_empty() {
                said.prompt.push(Part::text("\n\n"));
            }
            said.prompt.extend(parts);
        }
        if said.prompt.is_empty() {
            return Err(ApiError::wrong("the last message is not one of the user")
                .suggest("end with what is to be done"));
        }
        Ok(said)
    }

    fn add(&mut self, message: &Value) -> Answer<()> {
        let read: Message = serde_json::from_value(message.clone())
            .map_err(|error| ApiError::wrong(format!("cannot read a message: {error}")))?;
        match (read.role.as_str(), read.kind.as_str()) {
            ("system" | "developer", _) => {
                let text = text_of(&parts(&read.content)?);
                if !self.instructions.is_empty() {
                    self.instructions += "\n\n";
                }
                self.instructions += &text;
            }
            ("user", _) => self.before.push((Speaker::Person, parts(&read.content)?)),
            ("assistant", _) => self.before.push((Speaker::Agent, parts(&read.content)?)),
            // The session has the agent's calls and thoughts already.
            ("", "mcp_call" | "reasoning") => {}
            ("tool" | "function", _) | ("", "function_call" | "function_call_output") => {
                return Err(no_tools());
            }
            (role, kind) => {
                let what = if role.is_empty() { kind } else { role };
                return Err(ApiError::wrong(format!(
                    "a message of `{}` cannot be read",
                    what.escape_debug()
                ))
                .suggest("there are `system`, `developer`, `user` and `assistant`"));
            }
        }
        Ok(())
    }

    /// Identifies this beginning of a conversation; `None` if there are no earlier messages.
    pub(super) fn before_key(&self) -> Option<Key> {
        (!self.before.is_empty()).then(|| key(&self.instructions, self.before.iter()))
    }

    /// The key of the conversation after `reply` to the prompt.
    pub(super) fn after_key(&self, reply: &str) -> Key {
        let more = [(Speaker::Person, self.prompt.clone()), (Speaker::Agent, vec![Part::text(reply)])];
        key(&self.instructions, self.before.iter().chain(&more))
    }

    /// The whole conversation as one prompt, for a session that does not have the earlier messages.
    pub(super) fn whole(&self) -> Vec<Part> {
        let mut head = String::new();
        if !self.instructions.is_empty() {
            head += &format!("Instructions for this conversation:\n\n{}\n\n", self.instructions);
        }
        if !self.before.is_empty() {
            head += "The conversation so far:\n\n";
            for (speaker, parts) in &self.before {
                let who = if *speaker == Speaker::Person { "User" } else { "You" };
                head += &format!("{who}: {}\n\n", text_of(parts));
            }
        }
        if !head.is_empty() {
            head += "What the user says now:\n\n";
        }
        let pictures =
            self.before.iter().flat_map(|(_, parts)| parts).filter(|part| matches!(part, Part::Image(_)));
        let words = Some(Part::text(head + &text_of(&self.prompt)))
            .filter(|part| !matches!(part, Part::Text { text } if text.is_empty()));
        let now = self.prompt.iter().filter(|part| matches!(part, Part::Image(_)));
        words.into_iter().chain(pictures.chain(now).cloned()).collect()
    }
}

/// Consecutive messages of one speaker count as one, since clients join and split them. Surrounding whitespace does not
/// count.
fn key<'a>(instructions: &str, said: impl Iterator<Item = &'a (Speaker, Vec<Part>)>) -> Key {
    let mut digest = Sha256::new_with_prefix(instructions.trim());
    let mut last = None;
    for (speaker, parts) in said {
        if last.replace(*speaker) != Some(*speaker) {
            digest.update(match speaker {
                Speaker::Person => b"\0user\0".as_slice(),
                Speaker::Agent => b"\0assistant\0",
            });
        }
        for part in parts {
            match part {
                Part::Text { text } => digest.update(text.trim()),
                Part::Image(image) => digest.update(&image.data),
                Part::Document(document) => digest.update(&document.data),
                Part::Thinking { .. } | Part::ToolCall(_) => {}
            }
        }
    }
    digest.finalize().into()
}

/// The error for a client that sends tools.
pub(super) fn no_tools() -> ApiError {
    ApiError::wrong("the agent calls its own tools, and none of the client's")
        .suggest("leave `tools` out; `[mcp]` in the configuration gives the agent more tools")
}

/// Reads content, which is a text or a list of parts.
fn parts(content: &Value) -> Answer<Vec<Part>> {
    match content {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![Part::text(text.clone())]),
        Value::Array(parts) => parts.iter().map(part).collect(),
        _ => Err(ApiError::wrong("the content of a message is neither a text nor a list of parts")),
    }
}

fn part(part: &Value) -> Answer<Part> {
    let text = |name: &str| part[name].as_str().map(str::to_owned);
    match part["type"].as_str() {
        Some("text" | "input_text" | "output_text") => Ok(Part::text(text("text").unwrap_or_default())),
        Some("refusal") => Ok(Part::text(text("refusal").unwrap_or_default())),
        Some("image_url") => picture(part["image_url"]["url"].as_str()),
        Some("input_image") => picture(part["image_url"].as_str()),
        _ => Err(ApiError::wrong(format!("a part of the kind {} cannot be read", part["type"]))
            .suggest("parts are texts and pictures")),
    }
}

fn picture(url: Option<&str>) -> Answer<Part> {
    let Some((_declared, data)) = url.and_then(|url| url.strip_prefix("data:")?.split_once(";base64,"))
    else {
        return Err(ApiError::wrong("a picture is not given as a `data:` address in base64")
            .suggest("the server fetches no addresses: put the picture itself there"));
    };
    from_base64(data.to_owned())
        .map(Part::Image)
        .map_err(|why| ApiError::wrong(format!("cannot take a picture of the messages: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(messages: Value) -> Answer<Said> {
        Said::read(messages.as_array().unwrap(), None)
    }

    #[test]
    fn what_was_said_before_and_what_is_said_now_are_told_apart() {
        let said = read(json!([
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": "One?"},
            {"role": "assistant", "content": "Two."},
            {"role": "user", "content": [{"type": "text", "text": "Three?"}]},
            {"role": "user", "content": "Four?"},
        ]));
        let said = said.unwrap();
        assert_eq!(said.instructions, "Be short.");
        assert_eq!(text_of(&said.prompt), "Three?\n\nFour?");
        assert_eq!(said.before.len(), 2);
        let whole = said.whole();
        let [Part::Text { text }] = whole.as_slice() else { panic!("{whole:?}") };
        assert!(
            text.starts_with("Instructions for this conversation:\n\nBe short.")
                && text.ends_with("Three?\n\nFour?"),
            "{text}"
        );
    }

    #[test]
    fn a_conversation_is_known_again_by_all_that_was_said() {
        let first = read(json!([{"role": "user", "content": "One?"}])).unwrap();
        let key = first.after_key("Two.");
        let next = |answer: &str| {
            read(json!([
                {"role": "user", "content": "One?"}, {"role": "assistant", "content": answer}, {"role": "user", "content": "Three?"},
            ]))
        };
        assert_eq!(next(" Two.\n").unwrap().before_key(), Some(key));
        assert_ne!(next("Another.").unwrap().before_key(), Some(key));
        assert_eq!(first.before_key(), None);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let table = [
            (json!([]), "not one of the user"),
            (json!([{"role": "assistant", "content": "x"}]), "not one of the user"),
            (json!([{"role": "tool", "content": "x"}]), "none of the client's"),
            (json!([{"role": "clown", "content": "x"}]), "`clown`"),
            (json!([{"role": "user", "content": 7}]), "neither a text"),
            (json!([{"role": "user", "content": [{"type": "input_audio"}]}]), "input_audio"),
            (
                json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://evil.example/x.png"}}]}]),
                "`data:`",
            ),
        ];
        for (messages, expected) in table {
            let error = serde_json::to_string(&read(messages).unwrap_err().body()).unwrap();
            assert!(error.contains(expected), "{error}");
        }
    }
}
