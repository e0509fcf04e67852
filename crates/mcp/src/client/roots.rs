//! [`Roots`]: the folders that a server is told of, and when it was told.
use rmcp::{Peer, RoleClient, model::PingRequest};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    sync::{OnceCell, watch},
    time::{Instant, sleep_until, timeout},
};

/// How soon after the greeting a server asks for roots, if it does. A server that is slower to answer has longer.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(300);
/// How long a server may take to use the answer. A server that is slower to answer has longer.
const UPDATE_TIMEOUT: Duration = Duration::from_millis(100);
/// How many answers a server gives meanwhile: each is one more round of its loop, however busy the machine is.
const ANSWERS: usize = 20;
/// How long all of it may take at most.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(3);

/// The folders that a server is told of, and when that was. All clones are one.
#[derive(Clone)]
pub(crate) struct Roots {
    folders: Arc<[PathBuf]>,
    told: Arc<watch::Sender<Option<Instant>>>,
    settled: Arc<OnceCell<()>>,
}

impl Roots {
    pub(crate) fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders: folders.into(), told: Arc::new(watch::channel(None).0), settled: Arc::default() }
    }

    /// The folders, for a server that asks now.
    pub(crate) fn tell(&self) -> &[PathBuf] {
        self.told.send_replace(Some(Instant::now()));
        &self.folders
    }

    /// Waits until the server, which was `greeted` then, knows the folders, or did not ask for them in time. No answer says
    /// that a server has heeded what it was told, and a call that comes before would be refused: so the server has a time
    /// that is enough on an idle machine, and the time for some answers to `ping`, which are later on a busy one.
    pub(crate) async fn settled(&self, greeted: Instant, server: &Peer<RoleClient>) {
        let settle = async {
            let mut told = self.told.subscribe();
            let is_late = async { tokio::join!(sleep_until(greeted + REQUEST_TIMEOUT), answers(server)) };
            let told = tokio::select! {
                told = told.wait_for(Option::is_some) => told.ok().and_then(|told| *told),
                _ = is_late => None,
            };
            if let Some(told) = told {
                tokio::join!(sleep_until(told + UPDATE_TIMEOUT), answers(server));
            }
        };
        // A server that is slower than that is called anyway.
        self.settled.get_or_init(|| async { timeout(TOTAL_TIMEOUT, settle).await.unwrap_or_default() }).await;
    }
}

async fn answers(server: &Peer<RoleClient>) {
    for _ in 0..ANSWERS {
        // A refusal is an answer, too.
        let _answer = server.send_request(PingRequest::default().into()).await;
    }
}
