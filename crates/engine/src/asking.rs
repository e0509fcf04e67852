//! A call's way to the person in its conversation.
use crate::{session::Desk, tool_runner::Notes};
use futures::future::BoxFuture;
use haft_core::{CallId, Fact, Person, Question};

/// Records what a call asks and what it is answered.
pub(crate) struct Asking {
    pub(crate) call: CallId,
    pub(crate) desk: Desk,
    pub(crate) notes: Notes,
}

impl Person for Asking {
    fn ask(&self, question: Question) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let reply = self.desk.wait_for_reply(&self.call);
            let asked = Fact::QuestionAsked { call: self.call.clone(), question };
            self.notes.record(asked).await.ok()?;
            let answer = reply.await.unwrap_or(None);
            let answered = Fact::QuestionAnswered { call: self.call.clone(), answer: answer.clone() };
            self.notes.record(answered).await.ok()?;
            answer
        })
    }
}
