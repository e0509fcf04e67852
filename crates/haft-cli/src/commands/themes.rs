//! [`own`] and [`themes`]: the user's own themes, files in the folder `themes` beside the configuration.
use crate::CliContext;
use haft_app::{Failure, config};
use haft_terminal::tui::{Color, OwnTheme, Palette, Theme, Themes};
use serde::{Deserialize, Deserializer, de::Error};
use std::path::PathBuf;

/// What a file may say.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ThemeFile {
    base: Base,
    accent: Option<Shade>,
    dim: Option<Shade>,
    good: Option<Shade>,
    bad: Option<Shade>,
    warn: Option<Shade>,
    code: Option<Shade>,
    link: Option<Shade>,
    added: Option<Shade>,
    added_words: Option<Shade>,
    removed: Option<Shade>,
    removed_words: Option<Shade>,
}

/// The theme that has the colors that a file does not name.
#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Base {
    #[default]
    Terminal,
    Dark,
    Light,
}

/// A color, by name (`light-blue`), as `#rrggbb`, or as a number of the 256 colors.
struct Shade(Color);

impl<'de> Deserialize<'de> for Shade {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let word = String::deserialize(from)?;
        word.parse().map(Self).map_err(|_| {
            D::Error::custom(format!(
                "`{word}` is not a color: expected a name such as \"light-blue\", or \"#rrggbb\""
            ))
        })
    }
}

/// The theme of the file `NAME.toml`.
pub(super) fn own(cli: &CliContext, name: &str) -> Result<OwnTheme, Failure> {
    let file = folder(cli).join(format!("{name}.toml"));
    if name.contains('/') || !file.exists() {
        let known = Theme::ALL.map(Theme::name).join(", ");
        return Err(Failure::usage(format!("there is no theme `{name}`")).hint(format!(
            "`theme` is one of {known}, or the name of a file in `{}`",
            folder(cli).display()
        )));
    }
    let said: ThemeFile = config::read_file(&file)?;
    let color = |shade: Option<Shade>| shade.map(|Shade(color)| color);
    let palette = Palette {
        accent: color(said.accent),
        dim: color(said.dim),
        good: color(said.good),
        bad: color(said.bad),
        warn: color(said.warn),
        code: color(said.code),
        link: color(said.link),
        added: color(said.added),
        added_words: color(said.added_words),
        removed: color(said.removed),
        removed_words: color(said.removed_words),
    };
    let base = match said.base {
        Base::Terminal => Theme::Terminal,
        Base::Dark => Theme::Dark,
        Base::Light => Theme::Light,
    };
    Ok(OwnTheme { name: name.to_owned(), base, palette })
}

/// The themes whose files can be read; `haft config check` tells of the others.
pub(super) fn themes(cli: &CliContext) -> Themes {
    Themes { own: names(cli).iter().filter_map(|name| own(cli, name).ok()).collect() }
}

/// Reads every file.
pub(super) fn check(cli: &CliContext) -> Result<(), Failure> {
    names(cli).iter().try_for_each(|name| own(cli, name).map(|_| ()))
}

/// The names of the files, in order, without those of themes that Haft has.
fn names(cli: &CliContext) -> Vec<String> {
    let files = std::fs::read_dir(folder(cli)).into_iter().flatten().flatten();
    let name = |file: std::fs::DirEntry| Some(file.file_name().to_str()?.strip_suffix(".toml")?.to_owned());
    let mut names: Vec<String> = files.filter_map(name).filter(|name| Theme::named(name).is_none()).collect();
    names.sort();
    names
}

fn folder(cli: &CliContext) -> PathBuf {
    cli.places.user_file.with_file_name("themes")
}
