//! [`Manifest`]: the description inside a bundle. [`App::bundle`] makes a bundle, and [`unpack`] reads it.
use super::{
    Flaw,
    archive::{self, MAX_BYTES, MAX_MEMBERS, Member},
    commits::TRAILER,
    record::{Record, Subagent, named_contents},
    signature::sign,
};
use crate::{App, Failure, config::Settings};
use haft_core::{
    Entry, Secrets, Seq, SessionOpened,
    chain::{self, Cuts},
};
use haft_process::read_regular;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, Write},
    path::Path,
    sync::Arc,
};
use tempfile::NamedTempFile;

const FORMAT: &str = "haft-bundle";
const VERSION: u64 = 1;

/// `bundle.json`, the first member of a bundle.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    format: String,
    version: u64,
    /// The ID of the session.
    session: String,
    /// Number of entries in its journal.
    entries: usize,
    /// The last value of its chain.
    head: String,
    /// The commit at which the session began.
    commit: Option<String>,
    /// The sessions of its subagents, and of those below them, by ID.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    subagents: BTreeMap<String, End>,
    /// Contents that are not in the bundle, because they hold secrets or are no longer stored.
    left_out: BTreeSet<String>,
    /// SHA-256 of each other member, by name.
    members: BTreeMap<String, String>,
}

/// The end of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    /// Number of entries.
    entries: usize,
    /// The last value of its chain.
    head: String,
}

const MANIFEST: &str = "bundle.json";
/// The signature of `bundle.json`, and so of the chain's head and of all other members. It is the second member, if
/// present.
const SIGNATURE: &str = "bundle.json.sig";
const JOURNAL: &str = "journal.jsonl";
const PAGE: &str = "index.html";
const CONTENTS: &str = "contents/";
/// The journal of a subagent is `subagents/ID.jsonl`.
const SUBAGENTS: &str = "subagents/";

/// A finished bundle.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// The trailer for a commit message; it names the session and the head of its chain.
    pub trailer: String,
}

impl Bundle {
    /// Writes the bundle to `file`, readable by its owner only, because a session is private until its owner shares it.
    /// If `file` is a link, its target is written; a pipe or a device is written to directly.
    ///
    /// # Errors
    ///
    /// If writing fails; an older file then stays as it is.
    pub fn write(&self, file: &Path) -> Result<(), Failure> {
        let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let written = match real.metadata() {
            Ok(found) if !found.is_file() => {
                File::options().write(true).open(&real).and_then(|mut pipe| pipe.write_all(&self.bytes))
            }
            _ => self.replace(&real),
        };
        let failed =
            |error| Failure::failed(format!("cannot write the bundle `{}`: {error}", file.display()));
        written.map_err(failed)
    }

    fn replace(&self, file: &Path) -> io::Result<()> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut whole = NamedTempFile::new_in(folder)?;
        whole.write_all(&self.bytes)?;
        whole.persist(file).map(drop).map_err(|error| error.error)
    }
}

