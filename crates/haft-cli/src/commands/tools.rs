//! `haft tools`: what there is, and one call without a model.
use crate::{
    Surroundings,
    agents::AGENT,
    args::{CallArgs, Tools, TurnArgs},
    assemble,
    config::Config,
    failure::Failure,
};
use futures::StreamExt;
use haft::{
    core::{Changed, Command, Event, Fact, How, Registry, Seq, ToolResult},
    engine::{Engine, Model, Session, Unread},
    present::safe,
    providers::direct::{self, Direct},
    terminal::{Exit, questions::Questions, signals::Interrupts},
};
use serde_json::{Value, json};
use std::{
    io::{IsTerminal, Write, stderr, stdin, stdout},
    sync::Arc,
};

/// `haft tools …`
pub(crate) async fn tools(surroundings: &Surroundings, command: Tools) -> Result<Exit, Failure> {
    match command {
        Tools::List { profile } => list(&known(surroundings, profile.as_deref())?),
        Tools::Schema { name, profile } => schema(&known(surroundings, profile.as_deref())?, name.as_deref()),
        Tools::Call(call) => run(surroundings, call).await,
    }
}

fn known(surroundings: &Surroundings, profile: Option<&str>) -> Result<Registry, Failure> {
    let workspace = assemble::workspace(None)?;
    let config = Config::load(&surroundings.places, &surroundings.environment, &workspace)?;
    let skills = assemble::knowledge(&surroundings.places, &workspace, true).skills;
    assemble::tools(&surroundings.environment, &config.profile(profile)?, &skills, None)
}

fn list(tools: &Registry) -> Result<Exit, Failure> {
    for spec in tools.specs().iter() {
        let first = spec.description.lines().next().unwrap_or_default();
        writeln!(stdout(), "{:<8} {first}", spec.name)?;
    }
    Ok(Exit::Success)
}

fn schema(tools: &Registry, name: Option<&str>) -> Result<Exit, Failure> {
    let specs = match name {
        None => tools.specs(),
        Some(name) => {
            let found = tools.find(name).map_err(|error| {
                let hint = error.hint.clone().unwrap_or_default();
                Failure::usage(error.to_string()).hint(hint)
            })?;
            [found.tool.spec().clone()].into()
        }
    };
    let definitions: Vec<Value> = specs.iter().map(|spec| spec.definition()).collect();
    writeln!(stdout(), "{:#}", Value::Array(definitions))?;
    Ok(Exit::Success)
}

/// The whole path of a call: a session, with somebody who makes this one call in place of a model.
async fn run(surroundings: &Surroundings, call: CallArgs) -> Result<Exit, Failure> {
    let CallArgs { name, arguments, permission, profile, cwd } = call;
    let workspace = assemble::workspace(cwd.as_deref())?;
    let config = Config::load(&surroundings.places, &surroundings.environment, &workspace)?;
    let turn = TurnArgs { permission, profile, ..TurnArgs::default() };
    let model = Model::plain(direct::MODEL, Arc::new(Direct));
    let mut setup = assemble::setup(surroundings, &turn, &config, workspace, model)?;
    if setup.tools.find(&name).is_ok_and(|found| found.tool.spec().name == "delegate") {
        return Err(Failure::usage(format!("`{name}` needs a model, and here is none"))
            .hint("`haft run` lets a model give tasks to others"));
    }
    // Whoever types a call knows what is there, and has nobody to read it first.
    setup.profile.unread = Unread::Allow;
    let engine = Engine::new(setup);
    let mut interrupts = Interrupts::listen()?;
    let session = engine.create(AGENT)?;
    session.send(direct::prompt(&name, &arguments))?;
    let called = watch(&session, &mut interrupts).await;
    interrupts.or_leave(engine.shut_down()).await;
    let Some(Called { result, changed, how }) = called else {
        return Err(Failure::failed(
            session.journal().failure().unwrap_or("the call did not end").to_owned(),
        ));
    };
    let object = json!({
        "ok": result.is_ok(), "content": result.content, "error": result.error, "changes": changed.whole(),
        "how": how, "details": result.details,
    });
    writeln!(stdout(), "{}", safe::json(&object.to_string()))?;
    Ok(if result.is_ok() { Exit::Success } else { Exit::Failed })
}

/// What became of the call.
#[derive(Default)]
struct Called {
    result: ToolResult,
    changed: Changed,
    how: Option<How>,
}

async fn watch(session: &Session, interrupts: &mut Interrupts) -> Option<Called> {
    let mut events = Box::pin(session.events(Seq(0)));
    let mut called = Called::default();
    let can_ask = stdin().is_terminal() && stderr().is_terminal();
    let mut questions = Questions::default();
    loop {
        let event = tokio::select! {
            event = events.next() => event?,
            () = interrupts.next() => {
                session.send(Command::Interrupt).ok()?;
                continue;
            }
        };
        questions.hear(session, &event, can_ask);
        let Event::Recorded(entry) = event else { continue };
        called.changed.take_in(&entry.fact);
        match &entry.fact {
            Fact::ToolStarted { how, .. } => called.how = Some(*how),
            Fact::ToolEnded { result, .. } => called.result = result.clone(),
            Fact::TurnEnded { .. } => return Some(called),
            _ => {}
        }
    }
}
