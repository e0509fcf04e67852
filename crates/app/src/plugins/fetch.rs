//! [`fetch`] gets the files of a plugin from a folder or, with `git`, from an address; [`copy`] copies them into a
//! folder of Haft's own.
use crate::Failure;
use haft_core::git_settings::{FIXED_SETTINGS, options};
use haft_process::{Exit, Program};
use sha2::{Digest, Sha256};
use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Component, Path, PathBuf},
    time::Duration,
};

/// Maximum number of files and folders in a plugin.
const MAX_FILES: usize = 5_000;

/// Maximum size of a file, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Maximum size of a plugin, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Timeout for `git`.
const CLONE_TIMEOUT: Duration = Duration::from_secs(300);

/// Maximum size of a file that `git` writes, in blocks of 512 bytes: 256 MB.
const MAX_CLONE_BLOCKS: u32 = 1 << 19;

/// The files of a source, before one plugin is copied from it.
pub(super) struct Fetched {
    pub(super) folder: PathBuf,
    pub(super) commit: Option<String>,
    /// The clone, removed when this is dropped.
    _clone: Option<tempfile::TempDir>,
}

/// Whether `source` is a Git address, and not a folder.
pub(super) fn is_address(source: &str) -> bool {
    source.contains("://") || source.starts_with("git@") || (!Path::new(source).exists() && is_short(source))
}

/// Whether `source` is `OWNER/REPOSITORY` at GitHub.
fn is_short(source: &str) -> bool {
    let is_name = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    source.split_once('/').is_some_and(|(owner, repository)| is_name(owner) && is_name(repository))
}

/// Fetches `source`. A clone stays in `temporary` until the value is dropped.
pub(super) async fn fetch(
    source: &str,
    temporary: &Path,
    environment: &[(String, String)],
) -> Result<Fetched, Failure> {
    if is_address(source) {
        return clone(source, temporary, environment).await;
    }
    let folder = Path::new(source).canonicalize().map_err(|error| {
        Failure::usage(format!("cannot read the plugin `{}`: {error}", source.escape_debug()))
            .hint("a source is a folder, a Git address or OWNER/REPOSITORY at GitHub")
    })?;
    if folder.join("HEAD").is_file() && folder.join("objects").is_dir() {
        return clone(&format!("file://{}", folder.display()), temporary, environment).await;
    }
    Ok(Fetched { folder, commit: None, _clone: None })
}

async fn clone(source: &str, temporary: &Path, environment: &[(String, String)]) -> Result<Fetched, Failure> {
    let (address, reference) = source.split_once('#').map_or((source, None), |(a, r)| (a, Some(r)));
    let address = match address.contains(':') {
        true => address.to_owned(),
        false => format!("https://github.com/{address}.git"),
    };
    let clone = tempfile::tempdir_in(temporary)?;
    let folder = clone.path().join("clone");
    let mut words =
        vec!["clone", "--quiet", "--depth=1", "--no-tags", "--single-branch", "--no-recurse-submodules"];
    words.push("--template=");
    words.extend(reference.iter().flat_map(|reference| ["--branch", reference]));
    words.extend(["--", address.as_str()]);
    let mut arguments: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    arguments.push(folder.clone().into());
    let failed = |why: String| {
        Failure::failed(format!("cannot fetch `{}`: {why}", source.escape_debug())).hint(
            "`git clone` with the same address shows more; a plugin can also be installed from a folder",
        )
    };
    git(clone.path(), arguments, environment).await.map_err(failed)?;
    let head = ["rev-parse", "HEAD"].map(OsString::from).to_vec();
    let commit = git(&folder, head, environment).await.map_err(failed)?;
    Ok(Fetched { folder, commit: Some(commit.trim().to_owned()), _clone: Some(clone) })
}

