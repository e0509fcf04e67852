//! Tests of `facts/last_turn.rs`, through the public names.
use haft_core::*;
use haft_core::{Entry, Fact, Outcome, Part};
use haft_core::{Mode, RemainingWork, Seq, Summarizer, Usage};
use std::sync::Arc;

fn prompted() -> Fact {
    Fact::Prompted { parts: vec![Part::text("go")], channel: None }
}

fn ended(outcome: Outcome) -> Fact {
    Fact::TurnEnded { outcome, rounds: 1, usage: Usage::default(), cost_usd: None }
}

fn compacted() -> Fact {
    let (summary, by, usage) = (String::new(), Summarizer::Digest, Usage::default());
    Fact::Compacted { summary, kept: 0, pinned_bytes: 0, by, before: 0, after: 0, usage }
}

fn last(facts: Vec<Fact>) -> LastTurn {
    let entry =
        |(seq, fact)| Arc::new(Entry { seq: Seq(seq as u64), parent: None, at: 0, fact, chain: None });
    LastTurn::of(&facts.into_iter().enumerate().map(entry).collect::<Vec<_>>())
}

#[test]
fn a_session_goes_on_with_what_its_last_turn_left() {
    let mode = || Fact::ModeSet { mode: Mode::Ask };
    let reached = || Fact::RoundsReached { limit: 7, left: RemainingWork::default(), reason: None };
    let interrupted = || vec![prompted(), Fact::Interrupted, ended(Outcome::Interrupted)];
    let finished = || vec![prompted(), ended(Outcome::Finished)];
    let with = |mut facts: Vec<Fact>, more: Vec<Fact>| {
        facts.extend(more);
        facts
    };
    let (stopped, done) = (LastTurn::Ended(Outcome::Interrupted), LastTurn::Ended(Outcome::Finished));
    let failed = LastTurn::Ended(Outcome::Failed);
    // What happened, how the turn stands, whether it can go on, and whether it does when the session is resumed.
    let table = [
        ("nothing was said", vec![], LastTurn::None, false, false),
        ("a mode alone", vec![mode()], LastTurn::None, false, false),
        ("killed at once", vec![prompted()], LastTurn::CutOff, true, true),
        ("killed, after a mode", vec![prompted(), mode()], LastTurn::CutOff, true, true),
        ("killed in a summary of its own", vec![prompted(), compacted()], LastTurn::CutOff, true, true),
        ("finished", finished(), done, false, false),
        ("finished, then a mode", with(finished(), vec![mode()]), done, false, false),
        ("finished, killed in a summary", with(finished(), vec![compacted()]), done, false, false),
        (
            "finished, then a summary",
            with(finished(), vec![compacted(), ended(Outcome::Finished)]),
            done,
            false,
            false,
        ),
        ("a summary of nothing", vec![ended(Outcome::Finished)], LastTurn::None, false, false),
        ("interrupted", interrupted(), stopped, true, false),
        ("interrupted, then a mode", with(interrupted(), vec![mode()]), stopped, true, false),
        (
            "interrupted, then a summary",
            with(interrupted(), vec![compacted(), ended(Outcome::Finished)]),
            stopped,
            true,
            false,
        ),
        ("interrupted, killed before its end", vec![prompted(), Fact::Interrupted], stopped, true, false),
        ("failed, then a mode", vec![prompted(), ended(Outcome::Failed), mode()], failed, true, true),
        (
            "out of rounds",
            vec![prompted(), reached(), ended(Outcome::RoundLimit)],
            LastTurn::OutOfRounds(7),
            true,
            true,
        ),
        (
            "out of rounds without a question",
            vec![prompted(), ended(Outcome::RoundLimit)],
            LastTurn::Ended(Outcome::RoundLimit),
            true,
            false,
        ),
        ("gone on with", with(interrupted(), vec![Fact::Continued]), LastTurn::CutOff, true, true),
        ("finished at last", with(interrupted(), finished()), done, false, false),
    ];
    for (what, facts, expected, can_go_on, goes_on) in table {
        let last = last(facts);
        assert_eq!(
            (last, last.can_go_on(), last.goes_on_when_resumed()),
            (expected, can_go_on, goes_on),
            "{what}"
        );
    }
}
