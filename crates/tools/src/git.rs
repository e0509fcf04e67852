//! `git`: state, history and changes of the repository around the workspace; commits and pushes.
//!
//! What a repository's own configuration would start does not run: see [`config`] and [`repository`].
use crate::examples::examples_for;
use haft_core::{
    Aliases, Clip, Effect, Example, Keep, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::path::{Path, PathBuf};

mod config;
mod hidden;
mod look;
mod open;
mod patch;
mod publish;
mod push;
mod repository;
mod status;
mod work;

pub(crate) use publish::Publish;

pub(crate) struct Git;

/// Use git; its hooks do not run. `branch` with a `ref` creates one.
#[derive(Clone, Deserialize, JsonSchema)]
pub(crate) struct Args {
    action: Action,
    /// Files or folders.
    #[serde(default, deserialize_with = "one_or_many")]
    #[schemars(extend("x-accepts" = {"anyOf": [
        {"type": "array", "items": {"type": "string"}}, {"type": "string"},
    ]}, "default" = null))]
    paths: Vec<PathBuf>,
    message: Option<String>,
    /// Commit, range or branch.
    #[serde(rename = "ref")]
    revision: Option<String>,
    /// For `diff`.
    staged: Option<bool>,
    /// Entries of `log`.
    #[schemars(extend("x-hidden" = true))]
    limit: Option<u32>,
    /// Where to push to, default `origin`.
    #[schemars(extend("x-hidden" = true))]
    remote: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    Status,
    Diff,
    Log,
    Show,
    Blame,
    Add,
    Commit,
    Branch,
    Checkout,
    Push,
}

impl Tool for Git {
    const NAME: &'static str = "git";
    type Args = Args;
    const ALIASES: Aliases = Aliases {
        names: &["git_command", "git_operations"],
        parameters: &[
            ("command", "action"),
            ("operation", "action"),
            ("subcommand", "action"),
            ("path", "paths"),
            ("files", "paths"),
            ("file", "paths"),
            ("pathspec", "paths"),
            ("branch", "ref"),
            ("revision", "ref"),
            ("commit", "ref"),
            ("cached", "staged"),
            ("max_count", "limit"),
        ],
    };

    /// Looking is reading: nothing of the repository's runs, and nothing is written. All else runs the command that
    /// is named here, without the message of a commit: it is one argument, whatever stands in it.
    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        if args.only_looks() {
            let of_revision = args.revision.as_deref().map(hidden::paths).unwrap_or_default();
            let named = args.paths.iter().chain(&of_revision).map(|path| workspace.join(path));
            return std::iter::once(workspace.to_owned()).chain(named).map(Effect::Read).collect();
        }
        let mut effects = vec![Effect::execute(args.command())];
        if args.action == Action::Push {
            effects.push(Effect::Network(args.remote().to_owned()));
        }
        effects
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        args.check()?;
        let repository = open::open(ctx, args.action).await?;
        match args.action {
            Action::Status => look::status(&repository, &args).await,
            Action::Diff => look::diff(&repository, &args).await,
            Action::Log => look::log(&repository, &args).await,
            Action::Show => look::show(&repository, &args).await,
            Action::Blame => look::blame(&repository, &args).await,
            Action::Branch if args.revision.is_none() => look::branches(&repository).await,
            Action::Add => work::add(&repository, &args).await,
            Action::Commit => work::commit(&repository, &args).await,
            Action::Branch => work::branch(&repository, &args).await,
            Action::Checkout => work::checkout(&repository, &args).await,
            Action::Push => push::push(&repository, &args, ctx).await,
        }
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

impl Action {
    fn word(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Diff => "diff",
            Self::Log => "log",
            Self::Show => "show",
            Self::Blame => "blame",
            Self::Add => "add",
            Self::Commit => "commit",
            Self::Branch => "branch",
            Self::Checkout => "checkout",
            Self::Push => "push",
        }
    }
}

impl Args {
    fn only_looks(&self) -> bool {
        match self.action {
            Action::Status | Action::Diff | Action::Log | Action::Show | Action::Blame => true,
            Action::Branch => self.revision.is_none(),
            Action::Add | Action::Commit | Action::Checkout | Action::Push => false,
        }
    }

    /// Of a call that looks at everything.
    fn looking() -> Self {
        let (paths, message, revision, staged, limit, remote) = Default::default();
        Self { action: Action::Status, paths, message, revision, staged, limit, remote }
    }

    fn remote(&self) -> &str {
        self.remote.as_deref().unwrap_or("origin")
    }

    /// As rules of the policy are written: `git add src/main.rs`.
    fn command(&self) -> String {
        let mut words = vec!["git".to_owned(), self.action.word().to_owned()];
        if self.action == Action::Push {
            words.push(self.remote().to_owned());
        }
        words.extend(self.revision.clone());
        words.extend(self.paths.iter().map(|path| path.display().to_string()));
        words.join(" ")
    }

    /// What every action of this kind needs, and what would be read as an option.
    fn check(&self) -> Result<(), ToolError> {
        let given = [("ref", self.revision.as_deref()), ("remote", self.remote.as_deref())];
        let optionlike = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let mut problems: Vec<String> = optionlike
            .filter(|(_, value)| value.starts_with('-') || value.is_empty())
            .map(|(name, value)| format!("`{name}` cannot be `{value}`"))
            .collect();
        let missing = |name: &str| format!("`{name}` is required");
        match self.action {
            Action::Commit if self.message.as_deref().is_none_or(|text| text.trim().is_empty()) => {
                problems.push(missing("message"));
            }
            Action::Add if self.paths.is_empty() => problems.push(missing("paths")),
            Action::Checkout if self.revision.is_none() && self.paths.is_empty() => {
                problems.push(missing("ref"));
            }
            Action::Blame if self.paths.len() != 1 => problems.push("`paths` must name one file".into()),
            _ => {}
        }
        if problems.is_empty() {
            return Ok(());
        }
        let message = format!("cannot {}: {}", self.action.word(), problems.join("; "));
        Err(ToolError::new(ToolErrorKind::Validation, message).hint(self.action.example()))
    }
}

impl Action {
    fn example(self) -> &'static str {
        match self {
            Self::Commit => r#"for example {"action": "commit", "message": "Fix the parser"}"#,
            Self::Add => r#"for example {"action": "add", "paths": ["src/main.rs"]}; `.` is everything"#,
            Self::Checkout => r#"for example {"action": "checkout", "ref": "main"}"#,
            Self::Blame => r#"for example {"action": "blame", "paths": ["src/main.rs"]}"#,
            _ => "options are not understood: use `bash` for what this tool does not do",
        }
    }
}

/// As much of a patch or a history as a model reads at once.
const CLIP: Clip = Clip { lines: 1_000, bytes: 30_000, keep: Keep::Head };

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(PathBuf),
        Many(Vec<PathBuf>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(path) => vec![path],
        OneOrMany::Many(paths) => paths,
    })
}
