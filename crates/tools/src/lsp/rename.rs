//! [`Rename`] (`rename`): gives a symbol another name, in all files that use it: one change with one undo.
use super::{Asked, LINE, SYMBOL, failed, occurrence, relative};
use crate::{
    aliases::FILE,
    files::{blocking, changes},
    report::counted,
};
use haft_core::{Aliases, Effect, FileEdit, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
};

pub(super) struct Rename(pub(super) Asked);

/// Rename a symbol in all files that use it, as a compiler understands it: not in comments or texts.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    /// A file in which the symbol stands.
    path: PathBuf,
    /// The name that it has.
    symbol: String,
    /// The name that it gets.
    new_name: String,
    /// The line on which it stands, counted from 1; the first one if left out.
    line: Option<usize>,
}

impl Tool for Rename {
    const NAME: &'static str = "rename";
    const ALIASES: Aliases = Aliases {
        names: &["rename_symbol", "lsp_rename"],
        parameters: &[FILE, SYMBOL, LINE, ("new_name", &["newName", "to", "replacement"])],
    };
    type Args = Args;
    const QUOTES_FILES: bool = true;

    /// Which other files change is for the server to say: they are judged when it has.
    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        changes(workspace, &args.path)
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Args { path, symbol, new_name, line } = args;
        let tried = format!("rename `{symbol}`");
        let at = occurrence(ctx, &path, symbol.clone(), line);
        let edits = self.0.servers.rename(&at, &new_name).await.map_err(|error| {
            let told = failed(&tried, &error);
            if error.is_about_call() { told } else { told.hint("use `grep` and `edit`") }
        })?;
        if edits.is_empty() {
            let why = format!("cannot {tried}: the language server would change nothing");
            return Err(ToolError::new(ToolErrorKind::User, why));
        }
        let view = ctx.clone();
        let names = blocking(move || write(&view, &tried, &edits)).await?;
        let files = counted(names.len() as u64, "file");
        let text = format!("Renamed `{symbol}` to `{new_name}` in {files}: {}.", names.join(", "));
        let details = json!({"files": names, "symbol": symbol, "new_name": new_name});
        Ok(ToolOutput::text(text).show(format!("Renamed in {files}")).details(details))
    }
}

/// Writes all files into the view; returns what they are called.
fn write(ctx: &ToolContext, tried: &str, edits: &[FileEdit]) -> Result<Vec<String>, ToolError> {
    let refused = |kind, why: String| ToolError::new(kind, format!("cannot {tried}: {why}"));
    edits
        .iter()
        .map(|edit| {
            let name = relative(ctx, &edit.path);
            if !edit.path.starts_with(&ctx.live) || !ctx.readable.holds(&edit.path) {
                let why = format!("it would change `{name}`, which this call may not read");
                return Err(refused(ToolErrorKind::Permission, why));
            }
            let written = ctx
                .view
                .add(&edit.path)
                .and_then(|place| fs::write(place, edit.after.as_deref().unwrap_or_default()));
            let why = |error| refused(ToolErrorKind::System, format!("cannot write `{name}`: {error}"));
            written.map_err(why)?;
            Ok(name)
        })
        .collect()
}
