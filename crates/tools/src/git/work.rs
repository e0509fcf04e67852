//! [`add`], [`commit`], [`branch`] and others: the actions that change the index, the history, branches or files.
use super::{
    Args,
    look::{self, words},
    repository::{Answer, Repository, refused},
};
use haft_core::{ToolError, ToolErrorKind, ToolOutput};
use serde_json::json;
use std::{
    collections::HashSet,
    ffi::OsString,
    path::{Path, PathBuf},
};

pub(super) async fn add(repository: &Repository, args: &Args) -> Result<ToolOutput, ToolError> {
    let mut words = words(["add"]);
    words.extend(args.options.iter().map(Into::into));
    words.extend(repository.scope(&args.paths));
    repository.must(words).await?;
    after(repository).await
}

/// The status after an action.
async fn after(repository: &Repository) -> Result<ToolOutput, ToolError> {
    look::status(repository, &Args::default()).await
}

pub(super) async fn commit(repository: &Repository, args: &Args) -> Result<ToolOutput, ToolError> {
    let mut words =
        words(["commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-verbose", "--no-status"]);
    words.extend(args.options.iter().map(Into::into));
    words.extend(args.message.iter().map(|message| format!("--message={message}").into()));
    let answer = match args.paths.as_slice() {
        [] => repository.git(words).await?,
        paths => commit_paths(repository, words, paths, Untracked::Named).await?,
    };
    if !answer.ok {
        return Err(not_committed(repository, &answer, &args.paths).await);
    }
    let format = "--format=%H%x1f%h%x1f%s";
    let last = ["log", "-1", format, "--shortstat", "--no-show-signature", "--no-ext-diff", "--no-textconv"];
    let last = repository.must(last).await?.stdout;
    let (entry, counts) = last.split_once('\n').unwrap_or((&last, ""));
    let mut fields = entry.splitn(3, '\x1f');
    let [hash, short, subject] = std::array::from_fn(|_| fields.next().unwrap_or_default());
    let shown = format!("Committed {short}: {subject}");
    let counts = counts.trim();
    let text = format!(
        "{shown}\n{counts}{}",
        not_run(repository, &["pre-commit", "commit-msg", "prepare-commit-msg"])
    );
    let details = json!({"hash": hash, "short": short, "subject": subject});
    Ok(ToolOutput::text(text.trim_end()).show(shown).details(details))
}

/// The files to commit that Git does not track yet.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Untracked {
    /// Only files that a path names, not the files in a named folder, as in `git commit`.
    Named,
    /// Also files in named folders.
    InFolders,
}

/// Commits only `paths`, including files that Git does not track yet. If that fails, those are unstaged again.
pub(super) async fn commit_paths(
    repository: &Repository,
    mut words: Vec<OsString>,
    paths: &[PathBuf],
    which: Untracked,
) -> Result<Answer, ToolError> {
    let added = untracked(repository, paths, which).await?;
    let scope = repository.scope(&added);
    if !added.is_empty() {
        repository.must(["add".into()].into_iter().chain(scope.clone())).await?;
    }
    words.extend(repository.scope(paths));
    let answer = repository.git(words).await?;
    if !answer.ok && !added.is_empty() {
        let back = ["reset", "--quiet"].map(OsString::from);
        let _the_error_of_the_commit_counts = repository.git(back.into_iter().chain(scope)).await;
    }
    Ok(answer)
}

/// Returns those of `paths` that Git does not track yet.
async fn untracked(
    repository: &Repository,
    paths: &[PathBuf],
    which: Untracked,
) -> Result<Vec<PathBuf>, ToolError> {
    let words = ["ls-files", "--others", "--exclude-standard", "-z"].map(OsString::from);
    let answer = repository.must(words.into_iter().chain(repository.scope(paths))).await?;
    if answer.truncated {
        return Err(refused("it has too many files that are not tracked"));
    }
    let files: HashSet<&Path> = answer.stdout.split_terminator('\0').map(Path::new).collect();
    let is_untracked = |path: &&PathBuf| {
        let path = path.strip_prefix(&repository.folder).unwrap_or(path);
        let path = path.strip_prefix(".").unwrap_or(path);
        match which {
            Untracked::Named => files.contains(path),
            Untracked::InFolders => files.iter().any(|file| file.starts_with(path)),
        }
    };
    Ok(paths.iter().filter(is_untracked).cloned().collect())
}

async fn not_committed(repository: &Repository, answer: &Answer, paths: &[PathBuf]) -> ToolError {
    if !paths.is_empty() {
        let words = ["status", "--porcelain"].map(OsString::from);
        let changed = repository.must(words.into_iter().chain(repository.scope(paths))).await;
        let is_known = !answer.stderr.contains("pathspec");
        if is_known && changed.is_ok_and(|changed| changed.stdout.trim().is_empty()) {
            return ToolError::new(
                ToolErrorKind::User,
                "nothing to commit: the files of `paths` are as in the last commit",
            )
            .hint("the action `status` shows what was changed");
        }
        return answer.error();
    }
    let staged = repository.git(["diff", "--cached", "--quiet", "--no-ext-diff"]).await;
    if staged.is_ok_and(|answer| answer.ok) {
        return ToolError::new(ToolErrorKind::User, "cannot commit: nothing is staged")
            .hint("stage files with the action `add`, or name them in `paths`");
    }
    answer.error()
}

/// The note that hooks did not run, for users who rely on them.
pub(super) fn not_run(repository: &Repository, hooks: &[&str]) -> String {
    let names: Vec<&str> =
        repository.hooks.iter().map(String::as_str).filter(|name| hooks.contains(name)).collect();
    match names.as_slice() {
        [] => String::new(),
        names => {
            format!("\n[hooks of the repository were not run: {}; use `bash` for that]", names.join(", "))
        }
    }
}

pub(super) async fn branch(repository: &Repository, args: &Args) -> Result<ToolOutput, ToolError> {
    let name = args.revision.as_deref().unwrap_or_default();
    let mut words = words(["branch", "--no-track", "--", name]);
    words.extend(args.start.iter().map(Into::into));
    repository.must(words).await?;
    let text = format!("Made the branch `{name}`; the action `checkout` goes there.");
    Ok(ToolOutput::text(text).details(json!({"branch": name})))
}

/// Checks out files of a commit or of the index, or, without paths, another branch.
pub(super) async fn checkout(repository: &Repository, args: &Args) -> Result<ToolOutput, ToolError> {
    let mut words = words(["checkout", "--quiet", "--no-recurse-submodules"]);
    words.extend(args.options.iter().chain(&args.revision).chain(&args.start).map(Into::into));
    words.push("--".into());
    words.extend(args.paths.iter().map(Into::into));
    repository.must(words).await?;
    after(repository).await
}
