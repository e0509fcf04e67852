//! [`is_wanted`]: asks the user whether a turn that has used up its rounds continues.
use crate::{asking::Asking, signals::Interrupts};
use haft_core::LastTurn;
use haft_engine::Session;
use haft_present::counted;
use std::io::{BufRead, Write};

/// The number of rounds of the last turn of `session` if it reached the limit and the user can continue it.
pub(crate) fn used_up(session: &Session) -> Option<u32> {
    match LastTurn::of(&session.entries()) {
        LastTurn::OutOfRounds(rounds) if !session.is_joined() => Some(rounds),
        _ => None,
    }
}

/// Asks at the terminal. Any other answer than yes means no.
pub(crate) async fn is_wanted(rounds: u32, interrupts: &mut Interrupts) -> bool {
    let (sender, answer) = tokio::sync::oneshot::channel();
    let read = move |lines: &mut dyn BufRead, screen: &mut dyn Write| {
        let mut line = String::new();
        let asked = write!(screen, "{}", question(rounds)).and_then(|()| screen.flush());
        asked.and_then(|()| lines.read_line(&mut line)).is_ok() && is_yes(&line)
    };
    let _withdrawn_when_dropped = Asking::begin(read, move |wanted| {
        let _nobody_waits = sender.send(wanted);
    });
    tokio::select! {
        answer = answer => answer.unwrap_or_default(),
        () = interrupts.next() => false,
    }
}

/// The text of the question, the same in all front-ends.
pub(crate) fn question(rounds: u32) -> String {
    format!("{} used. Continue? [y/N] ", counted(rounds, "round", "rounds"))
}

fn is_yes(line: &str) -> bool {
    ["y", "yes"].contains(&line.trim().to_lowercase().as_str())
}
