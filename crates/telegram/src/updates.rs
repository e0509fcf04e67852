//! [`Update`]: parses Telegram's updates, as far as Haft uses them. Each is parsed separately; unknown ones are
//! skipped.
use super::types::{Document, PhotoSize};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An event in a chat.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Update {
    Said(Box<Message>),
    /// An existing message was edited.
    Edited(Box<Message>),
    Pressed(Press),
    /// A group became a supergroup, which has another ID (Bot API, `migrate_to_chat_id`).
    Moved {
        from: i64,
        to: i64,
    },
}

/// A user of Telegram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Person {
    pub(super) id: i64,
    pub(super) name: String,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Message {
    pub(super) id: i64,
    pub(super) chat: i64,
    /// Whether it is in a private chat of one user with the bot.
    pub(super) is_private: bool,
    /// The sender; `None` for a channel or an anonymous group.
    pub(super) from: Option<Person>,
    /// Its text, or the caption of its picture or file.
    pub(super) text: String,
    pub(super) file: Option<File>,
    /// The kind of content if it is neither text nor a picture nor a file.
    #[serde(skip)]
    pub(super) other: Option<&'static str>,
    /// The album to which it belongs.
    pub(super) album: Option<String>,
    /// Whether it is a forwarded message.
    pub(super) is_forwarded: bool,
    /// The message to which it replies, and the writer of that; `None` if the writer is unknown, also since that message was
    /// forwarded.
    pub(super) answers: Option<(i64, Option<i64>)>,
    /// The picture or document of the message to which it replies.
    #[serde(default)]
    pub(super) answered_file: Option<File>,
    /// Its quotation.
    #[serde(default)]
    pub(super) quotes: Option<Quote>,
}

/// A quotation of the message to which a message replies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Quote {
    pub(super) text: String,
    /// Whether the sender chose a passage; otherwise it is the whole message.
    pub(super) is_passage: bool,
    /// Whether it was written by neither the sender nor the bot.
    #[serde(default)]
    pub(super) is_of_another: bool,
}

/// A picture or a document of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct File {
    pub(super) id: String,
    /// File name on the sender's machine, which may be anything.
    pub(super) name: Option<String>,
    /// Size in bytes, if Telegram reports it.
    pub(super) size: Option<u64>,
    /// Whether it was sent as a picture.
    pub(super) is_photo: bool,
}

/// A pressed button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Press {
    pub(super) id: String,
    pub(super) from: Person,
    pub(super) chat: i64,
    /// The message with the button.
    pub(super) message: i64,
    /// The button's data.
    pub(super) data: String,
}

/// The ID of an update.
pub(super) fn id(update: &Value) -> Option<i64> {
    update.get("update_id")?.as_i64()
}

/// Parses an update; `None` if it is invalid or not of interest.
pub(super) fn read(update: &Value) -> Option<Update> {
    if let Some(said) = update.get("message") {
        if let Some(to) = said.get("migrate_to_chat_id").and_then(Value::as_i64) {
            return Some(Update::Moved { from: said.get("chat")?.get("id")?.as_i64()?, to });
        }
        return message(said).map(|message| Update::Said(Box::new(message)));
    }
    if let Some(edited) = update.get("edited_message") {
        return message(edited).map(|message| Update::Edited(Box::new(message)));
    }
    press(update.get("callback_query")?).map(Update::Pressed)
}

/// Kinds of content that are neither text nor a picture nor a file, with their names for the user.
const OTHERS: [(&str, &str); 17] = [
    ("voice", "voice messages"),
    ("audio", "music"),
    ("video", "videos"),
    ("video_note", "videos"),
    ("animation", "animations"),
    ("sticker", "stickers"),
    ("location", "places"),
    ("venue", "places"),
    ("contact", "contacts"),
    ("poll", "polls"),
    ("dice", "dice"),
    ("game", "games"),
    ("story", "stories"),
    ("checklist", "checklists"),
    ("paid_media", "paid media"),
    ("invoice", "invoices"),
    ("live_photo", "moving pictures"),
];

fn message(message: &Value) -> Option<Message> {
    let chat = message.get("chat")?;
    let text = ["text", "caption"].iter().find_map(|name| message.get(*name)?.as_str()).unwrap_or_default();
    let other = OTHERS.iter().find(|(name, _)| message.get(*name).is_some()).map(|(_, words)| *words);
    // An animation also has a document.
    let file = if other.is_none() { file(message) } else { None };
    Some(Message {
        id: message.get("message_id")?.as_i64()?,
        chat: chat.get("id")?.as_i64()?,
        is_private: chat.get("type").is_some_and(|kind| kind == "private"),
        from: message.get("from").filter(|_| message.get("sender_chat").is_none()).and_then(person),
        text: text.to_owned(),
        file,
        other,
        album: message.get("media_group_id").and_then(Value::as_str).map(str::to_owned),
        is_forwarded: is_forwarded(message),
        answers: message.get("reply_to_message").and_then(answered),
        answered_file: message.get("reply_to_message").and_then(self::file),
        quotes: quoted(message),
    })
}

