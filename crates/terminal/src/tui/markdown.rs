//! [`lines`]: lays out Markdown for the screen.
mod table;

use super::{
    highlight::highlight,
    look::Look,
    wrap::{hanging, width, wrap},
};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::{
    style::{Modifier, Style},
    text::{Line, Span},
};
use table::Table;

/// The lines of a reply's `markdown`, none wider than `columns`. Line breaks of the source are kept.
pub(super) fn lines(markdown: &str, columns: usize, look: &Look) -> Vec<Line<'static>> {
    written(markdown, Writer::new(columns.max(8), *look))
}

/// The lines of a page of documentation, none wider than `columns`: paragraphs are filled, a table that is too wide
/// becomes a list of records, and code keeps its backticks if there are no colors.
pub(crate) fn filled(markdown: &str, columns: usize, look: &Look) -> Vec<Line<'static>> {
    written(markdown, Writer { is_filled: true, ..Writer::new(columns.max(8), *look) })
}

fn written(markdown: &str, mut writer: Writer) -> Vec<Line<'static>> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(markdown, options).for_each(|event| writer.event(event));
    writer.flush();
    writer.lines
}

/// The prefix of each row of a block: the mark of a list item once, then blanks; the bar of a quote always.
struct Lead {
    first: Option<Span<'static>>,
    rest: Span<'static>,
}

struct Writer {
    columns: usize,
    look: Look,
    /// Whether it is a page of documentation.
    is_filled: bool,
    lines: Vec<Line<'static>>,
    /// Inline text that is not wrapped yet.
    spans: Vec<Span<'static>>,
    styles: Vec<Style>,
    leads: Vec<Lead>,
    /// The number of the next item of each open list; `None` for a bulleted list.
    lists: Vec<Option<u64>>,
    links: Vec<(String, usize)>,
    code: Option<(String, String)>,
    table: Option<Table>,
    /// Whether a blank line precedes the next block.
    gap: bool,
}

impl Writer {
    fn new(columns: usize, look: Look) -> Self {
        Self {
            columns,
            look,
            is_filled: false,
            lines: Vec::new(),
            spans: Vec::new(),
            styles: Vec::new(),
            leads: Vec::new(),
            lists: Vec::new(),
            links: Vec::new(),
            code: None,
            table: None,
            gap: false,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) => {
                let style = self.style().patch(self.look.code());
                let is_marked = self.is_filled && self.look.is_plain();
                let code = if is_marked { format!("`{code}`") } else { code.into_string() };
                self.spans.push(Span::styled(code, style));
            }
            Event::SoftBreak if self.is_filled => self.text(" "),
            Event::SoftBreak | Event::HardBreak => self.flush(),
            Event::Rule => {
                self.block();
                let rule = "─".repeat(self.columns.saturating_sub(self.indent()).min(40));
                self.spans.push(Span::styled(rule, self.look.dim()));
                self.flush();
                self.gap = true;
            }
            Event::TaskListMarker(done) => {
                self.spans.push(Span::raw(if done { "[x] " } else { "[ ] " }));
            }
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.block(),
            Tag::Heading { level, .. } => {
                self.block();
                let style = self.look.bold();
                let style =
                    if level == HeadingLevel::H1 { style.add_modifier(Modifier::UNDERLINED) } else { style };
                self.styles.push(style);
            }
            Tag::BlockQuote(_) => {
                self.block();
                let bar = Span::styled("│ ", self.look.dim());
                self.leads.push(Lead { first: None, rest: bar });
            }
            Tag::CodeBlock(kind) => {
                self.block();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.block();
                } else {
                    self.flush();
                }
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Emphasis => self.styles.push(Style::new().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.styles.push(self.look.bold()),
            Tag::Strikethrough => self.styles.push(Style::new().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.spans.len()));
                self.styles.push(self.look.link());
            }
            Tag::Table(_) => {
                self.block();
                self.table = Some(Table::default());
            }
            Tag::TableHead | Tag::TableRow => self.table.iter_mut().for_each(Table::row),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.end_block(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.leads.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                self.leads.pop();
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.spans);
                self.table.iter_mut().for_each(|table| table.cell(cell.clone()));
            }
            TagEnd::Table => {
                let columns = self.columns.saturating_sub(self.indent());
                let table = self.table.take().unwrap_or_default();
                let rows = match self.is_filled && table.is_cramped(columns) {
                    true => table.records(columns, &self.look),
                    false => table.rows(columns, &self.look),
                };
                rows.into_iter().for_each(|row| self.push(row));
                self.gap = true;
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.code {
            Some((_, code)) => code.push_str(text),
            None => {
                let style = self.style();
                self.spans.push(Span::styled(text.trim_end_matches('\n').to_owned(), style));
            }
        }
    }

    fn item(&mut self) {
        self.flush();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        let rest = Span::raw(" ".repeat(width(&mark)));
        self.leads.push(Lead { first: Some(Span::styled(mark, self.look.dim())), rest });
        self.gap = false;
    }

    fn end_link(&mut self) {
        self.styles.pop();
        let Some((target, from)) = self.links.pop() else { return };
        let shown: String =
            self.spans.get(from..).unwrap_or_default().iter().map(|span| span.content.as_ref()).collect();
        if shown != target && !target.is_empty() {
            self.spans.push(Span::styled(format!(" ({target})"), self.look.dim()));
        }
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        let columns = self.columns.saturating_sub(self.indent() + CODE_INDENT.len());
        for line in highlight(&code, &language, &self.look) {
            for row in wrap(&line, columns) {
                self.push(std::iter::once(Span::raw(CODE_INDENT)).chain(row).collect());
            }
        }
        self.gap = true;
    }

    fn style(&self) -> Style {
        self.styles.iter().fold(Style::new(), |style, more| style.patch(*more))
    }

    /// Begins a block.
    fn block(&mut self) {
        self.flush();
        let at_an_item = self.leads.last().is_some_and(|lead| lead.first.is_some());
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() && !at_an_item {
            let lead: String = self.leads.iter().map(|lead| lead.rest.content.as_ref()).collect();
            self.lines.push(Line::styled(lead.trim_end().to_owned(), self.look.dim()));
        }
    }

    fn end_block(&mut self) {
        self.flush();
        self.gap = true;
    }

    fn indent(&self) -> usize {
        self.leads.iter().map(|lead| width(&lead.rest.content)).sum()
    }

    /// Wraps the pending inline text into rows.
    fn flush(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        if spans.iter().all(|span| span.content.is_empty()) {
            return;
        }
        let columns = self.columns.saturating_sub(self.indent());
        wrap(&spans, columns).into_iter().for_each(|row| self.push(row));
    }

    fn push(&mut self, row: Vec<Span<'static>>) {
        let leads = self.leads.iter_mut().map(|lead| lead.first.take().unwrap_or_else(|| lead.rest.clone()));
        let line = Line::from_iter(leads.chain(row));
        self.lines.push(line);
    }
}

