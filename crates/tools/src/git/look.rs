//! [`status`], [`diff`], [`log`] and others: the actions that only read. They change nothing, and run no program that
//! the repository names.
use super::{
    Args, PATCH_CLIP,
    hidden::{self, Named},
    patch,
    repository::Repository,
    status::Status,
};
use haft_core::{ToolError, ToolErrorKind, ToolOutput};
use serde_json::{Value, json};
use std::ffi::OsString;

pub(super) async fn status(repository: &Repository, args: &Args) -> Result<ToolOutput, ToolError> {
    let status = state(repository, args).await?;
    let text = PATCH_CLIP.apply(&status.text(), "name `paths` to see less at once");
    Ok(ToolOutput::text(text).show(status.summary()).details(json!(status)))
}

/// The state of the working tree.
pub(super) async fn state(repository: &Repository, args: &Args) -> Result<Status, ToolError> {
    let mut words = words(["status", "--porcelain=v2", "--branch", "-z"]);
    words.extend(repository.scope(&args.paths));
    let answer = repository.must(words).await?;
    if answer.truncated {
        return Err(ToolError::new(ToolErrorKind::User, "cannot tell the status: too many files changed")
            .hint("name `paths`, or list folders that are made anew in `.gitignore`"));
    }
    Ok(Status::parse(&answer.stdout, |path| repository.named(path)))
}

/// Options of every command that shows a patch.
const PATCH_OPTIONS: [&str; 5] = ["--numstat", "--patch", "--no-color", "--no-ext-diff", "--no-textconv"];

pub(super) async fn diff(repository: &Repository, args: &Args) -> Result<ToolOutput, ToolError> {
    let hides = !repository.readable.is_everything();
    if let Some(revision) = args.revision.as_deref().filter(|_| hides)
        && hidden::named(repository, revision).await? != Named::Commits
    {
        let why = format!("cannot compare `{revision}`: rules about reading need commits to be compared");
        return Err(ToolError::new(ToolErrorKind::Permission, why).hint("name commits, and files in `paths`"));
    }
    let staged = args.staged == Some(true);
    let mut diff = words(["diff"]);
    diff.extend(staged.then(|| "--cached".into()));
    let (answer, left_out) = hidden::patch(repository, args, diff, shown(args)).await?;
    let nothing = match (staged, &args.revision) {
        (true, _) => "Nothing is staged.",
        (false, None) => "Nothing changed that is not staged; `staged` shows the rest.",
        (false, Some(_)) => "No difference.",
    };
    if !args.options.is_empty() {
        return Ok(listed(&answer.stdout, nothing, &hidden::note(left_out)));
    }
    Ok(patch::output(&answer, "", nothing, &hidden::note(left_out)))
}

/// Options that make Git print a patch, or the list that the call asks for in its place.
fn shown(args: &Args) -> Vec<OsString> {
    match args.options.is_empty() {
        true => PATCH_OPTIONS.map(Into::into).into(),
        false => {
            args.options.iter().map(Into::into).chain(PATCH_OPTIONS[2..].iter().map(Into::into)).collect()
        }
    }
}

/// A list of files as Git prints it.
fn listed(text: &str, nothing: &str, note: &str) -> ToolOutput {
    let text = PATCH_CLIP.apply(text.trim_end(), "name `paths` to see less at once");
    ToolOutput::text(format!("{}{note}", if text.is_empty() { nothing } else { &text }))
}

/// The fields of an entry, separated by a byte that no name contains.
const ENTRY_FORMAT: &str = "--format=%H%x1f%h%x1f%an%x1f%aI%x1f%s";

/// Default number of entries.
const DEFAULT_ENTRIES: u32 = 10;

/// Maximum number of entries.
pub(super) const MAX_ENTRIES: u32 = 500;

pub(super) async fn log(repository: &Repository, args: &Args) -> Result<ToolOutput, ToolError> {
    let limit = args.limit.filter(|limit| *limit > 0).unwrap_or(DEFAULT_ENTRIES).min(MAX_ENTRIES);
    let mut words =
        words(["log", ENTRY_FORMAT, "--no-show-signature", "--no-color", "--no-notes", "--encoding=UTF-8"]);
    words.push(format!("--max-count={limit}").into());
    let oneline = args.has("--oneline");
    words.extend(args.options.iter().filter(|option| *option != "--oneline").map(Into::into));
    words.extend(args.revision.clone().map(Into::into));
    words.extend(repository.scope(&args.paths));
    let answer = repository.must(words).await?;
    let entries: Vec<Value> = answer.stdout.lines().filter_map(entry).collect();
    let lines: Vec<String> = entries.iter().map(if oneline { short_line } else { line }).collect();
    let text = if lines.is_empty() { "No commits.".into() } else { PATCH_CLIP.apply(&lines.join("\n"), "") };
    let shown = if entries.len() == 1 { "1 commit".into() } else { format!("{} commits", entries.len()) };
    Ok(ToolOutput::text(text).show(shown).details(json!({"entries": entries})))
}

fn entry(line: &str) -> Option<Value> {
    let mut fields = line.splitn(5, '\x1f');
    let mut next = || fields.next();
    let (hash, short, author, date, subject) = (next()?, next()?, next()?, next()?, next()?);
    Some(json!({"hash": hash, "short": short, "author": author, "date": date, "subject": subject}))
}

