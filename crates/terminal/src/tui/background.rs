//! What works in the background, as a list and as a page: commands, and the sessions below this one.
use super::{app::App, list::Item, mode::What, page::Page};
use haft_core::{Command, Event};
use haft_engine::{ATTEMPT_MARK, Session};
use haft_present::timeline::{self, Timeline};
use serde_json::json;

impl App {
    pub(super) fn pick_job(&mut self) {
        let items = self.background();
        self.offer(What::Job, "background", items, None);
    }

    /// Keeps an open list of what works in the background as it is now, and closes it with the last of that.
    pub(super) fn refresh_background(&mut self) {
        if self.mode.pick().is_none_or(|pick| pick.what != What::Job) {
            return;
        }
        let items = self.background();
        match self.mode.pick() {
            Some(_) if items.is_empty() => drop(self.mode.close()),
            Some(pick) => pick.list.replace(items, &pick.typed),
            None => {}
        }
    }

    /// Background commands that run, and the sessions below this one.
    fn background(&self) -> Vec<Item> {
        let tasks =
            self.view.jobs.iter().map(|(id, title)| Item::new(format!("task {}", id.0), title.clone()));
        let below = self.below();
        let below = below.iter().map(|session| Item::new(session.id().0.clone(), described(session)));
        tasks.chain(below).collect()
    }

    /// The sessions that this one delegated to, and those below them.
    fn below(&self) -> Vec<Session> {
        let Some(engine) = &self.engine else { return Vec::new() };
        engine.sessions().into_iter().filter(|session| session.delegated_by().is_some()).collect()
    }

    pub(super) fn open_job(&mut self, name: &str) {
        if let Some(job) = name.strip_prefix("task ") {
            return self.send(Command::Call { name: "job".into(), arguments: json!({"id": job}) });
        }
        let Some(session) = self.below().into_iter().find(|session| session.id().0 == name) else {
            return self.note("the subagent has ended");
        };
        let mut view = Timeline::default();
        let said = session.entries().into_iter().flat_map(|entry| view.apply(&Event::Recorded(entry)));
        let blocks: Vec<_> = said.collect();
        let mut lines =
            self.painted(|painter| blocks.iter().flat_map(|block| painter.block(block)).collect::<Vec<_>>());
        lines.extend(
            self.painted(|painter| view.calls.iter().flat_map(|call| painter.call(call)).collect::<Vec<_>>()),
        );
        self.mode.read(Page::new(format!("subagent {name}"), lines, true));
    }
}

/// What a session below another one is, `subagent` or `attempt 2 of 3`, and the first line of what it was told to do.
fn described(session: &Session) -> String {
    let prompts = timeline::prompts(&session.entries());
    let told = prompts.first().map(|(_, text)| text.as_str()).unwrap_or_default();
    let marked = told.rfind(ATTEMPT_MARK).and_then(|at| told[at..].strip_prefix('[')?.split_once(']'));
    let kind = marked.map_or_else(|| "subagent".to_owned(), |(name, _)| name.to_lowercase());
    format!("{kind}: {}", told.lines().next().unwrap_or_default())
}
