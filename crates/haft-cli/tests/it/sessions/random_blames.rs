//! Every line that a call of a random session wrote is that call's, also after one of the calls was undone.
#![expect(clippy::print_stderr, reason = "figures are for the person who runs the tests")]
use super::random_undos::{NAMES, Turn, run};
use crate::kit::Place;
use fastrand::Rng;
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};

/// Who wrote a line, as far as its text tells.
#[derive(Debug, PartialEq)]
enum Writer {
    /// It was there at the beginning.
    Beginning,
    Person,
    /// The call that has this number in its arguments.
    CallWith(String),
    /// Some call.
    Call,
}

/// Those of `line 7 of 1`, `line 7 edit 123 of 1`, `line 7 by sed 123`, `line 7 by hand 123 of 1`, and `123`.
fn writer(line: &str) -> Writer {
    match line.split(' ').skip_while(|word| *word == "line").skip(1).collect::<Vec<_>>()[..] {
        ["of", "1"] => Writer::Beginning,
        ["by", "hand", ..] => Writer::Person,
        ["of", number] | ["edit", number, ..] | ["by", "sed", number] => Writer::CallWith(number.to_owned()),
        _ => Writer::Call,
    }
}

/// Whether a call may have copied a line that another one wrote.
fn copies(call: &Value) -> bool {
    let command = call["arguments"]["command"].as_str().unwrap_or_default();
    command.starts_with("cp ") || command.starts_with("mv ")
}

/// Returns the number of lines that a call wrote.
fn check(seed: u64, place: &Place, calls: &[&Value]) -> u64 {
    let mut written = 0;
    for file in NAMES.iter().filter(|name| place.work().join(name).is_file()) {
        let ran = place.run(&["blame", "--json", file]);
        assert_eq!(ran.code, 0, "seed {seed}: {ran:?}");
        for line in ran.events() {
            let told = || format!("seed {seed}, {file}: {line}");
            let call = line["call"].as_u64().map(|number| calls[usize::try_from(number).unwrap() - 1]);
            written += u64::from(call.is_some());
            match (writer(line["text"].as_str().unwrap()), call) {
                (_, Some(call)) if copies(call) => {}
                (Writer::Beginning, _) => assert_eq!(line["origin"], "before", "{}", told()),
                // `before` in a file that no call had changed yet.
                (Writer::Person, _) => assert!(call.is_none() && line["origin"] != "undo", "{}", told()),
                (Writer::CallWith(number), Some(call)) => {
                    assert!(call.to_string().contains(&number), "{}: {call}", told());
                }
                (Writer::Call, Some(_)) => {}
                (Writer::CallWith(_) | Writer::Call, None) => panic!("{}", told()),
            }
        }
    }
    written
}

#[test]
fn every_line_that_a_call_wrote_is_its_own() {
    let (next, lines) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= haft_testing::tries(10) {
                break;
            }
            let mut random = Rng::with_seed(seed);
            let turns: Vec<Turn> = (0..random.usize(1..4)).map(|_| Turn::new(&mut random)).collect();
            let (place, id, turns) = run(seed, &turns, &[]);
            let calls: Vec<&Value> = turns.iter().flat_map(|turn| turn.rounds.iter().flatten()).collect();
            lines.fetch_add(check(seed, &place, &calls), Ordering::Relaxed);
            let number = random.usize(1..=calls.len()).to_string();
            if place.run(&["undo", &id, "--call", &number]).code == 0 {
                lines.fetch_add(check(seed, &place, &calls), Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    let lines = lines.into_inner();
    assert!(lines > 20, "{lines} lines");
    eprintln!("{lines} lines that calls wrote: all are named");
}
