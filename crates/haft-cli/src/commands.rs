//! [`Verb`]: the commands, one file for each. To add one: a file, its module, a variant and an arm here.

mod account;
pub(crate) mod acp;
pub(crate) mod agents;
pub(crate) mod attach;
pub(crate) mod attempts;
pub(crate) mod blame;
pub(crate) mod check;
pub(crate) mod command_line;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod fleet;
pub(crate) mod help;
pub(crate) mod input;
mod interruptible;
pub(crate) mod jobs;
pub(crate) mod login;
mod look;
pub(crate) mod manual;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod models;
pub(crate) mod near;
pub(crate) mod outbox;
pub(crate) mod overview;
pub(crate) mod parse;
pub(crate) mod plugins;
pub(crate) mod policy;
pub(crate) mod profiles;
pub(crate) mod prompts;
pub(crate) mod run;
mod screen_setup;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod skills;
pub(crate) mod talk;
pub(crate) mod telegram;
mod themes;
pub(crate) mod tools;
pub(crate) mod undo;
pub(crate) mod update;
pub(crate) mod usage;
pub(crate) mod verify;
mod welcome;

use crate::{
    CliContext,
    args::{
        AcpArgs, Agents, AttachArgs, AttemptsCommand, BlameArgs, BundleArgs, ChatArgs, Commands, Config,
        DoctorArgs, EvalArgs, Fleet, JobArgs, Jobs, Lazy, LoginArgs, LogoutArgs, McpArgs, MemoryCommand,
        Models, OutboxCommand, ParseArgs, Plugins, Policy, Profiles, ResumeArgs, RunArgs, ServeArgs,
        SessionArg, Sessions, Skills, TelegramArgs, Tools, UndoArgs, UpdateArgs, UsageArgs, VerifyArgs,
        WorkerArgs,
    },
};
use clap::Subcommand;
use haft_app::Failure;
use haft_terminal::Exit;
use std::path::PathBuf;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run one prompt and print the reply
    #[command(visible_alias = "prompt")]
    Run(Lazy<RunArgs>),
    /// Chat line by line, without a screen
    ///
    /// `exit` quits.
    Chat(Lazy<ChatArgs>),
    /// Continue a session that you choose, or the newest
    Resume(Lazy<ResumeArgs>),
    /// Build a feature from a description
    ///
    /// The job works on a branch of its own, commits its changes and opens a pull request.
    Build(Lazy<JobArgs>),
    /// Reproduce and fix a bug
    Debug(Lazy<JobArgs>),
    /// Review a change
    Review(Lazy<JobArgs>),
    /// Classify an issue and rate its severity
    Triage(Lazy<JobArgs>),
    /// List, show, queue and run jobs
    #[command(subcommand)]
    Jobs(Lazy<Jobs>),
    /// List and show agents
    #[command(subcommand)]
    Agents(Lazy<Agents>),
    /// Add, list, update and remove plugins
    ///
    /// A plugin is a folder with skills, commands, agents, hooks and MCP servers.
    #[command(subcommand)]
    Plugins(Lazy<Plugins>),
    /// List skills
    ///
    /// A skill is a folder with instructions for one kind of task.
    #[command(subcommand)]
    Skills(Lazy<Skills>),
    /// List saved prompts
    ///
    /// A saved prompt runs as `/NAME ARGUMENTS`.
    #[command(subcommand)]
    Commands(Lazy<Commands>),
    /// List, show, resume, fork, replay and export sessions
    #[command(subcommand)]
    Sessions(Lazy<Sessions>),
    /// Verify a session or a bundle
    ///
    /// Checks that its journal is what was recorded, and makes its calls again in a copy. Exits with 5 if something differs.
    Verify(Lazy<VerifyArgs>),
    /// Put a session into one file
    ///
    /// The file holds all that `haft verify` needs, and a page to read. Secrets are cut out.
    Bundle(Lazy<BundleArgs>),
    /// Show tokens and cost
    ///
    /// By day, model and project.
    Usage(Lazy<UsageArgs>),
    /// Undo the last turn and its changes
    ///
    /// Restores the files that the turn changed, and skips those that were modified since.
    Undo(Lazy<UndoArgs>),
    /// Show which call wrote each line
    ///
    /// With a line: the prompt, the model, the call, the approval and the tests. Example: `haft blame src/main.rs:12`.
    Blame(Lazy<BlameArgs>),
    /// Compare attempts
    ///
    /// With `haft run --attempts`, a turn that misses its goal is followed by others: lists them, and shows what they differ in.
    #[command(subcommand)]
    Attempts(Lazy<AttemptsCommand>),
    /// Redo what was undone
    ///
    /// Makes the changes again that the last undo reverted.
    Redo(Lazy<SessionArg>),
    /// Send or drop queued calls
    ///
    /// A session with `--outbox` queues calls that cannot be taken back: pushes, requests, messages.
    #[command(subcommand)]
    Outbox(Lazy<OutboxCommand>),
    /// List and propose memory
    ///
    /// Memory is the lines of `AGENTS.md` that past sessions show, each with its sources.
    #[command(subcommand)]
    Memory(Lazy<MemoryCommand>),
    /// Save a provider's API key
    ///
    /// Example: `haft login anthropic`.
    Login(Lazy<LoginArgs>),
    /// Remove a saved API key
    Logout(Lazy<LogoutArgs>),
    /// List tools, or call one without a model
    #[command(subcommand)]
    Tools(Lazy<Tools>),
    /// List, download and test models
    #[command(subcommand)]
    Models(Lazy<Models>),
    /// Compare models
    ///
    /// Each model works on each task in a session of its own, in a copy of the files, and a check says whether the task is solved. Example: `haft eval --tasks evals --models openai/gpt-5,ollama/qwen3 --max-cost 5`.
    Eval(Lazy<EvalArgs>),
    /// List and show profiles
    ///
    /// A profile is a set of prompts, limits and output formats.
    #[command(subcommand)]
    Profiles(Lazy<Profiles>),
    /// Extract tool calls from model output
    Parse(Lazy<ParseArgs>),
    /// Show and change the configuration
    #[command(subcommand)]
    Config(Lazy<Config>),
    /// Explain what is allowed
    ///
    /// Each effect of a call is allowed, needs approval or is denied.
    #[command(subcommand)]
    Policy(Lazy<Policy>),
    /// Set up MCP servers, or be one
    Mcp(Lazy<McpArgs>),
    /// Serve an editor over ACP
    ///
    /// Uses standard input and output.
    Acp(Lazy<AcpArgs>),
    /// Serve sessions and jobs over HTTP
    ///
    /// Serves a web page, an API and an OpenAI-compatible endpoint.
    Serve(Lazy<ServeArgs>),
    /// Join a served session
    ///
    /// Shows a session of `haft serve` in this terminal; it continues when you leave. Example: `haft attach
    /// https://haft.example.com`.
    Attach(Lazy<AttachArgs>),
    /// Run a fleet's jobs
    ///
    /// Runs on this machine, alongside the fleet's other workers.
    Worker(Lazy<WorkerArgs>),
    /// Set up, show and drain a fleet
    ///
    /// A fleet is a set of workers that share a queue of jobs on PostgreSQL.
    #[command(subcommand)]
    Fleet(Lazy<Fleet>),
    /// Run a Telegram bot
    Telegram(Lazy<TelegramArgs>),
    /// Check the installation
    ///
    /// Reports what is missing, and how to fix it.
    Doctor(Lazy<DoctorArgs>),
    /// Install the newest version
    ///
    /// Asks the index of releases in the setting `update.index`, and installs only what is signed with `update.key`.
    Update(Lazy<UpdateArgs>),
    /// Explain a topic (`haft help topics`) or a command
    Help {
        /// Topic, section or command
        #[arg(value_name = "TOPIC|COMMAND")]
        words: Vec<String>,
    },
    /// Print shell completions
    ///
    /// Example: `haft completions bash`.
    Completions {
        /// Shell to complete for
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    ///
    /// View it with `haft man | man -l -`.
    Man {
        /// Write one page per command to this directory
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
}

impl Verb {
    /// Carries it out.
    pub(crate) async fn run(self, cli: &CliContext) -> Result<Exit, Failure> {
        match self {
            Self::Run(run) => run::run(cli, &run.prompt, &run.turn, &run.purpose).await,
            Self::Resume(Lazy(resume)) => sessions::resume(cli, *resume).await,
            Self::Chat(chat) => talk::chat(cli, &chat.turn).await,
            Self::Build(job) => jobs::start(cli, "builder", &job).await,
            Self::Debug(job) => jobs::start(cli, "debugger", &job).await,
            Self::Review(job) => jobs::start(cli, "reviewer", &job).await,
            Self::Triage(job) => jobs::start(cli, "triager", &job).await,
            Self::Jobs(Lazy(jobs)) => jobs::jobs(cli, *jobs).await,
            Self::Agents(Lazy(agents)) => agents::agents(cli, *agents),
            Self::Plugins(Lazy(command)) => plugins::plugins(cli, *command).await,
            Self::Skills(list) => skills::skills(cli, &list),
            Self::Commands(list) => prompts::prompts(cli, &list),
            Self::Sessions(Lazy(sessions)) => sessions::sessions(cli, *sessions).await,
            Self::Verify(Lazy(args)) => verify::verify(cli, *args).await,
            Self::Bundle(args) => verify::bundle(cli, &args),
            Self::Usage(usage) => usage::usage(cli, &usage),
            Self::Undo(undo) => undo::undo(cli, &undo).await,
            Self::Blame(args) => blame::blame(cli, &args),
            Self::Attempts(Lazy(command)) => attempts::attempts(cli, *command),
            Self::Redo(session) => undo::redo(cli, &session).await,
            Self::Outbox(Lazy(command)) => outbox::outbox(cli, *command).await,
            Self::Memory(Lazy(command)) => memory::memory(cli, *command).await,
            Self::Login(login) => login::login(cli, &login).await,
            Self::Logout(logout) => login::logout(cli, &logout).await,
            Self::Tools(Lazy(tools)) => tools::tools(cli, *tools).await,
            Self::Models(Lazy(models)) => models::models(cli, *models).await,
            Self::Eval(Lazy(args)) => eval::eval(cli, *args).await,
            Self::Profiles(Lazy(profiles)) => profiles::profiles(*profiles),
            Self::Parse(parse) => parse::parse(cli, &parse),
            Self::Config(Lazy(config)) => config::config(cli, *config),
            Self::Policy(Lazy(policy)) => policy::policy(cli, *policy),
            Self::Help { words } => help::help(cli, &words),
            Self::Mcp(Lazy(mcp)) => mcp::mcp(cli, *mcp).await,
            Self::Completions { shell } => manual::completions(shell),
            Self::Man { to } => manual::man(to.as_deref()),
            Self::Update(args) => update::update(cli, &args).await,
            Self::Acp(acp) => acp::acp(cli, &acp).await,
            Self::Serve(serve) if serve.fleet.is_some() => fleet::serve(cli, &serve).await,
            Self::Serve(serve) => serve::serve(cli, &serve).await,
            Self::Attach(args) => attach::attach(cli, &args).await,
            Self::Worker(worker) => fleet::worker(cli, &worker).await,
            Self::Fleet(Lazy(fleet)) => fleet::fleet(cli, *fleet).await,
            Self::Telegram(telegram) => telegram::telegram(cli, &telegram).await,
            Self::Doctor(doctor) => doctor::doctor(cli, &doctor).await,
        }
    }
}
