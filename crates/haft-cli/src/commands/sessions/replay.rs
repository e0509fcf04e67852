//! [`replay`] (`haft sessions replay`): replays recorded replies with real tools in a copy of the workspace.
mod copy;
mod driver;
mod moved;
mod recording;
mod verdict;

use crate::{
    CliContext,
    agents::AGENT,
    args::{ReplayArgs, TurnArgs},
    assemble::SessionSpec,
    config::Settings,
    failure::Failure,
};
use driver::Driver;
use haft_core::{Entry, Mode, NoHooks, SessionId, SessionOpened};
use haft_engine::{Engine, Home, Model, Setup};
use haft_providers::{Retold, direct};
use haft_terminal::{Exit, signals::Interrupts};
use moved::Moved;
use recording::Recording;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use verdict::Verdict;

/// What a subagent did stands in a session of its own.
const DELEGATE: &str = "delegate";

/// Runs the session again and says where it first gives something else.
pub(super) async fn replay(context: &CliContext, home: &Home, args: ReplayArgs) -> Result<Exit, Failure> {
    let id = home.find(&args.id)?;
    let entries = home.peek(&id.0)?;
    let Some(SessionOpened { agent, workspace, profile, .. }) = SessionOpened::of(&entries) else {
        return Err(Failure::usage(format!(
            "cannot replay the session `{id}`: its journal has no beginning"
        )));
    };
    let mut recording = Recording::of(&entries);
    check(&id, &recording, &args)?;
    let scratch = Scratch::of(workspace, &entries, &home.contents(&id))?;
    let moved = Moved::new(workspace, &scratch.work);
    for (parts, _) in &mut recording.replies {
        *parts = moved.all_there(parts).map_err(anyhow::Error::from)?;
    }
    for input in &mut recording.inputs {
        input.command = moved.all_there(&input.command).map_err(anyhow::Error::from)?;
    }
    let (engine, mode) = engine(context, &args, profile, &scratch, &recording).await?;
    let agent = engine.setup().agents.iter().find(|known| known.name == *agent);
    let agent = agent.map_or(AGENT.to_owned(), |known| known.name.clone());
    let mut interrupts = Interrupts::listen()?;
    let session = engine.create(&agent)?;
    let handed_over = args.model.as_ref().map(|_| args.from as usize - 1);
    let driver = Driver::new(recording, moved, handed_over, mode == Mode::Full, args.json);
    let verdict = tokio::select! {
        verdict = driver.drive(&session) => verdict?,
        () = interrupts.next() => Verdict::interrupted(),
    };
    interrupts.or_leave(engine.shut_down()).await;
    verdict.print(&id, args.json, workspace)
}

fn check(id: &SessionId, recording: &Recording, args: &ReplayArgs) -> Result<(), Failure> {
    let cannot = |why: String| Err(Failure::usage(format!("cannot replay the session `{id}`: {why}")));
    if recording.inputs.is_empty() {
        return cannot("nothing was said in it".into());
    }
    let delegated = recording.calls.iter().find(|call| call.name == DELEGATE && call.started);
    if let Some((seq, _)) = delegated.and_then(|call| call.ended.as_ref()) {
        return cannot(format!("at entry {seq} another agent worked, in a session of its own"));
    }
    let rounds = recording.replies.len();
    if args.from as usize > rounds + 1 {
        return cannot(format!(
            "it has {rounds} rounds, and the model is to be asked from round {}",
            args.from
        ));
    }
    Ok(())
}

/// Folders that are gone with the replay.
struct Scratch {
    work: PathBuf,
    home: PathBuf,
    _folder: tempfile::TempDir,
}

impl Scratch {
    fn of(workspace: &Path, entries: &[Arc<Entry>], contents: &Path) -> Result<Self, Failure> {
        let failed = |error| Failure::failed(format!("cannot make a folder for the replay: {error}"));
        let folder = tempfile::Builder::new().prefix("haft-replay-").tempdir().map_err(failed)?;
        let path = folder.path().canonicalize().map_err(failed)?;
        let (work, home) = (path.join("work"), path.join("home"));
        std::fs::create_dir(&work).map_err(failed)?;
        copy::copy(workspace, &work, entries, contents)?;
        Ok(Self { work, home, _folder: folder })
    }
}

/// With the mode that the person chose: the engine asks for everything, since what was denied is to be denied again.
/// Hooks have had their say in what was recorded.
async fn engine(
    context: &CliContext,
    args: &ReplayArgs,
    profile: &str,
    scratch: &Scratch,
    recording: &Recording,
) -> Result<(Engine, Mode), Failure> {
    let settings = Settings {
        model: args.model.clone(),
        profile: Some(profile.to_owned()),
        permission: args.permission,
        ..Settings::default()
    };
    let turn = TurnArgs { settings, base_url: args.base_url.clone(), quiet: true, ..TurnArgs::default() };
    let spec = SessionSpec::within(context, &turn, scratch.work.clone())?;
    let mode = spec.config.mode();
    let said = Retold::new(recording.replies.clone());
    let adjust = |setup: &mut Setup| {
        setup.home = Home(scratch.home.clone());
        setup.hooks = Arc::new(NoHooks);
        setup.policy.mode = Mode::Ask;
        setup.profile.limits.max_rounds = None;
    };
    if args.model.is_some() {
        let assembled = spec.engine_with(|setup| {
            let other = setup.model.provider.clone();
            setup.model.provider = Arc::new(said.handing_over(args.from as usize - 1, other));
            adjust(setup);
        });
        return Ok((assembled.await?.engine, mode));
    }
    let mut setup = spec.setup(Model::plain(direct::MODEL, Arc::new(said)))?;
    adjust(&mut setup);
    setup.profile.limits.budget = Default::default();
    Ok((Engine::new(setup), mode))
}
