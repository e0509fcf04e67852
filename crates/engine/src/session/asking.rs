//! A call's way to the person in its conversation.
use super::{
    inbox::Inbox,
    notes::{Unrecorded, WeakNotes},
};
use futures::future::BoxFuture;
use haft_core::{Answer, BulkFolder, CallId, Change, Effect, Fact, Person, Question, ToolCall};
use tokio::sync::oneshot;

/// Records what a call asks and what it is answered.
#[derive(Clone)]
pub(crate) struct Asking {
    pub(crate) call: CallId,
    pub(crate) inbox: Inbox,
    /// Whoever still asks for a call that has ended must not hold up its round.
    pub(crate) notes: WeakNotes,
}

/// A question that nobody needs an answer to any more, once this is dropped with what is to be told of that: whoever was
/// asked must not answer it in place of the next one.
struct Open<'a>(&'a Asking, Option<Fact>);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let (Some(notes), Some(fact)) = (self.0.notes.upgrade(), self.1.take()) {
            notes.leave(fact);
        }
    }
}

/// What a call wants to do, and why it asks.
pub(crate) struct Wish {
    pub(crate) reason: String,
    pub(crate) effects: Vec<Effect>,
    pub(crate) changes: Vec<Change>,
    /// See [`Fact::ApprovalAsked`].
    pub(crate) bulk: Vec<BulkFolder>,
    /// See [`Fact::ApprovalAsked`].
    pub(crate) runs: Option<Box<ToolCall>>,
}

impl Wish {
    /// As the journal has it.
    pub(crate) fn asked(self, call: CallId) -> Fact {
        let Self { reason, effects, changes, bulk, runs } = self;
        Fact::ApprovalAsked { call, reason, effects, changes, bulk, runs }
    }
}

impl Asking {
    async fn record(&self, fact: Fact) -> Result<(), Unrecorded> {
        self.notes.upgrade().ok_or(Unrecorded)?.record(fact).await
    }

    /// Asks until somebody answers or it is `settled` elsewhere; then nobody has answered, and who was asked sees it.
    pub(crate) async fn ask_unless(
        &self,
        question: Question,
        settled: impl Future<Output = ()>,
    ) -> Option<String> {
        let reply = self.inbox.wait_for_reply(&self.call);
        let asked = Fact::QuestionAsked { call: self.call.clone(), question };
        self.record(asked).await.ok()?;
        let mut open = Open(self, Some(Fact::QuestionAnswered { call: self.call.clone(), answer: None }));
        let answer = tokio::select! {
            biased;
            () = settled => None,
            reply = reply => reply.unwrap_or(None),
        };
        open.1 = None;
        let answered = Fact::QuestionAnswered { call: self.call.clone(), answer: answer.clone() };
        self.record(answered).await.ok()?;
        answer
    }

    /// Asks for an approval until somebody gives or refuses it. What was allowed for the whole session is not asked
    /// again. Nothing is given where it was `settled` elsewhere: with an answer, which is recorded here, too, or
    /// because what asked has ended, which is recorded as a no.
    pub(crate) async fn approve_unless(
        &self,
        wish: Wish,
        settled: &mut oneshot::Receiver<Answer>,
    ) -> Option<Answer> {
        let is_more = !wish.bulk.is_empty() || wish.changes.iter().any(Change::gives_rights);
        if !is_more && self.inbox.has_granted(&wish.effects) {
            return Some(Answer::Once);
        }
        let (call, given) = (self.call.clone(), self.inbox.wait_for(&self.call));
        let effects = wish.effects.clone();
        self.record(wish.asked(call.clone())).await.ok()?;
        let (answer, is_ours) = tokio::select! {
            biased;
            // Nobody said anything; what asked has ended.
            elsewhere = settled => (elsewhere.unwrap_or(Answer::No), false),
            given = given => (given.unwrap_or(Answer::Nobody), true),
        };
        self.record(Fact::ApprovalAnswered { call, answer }).await.ok()?;
        if answer == Answer::Always {
            self.inbox.grant(effects);
        }
        is_ours.then_some(answer)
    }
}

impl Person for Asking {
    fn ask(&self, question: Question) -> BoxFuture<'_, Option<String>> {
        Box::pin(self.ask_unless(question, std::future::pending()))
    }
}
