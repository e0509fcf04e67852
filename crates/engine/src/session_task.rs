//! [`Task`]: the task of a session: carries out commands in order, and receives further commands meanwhile.
use crate::{
    journal::{Journal, JournalError, ownership::Ownership},
    session::{
        context::{Log, SessionContext},
        mailbox::CommandTicket,
        mailbox::SessionMessage,
        queue::{PromptQueue, Queued},
        responder::{Answering, answer_all},
    },
    setup::checked_root,
    socket::SessionSocket,
    turn::{background::drop_task, compact_now, keep_setup, open_turn, recover, rewind},
};
use futures::FutureExt;
use haft_call::{AnswerTaken, Answered, Interactions, NotUndone, Rehearsal, UndoPlan, last_words, plan_undo};
use haft_core::{
    AnswerSchema, BackgroundTasks, CallId, Change, Channel, Command, Direction, Fact, Part, Rewind, Seq,
    SessionOpened, ToolCall, UndoCalls, Update, outbox, undo,
};
use serde_json::Value;
use std::{collections::VecDeque, panic::AssertUnwindSafe, path::Path, sync::Arc};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// The task of a session, with its context, its log and its mailbox.
pub(crate) struct Task {
    pub(crate) session: SessionContext,
    pub(crate) log: Log,
    pub(crate) mailbox: mpsc::UnboundedReceiver<SessionMessage>,
    /// The sender of the mailbox: other code can create a handle while the task works.
    pub(crate) _kept_open: mpsc::UnboundedSender<SessionMessage>,
    /// Counts the handles.
    pub(crate) handles: watch::Sender<()>,
    pub(crate) stop: CancellationToken,
    /// Commands that arrived in the middle of a turn and have to wait for its end.
    pub(crate) later: VecDeque<(Command, CommandTicket)>,
    /// The socket through which other processes join; `None` if they cannot.
    pub(crate) socket: Option<SessionSocket>,
    /// Marks the session's folder as open in this process.
    pub(crate) ownership: Ownership,
    /// Answers questions on behalf of the program, in place of the user.
    pub(crate) answering: Arc<Answering>,
}

/// The origin of a call in place of the model.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallOrigin {
    /// A program, or a user through a program: the policy judges the call.
    Program,
    /// The user has typed the call.
    Typed,
    /// Haft proposes the call to the user.
    Proposed,
}

/// Work that takes time, so that commands may arrive meanwhile.
enum Work {
    /// A turn: the fact that opens it, and the JSON Schema of its last reply.
    Turn(Box<Fact>, Option<Value>),
    Compaction,
}

/// Why the journal could not be written, as the profile's text.
fn worded(error: &JournalError, session: &SessionContext) -> String {
    match &session.shared.setup.profile.reasons.save {
        Some(words) => words.replace("{why}", &error.to_string()),
        None => error.to_string(),
    }
}

/// Also closes the journal if the runtime ends before its tasks, so that followers of the session do not wait forever.
impl Drop for Task {
    fn drop(&mut self) {
        self.log.journal.close_if_open("the runtime of the program that had the session open has ended");
    }
}

/// The result of open calls of a turn that a crash ended, if another prompt follows.
const NOT_RUN_TEXT: &str = "the session was interrupted before it";

/// The update for followers if an undo of calls is refused.
fn undo_refused(why: &NotUndone) -> Update {
    let (depends, can_merge) = match why {
        NotUndone::InTheWay(plan) => (plan.depends.iter().map(|depends| depends.call).collect(), true),
        _ => (Vec::new(), false),
    };
    Update::UndoRefused { why: why.to_string(), depends, can_merge }
}

/// Maximum number of queued prompts; beyond it, a prompt with a ticket is refused.
const MAX_WAITING_PROMPTS: usize = 256;

/// Answers the approval that `call` waits for. Queues the instruction for the model before the call continues. Returns
/// whether the call waited.
fn take_answer(
    journal: &Journal,
    queue: &PromptQueue,
    interactions: &Interactions,
    call: &CallId,
    answered: Answered,
) -> Result<bool, JournalError> {
    let channel = answered.by.as_ref().map(|user| Channel::new("http", user.as_str()));
    let because = answered.because.filter(|because| !because.trim().is_empty());
    let taken = interactions.answer(call, Answered { because, ..answered });
    if let AnswerTaken::Taken { because: Some(because) } = &taken {
        wait_in_line(journal, queue, (vec![Part::text(because)], channel), CommandTicket::none())?;
    }
    Ok(taken != AnswerTaken::NotAsked)
}

