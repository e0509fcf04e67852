//! [`Page`]: a session as a single HTML file that loads nothing, runs nothing, and can be kept and passed on.
//!
//! Everything that people, models and tools said is text in it. A policy in its head forbids anything that would escape
//! this: no script, no address, no style but the one with the given hash.
mod call;
mod diff;
mod markdown;
mod plot;
mod story;
mod text;
mod totals;

use base64::{Engine, prelude::BASE64_STANDARD};
use haft::kernel::{Direction, Entry, FileState, Hash, Image, Outcome, Part, Price, Usage, text_of};
use std::sync::Arc;
use story::{End, Item, Turn, Undo};
use text::{counted, dollars, escaped, grouped, time};

const STYLE: &str = include_str!("page/style.css");

/// What a page is made of.
pub(crate) struct Page<'a> {
    /// All that was recorded.
    pub(crate) entries: &'a [Arc<Entry>],
    /// What people call the session; else its first prompt stands there.
    pub(crate) name: Option<String>,
    /// What the model costs.
    pub(crate) price: Option<Price>,
    /// Gives the contents of changed files that are still kept.
    pub(crate) contents: &'a dyn Fn(&FileState) -> Option<Vec<u8>>,
}

impl Page<'_> {
    /// The whole file.
    pub(crate) fn html(&self) -> String {
        let turns = story::turns(self.entries);
        let title = self.name.clone().unwrap_or_else(|| first_words(&turns));
        let told: String = turns.iter().enumerate().map(|(place, turn)| self.turn(place, turn)).collect();
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
             <title>{} – Haft</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{}\n{}\n<main>\n{}{told}</main>\n\
             <footer><p>Written by <code>haft sessions export --format html</code>. This page fetches nothing and runs no script.</p></footer>\n</body>\n</html>\n",
            policy(),
            escaped(&title),
            totals::html(self.entries, &turns, &title, self.price, self.contents),
            contents_list(&turns),
            plot::html(&plot::rounds(self.entries), self.price),
        )
    }

    fn turn(&self, place: usize, turn: &Turn) -> String {
        let items: String = turn.items.iter().map(|item| self.item(item)).collect();
        let Some(prompt) = &turn.prompt else {
            return format!("<div class=\"between\">{items}</div>\n");
        };
        let end = turn.end.as_ref().map(end).unwrap_or_default();
        let undone = if turn.is_undone { "<span class=\"tag\">undone</span>" } else { "" };
        let class = if turn.is_undone { " undone" } else { "" };
        format!(
            "<article class=\"turn{class}\" id=\"turn-{place}\" aria-labelledby=\"prompt-{place}\">\
             <header><h2 id=\"prompt-{place}\">Prompt {undone}</h2><a class=\"quiet\" href=\"#turn-{place}\">{}, entry {}</a></header>{}{items}{end}</article>\n",
            time(turn.at),
            turn.seq,
            said(prompt)
        )
    }

    fn item(&self, item: &Item) -> String {
        match item {
            Item::Thinking(text) => format!(
                "<details class=\"thinking\"><summary>Thinking</summary><div class=\"inside\">{}</div></details>",
                markdown::html(text)
            ),
            Item::Reply(text) => format!("<div class=\"reply\">{}</div>", markdown::html(text)),
            Item::Steered(parts) => said(parts),
            Item::Call(call) => call::html(call, self.contents),
            Item::Note(text) => format!("<p class=\"note\">{}</p>", escaped(text)),
            Item::Undo(undone) => undo(undone),
        }
    }
}

/// Nothing is loaded but pictures that stand in the page itself, and nothing runs.
fn policy() -> String {
    let hash = Hash::of(STYLE.as_bytes()).ok().and_then(|Hash(hash)| hex::decode(hash).ok());
    let style = hash.map(|hash| format!("'sha256-{}'", BASE64_STANDARD.encode(hash)));
    format!(
        "default-src 'none'; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        style.as_deref().unwrap_or("'none'")
    )
}

/// Maximum length of a prompt in lists and in the title.
const MAX_HEADING: usize = 80;

