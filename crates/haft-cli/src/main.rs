//! [`CliContext`] and `main`, the composition root: reads options, environment and configuration, selects the parts,
//! and starts one front-end.
mod args;
mod commands;

use args::{GlobalArgs, PurposeArgs};
use commands::{
    Verb,
    command_line::{self, Cli},
    near::mistaken,
    overview::overview,
};
use haft_app::{
    App, Failure, Warn,
    config::{Environment, hide_keys},
};
use haft_http::Proxy;
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

/// The context of every command: the application, and the global options.
#[derive(Clone)]
pub(crate) struct CliContext {
    app: App,
    /// The global options.
    pub(crate) global: GlobalArgs,
}

impl CliContext {
    fn new(environment: Environment, global: GlobalArgs) -> Result<Self, Failure> {
        let app = App::new(environment)?.on_warning(notes(global.quiet)).on_loading(loading::tell);
        Ok(Self { app, global })
    }

    /// A context that prints nothing to standard error.
    pub(crate) fn silent(&self) -> Self {
        self.silent_but(notes(true))
    }

    /// A context that prints nothing to standard error; `warn` receives the warnings.
    pub(crate) fn silent_but(&self, warn: Warn) -> Self {
        let global = GlobalArgs { quiet: true, ..self.global };
        Self { app: self.app.clone().on_warning(warn), global }
    }
}

impl Deref for CliContext {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}

/// Receives messages for the user, and prints them to standard error unless `quiet`.
pub(crate) fn notes(quiet: bool) -> Warn {
    Arc::new(move |note: String| {
        if !quiet {
            // A program keeps running if its standard error is closed.
            writeln!(stderr(), "note: {}", haft_present::safe::visible_lines(&note)).ok();
        }
    })
}

/// Prints `failure` to standard error. A closed pipe (`haft … | head`) is not an error, and prints nothing.
pub(crate) fn print(failure: &Failure) {
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
    let first_argument = std::env::args_os().nth(1);
    if haft_app::pdf::serve_pdf(first_argument.clone()) || haft_process::supervise(first_argument) {
        return ExitCode::SUCCESS;
    }
    let environment = Environment::of_process();
    // Read before keys are hidden, since the password of a proxy is one of them.
    Proxy::remember();
    // In this order: after the second call, only root may write to this process's memory through `/proc`. If hiding
    // fails, the keys stay visible.
    hide_keys().ok();
    haft_process::keep_memory_private().ok();
    haft_process::supervise_by(own_program(), environment.get(VARIABLE).map(str::to_owned));
    // If that fails, other processes cannot answer questions.
    let _ = haft_process::adopt_orphans();
    let cli = match command_line::read() {
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
    // A thread may still wait for input of a key.
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

/// Builds the runtime: a command with one session needs one thread, and starts sooner with it.
fn runtime(cli: &Cli) -> std::io::Result<tokio::runtime::Runtime> {
    match cli.command {
        Some(Verb::Serve(_) | Verb::Worker(_)) => commands::serve::runtime(),
        _ => tokio::runtime::Builder::new_current_thread().enable_all().build(),
    }
}

/// The path of this program. If the file was replaced, the path of the running program that the system keeps.
pub(crate) fn own_program() -> PathBuf {
    let found = std::env::current_exe().ok().filter(|program| program.exists());
    found.unwrap_or_else(|| PathBuf::from("/proc/self/exe"))
}

async fn run(typed: Cli, environment: Environment) -> Result<Exit, Failure> {
    let cli = &CliContext::new(environment, typed.global)?;
    let ended = dispatch(typed, cli).await;
    cli.send_telemetry().await;
    ended
}

async fn dispatch(typed: Cli, cli: &CliContext) -> Result<Exit, Failure> {
    match typed.command {
        Some(command) => command.run(cli).await,
        None if !typed.prompt.is_empty() => {
            refuse_command(&typed.prompt, &typed.turn)?;
            commands::run::run(cli, &typed.prompt, &typed.turn, &PurposeArgs::default()).await
        }
        None if has_screen(cli, &typed.turn) => commands::talk::screen(cli, &typed.turn, None).await,
        None if stdin().is_terminal() && stdout().is_terminal() => {
            commands::talk::chat(cli, &typed.turn).await
        }
        None => {
            if let Some(exit) = commands::run::piped(cli, &typed.turn).await? {
                return Ok(exit);
            }
            write!(stdout(), "{}", overview(&command_line::command()))?;
            Err(Failure::usage("there is no prompt, and no terminal to type one")
                .hint("`haft \"PROMPT\"` runs one; so does text on standard input"))
        }
    }
}

/// Refuses a prompt that looks like a misspelled command. With `--continue`, `--session` or `--image`, any words are a
/// prompt.
fn refuse_command(words: &[String], turn: &args::TurnArgs) -> Result<(), Failure> {
    if turn.newest || turn.session.is_some() || !turn.image.is_empty() {
        return Ok(());
    }
    let Some(mistaken) = mistaken(words, &command_line::command()) else { return Ok(()) };
    if !mistaken.is_known && commands::input::has_come() {
        return Ok(());
    }
    if mistaken.nearest.as_deref() == Some(mistaken.typed.as_str()) {
        let (name, behind) = (&mistaken.typed, words.get(1..).unwrap_or_default().join(" "));
        return Err(Failure::usage(format!("the command `{name}` stands behind an option"))
            .hint(format!("the command comes first: `haft {name} OPTIONS {behind}`")));
    }
    let (near, help) = match &mistaken.nearest {
        Some(near) => (format!("; did you mean `{near}`?"), ""),
        None => (String::new(), "`haft help` lists the commands; "),
    };
    let hint = format!("{help}`haft run \"{}\"` sends it as a prompt", words.join(" "));
    Err(Failure::usage(format!("there is no command `{}`{near}", mistaken.typed)).hint(hint))
}

/// Whether the terminal can show the screen, and the user wants it: a screen reader works better with lines.
pub(crate) fn has_screen(cli: &CliContext, turn: &args::TurnArgs) -> bool {
    let get = |name: &str| cli.environment.get(name);
    let is_terminal = stdin().is_terminal() && stdout().is_terminal();
    let is_plain = turn.plain || get("HAFT_PLAIN").is_some() || get("TERM").is_none_or(|term| term == "dumb");
    is_terminal && !is_plain
}

/// Logs go to standard error; without `-v`, only messages that the user must know.
fn log_to_stderr(cli: &Cli) {
    let level = match cli.global.verbose {
        0 => return,
        1 => LevelFilter::WARN,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    // Only Haft's own log messages: those of libraries may contain the data of requests.
    let ours = Targets::new().with_target("haft", level);
    let printed = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    tracing_subscriber::registry().with(printed).with(ours).init();
}
