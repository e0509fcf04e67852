//! The composition root: reads flags, environment and configuration, picks the parts, starts one front-end.
mod args;
mod commands;

use args::{Cli, GlobalArgs, Lazy, Verb};
use haft_app::{
    App, Failure, Warn,
    config::{Environment, hide_keys},
};
use haft_process::VARIABLE;
use haft_terminal::{Exit, loading};
use std::{
    io::{IsTerminal, Write, stderr, stdin, stdout},
    ops::Deref,
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// What every command is given: the application, and the options that hold for all commands.
#[derive(Clone)]
pub(crate) struct CliContext {
    app: App,
    /// What was typed.
    pub(crate) global: GlobalArgs,
}

impl CliContext {
    fn new(environment: Environment, global: GlobalArgs) -> Result<Self, Failure> {
        let app = App::new(environment)?.on_warning(notes(global.quiet)).on_loading(loading::tell);
        Ok(Self { app, global })
    }

    /// The same without a word on standard error.
    pub(crate) fn silent(&self) -> Self {
        let global = GlobalArgs { quiet: true, ..self.global };
        Self { app: self.app.clone().on_warning(notes(true)), global }
    }
}

impl Deref for CliContext {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}

/// Where parts say what a person should know: standard error, unless `quiet`.
pub(crate) fn notes(quiet: bool) -> Warn {
    Arc::new(move |note: String| {
        if !quiet {
            // A program keeps running if its standard error is closed.
            writeln!(stderr(), "note: {}", haft_present::safe::text(&note)).ok();
        }
    })
}

/// Prints `failure` to standard error. A reader who left (`haft … | head`) is not an error and is told nothing.
fn print(failure: &Failure) {
    if failure.message.is_empty() {
        return;
    }
    let mut stderr = stderr();
    writeln!(stderr, "error: {}", haft_present::safe::text(&failure.message)).ok();
    if let Some(hint) = &failure.hint {
        writeln!(stderr, "hint: {}", haft_present::safe::text(hint)).ok();
    }
}

fn main() -> ExitCode {
    if haft_process::supervise(std::env::args_os().nth(1)) {
        return ExitCode::SUCCESS;
    }
    let environment = Environment::of_process();
    // In this order: afterwards only root may write to what it shows of itself. Where it cannot be done, the keys stay
    // where they are.
    hide_keys().ok();
    haft_process::keep_memory_private().ok();
    haft_process::supervise_by(own_program(), environment.get(VARIABLE).map(str::to_owned));
    // If that fails, other processes cannot answer questions.
    let _ = haft_process::adopt_orphans();
    let cli = match args::parse() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    log_to_stderr(&cli);
    let runtime = runtime(&cli).expect("the system gives threads and an event queue");
    let ended = runtime.block_on(async {
        let ended = run(cli, environment).await;
        haft_process::wait_for_cleanup().await;
        ended
    });
    // A thread may still wait for a key.
    runtime.shutdown_background();
    haft_process::dismiss_supervisor();
    match ended {
        Ok(exit) => exit.into(),
        Err(failure) => {
            print(&failure);
            failure.exit.into()
        }
    }
}

/// One session needs one thread, and starts sooner with it.
fn runtime(cli: &Cli) -> std::io::Result<tokio::runtime::Runtime> {
    match cli.command {
        Some(Verb::Serve(_) | Verb::Worker(_)) => commands::serve::runtime(),
        _ => tokio::runtime::Builder::new_current_thread().enable_all().build(),
    }
}

/// Where it was replaced since, the system still has the one that runs.
fn own_program() -> PathBuf {
    let found = std::env::current_exe().ok().filter(|program| program.exists());
    found.unwrap_or_else(|| PathBuf::from("/proc/self/exe"))
}

async fn run(typed: Cli, environment: Environment) -> Result<Exit, Failure> {
    let cli = &CliContext::new(environment, typed.global)?;
    match typed.command {
        Some(Verb::Run(run)) => commands::run::run(cli, &run.prompt, &run.turn).await,
        Some(Verb::Resume(Lazy(resume))) => commands::sessions::resume(cli, *resume).await,
        Some(Verb::Chat(chat)) => commands::talk::chat(cli, &chat.turn).await,
        Some(Verb::Build(job)) => commands::jobs::start(cli, "builder", &job).await,
        Some(Verb::Debug(job)) => commands::jobs::start(cli, "debugger", &job).await,
        Some(Verb::Review(job)) => commands::jobs::start(cli, "reviewer", &job).await,
        Some(Verb::Triage(job)) => commands::jobs::start(cli, "triager", &job).await,
        Some(Verb::Jobs(Lazy(jobs))) => commands::jobs::jobs(cli, *jobs).await,
        Some(Verb::Agents(Lazy(agents))) => commands::agents::agents(cli, *agents),
        Some(Verb::Commands(list)) => commands::prompts::prompts(cli, &list),
        Some(Verb::Sessions(Lazy(sessions))) => commands::sessions::sessions(cli, *sessions).await,
        Some(Verb::Usage(usage)) => commands::usage::usage(cli, &usage),
        Some(Verb::Undo(undo)) => commands::undo::undo(cli, &undo).await,
        Some(Verb::Redo(session)) => commands::undo::redo(cli, &session).await,
        Some(Verb::Login(login)) => commands::login::login(cli, &login).await,
        Some(Verb::Logout(logout)) => commands::login::logout(cli, &logout).await,
        Some(Verb::Tools(Lazy(tools))) => commands::tools::tools(cli, *tools).await,
        Some(Verb::Models(Lazy(models))) => commands::models::models(cli, *models).await,
        Some(Verb::Profiles(Lazy(profiles))) => commands::profiles::profiles(*profiles),
        Some(Verb::Parse(parse)) => commands::parse::parse(cli, &parse),
        Some(Verb::Config(Lazy(config))) => commands::config::config(cli, *config),
        Some(Verb::Policy(Lazy(policy))) => commands::policy::policy(cli, *policy),
        Some(Verb::Help { words }) => commands::help::help(&words),
        Some(Verb::Mcp(mcp)) => commands::mcp::mcp(cli, &mcp).await,
        Some(Verb::Completions { shell }) => commands::manual::completions(shell),
        Some(Verb::Man { to }) => commands::manual::man(to.as_deref()),
        Some(Verb::Acp(acp)) => commands::acp::acp(cli, &acp).await,
        Some(Verb::Serve(serve)) if serve.fleet.is_some() => commands::fleet::serve(cli, &serve).await,
        Some(Verb::Serve(serve)) => commands::serve::serve(cli, &serve).await,
        Some(Verb::Worker(worker)) => commands::fleet::worker(cli, &worker).await,
        Some(Verb::Fleet(Lazy(fleet))) => commands::fleet::fleet(cli, *fleet).await,
        Some(Verb::Telegram(telegram)) => commands::telegram::telegram(cli, &telegram).await,
        Some(Verb::Doctor(doctor)) => commands::doctor::doctor(cli, &doctor).await,
        None if !typed.prompt.is_empty() => {
            refuse_command(&typed.prompt, &typed.turn)?;
            commands::run::run(cli, &typed.prompt, &typed.turn).await
        }
        None if has_screen(cli, &typed.turn) => commands::talk::screen(cli, &typed.turn, None).await,
        None if stdin().is_terminal() && stdout().is_terminal() => {
            commands::talk::chat(cli, &typed.turn).await
        }
        None => {
            if let Some(exit) = commands::run::piped(cli, &typed.turn).await? {
                return Ok(exit);
            }
            write!(stdout(), "{}", args::HELP)?;
            Ok(Exit::Usage)
        }
    }
}

/// A person who goes on with a session or shows an image speaks to a model, in however few words.
fn refuse_command(words: &[String], turn: &args::TurnArgs) -> Result<(), Failure> {
    if turn.newest || turn.session.is_some() || !turn.image.is_empty() {
        return Ok(());
    }
    let Some(mistaken) = args::mistaken(words, &args::command()) else { return Ok(()) };
    if !mistaken.is_known && commands::input::has_come() {
        return Ok(());
    }
    let (near, help) = match &mistaken.nearest {
        Some(near) => (format!("; did you mean `{near}`?"), ""),
        None => (String::new(), "`haft help` lists the commands; "),
    };
    let hint = format!("{help}`haft run \"{}\"` sends it as a prompt", words.join(" "));
    Err(Failure::usage(format!("there is no command `{}`{near}", mistaken.typed)).hint(hint))
}

/// Whether there is a terminal that can be drawn on, and the person wants that: a screen reader follows lines better.
pub(crate) fn has_screen(cli: &CliContext, turn: &args::TurnArgs) -> bool {
    let get = |name: &str| cli.environment.get(name);
    let is_terminal = stdin().is_terminal() && stdout().is_terminal();
    let is_plain = turn.plain || get("HAFT_PLAIN").is_some() || get("TERM").is_none_or(|term| term == "dumb");
    is_terminal && !is_plain
}

/// Logs go to standard error; without `-v` only what a person must know.
fn log_to_stderr(cli: &Cli) {
    let level = match cli.global.verbose {
        0 => return,
        1 => LevelFilter::WARN,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    // Only our own words: what libraries log may hold what was sent.
    let ours = Targets::new().with_target("haft", level);
    let printed = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    tracing_subscriber::registry().with(printed).with(ours).init();
}
