//! Lists of the available agents, tools and models.
use super::{Context, body::Id};
use crate::error::{Answer, ApiError, ErrorBody};
use axum::{Json, extract::State, http::StatusCode};
use haft_engine::Engine;
use serde::Serialize;
use utoipa::ToSchema;

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
    agents: Vec<AgentRow>,
}

/// List agents
#[utoipa::path(get, path = "/v1/agents", operation_id = "list_agents", tag = "lists", responses((status = OK, body = Agents), (status = "5XX", body = ErrorBody)))]
pub(crate) async fn agents(State(context): State<Context>) -> Answer<Json<Agents>> {
    let engine = engine(&context).await?;
    let agents = engine.setup().agents.iter().map(|agent| AgentRow {
        name: agent.name.clone(),
        description: agent.description.clone(),
        takes_jobs: agent.job.is_some() || agent.done.is_some() || agent.prompt.is_some(),
    });
    Ok(Json(Agents { agents: agents.collect() }))
}

/// All tools that the agent can call, but for those of MCP servers, which are asked when a session begins.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Tools {
    /// As a model gets them
    tools: Vec<serde_json::Value>,
}

/// List tools
#[utoipa::path(get, path = "/v1/tools", operation_id = "list_tools", tag = "lists", responses((status = OK, body = Tools), (status = "5XX", body = ErrorBody)))]
pub(crate) async fn tools(State(context): State<Context>) -> Answer<Json<Tools>> {
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
pub(crate) async fn models(State(context): State<Context>) -> Answer<Json<Models>> {
    Ok(Json(Models { object: "list", data: rows(&engine(&context).await?) }))
}

/// Show an agent or the model, by what can be given as `model`
#[utoipa::path(get, path = "/v1/models/{*id}", operation_id = "show_model", tag = "openai",
    params(("id" = String, Path, description = "An agent, or `PROVIDER/MODEL`")),
    responses((status = OK, body = ModelRow), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody)))]
pub(crate) async fn model(State(context): State<Context>, Id(id): Id) -> Answer<Json<ModelRow>> {
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
