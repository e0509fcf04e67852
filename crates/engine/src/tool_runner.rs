//! Runs the calls of a reply: neighbours that only read together, all others one by one.
use crate::{
    JournalError,
    call::{Prepared, Round, prepare, run_call},
    session::Log,
    turn::Means,
};
use futures::{StreamExt, stream};
use haft_core::{Effect, Fact, ToolCall, ToolError, ToolErrorKind, Update};
use std::iter::Peekable;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// More calls than this in one reply are answered, not run.
const MAX_CALLS: usize = 256;
/// Readers that run at the same time.
const MAX_PARALLEL: usize = 16;
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

/// Ends with a result for each call, also when cancelled.
pub(crate) async fn run_tools(
    log: &mut Log,
    means: &Means,
    calls: Vec<ToolCall>,
    cancel: &CancellationToken,
) -> Result<(), JournalError> {
    let round = Round { repeats: log.transcript.repeats(), channel: log.transcript.channel().cloned() };
    let round = &round;
    let place = |(place, call)| if place < MAX_CALLS { prepare(means, call) } else { too_many(call) };
    // Looked at as late as can be: what one call does to files may change where the next one leads.
    let mut prepared = calls.into_iter().enumerate().map(place).peekable();
    while let Some(batch) = next_batch(&mut prepared) {
        let (sender, noted) = mpsc::channel(MAX_NOTES);
        let notes = Notes(sender);
        let running = async move {
            let runs = batch.into_iter().map(|call| run_call(means, call, round, cancel, notes.clone()));
            stream::iter(runs).buffer_unordered(MAX_PARALLEL).collect::<()>().await;
        };
        let listening = listen(log, noted);
        // When the journal fails, the calls are dropped where they stand: nothing goes on unrecorded.
        tokio::pin!(running);
        tokio::pin!(listening);
        tokio::select! {
            biased;
            listened = &mut listening => listened?,
            () = &mut running => listening.await?,
        }
    }
    Ok(())
}

async fn listen(log: &mut Log, mut noted: mpsc::Receiver<Note>) -> Result<(), JournalError> {
    while let Some(note) = noted.recv().await {
        match note {
            Note::Live(update) => log.journal.live(update),
            Note::Fact { fact, durable, recorded } => {
                log.record(*fact)?;
                if durable {
                    log.journal.sync()?;
                }
                let _call_is_gone = recorded.send(());
            }
        }
    }
    Ok(())
}

fn too_many(call: ToolCall) -> Prepared {
    let error = ToolError::new(
        ToolErrorKind::Validation,
        format!("not run: more than {MAX_CALLS} calls in one reply"),
    );
    Prepared { call, ready: Err(error.hint("make fewer calls at a time")) }
}

/// In the model's order. Neighbouring calls that only read share a batch; any other call has one of its own.
fn next_batch(calls: &mut Peekable<impl Iterator<Item = Prepared>>) -> Option<Vec<Prepared>> {
    let mut batch = vec![calls.next()?];
    while only_reads(&batch[0]) && calls.peek().is_some_and(only_reads) {
        batch.extend(calls.next());
    }
    Some(batch)
}

fn only_reads(call: &Prepared) -> bool {
    let reads = |effects: &[Effect]| {
        !effects.is_empty() && effects.iter().all(|effect| matches!(effect, Effect::Read(_)))
    };
    call.ready.as_ref().is_ok_and(|ready| reads(&ready.effects))
}
