//! Texts that look the same: typographic quotes, dashes and blanks as ASCII.

/// The character that a keyboard has for this one. One for one, so that places stay comparable.
pub(crate) fn plain(character: char) -> char {
    match character {
        '\u{2018}'..='\u{201b}' | '\u{2032}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        // Fullwidth forms of ASCII stand in its order (Unicode, block U+FF00).
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(character) - 0xff01 + u32::from('!')).unwrap_or(character)
        }
        other => other,
    }
}

/// `line` as a keyboard would write it, without blanks at its end.
pub(crate) fn folded(line: &str) -> String {
    line.chars().map(plain).collect::<String>().trim_end().to_owned()
}

/// The blanks that a line begins with.
pub(crate) fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}
