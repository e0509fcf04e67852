//! [`Repository`]: the files of a job. Each worker has a bare mirror of the repository; each attempt has a repository
//! that borrows the mirror's objects, and refs for its results.
//!
//! An attempt pushes only to `refs/haft/ID/TOKEN`, to which no other attempt pushes. The branch `haft/ID` is moved only
//! when the job is settled, and only to the commit that the database names. So a worker that lost its lease cannot move
//! the branch.
use crate::{error::FleetError, queue::Branch, writer::CommitUploader};
use futures::{FutureExt, future::BoxFuture};
use haft_core::{
    SessionId,
    git_settings::{FIXED_SETTINGS, options},
};
use parking_lot::Mutex;
use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::Write,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, OnceLock},
};

/// A repository of jobs, with its mirror on this worker.
#[derive(Clone, Debug)]
pub struct Repository {
    url: String,
    mirror: PathBuf,
}

impl Repository {
    /// `mirrors`: the worker's folder for mirrors. Nothing is fetched yet.
    pub fn new(url: &str, mirrors: &Path) -> Self {
        use sha2::{Digest, Sha256};
        let name = hex::encode(&Sha256::digest(url.as_bytes())[..12]);
        Self { url: url.to_owned(), mirror: mirrors.join(name + ".git") }
    }

    /// Makes the work tree `tree` of an attempt at the job `id`: at `head`, if an earlier attempt left one, otherwise
    /// at `base`, otherwise at the repository's HEAD. Blocks while Git runs.
    pub fn check_out(
        &self,
        id: &SessionId,
        token: i64,
        (base, head): (Option<&str>, Option<&(String, i64)>),
        tree: &Path,
    ) -> Result<Attempt, FleetError> {
        let commit = self.start(id, (base, head))?;
        self.make(tree)?;
        self.begin(id, token, &commit, tree)
    }

    /// The commit at which an attempt begins; fetched into the mirror. Blocks while Git runs.
    pub(crate) fn start(
        &self,
        id: &SessionId,
        (base, head): (Option<&str>, Option<&(String, i64)>),
    ) -> Result<String, FleetError> {
        let head = head.map(|(commit, token)| (commit.as_str(), reference(id, *token)));
        self.find(base, head)
    }

    /// Makes a work tree of a commit that is in the mirror, without a branch. Blocks while Git runs.
    pub(crate) fn make_at(&self, commit: &str, tree: &Path) -> Result<(), FleetError> {
        self.make(tree)?;
        run(Some(tree), ["checkout", "--quiet", "--detach", commit]).map(|_| ())
    }

    /// Begins an attempt in a work tree that [`Self::make_at`] has made of this commit, or in an empty one. Blocks
    /// while Git runs.
    pub(crate) fn begin(
        &self,
        id: &SessionId,
        token: i64,
        commit: &str,
        tree: &Path,
    ) -> Result<Attempt, FleetError> {
        let branch = branch(id);
        run(Some(tree), ["checkout", "--quiet", "--no-track", "-B", &branch, commit])?;
        let carried = Arc::new(Mutex::new(commit.to_owned()));
        let (tree, to) = (tree.to_owned(), reference(id, token));
        Ok(Attempt { tree, branch, repository: self.clone(), to, begun: commit.to_owned(), carried })
    }

    /// Makes an empty repository that borrows the mirror's objects and has no remotes. The agent cannot push anywhere;
    /// results are pushed by the worker.
    pub(crate) fn make(&self, tree: &Path) -> Result<(), FleetError> {
        run(None, ["init", "--quiet", "--"].map(OsStr::new).into_iter().chain([tree.as_os_str()]))?;
        let (git, objects) = (tree.join(".git"), self.mirror.join("objects"));
        let written = objects.canonicalize().and_then(|objects| {
            fs::create_dir_all(git.join("objects/info"))?;
            let line = [objects.as_os_str().as_bytes(), b"\n"].concat();
            fs::write(git.join("objects/info/alternates"), line)?;
            if has_identity(tree) {
                return Ok(());
            }
            let mut config = File::options().append(true).open(git.join("config"))?;
            config.write_all(b"[user]\n\tname = Haft\n\temail = haft@localhost\n")
        });
        written.map_err(|error| FleetError::Local {
            action: format!("create a repository in `{}`", tree.display()),
            why: error.to_string(),
        })
    }

