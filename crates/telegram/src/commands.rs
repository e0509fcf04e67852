//! [`parsed`]: messages that begin with a `/`: commands for the bot itself, not for the model.
use super::{
    asking::{Button, keyboard},
    chat::Chat,
    files,
    outbox::Job,
    rich::{Rich, Style},
};
use haft_core::{Command, Fact, JobStatus, Usage, undo};
use haft_engine::Summary;
use haft_present::{
    safe,
    typed::{Meant, Typed},
};

/// The commands, as Telegram lists them while the user types.
pub(super) const COMMANDS: [(&str, &str); 17] = [
    ("help", "show the commands"),
    ("new", "begin a new conversation"),
    ("stop", "stop what is going on"),
    ("plan", "plan, and change nothing until you accept the plan: /plan PROMPT"),
    ("goal", "work until a check succeeds: /goal TEXT --proof COMMAND; /goal clear gives it up"),
    ("memory", "propose what past sessions show for AGENTS.md"),
    ("undo", "choose the last turn or a call to undo; /undo NUMBER undoes that call"),
    ("redo", "redo the last undo"),
    ("outbox", "what is queued; /outbox send NUMBER sends it, /outbox drop NUMBER ends it"),
    ("file", "send a file of the workspace: /file PATH"),
    ("jobs", "jobs, and how they stand"),
    ("model", "the model; /model PROVIDER/MODEL takes another one for the next conversation"),
    ("sessions", "conversations of this workspace"),
    ("join", "go on with a conversation: /join ID"),
    ("compact", "summarize the conversation so far"),
    ("cost", "what this conversation has cost"),
    ("start", "a greeting"),
];

/// Maximum number of listed jobs, sessions or calls.
pub(super) const MAX_LISTED: usize = 8;

/// The name and the rest of `/NAME@BOT REST`; `None` if it is not a command, or a command for another bot.
pub(super) fn parsed<'a>(text: &'a str, bot: &str) -> Option<(&'a str, &'a str)> {
    let said = text.trim().strip_prefix('/')?;
    let (name, rest) = said.split_once(char::is_whitespace).unwrap_or((said, ""));
    let name = match name.split_once('@') {
        Some((name, other)) if other.eq_ignore_ascii_case(bot) => name,
        Some(_) => return None,
        None => name,
    };
    Some((name, rest.trim()))
}

/// Whether the bot itself handles the command.
pub(super) fn is_known(name: &str) -> bool {
    COMMANDS.iter().any(|(known, _)| *known == name)
}

impl Chat {
    /// Carries out a command that [`is_known`].
    pub(super) async fn run_job(&mut self, name: &str, rest: &str) {
        match name {
            "start" | "help" => self.help(),
            "new" => self.begin_anew(),
            "stop" => self.stop(),
            "plan" | "goal" | "memory" | "outbox" => self.typed(name, rest).await,
            "undo" => self.undo(rest).await,
            "redo" => self.redo().await,
            "file" => self.send_file(rest),
            "jobs" => self.jobs().await,
            "model" => self.model(rest).await,
            "sessions" => self.sessions().await,
            "join" => self.join(rest).await,
            "compact" => self.compact().await,
            "cost" => self.cost().await,
            _ => {}
        }
    }

    fn help(&self) {
        let mut text = Rich::default().with("Say what to do, in words, with pictures or with files.", &[]);
        text.push(&format!("\nI work in {}.\n", self.bot.engine.setup().workspace.display()), &[]);
        for (name, what) in COMMANDS.iter().filter(|(name, _)| *name != "start") {
            text.push(&format!("\n/{name} – {what}"), &[]);
        }
        for (name, what) in self.bot.prompts() {
            text.push(&format!("\n/{name} – {what}"), &[]);
        }
        self.outbox.push(Job::Say { text, keyboard: None });
    }

    fn begin_anew(&mut self) {
        self.leave();
        let model = self.state().wish;
        let with = model.map(|model| format!(" with {model}")).unwrap_or_default();
        self.outbox.say(format!("A new conversation{with}: what is to be done?"));
    }

    /// Runs a command that all front-ends have.
    async fn typed(&mut self, name: &str, rest: &str) {
        let Some(typed) = Typed::named(name, rest) else {
            return self.outbox.say(format!("/{name} takes no text."));
        };
        let steers = matches!(typed, Typed::Plan(_));
        if self.outbox.is_running() && !steers {
            return self.outbox.say("Something is going on: /stop it first, or wait.");
        }
        let session = match self.session().await {
            Ok(session) => session,
            Err(why) => return self.outbox.say(why),
        };
        match typed.meant(&session, self.bot.engine.setup()) {
            Ok(Meant { commands, note }) => {
                note.into_iter().for_each(|note| self.outbox.say(format!("{note}.")));
                let sent = commands.into_iter().all(|command| self.send(self.said_here(command)));
                if !sent {
                    self.outbox.say("The conversation is closed: please say it again.");
                }
            }
            Err(why) => self.outbox.say(format!("{why}.")),
        }
    }

    /// Adds this chat to a prompt, as its origin.
    fn said_here(&self, command: Command) -> Command {
        match command {
            Command::Prompt { parts, .. } => Command::Prompt { parts, channel: Some(self.channel(&[])) },
            command => command,
        }
    }

    fn stop(&mut self) {
        let is_busy = self.outbox.is_running() || self.undoing.is_some();
        let is_sent = is_busy && self.send(Command::Interrupt);
        if !is_sent {
            self.outbox.say("Nothing is going on.");
        }
    }

    async fn redo(&mut self) {
        let Some(session) = self.quiet_session().await else { return };
        match undo::last_undo(&session.entries()) {
            Some(_) => drop(self.send(Command::Redo)),
            None => self.outbox.say("There is nothing to redo."),
        }
    }

