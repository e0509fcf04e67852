//! [`Follower`]: follows an open session: sends its events, asks the user, and answers prompts at the end of their
//! turns.
use super::{
    calls::{ShownChanges, fenced_as_is, text},
    client::{Editor, Picked},
    open::OpenSession,
    partial::{PartialAnswers, REFUSE_AND_SAY},
    sdk::{
        Error, PermissionOption, PermissionOptionKind, RequestPermissionRequest, SessionUpdate, StopReason,
        ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, failed,
    },
    teller::{Teller, said_beside},
};
use futures::{
    FutureExt, StreamExt,
    future::{AbortHandle, Abortable, BoxFuture},
    stream::FuturesUnordered,
};
use haft_core::{Answer, CallId, Command, Entry, Event, Fact, Outcome, Question, Resource, Seq, Update};
use haft_present::{diff, proposal::Proposal, safe, undo::Refusal};
use std::{collections::HashMap, sync::Arc};

/// ID of the option that refuses, or gives no answer.
const NO: &str = "no";

/// A question to the user about a call.
enum Asked {
    /// An approval, with the parts that can be accepted separately.
    Approval(PartialAnswers),
    Question(Question),
}

/// Follows a session and sends its events to the editor.
pub(super) struct Follower {
    open: Arc<OpenSession>,
    editor: Editor,
    teller: Teller,
    /// Open questions in the editor.
    asked: FuturesUnordered<BoxFuture<'static, Option<(CallId, Asked, Picked)>>>,
    /// Handles that withdraw questions.
    withdraw: HashMap<CallId, AbortHandle>,
    end: End,
}

/// What the entries of a turn say about its end.
#[derive(Default)]
struct End {
    stop: Option<haft_core::StopReason>,
    failure: Option<String>,
    is_denied: bool,
    out_of_tokens: bool,
}

impl Follower {
    pub(super) fn new(open: Arc<OpenSession>, editor: Editor, teller: Teller) -> Self {
        let (asked, withdraw) = (FuturesUnordered::new(), HashMap::new());
        Self { open, editor, teller, asked, withdraw, end: End::default() }
    }

    /// Follows the session from the entry `from` on until it closes.
    pub(super) async fn run(mut self, from: Seq) {
        let mut events = Box::pin(self.open.session.events(from));
        let flow = self.editor.flow.clone();
        loop {
            tokio::select! {
                event = events.next() => match event {
                    Some(Event::Recorded(entry)) => self.recorded(&entry).await,
                    Some(Event::Live(update)) => self.shown(&update),
                    None => break,
                },
                Some(picked) = self.asked.next(), if !self.asked.is_empty() => self.picked(picked),
                () = flow.room(), if self.teller.has_news() => {
                    let news = self.teller.news();
                    news.into_iter().for_each(|update| self.tell(update));
                }
            }
        }
        let why = self.open.session.journal().failure().map(str::to_owned);
        self.open.answer(match why {
            Some(why) => Err(failed(format!("the session closed: {why}"))),
            None => Ok(StopReason::Cancelled),
        });
    }

    fn tell(&self, update: SessionUpdate) {
        self.editor.tell(self.open.id(), update);
    }

    fn shown(&mut self, update: &Update) {
        self.teller.live(update).into_iter().for_each(|update| self.tell(update));
        if let Some(refusal) = Refusal::of(update) {
            self.tell(said_beside(&refusal.about(&self.open.calls_to_undo())));
            self.open.undo_ended();
        }
        if let Update::Refused { why } = update
            && self.open.is_undoing()
        {
            self.tell(said_beside(why));
            self.open.undo_ended();
        }
    }

    async fn recorded(&mut self, entry: &Entry) {
        for update in self.teller.fact(&entry.fact) {
            self.editor.flow.room().await;
            self.tell(update);
        }
        match &entry.fact {
            Fact::Prompted { .. } | Fact::Called { .. } => self.begin(false),
            Fact::PromptDenied { reason, .. } => {
                self.begin(true);
                self.end.failure = Some(format!("the prompt was refused: {reason}"));
            }
            Fact::Replied { stop, .. } => self.end.stop = Some(*stop),
            Fact::ModelFailed { message, hint, .. } => {
                self.end.failure = Some(with_hint(message, hint.as_deref()))
            }
            Fact::BudgetReached { what, .. } => self.end.out_of_tokens = *what == Resource::Tokens,
            Fact::ApprovalAsked { .. } | Fact::QuestionAsked { .. } if !self.open.session.may_allow() => {}
            Fact::ApprovalAsked { .. } => self.approve(&entry.fact),
            Fact::QuestionAsked { call, question } => self.question(call, question),
            Fact::ApprovalAnswered { call, .. }
            | Fact::QuestionAnswered { call, .. }
            | Fact::ToolEnded { call, .. } => {
                self.withdraw(call);
                self.open.is_answered(call);
                self.goes_on(&entry.fact);
            }
            Fact::TurnEnded { outcome, .. } => {
                self.withdraw.drain().for_each(|(_, question)| question.abort());
                let end = std::mem::take(&mut self.end);
                self.open.turn_ended(stopped(*outcome, end));
            }
            Fact::PromptWithdrawn => self.open.is_withdrawn(),
            Fact::Rewound { .. } => self.open.undo_ended(),
            _ => {}
        }
    }

