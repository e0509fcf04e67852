//! [`fitting`]: filters a list by typed characters, best match first, in the same way in all front-ends.
use nucleo_matcher::{
    Config, Matcher, Utf32Str,
    pattern::{CaseMatching, Normalization, Pattern},
};
use std::{borrow::Borrow, cmp::Reverse};

/// Returns the indices of the texts that match `typed`, best match first; all indices if `typed` is empty. A text must
/// contain the characters of each word of `typed` in their order; the words may match in any order. A word with an
/// upper-case letter is matched case-sensitively. Has the syntax of [`Pattern::parse`] (`^`, `$`, `'`, `!`).
pub fn fitting<T: Borrow<str>>(texts: impl IntoIterator<Item = T>, typed: &str) -> Vec<usize> {
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let pattern = Pattern::parse(typed, CaseMatching::Smart, Normalization::Smart);
    let mut buffer = Vec::new();
    let scored = texts.into_iter().enumerate().filter_map(|(place, text)| {
        let text = text.borrow();
        let score = pattern.score(Utf32Str::new(text, &mut buffer), &mut matcher)?;
        Some((Reverse(score), text.len(), place))
    });
    let mut scored: Vec<(Reverse<u32>, usize, usize)> = scored.collect();
    if !typed.is_empty() {
        scored.sort_unstable();
    }
    scored.into_iter().map(|(.., place)| place).collect()
}

/// How a prompt names a file: `@NAME`, and `@"NAME"` if the name has blanks. The name of a folder, which ends with `/`,
/// is never quoted, so that the user can continue it with a path below.
pub fn mention(name: &str) -> String {
    let is_plain = !name.contains(char::is_whitespace) || name.contains('"') || name.ends_with('/');
    if is_plain { format!("@{name}") } else { format!("@\"{name}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_comes_first() {
        let files = ["docs/parser.md", "src/parser.rs", "src/main.rs", "README.md"];
        let table: [(&str, &[usize]); 4] =
            [("", &[0, 1, 2, 3]), ("main", &[2]), ("srcp", &[1]), ("nothing", &[])];
        for (typed, expected) in table {
            assert_eq!(fitting(files, typed), expected, "{typed}");
        }
    }
}
