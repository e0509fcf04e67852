//! [`Settings`]: what a profile may set.
use haft_core::{BaseCommit, Clip, Keep, Presentation, Skill};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Settings of all tools. Those that are left out are as in `Settings::default()`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Tools in the request, in this order. Other tools can be called as well, unless `only_offered` is set.
    pub offer: Vec<String>,
    /// Treats a call of any other built-in tool as one of a tool that does not exist.
    pub only_offered: bool,
    /// Names and descriptions that models are told in place of the tool's own, by tool.
    #[schemars(with = "std::collections::BTreeMap<String, Presentation>")]
    pub present: IndexMap<String, Presentation>,
    /// Settings of `read`.
    pub read: ReadSettings,
    /// Settings of `edit`.
    pub edit: EditSettings,
    /// Settings of `bash`.
    pub bash: BashSettings,
    /// Settings of `fetch`.
    pub fetch: FetchSettings,
    /// Settings of `web_search`, which is missing without an engine.
    pub web_search: WebSearchSettings,
    /// Settings of `publish` and `review`.
    pub publish: PublishSettings,
    /// Settings of the tools that look for things: `list`, `glob`, `grep`, `search`, `navigate`.
    pub find: FindSettings,
    /// Settings of `skill`; profiles do not set them.
    #[serde(skip)]
    pub skills: Vec<Skill>,
}

impl Default for Settings {
    fn default() -> Self {
        let offer = [
            "read",
            "write",
            "edit",
            "list",
            "glob",
            "grep",
            "navigate",
            "bash",
            "job",
            "test",
            "git",
            "fetch",
            "web_search",
            "todo",
            "ask",
            "delegate",
            "skill",
        ];
        let offer = offer.map(str::to_owned).into();
        let (read, edit, bash, fetch, web_search, publish, find, skills) = Default::default();
        Self {
            offer,
            only_offered: false,
            present: IndexMap::new(),
            read,
            edit,
            bash,
            fetch,
            web_search,
            publish,
            find,
            skills,
        }
    }
}

/// How `read` shows a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadSettings {
    /// Puts its number before each line, and notes what is not shown. If not, the content is given as it is.
    pub numbered: bool,
    /// Puts the name of the file above it, also where there is only one.
    pub header: bool,
    /// Maximum lines of one call.
    pub lines: u64,
    /// Maximum bytes of one call.
    pub max_bytes: usize,
    /// Maximum characters of one call, instead of `max_bytes`.
    pub max_characters: Option<usize>,
    /// Text at the end of a file that did not fit, instead of Haft's own note.
    pub marker: Option<String>,
}

impl Default for ReadSettings {
    /// 2,000 lines, 50,000 bytes.
    fn default() -> Self {
        let (max_characters, marker) = (None, None);
        Self { numbered: true, header: false, lines: 2_000, max_bytes: 50_000, max_characters, marker }
    }
}

impl ReadSettings {
    /// How much one call may give: characters or bytes, as [`ReadSettings::size`] counts.
    pub(crate) fn room(&self) -> usize {
        self.max_characters.unwrap_or(self.max_bytes)
    }

    /// Sets how much room a result has.
    pub(crate) fn with_room(&self, room: usize) -> Self {
        let max_characters = self.max_characters.map(|_| room);
        Self { max_bytes: room, max_characters, ..self.clone() }
    }

    /// The size of `text` in the unit that is limited.
    pub(crate) fn size(&self, text: &str) -> usize {
        if self.max_characters.is_some() { text.chars().count() } else { text.len() }
    }

    /// Returns as much of the beginning of `text` as fits.
    pub(crate) fn head<'t>(&self, text: &'t str, room: usize) -> &'t str {
        match self.max_characters {
            Some(_) => text.char_indices().nth(room).map_or(text, |(end, _)| &text[..end]),
            None => haft_core::clip::head(text, room),
        }
    }

    /// A line of more bytes has no room, whatever it says.
    pub(crate) fn longest(&self) -> usize {
        self.max_characters.map_or(self.max_bytes, |most| most.saturating_mul(4))
    }
}

