//! The lists to choose from: sessions, models, agents, themes, earlier prompts.
use super::{
    app::{App, Done, Ending, Request},
    input::{Attached, picture},
    list::{Item, List},
    mode::{Change, Completed, Completion, Mode, Pick, What},
    sessions::{Sessions, recaps},
};
use crate::{
    console::{self, Sent},
    going_on,
};
use haft_core::{Command, Mode as PermissionMode, Seq};
use haft_engine::{Agent, Home, JournalError, Remote, Session, Summary};
use haft_present::counted;
use haft_present::host::OpenRequest;
use haft_present::matching::mention;
use haft_present::timeline::{self, Recap};
use haft_present::undo::{UndoWish, UndoableCall, undoable};

impl App {
    /// Shows a list. `current`: the value of the current item.
    pub(super) fn offer(
        &mut self,
        what: What,
        title: &'static str,
        items: Vec<Item>,
        current: Option<String>,
    ) {
        if items.is_empty() {
            return self.note(what.nothing());
        }
        let (list, head) = (List::with_current(items, current), Vec::new());
        let typed = String::new();
        self.mode.offer(Pick { title, head, list, typed, what, effort: None, change: None });
    }

    /// Asks whether a turn that has used up its rounds continues. If the user is doing something else, only the note
    /// above is shown; `/continue` continues the turn.
    pub(super) fn ask_to_go_on(&mut self) {
        let is_free = matches!(self.mode, Mode::Compose(_)) && self.input.is_empty();
        let Some(rounds) = self.session.as_ref().and_then(going_on::used_up).filter(|_| is_free) else {
            return;
        };
        let items = vec![
            Item::new("no", format!("stop here; {} used", counted(rounds, "round", "rounds"))),
            Item::new("yes", format!("continue, for {rounds} more")),
        ];
        self.offer(What::GoOn, "continue?", items, None);
    }

    pub(super) fn quit(&mut self) {
        if !self.asks_to_end(Ending::Quit) {
            self.request = Some(Request::Leave);
        }
    }

    /// Carries out what waited for the user's choice.
    pub(super) fn end_background(&mut self) {
        match self.ending.take() {
            Some(Ending::Open(request)) => self.open_now(request),
            Some(Ending::Fork) => self.fork_now(),
            Some(Ending::Quit) => self.request = Some(Request::Leave),
            None => {}
        }
    }

    /// Asks whether to end background work, if there is any that `ending` would end.
    pub(super) fn asks_to_end(&mut self, ending: Ending) -> bool {
        let ends = match self.ended_tasks() {
            Some(ends) => ends,
            None => return false,
        };
        self.ending = Some(ending);
        let items = vec![Item::new("no", "stay here"), Item::new("yes", format!("{ends}, and go on"))];
        self.offer(What::Ending, "work is running in the background", items, None);
        true
    }

    /// Lists the other sessions of this directory.
    pub(super) fn pick_session(&mut self) {
        if self.list_remote() {
            return;
        }
        self.offer_sessions(self.sessions_here());
    }

    /// All sessions of this directory.
    fn sessions_here(&self) -> Vec<Summary> {
        let Some(engine) = &self.engine else { return Vec::new() };
        let setup = engine.setup();
        let listed = setup.home.list().into_iter();
        listed.filter(|known| known.workspace == setup.workspace).collect()
    }

    /// Shows those of `listed` that the user can continue.
    pub(super) fn offer_sessions(&mut self, listed: Vec<Summary>) {
        let own = self.session.as_ref().map(|session| session.id().clone());
        self.sessions = Sessions::of(listed, own.as_ref());
        let (items, newest) = (self.sessions.items(), self.sessions.newest());
        self.offer(What::Session, "session", items, None);
        if let Some(pick) = self.mode.pick().filter(|pick| pick.what == What::Session) {
            pick.list = std::mem::take(&mut pick.list).searched_whole();
            self.read_sessions(newest);
        }
    }

    /// The ID of the session at the cursor, unless it is stored on a server.
    fn listed(&mut self) -> Option<String> {
        if self.around.host.remote().is_some() {
            self.note(
                "the sessions of a server are not renamed or deleted here; `/rename` names the open one",
            );
            return None;
        }
        Some(self.mode.pick()?.list.chosen()?.value.clone())
    }

