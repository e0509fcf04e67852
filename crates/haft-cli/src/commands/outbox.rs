//! [`outbox`] (`haft outbox`): lists, sends and drops the calls that sessions queued because their effects cannot be
//! taken back.
use super::undo::WAITS_FOR_TURN;
use crate::{CliContext, args::OutboxCommand};
use haft_app::{Failure, outbox::OpenedOutbox, session::JOINED};
use haft_core::{ItemState, OutboxItem, SessionId, arguments_in_brief};
use haft_engine::local_time;
use haft_present::{outbox::tests, safe};
use haft_terminal::{Exit, signals::Interrupts, table::List};
use serde_json::{Value, json};
use std::{
    io::{Write, stderr, stdout},
    path::Path,
};

/// `haft outbox …`
pub(crate) async fn outbox(cli: &CliContext, command: OutboxCommand) -> Result<Exit, Failure> {
    match command {
        OutboxCommand::List { session, cwd, json } => list(cli, session.as_deref(), cwd.as_deref(), json),
        OutboxCommand::Send { items, again, json } => each(cli, &items, Deed::Send { again }, json).await,
        OutboxCommand::Drop { items, json } => each(cli, &items, Deed::Drop, json).await,
    }
}

/// What to do with an item.
#[derive(Clone, Copy)]
enum Deed {
    Send { again: bool },
    Drop,
}

fn list(cli: &CliContext, session: Option<&str>, cwd: Option<&Path>, is_json: bool) -> Result<Exit, Failure> {
    let mut list = List::new(["ID", "STATE", "KIND", "TARGET", "CALL", "TESTS", "PROMPT"], is_json);
    for item in cli.outbox(session, cwd)? {
        let (state, kind) = (item.state.to_string(), item.kind.to_string());
        let call = call_of(&item);
        let prompt = item.prompt.lines().next().unwrap_or_default();
        list.row([&item.id, &state, &kind, &item.target, &call, tests(&item), prompt], || json!(item));
    }
    Ok(list.print("Nothing is queued here; a session with `--outbox` queues what cannot be taken back.")?)
}

/// Handles the items in the order in which they are named. If an item fails, the others are still handled.
async fn each(cli: &CliContext, ids: &[String], deed: Deed, is_json: bool) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    // A wrong ID is reported before anything is done.
    let mut items = Vec::new();
    for id in ids {
        if !items.iter().any(|known: &OutboxItem| known.id == *id) {
            items.push(cli.outbox_item(id)?);
        }
    }
    let (mut exit, mut open) = (Exit::Success, None::<(SessionId, OpenedOutbox)>);
    for item in items {
        if let Some((_, other)) = open.take_if(|(session, _)| *session != item.session) {
            other.close().await;
        }
        if open.is_none() {
            let opened = cli.open_outbox(&item.session).await?;
            if opened.is_joined() {
                writeln!(stderr(), "note: {JOINED}; {WAITS_FOR_TURN}")?;
            }
            open = Some((item.session.clone(), opened));
        }
        let Some((_, opened)) = &open else { continue };
        let (done, is_interrupted) = watched(opened, &item, deed, &mut interrupts).await;
        if !tell(&item, done, deed, is_json)? {
            exit = Exit::Failed;
        }
        if is_interrupted {
            exit = Exit::Interrupted;
            break;
        }
    }
    if let Some((_, opened)) = open {
        interrupts.or_leave(opened.close()).await;
    }
    Ok(exit)
}

/// Carries `deed` out; also returns whether an interrupt stopped the call, so that its effect is unknown.
async fn watched(
    opened: &OpenedOutbox,
    item: &OutboxItem,
    deed: Deed,
    interrupts: &mut Interrupts,
) -> (Result<OutboxItem, Failure>, bool) {
    let mut is_interrupted = false;
    let doing = async {
        match deed {
            Deed::Send { again } => opened.send(&item.id, again).await,
            Deed::Drop => opened.drop_item(&item.id).await,
        }
    };
    tokio::pin!(doing);
    loop {
        tokio::select! {
            done = &mut doing => return (done, is_interrupted),
            () = interrupts.next() => {
                is_interrupted = true;
                if !opened.interrupt() {
                    let why = "given up before it began: another process is in a turn of the session";
                    return (Err(Failure::failed(why)), is_interrupted);
                }
            }
        }
    }
}

/// Prints the result; returns whether it succeeded.
fn tell(
    item: &OutboxItem,
    done: Result<OutboxItem, Failure>,
    deed: Deed,
    is_json: bool,
) -> Result<bool, Failure> {
    let wanted = if matches!(deed, Deed::Drop) { ItemState::Dropped } else { ItemState::Sent };
    match done {
        Ok(now) => {
            let result = now.result.as_deref().unwrap_or_default().trim_end();
            match is_json {
                true => print(&json!(now))?,
                false if now.state == wanted => writeln!(stdout(), "{} {}", now.id, now.state)?,
                false => {
                    writeln!(stdout(), "{} {}: {}", now.id, now.state, safe::text(result))?;
                    hint(&now)?;
                }
            }
            Ok(now.state == wanted)
        }
        Err(failure) => {
            let when = item.sent_at.map(|at| format!(" (at {})", local_time(at))).unwrap_or_default();
            match is_json {
                true => {
                    let mut object = json!(item);
                    object["error"] = Value::String(failure.message);
                    print(&object)?;
                }
                false => writeln!(stderr(), "error: {}{when}", safe::text(&failure.message))?,
            }
            hint(item)?;
            Ok(false)
        }
    }
}

fn print(object: &Value) -> Result<(), Failure> {
    Ok(writeln!(stdout(), "{}", safe::json(&object.to_string()))?)
}

/// Prints what to do if it is unknown whether an item arrived.
fn hint(item: &OutboxItem) -> Result<(), Failure> {
    if matches!(item.state, ItemState::Unknown | ItemState::Sending) {
        let OutboxItem { id, kind, target, .. } = item;
        let what = format!("{kind} {target}, `{}`", call_of(item));
        writeln!(
            stderr(),
            "hint: check whether this was done: {}; then `haft outbox send --again {id}` does it once more, and `haft outbox \
             drop {id}` ends it",
            safe::name(&what)
        )?;
    }
    Ok(())
}

fn call_of(item: &OutboxItem) -> String {
    format!("{} {}", item.tool, arguments_in_brief(&item.arguments)).trim_end().to_owned()
}
