//! The composition root: reads flags, environment and configuration, picks the parts, starts one front-end.
mod agents;
mod args;
mod assemble;
mod commands;
mod config;
mod failure;
mod hooks;
mod mcp;
mod model;
mod notes;
mod skills;
mod slash;
mod source_dir;
mod token;
mod untrusted_file;

use args::{Cli, Lazy, Verb};
use config::{Config, ConfigError, Environment, Places, Settings, hide_keys};
use failure::Failure;
use haft_process::VARIABLE;
use haft_terminal::Exit;
use std::{
    io::{IsTerminal, Write, stdin, stdout},
    path::{Path, PathBuf},
    process::ExitCode,
};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// What every command is given.
#[derive(Clone)]
pub(crate) struct CliContext {
    /// Read once.
    pub(crate) environment: Environment,
    /// Where things lie.
    pub(crate) places: Places,
}

impl CliContext {
    /// The configuration for the folder `workspace`. `flags`: what was typed.
    pub(crate) fn config(&self, workspace: &Path, flags: &Settings) -> Result<Config, ConfigError> {
        Config::load(&self.places, &self.environment, workspace, flags)
    }
}

fn main() -> ExitCode {
    if haft_process::supervise(std::env::args_os().nth(1)) {
        return ExitCode::SUCCESS;
    }
    let environment = Environment { variables: std::env::vars_os().filter_map(text).collect() };
    // In this order: afterwards only root may write to what it shows of itself. Where it cannot be done, the keys stay
    // where they are.
    let _it_is_no_linux = hide_keys();
    let _it_is_no_linux = haft_process::keep_memory_private();
    haft_process::supervise_by(own_program(), environment.get(VARIABLE).map(str::to_owned));
    // If that fails, other processes cannot answer questions.
    let _it_is_no_linux = haft_process::adopt_orphans();
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
            failure.print();
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

async fn run(cli: Cli, environment: Environment) -> Result<Exit, Failure> {
    let places = Places::of(&environment)?;
    let context = CliContext { environment, places };
    match cli.command {
        Some(Verb::Run(run)) => commands::run::run(&context, &run.prompt, &run.turn).await,
        Some(Verb::Resume(Lazy(resume))) => commands::sessions::resume(&context, *resume).await,
        Some(Verb::Chat(chat)) => commands::talk::chat(&context, &chat.turn).await,
        Some(Verb::Build(job)) => commands::jobs::start(&context, "builder", &job).await,
        Some(Verb::Debug(job)) => commands::jobs::start(&context, "debugger", &job).await,
        Some(Verb::Review(job)) => commands::jobs::start(&context, "reviewer", &job).await,
        Some(Verb::Triage(job)) => commands::jobs::start(&context, "triager", &job).await,
        Some(Verb::Jobs(Lazy(jobs))) => commands::jobs::jobs(&context, *jobs).await,
        Some(Verb::Agents(Lazy(agents))) => commands::agents::agents(&context, *agents),
        Some(Verb::Commands(list)) => commands::prompts::prompts(&context, &list),
        Some(Verb::Sessions(Lazy(sessions))) => commands::sessions::sessions(&context, *sessions).await,
        Some(Verb::Usage(usage)) => commands::usage::usage(&context, &usage),
        Some(Verb::Undo(undo)) => commands::undo::undo(&context, &undo).await,
        Some(Verb::Redo(session)) => commands::undo::redo(&context, &session).await,
        Some(Verb::Login(login)) => commands::login::login(&context, &login).await,
        Some(Verb::Logout(logout)) => commands::login::logout(&context, &logout).await,
        Some(Verb::Tools(Lazy(tools))) => commands::tools::tools(&context, *tools).await,
        Some(Verb::Models(Lazy(models))) => commands::models::models(&context, *models).await,
        Some(Verb::Profiles(Lazy(profiles))) => commands::profiles::profiles(*profiles),
        Some(Verb::Parse(parse)) => commands::parse::parse(&context, &parse),
        Some(Verb::Config(Lazy(config))) => commands::config::config(&context, *config),
        Some(Verb::Policy(Lazy(policy))) => commands::policy::policy(&context, *policy),
        Some(Verb::Help { words }) => commands::help::help(&words),
        Some(Verb::Mcp(mcp)) => commands::mcp::mcp(&context, &mcp).await,
        Some(Verb::Completions { shell }) => commands::manual::completions(shell),
        Some(Verb::Man { to }) => commands::manual::man(to.as_deref()),
        Some(Verb::Acp(acp)) => commands::acp::acp(&context, &acp).await,
        Some(Verb::Serve(serve)) if serve.fleet.is_some() => commands::fleet::serve(&context, &serve).await,
        Some(Verb::Serve(serve)) => commands::serve::serve(&context, &serve).await,
        Some(Verb::Worker(worker)) => commands::fleet::worker(&context, &worker).await,
        Some(Verb::Fleet(Lazy(fleet))) => commands::fleet::fleet(&context, *fleet).await,
        Some(Verb::Telegram(telegram)) => commands::telegram::telegram(&context, &telegram).await,
        Some(Verb::Doctor(doctor)) => commands::doctor::doctor(&context, &doctor).await,
        None if !cli.prompt.is_empty() => {
            refuse_command(&cli.prompt, &cli.turn)?;
            commands::run::run(&context, &cli.prompt, &cli.turn).await
        }
        None if has_screen(&context, &cli.turn) => commands::talk::screen(&context, &cli.turn, None).await,
        None if stdin().is_terminal() && stdout().is_terminal() => {
            commands::talk::chat(&context, &cli.turn).await
        }
        None => {
            if let Some(exit) = commands::run::piped(&context, &cli.turn).await? {
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
pub(crate) fn has_screen(context: &CliContext, turn: &args::TurnArgs) -> bool {
    let get = |name: &str| context.environment.get(name);
    let is_terminal = stdin().is_terminal() && stdout().is_terminal();
    let is_plain = turn.plain || get("HAFT_PLAIN").is_some() || get("TERM").is_none_or(|term| term == "dumb");
    is_terminal && !is_plain
}

fn text((name, value): (std::ffi::OsString, std::ffi::OsString)) -> Option<(String, String)> {
    Some((name.into_string().ok()?, value.into_string().ok()?))
}

/// Logs go to standard error; without `-v` only what a person must know.
fn log_to_stderr(cli: &Cli) {
    let level = match cli.verbosity() {
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
