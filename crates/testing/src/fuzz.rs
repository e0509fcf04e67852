//! [`run`]: runs trials with random input for the time in the command line, and prints the faults that they find.
use fastrand::Rng;
use std::{
    collections::BTreeMap,
    env,
    panic::set_hook,
    process::ExitCode,
    time::{Duration, Instant},
};

/// Maximum number of printed faults of one kind; the others are counted.
const SHOWN: usize = 3;

/// Number of faults that trials found, by kind.
#[derive(Default)]
pub struct Faults(BTreeMap<String, usize>);

impl Faults {
    /// Counts a fault of `kind`, and prints the first ones: the seed that reproduces it, `setting`, the input and the
    /// reason.
    #[expect(clippy::print_stdout, reason = "a fuzzer is a program that prints")]
    pub fn add(&mut self, kind: &str, seed: u64, setting: &str, input: &dyn Fn() -> String, why: &str) {
        let count = self.0.entry(kind.to_owned()).or_default();
        *count += 1;
        if *count <= SHOWN {
            println!("{kind}, seed {seed}: {why}\n    {setting}\n    shortest: {}", input());
        }
    }
}

/// The `main` of a fuzzer, with the arguments `SECONDS [SEED]`: calls `round`, which runs some trials and returns their
/// number, until the time is up. Fails if a fault was found.
#[expect(clippy::print_stdout, reason = "a fuzzer is a program that prints")]
pub fn run(mut round: impl FnMut(&mut Rng, &mut Faults) -> usize) -> ExitCode {
    let mut arguments = env::args().skip(1).map(|argument| argument.parse::<u64>());
    let (Some(Ok(seconds)), Ok(seed)) =
        (arguments.next(), arguments.next().unwrap_or(Ok(Rng::new().u64(..))))
    else {
        println!("usage: fuzz SECONDS [SEED]");
        return ExitCode::FAILURE;
    };
    println!("seed {seed}");
    // A panic is a fault that the trial reports.
    set_hook(Box::new(|_| ()));
    let (mut faults, mut random, mut count) = (Faults::default(), Rng::with_seed(seed), 0);
    let (start, time) = (Instant::now(), Duration::from_secs(seconds));
    while start.elapsed() < time {
        count += round(&mut random, &mut faults);
    }
    let found: usize = faults.0.values().sum();
    println!("{count} trials, {:.0} a second, {found} faults", count as f64 / start.elapsed().as_secs_f64());
    ExitCode::from(u8::from(found > 0))
}

/// Returns a minimal version of `text` that still shows the fault: pieces are removed as long as the fault remains.
pub fn shortest(text: &str, is_at_fault: &mut dyn FnMut(&str) -> bool) -> String {
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
