//! [`Replay`]: runs the recorded calls of a session again, with real tools in a copy of its workspace.
pub(crate) mod copy;
mod driver;
pub(crate) mod moved;
mod not_again;
mod recording;
mod report;
mod samples;
mod subagents;

use crate::{App, Failure, SessionSpec, agents::AGENT, config::Settings};
use driver::Driver;
pub use driver::{Show, Shown};
use haft_core::{Entry, Mode, Network, Sandbox, SessionId, SessionOpened};
use haft_engine::{Agent, Engine, Home, Model, Session, Setup};
use haft_evidence::test_runs;
use haft_present::counted;
use haft_providers::{Retold, direct};
use haft_tools::{WEB_SEARCH, recorded_web_search};
use moved::Moved;
use not_again::NotAgain;
use recording::Recording;
pub use report::{Difference, Differs, Refusal, ReplayReport, not_made_again};
use samples::RetoldSamples;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    mem,
    path::{Path, PathBuf},
    sync::Arc,
};
use subagents::Subagents;

/// How to replay a session.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// Another model that takes over, if any.
    pub other: Option<OtherModel>,
    /// The mode; `Full` also runs commands that need an approval.
    pub permission: Option<Mode>,
    /// Source of the files that the session did not change.
    pub start: Start,
    /// Whether test runs are compared only by their outcome, not by their output, which contains times.
    pub tests_by_outcome: bool,
}

/// The source of the files that the session did not change.
#[derive(Clone, Debug, Default)]
pub enum Start {
    /// The session's workspace, as it is.
    #[default]
    Workspace,
    /// A folder in place of the workspace, as it is.
    Folder(PathBuf),
    /// A commit of the repository around this folder. The folder takes the place of the workspace.
    Commit(PathBuf, String),
}

impl Start {
    /// Whether commands in the copy do not reach the repository that the files belong to.
    fn is_without_repository(&self, workspace: &Path) -> bool {
        match self {
            Self::Workspace => copy::has_repository_elsewhere(workspace),
            Self::Folder(folder) => copy::has_repository_elsewhere(folder),
            Self::Commit(folder, _) => copy::is_below_top(folder),
        }
    }
}

/// A model that takes over from the recorded replies.
#[derive(Clone, Debug)]
pub struct OtherModel {
    /// The model, as `PROVIDER/MODEL`.
    pub spec: String,
    /// Base URL of the provider's server.
    pub base_url: Option<String>,
    /// The first round that this model answers, counted from 1 over the whole session.
    pub from: usize,
}

/// A replay that is ready to run.
pub struct Replay {
    engine: Engine,
    session: Option<Session>,
    driver: Option<Driver>,
    _scratch: Scratch,
}

