//! [`WebSearch`] (`web_search`): asks the search engine that the person chose.
//!
//! The engine is a row of [`ENGINES`]. The query leaves this machine, so it is an effect on the engine's address, which a
//! person sees before it is sent.
mod engines;

use crate::{WebSearchSettings, examples::examples_for};
use engines::{ENGINES, Engine};
use haft_core::{
    Aliases, Effect, Example, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput, schema::nearest,
};
use haft_http::Reach;
use reqwest::{Response, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path, time::Duration};
use url::Url;

/// Maximum bytes of an engine's answer.
const MAX_BYTES: usize = 4 << 20;

pub(crate) struct WebSearch {
    settings: WebSearchSettings,
    /// Results by query, which are given in place of a search.
    recorded: BTreeMap<String, Value>,
}

/// Search the web: titles, addresses and extracts of pages.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    query: String,
}

/// One result.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Hit {
    title: String,
    url: String,
    text: String,
}

/// Returns the names of the search engines, each with the variable that holds its key; `None` if it needs none.
pub fn search_engines() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    ENGINES.iter().map(|engine| (engine.name, engine.key.as_ref().map(|key| key.variable)))
}

/// Returns the tool `web_search` for a replay. It gives what recorded calls gave, whose `details` these are, and searches
/// for nothing else.
pub fn recorded_web_search(details: impl IntoIterator<Item = Value>) -> impl Tool {
    let by_query =
        details.into_iter().filter_map(|details| Some((details["query"].as_str()?.to_owned(), details)));
    WebSearch { settings: WebSearchSettings::default(), recorded: by_query.collect() }
}

impl Tool for WebSearch {
    const NAME: &'static str = "web_search";
    const LEAVES_FILES: bool = true;
    const IDEMPOTENT: bool = true;
    type Args = Args;
    const ALIASES: Aliases = Aliases {
        names: &[
            "WebSearch",
            "websearch",
            "google_web_search",
            "brave_web_search",
            "search_web",
            "internet_search",
        ],
        parameters: &[("query", &["q", "search_query", "search_term", "keywords"])],
    };

