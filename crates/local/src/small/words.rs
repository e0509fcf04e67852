//! [`words`]: the words of a request, in a form in which requests can be compared, and the files that it names.
use std::collections::BTreeSet;

/// Characters around a word that do not belong to it.
const QUOTES: &[char] =
    &['"', '\'', '`', '(', ')', ',', ';', ':', '?', '!', '“', '”', '‘', '’', '«', '»', '„'];

/// Names of files without an extension.
const WITHOUT_EXTENSION: &[&str] = &["Makefile", "Dockerfile", "README", "LICENSE", "CHANGELOG", "TODO"];

/// A word without quotes and punctuation around it, and without `'s`.
pub(super) fn bare(word: &str) -> &str {
    let word = word.trim_matches(QUOTES).trim_end_matches(['.', ',', '?', '!', ':', ';']);
    let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
    word.trim_matches(QUOTES)
}

/// Whether a bare word is the name of a file, not a number or an extension such as `.md`.
pub(super) fn is_file(word: &str) -> bool {
    let has_extension = word.rsplit_once('.').is_some_and(|(stem, extension)| {
        let fits = (1..=5).contains(&extension.len()) && extension.chars().any(char::is_alphabetic);
        fits && (!stem.is_empty() && stem != "*" || extension.len() > 3 || extension == "env")
    });
    let is_path = word.contains('/') && word.len() > 1;
    !is_address(word) && (is_path || has_extension || WITHOUT_EXTENSION.contains(&word))
}

/// Whether a bare word is the address of a page.
fn is_address(word: &str) -> bool {
    word.contains("://") || word.starts_with("www.")
}

/// The files that a request names, each once.
pub(super) fn named_files(wish: &str) -> Vec<&str> {
    let mut files: Vec<&str> = wish.split_whitespace().map(bare).filter(|word| is_file(word)).collect();
    let mut seen = BTreeSet::new();
    files.retain(|file| seen.insert(*file));
    files
}

/// Stems in lower case. Files, scripts, addresses and numbers become placeholders, so that requests that differ only in
/// them are equal.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(bare).filter(|word| !word.is_empty()).map(comparable).collect()
}

fn comparable(word: &str) -> String {
    let is_number = word.starts_with(|character: char| character.is_ascii_digit())
        && word.chars().all(|character| character.is_ascii_digit() || ".,-:".contains(character));
    match word {
        _ if is_address(word) => "<address>".into(),
        _ if is_number => "<number>".into(),
        _ if is_file(word) && (word.ends_with(".py") || word.ends_with(".sh")) => "<script>".into(),
        _ if is_file(word) => "<file>".into(),
        word => stem(&word.to_lowercase()).to_owned(),
    }
}

/// A word without the most common English endings.
fn stem(word: &str) -> &str {
    let endings = ["ing", "ed", "es", "s", "e"];
    let cut = endings.iter().find_map(|ending| word.strip_suffix(ending).filter(|stem| stem.len() >= 3));
    cut.unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_told_from_other_words() {
        let wish = "Put 3.14 and e.g. 'x.y' into \"out.txt\", see notes.md's end (or ./a.b/c). Version 2.0, .md and .env.";
        assert_eq!(named_files(wish), ["e.g", "x.y", "out.txt", "notes.md", "./a.b/c", ".env"]);
    }

    #[test]
    fn requests_that_differ_in_names_only_are_equal() {
        let expected = ["what", "in", "<file>", "at", "<number>"];
        assert_eq!(words("What's in \"src/main.rs\" at 8080?"), expected);
        assert_eq!(words("Deletes the folders"), words("delete the folder"));
    }
}
