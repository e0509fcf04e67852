//! What the screen looks like, as options, variables and the configuration say.
use crate::{CliContext, failure::Failure};
use haft::terminal::tui::{Depth, Look, Theme};

/// The look of a conversation.
pub(super) fn look(context: &CliContext, no_color: bool, theme: Option<&str>) -> Result<Look, Failure> {
    let theme = theme.map(|name| {
        Theme::named(name).ok_or_else(|| {
            Failure::usage(format!("there is no theme `{name}`"))
                .hint(format!("`theme` is one of {}", Theme::ALL.map(Theme::name).join(", ")))
        })
    });
    Ok(Look { theme: theme.transpose()?.unwrap_or_default(), depth: depth(context, no_color) })
}

/// The look of questions before one.
pub(super) fn of_questions(context: &CliContext) -> Look {
    Look { theme: Theme::default(), depth: depth(context, false) }
}

fn depth(context: &CliContext, no_color: bool) -> Depth {
    let get = |name: &str| context.environment.get(name);
    Depth::of(no_color || get("NO_COLOR").is_some(), get("COLORTERM"), get("TERM"))
}