fn quoted(message: &Value) -> Option<Quote> {
    let words = |message: &Value| {
        ["text", "caption"].iter().find_map(|name| message.get(*name)?.as_str().map(str::to_owned))
    };
    let passage = message.get("quote").and_then(words);
    let whole = message.get("reply_to_message").and_then(words);
    Some(Quote { is_passage: passage.is_some(), text: passage.or(whole)?, is_of_another: false })
}

fn answered(message: &Value) -> Option<(i64, Option<i64>)> {
    let from = message.get("from").filter(|_| !is_forwarded(message));
    let from = from.and_then(|from| from.get("id")).and_then(Value::as_i64);
    Some((message.get("message_id")?.as_i64()?, from))
}

fn is_forwarded(message: &Value) -> bool {
    ["forward_origin", "forward_date"].iter().any(|name| message.get(*name).is_some())
}

/// The sender of a message; `None` for a bot, since bots are not authorized.
fn person(from: &Value) -> Option<Person> {
    if from.get("is_bot") == Some(&Value::Bool(true)) {
        return None;
    }
    let word = |name: &str| from.get(name).and_then(Value::as_str);
    let name = word("username").or_else(|| word("first_name")).unwrap_or("a person");
    let name = haft_present::safe::text(name).chars().take(64).collect();
    Some(Person { id: from.get("id")?.as_i64()?, name })
}

fn file(message: &Value) -> Option<File> {
    if let Some(document) = message.get("document") {
        let document: Document = serde_json::from_value(document.clone()).ok()?;
        let (id, size) = (document.file_id, document.file_size);
        return Some(File { id, name: document.file_name, size, is_photo: false });
    }
    let sizes: Vec<PhotoSize> = serde_json::from_value(message.get("photo")?.clone()).ok()?;
    let largest = sizes.into_iter().max_by_key(|size| u64::from(size.width) * u64::from(size.height))?;
    Some(File { id: largest.file_id, name: None, size: largest.file_size, is_photo: true })
}

fn press(press: &Value) -> Option<Press> {
    let message = press.get("message")?;
    Some(Press {
        id: press.get("id")?.as_str()?.to_owned(),
        from: person(press.get("from")?)?,
        chat: message.get("chat")?.get("id")?.as_i64()?,
        message: message.get("message_id")?.as_i64()?,
        data: press.get("data").and_then(Value::as_str).unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(more: Value) -> Option<Update> {
        let mut message = json!({"message_id": 3, "chat": {"id": 9, "type": "private"}, "from": {"id": 9}});
        message.as_object_mut()?.extend(more.as_object()?.clone());
        read(&json!({"update_id": 1, "message": message}))
    }

    //
    #[test]
    fn what_matters_of_a_message_is_read_however_little_there_is() {
        let photo = json!([
            {"file_id": "s", "file_unique_id": "s", "width": 10, "height": 10},
            {"file_id": "l", "file_unique_id": "l", "width": 90, "height": 90, "file_size": 5},
        ]);
        let table = [
            (json!({"text": "hi"}), "hi", None, None),
            (json!({"voice": {}}), "", None, Some("voice messages")),
            (json!({"photo": photo, "caption": "look"}), "look", Some("l"), None),
            (json!({"document": {"file_id": "d", "file_unique_id": "d"}}), "", Some("d"), None),
            (
                json!({"animation": {}, "document": {"file_id": "d", "file_unique_id": "d"}}),
                "",
                None,
                Some("animations"),
            ),
            (json!({"new_chat_title": "x"}), "", None, None),
            (json!({"text": 5, "entities": "odd"}), "", None, None),
        ];
        for (more, text, file, other) in table {
            let Some(Update::Said(message)) = said(more.clone()) else { panic!("{more}") };
            let seen =
                (message.text.as_str(), message.file.as_ref().map(|file| file.id.as_str()), message.other);
            assert_eq!(seen, (text, file, other), "{more}");
        }
    }

    #[test]
    fn an_update_that_cannot_be_read_is_nothing() {
        for odd in [
            json!(null),
            json!([1]),
            json!({"message": 3}),
            json!({"message": {"chat": {}}}),
            json!({"poll": {}}),
        ] {
            assert_eq!(read(&odd), None, "{odd}");
        }
        let Some(Update::Said(message)) = said(json!({"text": "x", "sender_chat": {"id": -5}})) else {
            panic!()
        };
        assert_eq!(message.from, None);
        let Some(Update::Said(message)) = said(json!({"text": "x", "from": {"id": 7, "is_bot": true}}))
        else {
            panic!()
        };
        assert_eq!(message.from, None);
    }
}
