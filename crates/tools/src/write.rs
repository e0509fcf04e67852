//! [`WriteFile`] (`write`): writes a whole file at once.
use crate::{
    aliases::FILE,
    examples::examples_for,
    files::{Place, blocking},
};
use haft_core::{Aliases, Effect, Example, Tool, ToolContext, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::{Path, PathBuf};

pub(crate) struct WriteFile;

/// Create a file, or replace all of it. Missing folders are made. To change a part of a file use `edit`.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The file, relative to the workspace or absolute.
    path: PathBuf,
    /// The whole content.
    content: String,
}

impl Tool for WriteFile {
    const NAME: &'static str = "write";
    const ALIASES: Aliases = Aliases {
        names: &["write_file", "create_file", "write_to_file", "save_file"],
        parameters: &[FILE, ("content", &["contents", "file_text", "text", "code"])],
    };
    type Args = Args;

    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        vec![Effect::Write(workspace.join(&args.path))]
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Args { path, content } = args;
        let place = Place::new(ctx, &path);
        blocking(move || write(&place, &content)).await
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

/// Replaces the whole content of the file.
pub(crate) fn write(place: &Place, content: &str) -> Result<ToolOutput, ToolError> {
    place.write(content.as_bytes())?;
    let (path, written) = (place.name.display().to_string(), content.len());
    Ok(ToolOutput::text(format!("Wrote {written} bytes to `{path}`.")).fields(json!({
        "path": path, "bytes_written": written, "status": "written",
    })))
}
