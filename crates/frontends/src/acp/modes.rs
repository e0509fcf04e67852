//! Permission modes as the editor lists them.
use super::sdk::{Error, SessionMode, SessionModeState, wrong};
use haft_core::Mode;
use haft_engine::Session;

/// From the strictest to the widest: the mode, its name for people, what it means.
const ALL: [(Mode, &str, &str); 4] = [
    (Mode::ReadOnly, "Read only", "Nothing but reading in the workspace"),
    (Mode::Ask, "Ask", "Every effect is asked for"),
    (Mode::AcceptEdits, "Accept edits", "Files of the workspace are written without asking"),
    (Mode::Full, "Full", "Everything runs"),
];

/// As configuration files and the protocol write it.
pub(super) fn id(mode: Mode) -> &'static str {
    match mode {
        Mode::ReadOnly => "read-only",
        Mode::Ask => "ask",
        Mode::AcceptEdits => "accept-edits",
        Mode::Full => "full",
    }
}

/// The mode that holds, and those that may be chosen.
pub(super) fn of(session: &Session) -> SessionModeState {
    let allowed = ALL.into_iter().filter(|(mode, ..)| *mode <= session.ceiling());
    let modes =
        allowed.map(|(mode, name, means)| SessionMode::new(id(mode), name).description(means.to_owned()));
    SessionModeState::new(id(session.mode()), modes.collect())
}

/// The mode of this name, if the session may have it.
pub(super) fn chosen(session: &Session, name: &str) -> Result<Mode, Error> {
    let known = ALL.into_iter().map(|(mode, ..)| mode).find(|mode| id(*mode) == name);
    let allowed: Vec<&str> =
        ALL.into_iter().map(|(mode, ..)| mode).filter(|mode| *mode <= session.ceiling()).map(id).collect();
    let allowed = allowed.join("`, `");
    match known {
        Some(mode) if mode <= session.ceiling() => Ok(mode),
        Some(_) => Err(wrong(format!(
            "the mode `{name}` is wider than this Haft allows; there are `{allowed}`, and `--up-to` allows more"
        ))),
        None => Err(wrong(format!("there is no mode `{}`; there are `{allowed}`", name.escape_debug()))),
    }
}
