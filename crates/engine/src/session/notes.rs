//! What running calls say, on its way to the journal.
use haft_core::{Fact, Update};
use tokio::sync::{mpsc, oneshot};

/// Notes on their way to the journal; live output beyond that is dropped.
const MAX_NOTES: usize = 256;

/// What running calls say. All of it goes through one channel, so it is recorded and seen in the order it happened.
pub(crate) enum Note {
    /// Recorded, and on disk if `durable`, when the receiver hears back.
    Fact {
        fact: Box<Fact>,
        durable: bool,
        recorded: oneshot::Sender<()>,
    },
    Live(Update),
}

#[derive(Clone)]
pub(crate) struct Notes(mpsc::Sender<Note>);

/// [`Notes`] that keep no round from ending.
#[derive(Clone)]
pub(crate) struct WeakNotes(mpsc::WeakSender<Note>);

impl WeakNotes {
    /// Nothing once the round has ended.
    pub(crate) fn upgrade(&self) -> Option<Notes> {
        self.0.upgrade().map(Notes)
    }
}

/// The journal could not be written: nothing may happen any more.
pub(crate) struct Unrecorded;

impl Notes {
    /// For the calls of one batch: their notes, and where these arrive.
    pub(crate) fn channel() -> (Self, mpsc::Receiver<Note>) {
        let (sender, notes) = mpsc::channel(MAX_NOTES);
        (Self(sender), notes)
    }

    pub(crate) fn downgrade(&self) -> WeakNotes {
        WeakNotes(self.0.downgrade())
    }

    /// On return the fact is in the journal.
    pub(crate) async fn record(&self, fact: Fact) -> Result<(), Unrecorded> {
        self.write(fact, false).await
    }

    /// On return the fact survives a power cut.
    pub(crate) async fn record_durably(&self, fact: Fact) -> Result<(), Unrecorded> {
        self.write(fact, true).await
    }

    /// Recorded as soon as may be, for whoever cannot wait.
    pub(crate) fn leave(&self, fact: Fact) {
        let (recorded, _nobody_waits) = oneshot::channel();
        let _its_round_is_over =
            self.0.try_send(Note::Fact { fact: Box::new(fact), durable: false, recorded });
    }

    pub(crate) fn live(&self, update: Update) {
        let _too_much_to_show = self.0.try_send(Note::Live(update));
    }

    async fn write(&self, fact: Fact, durable: bool) -> Result<(), Unrecorded> {
        let (recorded, heard) = oneshot::channel();
        let note = Note::Fact { fact: Box::new(fact), durable, recorded };
        self.0.send(note).await.map_err(|_| Unrecorded)?;
        heard.await.map_err(|_| Unrecorded)
    }
}
