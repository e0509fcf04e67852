//! [`with_form_of`]: line ends and byte order marks, which editors store separately from the text, and files as part of
//! it.

const MARK: char = '\u{feff}';

/// Whether both texts have the same lines.
pub(super) fn is_alike(one: &str, other: &str) -> bool {
    one == other || plain(one) == plain(other)
}

/// `text` with the line ends and the byte order mark of `disk`, if it has none of its own.
pub(super) fn with_form_of(disk: &str, text: &str) -> String {
    let ends_differ = disk.contains("\r\n") && !text.contains('\r');
    let text = if ends_differ { text.replace('\n', "\r\n") } else { text.to_owned() };
    match disk.starts_with(MARK) && !text.starts_with(MARK) {
        true => format!("{MARK}{text}"),
        false => text,
    }
}

fn plain(text: &str) -> String {
    text.trim_start_matches(MARK).replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_may_keep_line_ends_to_itself() {
        let table = [
            ("a\nb\n", "a\nb\n", true, "a\nb\n"),
            ("a\r\nb\r\n", "a\nb\n", true, "a\r\nb\r\n"),
            ("a\r\nb\r\n", "a\nc\n", false, "a\r\nc\r\n"),
            ("\u{feff}a\r\n", "a\n", true, "\u{feff}a\r\n"),
            ("\u{feff}a\n", "b\n", false, "\u{feff}b\n"),
            ("a\n", "a\r\n", true, "a\r\n"),
        ];
        for (disk, text, alike, formed) in table {
            assert_eq!(
                (is_alike(disk, text), with_form_of(disk, text)),
                (alike, formed.to_owned()),
                "{disk:?} {text:?}"
            );
        }
    }
}
