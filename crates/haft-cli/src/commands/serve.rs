//! [`serve`] (`haft serve`): sessions and jobs over HTTP.
use super::{
    jobs::JobsOfServer,
    models_in_common::ModelsInCommon,
    sessions::{html, markdown},
};
use crate::{
    CliContext,
    agents::AGENT,
    args::{ServeArgs, TurnArgs},
    assemble::{self, Assembled, SessionSpec},
    config::Settings,
    failure::Failure,
    mcp::notes,
    token::{self, Kept},
};
use haft_core::Mode;
use haft_engine::{Engine, Home};
use haft_serve::{self, Export, Format, Listening, Open, Problem, Wanted};
use haft_terminal::{Exit, signals::Interrupts};
use std::{
    io::{Write, stderr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};

/// Serves until a signal interrupts.
pub(crate) async fn serve(context: &CliContext, args: &ServeArgs) -> Result<Exit, Failure> {
    let turn = TurnArgs { cwd: args.cwd.clone(), ..args.work.turn() };
    let models = ModelsInCommon::default();
    // Errors in the model, the configuration or the options appear before a client connects.
    let Assembled { engine, notices } =
        SessionSpec::of(context, &turn)?.engine_with(|setup| models.share(setup)).await?;
    let folders = folders(&engine, &args.folder)?;
    let own = Own {
        context: context.clone(),
        turn: turn.clone(),
        up_to: args.up_to,
        models,
        first: engine.clone(),
    };
    let home = Home(context.places.home.clone());
    let Kept { token, is_new } = token::of(&home.0, token::SERVE)?;
    let listening = haft_serve::listen(args.listen).await.map_err(|error| cannot_listen(args, &error))?;
    greet(&listening, args, &token, is_new, &notices)?;
    let settings = haft_serve::Settings {
        home: home.clone(),
        folders,
        agent: turn.agent.clone().unwrap_or_else(|| AGENT.to_owned()),
        model: engine.setup().model.spec.clone(),
        profile: engine.setup().profile.name.clone(),
        open: own.open(),
        jobs: Arc::new(JobsOfServer {
            context: context.clone(),
            turn,
            model: engine.setup().model.spec.clone(),
        }),
        workers: args.workers.get(),
        export: export(context, home),
        token,
        hosts: args.host.clone(),
        idle: Duration::from_secs(args.idle),
        note: notes(args.work.quiet),
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
    let more = more.iter().map(|folder| assemble::workspace(Some(folder)));
    std::iter::once(Ok(first)).chain(more).collect()
}

pub(super) fn cannot_listen(args: &ServeArgs, error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot listen on {}: {error}", args.listen))
        .hint("another `haft serve` may run there; `--listen 127.0.0.1:0` takes any free port")
}

pub(super) fn greet(
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
    for line in lines.iter().filter(|_| !args.work.quiet) {
        // A server keeps running if its standard error is closed.
        let _nobody_reads = writeln!(stderr(), "note: {line}");
    }
    Ok(())
}

/// What the server was started with.
struct Own {
    context: CliContext,
    turn: TurnArgs,
    up_to: Option<Mode>,
    models: ModelsInCommon,
    first: Engine,
}

impl Own {
    /// Makes an engine as the server was started, but for what is wanted otherwise.
    fn open(self) -> Open {
        let own = Arc::new(self);
        Arc::new(move |wanted| {
            let own = own.clone();
            Box::pin(async move { own.engine(wanted).await.map_err(Problem::from) })
        })
    }

    async fn engine(&self, wanted: Wanted) -> Result<Engine, Failure> {
        let (typed, first) = (&self.turn.settings, self.first.setup());
        let Wanted { workspace, model, profile } = wanted;
        let settings = Settings {
            model: if model == first.model.spec || model == assemble::NO_MODEL {
                typed.model.clone()
            } else {
                Some(model)
            },
            profile: if profile == first.profile.name {
                typed.profile.clone()
            } else {
                Some(profile.clone())
            },
            ..typed.clone()
        };
        let turn = TurnArgs { cwd: Some(workspace), settings, ..self.turn.clone() };
        let file = turn.settings.profile.clone().filter(|profile| profile.ends_with(".toml"));
        let assembled = SessionSpec::of(&self.context, &turn)?.engine_with(|setup| {
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

fn export(context: &CliContext, home: Home) -> Export {
    let context = context.clone();
    Arc::new(move |id, format| match format {
        Format::Html => html::page(&context, &home, &id.0).map_err(Problem::from),
        Format::Markdown => {
            let entries = home.peek(&id.0).map_err(Failure::from)?;
            Ok(markdown::of(&entries))
        }
    })
}