    /// Handles an answer: the call is not pending anymore.
    fn goes_on(&self, fact: &Fact) {
        let (Fact::ApprovalAnswered { call, .. } | Fact::QuestionAnswered { call, .. }) = fact else {
            return;
        };
        if let Some(call) = self.teller.call(call) {
            self.tell(SessionUpdate::ToolCallUpdate(call.started()));
        }
    }

    fn begin(&mut self, is_denied: bool) {
        self.open.is_heard();
        self.end.is_denied |= is_denied;
    }

    fn withdraw(&mut self, call: &CallId) {
        if let Some(question) = self.withdraw.remove(call) {
            question.abort();
        }
    }

    /// Asks for approval and shows everything that the call would do. The title is not shortened, since some editors
    /// show nothing else.
    fn approve(&mut self, fact: &Fact) {
        let Fact::ApprovalAsked { call, changes, .. } = fact else { return };
        let Some(proposal) = Proposal::of(&self.open.session, fact) else { return };
        let ShownChanges { diffs: mut content, words } =
            ShownChanges::of(&self.open.session, &self.open.folder, changes);
        let called = proposal.called_with_all(&diff::of_all(&self.open.session, changes));
        let (head, below) = (proposal.head(), proposal.below_diff());
        let about = format!("{head}{called}{words}{below}{}\n{}", proposal.always_line(), proposal.reason);
        content.push(text(&fenced_as_is(&about)));
        let parts = PartialAnswers::of(&self.open.session, changes);
        let mut options = vec![
            PermissionOption::new("once", "Allow", PermissionOptionKind::AllowOnce),
            PermissionOption::new(
                "always",
                "Always allow in this session",
                PermissionOptionKind::AllowAlways,
            ),
        ];
        options.extend(parts.options());
        options.push(PermissionOption::new(NO, "Reject", PermissionOptionKind::RejectOnce));
        let because = "Reject and say why in the next prompt";
        options.push(PermissionOption::new(REFUSE_AND_SAY, because, PermissionOptionKind::RejectOnce));
        let title = changes.is_empty().then(|| proposal.title());
        let fields = ToolCallUpdateFields::new().title(title).content(content);
        self.ask(call, Asked::Approval(parts), fields, options);
    }

    /// Asks a tool's question. A question without choices cannot be asked over ACP, and stays unanswered.
    fn question(&mut self, call: &CallId, question: &Question) {
        if question.choices.is_empty() {
            let _it_is_closed = self.open.session.send(Command::reply(call.clone(), None));
            return;
        }
        let choices = question.choices.iter().enumerate().map(|(place, choice)| {
            PermissionOption::new(place.to_string(), safe::text(choice), PermissionOptionKind::AllowOnce)
        });
        let no = PermissionOption::new(NO, "No answer", PermissionOptionKind::RejectOnce);
        let fields = ToolCallUpdateFields::new().content(vec![text(&safe::text(&question.text))]);
        self.ask(call, Asked::Question(question.clone()), fields, choices.chain([no]).collect());
    }

    fn ask(
        &mut self,
        call: &CallId,
        asked: Asked,
        fields: ToolCallUpdateFields,
        options: Vec<PermissionOption>,
    ) {
        let described = self.teller.call(call).map(super::calls::Call::described);
        let mut about =
            described.unwrap_or_else(|| ToolCallUpdate::new(call.0.clone(), ToolCallUpdateFields::new()));
        about.fields.status = Some(ToolCallStatus::Pending);
        about.fields.content = fields.content;
        about.fields.title = fields.title.or(about.fields.title);
        let answered =
            self.editor.ask(RequestPermissionRequest::new(self.open.id().to_owned(), about, options));
        let (withdraw, registration) = AbortHandle::new_pair();
        let id = call.clone();
        let answered = Abortable::new(answered, registration);
        self.asked.push(answered.map(move |picked| picked.ok().map(|picked| (id, asked, picked))).boxed());
        if let Some(before) = self.withdraw.insert(call.clone(), withdraw) {
            before.abort();
        }
    }

