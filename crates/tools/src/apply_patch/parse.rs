//! [`parse`]: reads the text of a patch.
//!
//! ```text
//! patch     = [ "*** Begin Patch" ] operation+ [ "*** End Patch" ]      both or neither
//! operation = "*** Add File: " PATH    ( "+" TEXT )*
//!           | "*** Delete File: " PATH
//!           | "*** Update File: " PATH [ "*** Move to: " PATH ] hunk*   a move wants no hunk
//! hunk      = ( "@@" [ " " ANCHOR ] )* line+ [ "*** End of File" ]      the first hunk wants no "@@"
//! line      = " " TEXT    stands in the file, and stays
//!           | "-" TEXT    stands in the file, and goes
//!           | "+" TEXT    comes
//!           | ""          an empty line that stays
//! ```
//!
//! An *anchor* is a line of the file somewhere above the hunk. The parser accepts a shell command, a heredoc or a code
//! fence around the patch, blanks around markers, blank lines between operations, and the line numbers of a unified
//! diff behind `@@`.
use super::wrapped::{BEGIN, END, Numbered, script, unwrap};
use std::path::{Path, PathBuf};

/// What to do with one file.
#[derive(Debug, PartialEq)]
pub(crate) struct Operation {
    pub(crate) path: PathBuf,
    pub(crate) action: Action,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    Add { content: String },
    Delete,
    Update { to: Option<PathBuf>, hunks: Vec<Hunk> },
}

impl Operation {
    /// Its paths count from this folder.
    fn move_into(&mut self, folder: &Path) {
        self.path = folder.join(&self.path);
        if let Action::Update { to: Some(to), .. } = &mut self.action {
            *to = folder.join(&to);
        }
    }
}

/// Neighboring lines of a file, and how they change.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Hunk {
    /// Its first line in the patch, counted from 1.
    pub(crate) number: usize,
    pub(crate) anchors: Vec<String>,
    pub(crate) lines: Vec<Line>,
    /// Whether it stands at the end of the file.
    pub(crate) at_end: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Line {
    Keep(String),
    Remove(String),
    Add(String),
}

impl Line {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Keep(text) | Self::Remove(text) | Self::Add(text) => text,
        }
    }
}

/// Why a patch is invalid.
#[derive(Debug, PartialEq)]
pub(crate) struct BadPatch {
    /// Where, counted from 1; `None` for the whole.
    pub(crate) line: Option<usize>,
    pub(crate) why: String,
}

const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

/// At least one operation.
pub(crate) fn parse(patch: &str) -> Result<Vec<Operation>, BadPatch> {
    let patch = script(patch);
    let (lines, folder) = body(&patch)?;
    let mut parser = Parser { lines: &lines };
    let mut operations = Vec::new();
    while let Some((number, line)) = parser.next() {
        if !line.trim().is_empty() {
            operations.push(parser.operation(number, line)?);
        }
    }
    if operations.is_empty() {
        return Err(BadPatch { line: None, why: "it changes no file".into() });
    }
    if let Some(folder) = folder {
        operations.iter_mut().for_each(|operation| operation.move_into(&folder));
    }
    Ok(operations)
}

/// The text between the markers, and the folder that a command changed to, if it did.
fn body(patch: &str) -> Result<(Vec<Numbered<'_>>, Option<PathBuf>), BadPatch> {
    let returns = patch.matches('\n').count() == patch.matches("\r\n").count();
    let bare = |line| if returns { str::strip_suffix(line, '\r').unwrap_or(line) } else { line };
    let mut lines: Vec<_> = (1..).zip(patch.split('\n').map(bare)).collect();
    trim(&mut lines);
    let folder = unwrap(&mut lines);
    trim(&mut lines);
    let begins = lines.first().is_some_and(|(_, line)| line.trim() == BEGIN);
    let ends = lines.last().is_some_and(|(_, line)| line.trim() == END);
    match (begins, ends) {
        (true, true) => {
            lines.pop();
            lines.remove(0);
            Ok((lines, folder))
        }
        (false, false) if lines.first().is_some_and(|(_, line)| is_header(line.trim())) => {
            Ok((lines, folder))
        }
        (true, false) => Err(BadPatch { line: None, why: format!("its last line is not `{END}`") }),
        (false, _) => Err(BadPatch { line: None, why: format!("its first line is not `{BEGIN}`") }),
    }
}

