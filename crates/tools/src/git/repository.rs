//! [`Repository`]: the repository around a workspace. Runs `git` in it without starting a program that the repository
//! names.
use super::Action;
use crate::files::text_of;
use haft_core::{
    Access, Confinement, Readable, ToolContext, ToolError, ToolErrorKind,
    git_settings::{self, Setting},
};
use haft_process::{Exit, Finished, Program};
use std::{
    ffi::OsString,
    fs,
    io::Read,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// The folder and the settings with which `git` runs.
#[derive(Clone)]
pub(super) struct Repository {
    /// The folder that contains `.git`.
    pub(super) root: PathBuf,
    /// The workspace, links followed: the root, or a folder below it.
    pub(super) folder: PathBuf,
    /// Names of hooks that would have run.
    pub(super) hooks: Vec<String>,
    /// The files that may be read.
    pub(super) readable: Arc<Readable>,
    environment: Vec<(String, String)>,
    confinement: Option<Arc<Confinement>>,
}

/// The output of `git`.
pub(super) struct Answer {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) ok: bool,
    /// Whether output is missing in the middle.
    pub(super) truncated: bool,
}

/// Timeout of `git`: a large repository on a slow disk takes a while, but a server that does not respond must not block
/// forever.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Maximum bytes of output that are kept.
const MAX_CAPTURE: usize = 32 << 20;

impl Repository {
    /// Returns the repository around the workspace, and its settings; those that name programs are overridden.
    /// [`super::open`] refuses filters.
    pub(super) async fn locate(ctx: &ToolContext, action: Action) -> Result<(Self, Vec<Setting>), ToolError> {
        let folder = ctx.workspace.canonicalize().map_err(|error| {
            ToolError::new(ToolErrorKind::System, format!("cannot open the workspace: {error}"))
        })?;
        let start = folder.clone();
        let (root, hooks) = crate::files::blocking(move || find(&start)).await?;
        let environment = environment(&ctx.access, &root, action);
        let readable = ctx.readable.clone();
        let confinement = ctx.access.confinement.clone();
        let mut repository = Self { root, folder, hooks, readable, environment, confinement };
        let settings = repository.settings().await?;
        repository.set(git_settings::overrides(&settings));
        Ok((repository, settings))
    }

    /// A working tree inside this one, as if `git` ran in it.
    pub(super) fn inside(&self, path: &str) -> Self {
        let root = self.root.join(path);
        let mut environment = self.environment.clone();
        environment.retain(|(name, _)| name != "GIT_WORK_TREE");
        Self { folder: root.clone(), root, environment, ..self.clone() }
    }

    pub(super) async fn settings(&self) -> Result<Vec<Setting>, ToolError> {
        let list = self.must(["config", "--list", "--show-scope", "-z"]).await?;
        if list.truncated {
            Err(refused("its configuration is too long"))
        } else {
            Ok(git_settings::settings(&list.stdout))
        }
    }

    /// The options that precede the action.
    fn set(&mut self, settings: Vec<(String, String)>) {
        self.environment.retain(|(name, _)| !name.starts_with("GIT_CONFIG_"));
        self.environment.extend(git_settings::variables(settings));
    }

    /// Runs `git` with these arguments.
    pub(super) async fn git<S: Into<OsString>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Answer, ToolError> {
        let mut arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        if arguments.first().is_some_and(|action| action == "diff" || action == "status") {
            // Without this, Git looks for changes in submodules, with their filters. No setting overrides
            // `.gitmodules`.
            arguments.insert(1, "--ignore-submodules=dirty".into());
        }
        arguments.insert(0, "--no-pager".into());
        let program = Program {
            program: "git".into(),
            arguments,
            folder: self.folder.clone(),
            environment: self.environment.clone().into(),
            timeout: Some(TIMEOUT),
            capture: MAX_CAPTURE,
            confinement: self.confinement.clone(),
        };
        let ran = program.run(|_| ()).await;
        let Finished { stdout, stderr, exit, truncated, .. } =
            ran.map_err(|error| ToolError::new(ToolErrorKind::System, error.to_string()).caused_by(error))?;
        if exit == Exit::TimedOut {
            let message = format!("cannot finish: git took longer than {} s", TIMEOUT.as_secs());
            return Err(ToolError::new(ToolErrorKind::System, message).hint("name fewer `paths`"));
        }
        let ok = exit == Exit::Code(0);
        Ok(Answer { stdout: stdout.text, stderr: stderr.text, ok, truncated })
    }

