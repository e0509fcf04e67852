//! Ways to talk to the engine. Each does the same two things: send commands, follow events.
//!
//! [`print`] is one prompt without a screen, [`chat`] a conversation line by line. Both draw with [`words`], ask
//! with [`approval`] and tell events as JSON with [`lines`]. `mcp_server` (feature `mcp`) lets other programs talk,
//! `acp` (feature `acp`) editors, `telegram` (feature `telegram`) people far away; `tui` (feature `tui`) is the screen that
//! draws a [`view`].

#[cfg(feature = "acp")]
pub mod acp;
pub mod approval;
pub mod asking;
pub mod chat;
pub mod console;
pub mod diff;
pub mod direct;
mod going_on;
pub mod history;
pub mod host;
pub mod lines;
#[cfg(feature = "mcp")]
pub mod mcp_server;
pub mod notes;
pub mod picture;
pub mod pieces;
pub mod print;
pub mod proposal;
pub mod question;
pub mod safe;
pub mod signals;
pub mod spinner;
#[cfg(feature = "telegram")]
pub mod telegram;
#[cfg(feature = "tui")]
pub mod tui;
pub mod view;
pub mod words;

use haft_core::Outcome;

/// How a program that ran a turn exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The turn ended by itself.
    Success = 0,
    /// The model could not be asked, or the journal not be written.
    Failed = 1,
    /// Wrong usage or configuration; nothing was started.
    Usage = 2,
    /// Stopped by a limit.
    Limit = 3,
    /// An effect needed an approval that nobody could give.
    Refused = 4,
    /// The reply claims what the journal does not show.
    Unproven = 5,
    /// By SIGINT, SIGTERM or SIGHUP.
    Interrupted = 130,
}

impl From<Outcome> for Exit {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Finished => Self::Success,
            Outcome::Interrupted => Self::Interrupted,
            Outcome::Failed => Self::Failed,
            Outcome::RoundLimit | Outcome::Budget | Outcome::Repeating => Self::Limit,
            Outcome::Refused => Self::Refused,
            Outcome::Unproven => Self::Unproven,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
