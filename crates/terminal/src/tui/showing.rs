//! Shows a session on the screen, starting from its history.
use super::{app::App, blocks::is_drawn, wrap::one_row};
use futures::StreamExt;
use haft_core::{Event, LastTurn, SessionSetup};
use haft_engine::{Engine, Remote, Session};
use haft_present::host::Conversation;
use haft_present::{
    cursor::next,
    timeline::{Item, Timeline},
};
use ratatui::text::{Line, Span};
use std::mem;

/// Maximum items of a resumed session that are shown.
const MAX_SHOWN_AGAIN: usize = 60;

impl App {
    /// Shows a session with its history. `goes_on`: whether a turn that was cut off is continued immediately. Returns
    /// whether the session was on the screen already.
    pub(super) fn show(&mut self, opened: Conversation, goes_on: bool) -> bool {
        let Conversation { engine, session, notices, effort } = opened;
        self.effort = effort;
        self.view = Timeline::default();
        self.view.how = " (Ctrl+O shows all)";
        let entries = session.entries();
        let said = entries.iter().flat_map(|entry| self.view.apply(&Event::Recorded(entry.clone())));
        let said: Vec<Item> = said.filter(is_drawn).collect();
        if !session.is_joined() {
            let agent = mem::take(&mut self.view.setup.agent);
            self.view.setup = SessionSetup {
                agent: self.open_request.agent.clone().unwrap_or(agent),
                model: engine.setup().model.spec.clone(),
                effort: engine.setup().model.effort.clone(),
            };
        }
        let is_at_rest = Remote::of(&session).map_or(!session.is_joined(), |remote| remote.is_at_rest);
        // This was recorded when the session was open before; if it still applies, it is recorded again.
        self.view.is_unconfined &= session.is_joined();
        self.events = session.events(next(&session)).boxed();
        let is_known = self.shown.replace(session.id().0.clone()) == Some(session.id().0.clone());
        self.open_request.session = Some(session.id().0.clone());
        if !is_known {
            self.above.extend(self.greeting(&engine, &session));
        }
        (self.engine, self.session) = (Some(engine), Some(session));
        self.follow_asked();
        if !is_known {
            self.show_again(said);
        }
        notices.iter().for_each(|notice| self.note(notice));
        if is_at_rest {
            self.view.rest();
            if !goes_on {
                self.note_cut_off();
            }
        }
        is_known
    }

    /// Tells the user if the last turn was cut off, and no turn runs.
    pub(super) fn note_cut_off(&mut self) {
        if LastTurn::of(&self.entries().unwrap_or_default()) == LastTurn::CutOff {
            self.note("the last turn was interrupted; `/continue` resumes it");
        }
    }

    fn greeting(&self, engine: &Engine, session: &Session) -> [Line<'static>; 3] {
        let model = engine.setup().model.spec.clone();
        let folder = engine.setup().workspace.display();
        let folder = match Remote::of(session) {
            Some(remote) => {
                let server = remote.address.split("/#").next().unwrap_or_default();
                format!("{folder} on {server}")
            }
            None => folder.to_string(),
        };
        let rows = [
            Line::from_iter([Span::styled("haft  ", self.look.bold()), Span::raw(model)]),
            Line::styled(folder, self.look.dim()),
            Line::styled(format!("session {} · /help for help", session.id()), self.look.dim()),
        ];
        rows.map(|row| one_row(row, self.columns))
    }

    /// Shows which model, effort and agent the session uses.
    pub(super) fn note_model(&mut self) {
        let Some(engine) = &self.engine else { return };
        let agent =
            self.open_request.agent.as_ref().map(|agent| format!(", agent {agent}")).unwrap_or_default();
        let effort = self.effort.as_ref().map(|effort| format!(", effort {effort}")).unwrap_or_default();
        let text = format!("now using {}{effort}{agent}", engine.setup().model.spec);
        self.note(&text);
    }

    /// Shows the conversation so far.
    fn show_again(&mut self, said: Vec<Item>) {
        let skipped = said.len().saturating_sub(MAX_SHOWN_AGAIN);
        if skipped > 0 {
            self.note(&format!("{skipped} earlier items are not shown (Ctrl+O shows all)"));
        }
        said.into_iter().skip(skipped).for_each(|block| self.finished(block));
    }
}
