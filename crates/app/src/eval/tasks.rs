//! [`Task`]: a prompt, the files that the work begins with, and a check that decides whether the task was solved.
use crate::{Failure, git::said, untrusted_file};
use haft_core::{Part, SessionId};
use haft_engine::with_header;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// The file with the prompt of a task.
const PROMPT: &str = "task.md";
/// The program that ends with 0 if the task is solved.
const SCRIPT: &str = "check.sh";
/// Maximum bytes of a script's first line, which names the interpreter, that the kernel reads (execve(2), "Interpreter
/// scripts").
const MAX_PATH: u64 = 256;
/// The folder with the files that the task begins with.
const FILES: &str = "files";
/// The file with the commit that the task begins at, in the repository of the workspace.
const REF: &str = "ref";
/// Used in place of a commit: the commit that is checked out.
const CHECKED_OUT: &str = "repository";

/// A task for a model, with the check of the result.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// The name of its folder, or the ID of its session.
    pub(super) name: String,
    pub(super) prompt: Vec<Part>,
    pub(super) check: Check,
    pub(super) begins: Beginning,
    /// SHA-256 of all parts of the task, in hexadecimal. The same task has the same hash.
    pub(super) digest: String,
}

/// The check that decides whether a task is solved.
#[derive(Clone, Debug)]
pub(super) enum Check {
    /// A program outside of the copy, hidden from the model.
    Script(PathBuf),
    /// A call of a tool.
    Call { tool: String, arguments: Value },
}

/// The files that a task begins with.
#[derive(Clone, Debug)]
pub(super) enum Beginning {
    /// An empty repository.
    Empty,
    /// A repository with one commit, of the files in this folder.
    Files(PathBuf),
    /// A commit of the repository around a folder, with its history but nothing later. `session`: the session whose
    /// changed files are restored to their earlier state.
    Commit { folder: PathBuf, commit: String, session: Option<SessionId> },
}

/// Settings of a task, above its prompt.
#[derive(Debug, Default, Deserialize)]
struct Header {
    #[serde(default, rename = "ref")]
    at: Option<String>,
}

/// Reads the tasks in the folders below `folder`, by name. A `ref` names a commit of the repository of `workspace`.
pub(super) fn read_all(folder: &Path, workspace: &Path) -> Result<Vec<Task>, Failure> {
    let failed = |error: io::Error| {
        Failure::usage(format!("cannot read the tasks in `{}`: {error}", folder.display()))
    };
    let folder = folder.canonicalize().map_err(failed)?;
    let entries = fs::read_dir(&folder).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let is_task = |path: &PathBuf| {
        path.is_dir() && !path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
    };
    let mut folders: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).filter(is_task).collect();
    folders.sort();
    if folders.is_empty() {
        let hint = match folder.join(PROMPT).is_file() {
            true => "the directory is itself a task: name the one above it".to_owned(),
            false => format!("a task is a directory with `{PROMPT}` and `{SCRIPT}`; `haft help eval`"),
        };
        return Err(Failure::usage(format!("there is no task in `{}`", folder.display())).hint(hint));
    }
    folders.iter().map(|folder| read(folder, workspace)).collect()
}

fn read(folder: &Path, workspace: &Path) -> Result<Task, Failure> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let wrong = |why: String| Failure::usage(format!("cannot use the task `{name}`: {why}"));
    let (header, prompt) = prompt(&folder.join(PROMPT)).map_err(wrong)?;
    let script = folder.join(SCRIPT);
    check_script(&script)
        .map_err(|why| wrong(why).hint("it is a program that ends with 0 if the task is solved"))?;
    let named = match fs::read_to_string(folder.join(REF)) {
        Ok(text) => Some(text.trim().to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => header.at,
        Err(error) => return Err(wrong(format!("cannot read its `{REF}`: {error}"))),
    };
    let files = Some(folder.join(FILES)).filter(|files| files.is_dir());
    let begins = match (named, files) {
        (Some(_), Some(_)) => return Err(wrong(format!("it has both a `{REF}` and `{FILES}`"))),
        (Some(named), None) => at_ref(&named, workspace).map_err(wrong)?,
        (None, Some(files)) => Beginning::Files(files),
        (None, None) => Beginning::Empty,
    };
    let unread = |error: io::Error| wrong(format!("cannot read its files: {error}"));
    let digest = digest_of(&prompt, &script, &begins).map_err(unread)?;
    Ok(Task { name, prompt: vec![Part::text(prompt)], check: Check::Script(script), begins, digest })
}