    /// The commit at which an attempt begins: `head`, otherwise `base`, otherwise the repository's HEAD. Fetches what
    /// the mirror lacks, and refs that may have moved.
    fn find(&self, base: Option<&str>, head: Option<(&str, String)>) -> Result<String, FleetError> {
        // A commit ID is fixed; a branch and HEAD may move.
        let fixed = head.as_ref().map(|(commit, _)| *commit).or(base.filter(|base| is_commit(base)));
        let known = || fixed.and_then(|commit| self.commit(commit).ok());
        if let Some(known) = known() {
            return Ok(known);
        }
        let _one_at_a_time = self.lock()?;
        // Another attempt may have fetched it meanwhile.
        if let Some(known) = known() {
            return Ok(known);
        }
        if !self.mirror.join("HEAD").exists() {
            fs::create_dir_all(&self.mirror).map_err(|error| FleetError::Local {
                action: format!("create a mirror in `{}`", self.mirror.display()),
                why: error.to_string(),
            })?;
            run(
                None,
                ["init", "--quiet", "--bare"].map(OsStr::new).into_iter().chain([self.mirror.as_os_str()]),
            )?;
        }
        match head {
            Some((commit, reference)) => {
                self.get(&[&format!("+{reference}:{reference}")])?;
                self.commit(commit)
            }
            None => {
                let head = format!("+HEAD:{HEAD}");
                self.get(&["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", &head])?;
                self.commit(base.unwrap_or(HEAD))
            }
        }
    }

    /// Locks the mirror: two attempts at a time would make it twice. Other workers of this machine may use the same
    /// folder.
    fn lock(&self) -> Result<File, FleetError> {
        let place = self.mirror.with_extension("lock");
        let made = place.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| File::create(&place));
        let held = made.and_then(|file| file.lock().map(|()| file));
        held.map_err(|error| FleetError::Local {
            action: format!("lock `{}`", place.display()),
            why: error.to_string(),
        })
    }

    fn get(&self, references: &[&str]) -> Result<(), FleetError> {
        let words = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", &self.url];
        run(Some(&self.mirror), words.iter().chain(references)).map(|_| ())
    }

    fn commit(&self, name: &str) -> Result<String, FleetError> {
        // `--git-dir=.`: if there is no mirror yet, Git must not use a repository around the folder.
        let words = ["--git-dir=.", "rev-parse", "--quiet", "--verify", "--end-of-options"];
        let name_of_commit = format!("{name}^{{commit}}");
        run(Some(&self.mirror), words.iter().chain([&name_of_commit.as_str()])).map_err(|_| {
            FleetError::Local {
                action: format!("find the commit `{name}` in `{}`", self.url),
                why: "the repository has no such commit or branch".to_owned(),
            }
        })
    }

    /// Moves the branch of a job to a commit that was uploaded to the repository. Blocks while Git runs.
    pub(crate) fn publish(&self, of: &Branch) -> Result<(), FleetError> {
        self.find(None, Some((&of.head, reference(&of.job, of.token))))?;
        self.move_branch(of, None)
    }

    /// Moves the branch of a job, but only if it is where the database says: another worker that was paused at this
    /// point may continue later. Idempotent.
    fn move_branch(&self, of: &Branch, tree: Option<&Path>) -> Result<(), FleetError> {
        let Branch { job, head, stands, .. } = of;
        let to = format!("refs/heads/{}", branch(job));
        let expected = format!("--force-with-lease={to}:{}", stands.as_deref().unwrap_or_default());
        self.push(tree, &[&expected, "--", &self.url, &format!("{head}:{to}")]).or_else(|refused| {
            // A worker may have moved it and died before it recorded that.
            let stands = run(Some(&self.mirror), ["ls-remote", "--quiet", "--", &self.url, &to])?;
            if stands.split_whitespace().next() == Some(head) { Ok(()) } else { Err(refused) }
        })
    }

    /// Pushes from the mirror, with the objects of a work tree in addition. The settings of the work tree are not used,
    /// since the agent can change them.
    fn push(&self, tree: Option<&Path>, words: &[&str]) -> Result<(), FleetError> {
        let words = ["push", "--quiet"].iter().chain(words);
        let objects = tree.map(|tree| tree.join(".git/objects"));
        run_with(Some(&self.mirror), objects.as_deref(), words).map(|_| ())
    }
}

/// Whether Git knows an identity for commits of this account, whatever the folder.
fn has_identity(folder: &Path) -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| run(Some(folder), ["config", "user.email"]).is_ok())
}

/// Whether `base` is a commit ID, not the name of a branch.
pub(crate) fn is_commit(base: &str) -> bool {
    base.len() >= 40 && base.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The mirror's ref for the repository's HEAD.
const HEAD: &str = "refs/haft/head";

/// The branch of a job.
fn branch(id: &SessionId) -> String {
    format!("haft/{id}")
}

/// The reference that only this attempt pushes to.
fn reference(id: &SessionId, token: i64) -> String {
    format!("refs/haft/{id}/{token}")
}

/// The work tree of an attempt. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The folder.
    pub tree: PathBuf,
    /// Branch of the job.
    pub branch: String,
    repository: Repository,
    to: String,
    begun: String,
    carried: Arc<Mutex<String>>,
}

