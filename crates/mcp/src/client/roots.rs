//! [`Roots`]: the folders that a server is told of, and when it was told.
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout_at},
};

/// How soon after the greeting a server asks for roots, if it does.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(300);
/// How long a server may take to use the answer.
const UPDATE_TIMEOUT: Duration = Duration::from_millis(100);

/// The folders that a server is told of, and when that was. All clones are one.
#[derive(Clone)]
pub(crate) struct Roots {
    folders: Arc<[PathBuf]>,
    told: Arc<watch::Sender<Option<Instant>>>,
}

impl Roots {
    pub(crate) fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders: folders.into(), told: Arc::new(watch::channel(None).0) }
    }

    /// The folders, for a server that asks now.
    pub(crate) fn tell(&self) -> &[PathBuf] {
        self.told.send_replace(Some(Instant::now()));
        &self.folders
    }

    /// Waits until the server, which was `greeted` then, knows the folders, or did not ask for them in time. No answer says
    /// that a server has heeded what it was told, and a call that comes before would be refused.
    pub(crate) async fn settled(&self, greeted: Instant) {
        let mut told = self.told.subscribe();
        let told = timeout_at(greeted + REQUEST_TIMEOUT, told.wait_for(Option::is_some)).await;
        let told = told.ok().and_then(Result::ok).and_then(|told| *told);
        if let Some(told) = told {
            sleep_until(told + UPDATE_TIMEOUT).await;
        }
    }
}