/// `1a2b3c4 2026-01-31 Ada: Fix the parser`.
fn line(entry: &Value) -> String {
    let field = |name: &str| entry[name].as_str().unwrap_or_default();
    let day = field("date").split('T').next().unwrap_or_default();
    format!("{} {day} {}: {}", field("short"), field("author"), field("subject"))
}

/// `1a2b3c4 Fix the parser`, as Git prints it.
fn short_line(entry: &Value) -> String {
    let field = |name: &str| entry[name].as_str().unwrap_or_default();
    format!("{} {}", field("short"), field("subject"))
}

/// A commit as a heading above its patch.
const HEADING_FORMAT: &str = "--format=commit %H%nauthor %an <%ae>%ndate %aI%n%n%w(0,4,4)%B%x1e";

pub(super) async fn show(repository: &Repository, args: &Args) -> Result<ToolOutput, ToolError> {
    let revision = args.revision.as_deref().unwrap_or("HEAD");
    if hidden::is_outside(repository, revision) {
        let why = format!("cannot show `{revision}`: it lies outside of the workspace");
        return Err(
            ToolError::new(ToolErrorKind::Permission, why).hint("use `bash`, which a person can approve")
        );
    }
    let args = &Args { revision: Some(revision.to_owned()), ..args.clone() };
    let first = ["show", "--no-show-signature", "--no-notes", "--encoding=UTF-8"];
    let is_patch =
        repository.readable.is_everything() || hidden::named(repository, revision).await? == Named::Commits;
    let (mut answer, left_out) = match is_patch {
        true => {
            let shown = std::iter::once(HEADING_FORMAT.into()).chain(shown(args)).collect();
            hidden::patch(repository, args, words(first), shown).await?
        }
        false => {
            let more = ["--no-color", "--no-ext-diff", "--no-textconv", revision, "--"];
            (repository.must(first.into_iter().chain(more)).await?, 0)
        }
    };
    let Some((heading, patch)) = answer.stdout.split_once('\x1e') else {
        // Without a separator, it is a file of a commit, or a folder.
        return Ok(ToolOutput::text(PATCH_CLIP.apply(&answer.stdout, "")));
    };
    let heading = format!("{}\n\n", heading.trim_end());
    answer.stdout = patch.trim_start_matches('\n').to_owned();
    if !args.options.is_empty() {
        let list = listed(&answer.stdout, "No file changed.", &hidden::note(left_out));
        return Ok(ToolOutput::text(heading + &list.for_model));
    }
    Ok(patch::output(&answer, &heading, "No file changed.", &hidden::note(left_out)))
}

pub(super) async fn blame(repository: &Repository, args: &Args) -> Result<ToolOutput, ToolError> {
    let mut words = words(["blame", "--no-textconv", "--date=short", "--encoding=UTF-8"]);
    words.extend(args.options.iter().map(Into::into));
    words.extend(args.revision.clone().map(Into::into));
    words.extend(repository.scope(&args.paths));
    let answer = repository.must(words).await?;
    let shown = format!("{} lines", answer.stdout.lines().count());
    Ok(ToolOutput::text(PATCH_CLIP.apply(&answer.stdout, "")).show(shown))
}

/// The branch that is checked out.
pub(super) async fn current(repository: &Repository) -> Result<ToolOutput, ToolError> {
    let name = repository.must(["branch", "--show-current"]).await?.stdout.trim().to_owned();
    let text = if name.is_empty() { "No branch is checked out.".to_owned() } else { name };
    Ok(ToolOutput::text(text))
}

pub(super) async fn branches(repository: &Repository) -> Result<ToolOutput, ToolError> {
    let format = "--format=%(HEAD)%1f%(refname:short)%1f%(objectname:short)%1f%(upstream:short)";
    let answer = repository.must(["for-each-ref", format, "refs/heads", "refs/remotes"]).await?;
    let branches: Vec<Value> = answer.stdout.lines().filter_map(branch).collect();
    let lines = branches.iter().map(|branch| {
        let field = |name: &str| branch[name].as_str().unwrap_or_default();
        let mark = if branch["current"] == true { "*" } else { " " };
        let upstream =
            if field("upstream").is_empty() { String::new() } else { format!(" -> {}", field("upstream")) };
        format!("{mark} {} {}{upstream}", field("name"), field("commit"))
    });
    let lines: Vec<String> = lines.collect();
    let text = if lines.is_empty() { "No branches.".into() } else { lines.join("\n") };
    Ok(ToolOutput::text(PATCH_CLIP.apply(&text, "")).details(json!({"branches": branches})))
}

fn branch(line: &str) -> Option<Value> {
    let mut fields = line.splitn(4, '\x1f');
    let mut next = || fields.next();
    let (head, name, commit, upstream) = (next()?, next()?, next()?, next()?);
    Some(json!({"name": name, "commit": commit, "upstream": upstream, "current": head == "*"}))
}

pub(super) fn words<const N: usize>(words: [&str; N]) -> Vec<OsString> {
    words.map(Into::into).into()
}
