//! [`Links`]: makes addresses and paths in painted text clickable (OSC 8).
//!
//! A link leads to what it shows: a complete `http` address, or an existing file of the workspace.
use linkify::{LinkFinder, LinkKind};
use std::{
    fmt::Write as _,
    io::{self, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Which texts become links; none by default.
#[derive(Clone, Debug, Default)]
pub struct Links(Option<Arc<Base>>);

#[derive(Debug)]
struct Base {
    /// Canonical path of the workspace.
    workspace: PathBuf,
    /// The name of this machine, since over SSH the terminal's own files are different ones.
    host: String,
    has_lines: bool,
}

/// Characters that delimit a path in a sentence.
const AROUND_PATHS: &[char] = &['`', '"', '\'', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '=', '|'];
/// Maximum length of a path; a longer word is not one.
const MAX_PATH_BYTES: usize = 1024;

impl Links {
    /// Links to files of `workspace` on the machine `host`. With `has_lines`, the terminal supports a line number after
    /// a file (`#12`).
    #[must_use]
    pub fn new(workspace: &Path, host: &str, has_lines: bool) -> Self {
        let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
        Self(Some(Arc::new(Base { workspace, host: host.to_owned(), has_lines })))
    }

    /// Whether links are enabled.
    pub(crate) fn are_on(&self) -> bool {
        self.0.is_some()
    }

    /// Adds links to `painted`, a line with color codes. If the line `is_full`, its last word may continue in the next
    /// one, so it is not linked.
    pub(crate) fn linked(&self, painted: &str, is_full: bool) -> String {
        let Some(base) = &self.0 else { return painted.to_owned() };
        let mut linked = String::with_capacity(painted.len());
        let mut rest = painted;
        while !rest.is_empty() {
            let (codes, text, after) = piece(rest);
            linked.push_str(codes);
            let mut done = 0;
            for (range, target) in base.targets(text) {
                if is_cut(&text[range.end..], after, is_full) {
                    continue;
                }
                linked.push_str(&text[done..range.start]);
                let _infallible = write!(linked, "\x1b]8;;{target}\x07{}\x1b]8;;\x07", &text[range.clone()]);
                done = range.end;
            }
            linked.push_str(&text[done..]);
            rest = after;
        }
        linked
    }
}

impl Base {
    /// The links in `text`, in order: their ranges and targets.
    fn targets(&self, text: &str) -> Vec<(Range<usize>, String)> {
        let mut finder = LinkFinder::new();
        finder.kinds(&[LinkKind::Url]);
        let addresses = finder.links(text).filter(|link| is_web(link.as_str()));
        let mut found: Vec<_> =
            addresses.map(|link| (link.start()..link.end(), encoded(link.as_str(), is_of_address))).collect();
        for range in words(text) {
            let is_taken =
                |(taken, _): &(Range<usize>, _)| taken.start < range.end && range.start < taken.end;
            if !found.iter().any(is_taken)
                && let Some((length, target)) = self.file(&text[range.clone()])
            {
                found.push((range.start..range.start + length, target));
            }
        }
        found.sort_by_key(|(range, _)| range.start);
        found
    }

    /// The file at the beginning of `word`, optionally followed by a line and a column: its length in the word, and the
    /// link.
    fn file(&self, word: &str) -> Option<(usize, String)> {
        let word = word.trim_end_matches(['.', ':', '!', '?']);
        if word.len() > MAX_PATH_BYTES
            || !word.contains(['/', '.'])
            || word.trim_matches(['/', '.']).is_empty()
        {
            return None;
        }
        let mut parts = word.splitn(3, ':');
        let path = parts.next().filter(|path| !path.is_empty())?;
        let line = parts.next().filter(|line| line.parse::<u32>().is_ok());
        let length = path.len() + line.map_or(0, |line| 1 + line.len());
        let file = self.workspace.join(path).canonicalize().ok()?;
        if !file.starts_with(&self.workspace) {
            return None;
        }
        let line = line.filter(|_| self.has_lines).map(|line| format!("#{line}")).unwrap_or_default();
        let path = encoded(file.to_str()?, is_of_path);
        Some((length, format!("file://{}{path}{line}", self.host)))
    }
}

/// Splits `painted` into the codes at its beginning, the text up to the next codes, and the rest.
fn piece(painted: &str) -> (&str, &str, &str) {
    let start = codes_length(painted);
    let end = painted[start..].find('\x1b').map_or(painted.len(), |at| start + at);
    (&painted[..start], &painted[start..end], &painted[end..])
}

/// Length of the escape sequences at the beginning of `painted` (ECMA-48, `CSI`). Any other escape counts as one
/// character.
fn codes_length(painted: &str) -> usize {
    let mut length = 0;
    while painted[length..].starts_with('\x1b') {
        let after = &painted[length + 1..];
        let end = after.strip_prefix('[').and_then(|codes| codes.find(|c: char| ('@'..='~').contains(&c)));
        length += 1 + end.map_or(0, |end| end + 2);
    }
    length
}

/// Whether the text before `rest` and `after` may continue elsewhere: after an ellipsis, in the next row of a table
/// cell, or in the next line.
fn is_cut(rest: &str, after: &str, is_full: bool) -> bool {
    let next = visible(rest).chain(visible(after)).find(|c| *c != ' ');
    match next {
        None => is_full,
        Some(c) => c == '…' || c == '│',
    }
}

/// The characters of `painted` without its codes.
pub(crate) fn visible(painted: &str) -> impl Iterator<Item = char> {
    let mut rest = painted;
    std::iter::from_fn(move || {
        rest = &rest[codes_length(rest)..];
        let next = rest.chars().next()?;
        rest = &rest[next.len_utf8()..];
        Some(next)
    })
}

fn is_web(address: &str) -> bool {
    let scheme = address.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https")) && !address.contains('…')
}

/// The words of a text, split as paths are delimited.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_around = |c: char| c.is_whitespace() || AROUND_PATHS.contains(&c);
    let start = move |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    text.split(is_around)
        .filter(|word| !word.is_empty())
        .map(move |word| start(word)..start(word) + word.len())
}

/// Percent-encodes all bytes of `text` that are not `plain` (RFC 3986, 2.1).
fn encoded(text: &str, plain: impl Fn(u8) -> bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match plain(byte) {
            true => encoded.push(byte.into()),
            false => _ = write!(encoded, "%{byte:02X}"),
        }
    }
    encoded
}

