//! What a profile may set.
use haft_core::{Clip, Keep, Presentation, Skill, Start};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Of all tools. What is left out stands as in `Settings::default()`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The tools that models are told of, in this order. The others can be called all the same.
    pub offer: Vec<String>,
    /// By tool: what models are told in place of its own names.
    pub present: IndexMap<String, Presentation>,
    /// Of `read`.
    pub read: ReadSettings,
    /// Of `edit`.
    pub edit: EditSettings,
    /// Of `bash`.
    pub bash: BashSettings,
    /// Of `fetch`.
    pub fetch: FetchSettings,
    /// Of `publish` and `review`.
    pub publish: PublishSettings,
    /// Of the tools that look for things: `list`, `glob`, `grep`, `search`, `navigate`.
    pub find: FindSettings,
    /// What `skill` gives; no profile's affair.
    #[serde(skip)]
    pub skills: Vec<Skill>,
}

impl Default for Settings {
    fn default() -> Self {
        let offer = [
            "read", "write", "edit", "list", "glob", "grep", "navigate", "bash", "job", "test", "git",
            "fetch", "todo", "ask", "delegate", "skill",
        ];
        let offer = offer.map(str::to_owned).into();
        let (read, edit, bash, fetch, publish, find, skills) = Default::default();
        Self { offer, present: IndexMap::new(), read, edit, bash, fetch, publish, find, skills }
    }
}

/// How `read` shows a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReadSettings {
    /// Each line behind its number, with notes on what is not shown and with named fields. If not: the
    /// content as it is, and nothing else.
    pub numbered: bool,
    /// The name of the file above it, also where there is only one (C-42).
    pub header: bool,
    /// At most so many lines at once.
    pub lines: u64,
    /// At most so many bytes at once.
    pub max_bytes: usize,
    /// Stands at the end of a file that did not fit, instead of our own note.
    pub marker: Option<String>,
}

impl Default for ReadSettings {
    /// 2,000 lines, 50,000 bytes.
    fn default() -> Self {
        Self { numbered: true, header: false, lines: 2_000, max_bytes: 50_000, marker: None }
    }
}

/// How `edit` finds its place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EditSettings {
    /// What is replaced where the text occurs more than once, and the call does not say.
    pub occurrence: Occurrence,
    /// Blanks and typographic marks must match too. If not: where the text itself is nowhere, the one place
    /// that differs from it in nothing else.
    pub exact: bool,
}

/// What is replaced where a text occurs more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Occurrence {
    /// Nothing: the model has to say which one it means.
    #[default]
    Unique,
    /// The first.
    First,
    /// Every one.
    All,
}

/// How long a command may run, and how much of its output the model reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BashSettings {
    /// Seconds, where the call does not say.
    pub timeout_default: u64,
    /// Seconds, whatever the call says.
    pub timeout_max: u64,
    /// What becomes of a command that takes longer than the default. One whose call says how long is killed.
    pub on_timeout: OnTimeout,
    /// After so many seconds without output a command is taken for one that does not end soon; 0: never. Counts
    /// where `on_timeout` is `background`.
    pub idle: u64,
    /// What is kept of each of the two streams.
    pub clip: Clip,
    /// Stands where output is left out, instead of our own note.
    pub marker: Option<String>,
}

/// What becomes of a command that takes too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    /// It is killed.
    Kill,
    /// It goes on as a job.
    Background,
}

impl Default for BashSettings {
    /// 120 and 600 seconds, then it goes on in the background; for each of the two streams half of 2,000 lines
    /// and 50,000 bytes.
    fn default() -> Self {
        let clip = Clip { lines: 1_000, bytes: 25_000, ..Clip::default() };
        Self {
            timeout_default: 120,
            timeout_max: 600,
            on_timeout: OnTimeout::Background,
            idle: 60,
            clip,
            marker: None,
        }
    }
}

/// What `fetch` may reach, and how much of it the model reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FetchSettings {
    /// Addresses of this machine and of private networks, too.
    pub allow_private: bool,
    /// Seconds for a whole call, redirects included.
    pub timeout: u64,
    /// At most so many bytes are taken from the server, inflated.
    pub max_bytes: usize,
    /// What the model reads of it.
    pub clip: Clip,
}

impl Default for FetchSettings {
    /// 30 seconds, 4 MB, of which 40,000 bytes are read.
    fn default() -> Self {
        let clip = Clip { lines: 2_000, bytes: 40_000, keep: Keep::Head };
        Self { allow_private: false, timeout: 30, max_bytes: 4 << 20, clip }
    }
}

/// Where work is published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PublishSettings {
    /// Of GitHub's API, if it is not `https://api.github.com`.
    pub api_url: Option<String>,
    /// `OWNER/NAME`, where the address of the remote does not tell.
    pub repository: Option<String>,
    /// The branch that work is meant for; else what the remote calls its own, `main` or `master`.
    pub base: Option<String>,
    /// What the work began with: what was there before is not a work. It comes from whoever assembles the tools.
    #[serde(skip)]
    pub start: Option<Start>,
    /// Who may write there. It comes from whoever assembles the tools, never from a file.
    #[serde(skip)]
    pub token: Option<String>,
}

/// How much of what was found a model reads at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FindSettings {
    /// At most so many results, where the call does not say: lines that match, paths, or names in a folder.
    pub results: usize,
    /// At most so many bytes.
    pub max_bytes: usize,
    /// A longer line is shown around what was found in it, in bytes.
    pub longest_line: usize,
}

impl Default for FindSettings {
    /// 250 results, 30,000 bytes, 400 bytes of a line.
    fn default() -> Self {
        Self { results: 250, max_bytes: 30_000, longest_line: 400 }
    }
}