/// Reads the header and the prompt.
fn prompt(file: &Path) -> Result<(Header, String), String> {
    let text = untrusted_file::read(file, None).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("it has no `{PROMPT}`"),
        _ => format!("cannot read its `{PROMPT}`: {error}"),
    })?;
    let (header, prompt) = match text.trim_start_matches('\u{feff}').trim_start().starts_with("---") {
        true => with_header(&text).map_err(|error| format!("`{PROMPT}`: {error}"))?,
        false => (Header::default(), text.as_str()),
    };
    match prompt.trim() {
        "" => Err(format!("its `{PROMPT}` has no prompt")),
        prompt => Ok((header, prompt.to_owned())),
    }
}

fn check_script(script: &Path) -> Result<(), String> {
    match fs::metadata(script) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(format!("it has no `{SCRIPT}`")),
        Err(error) => Err(format!("cannot read its `{SCRIPT}`: {error}")),
        Ok(found) if !found.is_file() => Err(format!("its `{SCRIPT}` is not a file")),
        Ok(_) => match interpreter(script) {
            Some(program) if !program.exists() => {
                Err(format!("its `{SCRIPT}` is run by `{}`, which is not there", program.display()))
            }
            _ => Ok(()),
        },
    }
}

/// The interpreter that the first line of a script names.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut line = Vec::new();
    BufReader::new(File::open(script).ok()?).take(MAX_PATH).read_until(b'\n', &mut line).ok()?;
    let line = str::from_utf8(&line).ok()?;
    line.strip_prefix("#!")?.split_whitespace().next().map(PathBuf::from)
}

fn at_ref(named: &str, workspace: &Path) -> Result<Beginning, String> {
    let place = workspace.display();
    if said(workspace, ["rev-parse", "--show-toplevel"]).is_none() {
        return Err(format!("it begins at `{named}`, and `{place}` is in no Git repository"));
    }
    let commit = commit_of(workspace, if named == CHECKED_OUT { "HEAD" } else { named });
    let commit = commit.ok_or_else(|| format!("the repository of `{place}` has no commit `{named}`"))?;
    Ok(Beginning::Commit { folder: workspace.to_owned(), commit, session: None })
}

/// The commit that `named` stands for in the repository around `folder`; `None` if there is none.
pub(super) fn commit_of(folder: &Path, named: &str) -> Option<String> {
    let wanted = format!("{named}^{{commit}}");
    said(folder, ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])
}

fn digest_of(prompt: &str, script: &Path, begins: &Beginning) -> io::Result<String> {
    let mut digest = ContentDigest::default();
    digest.add(prompt);
    digest.add(fs::read(script)?);
    match begins {
        Beginning::Empty => {}
        Beginning::Commit { commit, .. } => digest.add(commit),
        Beginning::Files(folder) => {
            for path in files_in(folder)? {
                digest.add(path.strip_prefix(folder).unwrap_or(&path).as_os_str().as_encoded_bytes());
                let found = path.symlink_metadata()?;
                if found.is_symlink() {
                    digest.add(fs::read_link(&path)?.as_os_str().as_encoded_bytes());
                } else if found.is_file() {
                    digest.add(format!("{:o}", found.permissions().mode() & 0o111));
                    digest.add(fs::read(&path)?);
                }
            }
        }
    }
    Ok(digest.in_hex())
}

/// All paths below `folder`, by name; a folder comes before its content. Links are not followed.
pub(super) fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let walk = ignore::WalkBuilder::new(folder)
        .standard_filters(false)
        .sort_by_file_name(|one, other| one.cmp(other))
        .build();
    let found = walk.map(|entry| entry.map(ignore::DirEntry::into_path).map_err(io::Error::other));
    found.filter(|path| !path.as_ref().is_ok_and(|path| path == folder)).collect()
}

/// A hash of several texts that also depends on where each text ends.
#[derive(Default)]
pub(super) struct ContentDigest(Sha256);

impl ContentDigest {
    pub(super) fn add(&mut self, content: impl AsRef<[u8]>) {
        let content = content.as_ref();
        self.0.update((content.len() as u64).to_le_bytes());
        self.0.update(content);
    }

    pub(super) fn in_hex(self) -> String {
        hex::encode(self.0.finalize())
    }
}
