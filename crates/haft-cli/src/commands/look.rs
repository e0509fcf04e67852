//! [`look`]: which colors the user chose, and what the terminal can show.
use crate::CliContext;
use haft_app::Failure;
use haft_terminal::tui::{Depth, Look, Theme, is_light};

/// The look of a conversation, with `theme` as the configuration has it.
pub(super) fn look(cli: &CliContext, theme: Option<&str>) -> Result<Look, Failure> {
    let theme = theme.map(|name| {
        Theme::named(name).ok_or_else(|| {
            Failure::usage(format!("there is no theme `{name}`"))
                .hint(format!("`theme` is one of {}", Theme::ALL.map(Theme::name).join(", ")))
        })
    });
    Ok(Look { theme: theme.transpose()?.unwrap_or_default(), ..of_questions(cli) })
}

/// The look of questions before one.
pub(super) fn of_questions(cli: &CliContext) -> Look {
    let get = |name: &str| cli.environment.get(name);
    let is_plain = cli.global.no_color || get("NO_COLOR").is_some();
    let depth = Depth::of(is_plain, get("COLORTERM"), get("TERM"));
    Look { theme: Theme::default(), depth, is_light: is_light(get("COLORFGBG")) }
}
