//! The workspace, as servers ask for it.
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout_at},
};

/// A server that wants to know the workspace asks for it so soon after the greeting.
const ASKS: Duration = Duration::from_millis(300);
/// So long a server may take to heed the answer.
const HEEDS: Duration = Duration::from_millis(100);

/// When a server was told the workspace. All clones are one.
#[derive(Clone)]
pub(crate) struct Roots(Arc<watch::Sender<Option<Instant>>>);

impl Roots {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::channel(None).0))
    }

    pub(crate) fn told(&self) {
        self.0.send_replace(Some(Instant::now()));
    }

    /// Waits until the server, which was `greeted` then, knows the workspace, or did not ask for it in time. No answer says that a server has heeded
    /// what it was told, and a call that comes before would be refused.
    pub(crate) async fn settled(&self, greeted: Instant) {
        let mut told = self.0.subscribe();
        let told = timeout_at(greeted + ASKS, told.wait_for(Option::is_some)).await;
        let told = told.ok().and_then(Result::ok).and_then(|told| *told);
        if let Some(told) = told {
            sleep_until(told + HEEDS).await;
        }
    }
}
