//! [`AppHost`]: the application behind a front-end that opens sessions for others.
use crate::{
    App, Assembled, Exit, Failure, SessionSpec, agents::AGENT, mcp_servers, model::SharedModels,
    session::NO_MODEL, slash,
};
use futures::{FutureExt, future::BoxFuture};
use haft_core::Mode;
use haft_engine::Engine;
use haft_mcp::client::{McpServer, Transport};
use haft_present::host::{
    EngineRequest, ExpandedPrompt, Host, Problem, RequestedServer, SavedPrompt, ServerTransport,
};
use std::path::Path;

/// Opens sessions as the front-end was started, except for what a request asks for. They share their models.
pub struct AppHost {
    app: App,
    spec: SessionSpec,
    up_to: Option<Mode>,
    models: SharedModels,
    /// The model and the profile that sessions have by default, once they are known.
    usual: Option<(String, String)>,
}

impl AppHost {
    /// A front-end that opens sessions like `spec`. `up_to`: the most permissive mode that its clients may choose.
    #[must_use]
    pub fn new(app: &App, spec: SessionSpec, up_to: Option<Mode>) -> Self {
        Self { app: app.clone(), spec, up_to, models: SharedModels::default(), usual: None }
    }

    /// The engine that sessions have by default. Errors in the model, the configuration or the options appear here, before a
    /// client connects.
    ///
    /// # Errors
    ///
    /// If the configuration is invalid, or no model can be chosen.
    pub async fn first_engine(&mut self) -> Result<Engine, Failure> {
        let assembled = self.app.plan(&self.spec)?.engine_with(|setup| self.models.share(setup));
        let Assembled { engine, notices } = assembled.await?;
        notices.into_iter().for_each(|notice| self.app.warn(notice));
        self.usual = Some((engine.setup().model.spec.clone(), engine.setup().profile.name.clone()));
        Ok(engine)
    }

    async fn make(&self, request: EngineRequest) -> Result<Engine, Failure> {
        let EngineRequest { workspace, model, profile, servers, stages } = request;
        let (usual_model, usual_profile) =
            self.usual.as_ref().map(|(model, profile)| (model, profile)).unzip();
        let model = model.filter(|model| Some(model) != usual_model && model != NO_MODEL);
        let profile = profile.filter(|profile| Some(profile) != usual_profile);
        let mut spec = self.spec.clone();
        // The base URL is that of the model that the front-end was started with.
        spec.base_url = spec.base_url.filter(|_| model.is_none());
        spec.workspace = workspace.or(spec.workspace);
        spec.settings.model = model.or(spec.settings.model);
        spec.settings.profile = profile.clone().or(spec.settings.profile);
        spec.servers.extend(servers.into_iter().map(server));
        let assembled = self.app.plan(&spec)?.engine_with(|setup| {
            setup.ceiling = self.up_to;
            if let Some(stages) = stages {
                setup.stages = stages(setup.stages.clone());
            }
            // The session is opened again by what its journal names: the file, not what the file calls itself.
            if let Some(file) = profile.filter(|profile| profile.ends_with(".toml")) {
                setup.profile.name = file;
            }
            self.models.share(setup);
        });
        let Assembled { engine, notices } = assembled.await?;
        notices.into_iter().for_each(|notice| self.app.warn(notice));
        Ok(engine)
    }
}

impl Host for AppHost {
    fn engine(&self, request: EngineRequest) -> BoxFuture<'_, Result<Engine, Problem>> {
        async { self.make(request).await.map_err(Problem::from) }.boxed()
    }

    fn agent(&self) -> String {
        self.spec.agent.clone().unwrap_or_else(|| AGENT.to_owned())
    }

    fn prompts(&self, workspace: &Path) -> Vec<SavedPrompt> {
        let saved = self.app.prompts(workspace).into_iter();
        let saved = saved.map(|template| SavedPrompt {
            name: template.name,
            description: template.header.description.trim().to_owned(),
            file: template.file,
        });
        saved.collect()
    }

    fn expand(&self, workspace: &Path, prompt: &str, listed_by: &str) -> Result<ExpandedPrompt, Problem> {
        Ok(slash::expand(&self.app.prompts(workspace), prompt, listed_by)?)
    }

    fn note(&self, note: String) {
        self.app.warn(note);
    }
}

/// What a client of a front-end reads.
impl From<Failure> for Problem {
    fn from(Failure { message, hint, exit }: Failure) -> Self {
        Self { message, suggestion: hint, is_usage: exit == Exit::Usage }
    }
}

impl From<Problem> for Failure {
    fn from(Problem { message, suggestion, is_usage }: Problem) -> Self {
        Self { message, hint: suggestion, exit: if is_usage { Exit::Usage } else { Exit::Failed } }
    }
}

fn server(RequestedServer { name, transport }: RequestedServer) -> McpServer {
    let transport = match transport {
        ServerTransport::Program { program, arguments, environment } => {
            Transport::Program { program: program.to_string_lossy().into_owned(), arguments, environment }
        }
        ServerTransport::Url { url, headers } => Transport::Url { url, headers },
    };
    mcp_servers::unnamed(name, transport)
}
