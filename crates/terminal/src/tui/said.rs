//! Carries out the typed text.
use super::{
    app::{App, Done, Hint},
    input::Attached,
};
use crate::{
    bars::tokens,
    console::{self, Sent, SlashAction, typed},
    history, picture,
};
use haft_core::{Command, Mode, Part, dollars};
use haft_engine::{Session, checked_root};
use haft_present::{
    goal::{self, GoalCommand},
    host::Problem,
    memory, safe,
    typed::{Meant, Typed},
};
use std::path::Path;

impl App {
    /// Sends the typed prompt, or runs the typed command.
    pub(super) fn submit(&mut self) {
        if self.input.text().trim().is_empty() || self.input.goes_on() {
            return;
        }
        if !self.waiting.is_empty() && self.session.is_none() {
            self.hint = Some(Hint::Lasting(match self.submitted_early {
                None => {
                    self.submitted_early = Some(self.input.put_aside());
                    "opening …; what you entered is sent then"
                }
                Some(_) => "opening …; what you entered before is sent then, this is not",
            }));
            return;
        }
        let folded = self.input.text();
        let (text, pictures) = self.input.take();
        if folded != text {
            self.folded.push((safe::text(text.trim()).into_owned(), folded.trim().to_owned()));
        }
        if let Some(path) = &self.around.history
            && let Err(error) = history::append(path, &text)
        {
            tracing::warn!(%error, "cannot keep what was typed");
        }
        self.typed = None;
        self.complete();
        match console::parse_with(&text, &self.around.prompts) {
            Some(action) => self.run(action),
            None => self.say(text.trim(), pictures),
        }
    }

    /// Submits what was entered while the session was opening.
    pub(super) fn submit_early(&mut self) {
        if let Some(early) = self.submitted_early.take() {
            let typed = self.input.put_aside();
            self.input.restore(early);
            self.submit();
            self.input.restore(typed);
            self.complete();
        }
    }

    /// Returns the submitted text to the field, since its session could not be opened.
    pub(super) fn give_back_early(&mut self) {
        let Some(early) = self.submitted_early.take() else { return };
        if self.input.is_empty() {
            self.input.restore(early);
        } else {
            self.input.remember(early);
            self.hint = Some("what you entered was not sent; press Up in the first line for it".into());
        }
    }

    /// The text of a sent prompt with its pastes folded.
    pub(super) fn as_it_was_typed(&self, said: &str) -> Option<String> {
        // A hook may have appended text to the prompt.
        let rest =
            |(whole, folded): &(String, String)| Some(format!("{folded}{}", said.strip_prefix(whole)?));
        self.folded.iter().rev().find_map(rest)
    }

    fn say(&mut self, text: &str, pictures: Vec<Attached>) {
        if text.eq_ignore_ascii_case("exit") {
            return self.quit();
        }
        if let Some(command) = text.strip_prefix('!') {
            if self.must_wait() || self.is_only_there("a person's own commands run") {
                return;
            }
            return self.send(typed(command));
        }
        let expanded = if text.starts_with('/') { self.around.expand(text) } else { Ok(text.to_owned()) };
        match expanded {
            Ok(prompt) => self.prompt(prompt, pictures),
            Err(why) => {
                if let Some(misused) = console::misused(text) {
                    return self.fail(misused, Some("`/help` lists all".to_owned()));
                }
                let near =
                    console::near(text).map(|near| format!("did you mean `/{near}`? `/help` lists all"));
                let (message, hint) = why.split_once("\nhint: ").unwrap_or((&why, ""));
                let hint = Some(hint.to_owned()).filter(|hint| !hint.is_empty());
                self.fail(message.to_owned(), near.or(hint));
            }
        }
    }

    fn prompt(&mut self, prompt: String, pictures: Vec<Attached>) {
        let pictures = pictures.into_iter().chain(self.named_in(&prompt));
        let (mut parts, mut documents) = (Vec::new(), Vec::new());
        for picture in pictures {
            let read = match picture {
                Attached::File(path) => picture::read(&path),
                Attached::Image(image) => Ok(image),
                Attached::Document(path) => {
                    documents.push(path);
                    continue;
                }
            };
            match read {
                Ok(picture) => parts.push(Part::Image(picture)),
                Err(why) => return self.fail(why, None),
            }
        }
        parts.insert(0, Part::text(prompt));
        if documents.is_empty() {
            return self.send(Command::Prompt { parts, channel: None });
        }
        self.hint = Some(Hint::Lasting("reading the PDF …"));
        let host = self.around.host.clone();
        self.waiting.push(Box::pin(async move {
            for path in documents {
                match host.document(&path).await {
                    Ok(document) => parts.push(document),
                    Err(problem) => return Done::Read(Err(problem)),
                }
            }
            Done::Read(Ok(parts))
        }));
    }

