//! [`Page`]: converts the response of a server to text.
use super::fault::broken;
use encoding_rs::{Encoding, UTF_8};
use haft_core::{ToolError, ToolErrorKind};
use htmd::HtmlToMarkdown;
use reqwest::{Response, header::CONTENT_TYPE};
use url::Url;

/// The body of a response, or its beginning.
pub(super) struct Page {
    /// The final address, after redirects.
    pub(super) url: Url,
    /// The media type in lower case, without parameters. Empty if the server did not send one.
    pub(super) media_type: String,
    charset: String,
    pub(super) body: Vec<u8>,
    /// Whether the response was longer.
    pub(super) cut: bool,
}

impl Page {
    /// Reads at most `most` bytes. Does not read a body that cannot be shown as text.
    pub(super) async fn read(url: Url, mut response: Response, most: usize) -> Result<Self, ToolError> {
        let (media_type, charset) = content_type(&response);
        if kind(&media_type) == Kind::Other {
            return Err(not_text(&url, &media_type, response.content_length()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| broken(&url, error))? {
            body.extend_from_slice(&chunk[..chunk.len().min(most - body.len())]);
            if body.len() == most {
                break;
            }
        }
        let cut = body.len() == most;
        if media_type.is_empty() && body.iter().take(1024).any(|byte| *byte == 0) {
            return Err(not_text(&url, "unknown", Some(body.len() as u64)));
        }
        Ok(Self { url, media_type, charset, body, cut })
    }

    /// The text for the model. `raw`: whether HTML is left as it is.
    pub(super) fn text(self, raw: bool) -> Result<String, ToolError> {
        let text = decode(&self.body, &self.charset);
        let start = text.trim_start().get(..14).unwrap_or_default().to_ascii_lowercase();
        let is_html = match kind(&self.media_type) {
            Kind::Html => true,
            Kind::Unknown => start.starts_with("<!doctype html") || start.starts_with("<html"),
            Kind::Text | Kind::Other => false,
        };
        if !is_html || raw {
            return Ok(text);
        }
        Ok(markdown(&text).unwrap_or_else(|| plain(&text)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Html,
    Text,
    Unknown,
    Other,
}

fn kind(media_type: &str) -> Kind {
    let (family, name) = media_type.split_once('/').unwrap_or_default();
    let known = ["json", "xml", "javascript", "ecmascript", "yaml", "toml", "sql", "graphql", "x-sh"];
    let known = known.iter().chain(&["x-yaml", "x-toml", "x-ndjson", "x-javascript", "jsonl", "x-tex"]);
    match (family, name) {
        ("", _) => Kind::Unknown,
        ("text", "html") | ("application", "xhtml+xml") => Kind::Html,
        ("text", _) | ("message", "rfc822") => Kind::Text,
        (_, name) if name.ends_with("+json") || name.ends_with("+xml") || name.ends_with("+yaml") => {
            Kind::Text
        }
        ("application", name) if known.into_iter().any(|known| *known == name) => Kind::Text,
        _ => Kind::Other,
    }
}

/// Media type and character set.
fn content_type(response: &Response) -> (String, String) {
    let header = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let header = header.unwrap_or_default().to_ascii_lowercase();
    let mut parts = header.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default().to_owned();
    let charset = parts.find_map(|part| part.strip_prefix("charset=")).unwrap_or_default();
    (media_type, charset.trim_matches('"').to_owned())
}

fn not_text(url: &Url, media_type: &str, size: Option<u64>) -> ToolError {
    let size = size.map(|bytes| format!(", {bytes} bytes")).unwrap_or_default();
    let message = format!("cannot fetch `{url}`: it is not text ({media_type}{size})");
    ToolError::new(ToolErrorKind::User, message).hint("save it to a file with a command, e.g. `curl -LO`")
}

/// Decodes the body from the charset that the server names, or from UTF-8; invalid bytes become `�`.
fn decode(body: &[u8], charset: &str) -> String {
    let encoding = Encoding::for_label(charset.as_bytes()).unwrap_or(UTF_8);
    encoding.decode(body).0.into_owned()
}

/// Elements that contain no text for readers.
const SKIPPED_ELEMENTS: [&str; 8] =
    ["script", "style", "noscript", "svg", "template", "iframe", "canvas", "object"];

/// Maximum depth of elements: the conversion uses stack for each level, and real pages are never as deep.
const MAX_ELEMENT_DEPTH: usize = 500;

/// The page as Markdown; `None` if it is too deep or cannot be parsed.
fn markdown(html: &str) -> Option<String> {
    let html = without_foreign(html);
    if depth(&html) > MAX_ELEMENT_DEPTH {
        return None;
    }
    HtmlToMarkdown::builder().skip_tags(SKIPPED_ELEMENTS.to_vec()).build().convert(&html).ok()
}

/// Elements that do not follow the rules of HTML, so that [`depth`] could not determine their depth.
const FOREIGN_ELEMENTS: [&str; 4] = ["svg", "math", "script", "style"];

/// Removes everything from `<svg` to `</svg`, and likewise for the other foreign elements.
fn without_foreign(html: &str) -> String {
    let lower = html.to_ascii_lowercase();
    let mut kept = String::with_capacity(html.len());
    let mut from = 0;
    while let Some(start) = lower[from..].find('<').map(|at| from + at) {
        let name = FOREIGN_ELEMENTS.iter().find(|name| lower[start + 1..].starts_with(**name));
        let Some(name) = name else {
            kept += &html[from..=start];
            from = start + 1;
            continue;
        };
        // A space in its place, so that the text around it does not become a tag.
        kept += &html[from..start];
        kept.push(' ');
        let end = lower[start..].find(&format!("</{name}")).map(|at| start + at + 2 + name.len());
        let end = end.and_then(|end| lower[end..].find('>').map(|at| end + at + 1));
        from = end.unwrap_or(html.len());
    }
    kept + &html[from..]
}

/// An upper bound of the depth of elements. Void elements do not count.
fn depth(html: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0_usize);
    for (at, _) in html.match_indices('<') {
        let rest = &html[at + 1..];
        let ends = rest.starts_with('/');
        let name = rest.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next();
        let name = name.unwrap_or_default().to_ascii_lowercase();
        if name.is_empty() || VOID_ELEMENTS.contains(&name.as_str()) {
            continue;
        }
        open = if ends { open.saturating_sub(1) } else { open + 1 };
        deepest = deepest.max(open);
    }
    deepest
}

const VOID_ELEMENTS: [&str; 24] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
    "p", "li", "dt", "dd", "td", "th", "tr", "tbody", "thead", "tfoot", "option",
];

/// The text between the tags.
fn plain(html: &str) -> String {
    let mut text = String::with_capacity(html.len() / 2);
    for (index, part) in html.split('<').enumerate() {
        let after = if index == 0 { part } else { part.split_once('>').map_or("", |(_, after)| after) };
        text += after;
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_markdown_without_what_nobody_reads() {
        let html = "<html><head><title>T</title><style>a{}</style><script>x()</script></head><body>\
            <h1>Head</h1><p>One <b>two</b> <a href=\"/x\">three</a>.</p><ul><li>a<li>b</ul>\
            <pre><code>let x = 1;\n</code></pre><svg><path d=\"1\"/></svg></body></html>";
        insta::assert_snapshot!(markdown(html).unwrap(), @r"
        T

        # Head

        One **two** [three](/x).

        *   a
        *   b

        ```
        let x = 1;
        ```
        ");
    }

    #[test]
    fn a_page_of_any_depth_can_be_read() {
        let table = [
            ("<div>".repeat(400) + "x", true),
            ("<div>".repeat(50_000) + "x", false),
            ("<b><i>".repeat(20_000) + "x", false),
            ("<p>".repeat(20_000) + "x", true),
            ("<li>".repeat(50_000) + "x", true),
            ("<td>".repeat(50_000) + "x", true),
            ("<table><tr><td>".repeat(20_000) + "x", false),
            ("<option>".repeat(50_000) + "x", true),
            ("<path>".repeat(50_000) + "x", false),
            ("<svg>".to_owned() + &"<td>".repeat(50_000) + "</svg>x", true),
            ("<s<svg></svg>vg>".to_owned() + &"<td>".repeat(50_000) + "x", true),
            ("<MATH><svg></svg><input>".to_owned() + &"<input>".repeat(50_000) + "</math>x", true),
            ("<path d='1'/>".repeat(1_000) + "x", false),
            ("<a <b <c <d ".repeat(50_000) + "x>y", false),
        ];
        for (html, converts) in table {
            let text = markdown(&html);
            assert_eq!(text.is_some(), converts, "{}", &html[..20]);
            let text = text.unwrap_or_else(|| plain(&html));
            assert!(text.ends_with('x') || text.ends_with('y'), "{}", &html[..20]);
        }
    }

    #[test]
    fn types_are_known_by_their_names() {
        let table = [
            ("text/html", Kind::Html),
            ("application/xhtml+xml", Kind::Html),
            ("text/markdown", Kind::Text),
            ("application/json", Kind::Text),
            ("application/vnd.api+json", Kind::Text),
            ("image/svg+xml", Kind::Text),
            ("application/pdf", Kind::Other),
            ("image/png", Kind::Other),
            ("", Kind::Unknown),
        ];
        for (media_type, expected) in table {
            assert_eq!(kind(media_type), expected, "{media_type}");
        }
    }
}
