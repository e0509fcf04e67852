//! Text of models and tools made harmless for a terminal.
use std::borrow::Cow;

/// Without what moves the cursor, sets the title, fills the clipboard or turns the reading direction: control
/// characters but line feed and tab, the C1 range, and Unicode's direction overrides.
pub fn text(text: &str) -> Cow<'_, str> {
    match text.contains(is_harmful) {
        true => Cow::Owned(text.chars().filter(|c| !is_harmful(*c)).collect()),
        false => Cow::Borrowed(text),
    }
}

/// The same for a line of JSON, where such characters stand in strings only and can be escaped.
pub fn json(line: &str) -> Cow<'_, str> {
    match line.contains(is_harmful) {
        true => Cow::Owned(line.chars().fold(String::new(), escaped)),
        false => Cow::Borrowed(line),
    }
}

fn escaped(mut line: String, c: char) -> String {
    match is_harmful(c) {
        true => line += &format!("\\u{:04x}", u32::from(c)),
        false => line.push(c),
    }
    line
}

fn is_harmful(c: char) -> bool {
    let control = c.is_control() && c != '\n' && c != '\t';
    control
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{061c}')
}

#[cfg(test)]
mod tests {
    use super::*;

    // D15
    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        let evil = "a\u{1b}]52;c;ZXZpbA==\u{7}b\u{9b}2Jc\u{202e}d\te\nf\r";
        assert_eq!(text(evil), "a]52;c;ZXZpbA==b2Jcd\te\nf");
        assert!(matches!(text("plain ä\n"), Cow::Borrowed(_)));
        let line = serde_json::to_string(evil).unwrap();
        assert!(!json(&line).contains(is_harmful));
        assert_eq!(serde_json::from_str::<String>(&json(&line)).unwrap(), evil);
    }
}
