//! What the front-ends share ([`timeline`]): how a session is presented to the user, independent of where it is shown.
//!
//! Begin with [`timeline`], which folds events into finished items and the running state. [`words`] prints the same
//! events as plain text, [`lines`] as JSON. The other modules make the parts: [`pieces`] splits a reply at the ends of
//! its Markdown blocks, [`diff`] formats changes as text, [`file_diff`] has them line by line for a front-end that
//! draws them itself, [`proposal`] says what a call that asks would do, [`parts`] which parts of it can be accepted
//! separately, [`notes`] has the lines beside replies and calls, [`outcome`] the outcome of a call in a few words,
//! [`Exit`] the exit code of a program that ran a turn, and [`safe`] makes text harmless for a terminal. [`unattended`]
//! answers questions if no user can be asked, [`cursor`] has the position from which to follow a session, [`context`]
//! the contents of the context window, [`goal`] parses the text after `/goal`, [`memory`] lines for notes, [`undo`] the
//! text after `/undo`, [`matching`] filters a list by typed characters, [`mod@age`] formats how long ago something was,
//! and [`counted()`] a number with its noun.
//!
//! It uses `haft-core` for facts and events and `haft-engine` for sessions, and does no IO itself.
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