impl App {
    /// Writes everything that a third party needs to verify the session `id` to one file. `page` is the session as
    /// HTML. Secrets of the configuration are removed. The SSH key in the file `key` signs the bundle.
    ///
    /// # Errors
    ///
    /// If there is no such session, its journal is damaged, the bundle is too large, or signing with the key fails.
    pub fn bundle(&self, id: &str, page: &str, key: Option<&Path>) -> Result<Bundle, Failure> {
        let home = self.home();
        let id = home.find(id)?;
        let cannot =
            |why: &dyn std::fmt::Display| Failure::failed(format!("cannot bundle the session `{id}`: {why}"));
        let file = home.folder(&id).join(JOURNAL);
        let journal = read_regular(&file, MAX_BYTES).map_err(|error| cannot(&error))?;
        let record = Record::read(&journal, Some(&id.0), Cuts::Refused).map_err(|flaw| cannot(&flaw))?;
        let subagents = Subagent::all(&home, &record.entries)?.map_err(|flaw| cannot(&flaw))?;
        let opened = SessionOpened::of(&record.entries);
        let workspace = opened.map_or(Path::new("/"), |opened| &opened.workspace);
        let secrets = self.environment.access(&self.config(workspace, &Settings::default())?).secrets;
        let secrets = Hiding::new(&secrets);
        let mut members = vec![
            (PAGE.to_owned(), secrets.text(page).into_bytes()),
            (JOURNAL.to_owned(), secrets.journal(&journal)),
        ];
        let below = |subagent: &Subagent| (member_of(&subagent.session), secrets.journal(&subagent.journal));
        members.extend(subagents.iter().map(below));
        let named = named_contents(journals(&record, &subagents));
        let left_out = secrets.contents(named, &home.contents(&id), &mut members);
        let end = |record: &Record| End { entries: record.chain.lines, head: record.chain.head.to_string() };
        let manifest = Manifest {
            format: FORMAT.to_owned(),
            version: VERSION,
            session: id.0.clone(),
            entries: record.chain.lines,
            head: record.chain.head.to_string(),
            commit: opened.and_then(|opened| opened.commit.clone()),
            subagents: subagents.iter().map(|below| (below.session.clone(), end(&below.record))).collect(),
            left_out,
            members: members.iter().map(|(name, content)| (name.clone(), sha256(content))).collect(),
        };
        let trailer = trailer(&id.0, &manifest.head);
        let manifest = manifest.text().into_bytes();
        let signature = key.map(|key| sign(&manifest, key)).transpose()?;
        let signature = signature.map(|signature| (SIGNATURE.to_owned(), signature));
        members.splice(..0, [(MANIFEST.to_owned(), manifest)].into_iter().chain(signature));
        let size: usize = members.iter().map(|(_, content)| content.len()).sum();
        if members.len() > MAX_MEMBERS || size as u64 > MAX_BYTES / 2 {
            return Err(cannot(&format!(
                "it has {} contents of {} MB; a bundle holds at most {MAX_MEMBERS} and {} MB",
                members.len(),
                size >> 20,
                MAX_BYTES >> 21
            )));
        }
        let bytes = archive::write(&members);
        let sha256 = sha256(&bytes);
        Ok(Bundle { bytes, sha256, trailer })
    }
}

/// The entries of all journals in a bundle.
fn journals<'a>(record: &'a Record, subagents: &'a [Subagent]) -> impl Iterator<Item = &'a [Arc<Entry>]> {
    [record].into_iter().chain(subagents.iter().map(|below| &below.record)).map(|record| &record.entries[..])
}

/// The name of the member with the journal of a subagent.
fn member_of(session: &str) -> String {
    format!("{SUBAGENTS}{session}.jsonl")
}

/// `Haft-Session: ID sha256:HEAD`, a line at the end of a commit's message.
fn trailer(session: &str, head: &str) -> String {
    format!("{TRAILER}: {session} sha256:{head}")
}

impl Manifest {
    fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    fn read(bytes: &[u8]) -> Result<Self, Flaw> {
        let unread = |error: serde_json::Error| Flaw::NoManifest(error.to_string());
        let any: Value = serde_json::from_slice(bytes).map_err(unread)?;
        let (format, version) = (any["format"].as_str().unwrap_or_default(), any["version"].as_u64());
        if format != FORMAT || version != Some(VERSION) {
            let (format, version) = (format.to_owned(), version.unwrap_or_default());
            return Err(Flaw::Version { format, version });
        }
        let manifest: Self = serde_json::from_value(any).map_err(unread)?;
        if manifest.text().as_bytes() == bytes { Ok(manifest) } else { Err(Flaw::Manifest) }
    }

