//! [`OpenSession`]: a session that is open in the editor.
use super::{
    client::Editor,
    editor::Buffers,
    folder::Folder,
    sdk::{
        AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, Error, PromptRequest,
        PromptResponse, Responder, SessionUpdate, StopReason, UnstructuredCommandInput, failed, worded,
        wrong,
    },
    teller::notice,
};
use haft_core::{
    Answer, CallId, Change, Command, Entry, Part,
    changed::{paths, squash},
    past_calls::PastCalls,
    undo,
};
use haft_engine::{Engine, Session};
use haft_present::{
    host::{Host, RequestedServer, SavedPrompt},
    safe,
    typed::{self, Meant, Typed},
};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard},
};

/// The command that lists saved prompts.
const LISTED_BY: &str = "haft commands list";
/// The hint how to choose an agent and a model.
const CHOOSE: &str = "use it with `haft run`, or start `haft acp` with `--agent` and `--model`";

/// A session, its engine, and the prompt that waits for its turn to end.
pub(super) struct OpenSession {
    pub(super) session: Session,
    pub(super) engine: Engine,
    pub(super) folder: Folder,
    buffers: Buffers,
    pub(super) host: Arc<dyn Host>,
    /// MCP servers that the editor named.
    pub(super) servers: Vec<RequestedServer>,
    prompt: Mutex<Option<Waiting>>,
    /// A call that the next prompt refuses, with the prompt as the reason.
    refused: Mutex<Option<CallId>>,
}

/// A prompt without a response yet.
struct Waiting {
    responder: Responder<PromptResponse>,
    /// Whether the prompt's own turn is running; before that, an earlier turn may still be ending.
    is_heard: bool,
    /// Whether the editor canceled the prompt.
    is_cancelled: bool,
    /// Whether the commands were sent to the session: an undo then changes files, and runs to its end.
    is_sent: bool,
    /// For an undo or redo, which changes files and opens no turn: the numbers of the calls to undo, if they are named.
    undo: Option<Vec<usize>>,
    /// Whether the prompt may wait behind a turn that it did not open, and can then be withdrawn.
    is_queueable: bool,
}

impl OpenSession {
    pub(super) fn new(
        (session, engine): (Session, Engine),
        (folder, buffers): (Folder, Buffers),
        host: Arc<dyn Host>,
        servers: Vec<RequestedServer>,
    ) -> Self {
        let (prompt, refused) = Default::default();
        Self { session, engine, folder, buffers, host, servers, prompt, refused }
    }

    /// Whether a prompt waits for the end of its turn.
    pub(super) fn is_prompted(&self) -> bool {
        self.lock().is_some()
    }

    /// The session's ID in the protocol.
    pub(super) fn id(&self) -> &str {
        &self.session.id().0
    }

    /// Begins a turn, and responds once it has ended.
    pub(super) fn prompt(
        self: &Arc<Self>,
        request: PromptRequest,
        responder: Responder<PromptResponse>,
        editor: &Editor,
    ) -> Result<(), Error> {
        if self.lock().is_some() {
            let message = "a prompt is being worked on in this session; wait for its end, or cancel it";
            return responder.respond_with_error(worded(Error::invalid_request(), message));
        }
        if let Some(typed) = super::prompt::only_text(&request.prompt).and_then(|text| Typed::read(&text)) {
            if let Some(refusal) = self.refusal() {
                let _it_is_closed = self.session.send(refusal);
            }
            return match typed.meant(&self.session, self.engine.setup()) {
                Ok(meant) => self.carry_out(meant, responder, editor),
                Err(why) => responder.respond_with_error(wrong(why)),
            };
        }
        match self.parts(request) {
            Err(error) => responder.respond_with_error(error),
            Ok(parts) => {
                // The prompt is queued in the running turn, so that the model reads both together.
                let prompt = Command::Prompt { parts, channel: None };
                self.begin([prompt].into_iter().chain(self.refusal()).collect(), responder);
                Ok(())
            }
        }
    }

    /// Carries out a command, which may run a turn.
    fn carry_out(
        self: &Arc<Self>,
        Meant { commands, note }: Meant,
        responder: Responder<PromptResponse>,
        editor: &Editor,
    ) -> Result<(), Error> {
        if let Some(note) = note {
            editor.tell(self.id(), notice(&safe::text(&note)));
        }
        let opens = |command: &Command| {
            matches!(
                command,
                Command::Prompt { .. } | Command::ProposedCall { .. } | Command::SendItem { .. }
            )
        };
        if commands.iter().any(moves_files) {
            return self.begin_undo(commands, responder, editor);
        }
        if commands.iter().any(opens) {
            self.begin(commands, responder);
            return Ok(());
        }
        match commands.into_iter().try_for_each(|command| self.session.send(command)) {
            Ok(()) => responder.respond(PromptResponse::new(StopReason::EndTurn)),
            Err(closed) => responder.respond_with_error(wrong(closed.to_string())),
        }
    }