    /// The command that answers a call; `None` if the answer comes with the next prompt.
    fn approval(&self, parts: &PartialAnswers, call: CallId, picked: &Picked) -> Option<Command> {
        let answer = match picked {
            Picked::Option(id) if id == "once" => Answer::Once,
            Picked::Option(id) if id == "always" => Answer::Always,
            Picked::Option(id) if id == NO => Answer::No,
            Picked::Option(id) if id == REFUSE_AND_SAY => {
                self.tell(said_beside("not allowed; your next prompt says what to do instead"));
                self.open.refuse_with_next_prompt(call);
                return None;
            }
            Picked::Option(id) => match parts.picked(id) {
                Some(accepted) => return Some(Command::accept(call, accepted)),
                None => self.not_understood(&no_option(id)),
            },
            Picked::Cancelled => Answer::No,
            Picked::NoAnswer => Answer::Unanswered,
            Picked::NotUnderstood(why) => self.not_understood(why),
        };
        Some(Command::answer(call, answer))
    }

    /// The user's choice; `None` without an answer.
    fn choice(&self, question: &Question, picked: &Picked) -> Option<String> {
        let why = match picked {
            Picked::Option(id) if id == NO => return None,
            Picked::Option(id) => {
                let choice = id.parse::<usize>().ok().and_then(|place| question.choices.get(place));
                match choice {
                    Some(choice) => return Some(choice.clone()),
                    None => &no_option(id),
                }
            }
            Picked::Cancelled | Picked::NoAnswer => return None,
            Picked::NotUnderstood(why) => why,
        };
        self.not_understood(why);
        self.tell(said_beside("the editor's answer to the question was not understood"));
        None
    }

    /// Notes the reason for the user, since the note in the conversation has no room for it.
    fn not_understood(&self, why: &str) -> Answer {
        self.open.host.note(format!("the editor's answer to a question was not understood: {why}"));
        Answer::NotUnderstood
    }

    fn picked(&mut self, picked: Option<(CallId, Asked, Picked)>) {
        let Some((call, asked, picked)) = picked else { return };
        self.withdraw.remove(&call);
        let command = match (asked, picked) {
            (_, Picked::Cancelled) => return self.open.cancel(),
            (Asked::Approval(parts), picked) => match self.approval(&parts, call, &picked) {
                Some(command) => command,
                None => return,
            },
            (Asked::Question(question), picked) => Command::reply(call, self.choice(&question, &picked)),
        };
        let _it_is_closed = self.open.session.send(command);
    }
}

fn no_option(id: &str) -> String {
    format!("there is no option `{}`", id.escape_debug())
}

fn with_hint(message: &str, hint: Option<&str>) -> String {
    hint.map_or_else(|| message.to_owned(), |hint| format!("{message} (hint: {hint})"))
}

/// The stop reason of a turn, one of the protocol's five; an error if the model could not be reached.
fn stopped(outcome: Outcome, end: End) -> Result<StopReason, Error> {
    match outcome {
        Outcome::Failed => {
            Err(failed(end.failure.unwrap_or_else(|| outcome.reason().unwrap_or_default().to_owned())))
        }
        Outcome::Interrupted => Ok(StopReason::Cancelled),
        Outcome::Budget if end.out_of_tokens => Ok(StopReason::MaxTokens),
        Outcome::RoundLimit | Outcome::Budget | Outcome::Repeating => Ok(StopReason::MaxTurnRequests),
        Outcome::Refused if end.is_denied => Ok(StopReason::Refusal),
        Outcome::Finished
        | Outcome::Refused
        | Outcome::Unproven
        | Outcome::InvalidAnswer
        | Outcome::Stuck => Ok(match end.stop {
            Some(haft_core::StopReason::Length) => StopReason::MaxTokens,
            Some(haft_core::StopReason::Refusal) => StopReason::Refusal,
            _ => StopReason::EndTurn,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_has_a_word_for_every_end() {
        use haft_core::StopReason as Said;
        let said = |stop| End { stop: Some(stop), ..End::default() };
        let table = [
            (Outcome::Finished, said(Said::EndTurn), Some(StopReason::EndTurn)),
            (Outcome::Finished, said(Said::Length), Some(StopReason::MaxTokens)),
            (Outcome::Finished, said(Said::Refusal), Some(StopReason::Refusal)),
            (Outcome::Interrupted, End::default(), Some(StopReason::Cancelled)),
            (Outcome::RoundLimit, End::default(), Some(StopReason::MaxTurnRequests)),
            (Outcome::Repeating, End::default(), Some(StopReason::MaxTurnRequests)),
            (Outcome::Budget, End::default(), Some(StopReason::MaxTurnRequests)),
            (Outcome::Budget, End { out_of_tokens: true, ..End::default() }, Some(StopReason::MaxTokens)),
            (Outcome::Refused, End { is_denied: true, ..End::default() }, Some(StopReason::Refusal)),
            (Outcome::Refused, said(Said::EndTurn), Some(StopReason::EndTurn)),
            (Outcome::Unproven, said(Said::EndTurn), Some(StopReason::EndTurn)),
            (Outcome::Failed, End::default(), None),
        ];
        for (outcome, end, expected) in table {
            assert_eq!(stopped(outcome, end).ok(), expected, "{outcome:?}");
        }
    }
}
