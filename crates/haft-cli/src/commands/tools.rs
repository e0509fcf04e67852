//! [`tools`] (`haft tools`): lists the tools, and runs one call without a model.
use crate::{
    CliContext,
    args::{CallArgs, Tools},
};
use futures::{StreamExt, future::join_all};
use haft_app::{Failure, SessionSpec, agents::AGENT, config::Settings};
use haft_core::{Change, Command, Registry, ResultObject, SessionId, SplitResult, ToolResult, Tracking};
use haft_engine::{CallReport, Engine, Model, Turn, TurnReport};
use haft_present::safe;
use haft_providers::direct::{self, Direct};
use haft_terminal::table::List;
use haft_terminal::{Exit, questions::Questions, signals::Interrupts};
use serde_json::{Value, json};
use std::{
    io::{IsTerminal, Write, stderr, stdin, stdout},
    sync::Arc,
};

/// `haft tools …`
pub(crate) async fn tools(cli: &CliContext, command: Tools) -> Result<Exit, Failure> {
    match command {
        Tools::List { profile, json } => list(&known(cli, profile).await?, json),
        Tools::Schema { name, profile } => schema(&known(cli, profile).await?, name.as_deref()),
        Tools::Call(call) => run(cli, call).await,
    }
}

/// The tools that a session here would have, including those of MCP servers, which are started for this.
async fn known(cli: &CliContext, profile: Option<String>) -> Result<Registry, Failure> {
    let settings = Settings { profile, ..Settings::default() };
    let spec = SessionSpec { settings, ..SessionSpec::default() };
    let model = Model::plain(direct::MODEL, Arc::new(Direct));
    let setup = cli.plan(&spec)?.setup(model)?;
    let asking = SessionId("tools".to_owned());
    let sources = join_all(setup.sources.iter().map(|source| source.tools(&asking))).await;
    Ok(sources.iter().fold(setup.tools, |tools, source| tools.joined(source)))
}

fn list(tools: &Registry, json: bool) -> Result<Exit, Failure> {
    let mut list = List::new(["TOOL", "DESCRIPTION"], json);
    for spec in tools.specs().iter() {
        let first = spec.description.lines().next().unwrap_or_default();
        list.row([&spec.name, first], || json!({"name": spec.name, "description": spec.description}));
    }
    Ok(list.print("This profile has no tools.")?)
}

fn schema(tools: &Registry, name: Option<&str>) -> Result<Exit, Failure> {
    let specs = match name {
        None => tools.specs(),
        Some(name) => {
            let found = tools.find(name).map_err(|error| {
                let hint = error.hint.clone().unwrap_or_default();
                Failure::usage(error.to_string()).hint(hint)
            })?;
            [found.told().clone()].into()
        }
    };
    let definitions: Vec<Value> = specs.iter().map(|spec| spec.definition()).collect();
    writeln!(stdout(), "{:#}", Value::Array(definitions))?;
    Ok(Exit::Success)
}

/// Runs one call like any other: in a session, with a provider that makes this call in place of a model.
async fn run(cli: &CliContext, call: CallArgs) -> Result<Exit, Failure> {
    let CallArgs { name, arguments, permission, profile, cwd } = call;
    let settings = Settings { permission, profile, ..Settings::default() };
    let spec = SessionSpec { workspace: cwd, settings, ..SessionSpec::default() };
    let model = Model::plain(direct::MODEL, Arc::new(Direct));
    let setup = cli.plan(&spec)?.setup(model)?.for_one_call();
    if setup.tools.find(&name).is_ok_and(|found| found.tool.spec().name == "delegate") {
        return Err(
            Failure::usage(format!("`{name}` needs a model")).hint("`haft run` lets a model delegate tasks")
        );
    }
    let form = setup.profile.render.object;
    let engine = Engine::new(setup);
    let mut interrupts = Interrupts::listen()?;
    let session = engine.create(AGENT)?;
    let turn = session.start(direct::prompt(&name, &arguments));
    let report = watch(turn, &mut interrupts).await;
    if report.outcome.is_none() {
        interrupts.or_leave(engine.shut_down()).await;
        return Err(Failure::failed(report.error.unwrap_or_default()));
    }
    let call = report.calls.first();
    let result = call.map(|call| call.result().clone()).unwrap_or_default();
    print(&result, call.and_then(CallReport::how), &report.changes, form)?;
    interrupts.or_leave(engine.shut_down()).await;
    if let Some(job) = &result.job {
        writeln!(stderr(), "(ended background task {job}: its result cannot be reported)")?;
    }
    Ok(if result.is_green() { Exit::Success } else { Exit::Failed })
}

/// Prints a tool in one line.
fn print(
    result: &ToolResult,
    how: Option<Tracking>,
    changes: &[Change],
    form: ResultObject,
) -> Result<(), Failure> {
    let object = match form {
        ResultObject::Plain => json!({
            "ok": result.is_green(), "content": result.content, "error": result.error, "changes": changes,
            "how": how, "details": result.details,
        }),
        ResultObject::Split => json!(SplitResult::from(result)),
    };
    Ok(writeln!(stdout(), "{}", safe::json(&object.to_string()))?)
}

/// Answers for the user until the turn has ended.
async fn watch(mut turn: Turn, interrupts: &mut Interrupts) -> TurnReport {
    let can_ask = stdin().is_terminal() && stderr().is_terminal();
    let mut questions = Questions::default();
    loop {
        tokio::select! {
            event = turn.next() => match event {
                Some(event) => questions.hear(turn.session(), &event, can_ask),
                None => return turn.report().await,
            },
            () = interrupts.next() => {
                let _session_is_closed = turn.send(Command::Interrupt);
            }
        }
    }
}
