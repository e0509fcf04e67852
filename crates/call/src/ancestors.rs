//! [`Ancestors`]: the calls that delegated to a session. The session's file changes are recorded in the journals of
//! these calls before they are settled: an undo there reverts them, and after a crash they are not repeated.
use crate::recorder::{Recorder, Unrecorded, WeakRecorder};
use haft_core::{CallId, Change, Fact, SessionId, Tracking};
use std::{iter, path::PathBuf, sync::Arc};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// The calls that delegated to a session, and the lock that keeps sessions of one tree from settling at the same time.
#[derive(Clone)]
pub struct Ancestors {
    /// The call that delegated to the session.
    pub parent: Arc<ParentCall>,
    /// Locked by the session of the tree that settles.
    pub settling: Arc<Mutex<()>>,
}

/// A call that delegated, and those above it.
#[derive(Clone)]
pub struct ParentCall {
    /// The call.
    pub call: CallId,
    /// Recorder of the session that the call belongs to. Weak: a subagent of a call that has ended must not keep the
    /// call's round open.
    pub recorder: WeakRecorder,
    /// The call that delegated to the session of `call`.
    pub above: Option<Arc<ParentCall>>,
    /// Cancelled when the delegating call ends, even if its round continues.
    pub ended: CancellationToken,
}

/// The parent calls in whose journals a change was recorded. Their rounds do not end while this is held.
pub(crate) struct RecordedAbove(Vec<(CallId, Recorder)>);

impl RecordedAbove {
    /// Records that these files were left unchanged after all.
    pub(crate) async fn unsettled(&self, paths: &[PathBuf]) {
        for (call, recorder) in &self.0 {
            let fact = Fact::Unsettled { call: call.clone(), paths: paths.to_vec() };
            let _session_is_closing = recorder.record(fact).await;
        }
    }
}

impl ParentCall {
    /// Records the change in every parent journal and syncs them before returning.
    ///
    /// Fails if one of the calls has ended: then the change must not happen.
    pub(crate) async fn record(
        &self,
        session: &SessionId,
        changes: &[Change],
        unrecorded: &[PathBuf],
        how: Tracking,
    ) -> Result<RecordedAbove, Unrecorded> {
        let calls = iter::successors(Some(self), |parent| parent.above.as_deref());
        // All recorders are acquired before the first one records: either all journals get the change, or none.
        let held: Result<Vec<_>, _> = calls.map(Self::hold).collect();
        let above = RecordedAbove(held?);
        for (call, recorder) in &above.0 {
            let (call, session) = (call.clone(), session.clone());
            let (changes, unrecorded) = (changes.to_vec(), unrecorded.to_vec());
            let fact = Fact::SubagentChanged { call, session, changes, how, unrecorded };
            recorder.record_durably(fact).await?;
        }
        Ok(above)
    }

    fn hold(&self) -> Result<(CallId, Recorder), Unrecorded> {
        let recorder = self.recorder.upgrade().filter(|_| !self.ended.is_cancelled());
        recorder.map(|recorder| (self.call.clone(), recorder)).ok_or(Unrecorded)
    }
}
