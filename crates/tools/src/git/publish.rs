//! [`Publish`] (`publish`): commits what was changed, pushes the branch and opens a pull request.
use super::{
    Action, open, push,
    repository::Repository,
    work::{Untracked, commit_paths},
};
use crate::{github, settings::PublishSettings};
use haft_core::{Effect, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

pub(crate) struct Publish(pub(crate) PublishSettings);

/// Commit everything that was changed on this branch, push it and open a pull request.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// In the imperative, at most 72 characters.
    title: String,
    /// What changed and why.
    description: Option<String>,
    /// Files to commit, relative to the workspace. All that were changed if left out.
    #[serde(default)]
    paths: Vec<PathBuf>,
    /// Branch to make first. The current one if left out.
    branch: Option<String>,
}

/// What is published, and against what.
struct Branches {
    branch: String,
    base: String,
    /// The commit where the branch left its base.
    start: String,
}

/// What there is to publish.
struct Work {
    branches: Branches,
    commit: String,
    /// Number of commits that the base does not have.
    commits: usize,
    files: Vec<String>,
}

impl Tool for Publish {
    const NAME: &'static str = "publish";
    type Args = Args;

    /// The commands that it runs, as policy rules name them.
    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        let branch = args.branch.as_ref().map(|_| "git checkout -b");
        let commits = branch.into_iter().chain(["git add .", "git commit"]).map(Effect::execute);
        if stays_inside(workspace) {
            return commits.map(Effect::confined).collect();
        }
        commits.chain([Effect::execute("git push origin"), Effect::Network("origin".into())]).collect()
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let title = args.title.trim();
        if title.is_empty() {
            return Err(ToolError::new(ToolErrorKind::Validation, "cannot publish without a `title`"));
        }
        let repository = open::open(ctx, Action::Add).await?;
        // Checks everything that may be refused before the commit.
        let branches = branches(&repository, &self.0, args.branch.as_deref()).await?;
        // The same remote that the call was judged by.
        let remote = if stays_inside(&ctx.live) { None } else { remote(&repository).await? };
        if let Some(branch) = &args.branch {
            // Without changes the branch would stay behind.
            if !has_changes(&repository, &branches, &args.paths).await? {
                return Err(nothing_changed(branch));
            }
            repository.must(["checkout", "--quiet", "-b", branch]).await?;
        }
        commit(&repository, title, args.description.as_deref(), &args.paths).await?;
        let work = work(&repository, branches).await?;
        let pushed = match &remote {
            Some(_) => push(ctx, &work).await?,
            None => false,
        };
        let asked = github::Asked {
            settings: &self.0,
            remote: remote.as_deref(),
            head: &work.branches.branch,
            base: &work.branches.base,
            title,
            body: args.description.as_deref().unwrap_or_default(),
        };
        let pull = match pushed {
            true => github::pull_request(&asked, ctx).await?,
            false => Err("there is no remote `origin` to push to".into()),
        };
        Ok(told(&work, pushed, pull))
    }
}

fn told(work: &Work, pushed: bool, pull: Result<String, String>) -> ToolOutput {
    let Work { branches: Branches { branch, base, .. }, commit, commits, files } = work;
    let short = &commit[..commit.len().min(10)];
    let mut lines = vec![format!("Committed {short} on `{branch}`: {}.", amounts(*commits, files.len()))];
    lines.extend(pushed.then(|| format!("Pushed `{branch}` to `origin`.")));
    let missing = pull.as_ref().err().map(|why| format!("No pull request: {why}."));
    lines.extend(pull.as_ref().ok().map(|url| format!("Pull request: {url}")));
    lines.extend(missing.clone());
    let mut details = json!({"commit": commit, "branch": branch, "base": base, "commits": commits, "files": files,
                             "pushed": pushed, "pull_request": pull.ok()});
    if let Some(missing) = missing {
        details["missing"] = missing.into();
    }
    ToolOutput::text(lines.join("\n")).show(lines.join(" ")).details(details)
}

fn amounts(commits: usize, files: usize) -> String {
    let word = |count, one: &'static str, many| if count == 1 { one } else { many };
    format!("{commits} {}, {files} {}", word(commits, "commit", "commits"), word(files, "file", "files"))
}

/// Commits the uncommitted changes of `paths`, or all where there are none.
async fn commit(
    repository: &Repository,
    title: &str,
    body: Option<&str>,
    paths: &[PathBuf],
) -> Result<(), ToolError> {
    if !paths.is_empty() && uncommitted(repository, paths).await?.is_empty() {
        return Ok(());
    }
    let message = match body.map(str::trim).filter(|body| !body.is_empty()) {
        Some(body) => format!("{title}\n\n{body}"),
        None => title.to_owned(),
    };
    let mut words: Vec<_> = ["commit", "--quiet", "--no-verify", "--no-gpg-sign"].map(OsString::from).into();
    words.push(format!("--message={message}").into());
    let answer = match paths {
        [] => {
            let all = ["add", "--all"].map(OsString::from);
            repository.must(all.into_iter().chain(repository.scope(paths))).await?;
            if repository.git(["diff", "--cached", "--quiet", "--no-ext-diff"]).await?.ok {
                return Ok(());
            }
            repository.git(words).await?
        }
        paths => commit_paths(repository, words, paths, Untracked::InFolders).await?,
    };
    if answer.ok { Ok(()) } else { Err(answer.error()) }
}

