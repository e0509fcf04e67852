//! [`as_lines`]: turns what a program writes to a terminal into plain lines.

/// Removes the codes that move, color and clear; of an overwritten line keeps what was written last.
pub(super) fn as_lines(text: &str) -> String {
    let plain = without_codes(text).replace("\r\n", "\n");
    let written_last =
        |line: &str| line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default().to_owned();
    plain.split('\n').map(written_last).collect::<Vec<_>>().join("\n")
}

/// Removes escape sequences as in ECMA-48: `ESC [` to a letter, `ESC ]` to BEL or `ESC \\`, any other `ESC` with the
/// character behind it.
fn without_codes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => match letters.next() {
                Some('[') => {
                    let _parameters = letters.by_ref().find(|letter| ('@'..='~').contains(letter));
                }
                Some(']') => {
                    let _title = letters.by_ref().find(|letter| matches!(letter, '\u{7}' | '\u{1b}'));
                    letters.next_if_eq(&'\\');
                }
                _ => {}
            },
            '\u{8}' | '\u{7}' => {}
            letter => plain.push(letter),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_taken_out_and_the_last_of_a_line_stays() {
        let table = [
            ("a\r\nb\r\n", "a\nb\n"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x\u{1b}]8;;u\u{1b}\\y", "xy"),
            (" 10%\r 50%\r100%\r\ndone", "100%\ndone"),
            ("\u{1b}Mx\u{1b}", "x"),
            ("plain ü", "plain ü"),
        ];
        for (text, expected) in table {
            assert_eq!(as_lines(text), expected, "{text:?}");
        }
    }
}
