//! Whether a text takes more than its share of time.
use haft_dialects::{Dialect, Setting};
use haft_testing::clock;
use std::time::Duration;

/// As long as this is the text that is measured; the longer one is twice that.
const LENGTH: usize = 40_000;
/// Twice the text may take this much longer: what is only linear takes twice as long, what is quadratic four times.
const MOST: f64 = 3.5;
/// What is read in less is not measured well.
const LEAST: Duration = Duration::from_millis(2);
/// Others may use the machine as well.
const ATTEMPTS: usize = 6;

/// Why it does; the text is repeated until it is long.
pub(crate) fn why(dialect: &Dialect, setting: &Setting, text: &str) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    let once = text.repeat(LENGTH.div_ceil(text.len()));
    let twice = once.repeat(2);
    [40, usize::MAX].into_iter().find_map(|piece| {
        let (mut short, mut long) = (Duration::MAX, Duration::MAX);
        for _ in 0..ATTEMPTS {
            short = short.min(time(dialect, setting, &once, piece));
            long = long.min(time(dialect, setting, &twice, piece));
            if long < LEAST || long.as_secs_f64() <= MOST * short.as_secs_f64() {
                return None;
            }
        }
        Some(format!("{short:?} for {} bytes, {long:?} for twice as many, in pieces of {piece}", once.len()))
    })
}

fn time(dialect: &Dialect, setting: &Setting, text: &str, piece: usize) -> Duration {
    let start = clock::now();
    let mut reader = dialect.listen(setting);
    let mut said = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let end = text.floor_char_boundary(at.saturating_add(piece));
        reader.push(&text[at..end], &mut said);
        said.clear();
        at = end;
    }
    reader.end(&mut said);
    clock::since(start)
}
