//! [`Recorder`]: sends facts and updates of running calls to the journal, in the order in which they happened.
use haft_core::{Fact, Update};
use tokio::sync::{mpsc, oneshot};

/// Maximum number of messages that wait for the journal. Live output beyond it is dropped.
const MAX_WAITING_FACTS: usize = 256;

/// A message of a running call. One channel carries all of them, so that they are recorded and shown in order.
pub enum Recording {
    /// A fact to record. It is in the journal, and synced to disk if `durable`, before `recorded` is answered.
    Fact {
        /// What happened.
        fact: Box<Fact>,
        /// Whether it must survive a power cut.
        durable: bool,
        /// Signaled once the fact is recorded.
        recorded: oneshot::Sender<()>,
    },
    /// An update that is shown and not recorded.
    Live(Update),
}

/// Sends facts and updates of running calls to the journal of their session.
#[derive(Clone)]
pub struct Recorder(Option<mpsc::Sender<Recording>>);

/// A [`Recorder`] that does not keep its round open.
#[derive(Clone)]
pub struct WeakRecorder(Option<mpsc::WeakSender<Recording>>);

impl WeakRecorder {
    /// Returns `None` once the round has ended.
    pub fn upgrade(&self) -> Option<Recorder> {
        match &self.0 {
            Some(sender) => sender.upgrade().map(|sender| Recorder(Some(sender))),
            None => Some(Recorder(None)),
        }
    }
}

/// The error if the journal could not be written. Nothing more may happen then.
#[derive(Debug)]
pub struct Unrecorded;

impl Recorder {
    /// Creates a recorder for the calls of a round, and the receiver for the session.
    pub fn channel() -> (Self, mpsc::Receiver<Recording>) {
        let (sender, recordings) = mpsc::channel(MAX_WAITING_FACTS);
        (Self(Some(sender)), recordings)
    }

    /// Creates a recorder without a journal, which accepts everything and keeps nothing.
    pub fn none() -> Self {
        Self(None)
    }

    /// Returns a weak recorder, which does not keep the round open.
    pub fn downgrade(&self) -> WeakRecorder {
        WeakRecorder(self.0.as_ref().map(mpsc::Sender::downgrade))
    }

    /// Records a fact. It is in the journal when this returns.
    ///
    /// # Errors
    /// Fails if the journal cannot be written.
    pub async fn record(&self, fact: Fact) -> Result<(), Unrecorded> {
        self.write(fact, false).await
    }

    /// Records a fact. It is synced to disk when this returns.
    ///
    /// # Errors
    /// Fails if the journal cannot be written.
    pub async fn record_durably(&self, fact: Fact) -> Result<(), Unrecorded> {
        self.write(fact, true).await
    }

    /// Records a fact as soon as possible, without waiting for it. Drops it if the round has ended.
    pub fn record_later(&self, fact: Fact) {
        let (recorded, _not_awaited) = oneshot::channel();
        if let Some(sender) = &self.0 {
            let recording = Recording::Fact { fact: Box::new(fact), durable: false, recorded };
            let _round_is_over = sender.try_send(recording);
        }
    }

    /// Shows an update. Drops it if too many messages wait.
    pub fn live(&self, update: Update) {
        if let Some(sender) = &self.0 {
            let _too_much_waits = sender.try_send(Recording::Live(update));
        }
    }

    async fn write(&self, fact: Fact, durable: bool) -> Result<(), Unrecorded> {
        let Some(sender) = &self.0 else { return Ok(()) };
        let (recorded, heard) = oneshot::channel();
        let recording = Recording::Fact { fact: Box::new(fact), durable, recorded };
        sender.send(recording).await.map_err(|_| Unrecorded)?;
        heard.await.map_err(|_| Unrecorded)
    }
}
