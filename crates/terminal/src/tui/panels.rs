//! Panels: pages and lists about the session. Esc closes them.
use super::{
    app::{App, Done, Ending},
    list::Item,
    mode::What,
    page::Page,
    wrap::{hanging, one_row, width},
};
use crate::bindings::Place;
use crate::{bars::tokens, console, export, host::Surroundings};
use haft_core::Mode;
use haft_present::host::{OpenRequest, TriedServer};
use haft_present::{context::Filling, safe};
use ratatui::{
    style::Style,
    text::{Line, Span},
};

/// Cells of the bar that shows the use of the context window.
const BAR_CELLS: usize = 60;
/// Minimum width of a page with two columns.
const TWO_COLUMNS_WIDTH: usize = 100;
/// The sections of the help about keys.
const KEY_SECTIONS: [(&str, &[Place]); 8] = [
    ("keys", &[Place::Everywhere, Place::Conversation, Place::Prompt]),
    ("keys while a list of completions is shown", &[Place::Completion]),
    ("keys while a call asks for approval", &[Place::Approval]),
    ("keys while you choose parts of a change", &[Place::Parts]),
    ("keys while you type what to do instead", &[Place::Refusal]),
    ("keys while a tool asks a question", &[Place::Choices, Place::Question]),
    ("keys in lists", &[Place::List, Place::Models, Place::Sessions]),
    ("keys on pages", &[Place::Page]),
];
/// Prefixes of words or lines of a prompt, and their meaning.
const PREFIXES: [(&str, &str); 3] = [
    ("@NAME", "name a file of this folder; an image is attached"),
    ("!COMMAND", "run a command yourself"),
    ("#TEXT", "propose a line for AGENTS.md"),
];
/// Maximum rules above the list of modes.
const MAX_RULES: usize = 12;

impl App {
    /// Shows keys and commands, side by side if there is room.
    pub(super) fn help(&mut self) {
        let commands = console::all(&self.around.prompts);
        let columns = if self.columns < TWO_COLUMNS_WIDTH { self.columns } else { self.columns / 2 - 2 };
        let (keys, commands) = (self.key_help(columns), self.rows_of("commands", &commands, columns));
        let lines = match columns == self.columns {
            true => keys.into_iter().chain([Line::default()]).chain(commands).collect(),
            false => beside(commands, keys, columns + 3),
        };
        self.mode.read(Page::new("help", lines, false));
    }

