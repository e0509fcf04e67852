//! How long it takes to record and settle one file, and many: `cargo run --release -p haft-stage --example speed`.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that prints for the person who runs it"
)]
use haft_core::{Change, Effect, Stage};
use haft_stage::LocalStage;
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

fn main() {
    for (files, rounds) in [(1, 40), (2, 20), (3, 20), (5, 20), (10, 10), (100, 3), (1_000, 1)] {
        let mut times: Vec<[Duration; 4]> = (0..rounds).map(|_| once(files)).collect();
        times.sort();
        let [record, write, replace, remove] =
            times[times.len() / 2].map(|time| time.as_secs_f64() * 1_000.0);
        println!(
            "{files:>5} files: record {record:>8.2} ms, create {write:>8.2} ms, replace {replace:>8.2} ms, remove {remove:>8.2} ms"
        );
    }
}

/// Medians are of the first; the others go with it.
fn once(files: usize) -> [Duration; 4] {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().canonicalize().unwrap().join("w");
    fs::create_dir(&workspace).unwrap();
    let stage = LocalStage::new(folder.path().join("blobs"));
    let paths: Vec<String> = (0..files).map(|number| format!("{}/{number}.txt", number % 10)).collect();
    let effects: Vec<Effect> = paths.iter().map(|path| Effect::Write(workspace.join(path))).collect();
    let view = stage.open(&workspace, &effects).unwrap();
    for path in &paths {
        fs::write(view.locate(Path::new(path)), path.repeat(500)).unwrap();
    }
    let (changes, record) = timed(|| view.changes().unwrap());
    let settle =
        |changes: &[Change]| timed(|| assert!(stage.settle(&workspace, changes).unwrap().is_empty())).1;
    let write = settle(&changes);
    let view = stage.open(&workspace, &effects).unwrap();
    for path in &paths {
        fs::write(view.locate(Path::new(path)), path.repeat(600)).unwrap();
    }
    let replaced = view.changes().unwrap();
    let replace = settle(&replaced);
    let gone: Vec<Change> =
        replaced.iter().map(|change| Change { after: None, ..change.inverse() }).collect();
    [record, write, replace, settle(&gone)]
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed())
}
