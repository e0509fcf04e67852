//! [`mcp`] (`haft mcp`): agents and tools for other programs. Standard output belongs to the protocol.
use super::jobs::{self, Wanted, Working};
use crate::{
    CliContext,
    agents::AGENT,
    args::{McpArgs, TurnArgs},
    assemble::SessionSpec,
    failure::Failure,
    token,
};
use haft_core::Registry;
use haft_engine::{Agent, Engine, Model};
use haft_mcp::server::{
    AgentTool, Begin, HaftServer, JobTool, Offer, Open, OwnTool, listen, over_http, over_stdio,
};
use haft_providers::direct::{self, Direct};
use haft_terminal::{Exit, signals::Interrupts};
use std::{
    collections::HashSet,
    io::{Write, stderr},
    path::PathBuf,
    sync::Arc,
};

/// Serves until the client leaves or a signal interrupts.
pub(crate) async fn mcp(context: &CliContext, args: &McpArgs) -> Result<Exit, Failure> {
    let turn = turn(args);
    let (mut engines, mut offers): (Vec<Engine>, Vec<Arc<dyn Offer>>) = Default::default();
    let working = Working::default();
    if !args.no_agents {
        let assembled = SessionSpec::of(context, &turn)?.engine().await?;
        for notice in assembled.notices.iter().filter(|_| !args.quiet) {
            writeln!(stderr(), "note: {notice}")?;
        }
        offers.extend(agents(context, &turn, &assembled.engine, &working));
        engines.push(assembled.engine);
    }
    if let Some(names) = &args.expose {
        let engine = for_calls(context, &turn)?;
        offers.extend(own(&engine, names)?);
        engines.push(engine);
    }
    refuse_doubles(&offers)?;
    let mut interrupts = Interrupts::listen()?;
    let served = serve(context, HaftServer::new(offers), args, &mut interrupts).await;
    let all_down = async {
        working.shut_down().await;
        for engine in engines {
            engine.shut_down().await;
        }
    };
    interrupts.or_leave(all_down).await;
    served.map(|()| Exit::Success)
}

/// A client could not tell them apart.
fn refuse_doubles(offers: &[Arc<dyn Offer>]) -> Result<(), Failure> {
    let mut names = HashSet::new();
    match offers.iter().map(|offer| offer.tool().name).find(|name| !names.insert(name.clone())) {
        None => Ok(()),
        Some(name) => Err(Failure::usage(format!("an agent and a tool are both called `{name}`"))
            .hint("leave the tool out of `--expose`, or rename the agent")),
    }
}

fn turn(args: &McpArgs) -> TurnArgs {
    TurnArgs {
        settings: args.settings.clone(),
        base_url: args.base_url.clone(),
        cwd: args.cwd.clone(),
        quiet: args.quiet,
        ..TurnArgs::default()
    }
}

/// One tool for each agent there is. That of people who ask for none is called `agent`, and takes a prompt; the others
/// take jobs.
fn agents(context: &CliContext, turn: &TurnArgs, engine: &Engine, working: &Working) -> Vec<Arc<dyn Offer>> {
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
        let begin = begin(context, turn, (agent.name.clone(), workspace.clone()), working);
        Arc::new(JobTool { name: agent.name.clone(), description, begin })
    };
    engine.setup().agents.iter().map(offer).collect()
}

/// Jobs as `haft build` and its kin begin them.
fn begin(
    context: &CliContext,
    turn: &TurnArgs,
    (kind, origin): (String, PathBuf),
    working: &Working,
) -> Begin {
    let (context, turn, working) = (context.clone(), turn.clone(), working.clone());
    Arc::new(move |description| {
        let (context, turn, working) = (context.clone(), turn.clone(), working.clone());
        let wanted = Wanted { kind: kind.clone(), description, origin: origin.clone() };
        Box::pin(async move {
            let begun = jobs::begun(&context, wanted, &turn, &working).await;
            begun.map_err(|failure| failure.message)
        })
    })
}

fn open(engine: &Engine, agent: String) -> Open {
    let engine = engine.clone();
    Arc::new(move || engine.create(&agent))
}

/// An engine whose model makes the calls that clients make.
fn for_calls(context: &CliContext, turn: &TurnArgs) -> Result<Engine, Failure> {
    let model = Model::plain(direct::MODEL, Arc::new(Direct));
    Ok(Engine::new(SessionSpec::of(context, turn)?.setup(model)?.for_one_call()))
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

async fn serve(
    context: &CliContext,
    server: HaftServer,
    args: &McpArgs,
    interrupts: &mut Interrupts,
) -> Result<(), Failure> {
    match args.listen {
        None => over_stdio(server, interrupts.next()).await?,
        Some(address) => {
            let listener = listen(address).await?;
            let token =
                if args.no_token { None } else { Some(token::of(&context.places.home, token::MCP)?.token) };
            if !args.quiet {
                writeln!(stderr(), "note: listening on http://{}/mcp", listener.local_addr()?)?;
                if let Some(token) = &token {
                    writeln!(stderr(), "note: clients send `Authorization: Bearer {token}`")?;
                }
            }
            let served =
                interrupts.until(|interrupted| over_http(server, listener, token, interrupted)).await;
            served.unwrap_or(Ok(()))?;
        }
    }
    Ok(())
}
