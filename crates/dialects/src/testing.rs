//! What the tests of several dialects share.
use crate::{Dialect, Said, Setting, read};

/// What `dialect` reads in `text`, which is the same whole and letter by letter.
pub(crate) fn said(dialect: &Dialect, setting: &Setting, text: &str) -> Vec<Said> {
    let whole = read(dialect, setting, [text]);
    let letters: Vec<String> = text.chars().map(String::from).collect();
    assert_eq!(read(dialect, setting, letters.iter().map(String::as_str)), whole, "{text}");
    whole
}

pub(crate) fn text(text: &str) -> Said {
    Said::Text(text.into())
}
