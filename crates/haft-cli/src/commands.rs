//! [`Verb`]: the commands, one file for each. To add one: a file, its module, a variant and an arm here.

mod account;
pub(crate) mod acp;
pub(crate) mod agents;
pub(crate) mod check;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod fleet;
pub(crate) mod help;
pub(crate) mod input;
mod interruptible;
pub(crate) mod jobs;
pub(crate) mod login;
mod look;
pub(crate) mod manual;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod parse;
pub(crate) mod policy;
pub(crate) mod profiles;
pub(crate) mod prompts;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod sessions;
mod table;
pub(crate) mod talk;
pub(crate) mod telegram;
pub(crate) mod tools;
pub(crate) mod undo;
pub(crate) mod usage;
mod welcome;

use crate::{
    CliContext,
    args::{
        AcpArgs, Agents, ChatArgs, Commands, Config, DoctorArgs, Fleet, JobArgs, Jobs, Lazy, LoginArgs,
        LogoutArgs, McpArgs, Models, ParseArgs, Policy, Profiles, ResumeArgs, RunArgs, ServeArgs, SessionArg,
        Sessions, TelegramArgs, Tools, UndoArgs, UsageArgs, WorkerArgs,
    },
};
use clap::Subcommand;
use haft_app::Failure;
use haft_terminal::Exit;
use std::path::PathBuf;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run one prompt and print the reply; `-` reads the prompt from standard input
    #[command(visible_alias = "prompt")]
    Run(Lazy<RunArgs>),
    /// Chat line by line, without the interactive screen; `exit` quits
    Chat(Lazy<ChatArgs>),
    /// Continue a session: the one named, else the newest of this directory
    Resume(Lazy<ResumeArgs>),
    /// Build a feature from a description: a branch with commits, and a pull request
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
    /// List saved prompts, which run as `/NAME ARGUMENTS`
    #[command(subcommand)]
    Commands(Lazy<Commands>),
    /// List, show, resume, fork, replay and export sessions
    #[command(subcommand)]
    Sessions(Lazy<Sessions>),
    /// Show tokens and money by day, model and project
    Usage(Lazy<UsageArgs>),
    /// Undo the last turn, and restore the files that it changed
    Undo(Lazy<UndoArgs>),
    /// Redo what the last undo took back
    Redo(Lazy<SessionArg>),
    /// Keep the API key of a vendor: `haft login anthropic`
    Login(Lazy<LoginArgs>),
    /// Remove a key that `haft login` kept
    Logout(Lazy<LogoutArgs>),
    /// List tools, or call one without a model
    #[command(subcommand)]
    Tools(Lazy<Tools>),
    /// List, download and test models
    #[command(subcommand)]
    Models(Lazy<Models>),
    /// List and show profiles: sets of prompts, limits and output formats
    #[command(subcommand)]
    Profiles(Lazy<Profiles>),
    /// Extract tool calls from a model's text
    Parse(Lazy<ParseArgs>),
    /// Show the configuration in effect and where each value comes from; change it
    #[command(subcommand)]
    Config(Lazy<Config>),
    /// Explain what is allowed, asked for or denied
    #[command(subcommand)]
    Policy(Lazy<Policy>),
    /// Serve agents and tools to other programs over MCP
    Mcp(Lazy<McpArgs>),
    /// Serve the agent to an editor over ACP, on standard input and output
    Acp(Lazy<AcpArgs>),
    /// Serve sessions and jobs over HTTP: a page, an API, an OpenAI-compatible endpoint
    Serve(Lazy<ServeArgs>),
    /// Work on the jobs of a fleet, together with other machines
    Worker(Lazy<WorkerArgs>),
    /// Show, drain and set up a fleet of workers
    #[command(subcommand)]
    Fleet(Lazy<Fleet>),
    /// Run a Telegram bot
    Telegram(Lazy<TelegramArgs>),
    /// Check what this machine has and what is missing
    Doctor(Lazy<DoctorArgs>),
    /// Explain a topic or a command; without one, list them
    Help {
        /// permissions, sessions, models, configuration, or a command
        #[arg(value_name = "TOPIC|COMMAND")]
        words: Vec<String>,
    },
    /// Print shell completions: `haft completions bash`
    Completions {
        /// Shell to complete for
        shell: clap_complete::Shell,
    },
    /// Print the manual page, for `man -l -`
    Man {
        /// Write one page per command into this directory
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
}

impl Verb {
    /// Carries it out.
    pub(crate) async fn run(self, cli: &CliContext) -> Result<Exit, Failure> {
        match self {
            Self::Run(run) => run::run(cli, &run.prompt, &run.turn).await,
            Self::Resume(Lazy(resume)) => sessions::resume(cli, *resume).await,
            Self::Chat(chat) => talk::chat(cli, &chat.turn).await,
            Self::Build(job) => jobs::start(cli, "builder", &job).await,
            Self::Debug(job) => jobs::start(cli, "debugger", &job).await,
            Self::Review(job) => jobs::start(cli, "reviewer", &job).await,
            Self::Triage(job) => jobs::start(cli, "triager", &job).await,
            Self::Jobs(Lazy(jobs)) => jobs::jobs(cli, *jobs).await,
            Self::Agents(Lazy(agents)) => agents::agents(cli, *agents),
            Self::Commands(list) => prompts::prompts(cli, &list),
            Self::Sessions(Lazy(sessions)) => sessions::sessions(cli, *sessions).await,
            Self::Usage(usage) => usage::usage(cli, &usage),
            Self::Undo(undo) => undo::undo(cli, &undo).await,
            Self::Redo(session) => undo::redo(cli, &session).await,
            Self::Login(login) => login::login(cli, &login).await,
            Self::Logout(logout) => login::logout(cli, &logout).await,
            Self::Tools(Lazy(tools)) => tools::tools(cli, *tools).await,
            Self::Models(Lazy(models)) => models::models(cli, *models).await,
            Self::Profiles(Lazy(profiles)) => profiles::profiles(*profiles),
            Self::Parse(parse) => parse::parse(cli, &parse),
            Self::Config(Lazy(config)) => config::config(cli, *config),
            Self::Policy(Lazy(policy)) => policy::policy(cli, *policy),
            Self::Help { words } => help::help(&words),
            Self::Mcp(mcp) => mcp::mcp(cli, &mcp).await,
            Self::Completions { shell } => manual::completions(shell),
            Self::Man { to } => manual::man(to.as_deref()),
            Self::Acp(acp) => acp::acp(cli, &acp).await,
            Self::Serve(serve) if serve.fleet.is_some() => fleet::serve(cli, &serve).await,
            Self::Serve(serve) => serve::serve(cli, &serve).await,
            Self::Worker(worker) => fleet::worker(cli, &worker).await,
            Self::Fleet(Lazy(fleet)) => fleet::fleet(cli, *fleet).await,
            Self::Telegram(telegram) => telegram::telegram(cli, &telegram).await,
            Self::Doctor(doctor) => doctor::doctor(cli, &doctor).await,
        }
    }
}
