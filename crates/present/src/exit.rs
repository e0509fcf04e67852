//! [`Exit`]: the exit code of a program that ran a turn.
use haft_core::Outcome;

/// The exit code of a program that ran a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The turn ended by itself.
    Success = 0,
    /// The model could not be reached, or the journal could not be written.
    Failed = 1,
    /// Wrong usage or configuration; nothing was started.
    Usage = 2,
    /// Stopped by a limit.
    Limit = 3,
    /// A call needed an approval, and no user could be asked.
    Refused = 4,
    /// The reply claims what the journal does not show, it does not match the requested schema, or the goal was not
    /// reached.
    Unproven = 5,
    /// Interrupted by SIGINT, SIGTERM or SIGHUP.
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
            Outcome::Unproven | Outcome::InvalidAnswer | Outcome::Stuck => Self::Unproven,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
