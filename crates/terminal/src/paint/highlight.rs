//! [`highlight`]: highlights code in colors.
use super::look::Look;
use ratatui::{
    style::{Color, Modifier, Style},
    text::Span,
};
use std::sync::OnceLock;
use syntect::{
    highlighting::{FontStyle, HighlightIterator, HighlightState, Highlighter, Style as Drawn},
    parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet},
};
use two_face::theme::EmbeddedLazyThemeSet;
use two_face::theme::EmbeddedThemeName as Code;

/// Longer code is not highlighted, which would block the screen.
const MAX_CODE_BYTES: usize = 200_000;

/// The grammars, loaded with the first code: that takes some milliseconds and megabytes.
fn syntaxes() -> &'static SyntaxSet {
    static SYNTAXES: OnceLock<SyntaxSet> = OnceLock::new();
    SYNTAXES.get_or_init(two_face::syntax::extra_newlines)
}

fn themes() -> &'static EmbeddedLazyThemeSet {
    static THEMES: OnceLock<EmbeddedLazyThemeSet> = OnceLock::new();
    THEMES.get_or_init(two_face::theme::extra)
}

/// The lines of `code`, colored if `language` is known: a name or a file extension.
pub(crate) fn highlight(code: &str, language: &str, look: &Look) -> Vec<Vec<Span<'static>>> {
    highlight_in(look.code_theme(), code, language, look)
}

/// Highlights in the colors of `theme`; plain if it is `None`.
pub(crate) fn highlight_in(
    theme: Option<Code>,
    code: &str,
    language: &str,
    look: &Look,
) -> Vec<Vec<Span<'static>>> {
    let plain = || code.lines().map(|line| vec![Span::raw(line.to_owned())]).collect();
    let Some(theme) = theme.filter(|_| !language.is_empty() && code.len() <= MAX_CODE_BYTES) else {
        return plain();
    };
    let Some(syntax) = syntax(language) else { return plain() };
    let highlighter = Highlighter::new(themes().get(theme));
    let mut state = (ParseState::new(syntax), HighlightState::new(&highlighter, ScopeStack::new()));
    code.lines().map(|line| colored(line, &mut state, &highlighter, look)).collect()
}

fn syntax(language: &str) -> Option<&'static SyntaxReference> {
    let language = language.split([' ', ',', '{']).next().unwrap_or_default();
    syntaxes().find_syntax_by_token(language)
}

/// Highlights a line; it stays plain if the grammar fails on it.
fn colored(
    line: &str,
    (parse, state): &mut (ParseState, HighlightState),
    highlighter: &Highlighter<'_>,
    look: &Look,
) -> Vec<Span<'static>> {
    let with_end = format!("{line}\n");
    let Ok(marks) = parse.parse_line(&with_end, syntaxes()) else { return vec![Span::raw(line.to_owned())] };
    let drawn = HighlightIterator::new(state, &marks, &with_end, highlighter);
    let spans =
        drawn.map(|(drawn, text)| Span::styled(text.trim_end_matches('\n').to_owned(), style(drawn, look)));
    spans.filter(|span| !span.content.is_empty()).collect()
}

/// Converts a style. `bat`'s theme `ansi` encodes a place in the terminal's palette as red with an alpha of 0; an alpha
/// of 1 is the terminal's default color.
fn style(drawn: Drawn, look: &Look) -> Style {
    let color = drawn.foreground;
    let style = match color.a {
        0 => Style::new().fg(Color::Indexed(color.r)),
        1 => Style::new(),
        _ => Style::new().fg(look.shown(Color::Rgb(color.r, color.g, color.b))),
    };
    match drawn.font_style.contains(FontStyle::BOLD) {
        true => style.add_modifier(Modifier::BOLD),
        false => style,
    }
}
