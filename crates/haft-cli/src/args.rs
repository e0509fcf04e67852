//! The options of the commands.
mod acp;
mod attach;
mod attempts;
mod blame;
mod eval;
mod fleet;
mod jobs;
mod known;
mod lazy;
mod login;
mod mcp;
mod memory;
mod models;
mod outbox;
mod plugins;
mod policy;
mod proof;
mod serve;
mod sessions;
mod settings;
mod telegram;
mod update;
mod usage;
mod work;

pub(crate) use acp::AcpArgs;
pub(crate) use attach::AttachArgs;
pub(crate) use attempts::AttemptsCommand;
pub(crate) use blame::BlameArgs;
pub(crate) use eval::{Eval, EvalArgs, EvalForm};
pub(crate) use fleet::{AccessArgs, DrainArgs, Fleet, FleetUrl, LimitArgs, PruneArgs, WorkerArgs};
pub(crate) use jobs::{Agents, JobArgs, Jobs};
pub(crate) use known::{Commands, Profiles, Skills};
pub(crate) use lazy::Lazy;
pub(crate) use login::{Login, LoginArgs, LogoutArgs};
pub(crate) use mcp::{Mcp, McpAddArgs, McpArgs, McpLoginArgs, McpServeArgs};
pub(crate) use memory::MemoryCommand;
pub(crate) use models::{CheckArgs, Models};
pub(crate) use outbox::OutboxCommand;
pub(crate) use plugins::{Answers, Plugins};
pub(crate) use policy::{Policy, PolicyCheck};
pub(crate) use proof::{BundleArgs, VerifyArgs};
pub(crate) use serve::{ServeArgs, ServeCommand};
pub(crate) use sessions::{ExportForm, ReplayArgs, ResumeArgs, Sessions};
pub(crate) use settings::{SettingsArgs, mode};
pub(crate) use telegram::TelegramArgs;
pub(crate) use update::UpdateArgs;
pub(crate) use usage::{By, UsageArgs};
pub(crate) use work::WorkArgs;

use clap::{Args, Subcommand, ValueEnum};
use haft_app::{Existing, SessionSpec};
use haft_core::Mode;
use std::path::PathBuf;

/// `haft parse`
#[derive(Debug, Args)]
pub(crate) struct ParseArgs {
    /// Tool-call format of the text (`?` lists them); `auto` detects it
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub(crate) dialect: String,
    /// Tool definitions, as `haft tools schema` prints them [default: the built-in tools]
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// File to read; `-` for standard input
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
}

/// `haft run`
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Prompt; `-` for standard input
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Vec<String>,
    /// What the turn is to bring about.
    #[command(flatten)]
    pub(crate) purpose: PurposeArgs,
    /// Options of the turn.
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
}

/// What a turn of `haft run` is to bring about.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PurposeArgs {
    /// Require a reply that matches this JSON Schema, and print only that JSON; a file, or the schema itself
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<String>,
    /// Print a plan and change nothing; `haft resume --last` continues from there
    #[arg(long, conflicts_with_all = ["goal", "permission"])]
    pub(crate) plan: bool,
    /// Work until the check of `--proof` has failed and then succeeds after the last change
    #[arg(long, value_name = "TEXT")]
    pub(crate) goal: Option<String>,
    /// Command that checks the goal, or `test` for the tests of the project (default: `check` of the configuration, or `test`)
    #[arg(long, value_name = "COMMAND", requires = "goal", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) proof: Option<String>,
    /// Make up to N attempts, from 2 to 16: if the first misses the goal, others begin anew, each in a view of its own, and the first that passes `--proof` is kept
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=i64::from(haft_core::MAX_ATTEMPTS)))]
    pub(crate) attempts: Option<u8>,
    /// Make all attempts to their ends, and choose among those that pass
    #[arg(long, requires = "attempts")]
    pub(crate) choose: bool,
}

/// `haft chat`
#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// Options of each turn.
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
}

/// Options of every command that runs a turn and shows it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TurnArgs {
    /// Options of the turn.
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// Directory to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Also read and change files of this directory; commands only read it (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Ask no questions, and queue what cannot be taken back; `haft outbox list` shows it
    #[arg(long)]
    pub(crate) outbox: bool,
    /// Continue this session
    #[arg(long, value_name = "ID", conflicts_with = "newest")]
    pub(crate) session: Option<String>,
    /// Continue the newest session in this directory
    #[arg(long = "continue", short = 'c')]
    pub(crate) newest: bool,
    /// Attach an image or a PDF (repeatable)
    #[arg(long, short = 'i', visible_alias = "attach", value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Form,
    /// Same as `--output stream-json`
    #[arg(long)]
    pub(crate) json: bool,
    /// Print plain lines instead of the interactive screen, e.g., for a screen reader
    #[arg(long)]
    pub(crate) plain: bool,
}