    async fn compact(&mut self) {
        if self.quiet_session().await.is_some() {
            self.send(Command::Compact);
        }
    }

    fn send_file(&self, path: &str) {
        if path.is_empty() {
            return self.outbox.say("Which one? /file PATH sends a file of the workspace.");
        }
        match files::of_workspace(self.bot.engine.setup(), path) {
            Ok((name, bytes)) => self.outbox.push(Job::File { name, bytes }),
            Err(why) => self.outbox.say(why),
        }
    }

    async fn jobs(&mut self) {
        let (home, workspace) =
            (self.bot.engine.setup().home.clone(), self.bot.engine.setup().workspace.clone());
        let listed = tokio::task::spawn_blocking(move || {
            let mut jobs = home.jobs();
            jobs.retain(|(_, standing)| standing.order.origin == workspace);
            jobs
        });
        let mut text = Rich::default();
        for (id, standing) in listed.await.unwrap_or_default().into_iter().take(MAX_LISTED) {
            let title: String =
                standing.order.description.lines().next().unwrap_or_default().chars().take(60).collect();
            let progress: String =
                standing.progress.lines().next().unwrap_or_default().chars().take(80).collect();
            let mut line =
                Rich::default().with(sign(standing.status), &[]).with(&safe::name(&title), &[Style::Bold]);
            line.push(&format!("\n{} {}, {progress}\n", standing.order.kind, standing.status), &[]);
            line.push(&id.0, &[Style::Code]);
            text.block(line, "\n\n");
        }
        match text.is_empty() {
            true => self.outbox.say("There are no jobs in this workspace."),
            false => self.outbox.push(Job::Say { text, keyboard: None }),
        }
    }

    async fn model(&mut self, spec: &str) {
        let state = self.state();
        let usual = self.bot.engine.setup().model.spec.clone();
        if spec.is_empty() {
            let now = state.model.unwrap_or_else(|| usual.clone());
            let next = state.wish.unwrap_or(usual);
            let next = if next == now { String::new() } else { format!(" The next one: {next}.") };
            return self.outbox.say(format!("The model of this conversation: {now}.{next}"));
        }
        if spec != usual && is_a_file(spec) {
            return self.outbox.say(format!("`{spec}` names a file: only who starts the bot can take it."));
        }
        match self.bot.engine_with(spec).await {
            Ok(_) => {
                let wish = (spec != usual).then(|| spec.to_owned());
                self.keep(|chat| chat.wish = wish);
                self.outbox.say(format!("{spec} from the next conversation on: /new begins it."));
            }
            Err(why) => self.outbox.say(format!("{why}.")),
        }
    }

    async fn sessions(&mut self) {
        let (home, workspace) =
            (self.bot.engine.setup().home.clone(), self.bot.engine.setup().workspace.clone());
        let listed = tokio::task::spawn_blocking(move || {
            let mut sessions = home.list();
            sessions.retain(|session| session.workspace == workspace && session.delegated_by.is_none());
            sessions.sort_by_key(|session| std::cmp::Reverse(session.last_at));
            sessions
        });
        let listed: Vec<Summary> = listed.await.unwrap_or_default().into_iter().take(MAX_LISTED).collect();
        if listed.is_empty() {
            return self.outbox.say("There are no conversations in this workspace yet.");
        }
        let now = self.state().session;
        let mut text = Rich::default().with("Conversations in this workspace", &[Style::Bold]);
        let mut rows = Vec::new();
        for session in listed {
            let title = safe::name(&session.title);
            let title = if title.is_empty() { "(nothing was said)" } else { &title };
            let here = if now.as_ref() == Some(&session.id.0) { " (this one)" } else { "" };
            text.push(&format!("\n{}{here}: {title}", session.id), &[]);
            if here.is_empty() {
                rows.push(vec![(title.to_owned(), Button::Session(session.id.0))]);
            }
        }
        let keyboard = (!rows.is_empty()).then(|| keyboard(rows));
        self.outbox.push(Job::Say { text, keyboard });
    }

    async fn cost(&mut self) {
        let Some(session) = self.session_if_any().await else { return };
        let (mut usage, mut usd) = (Usage::default(), Some(0.0));
        for entry in session.entries() {
            if let Fact::TurnEnded { usage: turn, cost_usd, .. } = &entry.fact {
                usage += *turn;
                usd = usd.zip(*cost_usd).map(|(usd, turn)| usd + turn);
            }
        }
        let cost = usd.map_or("its price is not known".into(), |usd| format!("${usd:.4}"));
        self.outbox.say(format!("{} tokens so far; {cost}.", usage.total()));
    }
}

/// Whether a model is named by a file: chats may not explore the machine's files.
fn is_a_file(spec: &str) -> bool {
    match spec.split_once('/') {
        Some(("script", _)) => true,
        Some(("exec" | "local", name)) => name.contains(['/', '\\']) || name.starts_with(['.', '~']),
        _ => false,
    }
}

fn sign(status: JobStatus) -> &'static str {
    match status {
        JobStatus::Pending | JobStatus::Waiting => "… ",
        JobStatus::Running => "● ",
        JobStatus::Completed => "✓ ",
        JobStatus::Failed | JobStatus::Cancelled => "✗ ",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_for_us_or_for_another_bot() {
        let table = [
            ("/new", Some(("new", ""))),
            ("/model@Me_bot openai/x ", Some(("model", "openai/x"))),
            ("/stop@other_bot", None),
            ("new", None),
            ("/fix\nall of it", Some(("fix", "all of it"))),
        ];
        for (text, expected) in table {
            assert_eq!(parsed(text, "me_bot"), expected, "{text}");
        }
    }
}
