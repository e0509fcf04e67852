//! [`run_tools`]: runs the calls of a reply, and records what they report.
use crate::{
    journal::JournalError,
    session::context::{Log, SessionContext},
};
use haft_call::{Recorder, Recording, Round, run_calls};
use haft_core::{Fact, ToolCall};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Runs the calls of a reply. Records a result for each of them, also if cancelled.
pub(crate) async fn run_tools(
    log: &mut Log,
    session: &SessionContext,
    calls: Vec<ToolCall>,
    cancel: &CancellationToken,
) -> Result<(), JournalError> {
    let kit = session.toolbox.kit();
    let (repeats, channel) = (log.transcript.repeats(), log.transcript.channel().cloned());
    let message = place_of_reply(log);
    let parallel = session.shared.setup.profile.parallel;
    attended(log, async |recorder| {
        let (scope, tools) = (&session.calls, &kit.tools);
        run_calls(&Round { scope, tools, repeats, channel, message, parallel, recorder, cancel }, calls)
            .await;
    })
    .await
}

/// Runs `work`, and records its facts and updates. If the journal fails, `work` is dropped, so that nothing continues
/// unrecorded.
pub(super) async fn attended<T>(
    log: &mut Log,
    work: impl AsyncFnOnce(Recorder) -> T,
) -> Result<T, JournalError> {
    let (recorder, recordings) = Recorder::channel();
    let (working, listening) = (work(recorder), listen(log, recordings));
    tokio::pin!(working);
    tokio::pin!(listening);
    tokio::select! {
        biased;
        listened = &mut listening => {
            listened?;
            Ok(working.await)
        }
        done = &mut working => {
            listening.await?;
            Ok(done)
        }
    }
}

fn place_of_reply(log: &Log) -> String {
    let made = log.journal.last(|fact| {
        matches!(
            fact,
            Fact::Replied { .. }
                | Fact::Called { .. }
                | Fact::GoalChecked { .. }
                | Fact::AttemptsBegun { .. }
        )
    });
    made.map(|seq| seq.to_string()).unwrap_or_default()
}

async fn listen(log: &mut Log, mut recordings: mpsc::Receiver<Recording>) -> Result<(), JournalError> {
    while let Some(recording) = recordings.recv().await {
        match recording {
            Recording::Live(update) => log.journal.live(update),
            Recording::Fact { fact, durable, recorded } => {
                log.record(*fact)?;
                if durable {
                    log.journal.sync().await?;
                }
                let _call_is_gone = recorded.send(());
            }
        }
    }
    Ok(())
}
