//! [`ApplyPatch`] (`apply_patch`): changes several files at once, in the format that Codex made known, all of them or
//! none.
use crate::{
    edit::{MAX_FILE, listed, near},
    files::{Place, blocking, changes},
    report::counted,
};
use haft_core::{Aliases, Effect, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use hunks::{Patched, Unplaced};
use parse::{Action, BadPatch, Hunk, Line, Operation, parse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

mod hunks;
mod lines;
mod parse;
mod wrapped;

pub(crate) struct ApplyPatch;

/// Add, change, move or delete files: all of the patch or nothing.
/// ```text
/// *** Begin Patch
/// *** Add File: new.txt
/// +each line
/// *** Update File: src/a.py
/// *** Move to: src/b.py
/// @@ def above_the_change():
///  line that stays
/// -line that goes
/// +line that comes
/// *** Delete File: old.txt
/// *** End Patch
/// ```
/// Around a change give 3 lines that stay. `*** Move to:` and the text behind `@@` are optional.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// From `*** Begin Patch` to `*** End Patch`.
    patch: String,
}

impl Tool for ApplyPatch {
    const NAME: &'static str = "apply_patch";
    const ALIASES: Aliases = Aliases {
        names: &["applypatch", "apply-patch", "patch"],
        parameters: &[("patch", &["input", "patchText", "patch_text", "patch_content", "diff", "content"])],
    };
    type Args = Args;
    const QUOTES_FILES: bool = true;

    /// `None` if the patch cannot be read: such a call touches nothing.
    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        let operations = parse(&args.patch).unwrap_or_default();
        operations.iter().flat_map(|operation| touched(operation, workspace)).collect()
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let operations = parse(&args.patch).map_err(unreadable)?;
        let ctx = ctx.clone();
        blocking(move || apply(&operations, &ctx)).await
    }
}

/// Returns how many operations the patch has.
pub(crate) fn operations(patch: &str) -> Result<usize, ToolError> {
    parse(patch).map(|operations| operations.len()).map_err(unreadable)
}

fn touched(operation: &Operation, workspace: &Path) -> Vec<Effect> {
    match &operation.action {
        Action::Add { .. } => vec![Effect::Write(workspace.join(&operation.path))],
        Action::Delete => changes(workspace, &operation.path),
        Action::Update { to, .. } => {
            let to = to.iter().map(|to| Effect::Write(workspace.join(to)));
            changes(workspace, &operation.path).into_iter().chain(to).collect()
        }
    }
}

fn unreadable(bad: BadPatch) -> ToolError {
    let at = bad.line.map(|line| format!("line {line}: ")).unwrap_or_default();
    ToolError::new(ToolErrorKind::Validation, format!("cannot read the patch: {at}{}", bad.why)).hint(
        "for example:\n*** Begin Patch\n*** Update File: a.txt\n@@\n line that stays\n-line that goes\n+line that comes\n*** End Patch",
    )
}

fn apply(operations: &[Operation], ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let mut draft = Draft { ctx, files: Vec::new() };
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for operation in operations {
        if ctx.cancel.is_cancelled() {
            return Err(ToolError::new(ToolErrorKind::User, "the patch was interrupted"));
        }
        match draft.take(operation) {
            Ok(said) => done.push(said),
            Err(error) => failed.push(error),
        }
    }
    if !failed.is_empty() {
        return Err(all_of(failed));
    }
    draft.write()?;
    let files: Vec<Value> = done.iter().map(|done| json!({"path": done.path, "done": done.what})).collect();
    let lines: Vec<String> =
        done.iter().map(|done| format!("{} `{}`{}", done.what, done.path, done.how)).collect();
    let shown = format!("Patched {}", counted(done.len() as u64, "file"));
    Ok(ToolOutput::text(lines.join("\n")).show(shown).details(json!({"files": files})))
}

/// Lists every problem at once.
fn all_of(mut failed: Vec<ToolError>) -> ToolError {
    let kind = failed[0].kind;
    let messages: Vec<String> = failed.iter().map(|error| error.message.clone()).collect();
    let mut hints: Vec<String> = failed.iter_mut().filter_map(|error| error.hint.take()).collect();
    hints.dedup();
    let hint = [hints.join("\n"), "[nothing was changed: send the whole patch again]".into()];
    let hint = hint.iter().filter(|hint| !hint.is_empty()).cloned().collect::<Vec<_>>().join("\n");
    ToolError::new(kind, messages.join("; ")).hint(hint)
}

/// The result of one operation.
struct Done {
    what: &'static str,
    path: String,
    how: String,
}

/// Files as the patch leaves them, before any of it is written.
struct Draft<'a> {
    ctx: &'a ToolContext,
    files: Vec<Drafted>,
}

struct Drafted {
    place: Place,
    /// `None`: the file does not exist.
    content: Option<Vec<u8>>,
    mode: Option<u32>,
    /// Whether the patch itself put it there.
    made: bool,
}

