//! [`Builder`]: sets up an agent: a model, tools, and what they may do.
#[cfg(feature = "mcp")]
use crate::mcp_servers;
use crate::{Error, Haft, IntoTool, Result, environment::Environment};
use haft_core::{
    Answer, Hooks, Limits, Mode, NoHooks, Policy, Price, Provider, Question, Registry, ToolSource, ToolSpec,
    schema::nearest,
};
use haft_dialects::Dialect;
use haft_engine::{Agent, Approval, Engine, Model, Profile, Responder, Setup};
use haft_evidence::ClaimChecker;
use haft_stage::CommandAccess;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// The name of the agent that [`crate::Haft::session`] opens.
const AGENT_NAME: &str = "haft";

/// Sets up an agent. [`Haft::builder`] makes a builder, and [`Builder::build`] checks all settings.
#[derive(Default)]
#[must_use = "nothing is checked and nothing is opened before `build`"]
pub struct Builder {
    pub(crate) model: Option<String>,
    pub(crate) provider: Option<Arc<dyn Provider>>,
    pub(crate) price: Option<Price>,
    pub(crate) window: Option<u64>,
    #[cfg(feature = "http")]
    pub(crate) way: crate::model::Endpoint,
    pub(crate) speech: Option<ToolCallFormat>,
    tools: Registry,
    /// The error of the first value that is not a tool.
    no_tool: Option<Error>,
    sources: Vec<Arc<dyn ToolSource>>,
    #[cfg(feature = "mcp")]
    servers: Vec<haft_mcp::client::McpServer>,
    #[cfg(feature = "mcp")]
    on_mcp_note: Option<mcp_servers::OnNote>,
    hooks: Option<Arc<dyn Hooks>>,
    agents: Vec<Agent>,
    system: Option<String>,
    pub(crate) profile: Option<Profile>,
    limits: Option<Limits>,
    policy: Policy,
    /// The mode. It replaces that of the policy, whichever was set first.
    mode: Option<Mode>,
    responder: Responder,
    workspace: Option<PathBuf>,
    place: Place,
    commands: Option<CommandAccess>,
}

/// Where sessions are stored.
#[derive(Default)]
pub(crate) enum Place {
    /// In the user's state folder.
    #[default]
    Person,
    Folder(PathBuf),
    /// In a folder that is removed with the engine.
    Memory,
}

/// How a model writes calls if its server does not support native calls.
#[derive(Clone)]
pub enum ToolCallFormat {
    /// In the dialect that belongs to the model's name, or that its first reply shows.
    Auto,
    /// In this dialect.
    In(&'static Dialect),
    /// In the dialect of this name: `hermes`, `llama3_json`, …
    Named(String),
}

impl From<&str> for ToolCallFormat {
    /// `auto`, or the name of a dialect.
    fn from(name: &str) -> Self {
        if name == "auto" { Self::Auto } else { Self::Named(name.to_owned()) }
    }
}

impl From<&'static Dialect> for ToolCallFormat {
    fn from(dialect: &'static Dialect) -> Self {
        Self::In(dialect)
    }
}

impl Haft {
    /// Returns a builder for an agent.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Builder {
    /// Asks this model, as `PROVIDER/MODEL`: `openai/gpt-5-mini`, `anthropic/claude-sonnet-4-5`, `ollama/qwen3`. The
    /// key comes from the vendor's key variable, the address from its address variable if that is set.
    #[cfg(feature = "http")]
    pub fn model(self, spec: impl Into<String>) -> Self {
        Self { model: Some(spec.into()), ..self }
    }