    /// Like [`Repository::git`]; a failure of git is an error.
    pub(super) async fn must<S: Into<OsString>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Answer, ToolError> {
        let answer = self.git(arguments).await?;
        if answer.ok { Ok(answer) } else { Err(answer.error()) }
    }

    /// Like [`Repository::must`], with paths that need pathspec magic (`:(exclude)…`, gitglossary(7)).
    pub(super) async fn with_pathspecs(
        &self,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<Answer, ToolError> {
        let mut open = self.clone();
        open.environment.retain(|(name, _)| name != "GIT_LITERAL_PATHSPECS");
        open.must(arguments).await
    }

    /// `--` and the paths of a call. Without paths: the workspace, unless it is the whole repository.
    pub(super) fn scope(&self, paths: &[PathBuf]) -> Vec<OsString> {
        let mut words = vec!["--".into()];
        match paths {
            [] if self.folder != self.root => words.push(".".into()),
            paths => words.extend(paths.iter().map(Into::into)),
        }
        words
    }

    /// A path of the repository as the model writes it. A `/` at the end of a folder's path is kept.
    pub(super) fn named(&self, path: &str) -> String {
        let below = self.folder.strip_prefix(&self.root).unwrap_or(Path::new(""));
        let inside = path.strip_prefix(&*below.to_string_lossy()).map(|path| path.trim_start_matches('/'));
        match inside {
            Some("") => "./".into(),
            Some(inside) => inside.to_owned(),
            None => path.to_owned(),
        }
    }
}

impl Answer {
    /// The error in Git's own words, because models know them.
    pub(super) fn error(&self) -> ToolError {
        let said = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        let lines = said.lines().filter(|line| !line.starts_with("hint:") && !line.trim().is_empty());
        let said: Vec<&str> = lines.take(20).map(|line| line.trim_start_matches("fatal: ")).collect();
        let error = ToolError::new(ToolErrorKind::User, format!("git refused: {}", said.join("\n")));
        if self.stderr.contains("user.email") {
            return error.hint("set `user.name` and `user.email` with `git config` in `bash`");
        }
        error
    }
}

pub(super) fn refused(why: &str) -> ToolError {
    ToolError::new(ToolErrorKind::Security, format!("cannot use this repository safely: {why}"))
        .hint("run `git` in `bash`, which a person can approve")
}

/// The nearest folder with a `.git`, from `folder` upwards, and the names of its hooks.
fn find(folder: &Path) -> Result<(PathBuf, Vec<String>), ToolError> {
    let Some(root) = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok()) else {
        return Err(ToolError::new(ToolErrorKind::User, "cannot use git: the workspace is in no repository")
            .hint("make one with `git init` in `bash`"));
    };
    let directory = directory_of(root)?;
    let common = common_of(&directory)?;
    let mut folders = vec![&directory, &common];
    folders.dedup();
    for folder in folders {
        if let Some(odd) = odd_file(folder, folder, MAX_DEPTH) {
            let name = odd.strip_prefix(folder).unwrap_or(&odd).display();
            return Err(refused(&format!("`.git/{name}` is a link or a pipe, or lies too deep")));
        }
    }
    // Only checked here: reading the folders outside was judged as an effect of the call.
    borrowed_by(root, &common)?;
    Ok((root.to_owned(), hooks_in(&common.join("hooks"))))
}

