//! [`Sessions`]: the sessions of a connection that are open in the editor, and how to open more.
use super::{
    Settings,
    client::Editor,
    editor::{Buffers, stages},
    folder::Folder,
    follow::Follower,
    open::OpenSession,
    options::{self, Choice},
    sdk::{
        Client, ClientCapabilities, ConnectionTo, Error, ListSessionsRequest, ListSessionsResponse,
        McpServer, SessionConfigOption, SessionInfo, SessionUpdate, SetSessionConfigOptionRequest, failed,
        unknown_session, worded, wrong,
    },
    teller::Teller,
    wire::Flow,
};
use haft_core::{Command, Entry, Seq, SessionId, SessionOpened, SessionSetup};
use haft_engine::{Engine, EngineError, Session};
use haft_present::host::{EngineRequest, RequestedServer, ServerTransport};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock},
    time::Duration,
};
use tokio_util::task::TaskTracker;

/// Timeout for the last updates, if the editor does not read them.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(2);

/// The state of one connection.
pub(super) struct Sessions {
    settings: Settings,
    flow: Arc<Flow>,
    /// The editor's capabilities, which it sends once.
    can: OnceLock<ClientCapabilities>,
    open: Mutex<HashMap<String, Arc<OpenSession>>>,
    followers: TaskTracker,
}

/// How to reopen a session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// Send the conversation so far to the editor.
    Replayed,
    /// Send nothing: the editor has the conversation.
    Silent,
}

/// An engine for a session that does not exist yet.
struct Made {
    engine: Engine,
    /// The ID of that session, for the editor's files.
    name: Arc<OnceLock<SessionId>>,
    folder: Folder,
    servers: Vec<RequestedServer>,
    buffers: Buffers,
}

impl Sessions {
    pub(super) fn new(settings: Settings, flow: Arc<Flow>) -> Self {
        let (can, open, followers) = (OnceLock::new(), Mutex::default(), TaskTracker::new());
        Self { settings, flow, can, open, followers }
    }

    /// Stores the editor's capabilities.
    pub(super) fn meet(&self, can: ClientCapabilities) {
        let _it_said_so_before = self.can.set(can);
    }

    pub(super) fn editor(&self, connection: ConnectionTo<Client>) -> Editor {
        let files = self.can.get().map(|can| can.fs.clone()).unwrap_or_default();
        Editor { connection, flow: self.flow.clone(), files }
    }

    /// The open session with this ID.
    pub(super) fn find(&self, id: &str) -> Result<Arc<OpenSession>, Error> {
        self.lock().get(id).cloned().ok_or_else(|| unknown_session(id))
    }

    /// Creates a session in `cwd`. It is followed once `started` is called: no updates may be sent before the editor
    /// knows its ID.
    pub(super) async fn create(
        &self,
        connection: ConnectionTo<Client>,
        cwd: PathBuf,
        servers: Vec<McpServer>,
    ) -> Result<Arc<OpenSession>, Error> {
        let (folder, servers) = (Folder::of(&cwd)?, requested(servers)?);
        let made = self.engine(connection, (folder, servers), None).await?;
        self.begin(made, |engine, agent| engine.create(agent))
    }

    /// Follows a new session.
    pub(super) fn started(&self, connection: ConnectionTo<Client>, open: &Arc<OpenSession>) {
        let teller = teller(open);
        // The initial mode was sent with the session's ID.
        self.follow(self.editor(connection), open.clone(), teller, next(&open.session));
    }

    /// Opens an existing session in its current state.
    pub(super) async fn load(
        &self,
        connection: ConnectionTo<Client>,
        (id, cwd, servers): (&str, PathBuf, Vec<McpServer>),
        again: Again,
    ) -> Result<Arc<OpenSession>, Error> {
        let entries = self.check(id, &cwd)?;
        if let Ok(open) = self.find(id) {
            if again == Again::Replayed {
                self.replay(&self.editor(connection), &open, teller(&open).replay(&open.session.entries()))
                    .await;
            }
            return Ok(open);
        }
        let choice = SessionSetup::of(&entries).map(Choice::from);
        let (folder, servers) = (Folder::of(&cwd)?, requested(servers)?);
        let made = self.engine(connection.clone(), (folder, servers), choice).await?;
        let open = self.begin(made, |engine, agent| engine.resume(id, agent))?;
        let (editor, mut teller) = (self.editor(connection), teller(&open));
        let entries = open.session.entries();
        let mut said = teller.replay(&entries);
        if !open.session.is_joined() {
            said.extend(teller.left());
        }
        if again == Again::Replayed {
            self.replay(&editor, &open, said).await;
        }
        self.follow(editor, open.clone(), teller, after(&entries));
        Ok(open)
    }

