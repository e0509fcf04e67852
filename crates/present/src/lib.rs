//! What the front-ends share: how a session looks to a person, without a word about where it is shown.
//!
//! Begin with [`timeline`], which folds events into items that are finished and what still continues. [`words`] prints
//! the same events as plain text, [`lines`] as JSON. The other modules make the pieces: [`pieces`] cuts a reply where
//! its Markdown blocks end, [`diff`] shows changes as text, [`file_diff`] has them line by line for a front-end that
//! draws them itself, [`proposal`] says what a call that asks would do, [`parts`] which parts of it can be accepted
//! alone, [`notes`] what is shown beside replies and calls, [`outcome`] what came of a call in a few words, [`Exit`]
//! how a program that ran a turn ends, and [`safe`] makes text harmless for a terminal. [`unattended`] answers if there
//! is no person to ask, [`cursor`] says from where to follow a session, [`context`] what fills the window, [`goal`]
//! what a person types of a goal, [`memory`] what they type of notes, [`undo`] what they type behind `/undo`,
//! [`matching`] what of a list fits the characters that they typed, [`mod@age`] how long ago something was, and
//! [`counted()`] puts a noun behind a number.
//!
//! It uses `haft-core` for facts and events and `haft-engine` for sessions, and does no IO of its own.
//!
//! How it works inside: `README.md` of this crate.

pub mod age;
pub mod call_order;
pub mod context;
mod counted;
pub mod cursor;
pub mod diff;
mod exit;
pub mod file_diff;
pub mod goal;
pub mod host;
pub mod lines;
pub mod matching;
pub mod memory;
pub mod notes;
pub mod outbox;
pub mod outcome;
pub mod parts;
pub mod pieces;
pub mod preview;
pub mod proposal;
pub mod safe;
pub mod timeline;
pub mod typed;
pub mod unattended;
pub mod undo;
pub mod words;

pub use counted::counted;
pub use exit::Exit;
