//! The files of a job: a bare mirror of its repository per worker, a clone per attempt, refs for what came of it.
//!
//! An attempt pushes to `refs/haft/ID/TOKEN` alone, which nobody else does. The branch `haft/ID` is moved when the job is
//! settled, and only to the commit that the database names: so a worker that lost its lease moves nothing that counts.
use crate::{error::FleetError, queue::Branch, writer::Carry};
use futures::{FutureExt, future::BoxFuture};
use haft_core::SessionId;
use std::{
    ffi::OsStr,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
};

/// A repository, as a worker has it.
#[derive(Clone, Debug)]
pub struct Repository {
    url: String,
    mirror: PathBuf,
}

impl Repository {
    /// `mirrors`: the worker's folder for them. Nothing is fetched yet.
    pub fn new(url: &str, mirrors: &Path) -> Self {
        use sha2::{Digest, Sha256};
        let name = hex::encode(&Sha256::digest(url.as_bytes())[..12]);
        Self { url: url.to_owned(), mirror: mirrors.join(name + ".git") }
    }

    /// Makes the work tree `tree` of an attempt at the job `id`: at `head`, where an earlier attempt left one, else at
    /// `base`, else at the repository's HEAD. Waits for git.
    pub fn check_out(
        &self,
        id: &SessionId,
        token: i64,
        (base, head): (Option<&str>, Option<&(String, i64)>),
        tree: &Path,
    ) -> Result<Attempt, FleetError> {
        self.fetch(base, head.map(|(commit, token)| (commit.as_str(), reference(id, *token))))?;
        let commit = match (head, base) {
            (Some((head, _)), _) => self.commit(head)?,
            (None, Some(base)) => self.commit(base)?,
            (None, None) => self.commit(HEAD)?,
        };
        let (mirror, clone) = (self.mirror.as_os_str(), tree.as_os_str());
        let words = ["clone", "--quiet", "--shared", "--no-checkout", "--no-tags", "--"].map(OsStr::new);
        run(None, words.into_iter().chain([mirror, clone]))?;
        // Whatever the agent pushes has nowhere to go: what counts goes through the worker.
        run(Some(tree), ["remote", "remove", "origin"])?;
        if run(Some(tree), ["config", "user.email"]).is_err() {
            run(Some(tree), ["config", "user.name", "Haft"])?;
            run(Some(tree), ["config", "user.email", "haft@localhost"])?;
        }
        let branch = branch(id);
        run(Some(tree), ["checkout", "--quiet", "--no-track", "-B", &branch, &commit])?;
        let (tree, url) = (tree.to_owned(), self.url.clone());
        let carried = Mutex::new(commit.clone());
        Ok(Attempt { tree, url, branch, to: reference(id, token), begun: commit, carried: Arc::new(carried) })
    }

    /// The mirror has `base`, or what it had before where the repository does not answer.
    fn fetch(&self, base: Option<&str>, head: Option<(&str, String)>) -> Result<(), FleetError> {
        let _one_at_a_time = self.lock()?;
        if !self.mirror.join("HEAD").exists() {
            fs::create_dir_all(&self.mirror).map_err(|error| FleetError::Local {
                action: format!("make a mirror in `{}`", self.mirror.display()),
                why: error.to_string(),
            })?;
            run(
                None,
                ["init", "--quiet", "--bare"].map(OsStr::new).into_iter().chain([self.mirror.as_os_str()]),
            )?;
        }
        let has = |commit: &str| self.commit(commit).is_ok();
        if let Some((commit, reference)) = &head
            && !has(commit)
        {
            self.get(&[&format!("+{reference}:{reference}")])?;
        }
        // A commit never changes; a branch and HEAD do.
        let is_commit = base.is_some_and(is_commit);
        if head.is_none() && !(is_commit && base.is_some_and(has)) {
            self.get(&["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", &format!("+HEAD:{HEAD}")])?;
        }
        Ok(())
    }

    /// Two at a time would make the mirror twice; other workers of this machine may have the same folder.
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
        run(
            Some(&self.mirror),
            ["rev-parse", "--quiet", "--verify", "--end-of-options", &format!("{name}^{{commit}}")],
        )
        .map_err(|_| FleetError::Local {
            action: format!("find the commit `{name}` in `{}`", self.url),
            why: "the repository has no such commit or branch".to_owned(),
        })
    }

    /// Moves the branch of a job, where it stands as the database says or not at all: somebody else who was paused in the
    /// middle of this may come later. Doing it twice is doing it once. Waits for git.
    pub(crate) fn publish(&self, of: &Branch) -> Result<(), FleetError> {
        let Branch { job, head, token, stands, .. } = of;
        self.fetch(None, Some((head, reference(job, *token))))?;
        let to = format!("refs/heads/{}", branch(job));
        let expected = format!("--force-with-lease={to}:{}", stands.as_deref().unwrap_or_default());
        let moved = ["push", "--quiet", &expected, "--", &self.url, &format!("{head}:{to}")];
        run(Some(&self.mirror), moved).map(|_| ()).or_else(|refused| {
            // It may have been moved by somebody who died before saying so.
            let stands = run(Some(&self.mirror), ["ls-remote", "--quiet", "--", &self.url, &to])?;
            if stands.split_whitespace().next() == Some(head) { Ok(()) } else { Err(refused) }
        })
    }
}

/// Not the name of a branch.
pub(crate) fn is_commit(base: &str) -> bool {
    base.len() >= 40 && base.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What the repository calls HEAD, in the mirror.
const HEAD: &str = "refs/haft/head";

/// The branch of a job.
fn branch(id: &SessionId) -> String {
    format!("haft/{id}")
}

/// Where one attempt alone pushes.
fn reference(id: &SessionId, token: i64) -> String {
    format!("refs/haft/{id}/{token}")
}

/// The work tree of an attempt. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The folder.
    pub tree: PathBuf,
    /// Its branch.
    pub branch: String,
    url: String,
    to: String,
    begun: String,
    carried: Arc<Mutex<String>>,
}

impl Attempt {
    /// The commit that it began with.
    pub fn begun(&self) -> &str {
        &self.begun
    }

    /// The commit on which the branch stands. Waits for git.
    fn head(&self) -> Result<String, FleetError> {
        run(
            Some(&self.tree),
            ["rev-parse", "--verify", "--end-of-options", &format!("refs/heads/{}^{{commit}}", self.branch)],
        )
    }

    fn push(&self) -> Result<Option<String>, FleetError> {
        // Without git, where nothing has moved: this is asked for with every few entries.
        let known = self.carried.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let place = self.tree.join(".git/refs/heads").join(&self.branch);
        if fs::read_to_string(place).is_ok_and(|stands| stands.trim() == known) {
            return Ok(None);
        }
        let head = self.head()?;
        if head == known {
            return Ok(None);
        }
        run(Some(&self.tree), ["push", "--quiet", "--", &self.url, &format!("+{head}:{}", self.to)])?;
        self.carried.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&head);
        Ok(Some(head))
    }
}

impl Carry for Attempt {
    fn carry(&self) -> BoxFuture<'_, Result<Option<String>, FleetError>> {
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

/// What git prints. No hook of a repository runs, and nothing that looks like a key is told; what git itself needs to
/// reach a repository, is.
fn run(
    folder: Option<&Path>,
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
    let off = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "submodule.recurse=false", "gc.auto=0"];
    command.args(off.iter().flat_map(|setting| ["-c", setting]));
    command.args(["-c", "maintenance.auto=false", "-c", "safe.directory=*"]).args(&words);
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

/// Whether `url` is one that a fleet may fetch: a scheme that git knows and that starts no program, or an absolute path.
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