    /// Sends a prompt whose documents have been read.
    pub(super) fn documents_read(&mut self, read: Result<Vec<Part>, Problem>) {
        self.hint = None;
        match read {
            Ok(parts) => self.send(Command::Prompt { parts, channel: None }),
            Err(Problem { message, suggestion, .. }) => self.fail(message, suggestion),
        }
    }

    /// Whether a command cannot run yet: it would run only after the turn, when the user has forgotten it.
    pub(super) fn must_wait(&mut self) -> bool {
        let is_busy = self.busy_since().is_some();
        if is_busy {
            self.hint = Some("a turn is running; press Esc to interrupt it".into());
        }
        is_busy
    }

    pub(super) fn send_after_turn(&mut self, sent: Sent) {
        if self.must_wait() {
            return;
        }
        match sent.command(&self.entries().unwrap_or_default()) {
            Ok(command) => self.send(command),
            Err(why) => self.note(why),
        }
    }

    fn run(&mut self, action: SlashAction) {
        match action {
            SlashAction::Switch(target) => self.open(target.of(self.open_request.clone())),
            SlashAction::Send(sent) => self.send_after_turn(sent),
            SlashAction::Prompt(text) => self.prompt(text, Vec::new()),
            SlashAction::Sessions => self.pick_session(),
            SlashAction::Models => self.pick_model(),
            SlashAction::Agents => self.pick_agent(),
            SlashAction::Themes => self.pick_theme(),
            SlashAction::Modes => self.pick_mode(),
            SlashAction::Theme(name) => self.theme(&name),
            SlashAction::Mode(name) => self.set_permission_mode(&name),
            SlashAction::Plan(text) => self.plan(text),
            SlashAction::Goal(said) => self.goal(&said.unwrap_or_default()),
            SlashAction::Remember(text) => self.remember(&text),
            SlashAction::Memory => self.memory(),
            SlashAction::Help => self.help(),
            SlashAction::Rewind => self.pick_prompt(),
            SlashAction::UndoCall(text) => self.undo_call(&text),
            SlashAction::Outbox(text) => self.outbox(text.unwrap_or_default()),
            SlashAction::Cost => self.cost(),
            SlashAction::Tasks => self.pick_job(),
            SlashAction::Copy => self.copy(),
            SlashAction::Fork => self.fork(),
            SlashAction::Rename(name) => self.rename(&name),
            SlashAction::Export(name) => self.export(name.as_deref()),
            SlashAction::Context => self.show_context(),
            SlashAction::AddDir(folder) => self.add_folder(&folder),
            SlashAction::Permissions => self.show_permissions(),
            SlashAction::Mcp => self.show_servers(),
            SlashAction::Status => self.show_status(),
            SlashAction::Diff => self.show_changes(),
            SlashAction::Config => self.show_config(),
            SlashAction::Thinking => self.toggle_thinking(),
            SlashAction::LogIn(provider) => self.log_in(provider),
            SlashAction::Quit => self.quit(),
            SlashAction::Detach => self.detach(),
        }
    }

    /// Sets the mode, which may not be wider than the project and the agent allow.
    pub(super) fn set_permission_mode(&mut self, name: &str) {
        let ceiling = self.session.as_ref().map(Session::ceiling).unwrap_or_default();
        match Mode::named(name) {
            Some(mode) if mode <= ceiling => self.send(Command::SetMode { mode }),
            Some(_) => self.fail(
                format!("mode `{name}` is not allowed here; the most permissive is `{}`", ceiling.name()),
                Some("the project or the agent sets this limit".into()),
            ),
            None => self.fail(
                format!("unknown mode `{name}`"),
                Some(format!("choose one of: {}", Mode::ALL.map(Mode::name).join(", "))),
            ),
        }
    }

    /// Adds a folder. This happens between two turns, so that all calls of a turn are judged alike.
    fn add_folder(&mut self, folder: &str) {
        if self.is_only_there("a folder is added") {
            return;
        }
        let Some(engine) = &self.engine else { return };
        let checked = checked_root(engine.setup(), Path::new(folder));
        match checked {
            _ if self.must_wait() => {}
            Ok(root) => self.send(Command::AddRoot { root }),
            Err(why) => self.fail(format!("cannot add `{folder}`: {why}"), None),
        }
    }

