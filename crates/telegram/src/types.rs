//! [`InlineKeyboardMarkup`] and others: the types of Telegram's Bot API that Haft uses
//! (<https://core.telegram.org/bots/api>, version 9.2).
use serde::{Deserialize, Serialize};

/// Buttons below a message, row by row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct InlineKeyboardMarkup {
    pub(super) inline_keyboard: Vec<Vec<InlineKeyboardButton>>,
}

/// A button that sends `callback_data` when it is pressed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct InlineKeyboardButton {
    pub(super) text: String,
    /// 1 to 64 bytes.
    pub(super) callback_data: String,
}

/// A command that Telegram offers after `/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct BotCommand {
    /// 1 to 32 lower-case letters, digits and underscores.
    pub(super) command: String,
    /// 1 to 256 characters.
    pub(super) description: String,
}

/// A file that a user sent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Document {
    pub(super) file_id: String,
    pub(super) file_name: Option<String>,
    /// In bytes.
    pub(super) file_size: Option<u64>,
}

/// A size of a picture.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct PhotoSize {
    pub(super) file_id: String,
    pub(super) width: u32,
    pub(super) height: u32,
    /// In bytes.
    pub(super) file_size: Option<u64>,
}

/// A file that can be downloaded for at least an hour.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct File {
    pub(super) file_path: Option<String>,
}
