//! [`Audit`]: the log of all requests that change something, of a server with users. Lines are only ever appended, and each
//! holds its value of a hash chain (see [`haft_core::chain`]), which shows where a line was changed, moved or lost.
use crate::users::User;
use axum::http::Method;
use haft_core::chain::{ChainFault, ChainValue, Cuts, chained, check, end};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The log in Haft's home.
pub const FILE: &str = "serve-audit.jsonl";
/// Characters of a path that are logged.
const MAX_PATH_LENGTH: usize = 512;
/// Bytes of the end of the log that hold its last line.
const LAST_LINE: u64 = 8 << 10;

/// A request, before it is carried out or with its status afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// In milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// Who asked; `None` for a client with the server's own token.
    pub user: Option<String>,
    /// The user's role.
    pub role: Option<String>,
    /// Of HTTP.
    pub method: String,
    /// Without what follows a `?`.
    pub path: String,
    /// What the answer says; `None` before the request is carried out.
    pub status: Option<u16>,
}

impl Asked {
    pub(crate) fn new(user: Option<&User>, method: &Method, path: &str) -> Self {
        Self {
            at: now(),
            user: user.map(|user| user.name.clone()),
            role: user.map(|user| user.role.name.clone()),
            method: method.to_string(),
            path: path.chars().take(MAX_PATH_LENGTH).collect(),
            status: None,
        }
    }
}

fn now() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default()
}

/// Writes the log.
#[derive(Clone)]
pub(crate) struct Audit(PathBuf);

impl Audit {
    pub(crate) fn new(home: &Path) -> Self {
        Self(home.join(FILE))
    }

    pub(crate) async fn write(&self, asked: &Asked) -> io::Result<()> {
        let (path, line) = (self.0.clone(), serde_json::to_string(&Asked { at: now(), ..asked.clone() })?);
        tokio::task::spawn_blocking(move || append(&path, &line)).await.map_err(io::Error::other)?
    }
}

/// Several servers may write one log: the chain goes on behind the line that is the last one then.
fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(path)?;
    file.lock()?;
    let length = file.metadata()?.len();
    let (line, _) = chained(line, last_value(&mut file, length)?);
    // Half a line would be taken for one that was changed.
    file.write_all(format!("{line}\n").as_bytes()).inspect_err(|_| drop(file.set_len(length)))
}

fn last_value(file: &mut File, length: u64) -> io::Result<ChainValue> {
    file.seek(SeekFrom::Start(length.saturating_sub(LAST_LINE)))?;
    let mut last = Vec::new();
    file.read_to_end(&mut last)?;
    Ok(end(&last))
}

/// A log that was read.
#[derive(Debug)]
pub struct AuditLog {
    /// All lines that can be read.
    pub asked: Vec<Asked>,
    /// The first place at which the chain does not hold.
    pub fault: Option<ChainFault>,
}

/// Reads the log in `home` and checks its chain.
///
/// # Errors
/// Fails where the log cannot be read. One that does not exist has no lines.
pub fn read(home: &Path) -> io::Result<AuditLog> {
    let text = match fs::read(home.join(FILE)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let fault = if text.is_empty() { None } else { check(&text, Cuts::Refused).err() };
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    Ok(AuditLog { asked: lines.collect(), fault })
}
