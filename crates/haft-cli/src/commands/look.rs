//! Colors: what the person chose, and what the terminal can show.
use crate::{CliContext, args::TurnArgs, failure::Failure};
use haft::terminal::tui::{Depth, Look, Theme, is_light};

/// With `theme` as the configuration has it.
pub(super) fn look(context: &CliContext, turn: &TurnArgs, theme: Option<&str>) -> Result<Look, Failure> {
    let get = |name: &str| context.environment.get(name);
    let no_color = turn.no_color || get("NO_COLOR").is_some();
    let depth = Depth::of(no_color, get("COLORTERM"), get("TERM"));
    let theme = theme.map(|name| {
        Theme::named(name).ok_or_else(|| {
            Failure::usage(format!("there is no theme `{name}`"))
                .hint(format!("`theme` is one of {}", Theme::ALL.map(Theme::name).join(", ")))
        })
    });
    Ok(Look { theme: theme.transpose()?.unwrap_or_default(), depth, is_light: is_light(get("COLORFGBG")) })
}