fn trim(lines: &mut Vec<Numbered<'_>>) {
    let blank = |line: Option<&Numbered<'_>>| line.is_some_and(|(_, line)| line.trim().is_empty());
    while blank(lines.last()) {
        lines.pop();
    }
    let first = lines.iter().position(|(_, line)| !line.trim().is_empty()).unwrap_or(0);
    lines.drain(..first);
}

fn is_header(line: &str) -> bool {
    [ADD, DELETE, UPDATE].iter().any(|header| line.starts_with(header))
}

struct Parser<'a> {
    /// The lines that are not read yet.
    lines: &'a [Numbered<'a>],
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Option<Numbered<'a>> {
        let (first, rest) = self.lines.split_first()?;
        self.lines = rest;
        Some(*first)
    }

    /// The next line, unless it begins an operation.
    fn next_inside(&mut self) -> Option<Numbered<'a>> {
        let (_, line) = self.lines.first()?;
        if is_header(line) { None } else { self.next() }
    }

    fn operation(&mut self, number: usize, header: &str) -> Result<Operation, BadPatch> {
        let header = header.trim();
        let named = |marker| header.strip_prefix(marker).map(|path: &str| path.trim());
        let (path, action) = if let Some(path) = named(ADD) {
            (path, self.add()?)
        } else if let Some(path) = named(DELETE) {
            (path, Action::Delete)
        } else if let Some(path) = named(UPDATE) {
            (path, self.update(number)?)
        } else {
            let why = format!("`{header}` is none of `{ADD} …`, `{UPDATE} …`, `{DELETE} …`");
            return Err(BadPatch { line: Some(number), why });
        };
        if path.is_empty() {
            return Err(BadPatch { line: Some(number), why: "it names no file".into() });
        }
        Ok(Operation { path: path.into(), action })
    }

    fn add(&mut self) -> Result<Action, BadPatch> {
        let mut content = String::new();
        while let Some((number, line)) = self.next_inside() {
            match line.strip_prefix('+') {
                Some(line) => content.extend([line, "\n"]),
                None if line.trim().is_empty() => {}
                None => {
                    let why = "each line of an added file begins with `+`".into();
                    return Err(BadPatch { line: Some(number), why });
                }
            }
        }
        Ok(Action::Add { content })
    }

    fn update(&mut self, number: usize) -> Result<Action, BadPatch> {
        let to = self.lines.first().and_then(|(_, line)| line.trim().strip_prefix(MOVE));
        let to = to.map(|to| PathBuf::from(to.trim()));
        if to.is_some() {
            self.next();
        }
        let hunks = self.hunks()?;
        if hunks.is_empty() && to.is_none() {
            return Err(BadPatch { line: Some(number), why: "this update has no lines".into() });
        }
        Ok(Action::Update { to, hunks })
    }

    fn hunks(&mut self) -> Result<Vec<Hunk>, BadPatch> {
        let mut hunks: Vec<Hunk> = Vec::new();
        // A hunk ends where the next one begins.
        let mut open = false;
        while let Some((number, line)) = self.next_inside() {
            if let Some(anchor) = line.strip_prefix("@@") {
                if !hunks.last().is_some_and(|hunk| hunk.lines.is_empty()) {
                    hunks.push(Hunk { number, ..Hunk::default() });
                }
                open = true;
                let hunk = hunks.last_mut();
                hunk.into_iter().for_each(|hunk| hunk.anchors.extend(anchored(anchor)));
                continue;
            }
            if line.trim() == END_OF_FILE {
                hunks.last_mut().into_iter().for_each(|hunk| hunk.at_end = true);
                open = false;
                continue;
            }
            let line = said(number, line)?;
            if !open && line == Line::Keep(String::new()) {
                continue;
            }
            if !open {
                hunks.push(Hunk { number, ..Hunk::default() });
                open = true;
            }
            hunks.last_mut().into_iter().for_each(|hunk| hunk.lines.push(line.clone()));
        }
        match hunks.iter().find(|hunk| hunk.lines.is_empty()) {
            Some(hunk) => Err(BadPatch { line: Some(hunk.number), why: "this hunk has no lines".into() }),
            None => Ok(hunks),
        }
    }
}

