//! [`Status`]: the state of a session in a few lines: its model, its folder, its usage.
use crate::bars::tokens;
use haft_core::dollars;
use haft_engine::{Engine, Session};
use haft_present::{host::TriedServer, safe, timeline::Timeline};

/// A session, and the state folded from its events.
pub(crate) struct Status<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) session: &'a Session,
    pub(crate) effort: Option<&'a str>,
    pub(crate) view: &'a Timeline,
    /// MCP servers, once they have answered.
    pub(crate) servers: Option<&'a [TriedServer]>,
}

impl Status<'_> {
    /// Names and values, in the order in which they are shown. Control characters are removed.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let (setup, id) = (self.engine.setup(), self.session.id());
        let mode = self.view.mode.unwrap_or(self.session.mode());
        let session = match setup.home.name(id) {
            Some(name) => format!("{} ({id})", safe::name(&name)),
            None => id.to_string(),
        };
        let usage = self.view.usage;
        let used = format!(
            "{} in ({} from the cache), {} out",
            tokens(usage.input + usage.cache_read + usage.cache_write),
            tokens(usage.cache_read),
            tokens(usage.output)
        );
        let window = setup.model.window.filter(|window| *window > 0);
        let window =
            window.map(|window| format!("{}% of {}", self.view.context * 100 / window, tokens(window)));
        let rows = [
            ("model", setup.model.spec.clone()),
            ("effort", self.effort.unwrap_or("the model's default").to_owned()),
            ("agent", self.view.setup.agent.clone()),
            ("mode", mode.name().to_owned()),
            ("session", session),
            ("folder", setup.workspace.display().to_string()),
            ("window", window.unwrap_or_else(|| "size unknown".into())),
            ("tokens", used),
            ("cost", self.view.cost_usd.map_or("unknown".into(), dollars)),
            ("MCP servers", self.servers.map_or("checking …".into(), servers_in_words)),
        ];
        rows.map(|(name, value)| (name, safe::text(&value).into_owned())).into()
    }
}

/// Formats servers as `files (2 tools), gone (failed)`.
fn servers_in_words(servers: &[TriedServer]) -> String {
    let word = |(name, found): &TriedServer| match found {
        Ok(offer) => {
            let tools = offer.tools.len();
            format!("{name} ({tools} tool{})", if tools == 1 { "" } else { "s" })
        }
        Err(_) => format!("{name} (failed; /mcp says why)"),
    };
    if servers.is_empty() { "none".into() } else { servers.iter().map(word).collect::<Vec<_>>().join(", ") }
}
