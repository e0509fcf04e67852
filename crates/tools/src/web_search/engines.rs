//! [`Engine`]: how to send a request to a search engine, and where the results are in its response.
use super::Hit;
use serde_json::{Value, json};
use url::Url;

/// Maximum characters of an extract.
const MAX_CHARACTERS: usize = 600;

/// A search engine, as a row of [`ENGINES`].
pub(super) struct Engine {
    pub(super) name: &'static str,
    /// Address of the engine; `None` if users run their own servers.
    pub(super) base: Option<&'static str>,
    pub(super) path: &'static str,
    pub(super) key: Option<Key>,
    request: Request,
    /// The JSON Pointer to the list of results.
    list: &'static str,
    /// The field with the extract of a page.
    text: &'static str,
}

/// How the key is sent.
pub(super) struct Key {
    pub(super) variable: &'static str,
    pub(super) header: &'static str,
    /// The text before the key.
    pub(super) prefix: &'static str,
}

/// How the query is sent.
enum Request {
    /// A GET request with the query in the address: the parameter for the number of results, if there is one, and
    /// further parameters.
    Get { count: Option<&'static str>, also: &'static [(&'static str, &'static str)] },
    /// A POST request with a JSON body.
    Post(fn(&str, usize) -> Value),
}

/// As the engines' own documentation describes them: `docs.searxng.org` (Search API), `api-dashboard.search.brave.com`
/// (Web Search), `docs.tavily.com` (Search), `docs.exa.ai` (Search), `help.kagi.com` (Search API).
pub(super) static ENGINES: &[Engine] = &[
    Engine {
        name: "searxng",
        base: None,
        path: "/search",
        key: None,
        request: Request::Get { count: None, also: &[("format", "json")] },
        list: "/results",
        text: "content",
    },
    Engine {
        name: "brave",
        base: Some("https://api.search.brave.com"),
        path: "/res/v1/web/search",
        key: Some(Key { variable: "BRAVE_API_KEY", header: "x-subscription-token", prefix: "" }),
        request: Request::Get { count: Some("count"), also: &[("text_decorations", "false")] },
        list: "/web/results",
        text: "description",
    },
    Engine {
        name: "tavily",
        base: Some("https://api.tavily.com"),
        path: "/search",
        key: Some(Key { variable: "TAVILY_API_KEY", header: "authorization", prefix: "Bearer " }),
        request: Request::Post(|query, results| json!({"query": query, "max_results": results})),
        list: "/results",
        text: "content",
    },
    Engine {
        name: "exa",
        base: Some("https://api.exa.ai"),
        path: "/search",
        key: Some(Key { variable: "EXA_API_KEY", header: "x-api-key", prefix: "" }),
        request: Request::Post(|query, results| {
            let contents = json!({"text": {"maxCharacters": MAX_CHARACTERS}});
            json!({"query": query, "numResults": results, "contents": contents})
        }),
        list: "/results",
        text: "text",
    },
    Engine {
        name: "kagi",
        base: Some("https://kagi.com"),
        path: "/api/v0/search",
        key: Some(Key { variable: "KAGI_API_KEY", header: "authorization", prefix: "Bot " }),
        request: Request::Get { count: Some("limit"), also: &[] },
        list: "/data",
        text: "snippet",
    },
];

impl Engine {
    /// `url`, with the query added if the engine reads it from the address.
    pub(super) fn addressed(&self, mut url: Url, query: &str, results: usize) -> Url {
        if let Request::Get { count, also } = &self.request {
            let mut pairs = url.query_pairs_mut();
            pairs.append_pair("q", query).extend_pairs(*also);
            if let Some(count) = count {
                pairs.append_pair(count, &results.to_string());
            }
            drop(pairs);
        }
        url
    }

    /// The body of the request; `None` if the query is in the address.
    pub(super) fn body(&self, query: &str, results: usize) -> Option<Value> {
        match self.request {
            Request::Get { .. } => None,
            Request::Post(body) => Some(body(query, results)),
        }
    }

    /// The results in `answer`. Entries without an address are left out: Kagi lists related searches, too.
    pub(super) fn hits(&self, answer: &Value) -> Option<Vec<Hit>> {
        // If there are no results, Brave leaves the list out.
        let list = match answer.pointer(self.list) {
            None if self.name == "brave" && answer.is_object() => return Some(Vec::new()),
            list => list?.as_array()?,
        };
        let text = |result: &Value, field: &str| one_line(result[field].as_str().unwrap_or_default());
        let hit = |result: &Value| {
            let url = result["url"].as_str()?.to_owned();
            Some(Hit { title: text(result, "title"), url, text: text(result, self.text) })
        };
        Some(list.iter().filter_map(hit).collect())
    }
}

/// The beginning of a Markdown text, in one line and without HTML.
fn one_line(text: &str) -> String {
    let plain = htmd::convert(text).unwrap_or_else(|_| text.to_owned());
    let words = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MAX_CHARACTERS) {
        Some((cut, _)) => format!("{} …", &words[..cut]),
        None => words,
    }
}
