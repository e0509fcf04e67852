//! A file that somebody makes to stop work: the signal of those who share only a folder with it.
use std::{path::Path, time::Duration};

/// How soon a file is noticed.
const LOOK: Duration = Duration::from_millis(500);

/// Waits until `file` exists and removes it; waits forever where there is none to look for.
pub async fn appears(file: Option<&Path>) {
    let Some(file) = file else { return std::future::pending().await };
    while std::fs::remove_file(file).is_err() {
        tokio::time::sleep(LOOK).await;
    }
}
