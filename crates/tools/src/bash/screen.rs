//! [`as_lines`]: converts the terminal output of a program to plain lines.
use anstream::adapter::strip_str;

/// Removes control sequences for the cursor, colors and clearing. Of a line that was overwritten, keeps the last text.
pub(super) fn as_lines(text: &str) -> String {
    let plain = strip_str(text).to_string().replace("\r\n", "\n");
    let written_last =
        |line: &str| line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default().to_owned();
    plain.split('\n').map(written_last).collect::<Vec<_>>().join("\n")
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
            ("\u{1b}(Ba\tb\u{8}\u{7}", "a\tb"),
            ("\u{1b}P1$r0m\u{1b}\\x", "x"),
            ("plain ü", "plain ü"),
        ];
        for (text, expected) in table {
            assert_eq!(as_lines(text), expected, "{text:?}");
        }
    }
}
