//! [`still_asked`] and the handling of buttons: who pressed one, and what happens to an answered question.
use super::{
    asking::{self, Approval, Ask, Button, Document, Kind},
    chat::Chat,
    outbox::Job,
    types::InlineKeyboardMarkup,
    updates::Press,
};
use haft_core::{CallId, Command, Entry, Fact};
use haft_engine::Session;
use std::{mem, sync::Arc};

/// What the user reads who presses a button that no longer counts.
const OUT_OF_DATE: &str = "This question is out of date.";

impl Chat {
    /// Handles a button that an authorized user has pressed.
    pub(super) async fn pressed(&mut self, press: Press) {
        let Some(button) = Button::read(&press.data) else { return self.over(press) };
        match button {
            Button::Answer(ask, answer) => match self.answered(ask, &press.data) {
                Some(call) => {
                    self.send(Command::answer(call, answer));
                    self.bot.notice(&press.id, asking::said(answer));
                }
                None => self.not_taken(ask, press),
            },
            Button::Choice(ask, place) => {
                match self.choice(ask, place).zip(self.answered(ask, &press.data)) {
                    Some((choice, call)) => {
                        self.send(Command::reply(call, Some(choice.clone())));
                        self.bot.notice(&press.id, &choice);
                    }
                    None => self.not_taken(ask, press),
                }
            }
            Button::Undo(list, place) => self.undo_chosen(press, list, place),
            Button::Session(id) => {
                self.bot.notice(&press.id, "");
                self.join(&id).await;
            }
        }
    }

    /// The question keeps its buttons if it is still open: the button that was pressed is none of them.
    fn not_taken(&self, ask: u64, press: Press) {
        match self.asks.iter().any(|known| known.id == ask && !known.is_answered) {
            true => self.bot.notice(&press.id, OUT_OF_DATE),
            false => self.over(press),
        }
    }

    pub(super) fn over(&self, press: Press) {
        self.bot.notice(&press.id, OUT_OF_DATE);
        self.outbox.push(Job::Unbutton { message: press.message });
    }

    /// Marks a question as answered, and returns its call; `None` if it was answered before, or was sent without this
    /// button.
    fn answered(&mut self, ask: u64, button: &str) -> Option<CallId> {
        if !self.outbox.offers(ask, button) {
            return None;
        }
        let ask = self.asks.iter_mut().find(|known| known.id == ask && !known.is_answered)?;
        ask.is_answered = true;
        Some(ask.call.clone())
    }

    fn choice(&self, ask: u64, place: usize) -> Option<String> {
        let ask = self.asks.iter().find(|known| known.id == ask)?;
        match &ask.kind {
            Kind::Question { choices } => choices.get(place).cloned(),
            Kind::Approval => None,
        }
    }

    /// Asks the question in a fact.
    pub(super) fn ask_of(&mut self, session: &Session, fact: &Fact) {
        if !session.may_allow() {
            return self.outbox.say("A call asks. It can be answered only where the session is open.");
        }
        match fact {
            Fact::ApprovalAsked { .. } => {
                let asked = asking::approval(session, self.bot.counted(), fact);
                if let Some(Approval { ask, keys, document }) = asked {
                    self.ask(ask, Some(keys), document);
                }
            }
            Fact::QuestionAsked { call, question } => {
                let (ask, keys, document) = asking::question(self.bot.counted(), call, question);
                self.ask(ask, keys, document);
            }
            _ => {}
        }
    }

    fn ask(&mut self, ask: Ask, keyboard: Option<InlineKeyboardMarkup>, document: Option<Document>) {
        self.outbox.push(Job::Ask { ask: ask.id, text: ask.text.clone(), keyboard, document });
        self.asks.push(ask);
        self.outbox.set_asking(true);
    }

    /// Removes the buttons of the questions of `call`, or of all questions, and shows how they ended, on whichever
    /// client they were answered.
    pub(super) fn end_asks(&mut self, call: Option<&CallId>, how: &str) {
        let (over, open) =
            mem::take(&mut self.asks).into_iter().partition(|ask| call.is_none_or(|call| ask.call == *call));
        self.asks = open;
        self.outbox.set_asking(!self.asks.is_empty());
        let over: Vec<Ask> = over;
        for ask in over {
            self.outbox.withdraw(ask.id);
            self.outbox.push(Job::Answered { ask: ask.id, text: ask.ended(how) });
        }
    }
}

/// The questions that wait for an answer.
pub(super) fn still_asked(entries: &[Arc<Entry>]) -> Vec<Arc<Entry>> {
    let mut asked: Vec<(CallId, Arc<Entry>)> = Vec::new();
    for entry in entries {
        match &entry.fact {
            Fact::ApprovalAsked { call, .. } | Fact::QuestionAsked { call, .. } => {
                asked.push((call.clone(), entry.clone()));
            }
            Fact::ApprovalAnswered { call, .. }
            | Fact::QuestionAnswered { call, .. }
            | Fact::ToolEnded { call, .. } => asked.retain(|(other, _)| other != call),
            Fact::TurnEnded { .. } => asked.clear(),
            _ => {}
        }
    }
    asked.into_iter().map(|(_, entry)| entry).collect()
}