/// What `git status` says of `paths`, or of all where there are none.
async fn uncommitted(repository: &Repository, paths: &[PathBuf]) -> Result<String, ToolError> {
    let words = ["status", "--porcelain"].map(OsString::from);
    let said = repository.must(words.into_iter().chain(repository.scope(paths))).await?.stdout;
    Ok(said.trim().to_owned())
}

fn refused(why: impl std::fmt::Display) -> ToolError {
    ToolError::new(ToolErrorKind::User, format!("cannot publish: {why}"))
}

fn nothing_changed(branch: &str) -> ToolError {
    refused(format!("nothing was changed: `{branch}` has no change that was not there before"))
}

/// Whether the commits since the start changed anything, or there are uncommitted changes of `paths`.
async fn has_changes(
    repository: &Repository,
    branches: &Branches,
    paths: &[PathBuf],
) -> Result<bool, ToolError> {
    let same = repository.git(["diff", "--quiet", "--no-ext-diff", &branches.start, "HEAD"]).await?.ok;
    Ok(!same || !uncommitted(repository, paths).await?.is_empty())
}

/// The branch to publish, which is the current one unless another one is to be made, and the one to compare it with, which
/// must be another one.
async fn branches(
    repository: &Repository,
    settings: &PublishSettings,
    new: Option<&str>,
) -> Result<Branches, ToolError> {
    let current = line(repository, ["symbolic-ref", "--short", "--quiet", "HEAD"]).await?;
    let branch = new.map(str::to_owned).or(current).ok_or_else(|| refused("no branch is checked out"))?;
    let base = match &settings.base {
        Some(base) => base.clone(),
        None => {
            let begun = settings.start.as_ref().and_then(|start| start.branch.clone());
            let known = base_of(repository).await?.or(begun);
            known.ok_or_else(|| refused("it is not known against which branch"))?
        }
    };
    if branch == base {
        return Err(refused(format!("`{branch}` is the branch that others work on"))
            .hint("name a new one with `branch`"));
    }
    let start = match &settings.start {
        Some(start) => start.commit.clone(),
        None => start_of(repository, &base).await?,
    };
    Ok(Branches { branch, base, start })
}

/// The changes of the branch since it left its base.
async fn work(repository: &Repository, branches: Branches) -> Result<Work, ToolError> {
    let range = format!("{}..HEAD", branches.start);
    let commits = line(repository, ["rev-list", "--count", &range]).await?;
    let commits = commits.and_then(|count| count.parse().ok()).unwrap_or(0);
    let files = repository.must(["diff", "--name-only", "--no-ext-diff", &range]).await?.stdout;
    let files: Vec<String> = files.lines().map(str::to_owned).collect();
    if commits == 0 || files.is_empty() {
        return Err(nothing_changed(&branches.branch));
    }
    let commit = line(repository, ["rev-parse", "HEAD"]).await?.unwrap_or_default();
    Ok(Work { branches, commit, commits, files })
}

/// Where the branch left its base: that of the remote, if it is known here.
async fn start_of(repository: &Repository, base: &str) -> Result<String, ToolError> {
    for name in [format!("refs/remotes/origin/{base}"), format!("refs/heads/{base}")] {
        if let Some(start) = line(repository, ["merge-base", &name, "HEAD"]).await? {
            return Ok(start);
        }
    }
    Err(refused(format!("there is no branch `{base}` to compare with")))
}

/// The remote's default branch, otherwise `main` or `master`.
async fn base_of(repository: &Repository) -> Result<Option<String>, ToolError> {
    let head = line(repository, ["symbolic-ref", "--short", "--quiet", "refs/remotes/origin/HEAD"]).await?;
    if let Some(name) = head.and_then(|head| head.strip_prefix("origin/").map(str::to_owned)) {
        return Ok(Some(name));
    }
    for name in ["main", "master"] {
        for place in ["refs/remotes/origin/", "refs/heads/"] {
            if line(repository, ["rev-parse", "--verify", "--quiet", &format!("{place}{name}")])
                .await?
                .is_some()
            {
                return Ok(Some(name.into()));
            }
        }
    }
    Ok(None)
}

/// Whether nothing leaves the workspace: all of the repository lies there, its objects, too (gitrepository-layout(5)), and its
/// configuration names no remote `origin`, and no other file that could.
fn stays_inside(workspace: &Path) -> bool {
    let git = workspace.join(".git");
    let Ok(config) = fs::read_to_string(git.join("config")) else { return false };
    let (config, borrowed) = (config.to_lowercase(), git.join("objects/info/alternates"));
    !borrowed.exists() && !["\"origin\"", "remote.origin", "include"].iter().any(|name| config.contains(name))
}

async fn remote(repository: &Repository) -> Result<Option<String>, ToolError> {
    line(repository, ["remote", "get-url", "--push", "--", "origin"]).await
}

/// A separate call of `git`, since it reaches a server.
async fn push(ctx: &ToolContext, work: &Work) -> Result<bool, ToolError> {
    let repository = open::open(ctx, Action::Push).await?;
    push::push_as_named(&repository, "origin", &work.branches.branch, ctx).await.map(|_| true)
}

/// The first line that git prints; `None` if it prints nothing, or fails.
async fn line<const N: usize>(
    repository: &Repository,
    words: [&str; N],
) -> Result<Option<String>, ToolError> {
    let answer = repository.git(words).await?;
    let first = answer.stdout.lines().next().map(str::trim).filter(|line| !line.is_empty());
    Ok(first.filter(|_| answer.ok).map(str::to_owned))
}
