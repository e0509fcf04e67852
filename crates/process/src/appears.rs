//! [`appears`]: waits for a file whose appearance asks the process to stop, for callers that share only a folder with
//! it.
use std::{path::Path, time::Duration};

/// How often the folder is checked for the file.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Waits until `file` exists and removes it. Without a `file` it waits forever.
pub async fn appears(file: Option<&Path>) {
    let Some(file) = file else { return std::future::pending().await };
    while std::fs::remove_file(file).is_err() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
