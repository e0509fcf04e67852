//! [`Review`] (`review`): returns what is wrong with a change as data: a verdict, and comments that name existing
//! lines.
use crate::{github, settings::PublishSettings};
use haft_core::{Effect, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use haft_process::read_regular;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

pub(crate) struct Review(pub(crate) PublishSettings);

/// Give the review: a verdict and one comment for each fault.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    verdict: Verdict,
    /// One paragraph.
    summary: String,
    #[serde(default)]
    comments: Vec<Comment>,
    /// Number of a pull request to post it to.
    #[schemars(extend("x-hidden" = true))]
    pull_request: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Approve,
    Comment,
    RequestChanges,
}

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
struct Comment {
    path: PathBuf,
    /// From 1.
    line: Option<u64>,
    severity: Severity,
    /// What happens, and what to do.
    message: String,
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Severity {
    Critical,
    Major,
    Minor,
}

impl Tool for Review {
    const NAME: &'static str = "review";
    type Args = Args;

    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        let read = args.comments.iter().map(|comment| Effect::Read(workspace.join(&comment.path)));
        read.chain(args.pull_request.map(|_| Effect::Network("github".into()))).collect()
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let problems: Vec<String> =
            args.comments.iter().filter_map(|comment| problem(comment, ctx)).collect();
        if !problems.is_empty() {
            let message = format!("cannot give this review: {}", problems.join("; "));
            return Err(ToolError::new(ToolErrorKind::Validation, message)
                .hint("name files and lines that are there; leave out `line` for a whole file"));
        }
        let posted = match args.pull_request {
            Some(number) => Some(github::review(&self.0, number, for_github(&args), ctx).await?),
            None => None,
        };
        let mut lines = vec![format!("Review: {}. {}", word(args.verdict), args.summary.trim())];
        lines.extend(args.comments.iter().map(shown));
        lines.extend(posted.as_ref().map(|url| format!("Posted: {url}")));
        let details = json!({"verdict": args.verdict, "summary": args.summary, "comments": args.comments,
                             "posted": posted});
        let text = lines.join("\n");
        Ok(ToolOutput::text(text.clone()).show(text).details(details))
    }
}

/// Maximum bytes of a file that a comment may name.
const MAX_FILE: u64 = 64 << 20;

fn problem(comment: &Comment, ctx: &ToolContext) -> Option<String> {
    let name = comment.path.display();
    let bytes = match read_regular(&ctx.path(&comment.path), MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Some(format!("there is no file `{name}`"));
        }
        Err(error) => return Some(format!("cannot read `{name}`: {error}")),
    };
    let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
    let line = comment.line.filter(|line| !(1..=lines).contains(line))?;
    let lines = if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
    Some(format!("`{name}` has {lines}, and no line {line}"))
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approve => "approve",
        Verdict::Comment => "comment",
        Verdict::RequestChanges => "changes are needed",
    }
}

fn shown(comment: &Comment) -> String {
    let place = comment.line.map_or(String::new(), |line| format!(":{line}"));
    let severity = match comment.severity {
        Severity::Critical => "critical",
        Severity::Major => "major",
        Severity::Minor => "minor",
    };
    format!("{}{place} [{severity}] {}", comment.path.display(), comment.message.trim())
}

/// Source: docs.github.com/en/rest/pulls/reviews, version 2022-11-28.
fn for_github(args: &Args) -> serde_json::Value {
    let event = match args.verdict {
        Verdict::Approve => "APPROVE",
        Verdict::Comment => "COMMENT",
        Verdict::RequestChanges => "REQUEST_CHANGES",
    };
    let (placed, whole): (Vec<&Comment>, Vec<&Comment>) =
        args.comments.iter().partition(|comment| comment.line.is_some());
    let comments = placed.into_iter().map(|comment| {
        json!({"path": comment.path, "line": comment.line, "side": "RIGHT", "body": comment.message})
    });
    let body = std::iter::once(args.summary.clone()).chain(whole.into_iter().map(shown));
    let body = body.collect::<Vec<_>>().join("\n\n");
    json!({"event": event, "body": body, "comments": comments.collect::<Vec<_>>()})
}