    fn parts(&self, request: PromptRequest) -> Result<Vec<Part>, Error> {
        super::prompt::parts(request.prompt, &self.folder, &|prompt| {
            let expanded = self.host.expand(&self.folder.real, prompt, LISTED_BY);
            expanded
                .and_then(|expanded| expanded.in_session(prompt.trim(), CHOOSE))
                .map_err(|problem| problem.to_string())
        })
    }

    fn begin(&self, commands: Vec<Command>, responder: Responder<PromptResponse>) {
        self.wait(&commands, responder);
        self.send(commands);
    }

    /// Sends the commands once the editor has answered about the files: until then, a cancel leaves everything as it
    /// was.
    fn begin_undo(
        self: &Arc<Self>,
        commands: Vec<Command>,
        responder: Responder<PromptResponse>,
        editor: &Editor,
    ) -> Result<(), Error> {
        self.wait(&commands, responder);
        let entries = self.session.entries();
        let files = commands.iter().flat_map(|command| moved(command, &entries)).collect();
        let open = self.clone();
        self.buffers.begin_undo();
        editor.connection.spawn(async move {
            open.buffers.ask_before_undo(files).await;
            match open.is_to_be_sent() {
                true => open.send(commands),
                false => open.undo_ended(),
            }
            Ok(())
        })
    }

    /// Whether the undo was not canceled before its commands are sent. Afterwards, its reads cannot be canceled.
    fn is_to_be_sent(&self) -> bool {
        self.lock().as_mut().is_some_and(|undo| {
            undo.is_sent = !undo.is_cancelled;
            undo.is_sent
        })
    }

    /// Stores the prompt before its commands are sent, so that the follower of the session finds it at its first event.
    fn wait(&self, commands: &[Command], responder: Responder<PromptResponse>) {
        let undo = commands.iter().find(|command| moves_files(command)).map(|command| match command {
            Command::UndoCalls(undo) => undo.calls.clone(),
            _ => Vec::new(),
        });
        let is_queueable = commands.iter().any(|command| matches!(command, Command::Prompt { .. }));
        let (is_heard, is_cancelled, is_sent) = (false, false, false);
        *self.lock() = Some(Waiting { responder, is_heard, is_cancelled, is_sent, undo, is_queueable });
    }

    fn send(&self, commands: Vec<Command>) {
        if commands.into_iter().any(|command| self.session.send(command).is_err()) {
            self.answer(Err(failed("the session is closed; load it again")));
        }
    }

    /// Lets the next prompt refuse `call` and give the reason. Ends the current prompt, so that the user can type the
    /// next one.
    pub(super) fn refuse_with_next_prompt(&self, call: CallId) {
        *self.refused() = Some(call);
        self.answer(Ok(StopReason::EndTurn));
    }

    /// Notes that `call` was answered elsewhere.
    pub(super) fn is_answered(&self, call: &CallId) {
        self.refused().take_if(|refused| refused == call);
    }

    fn refusal(&self) -> Option<Command> {
        let call = self.refused().take()?;
        Some(Command::answer(call, Answer::No))
    }

