//! [`Git`] (`git`): state, history and changes of the repository around the workspace; commits and pushes.
//!
//! Programs that a repository's own configuration names do not run: see [`haft_core::git_settings`] and [`repository`].
use crate::examples::examples_for;
use haft_core::{
    Aliases, Clip, Effect, Example, Keep, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use stash::Stash;
use std::path::{Path, PathBuf};

mod hidden;
mod look;
mod open;
mod patch;
mod publish;
mod push;
mod repository;
mod stash;
mod status;
mod words;
mod work;

pub(crate) use publish::Publish;

pub(crate) struct Git;

/// Use git; its hooks do not run. `branch` with a `ref` creates one.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
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
    /// What stands behind the action on a command line.
    #[serde(default)]
    #[schemars(extend("x-hidden" = true))]
    words: Vec<String>,
    /// Options that git is given.
    #[serde(skip)]
    options: Vec<String>,
    /// Where a new branch begins.
    #[serde(skip)]
    start: Option<String>,
    /// Words that are revisions or files.
    #[serde(skip)]
    unclear: Vec<String>,
    #[serde(skip)]
    stash: Stash,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    #[default]
    Status,
    Diff,
    Log,
    Show,
    Blame,
    Add,
    Commit,
    Branch,
    Checkout,
    Stash,
    Push,
}

impl Tool for Git {
    const NAME: &'static str = "git";
    type Args = Args;
    const ALIASES: Aliases = Aliases {
        names: &["git_command", "git_operations"],
        parameters: &[
            ("action", &["command", "operation", "subcommand"]),
            ("paths", &["path", "files", "file", "pathspec"]),
            ("ref", &["branch", "revision", "commit"]),
            ("staged", &["cached"]),
            ("limit", &["max_count"]),
            ("words", &["args", "arguments"]),
        ],
    };

    /// Actions that only look are reads: nothing of the repository's runs, and nothing is written. All others run the
    /// command named here, without the message of a commit: that is one argument, whatever its text.
    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        // A call that cannot be read is refused, and touches nothing.
        let Ok(args) = args.read() else { return Vec::new() };
        if args.only_looks() {
            let unclear = args.unclear.iter().map(PathBuf::from);
            let revisions = args.revision.iter().chain(&args.unclear);
            let paths = revisions.flat_map(|revision| hidden::paths(revision)).chain(unclear);
            let named = args.paths.iter().cloned().chain(paths).map(|path| workspace.join(path));
            let folders = std::iter::once(workspace.to_owned()).chain(repository::borrowed(workspace));
            return folders.chain(named).map(Effect::Read).collect();
        }
        let command = Effect::execute(args.command());
        if args.action == Action::Push {
            return vec![command, Effect::Network(args.remote().to_owned())];
        }
        // A view holds no repository outside of it.
        let is_inside = workspace.join(".git").symlink_metadata().is_ok_and(|found| found.is_dir());
        vec![if is_inside { command.confined() } else { command }]
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let args = args.read().map_err(|problems| args.refused(&problems))?;
        args.check()?;
        let repository = open::open(ctx, args.action).await?;
        let args = words::cleared(&repository, args).await?;
        match args.action {
            Action::Status => look::status(&repository, &args).await,
            Action::Diff => look::diff(&repository, &args).await,
            Action::Log => look::log(&repository, &args).await,
            Action::Show => look::show(&repository, &args).await,
            Action::Blame => look::blame(&repository, &args).await,
            Action::Branch if args.has("--show-current") => look::current(&repository).await,
            Action::Branch if args.revision.is_none() => look::branches(&repository).await,
            Action::Add => work::add(&repository, &args).await,
            Action::Commit => work::commit(&repository, &args).await,
            Action::Branch => work::branch(&repository, &args).await,
            Action::Checkout => work::checkout(&repository, &args).await,
            Action::Stash => stash::stash(&repository, &args).await,
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
            Self::Stash => "stash",
            Self::Push => "push",
        }
    }
}

