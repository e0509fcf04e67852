//! [`Roots`]: answers servers that ask for the workspace.
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout_at},
};

/// How soon after the greeting a server asks for the workspace, if it does.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(300);
/// How long a server may take to use the answer.
const UPDATE_TIMEOUT: Duration = Duration::from_millis(100);

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
        let told = timeout_at(greeted + REQUEST_TIMEOUT, told.wait_for(Option::is_some)).await;
        let told = told.ok().and_then(Result::ok).and_then(|told| *told);
        if let Some(told) = told {
            sleep_until(told + UPDATE_TIMEOUT).await;
        }
    }
}
