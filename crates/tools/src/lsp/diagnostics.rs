//! [`Diagnostics`] (`diagnostics`): the errors and warnings of a file.
use super::{Asked, failed, real};
use crate::{aliases::FILE, files::Place, report::counted};
use haft_core::{Aliases, Effect, Severity, Tool, ToolContext, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::{Path, PathBuf};

pub(super) struct Diagnostics(pub(super) Asked);

/// List the errors and warnings in a source file. After your edits you are told what they add and remove without asking.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    /// The file.
    path: PathBuf,
}

impl Tool for Diagnostics {
    const NAME: &'static str = "diagnostics";
    const ALIASES: Aliases = Aliases {
        names: &["get_diagnostics", "get_errors", "lsp_diagnostics", "read_lints", "problems"],
        parameters: &[FILE],
    };
    type Args = Args;

    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        vec![Effect::Read(workspace.join(&args.path))]
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let path = args.path;
        Place::new(ctx, &path).open("check")?;
        let checked = self.0.servers.diagnostics(&real(ctx, &path)).await;
        let (server, found) = checked.map_err(|error| {
            failed(&format!("check `{}`", path.display()), &error)
                .hint("run the project's own checks with a command")
        })?;
        let count = |severity| found.iter().filter(|one| one.severity == severity).count() as u64;
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        let sum = format!("{server}: {}, {}", counted(errors, "error"), counted(warnings, "warning"));
        let lines: String = found.iter().map(|one| format!("\n{one}")).collect();
        let details = json!({"server": server, "errors": errors, "warnings": warnings, "found": found});
        Ok(ToolOutput::text(format!("{sum}{lines}")).show(sum).details(details))
    }
}
