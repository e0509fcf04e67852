//! [`look`]: the colors that the user chose, and what the terminal can show.
use super::themes;
use crate::CliContext;
use haft_app::{Failure, config::Hyperlinks};
use haft_terminal::{
    Links,
    tui::{Depth, Look, Palette, Theme, is_light},
};
use std::path::Path;

/// The look of a conversation, with `theme` from the configuration.
pub(super) fn look(cli: &CliContext, theme: Option<&str>) -> Result<Look, Failure> {
    let Some(name) = theme else { return Ok(of_questions(cli)) };
    let (theme, palette) = match Theme::named(name) {
        Some(theme) => (theme, Palette::NONE),
        None => themes::named(cli, name).map(|own| (own.base, own.palette))?,
    };
    Ok(Look { theme, palette, ..of_questions(cli) })
}

/// The look of prompts before a conversation.
pub(super) fn of_questions(cli: &CliContext) -> Look {
    let get = |name: &str| cli.environment.get(name);
    let is_plain = cli.global.no_color || get("NO_COLOR").is_some();
    let depth = Depth::of(is_plain, get("COLORTERM"), get("TERM"));
    Look { is_light: is_light(get("COLORFGBG")), ..Look::new(Theme::default(), depth) }
}

/// The links in a conversation in `workspace`, if `when` allows links.
pub(super) fn links(cli: &CliContext, when: Option<Hyperlinks>, workspace: &Path) -> Links {
    let is_on = match when.unwrap_or_default() {
        Hyperlinks::Always => true,
        Hyperlinks::Never => false,
        Hyperlinks::Auto => shows_links(cli),
    };
    if !is_on {
        return Links::default();
    }
    let get = |name: &str| cli.environment.get(name).unwrap_or_default();
    // Other terminals refuse a file address with `#12` at its end (GLib), or look for a file of that name.
    let has_lines = get("TERM").contains("kitty") || get("TERM_PROGRAM") == "iTerm.app";
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Links::new(workspace, &host, has_lines)
}

/// Whether the terminal is known to show links. tmux 3.4 and newer shows them if the terminal around it does.
fn shows_links(cli: &CliContext) -> bool {
    let get = |name: &str| cli.environment.get(name).unwrap_or_default();
    match get("TERM_PROGRAM") {
        _ if get("TERM") == "dumb" => false,
        "tmux" => shows_links_in_tmux(get("TERM_PROGRAM_VERSION")),
        _ => supports_hyperlinks::supports_hyperlinks(),
    }
}

fn shows_links_in_tmux(version: &str) -> bool {
    let mut numbers =
        version.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse::<u32>().ok());
    (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default()) >= (3, 4)
}
