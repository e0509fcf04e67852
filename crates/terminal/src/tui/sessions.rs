//! [`Sessions`]: the sessions of a directory to choose from, each with its last prompt and reply.
use super::{
    list::{Item, List},
    look::Look,
    wrap::one_row,
};
use haft_core::SessionId;
use haft_engine::{Home, Summary};
use haft_present::{
    age::age,
    safe,
    timeline::{Recap, recap},
};
use ratatui::text::{Line, Span};
use std::{collections::HashMap, path::Path};

/// Number of sessions, from the newest on, whose journals are read before one is selected.
const MAX_READ_AHEAD: usize = 50;
/// Maximum lines of the last prompt, and of the last reply.
const PREVIEW_LINES: usize = 2;

/// Sessions that the user began in one directory, newest first.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    listed: Vec<Summary>,
    /// The last prompt and reply of the sessions that were read, by ID.
    pub(super) recaps: HashMap<String, Recap>,
}

impl Sessions {
    /// Those of `listed` that the user began and that have a prompt, without `own`.
    pub(super) fn of(listed: Vec<Summary>, own: Option<&SessionId>) -> Self {
        let is_listed = |known: &Summary| {
            known.delegated_by.is_none() && Some(&known.id) != own && !known.title.is_empty()
        };
        Self { listed: listed.into_iter().filter(is_listed).collect(), recaps: HashMap::new() }
    }

    /// The IDs of the newest sessions, whose journals are read first.
    pub(super) fn newest(&self) -> Vec<String> {
        self.listed.iter().take(MAX_READ_AHEAD).map(|known| known.id.0.clone()).collect()
    }

    /// The name that the user gave the session.
    pub(super) fn name(&self, id: &str) -> String {
        let known = self.listed.iter().find(|known| known.id.0 == id);
        known.and_then(|known| known.name.clone()).unwrap_or_default()
    }

    pub(super) fn items(&self) -> Vec<Item> {
        let turns = |id: &str| self.recaps.get(id).map(|recap| counted(recap.turns, "turn"));
        let item = |known: &Summary| {
            let facts = [
                Some(age(known.last_at)),
                turns(&known.id.0),
                Some(known.model.clone()),
                Some(known.id.0.clone()),
            ];
            Item {
                value: known.id.0.clone(),
                label: known.title.clone(),
                detail: facts.into_iter().flatten().collect::<Vec<_>>().join(" · "),
            }
        };
        self.listed.iter().map(item).collect()
    }

    /// The last prompt and the last reply of the session, if it was read.
    pub(super) fn preview(&self, id: &str, columns: usize, look: &Look) -> Vec<Line<'static>> {
        let Some(Recap { prompt, reply, .. }) = self.recaps.get(id) else { return Vec::new() };
        let part = |mark: &'static str, text: &str| {
            let lines = text.lines().filter(|line| !line.trim().is_empty()).take(PREVIEW_LINES);
            let line = |line: &str| {
                let text = Span::styled(safe::text(line).into_owned(), look.dim());
                one_row(Line::from_iter([Span::styled(mark, look.accent()), text]), columns)
            };
            lines.map(line).collect::<Vec<_>>()
        };
        [part("  > ", prompt), part("    ", reply)].concat()
    }
}

/// The last prompt and reply of each of these sessions; sessions that cannot be read are left out.
pub(super) fn recaps(home: &Home, ids: Vec<String>) -> Vec<(String, Recap)> {
    ids.into_iter().filter_map(|id| Some((id.clone(), recap(&home.peek(&id).ok()?)))).collect()
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Sessions to choose from before a conversation begins.
pub(super) struct Ahead<'a> {
    home: &'a Home,
    sessions: Sessions,
}

impl<'a> Ahead<'a> {
    pub(super) fn of(home: &'a Home, workspace: &Path) -> Self {
        let listed = home.list().into_iter().filter(|known| known.workspace == workspace);
        let mut sessions = Sessions::of(listed.collect(), None);
        sessions.recaps = recaps(home, sessions.newest()).into_iter().collect();
        Self { home, sessions }
    }

    pub(super) fn list(&self) -> List {
        List::tall(self.sessions.items()).searched_whole()
    }

    /// Like [`Sessions::preview`], but reads the session first if necessary.
    pub(super) fn preview(&mut self, id: &str, columns: usize, look: &Look) -> Vec<Line<'static>> {
        if !self.sessions.recaps.contains_key(id) {
            self.sessions.recaps.extend(recaps(self.home, vec![id.to_owned()]));
        }
        self.sessions.preview(id, columns, look)
    }
}