    /// The keys of each place, one section below the other.
    fn key_help(&self, columns: usize) -> Vec<Line<'static>> {
        let owned = |(keys, help): (String, &str)| (keys, help.to_owned());
        let section = |(title, places): &(&str, &[Place])| {
            let mut rows: Vec<_> = self.around.keys.help(places).into_iter().map(owned).collect();
            if places.contains(&Place::Prompt) {
                rows.extend(PREFIXES.map(|(prefix, help)| (prefix.to_owned(), help.to_owned())));
            }
            self.rows_of(title, &rows, columns)
        };
        KEY_SECTIONS.iter().map(section).collect::<Vec<_>>().join(&Line::default())
    }

    fn rows_of(&self, title: &str, rows: &[(String, String)], columns: usize) -> Vec<Line<'static>> {
        let widest = rows.iter().map(|(name, _)| width(name)).max().unwrap_or_default();
        let row = |(name, what): &(String, String)| {
            let gap = " ".repeat(widest.saturating_sub(width(name)) + 2);
            let first = Span::styled(format!("{name}{gap}"), self.look.accent());
            hanging(first, &[Span::raw(what.clone())], columns)
        };
        let title = Line::styled(title.to_owned(), self.look.bold());
        std::iter::once(title).chain(rows.iter().flat_map(row)).collect()
    }

    /// Shows the parts of the context window as a bar.
    pub(super) fn show_context(&mut self) {
        let (Some(engine), Some(entries)) = (&self.engine, self.entries()) else { return };
        let filling = Filling::of(engine.setup(), &self.view.setup.agent, &entries, self.view.context);
        let look = &self.look;
        let styles = [look.accent(), look.code(), look.link(), look.good(), look.warn()];
        let signs = ['S', 'T', 'N', 'M', 'R'];
        let cells = filling.cells(BAR_CELLS.min(self.columns.saturating_sub(2)));
        let sign = |place: usize| if look.is_plain() { signs[place] } else { '█' };
        let mut bar: Vec<Span<'static>> = cells
            .iter()
            .enumerate()
            .map(|(place, cells)| Span::styled(sign(place).to_string().repeat(*cells), styles[place]))
            .collect();
        let free = BAR_CELLS.saturating_sub(cells.iter().sum());
        bar.push(Span::styled("·".repeat(free), look.dim()));
        let whole = filling.window.unwrap_or(filling.used()).max(1);
        let part = |mark: char, style: Style, name: &str, size: u64| {
            let share = format!("{:>7}  {:>3}%", tokens(size), size * 100 / whole);
            Line::from_iter([
                Span::styled(format!("{mark} "), style),
                Span::raw(format!("{name:<14}{share}")),
            ])
        };
        let parts = filling.parts.iter().enumerate();
        let parts = parts.map(|(place, (name, size))| part(sign(place), styles[place], name, *size));
        let free = filling.free().map(|free| part('·', look.dim(), "free", free));
        let window = filling
            .window
            .map_or("(context window size unknown)".into(), |window| format!("of {}", tokens(window)));
        let head = Line::raw(format!("{} tokens {window}; the parts are estimates", tokens(filling.used())));
        let lines = [head, Line::default(), Line::from(bar), Line::default()];
        let lines = lines.into_iter().chain(parts).chain(free).collect();
        self.mode.read(Page::new("context", lines, false));
    }

    /// All rules, in the order in which they are matched.
    pub(super) fn rules(&self) -> Vec<String> {
        let rules = self.engine.iter().flat_map(|engine| &engine.setup().policy.rules);
        rules.map(|rule| safe::text(&rule.to_string()).into_owned()).collect()
    }

    /// Shows the rules, and the modes to choose from.
    pub(super) fn show_permissions(&mut self) {
        self.pick_mode();
        let rules = self.rules();
        let mut head: Vec<String> = rules.iter().take(MAX_RULES).cloned().collect();
        if rules.len() > MAX_RULES {
            head.push(format!("… {} more rules (Ctrl+O shows all)", rules.len() - MAX_RULES));
        }
        if rules.is_empty() {
            head.push("no rules; only the mode applies".into());
        }
        head.push(format!("mode: {}", self.permission_mode().map(Mode::name).unwrap_or_default()));
        if let Some(pick) = self.mode.pick() {
            pick.head = head;
        }
    }

    /// Shows the servers, their state and their tools.
    pub(super) fn show_servers(&mut self) {
        self.hint = Some("checking MCP servers …".into());
        let Surroundings { host, workspace, .. } = self.around.clone();
        self.waiting.push(Box::pin(async move { Done::Servers(host.servers(&workspace).await) }));
    }

    pub(super) fn servers(&mut self, servers: Vec<TriedServer>) {
        self.hint = None;
        let mut lines = Vec::new();
        for (name, found) in servers {
            let (mark, style, state) = match &found {
                Ok(offer) => {
                    let s = if offer.tools.len() == 1 { "" } else { "s" };
                    ("✓ ", self.look.good(), format!("{} tool{s}", offer.tools.len()))
                }
                Err(why) => ("✗ ", self.look.bad(), safe::text(why).into_owned()),
            };
            let head = [
                Span::styled(mark, style),
                Span::styled(name, self.look.bold()),
                Span::raw(format!("  {state}")),
            ];
            lines.push(one_row(Line::from_iter(head), self.columns));
            let offer = found.unwrap_or_default();
            let offered = offer.tools.iter().chain(&offer.mentions).map(|name| safe::text(name).into_owned());
            lines.extend(offered.map(|name| one_row(Line::raw(format!("    {name}")), self.columns)));
        }
        if lines.is_empty() {
            lines.push(Line::raw("no MCP server is configured; `haft mcp add` adds one"));
        }
        self.mode.read(Page::new("MCP servers", lines, false));
    }

    /// Continues in a copy of the session.
    pub(super) fn fork(&mut self) {
        if !self.must_wait() && !self.fork_remote() && !self.asks_to_end(Ending::Fork) {
            self.fork_now();
        }
    }

    pub(super) fn fork_now(&mut self) {
        let (Some(engine), Some(session)) = (&self.engine, &self.session) else { return };
        match engine.setup().home.fork(&session.id().0, None) {
            Ok(copy) => {
                self.note("the conversation goes on in a copy of this session; `/sessions` lists both");
                self.open_now(OpenRequest { session: Some(copy.0), ..self.open_request.clone() });
            }
            Err(error) => self.fail(error.to_string(), None),
        }
    }

    pub(super) fn rename(&mut self, name: &str) {
        if self.rename_remote(name) {
            return;
        }
        let (Some(engine), Some(session)) = (&self.engine, &self.session) else { return };
        match engine.setup().home.rename(&session.id().0, name) {
            Ok(_) => self.note(&format!("renamed this session to `{name}`")),
            Err(error) => self.fail(error.to_string(), None),
        }
    }

    pub(super) fn export(&mut self, name: Option<&str>) {
        let (Some(engine), Some(session)) = (&self.engine, &self.session) else { return };
        let text = self.around.host.markdown(&session.entries());
        let folder = export::folder(session, &engine.setup().workspace, &self.around.workspace);
        match export::write(folder, name, &session.id().0, &text) {
            Ok(file) => self.note(&format!("written to {}", file.display())),
            Err(why) => self.fail(why, Some("choose another file: `/export FILE`".into())),
        }
    }

    /// Shows the known models, and later adds those that vendors and servers list.
    pub(super) fn pick_model(&mut self) {
        let items = self.around.host.models().into_iter().map(|(spec, what)| Item::new(spec, what)).collect();
        let current = self.engine.as_ref().map(|engine| engine.setup().model.spec.clone());
        let items = with_model(items, current.as_deref());
        self.offer(What::Model, "model", items, current);
        if let Some(pick) = self.mode.pick() {
            pick.effort.clone_from(&self.effort);
        }
        let host = self.around.host.clone();
        self.waiting.push(Box::pin(async move { Done::Models(host.live_models().await) }));
    }

    pub(super) fn models(&mut self, models: Vec<(String, String)>) {
        let current = self.engine.as_ref().map(|engine| engine.setup().model.spec.clone());
        if let Some(pick) = self.mode.pick().filter(|pick| pick.what == What::Model) {
            let items =
                models.into_iter().map(|(spec, what)| Item::new(safe::text(&spec).into_owned(), what));
            pick.list.replace(with_model(items.collect(), current.as_deref()), &pick.typed);
        }
    }
}

/// Adds the model `current` if `items` lacks it, wherever it was configured.
fn with_model(mut items: Vec<Item>, current: Option<&str>) -> Vec<Item> {
    if let Some(current) = current.filter(|current| items.iter().all(|item| item.value != *current)) {
        items.insert(0, Item::new(current, ""));
    }
    items
}

/// Puts two texts side by side, the second from column `at` on.
fn beside(left: Vec<Line<'static>>, right: Vec<Line<'static>>, at: usize) -> Vec<Line<'static>> {
    let rows = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let row = |_| {
        let (left, right) = (left.next().unwrap_or_default(), right.next().unwrap_or_default());
        let gap = Span::raw(" ".repeat(at.saturating_sub(left.width())));
        let right =
            right.spans.into_iter().map(|span| Span::styled(span.content, right.style.patch(span.style)));
        let left =
            left.spans.into_iter().map(|span| Span::styled(span.content, left.style.patch(span.style)));
        left.chain([gap]).chain(right).collect()
    };
    (0..rows).map(row).collect()
}