impl Draft<'_> {
    fn take(&mut self, operation: &Operation) -> Result<Done, ToolError> {
        let path = operation.path.display().to_string();
        let done = |what, how| Ok(Done { what, path: path.clone(), how });
        match &operation.action {
            Action::Add { content } => {
                let file = self.file(&operation.path, "add")?;
                if file.made {
                    return Err(wrong(&format!("cannot add `{path}`: the patch makes it twice")));
                }
                let what = if file.content.is_some() { "Replaced" } else { "Added" };
                (file.content, file.made) = (Some(content.clone().into_bytes()), true);
                done(what, String::new())
            }
            Action::Delete => {
                let file = self.file(&operation.path, "delete")?;
                file.content.take().ok_or_else(|| file.place.missing("delete"))?;
                file.made = false;
                done("Deleted", String::new())
            }
            Action::Update { to, hunks } => {
                let file = self.file(&operation.path, "update")?;
                let patched = file.patched(hunks)?;
                let what = if file.content.is_some() { "Updated" } else { "Added" };
                file.content = Some(patched.content);
                let at = match patched.lines.as_slice() {
                    [] => String::new(),
                    lines => format!(" at {}", listed(lines)),
                };
                match to {
                    Some(to) => {
                        self.move_to(&operation.path, to)?;
                        done("Moved", format!(" to `{}`{at}", to.display()))
                    }
                    None => done(what, at),
                }
            }
        }
    }

    fn move_to(&mut self, from: &Path, to: &Path) -> Result<(), ToolError> {
        let file = self.file(from, "move")?;
        let (content, mode) = (file.content.take(), file.mode);
        file.made = false;
        let target = self.file(to, "write")?;
        (target.content, target.mode, target.made) = (content, mode, true);
        Ok(())
    }

    /// The file as the patch has left it so far. Two names of one file are one file.
    fn file(&mut self, path: &Path, verb: &str) -> Result<&mut Drafted, ToolError> {
        let place = Place::new(self.ctx, path);
        let known = self.files.iter().position(|file| file.place.is_same(&place));
        let at = known.map_or_else(
            || {
                let content = place.content_if_any(verb, MAX_FILE)?;
                let mode = place.mode();
                self.files.push(Drafted { place, content, mode, made: false });
                Ok(self.files.len() - 1)
            },
            Ok,
        )?;
        Ok(&mut self.files[at])
    }

    /// Deletes first: a file may stand where a folder was.
    fn write(self) -> Result<(), ToolError> {
        let (kept, gone): (Vec<_>, Vec<_>) = self.files.into_iter().partition(|file| file.content.is_some());
        for file in gone.iter().filter(|file| file.place.mode().is_some()) {
            file.place.remove()?;
        }
        for file in kept {
            file.place.write(&file.content.unwrap_or_default())?;
            file.mode.map_or(Ok(()), |mode| file.place.set_mode(mode))?;
        }
        Ok(())
    }
}

impl Drafted {
    fn patched(&self, hunks: &[Hunk]) -> Result<Patched, ToolError> {
        // A hunk that removes nothing gives the whole content of a file that does not exist. If there is one with a
        // similar name, that one is meant.
        let content = match &self.content {
            Some(content) => content,
            None if only_adds(hunks) && self.place.is_likely_new() => {
                return Ok(whole(&hunks[0]));
            }
            None => return Err(self.place.missing("update")),
        };
        hunks::apply(content, hunks).map_err(|unplaced| self.explain(content, hunks, &unplaced))
    }

    fn explain(&self, content: &[u8], hunks: &[Hunk], unplaced: &Unplaced) -> ToolError {
        let number = hunks[unplaced.hunk].number;
        let why = match (unplaced.above, hunks[unplaced.hunk].at_end) {
            (true, true) => "its lines are not at the end of the file",
            (true, false) => "its lines stand above the end of the hunk before it, or above its `@@` line",
            (false, _) => "its lines are not in the file",
        };
        let path = self.place.name.display();
        let message =
            format!("cannot update `{path}`: hunk {} (line {number} of the patch): {why}", unplaced.hunk + 1);
        let hint = match unplaced.above {
            true => "give the hunks in the order of the file, with lines of their own".into(),
            false => format!("in `{path}` {}", near::hint(content, &unplaced.text)),
        };
        ToolError::new(ToolErrorKind::User, message).hint(hint)
    }
}

fn only_adds(hunks: &[Hunk]) -> bool {
    match hunks {
        [hunk] => {
            let adds = |line: &Line| matches!(line, Line::Add(_));
            hunk.anchors.is_empty()
                && hunk.lines.iter().any(adds)
                && !hunk.lines.iter().any(|line| matches!(line, Line::Remove(_)))
        }
        _ => false,
    }
}

fn whole(hunk: &Hunk) -> Patched {
    let content: String = hunk.lines.iter().flat_map(|line| [line.text(), "\n"]).collect();
    Patched { content: content.into_bytes(), lines: Vec::new() }
}

fn wrong(message: &str) -> ToolError {
    ToolError::new(ToolErrorKind::Validation, message)
}
