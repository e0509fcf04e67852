//! Lists of the available agents, tools and models.
use super::{
    Context,
    body::{Asked, Id},
    closed_sets::PermissionMode,
};
use crate::error::{Answer, ApiError, ErrorBody};
use axum::{Json, http::StatusCode};
use haft_app::config::serve::Permission;
use haft_core::Mode;
use haft_engine::{Agent, Engine};
use haft_present::host::Host;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The engine of the first folder.
async fn engine(context: &Context) -> Answer<Engine> {
    context.hub.engines().get(&context.hub.place(None, None, None)?).await
}

/// An agent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AgentRow {
    name: String,
    /// When to use it
    description: String,
    /// It takes jobs
    takes_jobs: bool,
}

/// All agents.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Agents {
    pub(crate) agents: Vec<AgentRow>,
}

impl AgentRow {
    pub(crate) fn of(agent: &Agent) -> Self {
        Self {
            name: agent.name.clone(),
            description: agent.description.clone(),
            takes_jobs: agent.job.is_some() || agent.done.is_some() || agent.prompt.is_some(),
        }
    }
}

fn agent_rows(engine: &Engine) -> Vec<AgentRow> {
    engine.setup().agents.iter().map(AgentRow::of).collect()
}

/// List agents
#[utoipa::path(get, path = "/v1/agents", operation_id = "list_agents", tag = "lists", responses((status = OK, body = Agents), (status = "5XX", body = ErrorBody)))]
pub(crate) async fn agents(context: Context) -> Answer<Json<Agents>> {
    Ok(Json(Agents { agents: agent_rows(&engine(&context).await?) }))
}

/// What a session can be made of
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Choices {
    /// Served folders; sessions begin in the first one
    folders: Vec<String>,
    /// Models; any other `PROVIDER/MODEL` can be given as well, where there is a key for it
    models: Vec<ModelChoice>,
    agents: Vec<AgentRow>,
    /// Permission modes that the server allows, the most careful first
    permissions: Vec<PermissionMode>,
    /// Folder, model, agent and mode of a session for which nothing is chosen
    defaults: Defaults,
}

/// A model to choose
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelChoice {
    /// `PROVIDER/MODEL`
    id: String,
    /// What it is, its window and its price, where they are known
    about: String,
    /// Levels of reasoning effort, from the least to the most; empty if it takes none
    efforts: Vec<&'static str>,
}

/// What a session is made of if nothing is chosen
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Defaults {
    workspace: String,
    model: String,
    agent: String,
    permission: PermissionMode,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ChoicesParams {
    /// Folder of the session, in a served folder [default: the first served folder]
    workspace: Option<String>,
    /// Also ask the providers whose key is known, and servers on this machine, for their models
    #[serde(default)]
    live: bool,
}

/// List what can be chosen for a session: folders, models, agents and permission modes
#[utoipa::path(get, path = "/v1/choices", operation_id = "list_choices", tag = "lists", params(ChoicesParams), responses((status = OK, body = Choices), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn choices(
    context: Context,
    Asked(ChoicesParams { workspace, live }): Asked<ChoicesParams>,
) -> Answer<Json<Choices>> {
    let (hub, host) = (&context.hub, &context.hub.settings().host);
    let place = hub.place(workspace.as_deref(), None, None)?;
    let engine = hub.engines().get(&place).await?;
    let found = if live { host.live_models().await } else { host.models() };
    // A name that ends so has to be typed.
    let whole = found.into_iter().filter(|(id, _)| !id.ends_with('…') && hub.allows_model(id));
    let models = whole.map(|(id, about)| ModelChoice { efforts: host.efforts(&id), id, about });
    let beginning = engine.setup().policy.mode;
    let widest = engine.setup().ceiling.unwrap_or(beginning);
    let permissions = Mode::ALL.into_iter().filter(|mode| *mode <= widest);
    Ok(Json(Choices {
        folders: hub.folders().iter().map(|folder| folder.display().to_string()).collect(),
        models: models.collect(),
        agents: agent_rows(&engine),
        permissions: permissions.map(PermissionMode::from).collect(),
        defaults: Defaults {
            workspace: place.workspace.display().to_string(),
            model: engine.setup().model.spec.clone(),
            agent: hub.settings().agent(),
            permission: beginning.min(widest).into(),
        },
    }))
}

