//! [`sync_data`]: flushes the journal to disk without blocking other sessions.
use std::{fs::File, io, sync::Arc};
use tokio::runtime::{Handle, RuntimeFlavor};

/// Waits for the disk. Where many sessions share a runtime, the others go on meanwhile.
pub(super) async fn sync_data(file: Arc<File>) -> io::Result<()> {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::CurrentThread => file.sync_data(),
        _ => match tokio::task::spawn_blocking(move || file.sync_data()).await {
            // The runtime ends, and this task with it.
            Err(error) if error.is_cancelled() => std::future::pending().await,
            synced => synced?,
        },
    }
}