    /// Checks that the members are those that the manifest names.
    fn check_members(&self, members: &[Member]) -> Result<(), Flaw> {
        for (name, content) in members {
            let content_hash = name.strip_prefix(CONTENTS);
            let is_subagent = self.subagents.keys().any(|session| member_of(session) == *name);
            if content_hash.is_none() && !is_subagent && ![PAGE, JOURNAL].contains(&name.as_str()) {
                return Err(Flaw::Unknown(name.clone()));
            }
            let hash = sha256(content);
            if let Some(content_hash) = content_hash.filter(|name| **name != hash) {
                return Err(Flaw::Content(content_hash.to_owned()));
            }
            match self.members.get(name) {
                None => return Err(Flaw::Unlisted(name.clone())),
                Some(expected) if *expected != hash => return Err(Flaw::Member(name.clone())),
                Some(_) => {}
            }
        }
        let is_missing = |name: &&String| !members.iter().any(|(member, _)| member == *name);
        let missing = self.members.keys().find(is_missing).cloned();
        missing
            .or_else(|| {
                let needed = [PAGE, JOURNAL].map(str::to_owned).into_iter();
                needed.chain(self.subagents.keys().map(|id| member_of(id))).find(|name| is_missing(&name))
            })
            .map_or(Ok(()), |name| Err(Flaw::Missing(name)))
    }

    /// Checks that each journal of a subagent is the one that the manifest names, and belongs to a call of another
    /// session in the bundle.
    fn subagents(&self, members: &[Member]) -> Result<Vec<Subagent>, Flaw> {
        let read = |(id, end): (&String, &End)| {
            let journal = members.iter().find(|(name, _)| *name == member_of(id));
            let journal = journal.map(|(_, content)| content.clone()).unwrap_or_default();
            let below = Subagent::read(id.clone(), journal, Cuts::Allowed)?;
            let wrong = |flaw| Err(Flaw::Subagent { session: id.clone(), flaw: Box::new(flaw) });
            let (found, expected) = (below.record.chain.lines, end.entries);
            if found != expected {
                return wrong(Flaw::Entries { found, expected });
            }
            let (found, expected) = (below.record.chain.head.to_string(), end.head.clone());
            if found != expected {
                return wrong(Flaw::Head { found, expected });
            }
            let opened = SessionOpened::of(&below.record.entries);
            let above = opened.and_then(|opened| opened.delegated_by.as_ref()).map(|above| &above.0);
            match above.is_some_and(|above| *above == self.session || self.subagents.contains_key(above)) {
                true => Ok(below),
                false => Err(Flaw::NoSubagent(id.clone())),
            }
        };
        self.subagents.iter().map(read).collect()
    }

    /// Checks that the journal is the one that the manifest names, and that each content is named by it or by the
    /// journal of a subagent.
    fn check_record(&self, record: &Record, subagents: &[Subagent], members: &[Member]) -> Result<(), Flaw> {
        let (found, expected) = (record.chain.lines, self.entries);
        if found != expected {
            return Err(Flaw::Entries { found, expected });
        }
        let (found, expected) = (record.chain.head.to_string(), self.head.clone());
        if found != expected {
            return Err(Flaw::Head { found, expected });
        }
        let found = SessionOpened::of(&record.entries).and_then(|opened| opened.commit.clone());
        if found != self.commit {
            return Err(Flaw::Commit { found, expected: self.commit.clone() });
        }
        let held: BTreeSet<&str> =
            members.iter().filter_map(|(name, _)| name.strip_prefix(CONTENTS)).collect();
        let named = named_contents(journals(record, subagents));
        let is_there = |hash: &str| held.contains(hash) || self.left_out.contains(hash);
        if let Some((hash, seq)) = named.iter().find(|(hash, _)| !is_there(hash)) {
            return Err(Flaw::NoContent { hash: hash.clone(), seq: seq.0 });
        }
        let mut told = held.into_iter().chain(self.left_out.iter().map(String::as_str));
        told.find(|hash| !named.contains_key(*hash)).map_or(Ok(()), |hash| Err(Flaw::Stray(hash.to_owned())))
    }
}