    /// Uses this key in place of the vendor's variable.
    #[cfg(feature = "http")]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.way.key = Some(key.into());
        self
    }

    /// Asks the server at this address in place of the vendor's own: `http://127.0.0.1:8000/v1`.
    #[cfg(feature = "http")]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.way.base_url = Some(url.into());
        self
    }

    /// Asks this provider in place of a vendor. Takes a value or an `Arc`.
    pub fn provider(self, provider: impl Provider + 'static) -> Self {
        Self { provider: Some(Arc::new(provider)), ..self }
    }

    /// Sets the price of the model, for budgets and for the cost in reports.
    pub fn price(self, price: Price) -> Self {
        Self { price: Some(price), ..self }
    }

    /// Sets the model's window in tokens: request and reply together.
    pub fn window(self, tokens: u64) -> Self {
        Self { window: Some(tokens), ..self }
    }

    /// Parses calls from the model's text: `"auto"`, the name of a dialect, or a [`Dialect`] of your own.
    pub fn dialect(self, dialect: impl Into<ToolCallFormat>) -> Self {
        Self { speech: Some(dialect.into()), ..self }
    }

    /// Adds a tool: a function with `#[tool]`, or a value that implements [`crate::Tool`]. A later tool replaces an
    /// earlier one of the same name.
    pub fn tool<Marker>(mut self, tool: impl IntoTool<Marker>) -> Self {
        match tool.into_tool() {
            Ok(tool) => self.tools.register(tool),
            Err(error) => self.no_tool = Some(error),
        }
        self
    }

    /// Adds all tools of a registry, such as `haft::tools::builtin(…)` or [`Registry::declared`].
    pub fn tools(self, tools: Registry) -> Self {
        Self { tools: tools.joined(&self.tools), ..self }
    }

    /// Adds tools that come and go while a session is open, such as those of MCP servers (`haft::mcp::client::Mcp`).
    pub fn tool_source(mut self, source: impl ToolSource + 'static) -> Self {
        self.sources.push(Arc::new(source));
        self
    }

    /// Calls `heard` with a sentence about each problem of an MCP server: it cannot be started, or has changed its
    /// tools. Without this, such problems are warnings of `tracing`.
    #[cfg(feature = "mcp")]
    pub fn on_mcp_note(self, heard: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self { on_mcp_note: Some(Arc::new(heard)), ..self }
    }

    /// Adds the tools of an MCP server that is a program. It starts with the first turn, and its tools are called
    /// `mcp__NAME__TOOL`. If it cannot be started, its tools are missing, and [`Builder::on_mcp_note`] receives the
    /// reason.
    #[cfg(feature = "mcp")]
    pub fn mcp_program<S: Into<String>>(
        self,
        name: impl Into<String>,
        program: impl Into<String>,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        self.mcp_server(mcp_servers::program(name.into(), program.into(), arguments))
    }

    /// Adds the tools of an MCP server that is reached at this address over Streamable HTTP.
    #[cfg(feature = "mcp")]
    pub fn mcp_url(self, name: impl Into<String>, url: impl Into<String>) -> Self {
        self.mcp_server(mcp_servers::service(name.into(), url.into()))
    }

    /// Adds the tools of an MCP server, with all its settings.
    #[cfg(feature = "mcp")]
    pub fn mcp_server(mut self, server: haft_mcp::client::McpServer) -> Self {
        self.servers.push(server);
        self
    }

    /// Lets `hooks` check calls and turns. Hooks may deny a call or add text to it, but cannot allow anything.
    pub fn hooks(self, hooks: impl Hooks + 'static) -> Self {
        Self { hooks: Some(Arc::new(hooks)), ..self }
    }

    /// Sets the system prompt, in place of the profile's.
    pub fn system(self, prompt: impl Into<String>) -> Self {
        Self { system: Some(prompt.into()), ..self }
    }

    /// Adds another agent, for [`Haft::session_of`] and for agents that delegate to it.
    pub fn agent(mut self, agent: Agent) -> Self {
        self.agents.push(agent);
        self
    }

    /// Uses this profile: numbers, texts and formats.
    pub fn profile(self, profile: Profile) -> Self {
        Self { profile: Some(profile), ..self }
    }

    /// Limits turns, in place of the profile's limits.
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits: Some(limits), ..self }
    }

    /// Judges the effects of calls. The default policy asks for an approval of everything except reading in the
    /// workspace.
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Uses this mode for effects that no rule of the policy matches, in place of the policy's own mode.
    pub fn mode(self, mode: Mode) -> Self {
        Self { mode: Some(mode), ..self }
    }

    /// Answers calls that need an approval, in every turn of the agent's sessions. Called on a thread of the runtime,
    /// so it must not block for long. If it panics, the call is denied.
    pub fn approve(mut self, approve: impl Fn(&Approval) -> Answer + Send + Sync + 'static) -> Self {
        self.responder.approve = Some(Arc::new(approve));
        self
    }

    /// Answers questions of calls; `None` if the program has no answer. Called as [`Builder::approve`] is.
    pub fn reply(mut self, reply: impl Fn(&Question) -> Option<String> + Send + Sync + 'static) -> Self {
        self.responder.reply = Some(Arc::new(reply));
        self
    }

    /// Works in this folder in place of the current one.
    pub fn workspace(self, folder: impl Into<PathBuf>) -> Self {
        Self { workspace: Some(folder.into()), ..self }
    }

    /// Stores sessions in this folder in place of the user's state folder. It must be outside of the workspace.
    pub fn home(self, folder: impl Into<PathBuf>) -> Self {
        Self { place: Place::Folder(folder.into()), ..self }
    }

    /// Stores nothing permanently: sessions are removed when the agent and all its sessions are dropped.
    pub fn in_memory(self) -> Self {
        Self { place: Place::Memory, ..self }
    }

    /// Lets commands run in a view of the workspace, without network and keys, if the system supports it (Linux). Their
    /// changes are judged before they are applied, and can be undone. On other systems, allowed commands run like any
    /// other process of the program.
    pub fn confine_commands(self, access: CommandAccess) -> Self {
        Self { commands: Some(access), ..self }
    }

    /// Checks all settings, and reads the environment: the key, the folder for sessions, the variables for commands. A
    /// server on this machine is asked for the window of its model.
    ///
    /// # Errors
    /// Fails if there is no model or no key for it, if a given value is not a tool or not a dialect, if providers would
    /// refuse the name or the parameters of a tool, if an agent has no name or a name that is taken, or names a tool that
    /// does not exist, if the window is 0, if a price or a limit of the cost is not an amount, if the workspace is not a
    /// folder, or if there is no folder for sessions outside of it.
    pub async fn build(mut self) -> Result<Haft> {
        if let Some(error) = self.no_tool.take() {
            return Err(error);
        }
        if self.window == Some(0) {
            let error = Error::new("cannot work with a window of 0 tokens");
            return Err(error.with_hint("leave `window` out if it is not known"));
        }
        self.tools.all().try_for_each(|registered| check_tool(registered.tool.spec()))?;
        names_differ(&self.agents)?;
        self.has_tools_of_agents()?;
        self.policy.mode = self.mode.unwrap_or(self.policy.mode);
        let environment = Arc::new(Environment::read());
        let workspace = folder_to_work_in(self.workspace.as_deref().unwrap_or(Path::new(".")))?;
        let model = self.open_model(&environment).await?;
        let (models, access) = (self.models(&environment), environment.access(&self.keys(&environment)));
        let (home, stages) = self.place.open(&environment, self.commands, &workspace)?;
        let mut profile = self.profile.unwrap_or_else(Profile::standard);
        profile.limits = self.limits.unwrap_or(profile.limits);
        check_cost(&profile.limits, &model)?;
        let system = self.system.unwrap_or_else(|| profile.system.clone());
        let own = Agent { name: AGENT_NAME.into(), system, ..Agent::default() };
        #[cfg(feature = "mcp")]
        self.sources.extend(mcp_servers::source(
            self.servers,
            &workspace,
            &access,
            model.window,
            self.on_mcp_note,
        ));
        let engine = Engine::new(Setup {
            model,
            tools: self.tools,
            sources: self.sources,
            agents: std::iter::once(own).chain(self.agents).collect(),
            policy: self.policy,
            ceiling: None,
            stages,
            workspace,
            home,
            profile,
            access,
            knowledge: Default::default(),
            hooks: self.hooks.unwrap_or_else(|| Arc::new(NoHooks)),
            diagnostics: None,
            evidence: Arc::new(ClaimChecker),
            models,
            sampler: None,
            replicas: None,
            observer: None,
        });
        engine.check_folders()?;
        Ok(Haft { engine, agent: AGENT_NAME.into(), responder: self.responder })
    }

    /// Checks that each tool that an agent names exists, unless a source may still add it.
    fn has_tools_of_agents(&self) -> Result<()> {
        #[cfg(feature = "mcp")]
        let has_servers = !self.servers.is_empty();
        #[cfg(not(feature = "mcp"))]
        let has_servers = false;
        if has_servers || !self.sources.is_empty() {
            return Ok(());
        }
        for Agent { name, tools, .. } in &self.agents {
            let Some(missing) = tools.iter().flatten().find(|tool| !self.tools.contains(tool)) else {
                continue;
            };
            let known: Vec<&str> = self.tools.names().collect();
            let near = nearest(missing, &known).map(|near| format!("did you mean `{near}`? "));
            let hint = format!("{}`tool` and `tools` add it", near.unwrap_or_default());
            let message = format!("cannot add the agent `{name}`: there is no tool `{missing}`");
            return Err(Error::new(message).with_hint(hint));
        }
        Ok(())
    }
}

