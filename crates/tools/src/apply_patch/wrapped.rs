//! [`unwrap`]: removes the text around a patch that was written as a shell command or in prose: `bash -lc '…'` or the
//! list of its words, a heredoc, quotes, a code fence.
use std::{borrow::Cow, path::PathBuf};

pub(super) const BEGIN: &str = "*** Begin Patch";
pub(super) const END: &str = "*** End Patch";

/// A line of the patch with its number.
pub(super) type Numbered<'a> = (usize, &'a str);

/// Shells, and the flags before a script.
const SHELLS: [&str; 3] = ["bash", "sh", "zsh"];
const FLAGS: [&str; 3] = ["-lc", "-c", "-cl"];

/// Returns the script in a command such as `bash -lc '…'` or `["bash", "-lc", "…"]`; otherwise the text as it is.
pub(super) fn script(text: &str) -> Cow<'_, str> {
    let bare = text.trim();
    if bare.starts_with('[')
        && let Ok(words) = serde_json::from_str::<Vec<String>>(bare)
        && let Some(word) = words.into_iter().find(|word| word.contains(BEGIN))
    {
        return Cow::Owned(word);
    }
    let mut words = bare.splitn(3, char::is_whitespace);
    let shell = words.next().and_then(|shell| shell.rsplit('/').next());
    let is_shell = shell.is_some_and(|shell| SHELLS.contains(&shell));
    let is_flag = words.next().is_some_and(|flag| FLAGS.contains(&flag));
    match words.next().filter(|_| is_shell && is_flag).and_then(quoted) {
        Some(script) => Cow::Owned(script),
        None => Cow::Borrowed(text),
    }
}

/// Returns the text inside the quotes that surround a whole word.
fn quoted(word: &str) -> Option<String> {
    let word = word.trim();
    let quote = word.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    let inner = word.strip_prefix(quote)?.strip_suffix(quote)?;
    Some(match quote {
        '\'' => inner.replace("'\\''", "'"),
        _ => unescaped(inner),
    })
}

/// Removes the `\\` that escape characters within `"…"`.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(next) = rest.next() {
        match rest.peek() {
            Some(escaped) if next == '\\' && "\"\\$`".contains(*escaped) => plain.extend(rest.next()),
            _ => plain.push(next),
        }
    }
    plain
}

/// Removes the lines, and parts of lines, that do not belong to the patch. Returns the folder that the command changed
/// to first.
pub(super) fn unwrap(lines: &mut Vec<Numbered<'_>>) -> Option<PathBuf> {
    let (first, last) = (lines.first()?.1, lines.last()?.1);
    let is_fence = first.trim_start().starts_with("```") && last.trim() == "```";
    if lines.len() > 1 && (is_fence || ends_heredoc(first, last)) {
        lines.pop();
        lines.remove(0);
        return folder(first);
    }
    // `apply_patch "*** Begin Patch` … `*** End Patch"`
    let before = first.trim_end().strip_suffix(BEGIN)?;
    let quote = before.chars().next_back().filter(|quote| matches!(quote, '\'' | '"'))?;
    let command = before.strip_suffix(quote)?;
    if !command.trim_end().ends_with("apply_patch") || last.trim() != format!("{END}{quote}") {
        return None;
    }
    let end = lines.len() - 1;
    (lines[0].1, lines[end].1) = (BEGIN, END);
    folder(command)
}

/// Whether `first` begins a heredoc that `last` ends.
fn ends_heredoc(first: &str, last: &str) -> bool {
    first
        .split_once("<<")
        .is_some_and(|(_, word)| word.trim_start_matches('-').trim().trim_matches(['\'', '"']) == last.trim())
}

/// The folder in `cd FOLDER && apply_patch …`.
fn folder(command: &str) -> Option<PathBuf> {
    let (folder, _) = command.trim_start().strip_prefix("cd ")?.split_once(['&', ';'])?;
    Some(PathBuf::from(folder.trim().trim_matches(['\'', '"'])))
}
