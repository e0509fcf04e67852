//! [`look`]: which colors the user chose, and what the terminal can show.
use crate::{CliContext, failure::Failure};
use haft_terminal::tui::{Depth, Look, Theme, is_light};

/// The look of a conversation, with `theme` as the configuration has it.
pub(super) fn look(context: &CliContext, no_color: bool, theme: Option<&str>) -> Result<Look, Failure> {
    let theme = theme.map(|name| {
        Theme::named(name).ok_or_else(|| {
            Failure::usage(format!("there is no theme `{name}`"))
                .hint(format!("`theme` is one of {}", Theme::ALL.map(Theme::name).join(", ")))
        })
    });
    Ok(Look { theme: theme.transpose()?.unwrap_or_default(), ..plain_look(context, no_color) })
}

/// The look of questions before one.
pub(super) fn of_questions(context: &CliContext) -> Look {
    plain_look(context, false)
}

fn plain_look(context: &CliContext, no_color: bool) -> Look {
    let get = |name: &str| context.environment.get(name);
    let depth = Depth::of(no_color || get("NO_COLOR").is_some(), get("COLORTERM"), get("TERM"));
    Look { theme: Theme::default(), depth, is_light: is_light(get("COLORFGBG")) }
}
