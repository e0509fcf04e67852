//! [`run`]: runs a conversation line by line, without a full screen, for pipes, dumb terminals and screen readers.
mod panels;
mod reader;

use crate::{
    Exit,
    console::{self, Sent, SlashAction},
    host::{Surroundings, config_lines},
    print::{Options, Output, Printer},
    signals::Interrupts,
};
use haft_core::{Command, Entry, Fact, Mode, OpenGoal, Running, Seq};
use haft_engine::{Engine, Remote, Session, checked_root};
use haft_present::host::{Conversation, OpenRequest};
use haft_present::{
    cursor::next,
    goal::{self, GoalCommand},
    memory, safe, timeline,
    typed::{Meant, Typed},
    undo::{UndoWish, undo_calls, undoable},
};
use panels::view_of;
use reader::{Before, Reader};
use std::{
    io::{Write, stderr, stdout},
    path::Path,
    sync::Arc,
};

/// Runs the conversation until the user leaves with `exit` or at the end of the input.
pub async fn run(
    around: Surroundings,
    opened: Conversation,
    options: &Options,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Exit> {
    let chat = &options.chat;
    // With JSON output, standard output gets only objects.
    let is_text = options.output == Output::Text;
    let prompt = chat.prompt.clone().unwrap_or_else(|| "> ".into());
    let prompt = if is_text { prompt } else { String::new() };
    let reader = Reader::new(&around)?;
    let told = untold(&opened.session);
    let mut talk = Talk {
        around,
        open: None,
        effort: None,
        told,
        open_request: OpenRequest::default(),
        options,
        interrupts,
    };
    talk.take(opened)?;
    if is_text {
        print_now(chat.banner.as_deref().unwrap_or("Type `/help` for commands, `exit` to leave.\n"))?;
    }
    let talked = talk.until_left(reader, &prompt).await;
    let left = talk.open.as_ref().and_then(|(_, session)| how_to_resume(session));
    talk.leave().await;
    if let Some(left) = left.filter(|_| options.can_ask && is_text && !options.style.quiet) {
        writeln!(stderr(), "{left}")?;
    }
    match talked {
        // The terminal is gone, so the error is not printed.
        Err(_) if talk.interrupts.has_hung_up() => Ok(Exit::Interrupted),
        talked => talked.map(|()| Exit::Success),
    }
}

/// The hint at the end of a conversation that is not empty.
pub(crate) fn how_to_resume(session: &Session) -> Option<String> {
    if let Some(remote) = Remote::of(session) {
        return Some(format!("To attach again: haft attach '{}'", remote.address));
    }
    let is_prompt = |entry: &Arc<Entry>| matches!(entry.fact, Fact::Prompted { .. });
    let began = session.entries().iter().any(is_prompt);
    began.then(|| format!("To continue this conversation: haft resume {}", session.id()))
}

/// The first entry to show: the first one of a new session, otherwise the next one.
fn untold(session: &Session) -> Seq {
    let is_new = session.entries().len() == 1;
    if is_new { Seq(0) } else { next(session) }
}

struct Talk<'a> {
    around: Surroundings,
    open: Option<(Engine, Session)>,
    /// The reasoning effort, if it was chosen.
    effort: Option<String>,
    /// The position up to which events were shown. Events that arrive while the user types are shown afterwards.
    told: Seq,
    open_request: OpenRequest,
    options: &'a Options,
    interrupts: &'a mut Interrupts,
}