    /// Asks about a change to the session at the cursor. `change` gets the session's current name.
    pub(super) fn ask_of_listed(&mut self, change: fn(String) -> Change) {
        let Some(id) = self.listed() else { return };
        let name = self.sessions.name(&id);
        if let Some(pick) = self.mode.pick() {
            pick.change = Some(change(name));
        }
    }

    pub(super) fn change_listed(&mut self, change: Change) {
        match change {
            Change::Name(name) => self.change_session(|home, id| home.rename(id, &name).map(drop)),
            Change::Delete => self.change_session(|home, id| home.remove(id).map(drop)),
            Change::Stop(name) => self.stop_work(&name),
        }
    }

    fn change_session(&mut self, change: impl FnOnce(&Home, &str) -> Result<(), JournalError>) {
        let (Some(id), Some(engine)) = (self.listed(), &self.engine) else { return };
        match change(&engine.setup().home, &id) {
            Ok(()) => self.list_again(),
            Err(error) => self.fail(error.to_string(), None),
        }
    }

    /// Updates the list of sessions; closes it if none is left.
    fn list_again(&mut self) {
        let own = self.session.as_ref().map(|session| session.id().clone());
        let recaps = std::mem::take(&mut self.sessions.recaps);
        self.sessions = Sessions::of(self.sessions_here(), own.as_ref());
        self.sessions.recaps = recaps;
        let items = self.sessions.items();
        match self.mode.pick() {
            Some(_) if items.is_empty() => drop(self.mode.close()),
            Some(pick) => pick.list.replace(items, &pick.typed),
            None => {}
        }
    }

    fn read_sessions(&mut self, ids: Vec<String>) {
        let Some(engine) = &self.engine else { return };
        let home = engine.setup().home.clone();
        let reading = tokio::task::spawn_blocking(move || recaps(&home, ids));
        self.waiting.push(Box::pin(async move { Done::Sessions(reading.await.unwrap_or_default()) }));
    }

    /// Reads the session at the cursor of the list, if that was not done yet.
    pub(super) fn look_at_session(&mut self) {
        let chosen = self.mode.pick().filter(|pick| pick.what == What::Session);
        let chosen = chosen.and_then(|pick| pick.list.chosen().map(|item| item.value.clone()));
        let is_far_down =
            |id: &String| !self.sessions.recaps.contains_key(id) && !self.sessions.newest().contains(id);
        if let Some(id) = chosen.filter(is_far_down) {
            self.read_sessions(vec![id]);
        }
    }

    pub(super) fn sessions_read(&mut self, recaps: Vec<(String, Recap)>) {
        self.sessions.recaps.extend(recaps);
        let items = self.sessions.items();
        if let Some(pick) = self.mode.pick().filter(|pick| pick.what == What::Session) {
            pick.list.replace(items, &pick.typed);
        }
    }

    pub(super) fn pick_agent(&mut self) {
        let Some(engine) = &self.engine else { return };
        let agents = engine.setup().agents.iter();
        let means = |agent: &Agent| match (agent.name.as_str(), agent.description.as_str()) {
            ("haft", "") => "the default".to_owned(),
            (_, description) => description.to_owned(),
        };
        let items = agents.map(|agent| Item::new(agent.name.clone(), means(agent))).collect();
        let current = self.open_request.clone().agent.unwrap_or_else(|| self.view.setup.agent.clone());
        self.offer(What::Agent, "agent", items, Some(current));
    }

    pub(super) fn pick_mode(&mut self) {
        let ceiling = self.session.as_ref().map(Session::ceiling).unwrap_or_default();
        let means = |mode: PermissionMode| match mode {
            PermissionMode::ReadOnly => "only read files in the workspace",
            PermissionMode::Plan => "change nothing until you accept a plan",
            PermissionMode::Ask => "ask before every effect",
            PermissionMode::AcceptEdits => "edit files in the workspace without asking",
            PermissionMode::Full => "run everything without asking",
        };
        let modes = PermissionMode::ALL.into_iter().filter(|mode| *mode <= ceiling);
        let items = modes.map(|mode| Item::new(mode.name(), means(mode))).collect();
        let current = self.permission_mode().map(|mode| mode.name().to_owned());
        self.offer(What::Mode, "mode", items, current);
    }

    pub(super) fn pick_theme(&mut self) {
        let themes = &self.around.themes;
        let items = themes.names().iter().map(|name| Item::new(name, "")).collect();
        let current = themes.name_of(&self.look);
        self.offer(What::Theme, "theme", items, Some(current));
    }

