//! [`Cli`]: the command line, and [`read`], which reads it.
use super::{Verb, overview::overview};
use crate::args::{GlobalArgs, TurnArgs};
use clap::{Command, CommandFactory, FromArgMatches, Parser};
use std::{ffi::OsString, io::Write, process::ExitCode};

/// A coding agent that records every call, shows changes first and can undo them
#[derive(Debug, Parser)]
#[command(name = "haft", version, args_conflicts_with_subcommands = true, max_term_width = 100)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// Command to run; without one, PROMPT is sent to the agent.
    #[command(subcommand)]
    pub(crate) command: Option<Verb>,
    /// Prompt, as for `haft run`.
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Vec<String>,
    /// Options of the turn.
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
    /// Options of every command.
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

/// The command line as help, manual and completions show it, all of it.
pub(crate) fn command() -> clap::Command {
    let mut command = definition();
    command.build();
    command
}

/// Commands that begin a job.
const JOBS: [&str; 4] = ["build", "debug", "review", "triage"];

/// Commands whose names often begin a sentence. What follows one of them in a command: its own commands, and what is typed by
/// mistake for an option, or because other programs take it.
const IN_SENTENCES: [(&str, &[&str]); 2] = [
    ("update", &["check", "back", "now", "self", "haft", "latest", "help"]),
    ("memory", &["list", "propose", "forget", "help", "ls", "show", "add", "clear"]),
];

/// What was typed. Prints help or an error where there is nothing else to do; then the program exits with this code.
pub(crate) fn read() -> Result<Cli, ExitCode> {
    let words = words();
    let read = definition().try_get_matches_from(&words).and_then(|mut matches| {
        Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut definition()))
    });
    read.map_err(|error| {
        let _nobody_reads = error.print();
        if let Some(prompt) = prompt_in(&error, &words[1..]) {
            let hint = format!("hint: `haft run \"{prompt}\"` sends it as a prompt");
            let _nobody_reads = writeln!(std::io::stderr(), "{}", haft_present::safe::text(&hint));
        }
        u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
    })
}

/// The command line, with a help that is made of its commands.
pub(super) fn definition() -> Command {
    let command = Cli::command();
    let page = overview(&command);
    command.override_help(page)
}

/// A command that does not continue as typed may have been meant as a sentence: `review my changes`.
fn prompt_in(error: &clap::Error, words: &[OsString]) -> Option<String> {
    use clap::error::ErrorKind::{InvalidSubcommand, UnknownArgument};
    let words: Vec<&str> = words.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    // Commands below others are not made before they are needed.
    let mut all = definition();
    all.build();
    let is_below = words.get(..2).is_some_and(|words| {
        words.iter().try_fold(&all, |command, word| command.find_subcommand(word)).is_some()
    });
    let is_said = !is_below && words.iter().all(|word| !word.starts_with('-'));
    (is_said && matches!(error.kind(), InvalidSubcommand | UnknownArgument)).then(|| words.join(" "))
}

/// The words of the command line. Jobs take `-description` as well, which is how programs in Go write a long option.
fn words() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let is_job = words.get(1).is_some_and(|verb| JOBS.iter().any(|job| verb == job));
    let options = words.iter_mut().take_while(|word| *word != "--").filter(|_| is_job);
    for word in options {
        if let Some(rest) = word.to_str().and_then(|word| word.strip_prefix("-description"))
            && (rest.is_empty() || rest.starts_with('='))
        {
            *word = format!("--description{rest}").into();
        }
    }
    if is_sentence(&words[1..]) {
        words.insert(1, "run".into());
    }
    words
}

/// Whether the words begin with the name of a command and are a prompt: `update the readme`, `memory leak in main.rs`.
fn is_sentence(words: &[OsString]) -> bool {
    let [verb, next, ..] = words else { return false };
    let known = IN_SENTENCES.iter().find(|(name, _)| verb == name);
    let is_option = next.as_encoded_bytes().starts_with(b"-");
    known.is_some_and(|(_, own)| !is_option && !own.iter().any(|word| next == word))
}
