//! [`Look`]: the colors of a theme, limited to what the terminal supports.
use ratatui::style::{Color, Modifier, Style};
use two_face::theme::{EmbeddedLazyThemeSet, EmbeddedThemeName};

/// A color theme for code.
pub type SyntaxTheme = EmbeddedThemeName;

/// All color themes for code; the user names them by [`SyntaxTheme::as_name`].
pub fn syntax_themes() -> &'static [SyntaxTheme] {
    EmbeddedLazyThemeSet::theme_names()
}

/// How many colors the terminal supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// No colors, only bold and underlined text (`NO_COLOR`).
    None,
    /// The 16 colors of the terminal's palette.
    Sixteen,
    /// 256 colors.
    Many,
    /// 16 million colors.
    True,
}

impl Depth {
    /// The depth according to the environment variables.
    pub fn of(no_color: bool, colorterm: Option<&str>, term: Option<&str>) -> Self {
        let term = term.unwrap_or_default();
        match (no_color, colorterm) {
            (true, _) => Self::None,
            (_, Some("truecolor" | "24bit")) => Self::True,
            _ if term.contains("direct") => Self::True,
            _ if term.contains("256color") => Self::Many,
            _ => Self::Sixteen,
        }
    }
}

/// A theme that the user can choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// The 16 colors of the terminal's palette, as the user configured them.
    #[default]
    Terminal,
    /// For dark backgrounds.
    Dark,
    /// For light backgrounds.
    Light,
    /// No colors.
    Plain,
}

impl Theme {
    /// All built-in themes.
    pub const ALL: [Self; 4] = [Self::Terminal, Self::Dark, Self::Light, Self::Plain];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Dark => "dark",
            Self::Light => "light",
            Self::Plain => "plain",
        }
    }

    /// The theme with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|theme| theme.name() == name)
    }
}

/// Colors that replace those of a theme. If the terminal has too few colors for one, the theme's color is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// The user's input, and what needs attention.
    pub accent: Option<Color>,
    /// The color of less important text.
    pub dim: Option<Color>,
    /// Successes.
    pub good: Option<Color>,
    /// Failures.
    pub bad: Option<Color>,
    /// Questions.
    pub warn: Option<Color>,
    /// Code in the middle of prose.
    pub code: Option<Color>,
    /// Links.
    pub link: Option<Color>,
    /// Background of added lines.
    pub added: Option<Color>,
    /// Background of the added part of a line.
    pub added_words: Option<Color>,
    /// Background of removed lines.
    pub removed: Option<Color>,
    /// Background of the removed part of a line.
    pub removed_words: Option<Color>,
    /// Colors of code, if the terminal has 256 colors or more.
    pub syntax: Option<SyntaxTheme>,
}

impl Palette {
    /// Replaces nothing.
    pub const NONE: Self = Self {
        accent: None,
        dim: None,
        good: None,
        bad: None,
        warn: None,
        code: None,
        link: None,
        added: None,
        added_words: None,
        removed: None,
        removed_words: None,
        syntax: None,
    };
}

/// A user-defined theme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnTheme {
    /// What people call it.
    pub name: String,
    /// The theme from which all other colors are taken.
    pub base: Theme,
    /// The colors that the theme replaces.
    pub palette: Palette,
}

/// The themes in addition to [`Theme::ALL`].
#[derive(Clone, Debug, Default)]
pub struct Themes {
    /// User-defined themes.
    pub own: Vec<OwnTheme>,
}

impl Themes {
    /// The names of all themes.
    pub(crate) fn names(&self) -> Vec<String> {
        let own = self.own.iter().map(|theme| theme.name.clone());
        Theme::ALL.map(|theme| theme.name().to_owned()).into_iter().chain(own).collect()
    }

    /// The theme with this name: a built-in theme, and the colors that replace its own.
    pub(crate) fn named(&self, name: &str) -> Option<(Theme, Palette)> {
        let own = || self.own.iter().find(|theme| theme.name == name);
        let built_in = Theme::named(name).map(|theme| (theme, Palette::NONE));
        built_in.or_else(|| own().map(|theme| (theme.base, theme.palette)))
    }

    /// The name of the theme of `look`.
    pub(crate) fn name_of(&self, look: &Look) -> String {
        let is_shown = |theme: &&OwnTheme| (theme.base, theme.palette) == (look.theme, look.palette);
        self.own.iter().find(is_shown).map_or(look.theme.name().to_owned(), |theme| theme.name.clone())
    }
}

/// The style of each kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The theme that the user chose.
    pub theme: Theme,
    /// The colors that the terminal supports.
    pub depth: Depth,
    /// Whether the terminal's own background is light.
    pub is_light: bool,
    /// Colors of the user-defined theme.
    pub palette: Palette,
}

