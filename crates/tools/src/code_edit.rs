//! [`CodeEdit`] (`code_edit`): changes lines of a file by their numbers.
use crate::{
    aliases::{ACTION, FILE},
    edit::{
        MAX_FILE,
        ends::{first_end, with_ends},
    },
    files::{Place, blocking, changes},
    report::counted,
};
use haft_core::{Aliases, Effect, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::{
    ops::Range,
    path::{Path, PathBuf},
};

pub(crate) struct CodeEdit;

/// Change lines of a file by their numbers, counted from 1. Numbers below a change shift with it.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The file, relative to the workspace or absolute.
    path: PathBuf,
    /// insert: before `start`. append: at the end; makes the file if there is none.
    action: Action,
    /// First line.
    start: Option<usize>,
    /// Last line, itself included; `start` if not given.
    end: Option<usize>,
    /// Whole lines.
    text: Option<String>,
    /// `start:end`, as PedroCLI writes it.
    #[schemars(extend("x-hidden" = true))]
    lines: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Action {
    Replace,
    Insert,
    Delete,
    Append,
}

impl Tool for CodeEdit {
    const NAME: &'static str = "code_edit";
    const ALIASES: Aliases = Aliases {
        names: &["edit_lines", "codeedit"],
        parameters: &[
            FILE,
            ACTION,
            ("start", &["start_line", "startLine", "line", "line_number"]),
            ("end", &["end_line", "endLine"]),
            ("text", &["content", "new_content", "replacement", "new_text", "code"]),
            ("lines", &["range"]),
        ],
    };
    const QUOTES_FILES: bool = true;
    type Args = Args;

    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        changes(workspace, &args.path)
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let place = Place::new(ctx, &args.path);
        let change = change(args).map_err(|why| cannot(&place, &why))?;
        blocking(move || edit(&place, &change)).await
    }
}

/// What a call asks for, made of parameters that fit together.
#[derive(Debug, PartialEq)]
enum Change {
    /// The lines to remove, and the text that replaces them.
    Put(Range<usize>, String),
    Append(String),
}

/// Lists every problem at once.
fn change(args: Args) -> Result<Change, String> {
    let mut wrong = Vec::new();
    let (first, last) = match args.lines.as_deref().map(range) {
        Some(Some((first, last))) => (args.start.or(Some(first)), args.end.or(Some(last))),
        Some(None) => {
            wrong.push("`lines` is not `start:end`".to_owned());
            (args.start, args.end)
        }
        None => (args.start, args.end),
    };
    let action = name(args.action);
    if args.action != Action::Append && first.is_none() && args.lines.is_none() {
        wrong.push(format!("`start` is required to {action}"));
    }
    if args.action != Action::Delete && args.text.is_none() {
        wrong.push(format!("`text` is required to {action}"));
    }
    let (start, text) = (first.unwrap_or(1), args.text.unwrap_or_default());
    let end = last.unwrap_or(start);
    if start == 0 {
        wrong.push("`start` is counted from 1".into());
    }
    if end < start {
        wrong.push(format!("`end` ({end}) is before `start` ({start})"));
    }
    if !wrong.is_empty() {
        return Err(wrong.join("; "));
    }
    Ok(match args.action {
        Action::Replace => Change::Put(start - 1..end, text),
        Action::Insert => Change::Put(start - 1..start - 1, text),
        Action::Delete => Change::Put(start - 1..end, String::new()),
        Action::Append => Change::Append(text),
    })
}

fn name(action: Action) -> &'static str {
    match action {
        Action::Replace => "replace",
        Action::Insert => "insert",
        Action::Delete => "delete",
        Action::Append => "append",
    }
}

fn range(lines: &str) -> Option<(usize, usize)> {
    let mut numbers = lines.split([':', '-']).map(|number| number.trim().parse().ok());
    let first = numbers.next()??;
    match numbers.next() {
        None => Some((first, first)),
        Some(last) => last.filter(|_| numbers.next().is_none()).map(|last| (first, last)),
    }
}

