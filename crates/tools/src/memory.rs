//! [`Memory`] (`memory`): adds lines to the notes that agents read in a workspace, each with its sources, and takes them out.
//!
//! People and Haft call it; models are not told of it.
use crate::files::{Place, blocking, changes};
use haft_core::{
    Effect, Seq, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput,
    memory::{self, MemoryLine, NOTE_FILES, Source},
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::Path;

pub(crate) struct Memory;

/// Add lines to the `AGENTS.md` of the workspace, or take out lines that were added so.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Lines to add.
    #[serde(default)]
    add: Vec<Line>,
    /// Texts of lines to take out since they do not hold any more.
    #[serde(default)]
    withdraw: Vec<String>,
    /// Texts of lines to take out and not to propose again.
    #[serde(default)]
    forget: Vec<String>,
}

// A line. Not a doc comment: its fields say it.
#[derive(Deserialize, JsonSchema)]
struct Line {
    /// One sentence.
    text: String,
    /// Entries that show it, each as `SESSION#ENTRY`; this call if left out.
    #[serde(default)]
    sources: Vec<String>,
}

/// Longer notes are not read by agents, either.
const MAX_BYTES: u64 = 1 << 20;

impl Tool for Memory {
    const NAME: &'static str = memory::TOOL;
    type Args = Args;

    fn effects(&self, _: &Args, workspace: &Path) -> Vec<Effect> {
        NOTE_FILES.iter().flat_map(|file| changes(workspace, Path::new(file))).collect()
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let add = args.add.iter().map(|line| read(line, ctx)).collect::<Result<Vec<_>, _>>()?;
        let removed = [args.withdraw, args.forget].concat();
        let places = NOTE_FILES.map(|file| Place::new(ctx, Path::new(file)));
        blocking(move || edit(places, &add, &removed)).await
    }
}

fn read(line: &Line, ctx: &ToolContext) -> Result<MemoryLine, ToolError> {
    let invalid = |why: String| ToolError::new(ToolErrorKind::Validation, why);
    let cannot = || invalid("cannot add the line: it is empty, or holds what looks like a secret".into());
    let text = memory::clean(&line.text).ok_or_else(cannot)?;
    let sources = line.sources.iter().map(|source| source.parse());
    let mut sources: Vec<Source> =
        sources.collect::<Result<_, memory::NoSource>>().map_err(|error| invalid(error.to_string()))?;
    if sources.is_empty() {
        let entry = Seq(ctx.message.parse().unwrap_or_default());
        sources.push(Source { session: ctx.session.clone(), entry });
    }
    Ok(MemoryLine { text, sources })
}

/// Changes the first existing file of those that agents read, or creates the first one.
fn edit(places: [Place; 2], add: &[MemoryLine], removed: &[String]) -> Result<ToolOutput, ToolError> {
    let verb = "change";
    let mut found = None;
    for place in &places {
        if let Some(content) = place.content_if_any(verb, MAX_BYTES)? {
            found = Some((place, content));
            break;
        }
    }
    let (place, content) = found.unwrap_or((&places[0], Vec::new()));
    let name = place.name.display();
    let before = String::from_utf8(content).map_err(|_| {
        ToolError::new(ToolErrorKind::User, format!("cannot change `{name}`: it is not UTF-8"))
    })?;
    let removed: Vec<&str> = removed.iter().map(String::as_str).collect();
    let after = memory::edited(&before, add, &removed);
    if after == before {
        return Ok(ToolOutput::for_both(format!("`{name}` is as it was.")));
    }
    place.write(after.as_bytes())?;
    Ok(ToolOutput::for_both(format!("Changed the notes in `{name}`.")))
}