    pub(super) fn pick_prompt(&mut self) {
        if self.must_wait() {
            return;
        }
        let prompts = timeline::prompts(&self.entries().unwrap_or_default()).into_iter().rev();
        let items = prompts.map(|(before, text)| Item {
            value: before.to_string(),
            label: text.lines().next().unwrap_or_default().to_owned(),
            detail: String::new(),
        });
        let items = items.collect();
        self.offer(What::Prompt, "go back to before", items, None);
    }

    /// Undoes the calls that `text` names, or lists the calls to choose one.
    pub(super) fn undo_call(&mut self, text: &str) {
        if self.must_wait() {
            return;
        }
        match UndoWish::read(text) {
            Ok(UndoWish::LastTurn) => self.send_after_turn(Sent::Undo),
            Ok(UndoWish::Calls(undo)) => self.send(Command::UndoCalls(undo)),
            Ok(UndoWish::List) => {
                let calls = undoable(&self.entries().unwrap_or_default()).into_iter().rev();
                let items = calls.map(|UndoableCall { number, title, files }| Item {
                    value: number.to_string(),
                    label: format!("{number}  {title}"),
                    detail: files,
                });
                let items = items.collect();
                self.offer(What::Call, "undo one call", items, None);
            }
            Err(why) => self.fail(why, None),
        }
    }

    /// Shows earlier prompts of all conversations.
    pub(super) fn pick_typed(&mut self) {
        let mut typed: Vec<String> = self.input.history().iter().rev().cloned().collect();
        typed.dedup();
        let items = typed.into_iter().map(|text| Item {
            label: text.lines().next().unwrap_or_default().to_owned(),
            value: text,
            detail: String::new(),
        });
        let items = items.collect();
        self.offer(What::Typed, "history", items, None);
    }

    /// Applies the selected item. `is_kept`: use the model for new sessions, too.
    pub(super) fn choose(&mut self, is_kept: bool) {
        let Some(Pick { list, what, effort, .. }) = self.mode.close() else { return };
        let Some(item) = list.chosen().cloned() else { return };
        let is_same_effort = what != What::Model || effort == self.effort;
        if list.is_at_current() && is_same_effort && !is_kept {
            if what == What::Model {
                self.note_model();
            }
            return;
        }
        let request = OpenRequest {
            session: self.session.as_ref().map(|session| session.id().0.clone()),
            ..self.open_request.clone()
        };
        match what {
            What::Session => self.open(OpenRequest::of_session(item.value)),
            What::Model => self.choose_model(item.value, OpenRequest { effort, is_kept, ..request }),
            What::Agent => self.open(OpenRequest { agent: Some(item.value), ..request }),
            What::Mode => self.set_permission_mode(&item.value),
            What::Theme => self.theme(&item.value),
            What::Prompt => {
                let text = timeline::prompts(&self.entries().unwrap_or_default());
                let text = text.into_iter().find(|(before, _)| before.to_string() == item.value);
                if let Some((before, text)) = text {
                    self.input.recall(&text);
                    self.rewind(Seq(before.0));
                }
            }
            What::Call => self.undo_call(&item.value),
            What::GoOn if item.value == "yes" => self.send(Command::Continue),
            What::Ending if item.value == "yes" => self.end_background(),
            What::GoOn | What::Ending => {}
            What::Typed => self.input.recall(&item.value),
            What::Job => self.open_job(&item.value),
        }
    }

    /// Switches to a model. If only a vendor was chosen, its name is put into the field as the beginning of the
    /// model's.
    fn choose_model(&mut self, spec: String, request: OpenRequest) {
        match spec.strip_suffix('…') {
            Some(vendor) => self.input.set(&format!("/model {vendor}")),
            None => {
                let effort = request.effort.filter(|_| !self.around.host.efforts(&spec).is_empty());
                self.open(OpenRequest { model: Some(spec), effort, ..request });
            }
        }
    }

    pub(super) fn theme(&mut self, name: &str) {
        match self.around.themes.named(name) {
            Some((theme, palette)) => {
                (self.look.theme, self.look.palette) = (theme, palette);
                self.note(&format!("theme: {name}"));
            }
            None => self.fail(
                format!("unknown theme `{name}`"),
                Some(format!("choose one of: {}", self.around.themes.names().join(", "))),
            ),
        }
    }

