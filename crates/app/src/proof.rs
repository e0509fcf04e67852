//! [`App::verify`]: checks that a session is as it was recorded, and that running its calls again gives the recorded
//! changes. [`App::bundle`] writes everything that a verification needs to one file.
mod address;
mod archive;
mod bundle;
mod commits;
mod flaw;
mod record;
mod signature;
mod words;

use crate::{
    App, Failure,
    git::said,
    replay::{Refusal, ReplayOptions, ReplayReport, Start},
};
use archive::MAX_BYTES;
pub use bundle::Bundle;
use commits::{Commits, FilesLeft};
pub use flaw::Flaw;
use haft_core::{Mode, SessionId, SessionOpened, chain::Cuts};
use haft_engine::{Home, JournalError};
use haft_present::Exit;
use haft_process::read_regular;
use record::{Record, Subagent};
use serde::Serialize;
use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// How to verify.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// Whether to check only the chain, without running calls again.
    pub chain_only: bool,
    /// The mode. `Full` also runs calls again that need an approval.
    pub permission: Option<Mode>,
    /// Folder to use in place of the session's workspace, such as a clone of the repository. By default the workspace,
    /// or the current directory for a bundle file.
    pub folder: Option<PathBuf>,
    /// A file that names SSH keys, as `ssh-keygen` describes under *ALLOWED SIGNERS*. A bundle must be signed by one of them.
    pub signers: Option<PathBuf>,
}

/// The result of a verification.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verification {
    /// Whether everything that was checked is as recorded.
    pub verified: bool,
    /// Number of entries in the journal and in those of its subagents; 0 if one of these journals is invalid.
    pub entries: usize,
    /// The first difference from the recording.
    pub difference: Option<String>,
    /// The session's ID.
    pub session: Option<String>,
    /// The last value of its chain.
    pub head: Option<String>,
    /// Number of entries that are older than the chain. The chain shows only that they have not changed since it began.
    pub unchained: usize,
    /// Number of entries from which secrets were removed.
    pub cut: usize,
    /// Number of calls that were run again.
    pub calls: usize,
    /// Number of these calls that ran tests and were compared by their outcome.
    pub tests: usize,
    /// Calls that are not compared: see [`crate::replay::ReplayReport::not_again`].
    pub not_again: usize,
    /// Number of commits whose files are in the state in which their sessions left them.
    pub commits: usize,
    /// Who signed the bundle: a name of [`VerifyOptions::signers`] and the key, or the key alone.
    pub signed_by: Option<String>,
}

impl Verification {
    fn of(record: &Record, subagents: &[Subagent]) -> Self {
        let whole = Self {
            verified: true,
            entries: record.chain.lines,
            session: SessionOpened::of(&record.entries).map(|opened| opened.session.0.clone()),
            head: Some(record.chain.head.to_string()),
            unchained: record.chain.unchained,
            cut: record.chain.cut,
            ..Self::default()
        };
        subagents.iter().map(|below| &below.record.chain).fold(whole, |whole, chain| Self {
            entries: whole.entries + chain.lines,
            unchained: whole.unchained + chain.unchained,
            cut: whole.cut + chain.cut,
            ..whole
        })
    }

    fn not(flaw: &Flaw) -> Self {
        Self { difference: Some(flaw.to_string()), ..Self::default() }
    }

    /// Adds the findings of a further session.
    fn and(self, other: Self) -> Self {
        Self {
            entries: self.entries + other.entries,
            unchained: self.unchained + other.unchained,
            cut: self.cut + other.cut,
            calls: self.calls + other.calls,
            tests: self.tests + other.tests,
            not_again: self.not_again + other.not_again,
            commits: self.commits,
            ..other
        }
    }

    fn but(self, flaw: &Flaw) -> Self {
        Self { verified: false, difference: Some(flaw.to_string()), ..self }
    }
}

/// A session to verify: in the user's own home, or unpacked from a file.
struct Subject {
    record: Record,
    journal: Vec<u8>,
    subagents: Vec<Subagent>,
    home: Home,
    session: String,
    /// Whether it comes from a file, so that the session's own workspace does not count.
    is_file: bool,
    signed_by: Option<String>,
    _unpacked: Option<TempDir>,
}

