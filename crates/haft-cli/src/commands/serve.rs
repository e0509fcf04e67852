//! [`serve`] (`haft serve`): sessions and jobs over HTTP.
use super::sessions::html;
use crate::{CliContext, args::ServeArgs};
use futures::{FutureExt, future::BoxFuture};
use haft_app::{
    App, Assembled, Failure, SessionSpec,
    agents::AGENT,
    config::Settings,
    export::ExportFormat,
    jobs::{Job, JobRequest},
    model::SharedModels,
    session,
    token::{self, Kept},
};
use haft_core::{Conclusion, Mode, SessionId};
use haft_engine::Engine;
use haft_serve::{self, Begun, Export, Format, Jobs, Listening, Open, Problem, Wanted};
use haft_terminal::{Exit, signals::Interrupts};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::runtime::{Builder, Runtime};

/// Serves until a signal interrupts.
pub(crate) async fn serve(cli: &CliContext, args: &ServeArgs) -> Result<Exit, Failure> {
    let spec = SessionSpec { workspace: args.cwd.clone(), ..args.work.spec() };
    let models = SharedModels::default();
    // Errors in the model, the configuration or the options appear before a client connects.
    let Assembled { engine, notices } = cli.plan(&spec)?.engine_with(|setup| models.share(setup)).await?;
    let folders = folders(&engine, &args.folder)?;
    let own =
        Own { app: App::clone(cli), spec: spec.clone(), up_to: args.up_to, models, first: engine.clone() };
    let home = cli.home();
    let Kept { token, is_new } = token::of(&home.0, token::SERVE)?;
    let listening = haft_serve::listen(args.listen).await.map_err(|error| cannot_listen(args, &error))?;
    greet(cli, &listening, args, &token, is_new, &notices)?;
    let settings = haft_serve::Settings {
        home: home.clone(),
        folders,
        agent: spec.agent.clone().unwrap_or_else(|| AGENT.to_owned()),
        model: engine.setup().model.spec.clone(),
        profile: engine.setup().profile.name.clone(),
        open: own.open(),
        jobs: Arc::new(JobsOfServer { app: App::clone(cli), spec, model: engine.setup().model.spec.clone() }),
        workers: args.workers.get(),
        export: export(App::clone(cli)),
        token,
        hosts: args.host.clone(),
        idle: Duration::from_secs(args.idle),
        note: cli.warnings(),
    };
    let mut interrupts = Interrupts::listen()?;
    let served = interrupts.until(|interrupted| haft_serve::serve(listening, settings, interrupted)).await;
    served.unwrap_or(Ok(()))?;
    Ok(Exit::Success)
}

/// Where many sessions run: a journal that waits for the disk holds up one thread of several.
pub(crate) fn runtime() -> std::io::Result<Runtime> {
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get() * 2).max(MAX_WAITING);
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads).max_blocking_threads(MAX_BLOCKING).enable_all().build()
}

/// Maximum journals that wait for the disk at the same time.
const MAX_WAITING: usize = 4;
/// Threads for everything else that waits for files; each takes memory, and a thousand sessions ask at once.
const MAX_BLOCKING: usize = 64;

/// The one to work in, and those that were named.
fn folders(engine: &Engine, more: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let first = engine.setup().workspace.clone();
    let more = more.iter().map(|folder| session::workspace(Some(folder)));
    std::iter::once(Ok(first)).chain(more).collect()
}

pub(super) fn cannot_listen(args: &ServeArgs, error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot listen on {}: {error}", args.listen))
        .hint("another `haft serve` may run there; `--listen 127.0.0.1:0` takes any free port")
}

pub(super) fn greet(
    cli: &CliContext,
    listening: &Listening,
    args: &ServeArgs,
    token: &str,
    is_new: bool,
    notices: &[String],
) -> Result<(), Failure> {
    let address = listening.address()?;
    let mut lines: Vec<String> = notices.to_vec();
    lines.push(format!("listening on http://{address}"));
    if is_new || args.show_token {
        // Browsers do not send the part after `#`.
        lines.push(format!("open http://{address}/#token={token}"));
        lines.push(format!("programs send `Authorization: Bearer {token}`"));
    } else {
        lines.push("`--show-token` prints the address with the token again".to_owned());
    }
    if !address.ip().is_loopback() {
        lines.push(
            "others can reach this address, and what they say is not encrypted: put a proxy with TLS in front of it"
                .to_owned(),
        );
    }
    lines.into_iter().for_each(|line| cli.warn(line));
    Ok(())
}