fn cannot(place: &Place, why: &str) -> ToolError {
    let message = format!("cannot edit `{}`: {why}", place.name.display());
    ToolError::new(ToolErrorKind::Validation, message)
}

fn edit(place: &Place, change: &Change) -> Result<ToolOutput, ToolError> {
    let content = match change {
        Change::Append(_) => place.content_if_any("edit", MAX_FILE)?.unwrap_or_default(),
        Change::Put(..) => place.content("edit", MAX_FILE)?,
    };
    let lines = Lines::of(&content);
    let (gone, text) = match change {
        Change::Append(text) => (lines.count()..lines.count(), text),
        Change::Put(gone, text) => (gone.clone(), text),
    };
    let last = lines.count();
    if gone.end > last || gone.start > last {
        let wanted = if gone.is_empty() { gone.start + 1 } else { gone.end };
        let has = counted(last as u64, "line");
        let why = format!("there is no line {wanted}: the file has {has}");
        return Err(cannot(place, &why).hint("read the file again: its lines may have shifted"));
    }
    let edited = lines.put(&gone, text);
    place.write(&edited)?;
    let said = said(&gone, text.lines().count());
    let now = Lines::of(&edited).count();
    let path = place.name.display();
    let details = json!({
        "path": place.name, "edited": true, "lines": now, "bytes_changed": edited.len() as i64 - content.len() as i64,
    });
    let has = counted(now as u64, "line");
    Ok(ToolOutput::text(format!("{said} in `{path}`, which has {has}.")).show(said).details(details))
}

/// `gone`: lines to remove, counted from 0.
fn said(gone: &Range<usize>, come: usize) -> String {
    let lines = |from: usize, to: usize| match to {
        _ if to == from => format!("line {from}"),
        _ => format!("lines {from} to {to}"),
    };
    match (gone.len(), come) {
        (0, 0) => "Changed nothing".into(),
        (0, come) => format!("Added {}", lines(gone.start + 1, gone.start + come)),
        (_, 0) => format!("Deleted {}", lines(gone.start + 1, gone.end)),
        _ => {
            format!("Replaced {} by {}", lines(gone.start + 1, gone.end), counted(come as u64, "line"))
        }
    }
}

/// Where lines begin. They end with `\n`, or with the file.
struct Lines<'a> {
    content: &'a [u8],
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(content: &'a [u8]) -> Self {
        let ends = content.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(ends).filter(|start| *start < content.len());
        Self { content, starts: starts.collect() }
    }

    fn count(&self) -> usize {
        self.starts.len()
    }

    fn start(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.content.len())
    }

    /// The file with `text`, whole lines, in place of the lines `gone`. Added lines end as their neighbors do; whether
    /// the file ends with a line end stays as it was.
    fn put(&self, gone: &Range<usize>, text: &str) -> Vec<u8> {
        // A byte order mark belongs to the file, not to its first line.
        let mark = if self.content.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let span = self.start(gone.start).max(mark)..self.start(gone.end).max(mark);
        let (before, after) = (&self.content[..span.start], &self.content[span.end..]);
        let ends_open = self.content.len() > mark && !self.content.ends_with(b"\n");
        let end = first_end(&self.content[span.start..]).or_else(|| first_end(self.content)).unwrap_or("\n");
        let mut edited = before.to_vec();
        if !text.is_empty() {
            if before.len() > mark && !before.ends_with(b"\n") {
                edited.extend_from_slice(end.as_bytes());
            }
            let text = text.strip_suffix('\n').unwrap_or(text);
            let text = text.strip_suffix('\r').unwrap_or(text);
            edited.extend(with_ends(text, self.content, &span));
            if !(after.is_empty() && ends_open) {
                edited.extend_from_slice(end.as_bytes());
            }
        }
        edited.extend_from_slice(after);
        edited
    }
}