    /// Continues a session with another model or effort. If that fails, nothing is changed.
    pub(super) async fn choose(
        &self,
        connection: ConnectionTo<Client>,
        asked: &SetSessionConfigOptionRequest,
    ) -> Result<Vec<SessionConfigOption>, Error> {
        let open = self.find(&asked.session_id.0)?;
        let choice = options::chosen(&open, asked)?;
        if open.is_prompted() {
            let message = "a prompt is being worked on in this session; wait for its end, or cancel it";
            return Err(worded(Error::invalid_request(), message));
        }
        let place = (open.folder.clone(), open.servers.clone());
        let made = self.made(connection.clone(), place, Some(choice)).await.map_err(wrong)?;
        let id = open.id().to_owned();
        self.close(&id).await?;
        let open = self.begin(made, |engine, agent| engine.resume(&id, agent))?;
        let entries = open.session.entries();
        let mut teller = teller(&open);
        // The editor has the conversation already.
        let _said = teller.replay(&entries);
        self.follow(self.editor(connection), open.clone(), teller, after(&entries));
        open.session.send(Command::KeepSetup).map_err(|closed| failed(closed.to_string()))?;
        Ok(options::of(&open))
    }

    /// The entries of the session with this full ID, if it works in `cwd`. An ID is never taken as a path: only
    /// existing sessions are found.
    fn check(&self, id: &str, cwd: &Path) -> Result<Vec<Arc<Entry>>, Error> {
        let found = self.settings.home.find(id).ok().filter(|found| found.0 == id);
        let entries =
            found.and_then(|_| self.settings.home.peek(id).ok()).ok_or_else(|| unknown_session(id))?;
        let Some(SessionOpened { workspace, .. }) = SessionOpened::of(&entries) else {
            return Err(failed(format!("cannot load the session `{id}`: its journal has no beginning")));
        };
        let asked = Folder::of(cwd)?.real;
        match asked == *workspace {
            true => Ok(entries),
            false => Err(wrong(format!(
                "the session `{id}` works in `{}`, not in `{}`; open that folder, or start a new session here",
                workspace.display(),
                asked.display()
            ))),
        }
    }

    async fn replay(&self, editor: &Editor, open: &OpenSession, said: Vec<SessionUpdate>) {
        for update in said {
            editor.flow.room().await;
            editor.tell(open.id(), update);
        }
    }

    /// An engine with the model of `choice`; if that is unavailable, with the default model, and with a note to the
    /// user.
    async fn engine(
        &self,
        connection: ConnectionTo<Client>,
        place: (Folder, Vec<RequestedServer>),
        choice: Option<Choice>,
    ) -> Result<Made, Error> {
        if let Some(choice) = choice {
            let model = choice.model.clone();
            match self.made(connection.clone(), place.clone(), Some(choice)).await {
                Ok(made) => return Ok(made),
                Err(why) => {
                    self.settings.host.note(format!("the model `{model}` of a session is not used: {why}"))
                }
            }
        }
        self.made(connection, place, None).await.map_err(failed)
    }

    async fn made(
        &self,
        connection: ConnectionTo<Client>,
        (folder, servers): (Folder, Vec<RequestedServer>),
        choice: Option<Choice>,
    ) -> Result<Made, String> {
        let name: Arc<OnceLock<SessionId>> = Arc::default();
        let buffers =
            Buffers::new(self.editor(connection), name.clone(), self.settings.host.clone(), folder.clone());
        let (model, effort) = choice.map(|Choice { model, effort }| (model, effort)).unzip();
        let request = EngineRequest {
            workspace: Some(folder.real.clone()),
            model,
            effort: effort.flatten(),
            servers: servers.clone(),
            stages: Some(Box::new({
                let buffers = buffers.clone();
                move |inner| stages(inner, buffers)
            })),
            ..EngineRequest::default()
        };
        let engine = self.settings.host.engine(request).await.map_err(|problem| problem.to_string())?;
        Ok(Made { engine, name, folder, servers, buffers })
    }

