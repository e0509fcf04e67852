//! [`parse`]: reads the command line.
use super::{Cli, overview};
use clap::{Command, CommandFactory, FromArgMatches};
use std::{ffi::OsString, io::Write, process::ExitCode};

/// Commands that begin a job.
const JOBS: [&str; 4] = ["build", "debug", "review", "triage"];

/// What was typed. Prints help or an error where there is nothing else to do; then the program exits with this code.
pub(crate) fn parse() -> Result<Cli, ExitCode> {
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

/// A command that does not go on as typed may have been meant as a sentence: `review my changes`.
fn prompt_in(error: &clap::Error, words: &[OsString]) -> Option<String> {
    use clap::error::ErrorKind::{InvalidSubcommand, UnknownArgument};
    let words: Vec<&str> = words.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let is_said = words.iter().all(|word| !word.starts_with('-'));
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
    words
}