/// The background of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The terminal's own background.
    Same,
    /// The background of added or removed lines.
    Changed,
}

/// Whether the background is light, by the variable `COLORFGBG`: `TEXT;BACKGROUND`, as numbers in the terminal's palette.
pub fn is_light(colorfgbg: Option<&str>) -> bool {
    let background = colorfgbg.and_then(|colors| colors.rsplit(';').next()?.parse::<u8>().ok());
    background.is_some_and(|color| color == 7 || (9..16).contains(&color))
}

impl Look {
    /// `theme` on a terminal with a dark background.
    #[must_use]
    pub const fn new(theme: Theme, depth: Depth) -> Self {
        Self { theme, depth, is_light: false, palette: Palette::NONE }
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.theme == Theme::Plain || self.depth == Depth::None
    }

    /// Colors of code; `None` for no colors.
    pub(crate) fn code_theme(&self) -> Option<SyntaxTheme> {
        match (self.is_plain(), self.theme, self.depth) {
            (true, ..) => None,
            (_, _, Depth::Many | Depth::True) if self.palette.syntax.is_some() => self.palette.syntax,
            (_, Theme::Terminal, _) | (_, _, Depth::Sixteen) => Some(SyntaxTheme::Ansi),
            (_, Theme::Dark, _) => Some(SyntaxTheme::OneHalfDark),
            (_, Theme::Light | Theme::Plain, _) => Some(SyntaxTheme::OneHalfLight),
        }
    }

    /// Colors of code on this background.
    pub(crate) fn theme_on(&self, side: Side) -> Option<SyntaxTheme> {
        match (side, self.theme) {
            (Side::Changed, Theme::Terminal) if self.grounds(true).is_some() => {
                Some(if self.is_light { SyntaxTheme::OneHalfLight } else { SyntaxTheme::OneHalfDark })
            }
            // On such lines, the whole line has one color.
            (Side::Changed, _) if self.grounds(true).is_none() => None,
            _ => self.code_theme(),
        }
    }

    /// The style of an added or removed line, and the background of the part that differs; `None` if there are too few
    /// colors. The text has its own color, since the terminal's default is not known for sure.
    pub(crate) fn grounds(&self, is_added: bool) -> Option<(Style, Color)> {
        if self.is_plain() || self.depth < Depth::Many {
            return None;
        }
        let is_light = match self.theme {
            Theme::Light => true,
            Theme::Dark => false,
            Theme::Terminal | Theme::Plain => self.is_light,
        };
        let (text, line, part) = match (is_light, is_added) {
            (false, true) => (0xdcdfe4, 0x1b3a26, 0x2f8a4a),
            (false, false) => (0xdcdfe4, 0x3f1d22, 0x8f2a2a),
            (true, true) => (0x383a42, 0xdafbe1, 0xaceebb),
            (true, false) => (0x383a42, 0xffe0de, 0xffc0bd),
        };
        let (own_line, own_part) = match is_added {
            true => (self.palette.added, self.palette.added_words),
            false => (self.palette.removed, self.palette.removed_words),
        };
        let color = |rgb| Color::from_u32(rgb);
        let (line, part) = (own_line.unwrap_or(color(line)), own_part.unwrap_or(color(part)));
        Some((Style::new().fg(self.shown(color(text))).bg(self.shown(line)), self.shown(part)))
    }

    fn colored(&self, own: Option<Color>, terminal: Color, dark: u32, light: u32) -> Style {
        if let Some(own) = own.filter(|own| self.has(*own)) {
            return self.in_palette(self.shown(own));
        }
        let rgb = match self.theme {
            Theme::Dark => dark,
            Theme::Light => light,
            Theme::Terminal | Theme::Plain => return self.in_palette(terminal),
        };
        match self.depth {
            Depth::None | Depth::Sixteen => self.in_palette(terminal),
            Depth::Many | Depth::True => Style::new().fg(self.shown(Color::from_u32(rgb))),
        }
    }

    /// Whether the terminal supports this color or a similar one.
    fn has(&self, color: Color) -> bool {
        match color {
            Color::Rgb(..) | Color::Indexed(16..) => self.depth >= Depth::Many,
            _ => true,
        }
    }

    fn in_palette(&self, color: Color) -> Style {
        if self.is_plain() { Style::new() } else { Style::new().fg(color) }
    }

    /// The nearest color that the terminal supports.
    pub(crate) fn shown(&self, color: Color) -> Color {
        match (color, self.depth) {
            (Color::Rgb(r, g, b), Depth::Many) => Color::Indexed(nearest(r, g, b)),
            _ => color,
        }
    }

