//! The options `-v` and `-q`: how much of the log the user sees.
use super::{Cli, Jobs, Sessions, Verb};

impl Cli {
    /// How often `-v` was given, by whichever command was.
    pub(crate) fn verbosity(&self) -> u8 {
        match &self.command {
            None => self.turn.verbose,
            Some(Verb::Run(run)) => run.turn.verbose,
            Some(Verb::Chat(chat)) => chat.turn.verbose,
            Some(Verb::Build(job) | Verb::Debug(job) | Verb::Review(job) | Verb::Triage(job)) => {
                job.turn.verbose
            }
            Some(Verb::Jobs(jobs)) => match &**jobs {
                Jobs::Retry { turn, .. } | Jobs::Serve { turn, .. } => turn.verbose,
                _ => 0,
            },
            Some(Verb::Resume(resume)) => resume.turn.verbose,
            Some(Verb::Sessions(sessions)) => match &**sessions {
                Sessions::Resume(resume) => resume.turn.verbose,
                _ => 0,
            },
            Some(Verb::Mcp(mcp)) => mcp.verbose,
            Some(Verb::Acp(acp)) => acp.work.verbose,
            Some(Verb::Telegram(telegram)) => telegram.work.verbose,
            Some(Verb::Serve(serve)) => serve.work.verbose,
            Some(Verb::Worker(worker)) => worker.work.verbose,
            // These open no turn, and have no such option.
            Some(
                Verb::Agents(_)
                | Verb::Commands(_)
                | Verb::Usage(_)
                | Verb::Fleet(_)
                | Verb::Undo(_)
                | Verb::Redo(_)
                | Verb::Login(_)
                | Verb::Logout(_)
                | Verb::Tools(_)
                | Verb::Models(_)
                | Verb::Profiles(_)
                | Verb::Parse(_)
                | Verb::Config(_)
                | Verb::Policy(_)
                | Verb::Help { .. }
                | Verb::Doctor(_)
                | Verb::Completions { .. }
                | Verb::Man { .. },
            ) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    // Fails if a new command with `-v` is missing where the option is read.
    #[test]
    fn every_command_that_takes_v_hears_it() {
        let mut paths = Vec::new();
        collect(&crate::args::command(), &mut Vec::new(), &mut paths);
        assert!(paths.len() > 12, "{paths:?}");
        for path in paths {
            let needed: &[&str] = match path.last().map(String::as_str) {
                Some("run") => &["go"],
                Some("retry" | "resume") => &["id"],
                _ => &[],
            };
            let words = path.iter().map(String::as_str).chain(["-vv"]).chain(needed.iter().copied());
            let cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            assert_eq!(cli.verbosity(), 2, "{path:?}");
        }
    }

    /// The words of every command that has `-v`.
    fn collect(command: &clap::Command, above: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
        above.push(command.get_name().to_owned());
        let is_counted = |argument: &clap::Arg| matches!(argument.get_action(), clap::ArgAction::Count);
        if command.get_arguments().any(|argument| argument.get_short() == Some('v') && is_counted(argument)) {
            found.push(above.clone());
        }
        command.get_subcommands().for_each(|below| collect(below, above, found));
        above.pop();
    }
}
