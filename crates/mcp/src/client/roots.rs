//! [`Roots`]: the folders for a server, and when the server requested them.
use rmcp::{Peer, RoleClient, model::PingRequest};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    sync::{OnceCell, watch},
    time::{Instant, sleep_until, timeout},
};

/// How soon after the handshake a server requests its roots, if it does. A slower server gets more time.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(300);
/// How long a server may take to use the roots. A slower server gets more time.
const UPDATE_TIMEOUT: Duration = Duration::from_millis(100);
/// Number of `ping`s that the server must answer meanwhile: each is another round of its loop, however busy the machine
/// is.
const ANSWERS: usize = 20;
/// Maximum time in total.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(3);

/// The folders for a server, and when it requested them. Clones share the same state.
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

    /// The folders, for a server that requests them now.
    pub(crate) fn tell(&self) -> &[PathBuf] {
        self.told.send_replace(Some(Instant::now()));
        &self.folders
    }

    /// Waits until the server, whose handshake was at `greeted`, knows the folders, or did not request them in time. No
    /// response tells whether a server uses the folders already, and an earlier call would be refused. So the server
    /// gets a time that is sufficient on an idle machine, and the time for some answers to `ping`, which are later on a
    /// busy one.
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
        // A slower server is called anyway.
        self.settled.get_or_init(|| async { timeout(TOTAL_TIMEOUT, settle).await.unwrap_or_default() }).await;
    }
}

async fn answers(server: &Peer<RoleClient>) {
    for _ in 0..ANSWERS {
        // A refusal is an answer, too.
        let _answer = server.send_request(PingRequest::default().into()).await;
    }
}