/// Runs `git` without hooks, submodules, Git LFS downloads, and prompts, and only with protocols under which an address
/// cannot choose a program to start. Returns its output, or why it failed.
pub(super) async fn git(
    folder: &Path,
    arguments: Vec<OsString>,
    environment: &[(String, String)],
) -> Result<String, String> {
    let limited = format!("ulimit -f {MAX_CLONE_BLOCKS}; exec git \"$@\"");
    let fixed = ["-c", limited.as_str(), "git"].map(str::to_owned).into_iter();
    let fixed = fixed.chain(options(FIXED_SETTINGS)).map(OsString::from);
    let forced = [
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_ASKPASS", "true"),
        ("SSH_ASKPASS", "true"),
        ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
        ("GIT_LFS_SKIP_SMUDGE", "1"),
        ("GIT_ALLOW_PROTOCOL", "https:ssh:file"),
        ("LC_ALL", "C"),
    ];
    let is_of_git = |name: &str| name.starts_with("GIT_") || forced.iter().any(|(known, _)| *known == name);
    let kept = environment.iter().filter(|(name, _)| !is_of_git(name)).cloned();
    let forced = forced.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let program = Program {
        program: "sh".into(),
        arguments: fixed.chain(arguments).collect(),
        folder: folder.to_owned(),
        environment: kept.chain(forced).collect::<Vec<_>>().into(),
        timeout: Some(CLONE_TIMEOUT),
        capture: 1 << 20,
        confinement: None,
    };
    let finished = program.run(|_| ()).await.map_err(|error| error.to_string())?;
    match finished.exit {
        Exit::Code(0) => Ok(finished.stdout.text),
        Exit::Code(_) => Err(finished.stderr.text.trim().to_owned()),
        Exit::Signal(_) => Err("`git` was ended: a file is too large".to_owned()),
        Exit::TimedOut => Err(format!("`git` took longer than {} s", CLONE_TIMEOUT.as_secs())),
    }
}

/// Copies the files of a plugin without those of Git, and returns one SHA-256 over their names and contents. Fails for
/// anything that no plugin needs: links that lead out, names that are not plain text, devices, and too large or too
/// many files.
pub(super) fn copy(from: &Path, to: &Path) -> Result<String, Failure> {
    let mut copying = Copying { root: from.canonicalize()?, files: 0, bytes: 0, digest: Sha256::new() };
    copying.folder(&copying.root.clone(), to)?;
    Ok(hex::encode(copying.digest.finalize()))
}

struct Copying {
    root: PathBuf,
    files: usize,
    bytes: u64,
    digest: Sha256,
}

impl Copying {
    fn folder(&mut self, from: &Path, to: &Path) -> Result<(), Failure> {
        fs::create_dir(to)?;
        let mut entries = fs::read_dir(from)?.collect::<Result<Vec<_>, io::Error>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries.iter().filter(|entry| entry.file_name() != ".git") {
            let (path, to) = (entry.path(), to.join(entry.file_name()));
            self.files += 1;
            if self.files > MAX_FILES {
                return Err(Failure::failed(format!(
                    "cannot install the plugin: it has more than {MAX_FILES} files"
                )));
            }
            let name = path.strip_prefix(&self.root).unwrap_or(&path).to_owned();
            let Some(text) = name.to_str().filter(|text| !text.chars().any(char::is_control)) else {
                return Err(refused(&name, "has a name that is no plain text"));
            };
            self.digest.update([text.as_bytes(), &[0]].concat());
            let kind = entry.file_type()?;
            match () {
                () if kind.is_dir() => self.folder(&path, &to)?,
                () if kind.is_symlink() => self.link(&path, &name, &to)?,
                () if kind.is_file() => self.file(&path, &name, &to)?,
                () => return Err(refused(&name, "is neither a file nor a folder")),
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: &Path, to: &Path) -> Result<(), Failure> {
        let bytes = fs::metadata(path)?.len();
        self.bytes += bytes;
        if bytes > MAX_FILE_BYTES {
            return Err(refused(name, &format!("is larger than {} MB", MAX_FILE_BYTES >> 20)));
        }
        if self.bytes > MAX_BYTES {
            return Err(Failure::failed(format!(
                "cannot install the plugin: its files take more than {} MB",
                MAX_BYTES >> 20
            )));
        }
        fs::copy(path, to)?;
        // Removes the bits with which a program runs as another user.
        let mode = fs::metadata(to)?.permissions().mode();
        fs::set_permissions(to, fs::Permissions::from_mode(mode & 0o777))?;
        self.digest.update(Sha256::digest(fs::read(to)?));
        Ok(())
    }

    /// A relative link to a file within the plugin stays a link.
    fn link(&mut self, path: &Path, name: &Path, to: &Path) -> Result<(), Failure> {
        let target = fs::read_link(path)?;
        let is_relative =
            target.components().all(|part| !matches!(part, Component::RootDir | Component::Prefix(_)));
        let is_inside = path.canonicalize().is_ok_and(|real| real.starts_with(&self.root));
        if !(is_relative && is_inside) {
            return Err(refused(name, "is a link that leads out of the plugin"));
        }
        self.digest.update(target.as_os_str().as_encoded_bytes());
        std::os::unix::fs::symlink(target, to)?;
        Ok(())
    }
}

fn refused(name: &Path, why: &str) -> Failure {
    Failure::failed(format!(
        "cannot install the plugin: `{}` {why}",
        name.display().to_string().escape_debug()
    ))
}
