//! What can be typed: commands and options.
mod acp;
mod jobs;
mod known;
mod limits;
mod mcp;
mod models;
mod permission;
mod telegram;
mod verbosity;
mod work;

pub(crate) use acp::AcpArgs;
pub(crate) use jobs::{Agents, JobArgs, Jobs};
pub(crate) use known::{Commands, Profiles};
pub(crate) use mcp::McpArgs;
pub(crate) use models::{CheckArgs, Models};
pub(crate) use permission::Permission;
pub(crate) use telegram::TelegramArgs;
pub(crate) use work::WorkArgs;

use clap::{Args, Parser, Subcommand, ValueEnum};
pub(crate) use limits::LimitArgs;
use std::path::PathBuf;

/// An agent whose every tool call is journaled, staged and reversible.
#[derive(Debug, Parser)]
#[command(name = "haft", version, args_conflicts_with_subcommands = true, max_term_width = 100)]
#[command(
    after_help = "`haft` alone opens a conversation in the terminal. Without a command the words are a prompt: \
                  `haft fix the test` is `haft run \"fix the test\"`."
)]
pub(crate) struct Cli {
    /// What to do; without it, what to say is read from PROMPT.
    #[command(subcommand)]
    pub(crate) command: Option<Verb>,
    /// A prompt, as for `haft run`.
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Vec<String>,
    /// How the turn goes.
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// One turn without a screen; `-` reads the prompt from standard input
    Run(RunArgs),
    /// A conversation line by line; `exit` leaves
    Chat(ChatArgs),
    /// A feature from a description: a branch with commits, and a pull request
    Build(JobArgs),
    /// A fault, reproduced by a failing test and removed
    Debug(JobArgs),
    /// What is wrong with a change
    Review(JobArgs),
    /// What kind of issue it is, and how bad
    Triage(JobArgs),
    /// Jobs: how they stand
    #[command(subcommand)]
    Jobs(Jobs),
    /// Agents: who can work here
    #[command(subcommand)]
    Agents(Agents),
    /// Prompts kept in files, for `/NAME ARGUMENTS`
    #[command(subcommand)]
    Commands(Commands),
    /// Sessions: what was said and done
    #[command(subcommand)]
    Sessions(Sessions),
    /// Put files back to what they were before the last turn
    Undo(UndoArgs),
    /// Take back the last undo
    Redo(SessionArg),
    /// Tools, without a model
    #[command(subcommand)]
    Tools(Tools),
    /// Models: what there is, and how to get one
    #[command(subcommand)]
    Models(Models),
    /// Ways to work: numbers, texts and shapes, as data
    #[command(subcommand)]
    Profiles(Profiles),
    /// Tool calls found in a model's text
    Parse(ParseArgs),
    /// The configuration in force, and where it lies
    #[command(subcommand)]
    Config(Config),
    /// The agents and tools for other programs, over MCP: on standard streams, or on an address
    Mcp(McpArgs),
    /// The agent in an editor, over ACP: the editor starts this and talks to it over standard streams
    Acp(AcpArgs),
    /// A bot on Telegram: a conversation in each of its chats
    Telegram(TelegramArgs),
    /// What this machine offers, and what is missing
    Doctor(DoctorArgs),
    /// What a shell needs to complete commands and options: `haft completions bash`
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// The manual, for `man -l -`
    Man {
        /// Write one page for each command into this folder
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
}

/// `haft parse`
#[derive(Debug, Args)]
pub(crate) struct ParseArgs {
    /// Whose way of writing calls; `auto` tries all
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub(crate) dialect: String,
    /// Definitions as `haft tools schema` prints them; the built-in tools if left out
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// The text; `-` for standard input
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
}

/// `haft run`
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What to do; `-` for standard input
    #[arg(required = true, value_name = "PROMPT")]
    pub(crate) prompt: Vec<String>,
    /// How the turn goes.
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
}

/// `haft chat`
#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// How each turn goes.
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
}

