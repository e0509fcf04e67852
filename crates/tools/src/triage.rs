//! [`Triage`] (`triage`): returns what kind of issue it is, how bad, and where to look, as data.
use haft_core::{Effect, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::{Path, PathBuf};

pub(crate) struct Triage;

/// Give the classification of an issue.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    kind: Kind,
    severity: Severity,
    /// Why this kind and this severity.
    reason: String,
    /// Where a person should look first.
    #[serde(default)]
    files: Vec<PathBuf>,
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Bug,
    Regression,
    Security,
    Performance,
    Feature,
    Documentation,
    Question,
    Duplicate,
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Severity {
    /// Data is lost, or strangers get in.
    Critical,
    /// Many cannot do what it is for.
    High,
    /// Some can only do it in another way.
    Medium,
    /// It is not as it should be.
    Low,
}

impl Tool for Triage {
    const NAME: &'static str = "triage";
    type Args = Args;

    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        args.files.iter().map(|file| Effect::Read(workspace.join(file))).collect()
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let mut problems: Vec<String> = args
            .files
            .iter()
            .filter(|file| !ctx.path(file).exists())
            .map(|file| format!("there is no file `{}`", file.display()))
            .collect();
        if args.reason.trim().is_empty() {
            problems.push("`reason` is empty".into());
        }
        if !problems.is_empty() {
            let message = format!("cannot give this classification: {}", problems.join("; "));
            return Err(ToolError::new(ToolErrorKind::Validation, message));
        }
        let details =
            json!({"kind": args.kind, "severity": args.severity, "reason": args.reason, "files": args.files});
        let word = |name: &str| details[name].as_str().unwrap_or_default().to_owned();
        let text = format!("{}, severity {}: {}", word("kind"), word("severity"), args.reason.trim());
        Ok(ToolOutput::text(text.clone()).show(text).details(details))
    }
}
