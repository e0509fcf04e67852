//! [`File`] (`file`): reads or writes a whole file, as PedroCLI's agents know it. `read` and `write` in one.
use crate::{
    ReadSettings,
    aliases::{ACTION, FILE},
    files::{Place, blocking, changes},
    read, write,
};
use haft_core::{Aliases, Effect, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::{Path, PathBuf};

pub(crate) struct File(pub(crate) ReadSettings);

/// Read, write, append to or delete a whole file.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The file, relative to the workspace or absolute.
    path: PathBuf,
    /// If not given: read, or write where there is `content`.
    action: Option<Action>,
    /// What to write or append.
    content: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Action {
    Read,
    Write,
    Append,
    Delete,
}

impl Args {
    /// What comes with a content is written.
    fn action(&self) -> Action {
        self.action.unwrap_or(if self.content.is_some() { Action::Write } else { Action::Read })
    }
}

impl Tool for File {
    const NAME: &'static str = "file";
    const ALIASES: Aliases =
        Aliases { names: &["file_tool"], parameters: &[FILE, ACTION, ("content", &["text"])] };
    type Args = Args;
    const QUOTES_FILES: bool = true;

    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        let path = workspace.join(&args.path);
        match args.action() {
            Action::Read => vec![Effect::Read(path)],
            Action::Write => vec![Effect::Write(path)],
            Action::Append | Action::Delete => changes(workspace, &args.path),
        }
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let place = Place::new(ctx, &args.path);
        let settings = self.0.clone();
        let action = args.action();
        let content = match (action, args.content) {
            (Action::Write | Action::Append, None) => return Err(without_content(&place)),
            (_, content) => content.unwrap_or_default(),
        };
        blocking(move || match action {
            Action::Read => read::read_one(&place, read::Part::default(), &settings),
            Action::Write => write::write(&place, &content),
            Action::Append => append(&place, &content),
            Action::Delete => delete(&place),
        })
        .await
    }
}

fn without_content(place: &Place) -> ToolError {
    let why = format!("cannot write `{}`: `content` is required", place.name.display());
    ToolError::new(ToolErrorKind::Validation, why).hint("give the text to write as `content`")
}

fn append(place: &Place, text: &str) -> Result<ToolOutput, ToolError> {
    place.append(text.as_bytes())?;
    let (path, bytes) = (place.name.display(), text.len());
    Ok(ToolOutput::text(format!("Appended {bytes} bytes to `{path}`.")).details(json!({
        "path": place.name, "bytes_written": bytes, "status": "appended",
    })))
}

fn delete(place: &Place) -> Result<ToolOutput, ToolError> {
    // A pipe or a folder is not a file to delete.
    place.open("delete")?;
    place.remove()?;
    let text = format!("Deleted `{}`.", place.name.display());
    Ok(ToolOutput::text(text).details(json!({"path": place.name, "status": "deleted"})))
}