/// The user who asks, and what they may do
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Me {
    /// Name of the user; `null` with the server's own token
    pub(crate) user: Option<String>,
    /// Role of the user; `null` with the server's own token
    pub(crate) role: Option<String>,
    /// What the client may do: `view`, `prompt`, `approve`, `administer`
    pub(crate) may: Vec<&'static str>,
}

/// Show who asks, and what the client may do
#[utoipa::path(get, path = "/v1/me", operation_id = "show_me", tag = "server", responses((status = OK, body = Me), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn me(context: Context) -> Json<Me> {
    use Permission::{Administer, Approve, Prompt, View};
    let user = context.hub.user();
    let may = [View, Prompt, Approve, Administer].into_iter().filter(|what| context.require(*what).is_ok());
    Json(Me {
        user: context.hub.user_name().map(str::to_owned),
        role: user.map(|user| user.role.name.clone()),
        may: may.map(Permission::name).collect(),
    })
}

/// All tools that the agent can call, but for those of MCP servers, which are asked when a session begins.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Tools {
    /// Definitions of the tools, as a model gets them
    tools: Vec<serde_json::Value>,
}

/// List tools
#[utoipa::path(get, path = "/v1/tools", operation_id = "list_tools", tag = "lists", responses((status = OK, body = Tools), (status = "5XX", body = ErrorBody)))]
pub(crate) async fn tools(context: Context) -> Answer<Json<Tools>> {
    Ok(Json(Tools { tools: engine(&context).await?.setup().tools.definitions() }))
}

/// An agent or a model, as OpenAI's SDKs read it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelRow {
    /// What to give as `model`
    id: String,
    object: &'static str,
    created: u64,
    /// `haft` for agents; the vendor for models
    owned_by: String,
}

/// All of them.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Models {
    object: &'static str,
    data: Vec<ModelRow>,
}

/// List what can be given as `model`: agents, and the model that they ask
///
/// Any other `PROVIDER/MODEL` can be given as well, where there is a key for it.
#[utoipa::path(get, path = "/v1/models", operation_id = "list_models", tag = "openai", responses((status = OK, body = Models), (status = "5XX", body = ErrorBody)))]
pub(crate) async fn models(context: Context) -> Answer<Json<Models>> {
    Ok(Json(Models { object: "list", data: rows(&engine(&context).await?) }))
}

/// Show an agent or the model, by what can be given as `model`
#[utoipa::path(get, path = "/v1/models/{*id}", operation_id = "show_model", tag = "openai",
    params(("id" = String, Path, description = "An agent, or `PROVIDER/MODEL`")),
    responses((status = OK, body = ModelRow), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody)))]
pub(crate) async fn model(context: Context, Id(id): Id) -> Answer<Json<ModelRow>> {
    let found = rows(&engine(&context).await?).into_iter().find(|row| row.id == id);
    found.map(Json).ok_or_else(|| no_model(&id))
}

/// There is no agent of this name, and it is no model.
pub(crate) fn no_model(name: &str) -> ApiError {
    let message = format!("there is no agent or model `{}`", name.escape_debug());
    ApiError::new(StatusCode::NOT_FOUND, "model_not_found", message)
        .suggest("`GET /v1/models` lists them; a model is `PROVIDER/MODEL`")
}

fn rows(engine: &Engine) -> Vec<ModelRow> {
    let setup = engine.setup();
    let row = |id: &str, owned_by: &str| ModelRow {
        id: id.to_owned(),
        object: "model",
        created: 0,
        owned_by: owned_by.to_owned(),
    };
    let agents = setup.agents.iter().map(|agent| row(&agent.name, "haft"));
    let spec = &setup.model.spec;
    let own = row(spec, spec.split_once('/').map_or("", |(vendor, _)| vendor));
    agents.chain([own]).collect()
}
