//! [`export_html`]: exports a session as one HTML file that holds its timeline and the page that shows it, and loads
//! nothing.
//!
//! Its script inserts all content of users, models and tools as text. As a second barrier, a content security policy in
//! its head allows only scripts and styles with the given hashes, no address, and no markup from a script.
use crate::{
    api::watch::{FileLines, files},
    kept::KeptSession,
    timeline::updates,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use haft_app::{App, Failure, config::Settings, model};
use haft_core::{Changed, Entry, Fact, Part, Price, SessionOpened, TurnModels, active_path, text_of};
use haft_engine::Recorded;
use haft_present::{
    safe,
    timeline::{cost, rounded_usd, usage},
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::{fmt::Write, path::Path, sync::Arc};

const STYLE: &str = include_str!("style.css");

/// The modules of the script, each after the modules that it uses.
const MODULES: [(&str, &str); 7] = [
    ("dom", include_str!("dom.js")),
    ("diff", include_str!("diff.js")),
    ("markdown", include_str!("markdown.js")),
    ("plot", include_str!("plot.js")),
    ("fold", include_str!("fold.js")),
    ("transcript", include_str!("transcript.js")),
    ("export", include_str!("export.js")),
];

/// Maximum length of a title from the first prompt, in characters.
const MAX_TITLE_LENGTH: usize = 80;

/// Maximum lines of an entry's diffs; further lines are left out.
const MAX_DIFF_LINES: usize = 2_000;

/// The whole journal of the session `id` as one HTML file, including what was undone.
///
/// # Errors
///
/// If the session does not exist or cannot be read.
pub fn export_html(app: &App, id: &str) -> Result<String, Failure> {
    let home = app.home();
    let id = home.find(id)?;
    let session = KeptSession::read(app, &id)?;
    let entries = session.entries();
    let price = SessionOpened::of(&entries).and_then(|opened| price(app, &opened.workspace, &opened.model));
    Ok(SessionExport { session: &session, name: home.name(&id), price }.html())
}

/// The price of a model, if the configuration can be read; the export works without it.
fn price(app: &App, workspace: &Path, model: &str) -> Option<Price> {
    let config = app.config(workspace, &Settings::default()).ok()?;
    model::card_of(&config, model).price
}

/// A session to export.
struct SessionExport<'a> {
    /// The entries, and the contents that are still stored.
    session: &'a dyn Recorded,
    /// The session's name; without one, the title is the first prompt.
    name: Option<String>,
    /// The price of the model's tokens.
    price: Option<Price>,
}

impl SessionExport<'_> {
    /// The whole file.
    fn html(&self) -> String {
        let entries = self.session.entries();
        let title = self.name.clone().unwrap_or_else(|| first_words(&entries));
        let (title, script) = (escaped(&safe::name(&title)), script());
        let policy = format!(
            "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'; \
             require-trusted-types-for 'script'; trusted-types 'none'",
            hash(&script),
            hash(STYLE),
        );
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
             <title>{title} – Haft</title>\n<style>{STYLE}</style>\n</head>\n<body class=\"exported\">\n\
             <main id=\"main\"><header class=\"head\"><h1>{title}</h1></header>\
             <noscript><p>This page needs JavaScript: its own script shows the session that it holds.</p></noscript></main>\n\
             <script id=\"journal\" type=\"application/json\">{}</script>\n<script type=\"module\">{script}</script>\n</body>\n</html>\n",
            self.timeline(&entries),
        )
    }

    /// The timeline as JSON without characters that HTML reads as markup.
    fn timeline(&self, entries: &[Arc<Entry>]) -> String {
        let changed = entries.iter().filter_map(|entry| match &entry.fact {
            Fact::Staged { changes, .. } | Fact::SubagentChanged { changes, .. } => {
                Some((entry.seq, changes))
            }
            _ => None,
        });
        let diffs = changed.map(|(seq, changes)| {
            let mut files = files(self.session, changes);
            clip(&mut files);
            (seq.to_string(), json!(files))
        });
        let diffs: Map<String, Value> = diffs.collect();
        let changes = Changed::of(active_path(entries).iter().map(|entry| &entry.fact)).whole();
        let mut changes = files(self.session, &changes);
        clip(&mut changes);
        let usage = usage(entries);
        let timeline = json!({
            "about": about(entries),
            "updates": updates(entries).collect::<Vec<_>>(),
            "diffs": diffs,
            "changes": changes,
            "rounds": self.rounds(entries),
            "usage": usage,
            "cost_usd": cost(entries, self.price).map(rounded_usd),
        });
        safe::json(&timeline.to_string())
            .replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('&', "\\u0026")
    }

    /// Tokens of each reply, with its cost if the price is known.
    fn rounds(&self, entries: &[Arc<Entry>]) -> Vec<Value> {
        let mut models = TurnModels::default();
        let round = |entry: &Arc<Entry>| {
            models.apply(&entry.fact);
            let Fact::Replied { usage, .. } = &entry.fact else { return None };
            let price = models.price(self.price);
            let mut round = json!(usage);
            round["cost_usd"] = json!(price.map(|price| rounded_usd(price.cost(*usage))));
            Some(round)
        };
        entries.iter().filter_map(round).collect()
    }
}

/// The properties at the head of the page.
fn about(entries: &[Arc<Entry>]) -> Value {
    let opened = SessionOpened::of(entries);
    let times = || entries.iter().map(|entry| entry.at);
    json!({
        "model": opened.map(|opened| &opened.model),
        "workspace": opened.map(|opened| &opened.workspace),
        "profile": opened.map(|opened| &opened.profile),
        "session": opened.map(|opened| &opened.session),
        "forked_from": opened.and_then(|opened| opened.forked_from.as_ref()),
        "first_at": times().min(),
        "last_at": times().max(),
    })
}

fn clip(files: &mut [FileLines]) {
    let mut left = MAX_DIFF_LINES;
    files.iter_mut().for_each(|file| left = file.clip(left));
}

/// All modules as one script: each becomes a function that returns its exports.
fn script() -> String {
    MODULES.iter().fold(String::new(), |mut script, (name, source)| {
        let mut exports = Vec::new();
        let _a_string_takes_all = writeln!(script, "const {name}_js = (() => {{");
        for line in source.lines() {
            let _a_string_takes_all = writeln!(script, "{}", inlined(line, &mut exports));
        }
        let _a_string_takes_all = writeln!(script, "return {{ {} }}\n}})()", exports.join(", "));
        script
    })
}

/// A line of a module, as it is written into the module's function.
fn inlined<'a>(line: &'a str, exports: &mut Vec<&'a str>) -> String {
    if let Some((names, from)) = line.strip_prefix("import ").and_then(|rest| rest.split_once(" from './")) {
        return format!("const {names} = {}_js", from.trim_end_matches(".js'"));
    }
    let Some(exported) = line.strip_prefix("export ") else { return line.to_owned() };
    let mut words = exported.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    exports.extend(words.find(|word| !["async", "class", "const", "function"].contains(word)));
    exported.to_owned()
}

/// The hash of `text` as a source in a content security policy.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}

fn first_words(entries: &[Arc<Entry>]) -> String {
    let first = entries.iter().find_map(|entry| match &entry.fact {
        Fact::Prompted { parts, .. } => Some(parts),
        _ => None,
    });
    first.map_or_else(|| "A session".to_owned(), |parts| heading(parts))
}

fn heading(prompt: &[Part]) -> String {
    let text = text_of(prompt);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("(a picture)").trim();
    match line.char_indices().nth(MAX_TITLE_LENGTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
