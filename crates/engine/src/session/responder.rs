//! [`Responder`]: the program's answers in place of a person. [`Approval`]: what a call asks.
use super::{Session, tool_call_for};
use haft_core::{Answer, BulkFolder, CallId, Change, Command, Effect, Event, Fact, Question, ToolCall};
use std::sync::Arc;

/// What a call wants to do, to be allowed or refused.
#[derive(Clone, Debug)]
pub struct Approval {
    /// The call as it runs; `None` if only its session has it.
    pub call: Option<ToolCall>,
    /// Names the call in [`Command::Answer`].
    pub id: CallId,
    /// Why it is asked.
    pub reason: String,
    /// What an answer holds for.
    pub effects: Vec<Effect>,
    /// What the call would do to files; it has run in a private view already.
    pub changes: Vec<Change>,
    /// What it would also change below folders that Git ignores; an undo does not take that back.
    pub bulk: Vec<BulkFolder>,
}

impl Approval {
    /// Returns what `event` asks in `session`, where it asks for an approval.
    fn of(session: &Session, event: &Event) -> Option<Self> {
        let Event::Recorded(entry) = event else { return None };
        let Fact::ApprovalAsked { call: id, reason, effects, changes, bulk, runs, .. } = &entry.fact else {
            return None;
        };
        let call = runs.as_deref().cloned().or_else(|| tool_call_for(session, id));
        let (id, reason) = (id.clone(), reason.clone());
        Some(Self {
            call,
            id,
            reason,
            effects: effects.clone(),
            changes: changes.clone(),
            bulk: bulk.clone(),
        })
    }
}

type Approve = dyn Fn(&Approval) -> Answer + Send + Sync;
type Reply = dyn Fn(&Question) -> Option<String> + Send + Sync;

/// Answers what calls ask, in place of a person. See [`Session::answered_by`].
#[derive(Clone, Default)]
pub struct Responder {
    /// Answers calls that need an approval.
    pub approve: Option<Arc<Approve>>,
    /// Answers the questions of calls; `None` if there is no answer.
    pub reply: Option<Arc<Reply>>,
}

impl Responder {
    /// The answer to what `event` asks, if there is one; with `refuse_unanswered`, a refusal in place of none.
    pub(crate) fn answer(
        &self,
        session: &Session,
        event: &Event,
        refuse_unanswered: bool,
    ) -> Option<Command> {
        if let Some(approval) = Approval::of(session, event) {
            let own = self.approve.as_ref().map(|approve| approve(&approval));
            let answer = own.or(refuse_unanswered.then_some(Answer::Unanswered))?;
            return Some(Command::answer(approval.id, answer));
        }
        let Event::Recorded(entry) = event else { return None };
        let Fact::QuestionAsked { call, question } = &entry.fact else { return None };
        let answer = match &self.reply {
            Some(reply) => reply(question),
            None if refuse_unanswered => None,
            None => return None,
        };
        Some(Command::reply(call.clone(), answer))
    }
}
