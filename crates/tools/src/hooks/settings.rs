//! [`HookSettings`]: a hook as the user's file defines it, and [`Hook`], as it is used.
use super::HookInput;
use globset::{Glob, GlobMatcher};
use haft_core::Moment;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, time::Duration};

/// When a hook is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookEvent {
    /// A call is about to be judged.
    BeforeTool,
    /// A call has ended.
    AfterTool,
    /// A person spoke.
    TurnStart,
    /// A turn is over.
    TurnEnd,
}

impl HookEvent {
    pub(crate) fn of(moment: &Moment<'_>) -> Self {
        match moment {
            Moment::BeforeCall { .. } => Self::BeforeTool,
            Moment::AfterCall { .. } => Self::AfterTool,
            Moment::TurnStarts { .. } => Self::TurnStart,
            Moment::TurnEnds { .. } => Self::TurnEnd,
        }
    }

    fn is_of_tools(self) -> bool {
        matches!(self, Self::BeforeTool | Self::AfterTool)
    }

    /// What it says decides whether something happens.
    fn guards(self) -> bool {
        matches!(self, Self::BeforeTool | Self::TurnStart)
    }
}

/// What a hook that could not be asked means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Where it guards, no.
    #[default]
    Deny,
    /// Nothing.
    Ignore,
}

/// A hook as it stands in the person's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookSettings {
    /// Event that it is told of.
    pub event: HookEvent,
    /// Tools that it is told of, as a pattern over their own names: `bash`, `mcp__*`, `{write,edit}`; all if left out.
    /// `write` and `edit` also stand for other tools that write files, such as `apply_patch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Command line for `sh`, which gets the event as JSON on standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Address to which the event is posted as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// HTTP headers for that address; `${NAME}` is replaced by the variable of that name.
    #[serde(default, skip_serializing)]
    pub headers: BTreeMap<String, String>,
    /// Seconds until it must have answered; 10 if left out.
    #[serde(default = "ten")]
    pub timeout: u64,
    /// What to do if the hook fails: `deny` blocks the call or the prompt (`before_tool` and `turn_start` only), `ignore`
    /// goes on.
    #[serde(default)]
    pub on_failure: OnFailure,
}

fn ten() -> u64 {
    10
}

/// A hook that cannot work as it is set up.
#[derive(Debug, thiserror::Error)]
pub enum BadHook {
    /// It has no target, or two.
    #[error("a hook needs either a `command` or a `url`")]
    HookTarget,
    /// The timeout is too short to ask the hook.
    #[error("its `timeout` is 0 seconds")]
    Timeout,
    /// Turns have no tool.
    #[error("a hook with a `tool` is one of `before_tool` and `after_tool`")]
    Tool,
    /// The pattern cannot be read.
    #[error("`tool`: {0}")]
    Pattern(#[from] globset::Error),
    /// Commands get no headers.
    #[error("a hook with `headers` has a `url`")]
    Headers,
    /// The header is invalid; the message leaves out its value, which may be a key.
    #[error("the header `{0}` cannot be sent")]
    Header(String),
    /// The address cannot be read.
    #[error("`url`: {0}")]
    Url(#[from] url::ParseError),
}

/// Tools whose names stand for all that write files: a guard of these must not miss a tool that it was not told of.
const WRITERS: [&str; 2] = ["write", "edit"];

impl HookSettings {
    /// Whether `tool` fits the tool that is called `name`. A pattern that cannot be read fits all.
    pub fn fits(&self, name: &str) -> bool {
        let pattern = self.tool.as_deref().and_then(|pattern| Glob::new(pattern).ok());
        pattern.is_none_or(|pattern| pattern.compile_matcher().is_match(name))
    }
}

/// A hook that can be asked.
pub(crate) struct Hook {
    event: HookEvent,
    tool: Option<GlobMatcher>,
    pub(crate) way: HookTarget,
    pub(crate) timeout: Duration,
    on_failure: OnFailure,
}

/// How it is asked.
pub(crate) enum HookTarget {
    Command(String),
    Url(url::Url, HeaderMap),
}

impl Hook {
    pub(crate) fn new(settings: &HookSettings) -> Result<Self, BadHook> {
        let way = match (&settings.command, &settings.url) {
            (Some(_), None) if !settings.headers.is_empty() => return Err(BadHook::Headers),
            (Some(command), None) => HookTarget::Command(command.clone()),
            (None, Some(url)) => HookTarget::Url(url::Url::parse(url)?, headers(&settings.headers)?),
            (Some(_), Some(_)) | (None, None) => return Err(BadHook::HookTarget),
        };
        if settings.timeout == 0 {
            return Err(BadHook::Timeout);
        }
        if settings.tool.is_some() && !settings.event.is_of_tools() {
            return Err(BadHook::Tool);
        }
        let tool = settings.tool.as_deref().map(Glob::new).transpose()?;
        Ok(Self {
            event: settings.event,
            tool: tool.map(|tool| tool.compile_matcher()),
            way,
            timeout: Duration::from_secs(settings.timeout),
            on_failure: settings.on_failure,
        })
    }

    pub(crate) fn hears(&self, told: &HookInput<'_>) -> bool {
        let fits = |pattern: &GlobMatcher| {
            told.tool.is_some_and(|tool| {
                let writes = !told.writes.is_empty() && !WRITERS.contains(&tool);
                pattern.is_match(tool) || (writes && WRITERS.iter().any(|name| pattern.is_match(name)))
            })
        };
        self.event == told.event && self.tool.as_ref().is_none_or(fits)
    }

    pub(crate) fn denies_on_failure(&self) -> bool {
        self.event.guards() && self.on_failure == OnFailure::Deny
    }
}

/// The headers to send in addition to Haft's own.
fn headers(named: &BTreeMap<String, String>) -> Result<HeaderMap, BadHook> {
    let mut headers = HeaderMap::new();
    for (name, value) in named {
        let header = name.parse::<HeaderName>().ok().zip(HeaderValue::from_str(value).ok());
        let (header, mut value) = header.ok_or_else(|| BadHook::Header(name.clone()))?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.way {
            HookTarget::Command(command) => write!(f, "the hook `{command}`"),
            HookTarget::Url(url, _) => write!(f, "the hook at `{url}`"),
        }
    }
}
