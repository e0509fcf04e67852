//! [`named`] and [`themes`]: read themes from files. Some are built in; the user's own are in the folder `themes`
//! beside the configuration, and override built-in ones of the same name.
use crate::CliContext;
use haft_app::{Failure, config};
use haft_terminal::tui::{Color, OwnTheme, Palette, SyntaxTheme, Theme, Themes, syntax_themes};
use serde::{Deserialize, Deserializer, de::Error};
use std::{collections::BTreeSet, path::PathBuf};

/// Built-in themes: name and file.
const BUILT_IN: [(&str, &str); 8] = [
    ("catppuccin", include_str!("themes/catppuccin.toml")),
    ("dracula", include_str!("themes/dracula.toml")),
    ("gruvbox", include_str!("themes/gruvbox.toml")),
    ("gruvbox-light", include_str!("themes/gruvbox-light.toml")),
    ("nord", include_str!("themes/nord.toml")),
    ("solarized-dark", include_str!("themes/solarized-dark.toml")),
    ("solarized-light", include_str!("themes/solarized-light.toml")),
    ("tokyo-night", include_str!("themes/tokyo-night.toml")),
];

/// The content of a theme file.
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
    syntax: Option<Syntax>,
}

/// The theme that supplies the colors that a file does not set.
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

/// Colors of code, by name.
struct Syntax(SyntaxTheme);

impl<'de> Deserialize<'de> for Syntax {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let word = String::deserialize(from)?;
        let found = syntax_themes().iter().find(|theme| theme.as_name().eq_ignore_ascii_case(&word));
        found.map(|theme| Self(*theme)).ok_or_else(|| {
            let names: Vec<_> = syntax_themes().iter().map(|theme| theme.as_name()).collect();
            D::Error::custom(format!("no colors of code are named `{word}`; there are {}", names.join(", ")))
        })
    }
}

/// The theme of the user's file `NAME.toml`, or the built-in theme of this name.
pub(super) fn named(cli: &CliContext, name: &str) -> Result<OwnTheme, Failure> {
    let file = folder(cli).join(format!("{name}.toml"));
    if !name.contains('/') && file.exists() {
        return Ok(theme(name, config::read_file(&file)?));
    }
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
    built_in.and_then(|(name, text)| Some(theme(name, toml::from_str(text).ok()?))).ok_or_else(|| {
        let known = Theme::ALL.map(Theme::name).into_iter().chain(BUILT_IN.map(|(name, _)| name));
        Failure::usage(format!("there is no theme `{name}`")).hint(format!(
            "`theme` is one of {}, or the name of a file in `{}`",
            known.collect::<Vec<_>>().join(", "),
            folder(cli).display()
        ))
    })
}

fn theme(name: &str, said: ThemeFile) -> OwnTheme {
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
        syntax: said.syntax.map(|Syntax(syntax)| syntax),
    };
    let base = match said.base {
        Base::Terminal => Theme::Terminal,
        Base::Dark => Theme::Dark,
        Base::Light => Theme::Light,
    };
    OwnTheme { name: name.to_owned(), base, palette }
}

/// All themes that can be read; `haft config check` reports the others.
pub(super) fn themes(cli: &CliContext) -> Themes {
    let names = BTreeSet::from_iter(BUILT_IN.map(|(name, _)| name.to_owned()).into_iter().chain(files(cli)));
    Themes { own: names.iter().filter_map(|name| named(cli, name).ok()).collect() }
}

/// Checks that every theme file of the user can be read.
pub(super) fn check(cli: &CliContext) -> Result<(), Failure> {
    files(cli).iter().try_for_each(|name| named(cli, name).map(|_| ()))
}

/// The names of the user's files, in order, without those of [`Theme::ALL`].
fn files(cli: &CliContext) -> Vec<String> {
    let files = std::fs::read_dir(folder(cli)).into_iter().flatten().flatten();
    let name = |file: std::fs::DirEntry| Some(file.file_name().to_str()?.strip_suffix(".toml")?.to_owned());
    let mut names: Vec<String> = files.filter_map(name).filter(|name| Theme::named(name).is_none()).collect();
    names.sort();
    names
}

fn folder(cli: &CliContext) -> PathBuf {
    cli.places.user_file.with_file_name("themes")
}