impl App {
    /// Prepares the replay of the session `id`.
    ///
    /// # Errors
    ///
    /// If the session cannot be replayed, or its workspace cannot be copied.
    pub async fn replay(&self, id: &str, options: &ReplayOptions) -> Result<Replay, Failure> {
        let home = self.home();
        let id = home.find(id)?;
        let entries = home.peek(&id.0)?;
        let Some(SessionOpened { agent, workspace, profile, .. }) = SessionOpened::of(&entries) else {
            return Err(Failure::usage(format!(
                "cannot replay the session `{id}`: its journal has no first entry"
            )));
        };
        let mut recording = Recording::of(&entries);
        check(&id, &recording, options)?;
        if options.tests_by_outcome {
            recording.tests = test_runs(&entries).into_iter().map(|run| run.seq).collect();
        }
        let mut subagents = Subagents::of(&home, &recording, options.tests_by_outcome)?;
        if options.start.is_without_repository(workspace) {
            recording.commands_depend_on_outside();
            subagents.commands_depend_on_outside();
        }
        recording.reads.extend(subagents.reads().cloned());
        let scratch = Scratch::of(workspace, &options.start, (&recording, &entries), &home.contents(&id))?;
        let moved = Moved::new(workspace, &scratch.work);
        for (parts, _) in &mut recording.replies {
            *parts = moved.all_there(parts).map_err(anyhow::Error::from)?;
        }
        for input in &mut recording.inputs {
            input.command = moved.all_there(&input.command).map_err(anyhow::Error::from)?;
        }
        let handed_over = options.other.as_ref().map(|other| other.from - 1);
        let retold = subagents
            .said(handed_over.unwrap_or(usize::MAX), &moved)
            .map_err(anyhow::Error::from)?
            .into_iter()
            .fold(Retold::new(recording.opening(), recording.replies.clone()), |retold, (task, replies)| {
                retold.with_subagent(task, replies)
            });
        let searches = [&recording].into_iter().chain(subagents.all());
        let searches = searches.flat_map(|recording| recording.details_of(WEB_SEARCH)).collect();
        let samples = [&recording].into_iter().chain(subagents.all());
        let samples = RetoldSamples::new(samples.flat_map(|recording| recording.samples.clone()));
        let recordings = [&recording].into_iter().chain(subagents.all());
        let own_home = Home(scratch.home.clone());
        let hooks = NotAgain::of(recordings, &moved, &scratch.work, home.contents(&id), own_home);
        let said = Said { replies: retold, searches, samples, hooks, agents: &subagents.agents };
        let (engine, mode) = engine(self, options, profile, &scratch, said).await?;
        let session = engine.create(known_agent(&engine, agent))?;
        let own_home = engine.setup().home.clone();
        let driver = Driver::new(id, recording, moved, handed_over, mode == Mode::Full, own_home);
        let driver = Some(driver.with_subagents(subagents));
        Ok(Replay { engine, session: Some(session), driver, _scratch: scratch })
    }
}

impl Replay {
    /// Runs until everything was repeated, or a result differs. `show` receives what another model does.
    ///
    /// # Errors
    ///
    /// If the session closes, or `show` fails.
    pub async fn run(&mut self, show: Show<'_>) -> Result<ReplayReport, Failure> {
        let begun = self.driver.take().zip(self.session.take());
        let (driver, session) = begun.ok_or_else(|| Failure::failed("the replay was run before"))?;
        driver.drive(&self.engine, session, show).await
    }

    /// Stops what still runs, and removes the copy.
    pub async fn close(self) {
        self.engine.shut_down().await;
    }
}

fn check(id: &SessionId, recording: &Recording, options: &ReplayOptions) -> Result<(), Failure> {
    let cannot = |why: String| Err(Failure::usage(format!("cannot replay the session `{id}`: {why}")));
    if recording.inputs.is_empty() {
        return cannot("it has no prompt".into());
    }
    if let Some((seq, why)) = recording.attempts_refused {
        return cannot(format!("the attempts of entry {seq} cannot be made again: {why}"));
    }
    let rounds = recording.replies.len();
    match &options.other {
        Some(OtherModel { from, .. }) if *from > rounds + 1 => {
            let rounds = counted(rounds, "round", "rounds");
            cannot(format!("it has {rounds}, but `--from` is {from}"))
        }
        _ => Ok(()),
    }
}

/// Temporary folders, which are removed with the replay.
struct Scratch {
    work: PathBuf,
    /// The folder with the objects of the copy's repository, if the copy does not contain them.
    objects: Option<PathBuf>,
    home: PathBuf,
    _folder: tempfile::TempDir,
}

impl Scratch {
    fn of(
        workspace: &Path,
        start: &Start,
        (recording, entries): (&Recording, &[Arc<Entry>]),
        contents: &Path,
    ) -> Result<Self, Failure> {
        let failed = |error| Failure::failed(format!("cannot create a directory for the replay: {error}"));
        let folder = tempfile::Builder::new().prefix("haft-replay-").tempdir().map_err(failed)?;
        let path = folder.path().canonicalize().map_err(failed)?;
        let (mut work, mut objects, home) = (path.join("work"), None, path.join("home"));
        std::fs::create_dir(&work).map_err(failed)?;
        match start {
            Start::Workspace => copy::copy(workspace, &work, &recording.reads, entries, contents)?,
            Start::Folder(folder) => copy::copy(folder, &work, &recording.reads, entries, contents)?,
            Start::Commit(folder, commit) => {
                let (files, shared) = copy::check_out(folder, commit, &work, entries, contents)?;
                (work, objects) = (files, Some(shared));
            }
        }
        Ok(Self { work, objects, home, _folder: folder })
    }
}

