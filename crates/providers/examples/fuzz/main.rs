//! Random streams of bytes for every wire: `cargo run --release -p haft-providers --example fuzz -- SECONDS [SEED]`. Looks
//! for panics, and for what depends on where a stream is cut. Fails at what it finds, with the seed and the stream.
mod streams;

use fastrand::Rng;
use haft_providers::{WIRES, Wire};
use haft_testing::fuzz::{self, Faults};
use std::{panic::catch_unwind, process::ExitCode};

fn main() -> ExitCode {
    fuzz::run(|random, faults| {
        for wire in WIRES {
            try_stream(*wire, random.u64(..), faults);
        }
        WIRES.len()
    })
}

fn try_stream(wire: Wire, seed: u64, faults: &mut Faults) {
    let mut random = Rng::with_seed(seed);
    let bytes = streams::bytes(wire, &mut random);
    let tried = catch_unwind(|| streams::fault(wire, &bytes, &mut Rng::with_seed(seed)));
    if let Some(why) = tried.unwrap_or_else(|_| Some("it panics".into())) {
        let shown = || format!("{:?}", String::from_utf8_lossy(&bytes));
        faults.add(wire.name(), seed, "", &shown, &why);
    }
}
