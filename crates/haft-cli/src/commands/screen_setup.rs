//! [`check`]: the configuration of the screen: its colors, keys, last line and notifications.
use super::look::look;
use crate::CliContext;
use haft_app::{
    Failure,
    config::{Config, KeyNames, KeysFile, NotificationKind},
};
use haft_terminal::{
    StatusLine,
    tui::{Keys, Notifications},
};
use std::collections::BTreeMap;

/// The keys of the screen, including the user's own bindings.
pub(super) fn keys(cli: &CliContext, own: &KeysFile) -> Result<Keys, Failure> {
    let actions = |actions: &BTreeMap<String, KeyNames>| {
        actions.iter().map(|(action, keys)| (action.clone(), keys.names())).collect()
    };
    let own = own.iter().map(|(place, of_place)| (place.clone(), actions(of_place))).collect();
    Keys::of(&own).map_err(|wrong| {
        Failure::usage(format!("`{}`: {}", cli.places.user_file.display(), wrong.message)).hint(wrong.hint)
    })
}

/// Checks that the screen can be drawn as configured. Every command reports an error in this when it starts.
pub(super) fn check(cli: &CliContext, config: &Config) -> Result<(), Failure> {
    look(cli, config.effective().theme.as_deref()).map_err(|failure| {
        let message = config.wrong_value("theme", failure.message).to_string();
        Failure { message, ..failure }
    })?;
    status_line(config)?;
    keys(cli, &config.user.keys).map(|_| ())
}

/// The content of the last line of the screen.
pub(super) fn status_line(config: &Config) -> Result<StatusLine, Failure> {
    let settings = config.effective();
    StatusLine::new(settings.status_line.as_deref(), settings.status_command)
        .map_err(|why| Failure::from(config.wrong_value("status_line", format!("`status_line`: {why}"))))
}

/// How the user is notified, according to the configuration.
pub(super) fn notifications(kind: NotificationKind) -> Notifications {
    match kind {
        NotificationKind::Osc9 => Notifications::Osc9,
        NotificationKind::Osc777 => Notifications::Osc777,
        NotificationKind::Bell => Notifications::Bell,
        NotificationKind::Off => Notifications::Off,
    }
}