    /// Updates the completions for the typed text: commands, or names of files.
    pub(super) fn complete(&mut self) {
        if self.mode.completion().is_none() {
            return;
        }
        if self.input.is_in_normal_mode() {
            return self.set_completion(None);
        }
        if let Some((typed, start, values)) = self.offered_here() {
            return self.pop_up(values, &typed, Completed::Offer(start));
        }
        let (text, word) = (self.input.text(), self.input.word());
        if let Some(typed) = text.strip_prefix('/').filter(|rest| !rest.contains([' ', '\n', '/'])) {
            let names = console::names(&self.around.prompts).into_iter();
            return self.pop_up(
                names.map(|(name, what)| Item::new(name, what)).collect(),
                typed,
                Completed::Command,
            );
        }
        match (word.strip_prefix('@'), &self.files) {
            (Some(typed), Some(files)) => {
                let (files, typed) = (files.clone(), typed.to_owned());
                self.pop_up(files, &typed, Completed::File);
            }
            (Some(_), None) => self.look_for_files(),
            (None, _) => {
                self.set_completion(None);
                self.files = None;
            }
        }
    }

    pub(super) fn pop_up(&mut self, items: Vec<Item>, typed: &str, of: Completed) {
        let mut list = List::new(items);
        match of {
            Completed::Command => list.narrow_names(typed),
            Completed::File | Completed::Offer(_) => list.narrow(typed),
        }
        self.set_completion(Some(Completion { list, of }).filter(|found| !found.list.is_empty()));
    }

    fn set_completion(&mut self, found: Option<Completion>) {
        if let Some(completion) = self.mode.completion() {
            *completion = found;
        }
    }

    /// Lists the files of the workspace. Those of another machine are unknown.
    fn look_for_files(&mut self) {
        let is_remote = self.session.as_ref().is_some_and(|session| Remote::of(session).is_some());
        let Some(engine) = self.engine.as_ref().filter(|_| !is_remote) else { return };
        let (workspace, host) = (engine.setup().workspace.clone(), self.around.host.clone());
        let walk = tokio::task::spawn_blocking(move || {
            let files = host.files(&workspace).into_iter();
            files.map(|name| Item::new(name, "")).collect()
        });
        self.waiting.push(Box::pin(async move { Done::Files(walk.await.unwrap_or_default()) }));
    }

    /// Accepts the selected completion; returns whether there was one.
    pub(super) fn accept(&mut self) -> bool {
        let Some(Completion { list, of }) = self.mode.completion().and_then(Option::take) else {
            return false;
        };
        let Some(item) = list.chosen() else { return false };
        match of {
            Completed::Command => self.input.set(&format!("{} ", item.value)),
            Completed::Offer(start) => {
                self.offered = None;
                self.input.replace_from(start, &item.value);
            }
            Completed::File => {
                let attached = self.attachment(&item.value);
                self.input.replace_word(&mention(&item.value), attached);
            }
        }
        true
    }

    /// The attachment for a file of the workspace that a prompt names: a picture, or a PDF if the model accepts
    /// documents.
    fn attachment(&self, name: &str) -> Option<Attached> {
        let setup = self.engine.as_ref()?.setup();
        let file = setup.workspace.join(name);
        let is_pdf = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("pdf"));
        match is_pdf && setup.model.documents {
            true => file.is_file().then_some(Attached::Document(file)),
            false => picture(&file).map(Attached::File),
        }
    }

    /// The attachments for files that the text names as `@NAME` or `@"NAME"` without the list of files. A project's
    /// command may have written the name, so files outside of the workspace are not attached.
    pub(super) fn named_in(&self, text: &str) -> Vec<Attached> {
        let Some(engine) = &self.engine else { return Vec::new() };
        let Ok(workspace) = engine.setup().workspace.canonicalize() else { return Vec::new() };
        let is_inside =
            |name: &&str| workspace.join(name).canonicalize().is_ok_and(|file| file.starts_with(&workspace));
        let names = text.split_whitespace().filter_map(|word| word.strip_prefix('@'));
        let names = names.map(|name| name.trim_end_matches([',', '.', ':', ';', '?', '!', ')']));
        let quoted = text.split("@\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0));
        names.chain(quoted).filter(is_inside).filter_map(|name| self.attachment(name)).collect()
    }
}
