//! Random texts for every dialect: `cargo run --release -p haft-dialects --example fuzz -- SECONDS [SEED]`. Looks for
//! panics, for what depends on where a text is cut, for words that get lost, and for texts that take more than their share
//! of time. Fails at what it finds, with the seed and the shortest text.
mod slow;
#[path = "../../tests/it/texts/mod.rs"]
mod texts;

use fastrand::Rng;
use haft_dialects::{DIALECTS, Dialect, Setting};
use haft_testing::fuzz::{self, Faults, shortest};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
};

fn main() -> ExitCode {
    fuzz::run(|random, faults| {
        for dialect in DIALECTS {
            try_text(dialect, random.u64(..), faults);
        }
        DIALECTS.len()
    })
}

fn try_text(dialect: &'static Dialect, seed: u64, faults: &mut Faults) {
    let mut random = Rng::with_seed(seed);
    let setting = texts::setting(&mut random);
    let shown = format!("{setting:?}");
    let text = texts::text(dialect, &mut random);
    if let Some(why) = fault(dialect, &setting, &text, seed) {
        let shortest = || {
            let text = shortest(&text, &mut |text| fault(dialect, &setting, text, seed).is_some());
            format!("{text:?}, {}", fault(dialect, &setting, &text, seed).unwrap_or_default())
        };
        faults.add(dialect.name, seed, &shown, &shortest, &why);
    }
    if let Some((text, why)) = texts::lost(dialect, &setting, &mut random) {
        faults.add(&format!("{}, lost words", dialect.name), seed, &shown, &|| format!("{text:?}"), &why);
    }
    if seed.is_multiple_of(64)
        && let Some(why) = slow::why(dialect, &setting, &text)
    {
        let shortest = || {
            let slow = |text: &str| slow::why(dialect, &setting, text).is_some();
            format!("{:?}", shortest(&text, &mut |text| slow(text)))
        };
        faults.add(&format!("{}, time", dialect.name), seed, &shown, &shortest, &why);
    }
}

/// A panic is a fault like any other.
fn fault(dialect: &Dialect, setting: &Setting, text: &str, seed: u64) -> Option<String> {
    let mut random = Rng::with_seed(seed);
    let tried = catch_unwind(AssertUnwindSafe(|| texts::fault(dialect, setting, text, &mut random)));
    tried.unwrap_or_else(|_| Some("it panics".into()))
}