/// What stands behind `@@`, less the line numbers of a unified diff.
fn anchored(anchor: &str) -> Option<String> {
    let anchor = anchor.strip_prefix(' ').unwrap_or(anchor);
    let anchor = match anchor.split_once("@@") {
        Some((numbers, rest)) if is_range(numbers) => rest.trim(),
        None if is_range(anchor) => "",
        _ => anchor,
    };
    (!anchor.trim().is_empty()).then(|| anchor.to_owned())
}

/// Whether it looks like `-1,3 +1,4`.
fn is_range(text: &str) -> bool {
    let numbers = |word: &str| word.chars().all(|c| c.is_ascii_digit() || c == ',');
    let mut words = text.split_whitespace();
    let mut begins = |sign| words.next().and_then(|word| word.strip_prefix(sign)).is_some_and(numbers);
    begins('-') && begins('+') && words.next().is_none()
}

fn said(number: usize, line: &str) -> Result<Line, BadPatch> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let mut rest = line.chars();
    let first = rest.next();
    let rest = rest.as_str().to_owned();
    match first {
        None => Ok(Line::Keep(String::new())),
        Some(' ') => Ok(Line::Keep(rest)),
        Some('-') => Ok(Line::Remove(rest)),
        Some('+') => Ok(Line::Add(rest)),
        Some(_) => {
            let why = "each line of a hunk begins with a blank, `-` or `+`".into();
            Err(BadPatch { line: Some(number), why })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(patch: &str) -> String {
        match parse(patch) {
            Err(BadPatch { line, why }) => format!("{}: {why}", line.unwrap_or(0)),
            Ok(operations) => operations.iter().map(written).collect::<Vec<_>>().join("; "),
        }
    }

    fn written(operation: &Operation) -> String {
        let path = operation.path.display();
        match &operation.action {
            Action::Add { content } => format!("add {path} {content:?}"),
            Action::Delete => format!("delete {path}"),
            Action::Update { to, hunks } => {
                let to = to.iter().map(|to| format!(" to {}", to.display())).collect::<String>();
                let hunks = hunks.iter().map(|hunk| {
                    let lines = hunk.lines.iter().map(|line| match line {
                        Line::Keep(text) => format!(" {text}"),
                        Line::Remove(text) => format!("-{text}"),
                        Line::Add(text) => format!("+{text}"),
                    });
                    let end = if hunk.at_end { "$" } else { "" };
                    format!(" {}@{:?}{end}", hunk.anchors.join("/"), lines.collect::<Vec<_>>().join("|"))
                });
                format!("update {path}{to}{}", hunks.collect::<String>())
            }
        }
    }

    #[test]
    fn a_patch_is_read_as_its_grammar_says() {
        let table = [
            ("*** Add File: a\n+x\n+\n*** Delete File: b", r#"add a "x\n\n"; delete b"#),
            ("*** Add File: a", r#"add a """#),
            ("*** Update File: a\n@@\n x\n-y\n+z", r#"update a @" x|-y|+z""#),
            ("*** Update File: a\n x\n-y", r#"update a @" x|-y""#),
            ("*** Update File: a\n*** Move to: b/c\n", "update a to b/c"),
            ("*** Update File: a\n@@ class A\n@@  def f():\n+x", r#"update a class A/ def f():@"+x""#),
            ("*** Update File: a\n@@\n+x\n@@ y\n-z\n*** End of File", r#"update a @"+x" y@"-z"$"#),
            ("*** Update File: a\n@@\n x\n\n+y", r#"update a @" x| |+y""#),
            ("*** Update File: a\n@@ -1,2 +1 @@ f()\n-x\n@@ -9 +8\n-y", r#"update a f()@"-x" @"-y""#),
            ("  *** Update File:   a b  \n-x\n\n*** Delete File: b", r#"update a b @"-x| "; delete b"#),
            ("*** Update File: a\n *** End Patch\n-x", r#"update a @" *** End Patch|-x""#),
            ("*** Update File: a\n\n*** Delete File: b", "1: this update has no lines"),
            (
                "*** Update File: a\n@@\n+x\n*** Frob: b",
                "4: each line of a hunk begins with a blank, `-` or `+`",
            ),
            ("*** Update File: a\n@@ x", "2: this hunk has no lines"),
            ("*** Add File: a\nx", "2: each line of an added file begins with `+`"),
            ("*** Delete File:", "1: it names no file"),
        ];
        for (patch, expected) in table {
            assert_eq!(read(patch), expected, "{patch:?}");
        }
    }

    #[test]
    fn what_stands_around_a_patch_is_forgiven_if_it_is_whole() {
        let patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
        let windows = patch.replace('\n', "\r\n");
        let forgiven = [
            patch.to_owned(),
            format!("\n\n{patch}\n\n"),
            " *** Begin Patch \n*** Delete File: a\n *** End Patch\t\n".to_owned(),
            format!("<<'EOF'\n{patch}\nEOF"),
            format!("apply_patch <<-\"X\"\n{patch}\nX\n"),
            format!("```diff\n{patch}\n```"),
            format!("bash -lc 'apply_patch <<\"EOF\"\n{patch}\nEOF\n'"),
            format!("/bin/sh -c \"apply_patch <<'EOF'\n{patch}\nEOF\""),
            format!("apply_patch \"{patch}\""),
            format!("zsh -lc \"apply_patch '{patch}'\""),
            serde_json::to_string(&["apply_patch", patch]).unwrap(),
            serde_json::to_string(&["bash", "-lc", &format!("apply_patch <<'EOF'\n{patch}\nEOF\n")]).unwrap(),
            windows,
        ];
        for patch in forgiven {
            assert_eq!(read(&patch), "delete a", "{patch:?}");
        }
        let written = "bash -lc \"apply_patch <<'EOF'\n*** Add File: a\n+say \\\"hi\\\" for \\$5\nEOF\"";
        assert_eq!(read(written), r#"add a "say \"hi\" for $5\n""#);
        let elsewhere = format!("cd 'b c' && apply_patch <<EOF\n{patch}\nEOF");
        assert_eq!(read(&elsewhere), "delete b c/a");
        let table = [
            ("", "0: its first line is not `*** Begin Patch`"),
            ("bad", "0: its first line is not `*** Begin Patch`"),
            ("*** Begin Patch\n*** End Patch", "0: it changes no file"),
            ("*** Begin Patch\n*** Delete File: a", "0: its last line is not `*** End Patch`"),
            ("*** Delete File: a\n*** End Patch", "0: its first line is not `*** Begin Patch`"),
            (
                "*** Begin Patch\n*** Frob: a\n*** End Patch",
                "2: `*** Frob: a` is none of `*** Add File: …`, `*** Update File: …`, `*** Delete File: …`",
            ),
        ];
        for (patch, expected) in table {
            assert_eq!(read(patch), expected, "{patch:?}");
        }
    }
}