/// Queues a prompt for the next round.
fn wait_in_line(
    journal: &Journal,
    queue: &PromptQueue,
    (parts, channel): (Vec<Part>, Option<Channel>),
    ticket: CommandTicket,
) -> Result<(), JournalError> {
    if ticket.is_wanted() && queue.prompts() >= MAX_WAITING_PROMPTS {
        ticket.refuse(format!(
            "{MAX_WAITING_PROMPTS} prompts wait for the turn that runs; interrupt it, or wait until it ends"
        ));
        return Ok(());
    }
    journal.append(Fact::PromptQueued { parts: parts.clone(), channel: channel.clone() }, None)?;
    ticket.queued();
    queue.push(Fact::Prompted { parts, channel }, ticket);
    Ok(())
}

/// Withdraws the last of the waiting prompts.
fn withdraw(journal: &Journal, queue: &PromptQueue, ticket: CommandTicket) -> Result<(), JournalError> {
    let Some(withdrawn) = queue.withdraw() else {
        ticket.refuse("no prompt waits: it was taken up already".to_owned());
        return Ok(());
    };
    ticket.begin(journal);
    journal.append(Fact::PromptWithdrawn, None)?;
    withdrawn.ticket.refuse("the prompt was taken back".to_owned());
    ticket.done(journal);
    Ok(())
}

impl Task {
    pub(crate) async fn run(mut self) {
        let (socket, journal) = (self.socket.take(), self.log.journal.clone());
        let interactions = self.session.calls.interactions.clone();
        let (answering, handles) = (self.answering.clone(), self.handles.clone());
        let answering = answer_all(&journal, &interactions, &answering, &handles);
        let serving = async {
            // Followers must be told of a panic, too.
            let ended = tokio::select! {
                ended = AssertUnwindSafe(self.serve()).catch_unwind() => ended,
                never = answering => match never {},
            };
            self.session.shared.live.end(&self.session.calls.session);
            journal.close(match ended {
                Ok(ended) => ended.err().map(|error| worded(&error, &self.session)),
                Err(panic) => Some(format!("a fault in the program: {}", last_words(&*panic))),
            });
        };
        let letting_in = async {
            if let Some(socket) = socket {
                socket.serve().await;
            }
        };
        tokio::join!(serving, letting_in);
        let background = &self.session.calls.background;
        let has_tasks = background.all().iter().any(|task| task.running);
        background.end().await;
        if !has_tasks {
            self.ownership.give_up();
        }
    }

