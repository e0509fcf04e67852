//! [`McpOffers`]: the agents and tools that other programs use over MCP.
use crate::{
    App, Failure, SessionSpec,
    agents::AGENT,
    jobs::{Job, JobRequest},
};
use futures::FutureExt;
use haft_core::{Conclusion, Registry, SessionId};
use haft_engine::{Agent, Engine, Model};
use haft_mcp::server::{AgentTool, Begin, Begun, HaftServer, JobTool, Offer, Open, OwnTool};
use haft_providers::direct::{self, Direct};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::Arc,
};

/// The offered agents and tools, and the engines behind them.
pub struct McpOffers {
    offers: Vec<Arc<dyn Offer>>,
    engines: Vec<Engine>,
    working: Working,
}

impl App {
    /// Offers each agent as a tool, if `has_agents`, and the tools of these names.
    ///
    /// # Errors
    ///
    /// If the configuration is invalid, a tool does not exist, or a tool and an agent have the same name.
    pub async fn mcp_offers(
        &self,
        spec: &SessionSpec,
        has_agents: bool,
        tools: Option<&[String]>,
    ) -> Result<McpOffers, Failure> {
        let (mut engines, mut offers) = (Vec::new(), Vec::new());
        let working = Working::default();
        if has_agents {
            let assembled = self.plan(spec)?.engine().await?;
            assembled.notices.iter().for_each(|notice| self.warn(notice));
            offers.extend(agents(self, spec, &assembled.engine, &working));
            engines.push(assembled.engine);
        }
        if let Some(names) = tools {
            let engine = for_calls(self, spec)?;
            offers.extend(own(&engine, names)?);
            engines.push(engine);
        }
        refuse_doubles(&offers)?;
        Ok(McpOffers { offers, engines, working })
    }
}

impl McpOffers {
    /// The MCP server that offers them.
    #[must_use]
    pub fn server(&self) -> HaftServer {
        HaftServer::new(self.offers.clone())
    }

    /// Stops the work of clients that have left, and closes all sessions.
    pub async fn shut_down(&self) {
        self.working.shut_down().await;
        for engine in &self.engines {
            engine.shut_down().await;
        }
    }
}

/// Fails if two offers have the same name: a client could not tell them apart.
fn refuse_doubles(offers: &[Arc<dyn Offer>]) -> Result<(), Failure> {
    let mut names = HashSet::new();
    match offers.iter().map(|offer| offer.tool().name).find(|name| !names.insert(name.clone())) {
        None => Ok(()),
        Some(name) => Err(Failure::usage(format!("an agent and a tool are both called `{name}`"))
            .hint("remove the tool from `--expose`, or rename the agent")),
    }
}

/// Makes a tool for each agent. The default agent's tool is called `agent` and takes a prompt; the others take jobs.
fn agents(app: &App, spec: &SessionSpec, engine: &Engine, working: &Working) -> Vec<Arc<dyn Offer>> {
    let workspace = engine.setup().workspace.clone();
    let offer = |agent: &Agent| -> Arc<dyn Offer> {
        if agent.name == AGENT {
            let what = "Let an agent do a task: it reads and changes files, runs commands and tests";
            let description = format!("{what}. It works in `{}`.", workspace.display());
            return Arc::new(AgentTool {
                name: "agent".into(),
                description,
                open: open(engine, AGENT.into()),
            });
        }
        let what = agent.description.trim_end_matches('.');
        let description = format!("{what}. A job for the repository in `{}`.", workspace.display());
        let begin = begin(app, spec, &agent.name, &workspace, working);
        Arc::new(JobTool { name: agent.name.clone(), description, begin })
    };
    engine.setup().agents.iter().map(offer).collect()
}

/// Begins jobs in the way of `haft build` and similar commands.
fn begin(app: &App, spec: &SessionSpec, kind: &str, origin: &Path, working: &Working) -> Begin {
    let (app, spec, working) = (app.clone(), spec.clone(), working.clone());
    let (kind, origin) = (kind.to_owned(), origin.to_owned());
    Arc::new(move |description| {
        let request = JobRequest {
            kind: kind.clone(),
            description,
            origin: origin.clone(),
            keeps_files: false,
            user: None,
        };
        let (app, spec, working) = (app.clone(), spec.clone(), working.clone());
        Box::pin(async move {
            let job = app.jobs().begin(request, &spec).await.map_err(|failure| failure.message)?;
            job.notices.iter().for_each(|notice| app.warn(notice));
            Ok(working.begun(job))
        })
    })
}

/// The engines of jobs that clients follow.
#[derive(Clone, Default)]
struct Working(Arc<Mutex<HashMap<SessionId, Engine>>>);

impl Working {
    /// Registers a job that a client follows.
    fn begun(&self, job: Job) -> Begun {
        let (session, engine, stop) = (job.session.clone(), job.engine.clone(), job.stop_file());
        let (agent, order, working, id) =
            (job.agent.clone(), job.order.clone(), self.clone(), session.id().clone());
        working.0.lock().insert(id.clone(), engine.clone());
        let end = Box::new(move |conclusion: Conclusion| {
            let ending = async move {
                job.close(&conclusion).await;
                working.0.lock().remove(&id);
            };
            ending.boxed()
        });
        Begun { session, agent, order, engine, stop, end }
    }

    /// Stops the jobs whose clients have left.
    async fn shut_down(&self) {
        let left: Vec<Engine> = self.0.lock().drain().map(|(_, engine)| engine).collect();
        for engine in left {
            engine.shut_down().await;
        }
    }
}

fn open(engine: &Engine, agent: String) -> Open {
    let engine = engine.clone();
    Arc::new(move || engine.create(&agent))
}

/// An engine whose model makes the calls that a client asks for.
fn for_calls(app: &App, spec: &SessionSpec) -> Result<Engine, Failure> {
    let model = Model::plain(direct::MODEL, Arc::new(Direct));
    Ok(Engine::new(app.plan(spec)?.setup(model)?.for_one_call()))
}

fn own(engine: &Engine, names: &[String]) -> Result<Vec<Arc<dyn Offer>>, Failure> {
    let tools: &Registry = &engine.setup().tools;
    let offers = names.iter().map(|name| match tools.find(name) {
        Ok(found) => {
            let spec = found.tool.spec().clone();
            Ok(Arc::new(OwnTool { spec, open: open(engine, AGENT.to_owned()) }) as Arc<dyn Offer>)
        }
        Err(error) => Err(Failure::usage(error.message).hint(error.hint.unwrap_or_default())),
    });
    offers.collect()
}