/// The content of a bundle, after all checks that do not run calls.
pub(super) struct Unpacked {
    pub(super) record: Record,
    pub(super) journal: Vec<u8>,
    pub(super) subagents: Vec<Subagent>,
    /// The contents, named by their SHA-256.
    pub(super) contents: Vec<Member>,
    /// `bundle.json`, and its signature.
    pub(super) signed: Option<(Vec<u8>, Vec<u8>)>,
}

/// Reads a bundle and checks it.
pub(super) fn unpack(bundle: &[u8]) -> Result<Unpacked, Flaw> {
    let mut members = archive::read(bundle)?;
    if members[0].0 != MANIFEST {
        return Err(Flaw::NoManifest("it is not the first member".to_owned()));
    }
    let text = members.remove(0).1;
    let manifest = Manifest::read(&text)?;
    let is_signed = members.first().is_some_and(|(name, _)| name == SIGNATURE);
    let signed = is_signed.then(|| (text, members.remove(0).1));
    manifest.check_members(&members)?;
    let journal = members.iter().find(|(name, _)| name == JOURNAL).map(|(_, content)| content.clone());
    let journal = journal.ok_or_else(|| Flaw::Missing(JOURNAL.to_owned()))?;
    let record = Record::read(&journal, Some(&manifest.session), Cuts::Allowed)?;
    let subagents = manifest.subagents(&members)?;
    manifest.check_record(&record, &subagents, &members)?;
    let content = |(name, content): Member| Some((name.strip_prefix(CONTENTS)?.to_owned(), content));
    let contents = members.into_iter().filter_map(content).collect();
    Ok(Unpacked { record, journal, subagents, contents, signed })
}

/// SHA-256 in hexadecimal.
fn sha256(content: &[u8]) -> String {
    hex::encode(Sha256::digest(content))
}

/// Secrets to remove, each as it appears in plain text and in a JSON string.
struct Hiding {
    written: Vec<String>,
}

impl Hiding {
    fn new(secrets: &Secrets) -> Self {
        let quoted = |secret: &String| Value::from(secret.as_str()).to_string();
        let both = |secret: &String| [secret.clone(), quoted(secret).trim_matches('"').to_owned()];
        Self { written: secrets.values().iter().flat_map(both).collect() }
    }

    fn text(&self, text: &str) -> String {
        self.written.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "[key]"))
    }

    fn journal(&self, journal: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(journal);
        text.lines().map(|line| self.line(line) + "\n").collect::<String>().into_bytes()
    }

    /// A line of a journal without secrets. If it contained any, the line gets the hash of the original.
    fn line(&self, line: &str) -> String {
        if !self.written.iter().any(|secret| line.contains(secret)) {
            return line.to_owned();
        }
        // Appends the line's own chain value again.
        let bare =
            line.rfind(",\"chain\":\"").map_or_else(|| line.to_owned(), |at| line[..at].to_owned() + "}");
        chain::cut(&self.text(&bare), line)
    }

    /// Adds the contents that are `named` to `members`, and returns those that are left out.
    fn contents(
        &self,
        named: BTreeMap<String, Seq>,
        folder: &Path,
        members: &mut Vec<Member>,
    ) -> BTreeSet<String> {
        let mut left_out = BTreeSet::new();
        for hash in named.into_keys() {
            let content = read_regular(&folder.join(&hash), MAX_BYTES / 2).ok();
            let has_secret = |content: &Vec<u8>| {
                self.written.iter().any(|secret| memchr::memmem::find(content, secret.as_bytes()).is_some())
            };
            match content.filter(|content| !has_secret(content) && sha256(content) == hash) {
                Some(content) => members.push((format!("{CONTENTS}{hash}"), content)),
                None => _ = left_out.insert(hash),
            }
        }
        left_out
    }
}
