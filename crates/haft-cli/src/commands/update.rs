//! [`update`] (`haft update`): installs the newest release, or reverts to the version before.
use super::interruptible::interruptible;
use crate::{CliContext, args::UpdateArgs, own_program};
use haft_app::{Failure, update::Outcome};
use haft_terminal::Exit;
use serde_json::json;
use std::io::{IsTerminal, Write, stderr, stdout};

/// `haft update`
pub(crate) async fn update(cli: &CliContext, args: &UpdateArgs) -> Result<Exit, Failure> {
    let (updates, draws) = (cli.updates(own_program()), stderr().is_terminal() && !cli.global.quiet);
    let mut progress = |bytes, total| {
        if draws {
            let _no_terminal = write!(stderr(), "\r\x1b[K{}", percent(bytes, total));
        }
    };
    // An interrupt does not end the process at once, so that downloaded files are removed.
    let outcome = interruptible(async {
        match () {
            () if args.check => updates.check().await,
            () if args.back => updates.back().await,
            () => updates.install(&mut progress).await,
        }
    });
    let outcome = outcome.await;
    if draws {
        let _no_terminal = write!(stderr(), "\r\x1b[K");
    }
    let outcome = outcome??;
    match args.json {
        true => writeln!(stdout(), "{}", as_json(&outcome))?,
        false => writeln!(stdout(), "{}", as_text(&outcome, args))?,
    }
    Ok(Exit::Success)
}

fn as_json(Outcome { from, to, done }: &Outcome) -> serde_json::Value {
    json!({"from": from, "to": to, "done": done})
}

fn as_text(Outcome { from, to, done }: &Outcome, args: &UpdateArgs) -> String {
    match done {
        true if args.back => format!("went back from haft {from} to {to}; `haft update --back` undoes that"),
        true => format!("updated haft {from} to {to}; `haft update --back` undoes that"),
        false if from == to => format!("haft {from} is up to date"),
        false => format!("haft {to} is available, this is {from}; `haft update` installs it"),
    }
}

/// `42% of 15 MB`
fn percent(bytes: u64, total: u64) -> String {
    format!("{}% of {} MB", bytes * 100 / total.max(1), total / 1_000_000)
}
