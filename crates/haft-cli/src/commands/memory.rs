//! [`memory`] (`haft memory`): lists, proposes and removes lines of the notes for agents, each with its sources.
use crate::{CliContext, args::MemoryCommand};
use haft_app::{Failure, SessionSpec, agents::AGENT, config::Settings};
use haft_core::{
    Command,
    memory::{MemoryLine, Source, TOOL},
};
use haft_engine::{CallReport, Engine, Model, Setup, WorkspaceMemory};
use haft_present::{
    memory::{NOTHING, reasons, unreadable},
    safe,
};
use haft_providers::direct::{self, Direct};
use haft_terminal::{Exit, signals::Interrupts, table::List};
use serde_json::{Value, json};
use std::{
    io::{Write, stderr, stdout},
    path::PathBuf,
    sync::Arc,
};

/// `haft memory …`
pub(crate) async fn memory(cli: &CliContext, command: MemoryCommand) -> Result<Exit, Failure> {
    match command {
        MemoryCommand::List { place, json } => list(&known(&setup(cli, place.cwd)?)?, json),
        MemoryCommand::Propose { place, apply } => propose(setup(cli, place.cwd)?, apply).await,
        MemoryCommand::Forget { number, place } => forget(setup(cli, place.cwd)?, number).await,
    }
}

/// The setup for a session with one call and no model, in the default profile, which has every tool.
fn setup(cli: &CliContext, workspace: Option<PathBuf>) -> Result<Setup, Failure> {
    let settings = Settings { profile: Some("default".to_owned()), ..Settings::default() };
    let spec = SessionSpec { workspace, settings, ..SessionSpec::default() };
    let model = Model::plain(direct::MODEL, Arc::new(Direct));
    Ok(cli.plan(&spec)?.setup(model)?.for_one_call())
}

fn known(setup: &Setup) -> Result<WorkspaceMemory, Failure> {
    setup.home.memory(&setup.workspace).map_err(|error| Failure::failed(unreadable(&error)))
}

fn list(memory: &WorkspaceMemory, is_json: bool) -> Result<Exit, Failure> {
    let mut list = List::new(["N", "LINE", "SOURCES", "STATE"], is_json);
    for (place, line) in memory.lines().iter().enumerate() {
        let objection = memory.learned.objection(line);
        let (number, sources) = (place + 1, sources(line));
        let state = objection.as_deref().unwrap_or("holds");
        list.row(
            [&number.to_string(), &line.text, &sources.join(", "), state],
            || json!({"number": number, "text": line.text, "sources": sources, "objection": objection}),
        );
    }
    Ok(list.print("No line of the notes is from Haft; `haft memory propose` shows what past sessions add.")?)
}

fn sources(line: &MemoryLine) -> Vec<String> {
    line.sources.iter().map(Source::to_string).collect()
}

async fn propose(setup: Setup, is_applied: bool) -> Result<Exit, Failure> {
    let memory = known(&setup)?;
    let change = memory.change();
    if change.is_empty() {
        writeln!(stdout(), "{NOTHING}")?;
        return Ok(Exit::Success);
    }
    write!(stdout(), "{}", safe::text(&memory.diff()))?;
    for reason in reasons(&change) {
        writeln!(stderr(), "{}", safe::name(&reason))?;
    }
    if !is_applied {
        writeln!(stderr(), "hint: `haft memory propose --apply` writes this")?;
        return Ok(Exit::Success);
    }
    make(setup, change.arguments()).await
}

async fn forget(setup: Setup, number: usize) -> Result<Exit, Failure> {
    let lines = known(&setup)?.lines();
    let Some(line) = number.checked_sub(1).and_then(|place| lines.get(place)) else {
        let why = format!("there is no line {number} to forget: the notes have {} from Haft", lines.len());
        return Err(Failure::usage(why).hint("`haft memory list` numbers them"));
    };
    make(setup, json!({"forget": [line.text]})).await
}

/// Makes the call in a session of its own, so that it is recorded and can be undone. It counts as a call that the user
/// typed.
async fn make(setup: Setup, arguments: Value) -> Result<Exit, Failure> {
    let engine = Engine::new(setup);
    let mut interrupts = Interrupts::listen()?;
    let session = engine.create(AGENT)?;
    let report = session.start(Command::TypedCall { name: TOOL.to_owned(), arguments }).report().await;
    interrupts.or_leave(engine.shut_down()).await;
    let result = report.calls.first().map(CallReport::result);
    match result.map(|result| (&result.error, &result.content)) {
        Some((None, content)) => {
            writeln!(stderr(), "{} `haft undo` takes it back.", safe::text(content))?;
            Ok(Exit::Success)
        }
        Some((Some(error), _)) => Err(Failure::failed(error.message.clone())),
        None => Err(Failure::failed(report.error.unwrap_or_default())),
    }
}