impl App {
    /// Verifies a session by its name, a bundle or a journal by its path, a bundle or a pull request by its address, or
    /// the sessions that the commits of a Git range name. It checks the chain first, and then runs each call again.
    ///
    /// # Errors
    ///
    /// If there is no such session, file, address or range, if calls cannot be run again here, or if a call needs an
    /// approval.
    pub async fn verify(&self, target: &str, options: &VerifyOptions) -> Result<Verification, Failure> {
        if target.starts_with("https://") || target.starts_with("http://") {
            return self.verify_address(target, options).await;
        }
        let path = Path::new(target);
        if path.is_file() {
            return match of_file(path, options.signers.as_deref())? {
                Ok(subject) => self.verified(&subject, options).await,
                Err(flaw) => Ok(Verification::not(&flaw)),
            };
        }
        if options.signers.is_some() {
            let what = "it is not a file or an address";
            let failure = Failure::usage(format!("cannot check who signed `{target}`: {what}"));
            return Err(failure.hint("`haft bundle SESSION --out FILE --sign KEY` makes a signed bundle"));
        }
        match self.of_session(target) {
            Ok(Ok(subject)) => self.verified(&subject, options).await,
            Ok(Err(flaw)) => Ok(Verification::not(&flaw)),
            Err(unknown) => {
                let folder = options.folder.clone().map_or_else(std::env::current_dir, Ok)?;
                let commits = Commits::find(&folder, target).ok_or_else(|| {
                    let what = "it is no session, no file, and no commit or range of this repository";
                    match self.home().find(target) {
                        Err(JournalError::Ambiguous { .. } | JournalError::SameName { .. }) => unknown,
                        _ => Failure::usage(format!("cannot verify `{target}`: {what}"))
                            .hint("`haft sessions list` lists sessions"),
                    }
                })?;
                if commits.all.is_empty() {
                    let failure = Failure::usage(format!("cannot verify `{target}`: it holds no commits"));
                    return Err(
                        failure.hint("in a shallow clone, fetch the commits first: `git fetch --unshallow`")
                    );
                }
                self.verify_commits(&commits, &[], options).await
            }
        }
    }

    async fn verified(&self, subject: &Subject, options: &VerifyOptions) -> Result<Verification, Failure> {
        let verified = Verification {
            signed_by: subject.signed_by.clone(),
            ..Verification::of(&subject.record, &subject.subagents)
        };
        if options.chain_only || !subject.record.has_calls() {
            return Ok(verified);
        }
        let report = self.made_again(subject, options).await?;
        let ReplayReport { calls, tests, not_again, .. } = report;
        let verified = Verification { calls, tests, not_again, ..verified };
        Ok(match report.difference {
            Some(difference) => verified.but(&Flaw::Replay(difference.to_string())),
            None => verified,
        })
    }

    /// Verifies each session that the commits name, and then the files of each commit. The sessions are those in
    /// `brought`, or those of this machine; if they must be signed, only those in `brought` count.
    async fn verify_commits(
        &self,
        commits: &Commits,
        brought: &[Subject],
        options: &VerifyOptions,
    ) -> Result<Verification, Failure> {
        let mut whole = Verification { verified: true, ..Verification::default() };
        let mut seen: Vec<String> = Vec::new();
        for commit in &commits.all {
            if let Some(flaw) = commit.unnamed() {
                return Ok(whole.but(&flaw));
            }
            let mut left: Vec<FilesLeft> = Vec::new();
            for named in &commit.named {
                let own;
                let subject = match brought.iter().find(|subject| subject.session == named.session) {
                    Some(subject) => subject,
                    None if options.signers.is_some() => return Err(commit.cannot_find(&named.session)),
                    None => {
                        match self
                            .of_session(&named.session)
                            .map_err(|_| commit.cannot_find(&named.session))?
                        {
                            Ok(subject) => own = subject,
                            Err(flaw) => return Ok(whole.but(&flaw)),
                        }
                        &own
                    }
                };
                match commits.left(&subject.record, &subject.journal, named.head) {
                    Some(files) => left.push(files),
                    None => return Ok(whole.but(&commit.without_head(named))),
                }
                if seen.contains(&named.session) {
                    continue;
                }
                seen.push(named.session.clone());
                let verified = self.verified(subject, options).await?;
                if !verified.verified {
                    return Ok(Verification { commits: whole.commits, ..verified });
                }
                whole = whole.and(verified);
            }
            if let Some(flaw) = commits.difference(commit, &left.iter().collect::<Vec<_>>())? {
                return Ok(whole.but(&flaw));
            }
            whole.commits += 1;
        }
        Ok(whole)
    }