/// How `edit` finds its place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EditSettings {
    /// What to replace if the text occurs more than once and the call does not say.
    pub occurrence: Occurrence,
    /// Requires blanks and typographic quotes to match exactly. If not, and there is no exact match, `edit` takes the
    /// only place that differs in nothing else.
    pub exact: bool,
}

/// What is replaced where a text occurs more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BashSettings {
    /// Seconds for a command, where the call names none.
    pub timeout_default: u64,
    /// Seconds for a command at most, whatever the call says.
    pub timeout_max: u64,
    /// What happens to a command that takes longer than the default: it is killed, or goes on in the background. If the
    /// call sets a timeout, the command is always killed.
    pub on_timeout: OnTimeout,
    /// Seconds without output after which a command goes on in the background; 0 for never. Only with `on_timeout =
    /// "background"`.
    pub idle: u64,
    /// What is kept of each of the two output streams.
    pub clip: Clip,
    /// Text where output is left out, instead of Haft's own note.
    pub marker: Option<String>,
}

/// What becomes of a command that takes too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    /// It is killed.
    Kill,
    /// It goes on as a job.
    Background,
}

impl Default for BashSettings {
    /// 120 and 600 seconds, then it goes on in the background; for each of the two streams half of 2,000 lines and
    /// 50,000 bytes.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FetchSettings {
    /// Allows addresses of this machine and of private networks.
    pub allow_private: bool,
    /// Seconds for a whole call, redirects included.
    pub timeout: u64,
    /// Maximum bytes of a reply, decompressed.
    pub max_bytes: usize,
    /// What the model reads of a reply.
    pub clip: Clip,
}

impl Default for FetchSettings {
    /// 30 seconds, 4 MB, of which 40,000 bytes are read.
    fn default() -> Self {
        let clip = Clip { lines: 2_000, bytes: 40_000, keep: Keep::Head };
        Self { allow_private: false, timeout: 30, max_bytes: 4 << 20, clip }
    }
}

/// How the web is searched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WebSearchSettings {
    /// `searxng`, `brave`, `tavily`, `exa` or `kagi`; there is no web search if left out.
    pub engine: Option<String>,
    /// Base URL; `searxng` needs one, the others have their own.
    pub url: Option<String>,
    /// Maximum results.
    pub results: usize,
    /// Seconds for a whole call.
    pub timeout: u64,
    /// Keys by engine. Set by the program, never from a file.
    #[serde(skip)]
    pub keys: BTreeMap<String, String>,
}

impl Default for WebSearchSettings {
    /// No engine; 8 results, 30 seconds.
    fn default() -> Self {
        Self { engine: None, url: None, results: 8, timeout: 30, keys: BTreeMap::new() }
    }
}

/// Where work is published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PublishSettings {
    /// Base URL of GitHub's API; `https://api.github.com` if left out.
    pub api_url: Option<String>,
    /// `OWNER/NAME`, where the address of the remote does not tell.
    pub repository: Option<String>,
    /// Branch that pull requests are for; else the remote's default branch, `main` or `master`.
    pub base: Option<String>,
    /// The state at the start of the work: changes made before do not count as work. Set by the program, not from a
    /// file.
    #[serde(skip)]
    pub start: Option<BaseCommit>,
    /// The token for writing there. Set by the program, never from a file.
    #[serde(skip)]
    pub token: Option<String>,
}

/// How much of what was found a model reads at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FindSettings {
    /// Maximum results, where the call names none: matching lines, paths, or names in a folder.
    pub results: usize,
    /// Maximum bytes of results.
    pub max_bytes: usize,
    /// Bytes of a line; of a longer one only the part around the match is shown.
    pub longest_line: usize,
}

impl Default for FindSettings {
    /// 250 results, 30,000 bytes, 400 bytes of a line.
    fn default() -> Self {
        Self { results: 250, max_bytes: 30_000, longest_line: 400 }
    }
}