impl Attempt {
    /// The folder of the mirror's objects, links followed.
    pub(crate) fn shared_objects(&self) -> Option<PathBuf> {
        self.repository.mirror.join("objects").canonicalize().ok()
    }

    /// The commit at which it began.
    pub fn begun(&self) -> &str {
        &self.begun
    }

    /// The commit of the branch. Blocks while Git runs.
    fn head(&self) -> Result<String, FleetError> {
        run(
            Some(&self.tree),
            ["rev-parse", "--verify", "--end-of-options", &format!("refs/heads/{}^{{commit}}", self.branch)],
        )
    }

    fn push(&self) -> Result<Option<String>, FleetError> {
        // Reads the ref without Git if possible, because this is called after every few entries.
        let known = self.carried.lock().clone();
        let stands = fs::read_to_string(self.tree.join(".git/refs/heads").join(&self.branch));
        let stands = stands.ok().map(|stands| stands.trim().to_owned()).filter(|stands| is_commit(stands));
        let head = stands.map_or_else(|| self.head(), Ok)?;
        if head == known {
            return Ok(None);
        }
        let words = ["--", &self.repository.url, &format!("+{head}:{}", self.to)];
        self.repository.push(Some(&self.tree), &words)?;
        self.carried.lock().clone_from(&head);
        Ok(Some(head))
    }

    /// Like [`Repository::publish`], without fetching objects that are here already. Blocks until git ends.
    pub(crate) fn publish(&self, of: &Branch) -> Result<(), FleetError> {
        self.repository.move_branch(of, Some(&self.tree))
    }
}

impl CommitUploader for Attempt {
    fn upload(&self) -> BoxFuture<'_, Result<Option<String>, FleetError>> {
        let own = self.clone();
        async move {
            let pushed = tokio::task::spawn_blocking(move || own.push()).await;
            pushed.map_err(std::io::Error::from).unwrap_or_else(|error| {
                Err(FleetError::Local { action: "run git".to_owned(), why: error.to_string() })
            })
        }
        .boxed()
    }
}

/// The output of Git. No hook of a repository runs, and variables that look like keys are removed, except those that
/// Git needs to reach a repository.
fn run(
    folder: Option<&Path>,
    words: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<String, FleetError> {
    run_with(folder, None, words)
}

/// Like `run`, with objects from other folders in addition to those of `folder`.
fn run_with(
    folder: Option<&Path>,
    objects: Option<&Path>,
    words: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<String, FleetError> {
    let words: Vec<_> = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
    let mut command = Command::new("git");
    command.stdin(Stdio::null()).env_clear();
    for name in
        ["PATH", "HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "TMPDIR", "SSH_AUTH_SOCK", "SSL_CERT_FILE"]
    {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command.envs([
        ("LC_ALL", "C"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh"),
    ]);
    command.envs(objects.map(|objects| ("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(objects))));
    command.args(options(FIXED_SETTINGS)).args(["-c", "safe.directory=*"]).args(&words);
    folder.map(|folder| command.current_dir(folder));
    let action =
        || format!("run `git {}`", words.first().map(|word| word.to_string_lossy()).unwrap_or_default());
    let output =
        command.output().map_err(|error| FleetError::Local { action: action(), why: error.to_string() })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(FleetError::Local { action: action(), why })
}

/// Quotes a path for a list that git splits at `:` (git(1), GIT_ALTERNATE_OBJECT_DIRECTORIES).
fn quoted(path: &Path) -> OsString {
    let mut quoted = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'"' | b'\\') {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    quoted.push(b'"');
    OsString::from_vec(quoted)
}

/// Whether a fleet may fetch `url`: it has a scheme that Git knows and that starts no program, or is an absolute path.
pub(crate) fn is_address(url: &str) -> bool {
    let schemes = ["file://", "git://", "http://", "https://", "ssh://"];
    let is_scp = || {
        url.split_once(':').is_some_and(|(host, path)| {
            !host.is_empty()
                && !host.contains('/')
                && !host.starts_with('-')
                && !path.is_empty()
                && !path.starts_with(':')
        })
    };
    Path::new(url).is_absolute() || schemes.iter().any(|scheme| url.starts_with(scheme)) || is_scp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_start_no_program_are_fetched() {
        let table = [
            ("https://example.org/a.git", true),
            ("git@example.org:a/b.git", true),
            ("/srv/a", true),
            ("a/b", false),
            ("ext::sh -c id", false),
            ("--upload-pack=id", false),
            ("", false),
        ];
        for (url, expected) in table {
            assert_eq!(is_address(url), expected, "{url}");
        }
    }
}