    fn effects(&self, args: &Args, _: &Path) -> Vec<Effect> {
        if self.recorded.contains_key(args.query.trim()) {
            return Vec::new();
        }
        let url = self.engine().and_then(|engine| self.url(engine, &args.query));
        url.map(|url| Effect::Network(url.into())).into_iter().collect()
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let query = args.query.trim();
        if query.is_empty() {
            return Err(ToolError::new(ToolErrorKind::Validation, "cannot search: `query` is empty"));
        }
        if let Some(details) = self.recorded.get(query) {
            let hits = serde_json::from_value(details["results"].clone()).unwrap_or_default();
            return Ok(self.output(details["engine"].as_str().unwrap_or_default(), query, hits));
        }
        let engine = self.engine()?;
        ctx.progress(format!("searching {} …\n", engine.name));
        let limit = Duration::from_secs(self.settings.timeout);
        let answer = tokio::time::timeout(limit, self.ask(engine, query)).await;
        let answer = answer.map_err(|_over| {
            failed(engine, ToolErrorKind::System, format!("not done within {} s", self.settings.timeout))
        })??;
        let mut hits = engine.hits(&answer).ok_or_else(|| {
            failed(engine, ToolErrorKind::System, "its answer holds no list of results".into())
        })?;
        hits.truncate(self.settings.results);
        Ok(self.output(engine.name, query, hits))
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

impl WebSearch {
    pub(crate) fn new(settings: WebSearchSettings) -> Self {
        Self { settings, recorded: BTreeMap::new() }
    }

    fn engine(&self) -> Result<&'static Engine, ToolError> {
        let name = self.settings.engine.as_deref().unwrap_or_default();
        ENGINES.iter().find(|engine| engine.name == name).ok_or_else(|| {
            let names: Vec<&str> = ENGINES.iter().map(|engine| engine.name).collect();
            let near =
                nearest(name, &names).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            ToolError::new(ToolErrorKind::User, format!("cannot search: there is no search engine `{name}`"))
                .hint(format!(
                    "{near}the person sets `[tools.web_search] engine` to one of {}",
                    names.join(", ")
                ))
        })
    }

    /// Where `query` is sent; it is part of the address if the engine takes it there.
    fn url(&self, engine: &Engine, query: &str) -> Result<Url, ToolError> {
        let base = self.settings.url.as_deref().or(engine.base).ok_or_else(|| {
            failed(engine, ToolErrorKind::User, "its address is not known".into())
                .hint("the person sets `[tools.web_search] url` to that of a server")
        })?;
        let invalid = |error: url::ParseError| {
            failed(engine, ToolErrorKind::User, format!("its address `{base}` is invalid: {error}"))
        };
        let url = Url::parse(&format!("{}{}", base.trim_end_matches('/'), engine.path)).map_err(invalid)?;
        Ok(engine.addressed(url, query.trim(), self.settings.results))
    }

    async fn ask(&self, engine: &Engine, query: &str) -> Result<Value, ToolError> {
        let url = self.url(engine, query)?;
        let client = Reach::of(url.as_str()).builder().build().map_err(|error| {
            failed(engine, ToolErrorKind::System, "no connection can be set up".into()).caused_by(error)
        })?;
        let mut request = match engine.body(query, self.settings.results) {
            Some(body) => client.post(url).header("content-type", "application/json").body(body.to_string()),
            None => client.get(url),
        };
        if let Some(key) = &engine.key {
            let value = self.settings.keys.get(engine.name).ok_or_else(|| {
                failed(
                    engine,
                    ToolErrorKind::User,
                    format!("it needs a key, and `{}` is not set", key.variable),
                )
                .hint("tell the person; do not look for a key yourself")
            })?;
            request = request.header(key.header, format!("{}{value}", key.prefix));
        }
        let response = request.header("accept", "application/json").send().await;
        let response = response.map_err(|error| unreachable(engine, error))?;
        if response.status() != StatusCode::OK {
            return Err(refused(engine, &response));
        }
        let body = body(response).await.map_err(|error| unreachable(engine, error))?;
        serde_json::from_slice(&body).map_err(|error| {
            failed(engine, ToolErrorKind::System, "its answer is not JSON".into()).caused_by(error)
        })
    }

    fn output(&self, engine: &str, query: &str, hits: Vec<Hit>) -> ToolOutput {
        let listed = hits.iter().zip(1..).map(|(hit, number)| {
            let text = if hit.text.is_empty() { String::new() } else { format!("\n   {}", hit.text) };
            format!("{number}. {}\n   {}{text}", hit.title, hit.url)
        });
        let mut text = listed.collect::<Vec<_>>().join("\n");
        if text.is_empty() {
            text = "no results".into();
        }
        let results = if hits.len() == 1 { "result" } else { "results" };
        let shown = format!("{} {results} of {engine} for {query:?}", hits.len());
        ToolOutput::text(text).show(shown).details(json!({"engine": engine, "query": query, "results": hits}))
    }
}

async fn body(mut response: Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while body.len() < MAX_BYTES
        && let Some(chunk) = response.chunk().await?
    {
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn failed(engine: &Engine, kind: ToolErrorKind, why: String) -> ToolError {
    ToolError::new(kind, format!("cannot search with `{}`: {why}", engine.name))
}

/// The error names no address: it may hold the query.
fn unreachable(engine: &Engine, error: reqwest::Error) -> ToolError {
    let error = error.without_url();
    let why = haft_http::io_kind(&error).map_or_else(|| error.to_string(), |kind| kind.to_string());
    failed(engine, ToolErrorKind::System, format!("it cannot be reached: {why}")).caused_by(error)
}

fn refused(engine: &Engine, response: &Response) -> ToolError {
    let status = response.status();
    let (kind, hint) = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if engine.key.is_some() => {
            (ToolErrorKind::User, "the key is not accepted")
        }
        StatusCode::PAYMENT_REQUIRED | StatusCode::TOO_MANY_REQUESTS => {
            (ToolErrorKind::System, "the engine takes no more searches now; go on without it")
        }
        _ if engine.base.is_none() => {
            (ToolErrorKind::User, "the server must allow the format `json` in its settings")
        }
        _ => (ToolErrorKind::System, "try again later"),
    };
    failed(engine, kind, format!("it answered {status}"))
        .hint(hint)
        .details(json!({"status": status.as_u16()}))
}