fn first_words(turns: &[Turn]) -> String {
    let first = turns.iter().find_map(|turn| turn.prompt.as_ref());
    first.map_or_else(|| "A session".to_owned(), |prompt| heading(prompt))
}

fn heading(prompt: &[Part]) -> String {
    let text = text_of(prompt);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("(a picture)").trim();
    let short: String = line.chars().take(MAX_HEADING).collect();
    if short.len() < line.len() { short + "…" } else { short }
}

/// Leads to each prompt, where there are several.
fn contents_list(turns: &[Turn]) -> String {
    let prompts =
        turns.iter().enumerate().filter_map(|(place, turn)| Some((place, turn, turn.prompt.as_ref()?)));
    let items: Vec<String> = prompts
        .map(|(place, turn, prompt)| {
            let undone = if turn.is_undone { " <span class=\"tag\">undone</span>" } else { "" };
            format!("<li><a href=\"#turn-{place}\">{}</a>{undone}</li>", escaped(&heading(prompt)))
        })
        .collect();
    if items.len() < 2 {
        return String::new();
    }
    format!("<nav aria-label=\"Prompts\"><ol>{}</ol></nav>", items.concat())
}

fn said(parts: &[Part]) -> String {
    let part = |part: &Part| match part {
        Part::Text { text } => format!("<p>{}</p>", escaped(text)),
        Part::Image(image) => picture(image),
        Part::Thinking { .. } | Part::ToolCall(_) => String::new(),
    };
    format!("<div class=\"prompt\">{}</div>", parts.iter().map(part).collect::<String>())
}

/// A picture that stands in the page, or that there is one.
fn picture(image: &Image) -> String {
    let is_known = matches!(image.mime.as_str(), "image/png" | "image/jpeg" | "image/gif" | "image/webp");
    let is_data = image.data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
    match is_known && is_data {
        true => format!(
            "<img alt=\"A picture that was attached\" src=\"data:{};base64,{}\">",
            image.mime, image.data
        ),
        false => "<p class=\"quiet\">a picture</p>".to_owned(),
    }
}

fn undo(Undo { way, changes, conflicts, untracked }: &Undo) -> String {
    let done: Vec<String> = changes
        .iter()
        .filter(|change| !conflicts.contains(&change.path))
        .map(|change| format!("<code>{}</code>", escaped(&change.path.to_string_lossy())))
        .collect();
    let title = match way {
        Direction::Undo => "Undone",
        Direction::Redo => "Done again",
    };
    let mut told = match done.is_empty() {
        true => "no file was changed".to_owned(),
        false => format!("{} restored: {}", counted(done.len(), "file"), done.join(", ")),
    };
    for path in conflicts {
        told += &format!(
            "; <code>{}</code> left alone, since it was changed afterwards",
            escaped(&path.to_string_lossy())
        );
    }
    if *untracked > 0 {
        told += &format!("; what {} did to files stands", counted(*untracked, "untracked call"));
    }
    format!("<p class=\"note undo\"><strong>{title}.</strong> {told}.</p>")
}

fn end(End { outcome, rounds, usage, usd }: &End) -> String {
    let (class, word) = match outcome {
        Outcome::Finished => ("well", "Finished"),
        Outcome::Interrupted => ("stopped", "Interrupted"),
        Outcome::Failed => ("failed", "Failed"),
        Outcome::RoundLimit => ("stopped", "Stopped: too many rounds"),
        Outcome::Budget => ("stopped", "Stopped: the budget is used up"),
        Outcome::Repeating => ("stopped", "Stopped: the model repeats itself"),
        Outcome::Refused => ("stopped", "Refused: an approval was needed"),
        Outcome::Unproven => ("failed", "Unproven: the reply claims what nothing shows"),
    };
    let cost = usd.filter(|usd| *usd > 0.0).map(|usd| format!(", {}", dollars(usd)));
    format!(
        "<p class=\"end {class}\">{word} after {}, {} tokens{}</p>",
        counted(*rounds as usize, "round"),
        grouped(Usage::total(usage)),
        cost.unwrap_or_default()
    )
}