    fn refused(&self) -> MutexGuard<'_, Option<CallId>> {
        self.refused.lock().expect("no code panics while it holds a refusal")
    }

    /// Interrupts the running turn, and withdraws the prompt that waits behind it.
    pub(super) fn cancel(&self) {
        if let Some(waiting) = &mut *self.lock() {
            waiting.is_cancelled = true;
            if waiting.undo.is_some() && !waiting.is_sent {
                self.buffers.cancel_undo();
            }
            if waiting.is_queueable && !waiting.is_heard {
                let _it_is_closed = self.session.send(Command::WithdrawPrompt);
            }
        }
        let _it_is_closed = self.session.send(Command::Interrupt);
    }

    /// Notes that the session has recorded the prompt. If it was canceled, interrupts its turn, since the first
    /// interrupt ended the earlier turn.
    pub(super) fn is_heard(&self) {
        let mut waiting = self.lock();
        let Some(waiting) = &mut *waiting else { return };
        waiting.is_heard = true;
        if waiting.is_cancelled {
            let _it_is_closed = self.session.send(Command::Interrupt);
        }
    }

    /// Handles a withdrawn prompt: responds to it, if it is the one that the editor canceled.
    pub(super) fn is_withdrawn(&self) {
        let is_it = |waiting: &Waiting| waiting.is_queueable && waiting.is_cancelled && !waiting.is_heard;
        if self.lock().as_ref().is_some_and(is_it) {
            self.answer(Ok(StopReason::Cancelled));
        }
    }

    /// Handles the end of a turn: responds to its prompt.
    pub(super) fn turn_ended(&self, stopped: Result<StopReason, Error>) {
        if self.lock().as_ref().is_some_and(|waiting| waiting.is_heard) {
            self.answer(stopped);
        }
    }

    /// Whether an undo or a redo of the editor is running.
    pub(super) fn is_undoing(&self) -> bool {
        self.lock().as_ref().is_some_and(|waiting| waiting.undo.is_some())
    }

    /// The numbers of the calls to undo.
    pub(super) fn calls_to_undo(&self) -> Vec<usize> {
        self.lock().as_ref().and_then(|waiting| waiting.undo.clone()).unwrap_or_default()
    }

    /// Handles the end or the refusal of an undo: responds to its prompt.
    pub(super) fn undo_ended(&self) {
        self.buffers.end_undo();
        let waiting =
            self.lock().as_ref().filter(|waiting| waiting.undo.is_some()).map(|undo| undo.is_cancelled);
        let Some(is_cancelled) = waiting else { return };
        self.answer(Ok(if is_cancelled { StopReason::Cancelled } else { StopReason::EndTurn }));
    }

    /// Responds to the waiting prompt, if there is one.
    pub(super) fn answer(&self, stopped: Result<StopReason, Error>) {
        let Some(waiting) = self.lock().take() else { return };
        let _it_has_left = waiting.responder.respond_with_result(stopped.map(PromptResponse::new));
    }

    /// Changes the permission mode.
    pub(super) fn set_mode(&self, name: &str) -> Result<(), Error> {
        let mode = super::modes::chosen(&self.session, name)?;
        self.session.send(Command::SetMode { mode }).map_err(|closed| wrong(closed.to_string()))
    }

    /// The commands and the saved prompts, for a list.
    pub(super) fn available(&self) -> SessionUpdate {
        let hint = AvailableCommandInput::Unstructured(UnstructuredCommandInput::new("what it is about"));
        let own = typed::COMMANDS.into_iter().map(|(name, argument, what)| {
            let command = AvailableCommand::new(name, what);
            match argument {
                "" => command,
                _ => command
                    .input(AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(argument))),
            }
        });
        let is_own = |saved: &SavedPrompt| typed::COMMANDS.iter().any(|(name, ..)| *name == saved.name);
        let saved = self.host.prompts(&self.folder.real).into_iter().filter(|saved| !is_own(saved));
        let saved = saved.map(|saved| {
            let SavedPrompt { name, description, file } = saved;
            let description = match description.as_str() {
                "" => format!("the prompt in `{}`", file.display()),
                _ => description,
            };
            AvailableCommand::new(name, description).input(hint.clone())
        });
        let commands: Vec<AvailableCommand> = own.chain(saved).collect();
        SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.prompt.lock().expect("no code panics while it holds a prompt")
    }
}

fn moves_files(command: &Command) -> bool {
    matches!(command, Command::Rewind { .. } | Command::UndoCalls(_) | Command::Redo)
}

/// The files that `command` changes, including those that it would change if later calls depend on it.
fn moved(command: &Command, entries: &[Arc<Entry>]) -> Vec<PathBuf> {
    let changes: Vec<Change> = match command {
        Command::Rewind { to } => undo::back_to(entries, *to).changes,
        Command::Redo => undo::last_undo(entries).map(|(changes, _)| changes).unwrap_or_default(),
        Command::UndoCalls(left) if left.calls.is_empty() => undo::left_alone(entries),
        Command::UndoCalls(undo) => {
            let first = undo.calls.iter().min().filter(|_| undo.with_dependents);
            let is_it =
                |number: &usize| undo.calls.contains(number) || first.is_some_and(|first| number > first);
            let past = PastCalls::of(entries);
            past.changing().filter(|call| is_it(&call.number)).flat_map(|call| call.changes.clone()).collect()
        }
        _ => Vec::new(),
    };
    paths(&squash(&changes))
}