impl Talk<'_> {
    async fn until_left(&mut self, mut reader: Reader, prompt: &str) -> anyhow::Result<()> {
        let before = Before::now(&reader);
        while !self.interrupts.must_end() {
            let (line, back) = tokio::select! {
                read = reader::read(reader, prompt.to_owned()) => read?,
                () = self.interrupts.next() => {
                    before.restore();
                    return Ok(());
                }
            };
            reader = back;
            let Some(line) = line else { break };
            let said = line.trim();
            if self.leaves(said) {
                break;
            }
            self.say(said).await?;
        }
        Ok(())
    }

    async fn say(&mut self, said: &str) -> anyhow::Result<()> {
        self.follow(None).await?;
        if let Some(command) = said.strip_prefix('!').filter(|command| !command.trim().is_empty()) {
            return match self.is_only_there("a person's own commands run")? {
                true => Ok(()),
                false => self.turn(console::typed(command)).await,
            };
        }
        match console::parse_with(said, &self.around.prompts) {
            Some(action) => self.act(action).await,
            None if said.is_empty() => Ok(()),
            None => {
                let expanded =
                    if said.starts_with('/') { self.around.expand(said) } else { Ok(said.to_owned()) };
                match expanded {
                    Ok(text) => self.turn(console::prompt(&text)).await,
                    Err(why) => note(&format!("error: {why}")),
                }
            }
        }
    }

    /// Runs a turn, with the texts of the profile before and after it.
    async fn turn(&mut self, command: Command) -> anyhow::Result<()> {
        if self.open.is_none() {
            return note("no session is open; start one with `/new`");
        }
        let chat = &self.options.chat;
        let (before, after) = match (&chat.reply, self.options.output) {
            (Some(reply), Output::Text) => (reply.as_str(), "\n\n"),
            (None, Output::Text) => ("", "\n"),
            (_, Output::Json | Output::StreamJson | Output::Activity | Output::Answer | Output::Nothing) => {
                ("", "")
            }
        };
        print_now(before)?;
        if let Some(mut printer) = self.printer() {
            printer.turn(command).await?;
        }
        print_now(after)?;
        Ok(())
    }

    async fn follow(&mut self, command: Option<Command>) -> anyhow::Result<Exit> {
        let Some(mut printer) = self.printer() else { return Ok(Exit::Success) };
        printer.follow(command).await
    }

    fn printer(&mut self) -> Option<Printer<'_>> {
        let (_, session) = self.open.as_ref()?;
        Some(Printer { session, options: self.options, interrupts: self.interrupts, next: &mut self.told })
    }

    async fn act(&mut self, action: SlashAction) -> anyhow::Result<()> {
        match action {
            SlashAction::Help => self.help(),
            SlashAction::Switch(target) => self.reopen(target.of(self.open_request.clone())).await,
            SlashAction::Send(sent) => self.send(sent).await,
            SlashAction::Prompt(text) => self.turn(console::prompt(&text)).await,
            SlashAction::Sessions => self.sessions().await,
            SlashAction::Models => list(self.around.host.models(), "/model SPEC [EFFORT]"),
            SlashAction::Agents => self.agents(),
            SlashAction::Cost => self.cost(),
            SlashAction::Mode(name) => self.mode(Some(&name)).await,
            SlashAction::Modes => self.mode(None).await,
            SlashAction::AddDir(folder) => self.add_folder(&folder).await,
            SlashAction::Plan(text) => self.plan(text).await,
            SlashAction::Goal(said) => self.goal(&said.unwrap_or_default()).await,
            SlashAction::Remember(text) => self.remember(&text).await,
            SlashAction::Memory => self.memory().await,
            SlashAction::Fork => self.fork().await,
            SlashAction::Rename(name) => self.rename(&name).await,
            SlashAction::UndoCall(text) => self.undo_call(&text).await,
            SlashAction::Outbox(text) => self.outbox(text.unwrap_or_default()).await,
            SlashAction::Export(_)
            | SlashAction::Context
            | SlashAction::Permissions
            | SlashAction::Mcp
            | SlashAction::Status
            | SlashAction::Diff => {
                let (open, effort) = (self.open.as_ref(), self.effort.as_deref());
                panels::show(&action, &self.around, open, effort, self.options.diffs).await
            }
            SlashAction::Config => {
                config_lines(&self.around.config_files).iter().try_for_each(|line| note(line))
            }
            SlashAction::LogIn(provider) => self.log_in(provider).await,
            SlashAction::Theme(_)
            | SlashAction::Thinking
            | SlashAction::Themes
            | SlashAction::Rewind
            | SlashAction::Tasks
            | SlashAction::Copy => note("only available on the screen that `haft` opens in a terminal"),
            // In a session that another process has open, `leaves` handles this command.
            SlashAction::Detach => note("this session is open in this terminal; `/quit` ends it"),
            SlashAction::Quit => Ok(()),
        }
    }

    /// Whether `said` ends the conversation.
    fn leaves(&self, said: &str) -> bool {
        let is_joined = self.open.as_ref().is_some_and(|(_, session)| session.is_joined());
        match console::parse(said) {
            Some(SlashAction::Quit) => true,
            Some(SlashAction::Detach) => is_joined,
            _ => said.eq_ignore_ascii_case("exit"),
        }
    }

    /// Whether the session is open on another machine. If so, prints that `what` is only possible there.
    fn is_only_there(&self, what: &str) -> anyhow::Result<bool> {
        let is_remote = self.open.as_ref().is_some_and(|(_, session)| Remote::of(session).is_some());
        if is_remote {
            note(&format!("error: {what} only on the machine that has the session open"))?;
        }
        Ok(is_remote)
    }

    fn take(&mut self, opened: Conversation) -> anyhow::Result<()> {
        let Conversation { engine, session, notices, effort } = opened;
        self.effort = effort;
        self.open_request.session = Some(session.id().0.clone());
        self.told = untold(&session);
        self.open = Some((engine, session));
        notices.iter().try_for_each(|notice| note(&format!("note: {notice}")))
    }

    /// Opens another session; if that fails, opens the current one again.
    async fn reopen(&mut self, request: OpenRequest) -> anyhow::Result<()> {
        if !self.leave().await {
            anyhow::bail!("interrupted before the session had closed");
        }
        let before = std::mem::replace(&mut self.open_request, request.clone());
        match self.around.open(request).await {
            Ok(opened) => {
                note(&format!(
                    "session {}, model {}",
                    opened.session.id(),
                    opened.engine.setup().model.spec
                ))?;
                self.take(opened)
            }
            Err(why) => {
                note(&format!("error: {why}"))?;
                self.open_request.clone_from(&before);
                let opened = self.around.open(before).await.map_err(anyhow::Error::msg)?;
                self.take(opened)
            }
        }
    }

    /// Closes the session. Returns false if an interrupt cut that off.
    async fn leave(&mut self) -> bool {
        let Some((engine, session)) = self.open.take() else { return true };
        let running = if session.is_joined() { Vec::new() } else { Running::of(&session.entries()) };
        drop(session);
        let is_closed = self.interrupts.or_leave(engine.shut_down()).await;
        for Running { job, title, .. } in running {
            let _terminal_is_gone =
                note(&format!("background task {} ended with the session: {}", job.0, safe::name(&title)));
        }
        is_closed
    }

    /// Asks for an API key if the user can type one, and lists the models.
    async fn log_in(&self, provider: Option<String>) -> anyhow::Result<()> {
        let Some(login) = self.around.login.as_ref().filter(|_| self.options.can_ask) else {
            return note(
                "there is no terminal to type a key at; `haft login PROVIDER` reads one from standard input",
            );
        };
        match login(provider).await {
            Ok(true) => list(self.around.host.models(), "/model SPEC [EFFORT]"),
            Ok(false) => Ok(()),
            Err(why) => note(&format!("error: {why}")),
        }
    }

    fn help(&self) -> anyhow::Result<()> {
        list(console::all(&self.around.prompts), "exit")
    }

    async fn sessions(&self) -> anyhow::Result<()> {
        let Some((engine, _)) = &self.open else { return Ok(()) };
        let setup = engine.setup();
        let listed = match self.around.host.remote().map(|remote| async move { remote.list().await }) {
            None => {
                setup.home.list().into_iter().filter(|known| known.workspace == setup.workspace).collect()
            }
            Some(listed) => match listed.await {
                Ok(listed) => listed,
                Err(why) => return note(&format!("error: {why}")),
            },
        };
        let own = listed.into_iter().filter(|known| known.delegated_by.is_none());
        let own = own.filter(|known| !known.title.is_empty());
        list(
            own.map(|known| (known.id.0, haft_present::safe::name(&known.title).into_owned())).collect(),
            "/sessions ID",
        )
    }

    fn agents(&self) -> anyhow::Result<()> {
        let Some((engine, _)) = &self.open else { return Ok(()) };
        let agents = engine.setup().agents.iter();
        list(agents.map(|agent| (agent.name.clone(), agent.description.clone())).collect(), "/agent NAME")
    }

    /// Continues in a copy of the session.
    async fn fork(&mut self) -> anyhow::Result<()> {
        let Some((engine, session)) = &self.open else { return Ok(()) };
        if let Some(remote) = self.around.host.remote() {
            return match remote.fork(&session.id().0).await {
                Ok(copy) => {
                    self.reopen(OpenRequest { session: Some(copy), ..self.open_request.clone() }).await
                }
                Err(why) => note(&format!("error: {why}")),
            };
        }
        match engine.setup().home.fork(&session.id().0, None) {
            Ok(copy) => self.reopen(OpenRequest { session: Some(copy.0), ..self.open_request.clone() }).await,
            Err(error) => note(&format!("error: {error}")),
        }
    }

    async fn rename(&self, name: &str) -> anyhow::Result<()> {
        let Some((engine, session)) = &self.open else { return Ok(()) };
        if let Some(remote) = self.around.host.remote() {
            return match remote.rename(&session.id().0, name).await {
                Ok(()) => note(&format!("renamed this session to `{name}`")),
                Err(why) => note(&format!("error: {why}")),
            };
        }
        match engine.setup().home.rename(&session.id().0, name) {
            Ok(_) => note(&format!("renamed this session to `{name}`")),
            Err(error) => note(&format!("error: {error}")),
        }
    }

    async fn send(&mut self, sent: Sent) -> anyhow::Result<()> {
        let entries = self.open.as_ref().map(|(_, session)| session.entries()).unwrap_or_default();
        match sent.command(&entries) {
            Ok(command @ (Command::Rewind { .. } | Command::Redo)) => self.move_files(command).await,
            Ok(command) => self.turn(command).await,
            Err(why) => note(why),
        }
    }

    async fn move_files(&mut self, command: Command) -> anyhow::Result<()> {
        if self.follow(Some(command)).await? == Exit::Interrupted {
            return Ok(());
        }
        let entries = self.open.iter().flat_map(|(_, session)| session.entries().into_iter().rev());
        let files = entries.filter_map(|entry| timeline::moved_by(&entry.fact)).next();
        files.into_iter().flatten().try_for_each(|file| note(&file))
    }

    /// Undoes the calls that `text` names, or lists the calls.
    async fn undo_call(&mut self, text: &str) -> anyhow::Result<()> {
        let Some((_, session)) = &self.open else { return Ok(()) };
        let undo = match UndoWish::read(text) {
            Ok(UndoWish::LastTurn) => return self.send(Sent::Undo).await,
            Ok(UndoWish::Calls(undo)) => undo,
            Ok(UndoWish::List) => {
                let calls = undoable(&session.entries());
                let nothing = calls.is_empty().then(|| note("no call changed files"));
                let lines = calls.iter().map(|call| note(&call.to_string()));
                return nothing.into_iter().chain(lines).collect();
            }
            Err(why) => return note(&format!("error: {why}")),
        };
        let calls = undo.calls.clone();
        let undoing = undo_calls(session, undo);
        tokio::pin!(undoing);
        let undone = loop {
            tokio::select! {
                undone = &mut undoing => break undone,
                () = self.interrupts.next() => drop(session.send(Command::Interrupt)),
            }
        };
        match undone {
            Err(refusal) => note(&format!("error: {}", refusal.about(&calls))),
            Ok(entry) => {
                timeline::moved_by(&entry.fact).into_iter().flatten().try_for_each(|file| note(&file))
            }
        }
    }

    async fn mode(&mut self, name: Option<&str>) -> anyhow::Result<()> {
        let Some((_, session)) = &self.open else { return Ok(()) };
        let known = Mode::ALL.into_iter().filter(|mode| *mode <= session.ceiling());
        match name.and_then(Mode::named).filter(|mode| *mode <= session.ceiling()) {
            Some(mode) => self.follow(Some(Command::SetMode { mode })).await.map(drop),
            None => {
                let known = known.map(Mode::name).collect::<Vec<_>>().join(", ");
                note(&format!("mode `{}`; available: {known} (/mode NAME)", session.mode().name()))
            }
        }
    }

    async fn add_folder(&mut self, folder: &str) -> anyhow::Result<()> {
        if self.is_only_there("a folder is added")? {
            return Ok(());
        }
        let Some((engine, _)) = &self.open else { return Ok(()) };
        match checked_root(engine.setup(), Path::new(folder)) {
            Ok(root) => self.follow(Some(Command::AddRoot { root })).await.map(drop),
            Err(why) => note(&format!("error: cannot add `{folder}`: {why}")),
        }
    }

    /// Enters plan mode: nothing is changed until a plan is accepted.
    async fn plan(&mut self, text: Option<String>) -> anyhow::Result<()> {
        let Some((_, session)) = &self.open else { return Ok(()) };
        let (mode, ceiling) = (session.mode(), session.ceiling());
        if mode != Mode::Plan {
            self.mode(Some(Mode::Plan.name())).await?;
        }
        match text.filter(|_| ceiling >= Mode::Plan) {
            Some(text) => self.turn(console::prompt(&text)).await,
            None => Ok(()),
        }
    }

    async fn goal(&mut self, said: &str) -> anyhow::Result<()> {
        let Some((engine, session)) = &self.open else { return Ok(()) };
        let command = match GoalCommand::parse(said) {
            Ok(command) => command,
            Err(why) => return note(&format!("error: {why}")),
        };
        let open_goal = OpenGoal::of(&session.entries());
        match command {
            GoalCommand::Show => note(&goal::line(open_goal.as_ref())),
            GoalCommand::Clear if open_goal.is_none() => note(&goal::line(None)),
            GoalCommand::Clear => self.follow(Some(Command::SetGoal { goal: None })).await.map(drop),
            GoalCommand::Set { text, check, attempts, choose } => {
                let goal = match goal::set(text.clone(), check, (attempts, choose), (session, engine.setup()))
                {
                    Ok(goal) => Some(goal),
                    Err(why) => return note(&format!("error: {why}")),
                };
                self.follow(Some(Command::SetGoal { goal })).await?;
                self.turn(console::prompt(&text)).await
            }
        }
    }

    async fn outbox(&mut self, text: String) -> anyhow::Result<()> {
        let Some((engine, session)) = &self.open else { return Ok(()) };
        let Meant { commands, note: listed } = match Typed::Outbox(text).meant(session, engine.setup()) {
            Ok(meant) => meant,
            Err(why) => return note(&format!("error: {why}")),
        };
        listed.iter().flat_map(|listed| listed.lines()).try_for_each(note)?;
        for command in commands {
            self.follow(Some(command)).await?;
        }
        Ok(())
    }

    /// Proposes a line for the notes of the workspace.
    async fn remember(&mut self, text: &str) -> anyhow::Result<()> {
        let Some((_, session)) = &self.open else { return Ok(()) };
        match memory::proposal_of(text, session) {
            Some(command) => self.turn(command).await,
            None => note(memory::UNUSABLE),
        }
    }

    /// Proposes notes for the workspace from its journals.
    async fn memory(&mut self) -> anyhow::Result<()> {
        if self.is_only_there("past sessions are read")? {
            return Ok(());
        }
        let Some((engine, _)) = &self.open else { return Ok(()) };
        let setup = engine.setup();
        let known = match setup.home.memory(&setup.workspace) {
            Ok(known) => known,
            Err(error) => return note(&format!("error: {}", memory::unreadable(&error))),
        };
        let Some(command) = memory::proposal(&known) else { return note(memory::NOTHING) };
        memory::reasons(&known.change()).iter().try_for_each(|reason| note(reason))?;
        self.turn(command).await
    }

    fn cost(&self) -> anyhow::Result<()> {
        let Some((_, session)) = &self.open else { return Ok(()) };
        let usage = timeline::usage(&session.entries());
        let cost = view_of(session).cost_usd.or((usage.total() == 0).then_some(0.0));
        let cost = cost.map_or_else(|| "unknown".into(), |cost| format!("${cost:.4}"));
        note(&format!("{} tokens in, {} out; cost: {cost}", usage.total() - usage.output, usage.output))
    }
}

fn list(rows: Vec<(String, String)>, how: &str) -> anyhow::Result<()> {
    rows.iter().try_for_each(|(name, what)| note(&format!("  {name:<28} {what}")))?;
    note(&format!("  ({how})"))
}

/// Prints a note to standard error.
fn note(text: &str) -> anyhow::Result<()> {
    writeln!(stderr(), "{}", haft_present::safe::text(text))?;
    Ok(())
}

fn print_now(text: &str) -> std::io::Result<()> {
    write!(stdout(), "{text}")?;
    stdout().flush()
}
