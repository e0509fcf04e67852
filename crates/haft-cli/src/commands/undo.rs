//! `haft undo` and `haft redo`: files back to what they were, and forward again.
use super::run::JOINED;
use crate::{
    Surroundings,
    args::{SessionArg, TurnArgs, UndoArgs},
    assemble::{self, AGENT},
    config::Config,
    failure::Failure,
};
use futures::StreamExt;
use haft::{
    core::{Change, Command, Event, Fact, Seq, undo as plan},
    engine::{Engine, Model, Session},
    frontends::{Exit, chat::next, diff, safe},
    providers::Scripted,
};
use std::{
    io::{Write, stderr, stdout},
    path::PathBuf,
    sync::Arc,
};

/// `haft undo`
pub(crate) async fn undo(surroundings: &Surroundings, args: &UndoArgs) -> Result<Exit, Failure> {
    let (engine, session) = open(surroundings, &args.session).await?;
    let entries = session.entries();
    let to = match (args.to, args.calls) {
        (Some(seq), _) => Some(Seq(seq)),
        (None, Some(calls)) => plan::before_last_calls(&entries, calls),
        (None, None) => plan::before_last_turn(&entries),
    };
    let Some(to) = to else { return say("nothing to undo") };
    let planned = plan::back_to(&entries, to);
    let exit = match args.dry_run {
        true => told(&planned.changes, &[], planned.untracked.len(), "would be put back"),
        false => carry_out(&session, Command::Rewind { to }, "put back").await,
    };
    engine.shut_down().await;
    exit
}

/// `haft redo`
pub(crate) async fn redo(surroundings: &Surroundings, args: &SessionArg) -> Result<Exit, Failure> {
    let (engine, session) = open(surroundings, args).await?;
    let exit = match plan::last_undo(&session.entries()) {
        Some(_) => carry_out(&session, Command::Redo, "brought again").await,
        None => say("nothing to redo"),
    };
    engine.shut_down().await;
    exit
}

/// No model is needed to put files back.
async fn open(surroundings: &Surroundings, args: &SessionArg) -> Result<(Engine, Session), Failure> {
    let workspace = assemble::workspace(args.cwd.as_deref())?;
    let config = Config::load(&surroundings.places, &surroundings.environment, &workspace)?;
    let model = Model::plain("script/none", Arc::new(Scripted::new([])));
    let mut setup = assemble::setup(surroundings, &TurnArgs::default(), &config, workspace, model)?;
    let id = match &args.id {
        Some(id) => setup.home.find(id)?.0,
        None => match setup.home.newest(&setup.workspace) {
            Some(id) => id.0,
            None => {
                return Err(Failure::usage(format!(
                    "there is no session in `{}`",
                    setup.workspace.display()
                ))
                .hint("`haft sessions list` shows the sessions there are"));
            }
        },
    };
    // The files lie where the session worked, wherever the person stands.
    if let Some(Fact::SessionOpened { workspace, .. }) =
        setup.home.peek(&id)?.first().map(|entry| &entry.fact)
    {
        setup.workspace.clone_from(workspace);
    }
    let engine = Engine::new(setup);
    let session = engine.open(&id, AGENT).await?;
    if session.is_joined() {
        writeln!(stderr(), "note: {JOINED}; a turn that runs there comes to its end first")?;
    }
    Ok((engine, session))
}

async fn carry_out(session: &Session, command: Command, done: &str) -> Result<Exit, Failure> {
    let mut events = Box::pin(session.events(next(session)));
    session.send(command)?;
    while let Some(event) = events.next().await {
        let Event::Recorded(entry) = event else { continue };
        if let Fact::Rewound { changes, conflicts, untracked, .. } = &entry.fact {
            return told(changes, conflicts, untracked.len(), done);
        }
    }
    Err(Failure::failed(session.journal().failure().unwrap_or("the session closed").to_owned()))
}

fn told(changes: &[Change], conflicts: &[PathBuf], untracked: usize, done: &str) -> Result<Exit, Failure> {
    let mut stdout = stdout();
    for change in changes.iter().filter(|change| !conflicts.contains(&change.path)) {
        writeln!(
            stdout,
            "{} {} {done}",
            diff::sign(change.kind()),
            safe::text(&change.path.to_string_lossy())
        )?;
    }
    for path in conflicts {
        writeln!(stdout, "! {} left alone: somebody changed it since", safe::text(&path.to_string_lossy()))?;
    }
    if changes.is_empty() {
        writeln!(stdout, "no file was changed by a call that was tracked")?;
    }
    if untracked > 0 {
        writeln!(stdout, "{untracked} calls were not tracked, so what they did to files stands")?;
    }
    Ok(if conflicts.is_empty() { Exit::Success } else { Exit::Failed })
}

fn say(line: &str) -> Result<Exit, Failure> {
    writeln!(stdout(), "{line}")?;
    Ok(Exit::Success)
}