/// Options of every command that starts a turn.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TurnArgs {
    /// VENDOR/MODEL: `openai/gpt-5`, `anthropic/…`, `ollama/…`, `local/NAME|FILE.gguf`, `script/FILE`
    #[arg(long, short, value_name = "SPEC")]
    pub(crate) model: Option<String>,
    /// Another server for the model's vendor
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// How the model writes calls as text (`haft parse --dialect ?`); `auto` finds out
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<String>,
    /// `default`, `alfred`, `pedro`, `ally`, `opencode`, `picoclaw`, or a TOML file
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Who works
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only these tools
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
    /// At most so many model calls in a turn; a lower limit of the configuration or the profile holds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_rounds: Option<u32>,
    /// Where it stops besides.
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// The folder to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Go on with this session
    #[arg(long, value_name = "ID", conflicts_with = "newest")]
    pub(crate) session: Option<String>,
    /// Go on with the newest session of this folder
    #[arg(long = "continue")]
    pub(crate) newest: bool,
    /// Show the model a picture
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// What happens with an effect that no rule settles; without a terminal `ask` refuses, and says so
    #[arg(long, value_name = "MODE")]
    pub(crate) permission: Option<Permission>,
    /// What is printed on standard output
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) output: Form,
    /// The same as `--output stream-json`
    #[arg(long)]
    pub(crate) json: bool,
    /// Nothing on standard error but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// More on standard error; repeat for more
    #[arg(long, short, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// No colours
    #[arg(long)]
    pub(crate) no_color: bool,
    /// Line by line instead of the screen, as a screen reader can follow it
    #[arg(long)]
    pub(crate) plain: bool,
    /// Where a job's branch began.
    #[arg(skip)]
    pub(crate) start: Option<Box<haft::core::Start>>,
    /// MCP servers that an editor names, besides the person's own.
    #[arg(skip)]
    pub(crate) servers: Vec<haft::mcp::client::McpServer>,
}

/// `--output`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// The reply as it streams
    #[default]
    Text,
    /// One object at the end
    Json,
    /// One event a line
    StreamJson,
}

/// `haft sessions …`
#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// All sessions, newest first
    List {
        /// One object a line
        #[arg(long)]
        json: bool,
    },
    /// What was said and done
    Show(SessionId),
    /// Take up an unfinished turn, or go on talking
    Resume(ResumeArgs),
    /// The whole session
    Export {
        /// The session
        id: String,
        /// In which form
        #[arg(long, default_value = "markdown")]
        format: ExportForm,
    },
}

/// `haft sessions resume`
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The session
    pub(crate) id: String,
    /// How the turn goes.
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
}

/// A session by its name.
#[derive(Debug, Args)]
pub(crate) struct SessionId {
    /// The session, or the beginning of its name
    pub(crate) id: String,
}

/// `--format`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    /// For people
    Markdown,
    /// The journal, one entry a line
    Json,
}

/// `haft undo`
#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The session; else the newest of this folder
    #[command(flatten)]
    pub(crate) session: SessionArg,
    /// Go back to this entry
    #[arg(long, value_name = "SEQ", conflicts_with = "calls")]
    pub(crate) to: Option<u64>,
    /// Undo the last N calls that changed files
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) calls: Option<usize>,
    /// Only say what would be put back
    #[arg(long)]
    pub(crate) dry_run: bool,
}

fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".into()),
        parsed => parsed.map_err(|error: std::num::ParseIntError| error.to_string()),
    }
}

/// A session, else the newest one of this folder.
#[derive(Debug, Args)]
pub(crate) struct SessionArg {
    /// The session; else the newest of this folder
    pub(crate) id: Option<String>,
    /// The folder to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// `haft tools …`
#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    /// Their names and what they do
    List {
        /// Whose settings hold
        #[arg(long, value_name = "NAME")]
        profile: Option<String>,
    },
    /// The tools as a model gets them, as JSON
    Schema {
        /// Only this one
        name: Option<String>,
        /// Whose settings hold
        #[arg(long, value_name = "NAME")]
        profile: Option<String>,
    },
    /// Run one tool through the whole path: checks, policy, view, settling
    Call(CallArgs),
}

/// `haft tools call`
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The tool
    pub(crate) name: String,
    /// Its arguments, a JSON object
    pub(crate) arguments: String,
    /// What happens with an effect that no rule settles
    #[arg(long, value_name = "MODE")]
    pub(crate) permission: Option<Permission>,
    /// Whose settings hold
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// The folder to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// `haft config …`
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// What is in force, and where each value comes from
    Show {
        /// The folder to work in
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
    /// The files that are read
    Path,
}

/// `haft doctor`
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The folder to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_commands_hang_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn words_without_a_command_are_a_prompt() {
        let cli = Cli::try_parse_from(["haft", "--model", "script/x", "say", "hi"]).unwrap();
        assert_eq!((cli.prompt.join(" ").as_str(), cli.turn.model.as_deref()), ("say hi", Some("script/x")));
        assert!(matches!(Cli::try_parse_from(["haft", "run", "-"]).unwrap().command, Some(Verb::Run(_))));
        assert!(Cli::try_parse_from(["haft", "run", "--no-such-option", "x"]).is_err());
    }
}
