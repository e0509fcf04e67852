//! [`paint`]: writes styled lines with terminal escape sequences (ECMA-48, `SGR` and `EL`).
use ratatui::{
    style::{Color, Modifier, Style},
    text::Line,
};

/// Appends `line` to `text`. A background color is extended to the last of `columns` by erasing the rest of the line,
/// because the user would copy blanks along with the text.
pub(crate) fn paint(text: &mut String, line: &Line<'_>, columns: usize) {
    for span in &line.spans {
        let style = line.style.patch(span.style);
        let codes = codes(style);
        if codes.is_empty() {
            text.push_str(&span.content);
        } else {
            *text += &format!("\x1b[{codes}m{}\x1b[0m", span.content);
        }
    }
    // If the cursor is in the last column, erasing would remove the last character.
    if let Some(ground) = line.style.bg.filter(|_| line.width() < columns) {
        *text += &format!("\x1b[{}m\x1b[K\x1b[0m", color_code(ground, 40));
    }
}

fn codes(style: Style) -> String {
    let attributes = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
        (Modifier::CROSSED_OUT, "9"),
    ];
    let attributes = attributes.into_iter().filter(|(modifier, _)| style.add_modifier.contains(*modifier));
    let attributes = attributes.map(|(_, code)| code.to_owned());
    let colors = [style.fg.map(|color| color_code(color, 30)), style.bg.map(|color| color_code(color, 40))];
    attributes.chain(colors.into_iter().flatten()).collect::<Vec<_>>().join(";")
}

/// `base` is 30 for the foreground and 40 for the background.
fn color_code(color: Color, base: u8) -> String {
    let place = match color {
        Color::Reset => return (base + 9).to_string(),
        Color::Rgb(r, g, b) => return format!("{};2;{r};{g};{b}", base + 8),
        Color::Indexed(index) => return format!("{};5;{index}", base + 8),
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 60,
        Color::LightRed => 61,
        Color::LightGreen => 62,
        Color::LightYellow => 63,
        Color::LightBlue => 64,
        Color::LightMagenta => 65,
        Color::LightCyan => 66,
        Color::White => 67,
    };
    (base + place).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::text::Span;

    #[test]
    fn styles_become_codes() {
        let mut text = String::new();
        let style = Style::new().fg(Color::DarkGray).bg(Color::Rgb(1, 2, 3)).add_modifier(Modifier::BOLD);
        paint(&mut text, &Line::from_iter([Span::raw("a"), Span::styled("b", style)]), 9);
        assert_eq!(text, "a\x1b[1;90;48;2;1;2;3mb\x1b[0m");
    }
}
