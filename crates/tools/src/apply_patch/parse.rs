//! [`parse`]: parses a patch.
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
//! fence around the patch, spaces around markers, blank lines between operations, and the line numbers of a unified
//! diff after `@@`.
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
    /// Makes its paths relative to this folder.
    fn move_into(&mut self, folder: &Path) {
        self.path = folder.join(&self.path);
        if let Action::Update { to: Some(to), .. } = &mut self.action {
            *to = folder.join(&to);
        }
    }
}

/// Consecutive lines of a file, and how they change.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Hunk {
    /// First line of the hunk in the patch, counted from 1.
    pub(crate) number: usize,
    pub(crate) anchors: Vec<String>,
    pub(crate) lines: Vec<Line>,
    /// Whether it must be at the end of the file.
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
    /// The line, counted from 1; `None` for the whole patch.
    pub(crate) line: Option<usize>,
    pub(crate) why: String,
}

const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

/// Parses a patch with at least one operation.
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

/// The text between the markers, and the folder of a `cd` command before the patch, if any.
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
    /// The lines that were not parsed yet.
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

/// The text after `@@`, without the line numbers of a unified diff.
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