fn is_of_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/-._~+@,".contains(&byte)
}

fn is_of_address(byte: u8) -> bool {
    byte.is_ascii_graphic()
}

/// Writes text to a terminal, with links. The last word is held back until its end is known.
pub(crate) struct LinkWriter<Out: Write> {
    out: Out,
    links: Links,
    held: String,
}

impl<Out: Write> LinkWriter<Out> {
    /// Writes to `out`.
    pub(crate) fn new(out: Out, links: Links) -> Self {
        Self { out, links, held: String::new() }
    }

    /// Writes what was held back.
    pub(crate) fn release(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        self.out.write_all(self.links.linked(&held, false).as_bytes())?;
        self.out.flush()
    }
}

impl<Out: Write> Write for LinkWriter<Out> {
    /// `bytes` must end between characters, as those of `write!` do.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.links.are_on() {
            return self.out.write(bytes);
        }
        self.held += &String::from_utf8_lossy(bytes);
        let word = self.held.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let is_word = self.held.len() - word <= MAX_PATH_BYTES && self.held.is_char_boundary(word);
        let rest = self.held.split_off(if is_word { word } else { self.held.len() });
        let text = std::mem::replace(&mut self.held, rest);
        self.out.write_all(self.links.linked(&text, false).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<Out: Write> Drop for LinkWriter<Out> {
    fn drop(&mut self) {
        let _the_terminal_may_be_gone = self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats each link as `⟨TARGET|TEXT⟩`, without colors.
    fn shown(linked: &str, folder: &Path) -> String {
        let folder = folder.canonicalize().unwrap().to_string_lossy().into_owned();
        let linked = linked.replace("\x1b]8;;\x07", "⟩").replace("\x1b]8;;", "⟨").replace('\x07', "|");
        linked.replace(&folder, "W").replace("\x1b[1m", "").replace("\x1b[0m", "")
    }

    #[test]
    fn a_link_leads_to_what_is_shown_or_into_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("w");
        std::fs::create_dir_all(workspace.join("src")).unwrap();
        for file in ["w/src/a.rs", "w/a b.txt", "w/ü.md", "outside.txt"] {
            std::fs::write(folder.path().join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("../outside.txt", workspace.join("away.txt")).unwrap();
        let table = [
            (
                "see https://a.bc/c, and http://d.ef.",
                "see ⟨https://a.bc/c|https://a.bc/c⟩, and ⟨http://d.ef|http://d.ef⟩.",
            ),
            (
                "http://localhost:80/x http://127.0.0.1/y",
                "⟨http://localhost:80/x|http://localhost:80/x⟩ ⟨http://127.0.0.1/y|http://127.0.0.1/y⟩",
            ),
            ("x (https://a.bc/c_(d))", "x (⟨https://a.bc/c_(d)|https://a.bc/c_(d)⟩)"),
            ("ftp://a.b javascript:x data://x", "ftp://a.b javascript:x data://x"),
            ("https://a.bc/… https://a.bc/c…", "https://a.bc/… https://a.bc/c…"),
            ("| https://a.bc/c │ d |", "| https://a.bc/c │ d |"),
            ("│ https://a.bc/c", "│ ⟨https://a.bc/c|https://a.bc/c⟩"),
            ("read src/a.rs", "read ⟨file://here/W/w/src/a.rs|src/a.rs⟩"),
            ("`src/a.rs:12:3`: bad", "`⟨file://here/W/w/src/a.rs#12|src/a.rs:12⟩:3`: bad"),
            ("(./src/a.rs).", "(⟨file://here/W/w/src/a.rs|./src/a.rs⟩)."),
            ("\x1b[1msrc/a.rs\x1b[0m  +1", "⟨file://here/W/w/src/a.rs|src/a.rs⟩  +1"),
            ("ü.md", "⟨file://here/W/w/%C3%BC.md|ü.md⟩"),
            (
                "src/b.rs ../outside.txt away.txt /etc/passwd . / ..",
                "src/b.rs ../outside.txt away.txt /etc/passwd . / ..",
            ),
        ];
        let links = Links::new(&workspace, "here", true);
        for (text, expected) in table {
            let expected = expected.replace("here/W", "hereW");
            assert_eq!(shown(&links.linked(text, false), folder.path()), expected, "{text}");
            assert_eq!(Links::default().linked(text, false), text);
        }
        let full = ["https://a.bc/c", "x src/a.rs", "\x1b[1mhttps://a.bc/c\x1b[0m"];
        for text in full {
            assert_eq!(links.linked(text, true), text);
        }
        assert!(!Links::new(&workspace, "here", false).linked("src/a.rs:12", false).contains('#'));
    }

    #[test]
    fn words_that_come_in_pieces_become_links() {
        let folder = tempfile::tempdir().unwrap();
        let mut written = Vec::new();
        let mut writer = LinkWriter::new(&mut written, Links::new(folder.path(), "here", false));
        for part in ["see htt", "ps://a.bc/", "c and", " more\nhttps", "://d.ef"] {
            write!(writer, "{part}").unwrap();
        }
        drop(writer);
        let expected = "see ⟨https://a.bc/c|https://a.bc/c⟩ and more\n⟨https://d.ef|https://d.ef⟩";
        assert_eq!(shown(&String::from_utf8(written).unwrap(), folder.path()), expected);
    }
}