impl TurnArgs {
    /// The session that these options ask for.
    pub(crate) fn spec(&self) -> SessionSpec {
        let newest = self.newest.then_some(Existing::Newest);
        SessionSpec {
            workspace: self.cwd.clone(),
            roots: self.add_dir.clone(),
            outbox: self.outbox,
            session: self.session.clone().map(Existing::Named).or(newest),
            ..self.work.spec()
        }
    }
}

/// Options of every command.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct GlobalArgs {
    /// Print only errors to stderr
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Log more to stderr; repeat for more detail
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Disable colors
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
}

/// `--output`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Print the reply as it streams
    #[default]
    Text,
    /// Print one JSON object at the end
    Json,
    /// Print one JSON event per line
    StreamJson,
    /// Print tool activity, one JSON object `{"type", "data"}` per line
    Activity,
}

/// `haft undo`
#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// Session ID [default: the newest session in this directory]
    #[command(flatten)]
    pub(crate) session: SessionArg,
    /// Undo everything after this entry
    #[arg(long, value_name = "SEQ", conflicts_with = "calls")]
    pub(crate) to: Option<u64>,
    /// Undo the last N calls that changed files
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) calls: Option<usize>,
    /// Undo this call and keep the later ones; `--list` shows the numbers. May be given several times
    #[arg(long, value_name = "N", value_parser = positive, conflicts_with_all = ["to", "calls"])]
    pub(crate) call: Vec<usize>,
    /// With `--call`: also undo the later calls that depend on it
    #[arg(long, requires = "call", conflicts_with = "merge")]
    pub(crate) with_dependents: bool,
    /// With `--call`: merge the text, with conflict markers where later changes overlap. Without it: merge the files that the last undo skipped
    #[arg(long, conflicts_with_all = ["to", "calls", "show"])]
    pub(crate) merge: bool,
    /// List the calls that changed files, with their numbers and diffs
    #[arg(long, conflicts_with_all = ["to", "calls", "call", "merge", "show", "dry_run"])]
    pub(crate) list: bool,
    /// With `--call` or `--list`: print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print what would be restored without changing anything
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print this file as an undo would restore it, without changing anything; also works for a file that the last undo skipped
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dry_run", "call"])]
    pub(crate) show: Option<PathBuf>,
}

fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".into()),
        parsed => parsed.map_err(|error: std::num::ParseIntError| error.to_string()),
    }
}

/// A session, or the newest one in this directory.
#[derive(Debug, Args)]
pub(crate) struct SessionArg {
    /// Session ID [default: the newest session in this directory]
    pub(crate) id: Option<String>,
    /// Directory to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// `haft tools …`
#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    /// List tools with their descriptions
    List {
        /// Profile to use
        #[arg(long, value_name = "NAME")]
        profile: Option<String>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Print the tool definitions as JSON, as sent to a model
    Schema {
        /// Print only this tool
        name: Option<String>,
        /// Profile to use
        #[arg(long, value_name = "NAME")]
        profile: Option<String>,
    },
    /// Run one tool, with the same checks, permissions and undo as in a session
    Call(CallArgs),
}

/// `haft tools call`
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// Tool to call
    pub(crate) name: String,
    /// Arguments, as a JSON object
    pub(crate) arguments: String,
    /// What to do with an effect that no rule matches
    #[arg(long, value_name = "MODE", value_parser = mode())]
    pub(crate) permission: Option<Mode>,
    /// Profile to use
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Directory to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// `haft config …`
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Show each value in effect and its source
    Show {
        /// Directory to work in
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
    /// Check your configuration, that of the project, and your themes
    Check {
        /// Directory to work in
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
    /// Print the paths of the configuration files
    Path,
    /// Print the value in effect of one setting: `haft config get model`
    Get {
        /// Key, as for `haft config set`
        key: String,
        /// Directory to work in
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
    /// Write a value to your configuration file: `haft config set model anthropic`
    Set {
        /// Key, as in `haft config show`; for a key in a table, `timeouts.idle`
        key: String,
        /// Value; write a list as TOML: '["execute:ls"]'
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Remove a value from your configuration file: `haft config unset timeouts.idle`
    Unset {
        /// Key, as for `haft config set`
        key: String,
    },
}

/// `haft doctor`
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Directory to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}
