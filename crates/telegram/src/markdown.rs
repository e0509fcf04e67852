//! [`rich`]: converts Markdown, which models write, to text that Telegram can show: headings and lists become text,
//! tables become code.
use super::rich::{Rich, Style};
use haft_present::safe;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// Maximum length of an address in a link; a longer one is shown as text.
const MAX_URL: usize = 1_000;

/// Converts a complete or a partial text: an open fence ends at the end of the text.
pub(super) fn rich(markdown: &str) -> Rich {
    let markdown = safe::text(markdown);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::default();
    Parser::new_ext(&markdown, options).for_each(|event| writer.event(event));
    writer.rich
}

#[derive(Default)]
struct Writer {
    rich: Rich,
    /// Line breaks that are inserted before the next text.
    gap: usize,
    quotes: usize,
    bold: usize,
    italic: usize,
    strike: usize,
    /// The open code block: its language, and its text so far.
    code: Option<(Option<String>, String)>,
    /// The open links, and whether each can be followed.
    links: Vec<(String, bool)>,
    /// The next number of each open list; `None` for one without numbers.
    lists: Vec<Option<u64>>,
    /// Whether a list item has begun that has no text yet.
    is_fresh: bool,
    table: Option<Table>,
}

#[derive(Default)]
struct Table {
    rows: Vec<Vec<String>>,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text, None),
            Event::Code(text) => self.text(&text, Some(Style::Code)),
            Event::SoftBreak | Event::HardBreak => self.text("\n", None),
            Event::Rule => {
                self.owe(2);
                self.text("———", None);
                self.owe(2);
            }
            Event::TaskListMarker(is_done) => self.text(if is_done { "☑ " } else { "☐ " }, None),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text, None);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.owe(2),
            Tag::Heading { level, .. } => {
                self.owe(2);
                self.bold += 1;
                self.italic += usize::from(level > HeadingLevel::H3);
            }
            Tag::BlockQuote(_) => {
                self.owe(2);
                // The line breaks before a quote are not part of it.
                self.pay();
                self.is_fresh = true;
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.owe(2);
                self.code = Some((language(&kind), String::new()));
            }
            Tag::List(first) => {
                self.owe(if self.lists.is_empty() { 2 } else { 1 });
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Table(_) => {
                self.owe(2);
                self.table = Some(Table::default());
            }
            Tag::TableHead | Tag::TableRow => self.cells(|table| table.rows.push(Vec::new())),
            Tag::TableCell => {
                self.cells(|table| table.rows.last_mut().into_iter().for_each(|row| row.push(String::new())))
            }
            Tag::Emphasis => self.italic += 1,
            Tag::Strong => self.bold += 1,
            Tag::Strikethrough => self.strike += 1,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                let can_be_followed = can_be_followed(&dest_url) && self.links.is_empty();
                self.links.push((dest_url.into_string(), can_be_followed));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.owe(2),
            TagEnd::Heading(level) => {
                self.bold = self.bold.saturating_sub(1);
                self.italic = self.italic.saturating_sub(usize::from(level > HeadingLevel::H3));
                self.owe(2);
            }
            TagEnd::BlockQuote(_) => {
                self.quotes = self.quotes.saturating_sub(1);
                self.is_fresh = false;
                self.owe(2);
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.owe(if self.lists.is_empty() { 2 } else { 1 });
            }
            TagEnd::Item => {
                self.is_fresh = false;
                self.owe(1);
            }
            TagEnd::Table => self.end_table(),
            TagEnd::Emphasis => self.italic = self.italic.saturating_sub(1),
            TagEnd::Strong => self.bold = self.bold.saturating_sub(1),
            TagEnd::Strikethrough => self.strike = self.strike.saturating_sub(1),
            TagEnd::Link | TagEnd::Image => match self.links.pop() {
                Some((url, false)) if !url.is_empty() => self.text(&format!(" ({url})"), None),
                _ => {}
            },
            _ => {}
        }
    }

    fn item(&mut self) {
        self.owe(1);
        let indent = "  ".repeat(self.lists.len().saturating_sub(1));
        let sign = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        self.text(&format!("{indent}{sign}"), None);
        self.is_fresh = true;
    }

    /// Requests at least this many line breaks before the next text.
    fn owe(&mut self, lines: usize) {
        if !self.is_fresh {
            self.gap = self.gap.max(lines);
        }
    }

    fn pay(&mut self) {
        let owed = std::mem::take(&mut self.gap);
        if !self.rich.is_empty() {
            let styles = vec![Style::Quote; usize::from(self.quotes > 0)];
            self.rich.push(&"\n".repeat(owed), &styles);
        }
    }

    fn text(&mut self, text: &str, style: Option<Style>) {
        if let Some(table) = &mut self.table {
            let cell = table.rows.last_mut().and_then(|row| row.last_mut());
            return cell.into_iter().for_each(|cell| cell.push_str(&text.replace('\n', " ")));
        }
        if let Some((_, code)) = &mut self.code {
            return code.push_str(text);
        }
        self.pay();
        self.is_fresh = false;
        let styles = self.styles(style);
        self.rich.push(text, &styles);
    }

    fn styles(&self, style: Option<Style>) -> Vec<Style> {
        let mut styles = vec![Style::Quote; usize::from(self.quotes > 0)];
        if style == Some(Style::Code) {
            styles.push(Style::Code);
            return styles;
        }
        styles
            .extend(self.links.iter().find(|(_, follows)| *follows).map(|(url, _)| Style::Link(url.clone())));
        let inline = [(self.bold, Style::Bold), (self.italic, Style::Italic), (self.strike, Style::Strike)];
        styles.extend(inline.into_iter().filter(|(depth, _)| *depth > 0).map(|(_, style)| style));
        styles
    }

    fn end_code(&mut self) {
        let Some((language, text)) = self.code.take() else { return };
        self.pay();
        self.is_fresh = false;
        // The line break before a closing fence belongs to the fence.
        self.rich.push(text.trim_end_matches('\n'), &[Style::Pre(language)]);
        self.owe(2);
    }

    fn cells(&mut self, change: impl FnOnce(&mut Table)) {
        if let Some(table) = &mut self.table {
            change(table);
        }
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        self.pay();
        self.rich.push(&table.drawn(), &[Style::Pre(None)]);
        self.owe(2);
    }
}

impl Table {
    /// Draws the table with aligned columns and the first row underlined.
    fn drawn(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = widths.iter().enumerate().map(|(column, width)| {
                let cell = row.get(column).map_or("", String::as_str);
                format!("{cell}{}", " ".repeat(width.saturating_sub(cell.chars().count())))
            });
            cells.collect::<Vec<_>>().join(" | ").trim_end().to_owned()
        };
        let mut lines: Vec<String> = self.rows.iter().map(line).collect();
        if !lines.is_empty() {
            lines.insert(1, widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>().join("-+-"));
        }
        lines.join("\n")
    }
}

fn can_be_followed(url: &str) -> bool {
    let has_scheme = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
    has_scheme && url.len() <= MAX_URL
}

/// The first word after a fence.
fn language(kind: &CodeBlockKind<'_>) -> Option<String> {
    let CodeBlockKind::Fenced(words) = kind else { return None };
    let word = words.split_whitespace().next().unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || "+#_-.".contains(c);
    (!word.is_empty() && word.len() <= 30 && word.chars().all(fits)).then(|| word.to_owned())
}

#[cfg(test)]
mod tests;