/// The folders outside of the repository around `folder` from which Git would read objects. A repository that
/// [`Repository::locate`] refuses has none.
pub(super) fn borrowed(folder: &Path) -> Vec<PathBuf> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let root = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    let found = root.and_then(|root| Some((root, common_of(&directory_of(root).ok()?).ok()?)));
    found.and_then(|(root, common)| borrowed_by(root, &common).ok()).unwrap_or_default()
}

/// Fails if a list of such folders is not plain text, or if such a folder inside of the repository contains links.
fn borrowed_by(root: &Path, common: &Path) -> Result<Vec<PathBuf>, ToolError> {
    let (mut outside, mut inside) = (Vec::new(), vec![common.join("objects")]);
    let mut place = 0;
    while let Some(objects) = inside.get(place).cloned() {
        for line in alternates(&objects.join("info/alternates"))? {
            let named = objects.join(line);
            let next = named.canonicalize().unwrap_or(named);
            let is_inside = next.starts_with(root) || next.starts_with(common);
            if is_inside && has_link(&next, MAX_DEPTH) {
                return Err(refused(&format!("there is a link in `{}`", next.display())));
            }
            let list = if is_inside { &mut inside } else { &mut outside };
            if !list.contains(&next) {
                list.push(next);
            }
        }
        place += 1;
        if place > MAX_BORROWED {
            return Err(refused("it takes objects from too many folders"));
        }
    }
    Ok(outside)
}

/// The lines of a list of folders with objects. Git would unquote one that begins with a quotation mark.
fn alternates(list: &Path) -> Result<Vec<String>, ToolError> {
    if list.symlink_metadata().is_err() {
        return Ok(Vec::new());
    }
    let is_plain = |text: &String| !text.lines().any(|line| line.starts_with('"'));
    let text = text_of(list).filter(is_plain);
    let text = text.ok_or_else(|| refused("its `objects/info/alternates` is not a list of plain paths"))?;
    let lines = text.split('\n').filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}

fn has_link(folder: &Path, depth: usize) -> bool {
    fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => depth == 0 || has_link(&entry.path(), depth - 1),
        Ok(kind) => !kind.is_file(),
        Err(_) => true,
    })
}

/// Maximum number of such folders. Git itself follows a chain of five.
const MAX_BORROWED: usize = 100;

/// Maximum depth of Git's own folders.
const MAX_DEPTH: usize = 40;
/// Number of bytes that are enough to tell whether a file is a reference.
const REFERENCE_BYTES: u64 = 64;
/// Number of digits in a SHA-1.
const SHORTEST_HASH: usize = 40;

/// A file below `folder`, which is in `directory`, that would block Git, or that could lead Git to another repository:
/// it reads any path as a reference.
fn odd_file(directory: &Path, folder: &Path, depth: usize) -> Option<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().find_map(|entry| {
        let (kind, path) = (entry.file_type().ok()?, entry.path());
        match kind.is_dir() {
            true if depth == 0 => Some(path),
            true => odd_file(directory, &path, depth - 1),
            false if kind.is_symlink() => leads_away(directory, &path).then_some(path),
            false => kind.is_fifo().then_some(path),
        }
    })
}

/// Whether Git would read the target of a link as a part of the repository. Links to hooks and ignore lists are common,
/// and allowed.
fn leads_away(directory: &Path, link: &Path) -> bool {
    let name = link.strip_prefix(directory).unwrap_or(link);
    let is_data = name
        .components()
        .any(|part| ["objects", "refs", "logs"].iter().any(|name| part.as_os_str() == *name));
    if is_data || name.components().count() == 1 {
        return true;
    }
    let Ok(target) = fs::metadata(link) else { return false };
    if !target.is_file() {
        return true;
    }
    let mut beginning = Vec::new();
    let read = fs::File::open(link).and_then(|file| file.take(REFERENCE_BYTES).read_to_end(&mut beginning));
    let hash = beginning.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    read.is_err() || beginning.starts_with(b"ref:") || hash >= SHORTEST_HASH
}

