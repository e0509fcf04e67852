//! [`of`]: permission modes as the editor lists them.
use super::sdk::{Error, SessionMode, SessionModeState, wrong};
use haft_core::Mode;
use haft_engine::Session;

/// All modes, from the strictest to the widest: the mode, its displayed name, and its description.
const ALL_MODES: [(Mode, &str, &str); 5] = [
    (Mode::ReadOnly, "Read only", "Nothing but reading in the workspace"),
    (Mode::Plan, "Plan", "Nothing is changed until a plan is accepted"),
    (Mode::Ask, "Ask", "Every effect is asked for"),
    (Mode::AcceptEdits, "Accept edits", "Files of the workspace are written without asking"),
    (Mode::Full, "Full", "Everything runs"),
];

/// The current mode, and the modes to choose from.
pub(super) fn of(session: &Session) -> SessionModeState {
    let allowed = ALL_MODES.into_iter().filter(|(mode, ..)| *mode <= session.ceiling());
    let modes =
        allowed.map(|(mode, name, means)| SessionMode::new(mode.name(), name).description(means.to_owned()));
    SessionModeState::new(session.mode().name(), modes.collect())
}

/// The mode with this name, if the session allows it.
pub(super) fn chosen(session: &Session, name: &str) -> Result<Mode, Error> {
    let allowed: Vec<&str> =
        Mode::ALL.into_iter().filter(|mode| *mode <= session.ceiling()).map(Mode::name).collect();
    let allowed = allowed.join("`, `");
    match Mode::named(name) {
        Some(mode) if mode <= session.ceiling() => Ok(mode),
        Some(_) => Err(wrong(format!(
            "the mode `{name}` is wider than this Haft allows; there are `{allowed}`, and `--up-to` allows more"
        ))),
        None => Err(wrong(format!("there is no mode `{}`; there are `{allowed}`", name.escape_debug()))),
    }
}
