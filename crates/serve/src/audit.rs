//! [`Audit`]: the log of all requests that change something; of a server with users in a file, of a fleet in its
//! database. Lines are only ever appended, and each holds its link of a hash chain (see [`haft_core::chain`]), which
//! shows where a line was changed, moved or lost.
use crate::users::User;
use haft_core::chain::{ChainFault, ChainValue, Cuts, chained, check, end};
use haft_fleet::{Database, append_to_audit};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// Name of the log in Haft's home.
pub const FILE: &str = "serve-audit.jsonl";
/// Maximum length of a logged path, in characters.
const MAX_PATH_LENGTH: usize = 512;
/// How many bytes at the end of the log are searched for its last line.
const LAST_LINE: u64 = 8 << 10;

/// A request, before it is executed, or afterwards with its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// In milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The user who asked; `None` for a client with the server's own token.
    pub user: Option<String>,
    /// The user's role.
    pub role: Option<String>,
    /// HTTP method.
    pub method: String,
    /// Path without the query after `?`.
    pub path: String,
    /// Status of the response, or exit code of a command; `None` before the request is executed.
    pub status: Option<u16>,
}

impl Asked {
    /// A record of a request by the user `by`: name and role.
    pub fn new(by: Option<(String, String)>, method: &str, path: &str) -> Self {
        let (user, role) = by.unzip();
        let path = path.chars().take(MAX_PATH_LENGTH).collect();
        Self { at: now(), user, role, method: method.to_owned(), path, status: None }
    }

    /// Adds the status of the response.
    #[must_use]
    pub fn ended(self, status: u16) -> Self {
        Self { at: now(), status: Some(status), ..self }
    }
}

/// Name and role of a user, as written to the log.
pub(crate) fn named(user: &User) -> (String, String) {
    (user.name.clone(), user.role.name.clone())
}

fn now() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default()
}

/// Where the log is written.
#[derive(Clone)]
pub(crate) enum Audit {
    File(PathBuf),
    Fleet(Database),
}

impl Audit {
    /// The log in Haft's home.
    pub(crate) fn new(home: &Path) -> Self {
        Self::File(home.join(FILE))
    }

    pub(crate) async fn write(&self, asked: &Asked) -> io::Result<()> {
        let line = serde_json::to_string(asked)?;
        match self {
            Self::File(path) => {
                let path = path.clone();
                tokio::task::spawn_blocking(move || append(&path, &line)).await.map_err(io::Error::other)?
            }
            Self::Fleet(database) => append_to_audit(database, &line).await.map_err(|error| {
                let kind = if error.is_passing() { ErrorKind::NotConnected } else { ErrorKind::Other };
                io::Error::new(kind, error)
            }),
        }
    }
}

/// Appends a line. Several servers may write to one log: the chain continues from the line that is the last one at that
/// moment.
fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(path)?;
    file.lock()?;
    let length = file.metadata()?.len();
    let length = cut(&mut file, length)?;
    let (line, _) = chained(line, last_value(&mut file, length)?);
    // An incomplete line would look like a changed one.
    file.write_all(format!("{line}\n").as_bytes()).inspect_err(|_| drop(file.set_len(length)))
}

/// Cuts off a last line that a crash left incomplete: its request was not executed yet. Returns the length.
fn cut(file: &mut File, length: u64) -> io::Result<u64> {
    let start = length.saturating_sub(LAST_LINE);
    file.seek(SeekFrom::Start(start))?;
    let mut last = Vec::new();
    file.read_to_end(&mut last)?;
    let end = last.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
    if end == last.len() || end == 0 && start > 0 {
        return Ok(length);
    }
    let whole = start + end as u64;
    file.set_len(whole)?;
    tracing::warn!(bytes = length - whole, "an incomplete last line of the audit log was cut off");
    Ok(whole)
}

fn last_value(file: &mut File, length: u64) -> io::Result<ChainValue> {
    file.seek(SeekFrom::Start(length.saturating_sub(LAST_LINE)))?;
    let mut last = Vec::new();
    file.read_to_end(&mut last)?;
    Ok(end(&last))
}

/// The parsed log.
#[derive(Debug)]
pub struct AuditLog {
    /// All lines that could be parsed.
    pub asked: Vec<Asked>,
    /// The first place where the hash chain is broken.
    pub fault: Option<ChainFault>,
}

/// Reads the log in `home` and checks its chain.
///
/// # Errors
/// Fails if the log exists and cannot be read.
pub fn read(home: &Path) -> io::Result<AuditLog> {
    match fs::read(home.join(FILE)) {
        Ok(text) => Ok(AuditLog::of(&text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(AuditLog::of(b"")),
        Err(error) => Err(error),
    }
}

impl AuditLog {
    /// Parses the lines of a log and checks their chain.
    pub fn of(text: &[u8]) -> Self {
        let fault = if text.is_empty() { None } else { check(text, Cuts::Refused).err() };
        let lines = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
        Self { asked: lines.collect(), fault }
    }
}
