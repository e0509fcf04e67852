//! The files of `deploy/`: they do what `docs/deploy.md` says, by programs that others wrote.
mod backups;
mod monitoring;
mod proxies;
mod units;

use std::{fs, path::Path, path::PathBuf};

/// A file of `deploy/`.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(file(name)).unwrap()
}