    /// Enters plan mode: nothing is changed until a plan is accepted.
    fn plan(&mut self, text: Option<String>) {
        let is_allowed = self.session.as_ref().is_some_and(|session| session.ceiling() >= Mode::Plan);
        if self.permission_mode() != Some(Mode::Plan) {
            self.set_permission_mode(Mode::Plan.name());
        }
        if let Some(text) = text.filter(|_| is_allowed) {
            self.prompt(text, Vec::new());
        }
    }

    fn goal(&mut self, said: &str) {
        let command = match GoalCommand::parse(said) {
            Ok(GoalCommand::Clear) if self.view.goal.is_none() => return self.note(&goal::line(None)),
            Ok(GoalCommand::Show) => return self.note(&goal::line(self.view.goal.as_ref())),
            Ok(command) => command,
            Err(why) => return self.fail(why, None),
        };
        if self.must_wait() {
            return;
        }
        let (Some(session), Some(engine)) = (&self.session, &self.engine) else { return };
        match command {
            GoalCommand::Show => {}
            GoalCommand::Clear => self.send(Command::SetGoal { goal: None }),
            GoalCommand::Set { text, check, attempts, choose } => {
                match goal::set(text.clone(), check, (attempts, choose), (session, engine.setup())) {
                    Ok(goal) => {
                        self.send(Command::SetGoal { goal: Some(goal) });
                        self.prompt(text, Vec::new());
                    }
                    Err(why) => self.fail(why, None),
                }
            }
        }
    }

    fn outbox(&mut self, text: String) {
        let (Some(session), Some(engine)) = (&self.session, &self.engine) else { return };
        match Typed::Outbox(text).meant(session, engine.setup()) {
            Ok(Meant { commands, .. }) if !commands.is_empty() && self.must_wait() => {}
            Ok(Meant { commands, note }) => {
                note.iter().flat_map(|note| note.lines()).for_each(|line| self.note(line));
                commands.into_iter().for_each(|command| self.send(command));
            }
            Err(why) => self.fail(why, None),
        }
    }

    /// Proposes a line for the notes of the workspace.
    fn remember(&mut self, text: &str) {
        if self.must_wait() {
            return;
        }
        let Some(session) = &self.session else { return };
        match memory::proposal_of(text, session) {
            Some(command) => self.send(command),
            None => self.fail(memory::UNUSABLE.to_owned(), None),
        }
    }

    /// Proposes notes for the workspace from its journals.
    fn memory(&mut self) {
        if self.must_wait() || self.is_only_there("past sessions are read") {
            return;
        }
        let Some(setup) = self.engine.as_ref().map(|engine| engine.setup()) else { return };
        let known = match setup.home.memory(&setup.workspace) {
            Ok(known) => known,
            Err(error) => return self.fail(memory::unreadable(&error), None),
        };
        let reasons = memory::reasons(&known.change());
        match memory::proposal(&known) {
            Some(command) => {
                reasons.iter().for_each(|reason| self.note(reason));
                self.send(command);
            }
            None => self.note(memory::NOTHING),
        }
    }

    /// The mode that the session recorded last, otherwise its initial mode.
    pub(super) fn permission_mode(&self) -> Option<Mode> {
        self.view.mode.or(self.session.as_ref().map(Session::mode))
    }

    /// Switches to the next permission mode that asks. `full` can only be set by a command, not by this key.
    pub(super) fn next_permission_mode(&mut self) {
        let (Some(session), Some(now)) = (&self.session, self.permission_mode()) else { return };
        let next = match now {
            Mode::ReadOnly => Mode::Plan.min(session.ceiling()),
            Mode::Plan if session.ceiling() > Mode::Plan => Mode::Ask,
            Mode::Ask if session.ceiling() > Mode::Ask => Mode::AcceptEdits,
            _ => Mode::ReadOnly,
        };
        self.set_permission_mode(next.name());
    }

    fn cost(&mut self) {
        let usage = self.view.usage;
        let cost = self.view.cost_usd.map_or("unknown".into(), dollars);
        let text = format!(
            "{} tokens in ({} from the cache), {} out; cost: {cost}",
            tokens(usage.input + usage.cache_read + usage.cache_write),
            tokens(usage.cache_read),
            tokens(usage.output),
        );
        self.note(&text);
    }

    /// Copies the last reply with the escape sequence `OSC 52`, which also works from another machine.
    fn copy(&mut self) {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        if self.view.last_reply.is_empty() {
            return self.note("no reply to copy yet");
        }
        self.raw += &format!("\x1b]52;c;{}\x07", STANDARD.encode(&self.view.last_reply));
        self.hint = Some("copied the last reply, if the terminal allows it".into());
    }
}
