//! [`Flaw`]: the first thing in a session or a bundle that is not as it was recorded.
use haft_core::chain::ChainFault;

/// The first thing that is not as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The file is neither a bundle nor a journal.
    #[error("it is no bundle: it does not begin like one")]
    NoBundle,
    /// A member, or the list of members, ends too early.
    #[error("the bundle is cut off")]
    CutOff,
    /// More members than a bundle may have.
    #[error("the bundle has more than {} members", super::archive::MAX_MEMBERS)]
    TooMany,
    /// A member has the name of an earlier one.
    #[error("the bundle holds `{0}` twice")]
    Twice(String),
    /// A member's name is a path that is not below the bundle.
    #[error("the bundle holds `{}`, which is not a name of a member", .0.escape_debug())]
    Outside(String),
    /// A member is compressed; members must be stored uncompressed.
    #[error("the member `{0}` is compressed, which no member of a bundle is")]
    Compressed(String),
    /// The archive's own checksum of a member is wrong.
    #[error("the member `{0}` was changed: it has another checksum than its header says")]
    Checksum(String),
    /// The archive does not have the form of a bundle.
    #[error("byte {0} of the bundle is not what its members make of it")]
    Form(usize),
    /// There is no `bundle.json`, or it cannot be read.
    #[error("`bundle.json` cannot be read: {0}")]
    NoManifest(String),
    /// `bundle.json` is not written as Haft writes it.
    #[error("`bundle.json` is not in the form in which Haft writes it")]
    Manifest,
    /// The bundle has a format that this version of Haft does not know.
    #[error("the bundle has the format `{}` {version}, and this Haft reads `haft-bundle` 1", .format.escape_debug())]
    Version {
        /// The name of the format.
        format: String,
        /// Its version.
        version: u64,
    },
    /// `bundle.json` names a member that is missing.
    #[error("the member `{0}` is missing")]
    Missing(String),
    /// `bundle.json` does not name this member.
    #[error("`bundle.json` does not name the member `{0}`")]
    Unlisted(String),
    /// Bundles have no such member.
    #[error("the member `{0}` is not one of a bundle of version 1")]
    Unknown(String),
    /// The content of a member does not match `bundle.json`.
    #[error("the member `{0}` was changed: it has another SHA-256 than `bundle.json` says")]
    Member(String),
    /// A content does not match its hash.
    #[error("the content `{0}` was changed: its SHA-256 is not its name")]
    Content(String),
    /// A content that a change names is missing.
    #[error("the content `{hash}`, which entry {seq} names, is missing")]
    NoContent {
        /// Its SHA-256.
        hash: String,
        /// The entry.
        seq: u64,
    },
    /// No change names this content.
    #[error("no entry names the content `{0}`")]
    Stray(String),
    /// The name of the session is not a valid ID.
    #[error("`{}` is not the ID of a session", .0.escape_debug())]
    NoSession(String),
    /// The journal belongs to another session.
    #[error("the journal is that of the session `{found}`, not of `{expected}`")]
    OtherSession {
        /// In the journal.
        found: String,
        /// The ID in `bundle.json`, or in the name of the folder.
        expected: String,
    },
    /// The journal of a subagent is invalid.
    #[error("in the session `{session}` of a subagent: {flaw}")]
    Subagent {
        /// ID of the session.
        session: String,
        /// The flaw.
        flaw: Box<Flaw>,
    },
    /// A session in the bundle is a subagent of no other session in it.
    #[error("the session `{0}` is that of no subagent of the bundle's session")]
    NoSubagent(String),
    /// The chain is broken.
    #[error("{0}")]
    Chain(ChainFault),
    /// A line is not an entry.
    #[error("line {0} cannot be read as an entry")]
    Unreadable(usize),
    /// The first entry is not the beginning of a session.
    #[error("line 1 does not begin a session")]
    NoBeginning,
    /// The beginning of a session appears again further down.
    #[error("line {0} begins a second session")]
    SecondBeginning(usize),
    /// The sequence number of an entry is not higher than that of the entry before it.
    #[error("line {line}: entry {seq} stands behind a later one, or twice")]
    Order {
        /// Line number, counted from 1.
        line: usize,
        /// The place of the entry.
        seq: u64,
    },
    /// An entry refers to a call that no earlier entry made.
    #[error("entry {seq} is about the call `{}`, which no entry before it made", .call.escape_debug())]
    UnknownCall {
        /// The place of the entry.
        seq: u64,
        /// The call.
        call: String,
    },
    /// A call continues after its end.
    #[error("entry {seq} is about the call `{}`, which had ended", .call.escape_debug())]
    EndedTwice {
        /// The place of the entry.
        seq: u64,
        /// The call.
        call: String,
    },
    /// The model replied again before each call had its result.
    #[error("entry {seq} is a reply of the model, and the call `{}` before it has no result", .call.escape_debug())]
    NoResult {
        /// The place of the entry.
        seq: u64,
        /// The call.
        call: String,
    },
    /// A line is marked as cut, but nothing in it was cut.
    #[error("line {0} is said to have secrets cut out, and has no `[key]`")]
    NothingCut(usize),
    /// The last value of the chain differs.
    #[error("the chain ends with `{found}`, not with `{expected}`")]
    Head {
        /// SHA-256 of the journal.
        found: String,
        /// SHA-256 in `bundle.json`.
        expected: String,
    },
    /// The number of entries differs.
    #[error("the journal has {found} entries, not {expected}")]
    Entries {
        /// In the journal.
        found: usize,
        /// Number in `bundle.json`.
        expected: usize,
    },
    /// The commit differs.
    #[error("the session began at {}, not at {}", commit(.found.as_deref()), commit(.expected.as_deref()))]
    Commit {
        /// In the journal.
        found: Option<String>,
        /// Value in `bundle.json`.
        expected: Option<String>,
    },
    /// A bundle that should be signed is not.
    #[error("the bundle is not signed")]
    Unsigned,
    /// The signature does not belong to this bundle.
    #[error("the signature is not one of this bundle: {0}")]
    Signature(String),
    /// The key of the signature is not one of the accepted keys.
    #[error("the bundle is signed with {key}, which `{signers}` does not name")]
    Signer {
        /// Its kind and fingerprint.
        key: String,
        /// The file with the accepted keys.
        signers: String,
    },
    /// A commit changes files but names no session.
    #[error(
        "the commit `{0}` names no session: neither its message nor its note has a line `Haft-Session: …`"
    )]
    NoTrailer(String),
    /// A commit names a chain value that no entry has.
    #[error("the commit `{commit}` names the value `{head}`, which no entry of the session `{session}` has")]
    NoHead {
        /// The commit.
        commit: String,
        /// The session that it names.
        session: String,
        /// The value.
        head: String,
    },
    /// A commit changes a file that its sessions did not change.
    #[error("the commit `{commit}` changes `{}`, which no call of its session changed", .path.escape_debug())]
    OtherFile {
        /// The commit.
        commit: String,
        /// The file.
        path: String,
    },
    /// A commit contains a file in a state in which its sessions did not leave it.
    #[error("in the commit `{commit}`, `{}` is not as any call of its session left it", .path.escape_debug())]
    OtherContent {
        /// The commit.
        commit: String,
        /// The file.
        path: String,
    },
    /// A repeated call gives a different result.
    #[error("{0}")]
    Replay(String),
}

fn commit(commit: Option<&str>) -> String {
    commit.map_or_else(|| "no commit".to_owned(), |commit| format!("the commit `{}`", commit.escape_debug()))
}
