//! [`AttachedHost`]: opens sessions of a server in a terminal.
use super::server::{CallError, ListedSession, Route, Server};
use futures::{FutureExt, future::BoxFuture};
use haft_app::{App, Failure};
use haft_core::{Entry, SessionId};
use haft_engine::{Agent, Engine, Home, Summary};
use haft_present::host::{
    Conversation, EngineRequest, ExpandedPrompt, Host, OpenRequest, Problem, RemoteSessions,
};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{path::Path, sync::Arc};

/// Shown as the model of a job whose worker's model is unknown.
const WORKERS_MODEL: &str = "the worker's model";

/// Opens sessions of one server. Models, tools and files are the server's; what the terminal shows is rendered here.
#[derive(Clone)]
pub struct AttachedHost {
    app: App,
    server: Arc<Server>,
}

impl AttachedHost {
    /// A host for the sessions of `server`.
    pub fn new(app: &App, server: Server) -> Self {
        Self { app: app.clone(), server: Arc::new(server) }
    }

    /// Attaches to the session with this full ID.
    ///
    /// # Errors
    ///
    /// If the server does not answer, refuses it, or speaks another version of the protocol.
    pub async fn attach(&self, id: &str) -> Result<Conversation, Failure> {
        let shown: ListedSession = self.server.ask(Method::GET, &format!("/v1/sessions/{id}"), None).await?;
        let agents = self.agents().await?;
        let engine = self.app.attached_engine(|setup| {
            setup.home = Home(self.app.places.home.join("attached"));
            setup.workspace = shown.workspace.clone().into();
            setup.agents = agents;
            setup.model.spec = match shown.model.is_empty() {
                true => WORKERS_MODEL.to_owned(),
                false => shown.model.clone(),
            };
            setup.model.window = shown.window;
        })?;
        let dial = Arc::new(Route { server: self.server.clone(), id: shown.id.clone() });
        let session = engine.attach(SessionId(shown.id), dial).await?;
        Ok(Conversation { engine, session, effort: None, notices: Vec::new() })
    }

    async fn agents(&self) -> Result<Vec<Agent>, CallError> {
        #[derive(Deserialize)]
        struct Listed {
            agents: Vec<Row>,
        }
        #[derive(Deserialize)]
        struct Row {
            name: String,
            description: String,
        }
        let listed: Listed = self.server.ask(Method::GET, "/v1/agents", None).await?;
        let agent = |Row { name, description }| Agent { name, description, ..Agent::default() };
        Ok(listed.agents.into_iter().map(agent).collect())
    }

    async fn open_requested(&self, request: OpenRequest) -> Result<Conversation, Failure> {
        let OpenRequest { session, model, agent, .. } = request;
        let id = match session {
            Some(id) => id,
            None => self.server.create(&json!({"model": model, "agent": agent})).await?,
        };
        self.attach(&id).await
    }
}

impl Host for AttachedHost {
    fn engine(&self, _: EngineRequest) -> BoxFuture<'_, Result<Engine, Problem>> {
        async { Err(Problem::usage("sessions of another machine are opened there")) }.boxed()
    }

    fn expand(&self, _: &Path, prompt: &str, listed_by: &str) -> Result<ExpandedPrompt, Problem> {
        let name = prompt.split_whitespace().next().unwrap_or_default();
        // A path is not a command.
        match name.trim_start_matches('/').contains('/') {
            true => Ok(ExpandedPrompt { prompt: prompt.to_owned(), ..ExpandedPrompt::default() }),
            false => Err(Problem::usage(format!("there is no command `{name}` in an attached session"))
                .hint(format!("`{listed_by}` lists the commands"))),
        }
    }

    fn open(&self, request: OpenRequest) -> BoxFuture<'_, Result<Conversation, Problem>> {
        async { self.open_requested(request).await.map_err(Problem::from) }.boxed()
    }

    fn markdown(&self, entries: &[Arc<Entry>]) -> String {
        haft_app::export::markdown(entries)
    }

    fn remote(&self) -> Option<Arc<dyn RemoteSessions>> {
        Some(Arc::new(self.clone()))
    }

    fn note(&self, note: String) {
        self.app.warn(note);
    }
}

impl RemoteSessions for AttachedHost {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Summary>, Problem>> {
        async { Ok(self.server.list().await?.into_iter().map(summary).collect()) }.boxed()
    }

    fn fork<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<String, Problem>> {
        async move {
            let path = format!("/v1/sessions/{id}/fork");
            let copy: ListedSession = self.server.ask(Method::POST, &path, Some(&json!({}))).await?;
            Ok(copy.id)
        }
        .boxed()
    }

    fn rename<'a>(&'a self, id: &'a str, name: &'a str) -> BoxFuture<'a, Result<(), Problem>> {
        async move {
            let path = format!("/v1/sessions/{id}");
            let _renamed: Value = self.server.ask(Method::PATCH, &path, Some(&json!({"name": name}))).await?;
            Ok(())
        }
        .boxed()
    }
}

fn summary(listed: ListedSession) -> Summary {
    let ListedSession { id, title, workspace, model, opened_at, last_at, .. } = listed;
    Summary {
        id: SessionId(id),
        opened_at,
        last_at,
        workspace: workspace.into(),
        model,
        name: None,
        title,
        entries: 0,
        delegated_by: None,
        forked_from: None,
        user: None,
    }
}

impl From<CallError> for Problem {
    fn from(error: CallError) -> Self {
        Failure::from(error).into()
    }
}