    fn of_session(&self, id: &str) -> Result<Result<Subject, Flaw>, Failure> {
        let home = self.home();
        let id = home.find(id)?;
        let journal = bytes(&home.folder(&id).join("journal.jsonl"))?;
        let record = match Record::read(&journal, Some(&id.0), Cuts::Refused) {
            Ok(record) => record,
            Err(flaw) => return Ok(Err(flaw)),
        };
        let subagents = Subagent::all(&home, &record.entries)?;
        Ok(subagents.map(|subagents| Subject {
            record,
            journal,
            subagents,
            home,
            session: id.0,
            is_file: false,
            signed_by: None,
            _unpacked: None,
        }))
    }

    /// Runs the calls again on the files of the commit at which the session began, if that is known. The session is
    /// also valid if its calls give the same results in its workspace as it is, including files that were not
    /// committed.
    async fn made_again(&self, subject: &Subject, options: &VerifyOptions) -> Result<ReplayReport, Failure> {
        let opened = SessionOpened::of(&subject.record.entries);
        let folder = match (&options.folder, opened) {
            (Some(folder), _) => folder.clone(),
            (None, Some(opened)) if !subject.is_file => opened.workspace.clone(),
            (None, _) => std::env::current_dir()?,
        };
        let as_it_is = Start::Folder(folder.clone());
        let Some(commit) = opened.and_then(|opened| opened.commit.clone()) else {
            return self.replay_from(subject, as_it_is, options).await;
        };
        if !is_hash(&commit) {
            return Err(Failure::failed(format!(
                "cannot make the calls again: the session says that it began at `{}`, which is not the hash of a commit",
                commit.escape_debug()
            )));
        }
        let is_known = said(&folder, ["cat-file", "-e", &format!("{commit}^{{commit}}")]).is_some();
        if !is_known && subject.is_file {
            return Err(Failure::usage(format!(
                "cannot make the calls again: `{}` does not have the commit `{commit}`, at which the session began",
                folder.display()
            ))
            .hint("name a clone of the repository with `--cwd`, or check the chain alone with `--chain-only`"));
        }
        if !is_known {
            return self.replay_from(subject, as_it_is, options).await;
        }
        let report = self.replay_from(subject, Start::Commit(folder, commit), options).await?;
        if report.difference.is_none() || subject.is_file {
            return Ok(report);
        }
        let again = self.replay_from(subject, as_it_is, options).await?;
        Ok(if again.difference.is_none() { again } else { report })
    }

    async fn replay_from(
        &self,
        subject: &Subject,
        start: Start,
        options: &VerifyOptions,
    ) -> Result<ReplayReport, Failure> {
        let options =
            ReplayOptions { other: None, permission: options.permission, start, tests_by_outcome: true };
        let app = self.clone().with_home(&subject.home);
        let mut replay = app.replay(&subject.session, &options).await.map_err(|failure| {
            let bundle = "; a bundle (`haft bundle SESSION --out FILE`) has the contents of files, which an export lacks";
            let bundle = if subject.is_file { bundle } else { "" };
            let hint = failure.hint.clone();
            failure.hint(hint.unwrap_or_else(|| format!("`--chain-only` checks the chain alone{bundle}")))
        })?;
        let report = replay.run(&mut |_| Ok(())).await;
        replay.close().await;
        match report? {
            ReplayReport { refused: Some(refusal), .. } => Err(refused(refusal)),
            report => Ok(report),
        }
    }
}

