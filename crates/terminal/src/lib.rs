//! Haft at a terminal and in scripts: [`mod@print`], [`chat`] and [`tui`].
//!
//! Each module is a way to converse: [`mod@print`] runs one prompt without a screen, [`chat`] is a conversation line by
//! line, and [`tui`] draws one on a screen. All of them send commands to a session and follow its events, as
//! `haft-present` folds them. Begin with [`mod@print`].
//!
//! They share: [`questions`] asks the user at the terminal, [`signals`] turns signals into interrupts, `console` has
//! the slash commands, [`host`] opens sessions for front-ends that switch between them, [`history`] stores typed lines,
//! and [`Exit`] is the result of the program.

mod approval;
mod asking;
pub mod bars;
mod bindings;
pub mod chat;
mod clipboard;
mod console;
mod diffs;
pub mod document;
mod editor;
mod export;
mod going_on;
pub mod history;
pub mod host;
pub mod loading;
mod notifications;
pub mod object;
mod offers;
mod outputs;
mod paint;
pub mod picture;
pub mod print;
mod question;
pub mod questions;
pub mod signals;
mod spinner;
mod status;
mod status_line;
pub mod table;
pub mod tui;
mod waiting;

pub use diffs::Diffs;
pub use editor::Editor;
pub use haft_present::Exit;
pub use paint::{links::Links, picture::Pictures};
pub use status_line::{STATUS_FIELDS, StatusLine};