/// The folder of Git's data: `.git` itself, or the folder that its text names if that folder points back. Otherwise, it
/// could expose another repository of the user.
fn directory_of(root: &Path) -> Result<PathBuf, ToolError> {
    let place = root.join(".git");
    let elsewhere = || refused("its `.git` points to a place that does not point back");
    let directory = if place.is_file() && !place.is_symlink() {
        let text = text_of(&place).unwrap_or_default();
        let target = text.trim_end().strip_prefix("gitdir: ").ok_or_else(elsewhere)?;
        root.join(target).canonicalize().map_err(|_| elsewhere())?
    } else {
        place.canonicalize().map_err(|_| elsewhere())?
    };
    let belongs = directory.starts_with(root) || points_back(&directory, root);
    if belongs { Ok(directory) } else { Err(elsewhere()) }
}

/// Whether the folder names `root`: a linked working tree is named in `gitdir`, a submodule in its `config`.
fn points_back(directory: &Path, root: &Path) -> bool {
    let same = |path: &Path| path.canonicalize().is_ok_and(|path| path == root);
    let listed = text_of(&directory.join("gitdir")).unwrap_or_default();
    let listed = Path::new(listed.trim_end()).parent().map(|parent| directory.join(parent));
    let config = text_of(&directory.join("config")).unwrap_or_default();
    let mut worktrees = config.lines().filter_map(|line| line.trim().strip_prefix("worktree = "));
    listed.is_some_and(|path| !path.as_os_str().is_empty() && same(&path))
        || worktrees.any(|path| same(&directory.join(path)))
}

fn common_of(directory: &Path) -> Result<PathBuf, ToolError> {
    let Some(text) = text_of(&directory.join("commondir")) else { return Ok(directory.to_owned()) };
    let common = directory.join(text.trim_end()).canonicalize();
    match common {
        Ok(common) if directory.starts_with(common.join("worktrees")) => Ok(common),
        _ => Err(refused("its `commondir` points to a place that does not point back")),
    }
}

/// The active hooks; samples have a file extension.
fn hooks_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.contains('.'));
    names.sort();
    names
}

/// The variables of Git that are passed on: those that name the committer, and for a push also those for reaching
/// servers.
fn environment(access: &Access, root: &Path, action: Action) -> Vec<(String, String)> {
    let who = ["GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSL_"];
    let reach = ["GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS"];
    let pushes = action == Action::Push;
    let keeps = |name: &str| {
        !name.starts_with("GIT_")
            || who.iter().any(|prefix| name.starts_with(prefix))
            || (pushes && reach.contains(&name))
    };
    let given = if pushes { access.reaching() } else { access.environment.to_vec() };
    let mut all: Vec<_> = given.into_iter().filter(|(name, _)| keeps(name)).collect();
    all.retain(|(name, _)| !matches!(name.as_str(), "LC_ALL" | "LANGUAGE" | "PAGER" | "EDITOR" | "VISUAL"));
    let has_askpass = all.iter().any(|(name, _)| name == "GIT_ASKPASS");
    let protocols = if pushes { "file:http:https:ssh" } else { "none" };
    let root = root.display().to_string();
    let fixed = [
        ("LC_ALL", "C"),
        ("GIT_WORK_TREE", root.as_str()),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_PAGER", "cat"),
        ("GIT_EDITOR", "true"),
        ("GIT_SEQUENCE_EDITOR", "true"),
        ("GIT_PROXY_COMMAND", ""),
        ("GIT_LITERAL_PATHSPECS", "1"),
        // In a partial clone, Git would otherwise fetch from its server, with a command that the repository chooses.
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_ALLOW_PROTOCOL", protocols),
        ("GIT_CONFIG_COUNT", "2"),
        ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
        ("GIT_CONFIG_VALUE_0", "false"),
        ("GIT_CONFIG_KEY_1", "core.hookspath"),
        ("GIT_CONFIG_VALUE_1", "/dev/null"),
    ];
    all.extend(fixed.map(|(name, value)| (name.to_owned(), value.to_owned())));
    if !has_askpass {
        all.push(("GIT_ASKPASS".into(), String::new()));
    }
    all
}
