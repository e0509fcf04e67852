//! Commands about the session beside the conversation: its state, its changes, the location of the configuration, the
//! API key of a provider.
use super::{
    app::{App, Done, Request},
    page::Page,
    wrap::hanging,
};
use crate::{
    host::config_lines,
    paint::diff::{Room, is_gap},
    status::Status,
};
use haft_core::{active_path, changed::Changed};
use haft_present::host::TriedServer;
use ratatui::text::{Line, Span};

/// Columns of the names on the status page.
const NAME_COLUMNS: usize = 13;
const STATUS_TITLE: &str = "status";

impl App {
    /// Shows the status of the session, with MCP servers once they have answered.
    pub(super) fn show_status(&mut self) {
        self.status_page(None);
        let (host, workspace) = (self.around.host.clone(), self.around.workspace.clone());
        self.waiting.push(Box::pin(async move { Done::Status(host.servers(&workspace).await) }));
    }

    /// Adds the servers to the status page, if it is still open.
    pub(super) fn status_of(&mut self, servers: &[TriedServer]) {
        if self.mode.page().is_some_and(|page| page.title == STATUS_TITLE) {
            self.status_page(Some(servers));
        }
    }

    fn status_page(&mut self, servers: Option<&[TriedServer]>) {
        let (Some(engine), Some(session)) = (&self.engine, &self.session) else { return };
        let effort = self.effort.as_deref();
        let rows = Status { engine, session, effort, view: &self.view, servers }.rows();
        let row = |(name, value): (&str, String)| {
            let name = Span::styled(format!("{name:<NAME_COLUMNS$}"), self.look.accent());
            hanging(name, &[Span::raw(value)], self.columns)
        };
        let lines = rows.into_iter().flat_map(row).collect();
        self.mode.read(Page::new(STATUS_TITLE, lines, false));
    }

    /// Shows the changes to each file since the session began.
    pub(super) fn show_changes(&mut self) {
        let entries = self.entries().unwrap_or_default();
        let path = active_path(&entries);
        let changes = Changed::of(path.iter().map(|entry| &entry.fact)).whole();
        if changes.is_empty() {
            return self.note("no file was changed in this session");
        }
        let mut lines: Vec<Line<'static>> = Vec::new();
        let (mut files, mut hunks) = (Vec::new(), Vec::new());
        for change in &changes {
            let begin = lines.len();
            lines.extend(self.painted_in(Room::WHOLE, |painter| {
                painter.diffs().files(&(painter.files_of)(std::slice::from_ref(change)), painter.room)
            }));
            files.push(begin);
            let gaps = (begin..lines.len()).filter(|place| is_gap(&lines[*place]));
            hunks.extend(std::iter::once(begin).chain(gaps));
            lines.push(Line::default());
        }
        let s = if changes.len() == 1 { "" } else { "s" };
        let title = format!("{} file{s} changed since this session began", changes.len());
        self.mode.read(Page::new(title, lines, false).of_diff(files, hunks));
    }

    pub(super) fn show_config(&mut self) {
        let lines = config_lines(&self.around.config_files).join("\n");
        self.note(&lines);
    }

    /// Shows or hides the model's thoughts from here on.
    pub(super) fn toggle_thinking(&mut self) {
        self.shows_thinking = !self.shows_thinking;
        self.note(if self.shows_thinking {
            "thinking is shown"
        } else {
            "thinking is hidden; Ctrl+O shows all"
        });
    }

    /// Asks for a provider's API key after this key press is handled.
    pub(super) fn log_in(&mut self, provider: Option<String>) {
        if self.must_wait() {
            return;
        }
        match self.around.login {
            Some(_) => (self.provider, self.request) = (provider, Some(Request::LogIn)),
            None => self.note("keys cannot be entered here; `haft login` does it"),
        }
    }

    /// Continues after the question for an API key: lists the models if a key was saved.
    pub(super) fn logged_in(&mut self, saved: Result<bool, String>) {
        match saved {
            Ok(true) => self.pick_model(),
            Ok(false) => {}
            Err(why) => {
                let (message, hint) = why.split_once("\nhint: ").unwrap_or((&why, ""));
                self.fail(message.to_owned(), Some(hint.to_owned()).filter(|hint| !hint.is_empty()));
            }
        }
    }
}