    async fn serve(&mut self) -> Result<(), JournalError> {
        let left =
            self.ownership.end_earlier(&self.session.shared.setup.home, &self.session.calls.session).await;
        recover::put_in_order(&mut self.log, &self.session, left).await?;
        let stop = self.stop.clone();
        loop {
            let message = tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                Some(message) = self.mailbox.recv() => message,
                () = self.handles.closed() => {
                    if !self.session.shared.live.end_unless_held(&self.session.calls.session) {
                        continue;
                    }
                    // Process the messages that were sent before the last handle was dropped.
                    let Ok(message) = self.mailbox.try_recv() else { return Ok(()) };
                    self.session.shared.live.go_on(&self.session.calls.session);
                    message
                }
            };
            match message {
                SessionMessage::Command(command, ticket) => self.follow_up(command, ticket).await?,
                SessionMessage::Job(ended) => self.task_ended(ended).await?,
                SessionMessage::Forget { read } => self.session.forget(read),
            }
            self.catch_up().await?;
        }
    }

    /// Carries out `command`, and reports to its sender.
    async fn follow_up(&mut self, command: Command, ticket: CommandTicket) -> Result<(), JournalError> {
        if ticket.is_withdrawn() {
            return Ok(());
        }
        let command = match command {
            // Prompts from before a crash come first.
            Command::Prompt { parts, channel } if self.session.queue.prompts() > 0 => {
                recover::end_open_calls(&mut self.log, &self.session, NOT_RUN_TEXT)?;
                return wait_in_line(&self.log.journal, &self.session.queue, (parts, channel), ticket);
            }
            command @ Command::PromptWithSchema { .. } if self.session.queue.prompts() > 0 => {
                self.later.push_back((command, ticket));
                return Ok(());
            }
            Command::PromptWithSchema { ref schema, .. }
                if let Err(why) = AnswerSchema::new(schema.clone()) =>
            {
                ticket.refuse(format!("cannot ask for an answer by this schema: {why}"));
                return Ok(());
            }
            Command::UndoCalls(undo) => return self.undo_calls(undo, ticket).await,
            Command::Rewind { to } => return self.rewind(to, ticket).await,
            Command::Redo => return self.redo(ticket).await,
            Command::WithdrawPrompt => return withdraw(&self.log.journal, &self.session.queue, ticket),
            Command::AddRoot { root } => return self.add_root(&root, ticket),
            Command::SendItem { item, again, by } => return self.send_item((&item, by), again, ticket).await,
            Command::DropItem { item, by } => return self.drop_item(item, by, ticket).await,
            // Outside a turn no call waits for an answer.
            Command::Answer { .. } | Command::AnswerInPart { .. } | Command::Reply { .. } => {
                ticket.answered(false, &self.log.journal);
                return Ok(());
            }
            command => command,
        };
        ticket.begin(&self.log.journal);
        self.apply(command).await?;
        ticket.done(&self.log.journal);
        Ok(())
    }

    async fn apply(&mut self, command: Command) -> Result<(), JournalError> {
        match command {
            Command::Prompt { parts, channel } => {
                recover::end_open_calls(&mut self.log, &self.session, NOT_RUN_TEXT)?;
                self.turn(Fact::Prompted { parts, channel }).await
            }
            Command::PromptWithSchema { parts, schema } => {
                recover::end_open_calls(&mut self.log, &self.session, NOT_RUN_TEXT)?;
                self.turn_with(Fact::Prompted { parts, channel: None }, Some(schema)).await
            }
            Command::Call { name, arguments } => self.call(name, arguments, CallOrigin::Program).await,
            Command::TypedCall { name, arguments } => self.call(name, arguments, CallOrigin::Typed).await,
            Command::ProposedCall { name, arguments } => {
                self.call(name, arguments, CallOrigin::Proposed).await
            }
            Command::Conclude(conclusion) => {
                self.log.record(Fact::JobFinished(conclusion))?;
                self.log.journal.sync().await
            }
            Command::Continue => self.turn(Fact::Continued).await,
            // These commands may be refused, so `follow_up` handles them with their tickets.
            Command::UndoCalls(_)
            | Command::Rewind { .. }
            | Command::Redo
            | Command::WithdrawPrompt
            | Command::AddRoot { .. }
            | Command::SendItem { .. }
            | Command::DropItem { .. }
            | Command::Answer { .. }
            | Command::AnswerInPart { .. }
            | Command::Reply { .. } => Ok(()),
            Command::OpenOutbox => self.open_outbox(),
            Command::SetMode { mode } => {
                let mode = self.session.calls.permission.set(mode);
                self.log.record(Fact::ModeSet { mode })
            }
            Command::KeepSetup => keep_setup(&mut self.log, &self.session),
            Command::SetGoal { goal } => self.log.record(Fact::GoalSet { goal }),
            Command::Compact => {
                self.session.open_budget(&self.log).await;
                self.attend(Work::Compaction).await
            }
            // Outside a turn there is nothing to stop.
            Command::Interrupt => Ok(()),
        }
    }

    async fn call(&mut self, name: String, arguments: Value, origin: CallOrigin) -> Result<(), JournalError> {
        let why = "another call was made before it";
        recover::end_open_calls(&mut self.log, &self.session, why)?;
        let made = ToolCall::new(format!("own_{}", self.log.journal.entries().len()), name, arguments);
        let interactions = &self.session.calls.interactions;
        interactions.set_typed((origin == CallOrigin::Typed).then(|| made.id.clone()));
        interactions.set_proposed((origin == CallOrigin::Proposed).then(|| made.id.clone()));
        self.turn(Fact::Called { made }).await
    }

    /// Opens the next turn with a prompt that arrived during a turn, but after its last round.
    async fn catch_up(&mut self) -> Result<(), JournalError> {
        loop {
            if let Some(Queued { fact, ticket }) = self.session.queue.pop() {
                ticket.begin(&self.log.journal);
                match fact {
                    // The start of a task opens no turn; only its end does.
                    Fact::TaskStarted { .. } => self.log.record(fact)?,
                    Fact::TaskEnded { .. } => self.task_ended(fact).await?,
                    fact => self.turn(fact).await?,
                }
                ticket.done(&self.log.journal);
            } else if let Some((command, ticket)) = self.later.pop_front() {
                Box::pin(self.follow_up(command, ticket)).await?;
            } else {
                return Ok(());
            }
        }
    }

    /// Opens a turn at the end of a background task, in which the model reads the result, unless the task was undone.
    async fn task_ended(&mut self, ended: Fact) -> Result<(), JournalError> {
        match &ended {
            Fact::TaskEnded { task, .. } if undo::is_taken_back(&self.log.journal.entries(), task) => {
                drop_task(&mut self.log, &self.session, ended).await
            }
            _ => self.turn(ended).await,
        }
    }

    async fn turn(&mut self, opening: Fact) -> Result<(), JournalError> {
        self.turn_with(opening, None).await
    }

    async fn turn_with(&mut self, opening: Fact, schema: Option<Value>) -> Result<(), JournalError> {
        self.session.calls.repeats.clear();
        self.session.open_budget(&self.log).await;
        self.attend(Work::Turn(opening.into(), schema)).await?;
        self.session.queue.take_joined().into_iter().for_each(|ticket| ticket.done(&self.log.journal));
        Ok(())
    }

    /// Does the work, and receives commands meanwhile.
    async fn attend(&mut self, work: Work) -> Result<(), JournalError> {
        let cancel = self.stop.child_token();
        let (queue, interactions) = (&self.session.queue, &self.session.calls.interactions);
        let (journal, permission) = (self.log.journal.clone(), &self.session.calls.permission);
        let (log, session) = (&mut self.log, &self.session);
        let work = async {
            match work {
                Work::Turn(opening, schema) => open_turn(log, session, *opening, schema, &cancel).await,
                Work::Compaction => compact_now(log, session, &cancel).await,
            }
        };
        tokio::pin!(work);
        let time_left = session.budget.time_left(&session.limits.budget);
        let out_of_time = tokio::time::sleep(time_left.unwrap_or_default());
        tokio::pin!(out_of_time);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = &mut out_of_time, if time_left.is_some() && !cancel.is_cancelled() => cancel.cancel(),
                Some(message) = self.mailbox.recv() => match message {
                    SessionMessage::Command(command, ticket) => match command {
                        Command::Interrupt => {
                            cancel.cancel();
                            ticket.done(&journal);
                        }
                        Command::Answer { call, answer, by, because } => {
                            let answered = Answered { answer, by, because };
                            ticket.answered(take_answer(&journal, queue, interactions, &call, answered)?, &journal);
                        }
                        Command::AnswerInPart { call, accepted, by } => {
                            ticket.answered(interactions.answer_in_part(&call, accepted, by), &journal);
                        }
                        Command::Reply { call, answer, by } => {
                            ticket.answered(interactions.reply(&call, answer, by), &journal);
                        }
                        // The mode is not part of the conversation, so the transcript ignores it.
                        Command::SetMode { mode } => {
                            ticket.begin(&journal);
                            journal.append(Fact::ModeSet { mode: permission.set(mode) }, None)?;
                            ticket.done(&journal);
                        }
                        Command::Prompt { parts, channel } => wait_in_line(&journal, queue, (parts, channel), ticket)?,
                        Command::WithdrawPrompt => withdraw(&journal, queue, ticket)?,
                        Command::PromptWithSchema { .. } | Command::Continue | Command::Call { .. }
                        | Command::TypedCall { .. } | Command::ProposedCall { .. } | Command::Conclude(_) | Command::SetGoal { .. } | Command::KeepSetup
                        | Command::AddRoot { .. } | Command::OpenOutbox | Command::SendItem { .. } | Command::DropItem { .. }
                        | Command::Rewind { .. } | Command::UndoCalls(_) | Command::Redo | Command::Compact => self.later.push_back((command, ticket)),
                    },
                    SessionMessage::Job(fact) => queue.push(fact, CommandTicket::none()),
                    SessionMessage::Forget { read } => session.forget(read),
                }
            }
        }
    }

    fn add_root(&mut self, root: &Path, ticket: CommandTicket) -> Result<(), JournalError> {
        match checked_root(&self.session.shared.setup, root) {
            Ok(root) => {
                ticket.begin(&self.log.journal);
                if self.session.calls.permission.add_root(&root) {
                    self.log.record(Fact::RootAdded { root })?;
                }
                ticket.done(&self.log.journal);
            }
            Err(why) => ticket.refuse(format!("cannot add `{}`: {why}", root.display())),
        }
        Ok(())
    }

    fn open_outbox(&mut self) -> Result<(), JournalError> {
        let calls = &self.session.calls;
        calls.interactions.ask_nothing();
        match calls.permission.has_outbox() {
            true => Ok(()),
            false => {
                calls.permission.open_outbox();
                self.log.record(Fact::OutboxOpened)
            }
        }
    }

    /// Makes the call of an outbox item that the user sends. If two processes send the item, this task handles one
    /// after the other.
    async fn send_item(
        &mut self,
        (id, by): (&str, Option<String>),
        again: bool,
        ticket: CommandTicket,
    ) -> Result<(), JournalError> {
        let item = match outbox::to_send(&self.log.journal.entries(), id, again) {
            Ok(item) => item,
            Err(why) => {
                ticket.refuse(why);
                return Ok(());
            }
        };
        recover::end_open_calls(&mut self.log, &self.session, "an item of the outbox was sent first")?;
        ticket.begin(&self.log.journal);
        let call = CallId(format!("own_{}", self.log.journal.entries().len()));
        self.log.record(Fact::ItemSending { item: item.id.clone(), call: call.clone(), by })?;
        let interactions = &self.session.calls.interactions;
        interactions.set_typed(Some(call.clone()));
        interactions.set_sent(Some((call.clone(), item.id)));
        let made = ToolCall { id: call, ..item.sends };
        self.turn(Fact::Called { made }).await?;
        self.session.calls.interactions.set_sent(None);
        self.session.calls.interactions.set_typed(None);
        self.log.journal.sync().await?;
        ticket.done(&self.log.journal);
        Ok(())
    }

    async fn drop_item(
        &mut self,
        item: String,
        by: Option<String>,
        ticket: CommandTicket,
    ) -> Result<(), JournalError> {
        match outbox::to_drop(&self.log.journal.entries(), &item) {
            Err(why) => ticket.refuse(why),
            Ok(()) => {
                ticket.begin(&self.log.journal);
                self.log.record(Fact::ItemDropped { item, by })?;
                self.log.journal.sync().await?;
                ticket.done(&self.log.journal);
            }
        }
        Ok(())
    }

    async fn rewind(&mut self, to: Seq, ticket: CommandTicket) -> Result<(), JournalError> {
        let entries = self.log.journal.entries();
        let why = match entries.binary_search_by_key(&to, |entry| entry.seq) {
            Err(_) => Some("there is no such entry"),
            Ok(_) if undo::is_within_call(&entries, to) => Some("it is in the middle of a call"),
            Ok(_) => None,
        };
        let why = why.map(|why| format!("cannot go back to entry {to}: {why}"));
        if let Some(why) = why.or_else(|| self.moving_refused()) {
            self.refuse(ticket, why);
            return Ok(());
        }
        ticket.begin(&self.log.journal);
        let undo::Plan { changes, untracked } = undo::back_to(&entries, to);
        self.go_to(to, Direction::Undo, changes, untracked).await?;
        ticket.done(&self.log.journal);
        Ok(())
    }

    async fn redo(&mut self, ticket: CommandTicket) -> Result<(), JournalError> {
        if let Some(why) = self.moving_refused() {
            self.refuse(ticket, why);
            return Ok(());
        }
        ticket.begin(&self.log.journal);
        let entries = self.log.journal.entries();
        if let Some((changes, head)) = undo::last_undo(&entries) {
            let workspace = &self.session.calls.workspace;
            let is_missing = |change: &Change| !workspace.join(&change.path).exists();
            let objects = undo::objects_of_last_undo(&entries).into_iter().filter(is_missing);
            let changes = objects.chain(changes).collect();
            self.go_to(head, Direction::Redo, changes, Vec::new()).await?;
        }
        ticket.done(&self.log.journal);
        Ok(())
    }

    fn refuse(&self, ticket: CommandTicket, why: String) {
        self.log.journal.live(Update::Refused { why: why.clone() });
        ticket.refuse(why);
    }

    /// Why files cannot be changed, if the workspace folder was moved or removed; `None` if they can.
    fn workspace_is_gone(&self) -> Option<String> {
        let workspace = &self.session.calls.workspace;
        (!workspace.is_dir())
            .then(|| format!("cannot work in `{}`: it is not a directory", workspace.display()))
    }

    /// Why an undo or a redo of turns is refused. For a job whose work tree was removed, it is not refused: only the
    /// conversation changes, because there are no files.
    fn moving_refused(&self) -> Option<String> {
        let is_job = SessionOpened::of(&self.log.journal.entries()).is_some_and(SessionOpened::is_job);
        self.workspace_is_gone().filter(|_| !is_job)
    }

    /// Undoes or redoes file changes, and sets the conversation to the entry `to`.
    async fn go_to(
        &mut self,
        to: Seq,
        way: Direction,
        changes: Vec<Change>,
        untracked: Vec<CallId>,
    ) -> Result<(), JournalError> {
        let (calls, merged, marked) = Default::default();
        let changes = if self.workspace_is_gone().is_some() { Vec::new() } else { changes };
        let rewind = Rewind { way, changes, to: Some(to), untracked, calls, merged, marked };
        rewind::carry_out(&mut self.log, &self.session, rewind).await
    }

    /// Undoes single calls. The conversation stays unchanged.
    async fn undo_calls(&mut self, undo: UndoCalls, ticket: CommandTicket) -> Result<(), JournalError> {
        if let Some(why) = self.workspace_is_gone() {
            self.refuse(ticket, why);
            return Ok(());
        }
        let plan = match self.planned(&undo).await.and_then(|plan| plan.refusal(&undo)) {
            Ok(plan) => plan,
            Err(why) => {
                self.log.journal.live(undo_refused(&why));
                ticket.refuse(why.to_string());
                return Ok(());
            }
        };
        ticket.begin(&self.log.journal);
        let UndoPlan { calls, changes, untracked, merged, marked, .. } = plan;
        let undo = Rewind { way: Direction::Undo, changes, to: None, untracked, calls, merged, marked };
        rewind::carry_out(&mut self.log, &self.session, undo).await?;
        ticket.done(&self.log.journal);
        Ok(())
    }

    /// Plans an undo, and receives commands meanwhile: an interrupt leaves everything unchanged.
    async fn planned(&mut self, undo: &UndoCalls) -> Result<UndoPlan, NotUndone> {
        let cancel = self.stop.child_token();
        let (entries, session) = (self.log.journal.entries(), &self.session);
        self.log.journal.live(Update::Undoing);
        let rehearsal = Rehearsal::of(&session.calls, &session.shared.setup.tools);
        let planning = plan_undo(&rehearsal, &entries, undo, &cancel);
        tokio::pin!(planning);
        loop {
            tokio::select! {
                planned = &mut planning => return planned,
                Some(message) = self.mailbox.recv() => match message {
                    SessionMessage::Command(Command::Interrupt, ticket) => {
                        cancel.cancel();
                        ticket.done(&self.log.journal);
                    }
                    SessionMessage::Command(command, ticket) => self.later.push_back((command, ticket)),
                    SessionMessage::Job(fact) => session.queue.push(fact, CommandTicket::none()),
                    SessionMessage::Forget { read } => session.forget(read),
                }
            }
        }
    }
}