impl Args {
    fn only_looks(&self) -> bool {
        match self.action {
            Action::Status | Action::Diff | Action::Log | Action::Show | Action::Blame => true,
            Action::Branch => self.revision.is_none(),
            Action::Stash => self.stash.only_looks(),
            Action::Add | Action::Commit | Action::Checkout | Action::Push => false,
        }
    }

    fn remote(&self) -> &str {
        self.remote.as_deref().unwrap_or("origin")
    }

    /// The command as policy rules name it: `git add src/main.rs`.
    fn command(&self) -> String {
        let mut words = vec!["git".to_owned(), self.action.word().to_owned()];
        words.extend((self.action == Action::Stash).then(|| self.stash.word().to_owned()));
        words.extend(self.options.clone());
        if self.action == Action::Push {
            words.push(self.remote().to_owned());
        }
        words.extend(self.revision.iter().chain(&self.start).chain(&self.unclear).cloned());
        words.extend(self.paths.iter().map(|path| path.display().to_string()));
        words.join(" ")
    }

    /// Checks what every action of this kind needs, and what would be read as an option.
    fn check(&self) -> Result<(), ToolError> {
        let given = [
            ("ref", self.revision.as_deref()),
            ("remote", self.remote.as_deref()),
            ("ref", self.start.as_deref()),
        ];
        let optionlike = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let mut problems: Vec<String> = optionlike
            .filter(|(_, value)| value.starts_with('-') || value.is_empty())
            .map(|(name, value)| format!("`{name}` cannot be `{value}`"))
            .collect();
        let idle = self.given().filter(|name| !self.action.takes().contains(name));
        problems.extend(idle.map(|name| format!("`{name}` means nothing here")));
        let missing = |name: &str| format!("`{name}` is required");
        match self.action {
            Action::Commit if self.has("--amend") && self.has("--no-edit") => {}
            Action::Commit if self.message.as_deref().is_none_or(|text| text.trim().is_empty()) => {
                problems.push(missing("message"));
            }
            Action::Add if self.paths.is_empty() && self.options.is_empty() => {
                problems.push(missing("paths"))
            }
            Action::Checkout
                if self.revision.is_none() && self.paths.is_empty() && self.unclear.is_empty() =>
            {
                problems.push(missing("ref"));
            }
            Action::Blame if self.paths.len() + self.unclear.len() == 0 || self.paths.len() > 1 => {
                problems.push("`paths` must name one file".into())
            }
            _ => {}
        }
        if problems.is_empty() { Ok(()) } else { Err(self.refused(&problems)) }
    }

    fn refused(&self, problems: &[String]) -> ToolError {
        let message = format!("cannot {}: {}", self.action.word(), problems.join("; "));
        ToolError::new(ToolErrorKind::Validation, message).hint(self.action.example())
    }

    /// The parameters that are set.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            ("paths", !self.paths.is_empty()),
            ("message", self.message.is_some()),
            ("ref", self.revision.is_some()),
            ("staged", self.staged == Some(true)),
            ("limit", self.limit.is_some()),
            ("remote", self.remote.is_some()),
        ];
        all.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}

impl Action {
    /// The parameters that the action uses.
    fn takes(self) -> &'static [&'static str] {
        match self {
            Self::Status | Self::Add => &["paths"],
            Self::Diff => &["paths", "ref", "staged"],
            Self::Log => &["paths", "ref", "limit"],
            Self::Show | Self::Blame | Self::Checkout => &["paths", "ref"],
            Self::Commit => &["paths", "message"],
            Self::Branch => &["ref"],
            Self::Stash => &["paths", "message", "ref", "staged"],
            Self::Push => &["ref", "remote"],
        }
    }

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

/// How much of a patch or a history a model reads at once.
const PATCH_CLIP: Clip = Clip { lines: 1_000, bytes: 30_000, keep: Keep::Head };

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "`paths` must be a string, or a list of strings")]
    enum OneOrMany {
        One(PathBuf),
        Many(Vec<PathBuf>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(path) => vec![path],
        OneOrMany::Many(paths) => paths,
    })
}