/// Maximum length of a tool's name that all providers take, in characters.
const MAX_TOOL_NAME_LENGTH: usize = 64;

/// Checks what providers refuse, because they refuse each request with such a tool.
fn check_tool(spec: &ToolSpec) -> Result<()> {
    let name = spec.name.escape_debug();
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if !(1..=MAX_TOOL_NAME_LENGTH).contains(&spec.name.len()) || !spec.name.chars().all(fits) {
        let error = Error::new(format!("cannot add the tool `{name}`: providers would refuse its name"));
        return Err(error.with_hint(format!(
            "name it with ASCII letters, digits, `_` and `-`, at most {MAX_TOOL_NAME_LENGTH} of them"
        )));
    }
    if spec.parameters.get("type").is_some_and(|kind| kind != "object") {
        let error = Error::new(format!("cannot add the tool `{name}`: its arguments are not an object"));
        return Err(error.with_hint("make `Args` a struct with named fields"));
    }
    Ok(())
}

/// Checks that a limit of the cost can be held: the price is known, and neither it nor the limit is negative, infinite or
/// not a number.
fn check_cost(limits: &Limits, Model { price, spec, .. }: &Model) -> Result<()> {
    if limits.budget.usd.is_some() && price.is_none() {
        let message = format!("cannot limit the cost: the price of `{spec}` is not known");
        return Err(Error::new(message).with_hint("name it with `price`, or limit the tokens"));
    }
    let prices =
        price.map(|price| [Some(price.input), Some(price.output), price.cache_read, price.cache_write]);
    let mut amounts = prices.into_iter().flatten().chain([limits.budget.usd]).flatten();
    match amounts.find(|amount| !amount.is_finite() || *amount < 0.0) {
        Some(amount) => {
            let error = Error::new(format!("cannot limit the cost with the amount {amount}"));
            Err(error.with_hint("prices and limits are finite numbers of at least 0"))
        }
        None => Ok(()),
    }
}

/// Checks that the agents have different names, which also differ from that of the agent of [`Haft::session`].
fn names_differ(agents: &[Agent]) -> Result<()> {
    let mut taken = vec![AGENT_NAME];
    for Agent { name, .. } in agents {
        if name.is_empty() {
            return Err(Error::new("cannot add an agent without a name").with_hint("set its `name`"));
        }
        if taken.contains(&name.as_str()) {
            let error =
                Error::new(format!("cannot add the agent `{name}`: there is another one of this name"));
            return Err(error.with_hint("give it another name"));
        }
        taken.push(name);
    }
    Ok(())
}

/// The folder to work in: absolute, links followed.
pub(crate) fn folder_to_work_in(given: &Path) -> Result<PathBuf> {
    let failed = |why: String| {
        Error::new(format!("cannot work in `{}`: {why}", given.display()))
            .with_hint("name a folder that is there with `workspace`")
    };
    let found = given.canonicalize().map_err(|error| failed(error.to_string()))?;
    if found.is_dir() { Ok(found) } else { Err(failed("it is not a folder".into())) }
}
