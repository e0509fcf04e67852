//! Texts and streams made by chance, for as long as is said: `cargo run --release -p haft-providers --example fuzz --
//! SECONDS [SEED]`. Looks for panics, for what depends on where a stream is cut, for words that get lost, and for texts
//! that take more than their share of time. Fails at what it finds, with the seed and the shortest text.
#![expect(clippy::print_stdout, reason = "it is a program that prints")]
mod clock;
mod slow;
mod streams;
#[path = "../../tests/texts/mod.rs"]
mod texts;

use fastrand::Rng;
use haft_providers::{
    WIRES, Wire,
    dialects::{DIALECTS, Dialect, Setting},
};
use std::{
    collections::BTreeMap,
    env,
    panic::{AssertUnwindSafe, catch_unwind, set_hook},
    process::ExitCode,
    time::{Duration, Instant},
};

/// So many faults of a kind are shown.
const SHOWN: usize = 3;

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1).map(|argument| argument.parse::<u64>());
    let (Some(Ok(seconds)), Ok(seed)) =
        (arguments.next(), arguments.next().unwrap_or(Ok(Rng::new().u64(..))))
    else {
        println!("usage: fuzz SECONDS [SEED]");
        return ExitCode::FAILURE;
    };
    println!("seed {seed}");
    set_hook(Box::new(|_| ()));
    let mut found = Found::default();
    let mut random = Rng::with_seed(seed);
    let (start, time) = (Instant::now(), Duration::from_secs(seconds));
    let mut count = 0_u64;
    while start.elapsed() < time {
        for dialect in DIALECTS {
            try_text(dialect, random.u64(..), &mut found);
        }
        for wire in WIRES {
            try_stream(*wire, random.u64(..), &mut found);
        }
        count += (DIALECTS.len() + WIRES.len()) as u64;
    }
    let faults: usize = found.0.values().sum();
    println!("{count} texts, {:.0} a second, {faults} faults", count as f64 / start.elapsed().as_secs_f64());
    ExitCode::from(u8::from(faults > 0))
}

/// How many faults there were of each kind.
#[derive(Default)]
struct Found(BTreeMap<String, usize>);

impl Found {
    fn add(&mut self, kind: &str, seed: u64, setting: &str, text: &dyn Fn() -> String, why: &str) {
        let count = self.0.entry(kind.to_owned()).or_default();
        *count += 1;
        if *count <= SHOWN {
            println!("{kind}, seed {seed}: {why}\n    {setting}\n    shortest: {}", text());
        }
    }
}

fn try_text(dialect: &'static Dialect, seed: u64, found: &mut Found) {
    let mut random = Rng::with_seed(seed);
    let setting = texts::setting(&mut random);
    let shown = format!("{setting:?}");
    let text = texts::text(dialect, &mut random);
    if let Some(why) = fault(dialect, &setting, &text, seed) {
        let shortest = || {
            let text = shortest(&text, &mut |text| fault(dialect, &setting, text, seed).is_some());
            format!("{text:?}, {}", fault(dialect, &setting, &text, seed).unwrap_or_default())
        };
        found.add(dialect.name, seed, &shown, &shortest, &why);
    }
    if let Some((text, why)) = texts::lost(dialect, &setting, &mut random) {
        found.add(&format!("{}, lost words", dialect.name), seed, &shown, &|| format!("{text:?}"), &why);
    }
    if seed.is_multiple_of(64)
        && let Some(why) = slow::why(dialect, &setting, &text)
    {
        let shortest = || {
            let slow = |text: &str| slow::why(dialect, &setting, text).is_some();
            format!("{:?}", shortest(&text, &mut |text| slow(text)))
        };
        found.add(&format!("{}, time", dialect.name), seed, &shown, &shortest, &why);
    }
}

/// A panic is a fault like any other.
fn fault(dialect: &Dialect, setting: &Setting, text: &str, seed: u64) -> Option<String> {
    let mut random = Rng::with_seed(seed);
    let tried = catch_unwind(AssertUnwindSafe(|| texts::fault(dialect, setting, text, &mut random)));
    tried.unwrap_or_else(|_| Some("it panics".into()))
}

fn try_stream(wire: Wire, seed: u64, found: &mut Found) {
    let mut random = Rng::with_seed(seed);
    let bytes = streams::bytes(wire, &mut random);
    let tried = catch_unwind(|| streams::fault(wire, &bytes, &mut Rng::with_seed(seed)));
    if let Some(why) = tried.unwrap_or_else(|_| Some("it panics".into())) {
        let shown = || format!("{:?}", String::from_utf8_lossy(&bytes));
        found.add(wire.name(), seed, "", &shown, &why);
    }
}

/// The shortest text that still is at fault: a piece is left out as long as that does not mend it.
fn shortest(text: &str, is_at_fault: &mut dyn FnMut(&str) -> bool) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let mut length = letters.len().div_ceil(2);
    while length > 0 {
        let mut at = 0;
        while at < letters.len() {
            let mut fewer = letters.clone();
            fewer.drain(at..(at + length).min(letters.len()));
            match is_at_fault(&fewer.iter().collect::<String>()) {
                true => letters = fewer,
                false => at += length,
            }
        }
        length /= 2;
    }
    letters.into_iter().collect()
}