/// Indentation of code.
const CODE_INDENT: &str = "  ";

/// Plain text with its own line breaks.
pub(super) fn plain(text: &str, first: Span<'static>, columns: usize, style: Style) -> Vec<Line<'static>> {
    let indent = Span::raw(" ".repeat(width(&first.content)));
    let lines = text.lines().enumerate().flat_map(|(place, line)| {
        let lead = if place == 0 { first.clone() } else { indent.clone() };
        hanging(lead, &[Span::styled(line.to_owned(), style)], columns)
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::look::{Depth, Theme},
        *,
    };

    fn drawn(markdown: &str, columns: usize) -> String {
        let look = Look::new(Theme::Plain, Depth::None);
        let lines = lines(markdown, columns, &look);
        lines.iter().map(|line| format!("{}\n", line.to_string().trim_end())).collect()
    }

    #[test]
    fn blocks_are_laid_out_in_rows() {
        let table = [
            ("one *two* `three`\nfour", "one two three\nfour\n"),
            ("# Head\n\ntext", "Head\n\ntext\n"),
            ("- a\n- b\n  - c\n\ntext", "• a\n• b\n  • c\n\ntext\n"),
            ("3. a\n4. b", "3. a\n4. b\n"),
            ("- [x] done\n- [ ] not", "• [x] done\n• [ ] not\n"),
            ("> a\n> b\n\nc", "│ a\n│ b\n\nc\n"),
            ("```rust\nfn a() {}\n\nx\n```\ny", "  fn a() {}\n\n  x\n\ny\n"),
            ("[x](http://a.b) <xx:d>", "x (http://a.b) xx:d\n"),
            ("a\n\n---\n\nb", "a\n\n────────────────────\n\nb\n"),
            ("- a long item that wraps here", "• a long item that\n  wraps here\n"),
            ("| a | b |\n|---|---|\n| 1 | 22 |", "a │ b\n──┼───\n1 │ 22\n"),
            ("<b>html</b>", "<b>html</b>\n"),
        ];
        for (markdown, expected) in table {
            assert_eq!(drawn(markdown, 20), expected, "{markdown:?}");
        }
    }

    #[test]
    fn a_page_has_records_where_its_table_has_no_room() {
        let page = "| key | default | what it does |\n|---|---|---|\n| `a` | | Says `a`\n| `b` | 1 | Does what you would think of `b` |\n";
        let look = Look::new(Theme::Plain, Depth::None);
        let drawn = |columns| -> Vec<String> {
            filled(page, columns, &look).iter().map(|line| line.to_string().trim_end().to_owned()).collect()
        };
        assert_eq!(drawn(60)[0], "key │ default │ what it does");
        let records = [
            "`a`",
            "  what it does: Says `a`",
            "`b`",
            "  default: 1",
            "  what it does: Does what",
            "  you would think of `b`",
        ];
        assert_eq!(drawn(26), records);
    }

    #[test]
    fn nothing_is_wider_than_the_screen() {
        let markdown = "# head head head\n\n> - quote `code code`\n\n| aaaaaaaaaaaaaaaa | bbbbbbbbbbb |\n|---|---|\n| c | 漢字漢字漢字漢字 |\n\n```\nxxxxxxxxxxxxxxxxxxxxxxxxx\n```\n";
        let look = Look::new(Theme::Terminal, Depth::Sixteen);
        for columns in 8..40 {
            for line in lines(markdown, columns, &look).into_iter().chain(filled(markdown, columns, &look)) {
                assert!(line.width() <= columns, "{columns}: {line}");
            }
        }
    }
}