    /// The style of the user's input, and of what needs attention.
    pub(crate) fn accent(&self) -> Style {
        self.colored(self.palette.accent, Color::Cyan, 0x56b6c2, 0x0184bc)
    }

    /// The style of less important text.
    pub(crate) fn dim(&self) -> Style {
        match self.is_plain() {
            true => Style::new(),
            false => self.colored(self.palette.dim, Color::DarkGray, 0x7f848e, 0x7a7d85),
        }
    }

    /// The style of a success.
    pub(crate) fn good(&self) -> Style {
        self.colored(self.palette.good, Color::Green, 0x98c379, 0x2f7d32)
    }

    /// The style of a failure.
    pub(crate) fn bad(&self) -> Style {
        self.colored(self.palette.bad, Color::Red, 0xe06c75, 0xc0392b)
    }

    /// The style of a question that waits for an answer.
    pub(crate) fn warn(&self) -> Style {
        self.colored(self.palette.warn, Color::Yellow, 0xe5c07b, 0x9a6700)
    }

    /// Code in the middle of prose.
    pub(crate) fn code(&self) -> Style {
        self.colored(self.palette.code, Color::Magenta, 0xc678dd, 0x8250df)
    }

    pub(crate) fn bold(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(crate) fn link(&self) -> Style {
        self.colored(self.palette.link, Color::Blue, 0x61afef, 0x0969da).add_modifier(Modifier::UNDERLINED)
    }

    /// The style of the chosen item in a list.
    pub(crate) fn chosen(&self) -> Style {
        self.accent().add_modifier(Modifier::BOLD)
    }
}

/// The nearest color of the 6×6×6 cube and the grays of the 256 colors (`xterm`).
fn nearest(r: u8, g: u8, b: u8) -> u8 {
    let level = |value: u8| match value {
        0..48 => 0,
        48..115 => 1,
        _ => (value - 35) / 40,
    };
    let spread = r.max(g).max(b) - r.min(g).min(b);
    let gray = (u16::from(r) + u16::from(g) + u16::from(b)) / 3;
    match (spread, gray) {
        (0..10, 8..=238) => 232 + ((gray - 8) / 10) as u8,
        _ => 16 + 36 * level(r) + 6 * level(g) + level(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_how_many_colors_there_are() {
        let table = [
            (true, Some("truecolor"), Some("xterm-256color"), Depth::None),
            (false, Some("truecolor"), None, Depth::True),
            (false, None, Some("xterm-256color"), Depth::Many),
            (false, None, Some("linux"), Depth::Sixteen),
        ];
        for (no_color, colorterm, term, expected) in table {
            assert_eq!(Depth::of(no_color, colorterm, term), expected, "{colorterm:?} {term:?}");
        }
        for (colors, expected) in [("15;0", false), ("0;15", true), ("0;default;7", true), ("x", false)] {
            assert_eq!(is_light(Some(colors)), expected, "{colors}");
        }
        let table = [((0, 0, 0), 16), ((255, 255, 255), 231), ((255, 0, 0), 196), ((128, 128, 128), 244)];
        for ((r, g, b), expected) in table {
            assert_eq!(nearest(r, g, b), expected);
        }
    }

    #[test]
    fn without_colors_nothing_has_any() {
        for look in [
            Look::new(Theme::Dark, Depth::None),
            Look::new(Theme::Plain, Depth::True),
            Look {
                palette: Palette { accent: Some(Color::Red), ..Palette::NONE },
                ..Look::new(Theme::Dark, Depth::None)
            },
        ] {
            for style in
                [look.accent(), look.dim(), look.good(), look.bad(), look.warn(), look.code(), look.link()]
            {
                assert_eq!(style.fg, None);
            }
            assert_eq!((look.code_theme(), look.grounds(true)), (None, None));
        }
    }

    #[test]
    fn a_color_of_ones_own_is_shown_where_the_terminal_has_it() {
        let own = Palette { accent: Some(Color::Rgb(1, 2, 3)), bad: Some(Color::LightRed), ..Palette::NONE };
        let table = [
            (Depth::True, Some(Color::Rgb(1, 2, 3)), Some(Color::LightRed)),
            (Depth::Many, Some(Color::Indexed(16)), Some(Color::LightRed)),
            (Depth::Sixteen, Some(Color::Cyan), Some(Color::LightRed)),
            (Depth::None, None, None),
        ];
        for (depth, accent, bad) in table {
            let look = Look { palette: own, ..Look::new(Theme::Dark, depth) };
            assert_eq!((look.accent().fg, look.bad().fg), (accent, bad), "{depth:?}");
        }
    }
}
