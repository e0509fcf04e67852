//! [`drawn`]: formats a page of documentation: with colors for a terminal, otherwise as plain text.
use crate::{
    paint::{
        ansi::paint,
        look::{Depth, Look, Theme},
        wrap::hanging,
    },
    tui::markdown::filled,
};
use ratatui::text::Span;

/// Maximum columns, since longer lines are hard to read.
const MAX_COLUMNS: usize = 100;
/// Columns if there is no terminal.
const PIPED_COLUMNS: usize = 80;
/// Minimum columns for wrapping; in a narrower terminal, lines are not wrapped.
const MIN_COLUMNS: usize = 20;

/// Formats `markdown` in the terminal's width, at most 100 columns, with `look`; without `look`, as plain text of 80
/// columns.
#[must_use]
pub fn drawn(markdown: &str, look: Option<Look>) -> String {
    let terminal = look.and_then(|_| crossterm::terminal::size().ok()).map(|(columns, _)| columns.into());
    let columns = terminal.unwrap_or(PIPED_COLUMNS).min(MAX_COLUMNS);
    let mut text = String::new();
    match look {
        Some(look) => {
            for line in filled(markdown, columns, &look) {
                paint(&mut text, &line, columns);
                text.push('\n');
            }
        }
        None => {
            let plain = Look::new(Theme::Plain, Depth::None);
            let lines = filled(markdown, columns, &plain).into_iter();
            text.extend(lines.map(|line| format!("{}\n", line.to_string().trim_end())));
        }
    }
    text
}

/// Wraps `text` to the terminal's width, at most 80 columns: the first line after `lead`, the others after as many
/// blanks.
#[must_use]
pub fn item(lead: &str, text: &str) -> String {
    let terminal = crossterm::terminal::size().map_or(PIPED_COLUMNS, |(columns, _)| columns.into());
    let columns = terminal.clamp(MIN_COLUMNS, PIPED_COLUMNS);
    let lines = hanging(Span::raw(lead.to_owned()), &[Span::raw(text)], columns).into_iter();
    lines.map(|line| format!("{}\n", line.to_string().trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_filled_and_has_no_colors_without_a_terminal() {
        let page = "# Head\n\nOne `two`\nthree.\n";
        assert_eq!(drawn(page, None), "Head\n\nOne `two` three.\n");
        let look = Look::new(Theme::Terminal, Depth::Sixteen);
        assert!(drawn(page, Some(look)).contains("\x1b[35mtwo\x1b[0m three."), "{}", drawn(page, Some(look)));
    }

    #[test]
    fn the_lines_of_an_item_stand_below_each_other() {
        let words = "word ".repeat(30);
        let text = item("ok  ", &words);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines.len() > 1 && lines[0].starts_with("ok  word") && lines[1].starts_with("    word"),
            "{text}"
        );
        assert!(lines.iter().all(|line| line.len() <= 80), "{text}");
        assert_eq!(text.split_whitespace().skip(1).count(), 30);
    }
}
