//! [`Fetch`] (`fetch`): reads a page of the web as text.
//!
//! It reaches public addresses only, unless settings say otherwise: a page that a model reads must not make it look
//! into this machine or the network behind it. Where a name leads is checked when the connection is made, so it
//! cannot change in between. For the same reason no proxy is used: it would look the name up by itself.
use crate::FetchSettings;
use crate::examples::examples_for;
use haft_core::{Aliases, Effect, Example, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use page::Page;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::{path::Path, time::Duration};
use url::Url;
use web::Web;

mod fault;
mod page;
mod web;

pub(crate) struct Fetch {
    settings: FetchSettings,
    web: Web,
}

impl Fetch {
    pub(crate) fn new(settings: FetchSettings) -> Self {
        let web = Web::new(settings.allow_private);
        Self { settings, web }
    }
}

/// Read a page of the web: HTML as Markdown, other text as it is.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    url: String,
    /// HTML as it is.
    #[schemars(extend("x-hidden" = true))]
    format: Option<Format>,
    /// What to look for: other systems ask for it.
    #[expect(dead_code, reason = "accepted, not needed")]
    #[schemars(extend("x-hidden" = true))]
    prompt: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    Markdown,
    Text,
    Html,
}

impl Tool for Fetch {
    const NAME: &'static str = "fetch";
    const LEAVES_FILES: bool = true;
    type Args = Args;
    const ALIASES: Aliases = Aliases {
        names: &["WebFetch", "web_fetch", "webfetch", "fetch_url", "read_url", "browse"],
        parameters: &[("url", &["uri", "link", "address"])],
    };

    /// The address in its normal form, so that a rule cannot be bypassed with another way of writing it.
    fn effects(&self, args: &Args, _: &Path) -> Vec<Effect> {
        let url = Url::parse(args.url.trim());
        vec![Effect::Network(url.map_or_else(|_| args.url.clone(), String::from))]
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let url = web::parse(&args.url)?;
        ctx.progress(format!("fetching {url} …\n"));
        let limit = Duration::from_secs(self.settings.timeout);
        let page =
            tokio::time::timeout(limit, self.web.get(url.clone(), self.settings.max_bytes, &ctx.readable));
        let page = page.await.map_err(|_over| {
            let seconds = self.settings.timeout;
            ToolError::new(
                ToolErrorKind::System,
                format!("cannot fetch `{url}`: not done within {seconds} s"),
            )
        })??;
        self.output(page, args.format == Some(Format::Html)).await
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

impl Fetch {
    async fn output(&self, page: Page, raw: bool) -> Result<ToolOutput, ToolError> {
        let details = json!({
            "url": page.url.as_str(), "media_type": page.media_type,
            "bytes": page.body.len(), "truncated": page.cut,
        });
        let kind = if page.media_type.is_empty() { "text" } else { &page.media_type };
        let shown = format!("Fetched {} bytes of {kind} from {}", page.body.len(), page.url);
        let cut = page.cut;
        let text = crate::files::blocking(move || page.text(raw)).await?;
        let mut text = self.settings.clip.apply(text.trim(), "fetch it with a command to see all of it");
        if text.is_empty() {
            text = "[the page holds no text]".into();
        }
        if cut {
            text += &format!(
                "\n[the page is longer than {} bytes: the rest was not fetched]",
                self.settings.max_bytes
            );
        }
        Ok(ToolOutput::text(text).show(shown).details(details))
    }
}
