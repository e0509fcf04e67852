//! [`drawn`]: a page of documentation as it is printed: in colors on a terminal, otherwise as plain text.
use crate::{
    paint::{
        ansi::paint,
        look::{Depth, Look, Theme},
    },
    tui::markdown::filled,
};

/// Longer lines are hard to read.
const MAX_COLUMNS: usize = 100;
/// Columns where there is no terminal.
const PIPED_COLUMNS: usize = 80;

/// `markdown` in lines of the terminal's width, at most 100 columns, drawn with `look`; without one, as plain text of 80
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
            let plain = Look { theme: Theme::Plain, depth: Depth::None, is_light: false };
            let lines = filled(markdown, columns, &plain).into_iter();
            text.extend(lines.map(|line| format!("{}\n", line.to_string().trim_end())));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_filled_and_has_no_colors_without_a_terminal() {
        let page = "# Head\n\nOne `two`\nthree.\n";
        assert_eq!(drawn(page, None), "Head\n\nOne `two` three.\n");
        let look = Look { theme: Theme::Terminal, depth: Depth::Sixteen, is_light: false };
        assert!(drawn(page, Some(look)).contains("\x1b[35mtwo\x1b[0m three."), "{}", drawn(page, Some(look)));
    }
}