    /// Starts a session of an engine.
    fn begin(
        &self,
        Made { engine, name, folder, servers, buffers }: Made,
        start: impl FnOnce(&Engine, &str) -> Result<Session, EngineError>,
    ) -> Result<Arc<OpenSession>, Error> {
        let host = &self.settings.host;
        let session = start(&engine, &host.agent()).map_err(|error| failed(error.to_string()))?;
        let _first_name = name.set(session.id().clone());
        for line in session.journal().damage() {
            host.note(format!("{}: {line}", session.journal().path().display()));
        }
        let open = Arc::new(OpenSession::new((session, engine), (folder, buffers), host.clone(), servers));
        self.lock().insert(open.id().to_owned(), open.clone());
        Ok(open)
    }

    fn follow(&self, editor: Editor, open: Arc<OpenSession>, teller: Teller, from: Seq) {
        editor.tell(open.id(), open.available());
        let connection = editor.connection.clone();
        let following = self.followers.track_future(Follower::new(open, editor, teller).run(from));
        let _it_has_left = connection.spawn(async move {
            following.await;
            Ok(())
        });
    }

    /// All sessions, newest first.
    pub(super) fn list(&self, request: &ListSessionsRequest) -> ListSessionsResponse {
        let wanted = request.cwd.as_deref().map(|cwd| cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned()));
        let all = self.settings.home.list().into_iter().filter(|session| session.delegated_by.is_none());
        let mut here: Vec<_> =
            all.filter(|session| wanted.as_ref().is_none_or(|cwd| session.workspace == *cwd)).collect();
        here.sort_by_key(|session| std::cmp::Reverse(session.last_at));
        let told = here.into_iter().map(|session| {
            let title =
                Some(haft_present::safe::name(&session.title).into_owned()).filter(|title| !title.is_empty());
            SessionInfo::new(session.id.0.clone(), &session.workspace)
                .title(title)
                .updated_at(session.updated())
        });
        ListSessionsResponse::new(told.collect())
    }

    /// Stops the session and removes it from the list; its journal is kept.
    pub(super) async fn close(&self, id: &str) -> Result<(), Error> {
        let open = self.lock().remove(id).ok_or_else(|| unknown_session(id))?;
        open.cancel();
        open.engine.shut_down().await;
        Ok(())
    }

    /// Stops all sessions, and waits until their last updates are sent.
    pub(super) async fn end(&self) {
        let all: Vec<_> = self.lock().drain().map(|(_, open)| open).collect();
        futures::future::join_all(all.iter().map(|open| open.engine.shut_down())).await;
        self.followers.close();
        let _it_reads_no_more = tokio::time::timeout(LAST_WORDS, self.followers.wait()).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<OpenSession>>> {
        self.open.lock().expect("no code panics while it holds the open sessions")
    }
}

fn teller(open: &OpenSession) -> Teller {
    Teller::new(open.session.clone(), open.engine.clone(), open.folder.clone())
}

fn next(session: &Session) -> Seq {
    after(&session.entries())
}

fn after(entries: &[Arc<Entry>]) -> Seq {
    entries.last().map_or(Seq(0), |last| Seq(last.seq.0 + 1))
}

fn requested(servers: Vec<McpServer>) -> Result<Vec<RequestedServer>, Error> {
    servers.into_iter().map(server).collect()
}

fn server(server: McpServer) -> Result<RequestedServer, Error> {
    match server {
        McpServer::Stdio(stdio) => {
            let environment = stdio.env.into_iter().map(|variable| (variable.name, variable.value)).collect();
            let transport =
                ServerTransport::Program { program: stdio.command, arguments: stdio.args, environment };
            Ok(RequestedServer { name: stdio.name, transport })
        }
        McpServer::Http(http) => {
            let headers = http.headers.into_iter().map(|header| (header.name, header.value)).collect();
            Ok(RequestedServer {
                name: http.name,
                transport: ServerTransport::Url { url: http.url, headers },
            })
        }
        McpServer::Sse(sse) => Err(wrong(format!(
            "cannot use the MCP server `{}`: SSE was replaced by Streamable HTTP; give it as `http`, or as a program",
            sse.name
        ))),
        _ => Err(wrong("cannot use an MCP server of an unknown kind; there are programs and `http`")),
    }
}
