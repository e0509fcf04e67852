//! [`patch`] and [`named`]: keep files that may not be read out of a repository's history. Rules about files apply to
//! their past content, too.
use super::{
    Args,
    repository::{Answer, Repository},
};
use crate::watch::not_allowed;
use haft_core::{ToolError, ToolErrorKind, policy::normal};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Maximum number of files that are excluded one by one.
const MAX_LEFT_OUT: usize = 1_000;

/// Runs a command that prints a patch, and excludes files that may not be read; also returns how many were excluded.
///
/// `before` is the command with its revisions, `shown` the options that make it print a patch. Git lists the files of
/// the patch first, so that each can be checked.
pub(super) async fn patch(
    repository: &Repository,
    args: &Args,
    before: Vec<OsString>,
    shown: Vec<OsString>,
) -> Result<(Answer, usize), ToolError> {
    if repository.readable.is_everything() {
        let words =
            before.into_iter().chain(shown).chain(revisions(args)).chain(repository.scope(&args.paths));
        return Ok((repository.must(words).await?, 0));
    }
    let names = ["--format=", "--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff"];
    let names = names.into_iter().filter(|word| !word.starts_with("--format") || is_show(&before));
    let list = before.iter().cloned().chain(names.map(Into::into)).chain(revisions(args));
    let answer = repository.with_pathspecs(list.chain(scope(repository, args, &[]))).await?;
    if answer.truncated {
        return Err(refused("it is about too many files").hint("name `paths`"));
    }
    let files = answer.stdout.split(['\0', '\n']).filter(|name| !name.is_empty());
    let mut hidden: Vec<&str> = files.filter(|name| !holds(repository, Path::new(name))).collect();
    hidden.sort_unstable();
    hidden.dedup();
    // A name that is not UTF-8 cannot be passed back to Git.
    if hidden.len() > MAX_LEFT_OUT || hidden.iter().any(|name| name.contains(char::REPLACEMENT_CHARACTER)) {
        let why = format!("rules do not let {} of its files be read", hidden.len());
        return Err(refused(&why).hint("name `paths` that may be read"));
    }
    // A rename would show an excluded file under its other name.
    let words = before.into_iter().chain(shown).chain(["--no-renames".into()]).chain(revisions(args));
    let answer = repository.with_pathspecs(words.chain(scope(repository, args, &hidden))).await?;
    Ok((answer, hidden.len()))
}

/// The note about excluded files.
pub(super) fn note(files: usize) -> String {
    not_allowed(files as u64)
}

fn is_show(command: &[OsString]) -> bool {
    command.first().is_some_and(|word| word == "show")
}

fn revisions(args: &Args) -> impl Iterator<Item = OsString> {
    args.revision.clone().map(Into::into).into_iter()
}

/// Like [`Repository::scope`], without `hidden`.
fn scope(repository: &Repository, args: &Args, hidden: &[&str]) -> Vec<OsString> {
    let literal = |path: OsString| {
        let mut word = OsString::from(":(literal)");
        word.push(path);
        word
    };
    let mut named = repository.scope(&args.paths).into_iter();
    let mut words: Vec<OsString> = named.next().into_iter().collect();
    let before = words.len();
    words.extend(named.map(literal));
    if words.len() == before {
        words.push(":(top)".into());
    }
    words.extend(hidden.iter().map(|name| format!(":(top,exclude,literal){name}").into()));
    words
}

fn holds(repository: &Repository, path: &Path) -> bool {
    repository.readable.holds(&repository.root.join(path))
}

/// What a revision refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// Commits, or tags of commits.
    Commits,
    /// A folder of a commit; only the names in it are shown.
    Tree,
    /// A file of a commit or of the index that may be read.
    File,
}