fn refused(Refusal { seq, name, reason }: Refusal) -> Failure {
    let place = seq.map_or(String::new(), |seq| format!("entry {seq}: "));
    Failure {
        exit: Exit::Refused,
        ..Failure::usage(format!("{place}`{name}` was not run again: {reason}")).hint(
            "`--permission full` runs it in a copy of the workspace; what lies outside the copy is not isolated; \
             `--chain-only` runs nothing",
        )
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error| Failure::failed(format!("cannot read `{}`: {error}", path.display()));
    read_regular(path, MAX_BYTES).map_err(failed)
}

/// Whether `commit` is a full hash, which always names the same commit, unlike a branch or a tag.
fn is_hash(commit: &str) -> bool {
    matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Reads a bundle, or a journal whose contents are in the folder `blobs` beside it.
fn of_file(path: &Path, signers: Option<&Path>) -> Result<Result<Subject, Flaw>, Failure> {
    let file = bytes(path)?;
    if file.starts_with(b"{") {
        let record = match Record::read(&file, None, Cuts::Refused) {
            Ok(_) if signers.is_some() => Err(Flaw::Unsigned),
            record => record,
        };
        return match record {
            Err(flaw) => Ok(Err(flaw)),
            Ok(record) => {
                let blobs = path.canonicalize()?.with_file_name("blobs");
                unpacked((record, &file), Vec::new(), None, |place| match blobs.is_dir() {
                    true => std::os::unix::fs::symlink(&blobs, place),
                    false => Ok(()),
                })
            }
        };
    }
    let found = match bundle::unpack(&file) {
        Err(flaw) => return Ok(Err(flaw)),
        Ok(found) => found,
    };
    let signed_by = match (&found.signed, signers) {
        (None, Some(_)) => Err(Flaw::Unsigned),
        (None, None) => Ok(None),
        (Some((manifest, signature)), _) => signature::signer(manifest, signature, signers)?.map(Some),
    };
    match signed_by {
        Err(flaw) => Ok(Err(flaw)),
        Ok(signed_by) => unpacked((found.record, &found.journal), found.subagents, signed_by, |place| {
            fs::create_dir(place)?;
            found.contents.iter().try_for_each(|(hash, content)| fs::write(place.join(hash), content))
        }),
    }
}

/// Unpacks the session into a temporary home, which is removed when the result is dropped.
fn unpacked(
    (record, journal): (Record, &[u8]),
    subagents: Vec<Subagent>,
    signed_by: Option<String>,
    fill: impl FnOnce(&Path) -> std::io::Result<()>,
) -> Result<Result<Subject, Flaw>, Failure> {
    let opened = SessionOpened::of(&record.entries);
    let session = opened.map(|opened| opened.session.0.clone()).unwrap_or_default();
    let above = opened.and_then(|opened| opened.delegated_by.as_ref()).map(|above| &above.0);
    let below = subagents.iter().map(|below| Some(&below.session));
    if let Some(odd) = [Some(&session), above].into_iter().chain(below).flatten().find(|id| !is_id(id)) {
        return Ok(Err(Flaw::NoSession(odd.clone())));
    }
    let failed =
        |error: std::io::Error| Failure::failed(format!("cannot unpack the session `{session}`: {error}"));
    let folder = tempfile::Builder::new().prefix("haft-verify-").tempdir().map_err(failed)?;
    let home = Home(folder.path().to_owned());
    let id = SessionId(session.clone());
    let journals = subagents.iter().map(|below| (SessionId(below.session.clone()), &below.journal[..]));
    for (id, journal) in [(id.clone(), journal)].into_iter().chain(journals) {
        let place = home.folder(&id);
        let written =
            fs::create_dir_all(&place).and_then(|()| fs::write(place.join("journal.jsonl"), journal));
        written.map_err(failed)?;
    }
    let contents = home.contents(&id);
    contents.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fill(&contents)).map_err(failed)?;
    Ok(Ok(Subject {
        record,
        journal: journal.to_owned(),
        subagents,
        home,
        session,
        is_file: true,
        signed_by,
        _unpacked: Some(folder),
    }))
}

/// Whether the ID is a plain name for a folder, not a path.
fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
