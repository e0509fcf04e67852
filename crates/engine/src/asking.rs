//! A call's way to the person in its conversation.
use crate::{session::Desk, tool_runner::Notes};
use futures::future::BoxFuture;
use haft_core::{CallId, Fact, Person, Question};

/// Records what a call asks and what it is answered.
#[derive(Clone)]
pub(crate) struct Asking {
    pub(crate) call: CallId,
    pub(crate) desk: Desk,
    pub(crate) notes: Notes,
}

impl Asking {
    /// Asks until somebody answers or it is `settled` elsewhere; then nobody has answered, and who was asked sees it.
    pub(crate) async fn ask_unless(
        &self,
        question: Question,
        settled: impl Future<Output = ()>,
    ) -> Option<String> {
        let reply = self.desk.wait_for_reply(&self.call);
        let asked = Fact::QuestionAsked { call: self.call.clone(), question };
        self.notes.record(asked).await.ok()?;
        let answer = tokio::select! {
            biased;
            () = settled => None,
            reply = reply => reply.unwrap_or(None),
        };
        let answered = Fact::QuestionAnswered { call: self.call.clone(), answer: answer.clone() };
        self.notes.record(answered).await.ok()?;
        answer
    }
}

impl Person for Asking {
    fn ask(&self, question: Question) -> BoxFuture<'_, Option<String>> {
        Box::pin(self.ask_unless(question, std::future::pending()))
    }
}