/// What the server was started with.
struct Own {
    app: App,
    spec: SessionSpec,
    up_to: Option<Mode>,
    models: SharedModels,
    first: Engine,
}

impl Own {
    /// Makes an engine as the server was started, but for what is wanted otherwise.
    fn open(self) -> Open {
        let own = Arc::new(self);
        Arc::new(move |wanted| {
            let own = own.clone();
            Box::pin(async move { own.engine(wanted).await.map_err(problem) })
        })
    }

    async fn engine(&self, wanted: Wanted) -> Result<Engine, Failure> {
        let (typed, first) = (&self.spec.settings, self.first.setup());
        let Wanted { workspace, model, profile } = wanted;
        let is_own = model == first.model.spec || model == session::NO_MODEL;
        let settings = Settings {
            model: if is_own { typed.model.clone() } else { Some(model) },
            profile: if profile == first.profile.name {
                typed.profile.clone()
            } else {
                Some(profile.clone())
            },
            ..typed.clone()
        };
        let file = settings.profile.clone().filter(|profile| profile.ends_with(".toml"));
        let spec = SessionSpec { workspace: Some(workspace), settings, ..self.spec.clone() };
        let assembled = self.app.plan(&spec)?.engine_with(|setup| {
            setup.ceiling = self.up_to;
            // The session is opened again by what its journal names: the file, not what the file calls itself.
            if let Some(file) = file.filter(|_| profile != first.profile.name) {
                setup.profile.name = file;
            }
            self.models.share(setup);
        });
        Ok(assembled.await?.engine)
    }
}

/// What a client of the server reads of a failure.
pub(super) fn problem(Failure { message, hint, exit }: Failure) -> Problem {
    Problem { message, suggestion: hint, is_usage: exit == Exit::Usage }
}

fn export(app: App) -> Export {
    Arc::new(move |id, format| match format {
        Format::Html => html::page(&app, &id.0).map_err(problem),
        Format::Markdown => app.export(&id.0, ExportFormat::Markdown).map_err(problem),
    })
}

/// Makes jobs and continues them, with the options that the server was started with.
struct JobsOfServer {
    app: App,
    spec: SessionSpec,
    /// The model that is asked, as people write it.
    model: String,
}

impl Jobs for JobsOfServer {
    fn add(
        &self,
        id: SessionId,
        kind: String,
        description: String,
        folder: PathBuf,
    ) -> BoxFuture<'static, Result<SessionId, Problem>> {
        let (jobs, model) = (self.app.jobs(), self.model.clone());
        let request = JobRequest { kind, description, origin: folder, keeps_files: false };
        async move {
            let queued = jobs.queue(Some(id), request, Some(&model)).await;
            queued.map(|(id, _)| id).map_err(problem)
        }
        .boxed()
    }

    fn take(&self, id: SessionId) -> BoxFuture<'static, Result<Begun, Problem>> {
        let (jobs, spec) = (self.app.jobs(), self.spec.clone());
        async move { jobs.resume(&id.0, &spec).await.map(begun).map_err(problem) }.boxed()
    }

    fn cancel(&self, id: SessionId) -> BoxFuture<'static, Result<(), Problem>> {
        let jobs = self.app.jobs();
        async move { jobs.cancel(&id.0).await.map(|_| ()).map_err(problem) }.boxed()
    }
}

fn begun(job: Job) -> Begun {
    let (session, engine, stop) = (job.session.clone(), job.engine.clone(), job.stop_file());
    let (agent, order) = (job.agent.clone(), job.order.clone());
    let end = Box::new(move |conclusion: Conclusion| async move { job.close(&conclusion).await }.boxed());
    Begun { session, agent, order, engine, stop, end }
}
