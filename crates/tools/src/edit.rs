//! `edit`: one text in a file for another, every other byte as it was.
use crate::{
    EditSettings, Occurrence,
    examples::examples_for,
    files::{Place, blocking},
};
use haft_core::{Effect, Example, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use replace::{Edited, Missed};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

mod near;
mod replace;

pub(crate) struct EditFile(pub(crate) EditSettings);

/// Replace text in a file. `old_text` must match exactly, blanks and line breaks included.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The file, relative to the workspace or absolute.
    path: PathBuf,
    /// The text to replace, without line numbers. Take in enough lines to make it unique.
    old_text: String,
    /// The text to put in its place.
    new_text: String,
}

impl Tool for EditFile {
    const NAME: &'static str = "edit";
    type Args = Args;

    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        let path = workspace.join(&args.path);
        vec![Effect::Read(path.clone()), Effect::Write(path)]
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let place = Place::new(ctx, &args.path);
        let occurrence = self.0.occurrence;
        blocking(move || edit(&place, &args, occurrence)).await
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

/// A larger file is better left to a command.
const LARGEST: u64 = 64 * 1024 * 1024;

fn edit(place: &Place, args: &Args, occurrence: Occurrence) -> Result<ToolOutput, ToolError> {
    refuse_nothing(args)?;
    let content = place.content("edit", LARGEST)?;
    let edited = replace::replace(&content, &args.old_text, &args.new_text, occurrence)
        .map_err(|missed| explain(args, &content, missed))?;
    place.write(&edited.content)?;
    let grown = edited.content.len() as i64 - content.len() as i64;
    let path = args.path.display();
    let Edited { lines, .. } = edited;
    let occurrences =
        if lines.len() == 1 { "1 occurrence".into() } else { format!("{} occurrences", lines.len()) };
    let text = format!("Replaced {occurrences} in `{path}`, at {}.", listed(&lines));
    Ok(ToolOutput::text(text).details(json!({
        "path": place.name, "edited": true, "bytes_changed": grown, "replaced": lines.len(),
    })))
}

fn refuse_nothing(args: &Args) -> Result<(), ToolError> {
    let path = args.path.display();
    let (why, hint) = if args.old_text.is_empty() {
        ("`old_text` is empty", "give the text to replace; to make a file use `write`")
    } else if args.old_text == args.new_text {
        ("`old_text` and `new_text` are the same", "give the text as it should become")
    } else {
        return Ok(());
    };
    let message = format!("cannot edit `{path}`: {why}");
    Err(ToolError::new(ToolErrorKind::Validation, message).hint(hint).details(not_edited(args, why)))
}

fn explain(args: &Args, content: &[u8], missed: Missed) -> ToolError {
    let path = args.path.display();
    let (why, short, hint) = match missed {
        Missed::Absent => {
            let short = "old_text not found in file".to_owned();
            (short.clone(), short, near::hint(content, &args.old_text))
        }
        Missed::Ambiguous(lines) => {
            let short = format!("old_text found {} times in file", lines.len());
            let hint = "take in more lines around the one that you mean".to_owned();
            (format!("{short}, at {}", listed(&lines)), short, hint)
        }
    };
    let message = format!("cannot edit `{path}`: {why}");
    ToolError::new(ToolErrorKind::User, message).hint(hint).details(not_edited(args, &short))
}

/// The fields of A-76.
fn not_edited(args: &Args, why: &str) -> Value {
    json!({"path": args.path, "edited": false, "error": why})
}

/// So many line numbers are worth reading.
const LISTED: usize = 10;

fn listed(lines: &[usize]) -> String {
    let numbers: Vec<_> = lines.iter().take(LISTED).map(ToString::to_string).collect();
    let word = if lines.len() == 1 { "line" } else { "lines" };
    let dots = if lines.len() > LISTED { ", …" } else { "" };
    format!("{word} {}{dots}", numbers.join(", "))
}