/// The recorded answers, which replace models and the web.
struct Said<'a> {
    replies: Retold,
    searches: Vec<Value>,
    samples: RetoldSamples,
    /// What the replay does not run again.
    hooks: NotAgain,
    /// The names of the agents that ran as subagents.
    agents: &'a BTreeSet<String>,
}

/// Makes the engine, and returns it with the mode that the user chose. The engine itself asks for every effect, because
/// recorded denials must be repeated. It runs no hooks of the user: their effect is part of the recording.
async fn engine(
    app: &App,
    options: &ReplayOptions,
    profile: &str,
    scratch: &Scratch,
    said: Said<'_>,
) -> Result<(Engine, Mode), Failure> {
    let mut settings = Settings {
        model: options.other.as_ref().map(|other| other.spec.clone()),
        profile: Some(profile.to_owned()),
        permission: options.permission,
        ..Settings::default()
    };
    // The recording and the profile that it names may come from another user. Only the user who replays can turn the
    // sandbox off.
    let own = app.config(&scratch.work, &settings)?.effective().sandbox;
    settings.sandbox = Some(own.unwrap_or(Sandbox::Auto));
    // Without network: what a call sent or wrote elsewhere must not be repeated.
    settings.network = Some(Network::Off);
    let base_url = options.other.as_ref().and_then(|other| other.base_url.clone());
    let spec = SessionSpec { settings, base_url, ..SessionSpec::default() };
    let mut plan = app.clone().on_warning(Arc::new(|_| {})).plan_in(spec, scratch.work.clone())?;
    plan.config.user.commands.writable.clear();
    let mode = plan.config.mode();
    let Said { replies: said, searches, samples, hooks, agents } = said;
    let adjust = |setup: &mut Setup| {
        // The web may have changed, and a replay needs no network.
        if !searches.is_empty() {
            setup.tools = mem::take(&mut setup.tools).with(recorded_web_search(searches));
        }
        // The recorded replies are used, whatever model an agent names.
        setup.agents.iter_mut().for_each(|agent| agent.model = None);
        add_missing(&mut setup.agents, agents);
        setup.home = Home(scratch.home.clone());
        setup.knowledge.readable.extend(scratch.objects.clone());
        let stage = (setup.stages)(&scratch.home);
        setup.hooks = Arc::new(hooks.with_views_of(&*stage));
        setup.sampler = Some(Arc::new(samples));
        setup.diagnostics = None;
        setup.policy.mode = Mode::Ask;
        setup.profile.limits.max_rounds = None;
        // The changes of a call that is not run again are applied to the copy at its place in the order of calls.
        setup.profile.parallel = false;
    };
    if let Some(OtherModel { from, .. }) = &options.other {
        let assembled = plan.engine_with(|setup| {
            let other = setup.model.provider.clone();
            setup.model.provider = Arc::new(said.handing_over(from - 1, other));
            adjust(setup);
        });
        return Ok((assembled.await?.engine, mode));
    }
    let mut setup = plan.setup(Model::plain(direct::MODEL, Arc::new(said)))?;
    adjust(&mut setup);
    setup.profile.limits.budget = Default::default();
    Ok((Engine::new(setup), mode))
}

/// The agent of this name, or the default agent if it does not exist here.
fn known_agent<'a>(engine: &Engine, name: &'a str) -> &'a str {
    if engine.setup().agents.iter().any(|known| known.name == name) { name } else { AGENT }
}

/// Adds an agent for each name that does not exist here, with the tools of the default agent: the replies are recorded.
fn add_missing(agents: &mut Vec<Agent>, names: &BTreeSet<String>) {
    let Some(usual) = agents.iter().find(|agent| agent.name == AGENT).cloned() else { return };
    let missing = names.iter().filter(|name| !agents.iter().any(|agent| agent.name == **name));
    let missing: Vec<Agent> = missing.map(|name| Agent { name: name.clone(), ..usual.clone() }).collect();
    agents.extend(missing);
}