/// What `revision` refers to, if some files may not be read. A file must be named by its path, because the check needs
/// one.
pub(super) async fn named(repository: &Repository, revision: &str) -> Result<Named, ToolError> {
    let mut all = Named::Commits;
    for object in objects(repository, revision).await? {
        match kind(repository, &object).await?.as_str() {
            "commit" => {}
            "tree" => all = Named::Tree,
            _ => {
                let path = path_in(revision).map(|path| place(repository, &path));
                let Some(path) = path else {
                    return Err(refused(&format!("`{revision}` names a content and not its file"))
                        .hint("name it as `COMMIT:PATH`; rules say which files may be read"));
                };
                if !repository.readable.holds(&path) {
                    let why = format!("a rule does not let `{}` be read", path.display());
                    return Err(ToolError::new(ToolErrorKind::Permission, format!("cannot show it: {why}")));
                }
                all = Named::File;
            }
        }
    }
    Ok(all)
}

/// Whether a path in a revision is outside of the workspace, where the call may not read.
pub(super) fn is_outside(repository: &Repository, revision: &str) -> bool {
    let is_relative = |path: &str| path.starts_with("./") || path.starts_with("../");
    let path = path_in(revision).filter(|path| !is_relative(path));
    path.is_some_and(|path| !place(repository, &path).starts_with(&repository.folder))
}

async fn objects(repository: &Repository, revision: &str) -> Result<Vec<String>, ToolError> {
    let answer = repository.git(["rev-parse", "--revs-only", revision]).await?;
    let objects: Vec<String> =
        answer.stdout.lines().map(|line| line.trim_start_matches('^').to_owned()).collect();
    if objects.is_empty() {
        // Reports an error of Git in Git's own words, if there is one.
        repository.must(["rev-parse", revision, "--"]).await?;
        return Err(refused(&format!("it is not clear what `{revision}` names")));
    }
    Ok(objects)
}

/// The type of an object; for a tag, of its target.
async fn kind(repository: &Repository, object: &str) -> Result<String, ToolError> {
    let peeled = format!("{object}^{{}}");
    Ok(repository.must(["cat-file", "-t", &peeled]).await?.stdout.trim().to_owned())
}

/// The path of a revision in the working tree.
fn place(repository: &Repository, path: &str) -> PathBuf {
    let is_relative = path.starts_with("./") || path.starts_with("../");
    let base = if is_relative { &repository.folder } else { &repository.root };
    normal(&base.join(path))
}

/// The paths that a revision may contain, relative to the workspace: `HEAD:a.txt`, `main:a..dev:a`.
pub(super) fn paths(revision: &str) -> Vec<PathBuf> {
    let parts = revision.split("..").chain([revision]);
    parts.filter_map(path_in).map(PathBuf::from).collect()
}

/// The path after the colon in `COMMIT:PATH`, `:PATH` and `:0:PATH` (gitrevisions(7)). `:/TEXT` searches messages.
fn path_in(revision: &str) -> Option<String> {
    let mut depth = 0_usize;
    let colon = revision.char_indices().find_map(|(at, c)| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => return Some(at),
            _ => {}
        }
        None
    })?;
    let path = &revision[colon + 1..];
    if colon > 0 {
        return Some(path.to_owned());
    }
    let staged = path.strip_prefix(|c: char| c.is_ascii_digit()).and_then(|rest| rest.strip_prefix(':'));
    (!path.starts_with('/')).then(|| staged.unwrap_or(path).to_owned())
}

fn refused(why: &str) -> ToolError {
    ToolError::new(ToolErrorKind::Permission, format!("cannot show it: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_may_name_a_path() {
        let table = [
            ("HEAD", None),
            ("main..dev", None),
            ("HEAD:a/b", Some("a/b")),
            ("HEAD:../x", Some("../x")),
            ("HEAD:", Some("")),
            (":a", Some("a")),
            (":2:a", Some("a")),
            (":/fix: it", None),
            ("HEAD^{/fix: it}", None),
            ("HEAD^{/fix: it}:a", Some("a")),
            ("@{u}:a", Some("a")),
        ];
        for (revision, expected) in table {
            assert_eq!(path_in(revision).as_deref(), expected, "{revision}");
        }
        assert_eq!(paths("a:x..b:y"), ["x", "y", "x..b:y"].map(PathBuf::from));
    }
}
