//! [`ask`]: asks the user whether the plan in the last reply may be carried out.
use super::calls::attended;
use crate::{
    journal::JournalError,
    session::context::{Log, SessionContext},
};
use haft_call::Asker;
use haft_core::{CallId, Fact, Mode, Outcome, Question};
use tokio_util::sync::CancellationToken;

/// The text for the model with each prompt in plan mode.
const INSTRUCTIONS: &str = "[Plan mode] Make a plan, and change nothing: files cannot be written, and what commands \
     change is dropped. Look at what is there, ask the user what is unclear, and end with a plan as your reply: what is to be \
     done in which files, in which order, and how it is checked. The user then accepts the plan, edits it, or says what to \
     change.";
/// The text for the model with the first prompt after plan mode.
const OVER_TEXT: &str =
    "[Plan mode is over] Files can be changed from here on, as far as the user allows it.";
/// The last choice.
const KEEP_PLANNING: &str = "no, keep planning";

/// Records the text for the model with the last recorded prompt.
pub(super) fn instruct(log: &mut Log, session: &SessionContext) -> Result<(), JournalError> {
    let is_on = is_on(session);
    if !is_on && !log.transcript.is_planning() {
        return Ok(());
    }
    let text = if is_on { INSTRUCTIONS } else { OVER_TEXT };
    log.record(Fact::Planning { is_on, text: text.to_owned() })
}

/// Asks about the last reply of a turn that would end with `outcome`, if it is a plan that may be carried out here.
/// Returns how the turn ends; `None` if the model continues.
pub(super) async fn ask(
    log: &mut Log,
    session: &SessionContext,
    outcome: Outcome,
    cancel: &CancellationToken,
) -> Result<Option<Outcome>, JournalError> {
    let plan = log.transcript.last_reply().filter(|_| is_on(session) && log.transcript.is_planning());
    let (Some(plan), choices) = (plan, choices(log, session)) else { return Ok(Some(outcome)) };
    if outcome != Outcome::Finished || choices.is_empty() {
        return Ok(Some(outcome));
    }
    let texts = choices.iter().map(|(text, _)| text.clone()).chain([KEEP_PLANNING.to_owned()]);
    let question = Question {
        text: "Carry out this plan? Choose, or say what to change.".into(),
        choices: texts.collect(),
        draft: Some(plan.clone()),
    };
    let call = CallId(format!("plan_{}", log.journal.entries().len()));
    let interactions = session.calls.interactions.clone();
    let replied = attended(log, async |recorder| {
        Asker::new(call, interactions, recorder.downgrade()).ask_unless(question, cancel.cancelled()).await
    });
    let Some(answer) = replied.await?.answer else { return Ok((!cancel.is_cancelled()).then_some(outcome)) };
    match Answered::of(&answer, &choices) {
        Answered::KeepPlanning => return Ok(Some(outcome)),
        Answered::Accepted { mode, edited } => {
            let mode = session.calls.permission.set(mode);
            log.record(Fact::ModeSet { mode })?;
            let edited = edited.filter(|edited| *edited != plan.trim());
            log.record(Fact::PlanAnswered { is_accepted: true, text: accepted_text(edited) })?;
        }
        Answered::Comment(comment) => {
            let text = format!(
                "[Plan mode] The user says of your plan:\n\n{comment}\n\nEnd with the whole plan, as it is then."
            );
            log.record(Fact::PlanAnswered { is_accepted: false, text })?;
        }
    }
    Ok(None)
}

/// Whether the session is in plan mode. A subagent's session makes no plan of its own.
fn is_on(session: &SessionContext) -> bool {
    session.calls.ancestors.is_none() && session.calls.permission.mode() == Mode::Plan
}

/// The ways to accept a plan, each with the mode in which it is carried out; empty if no other mode is allowed here.
fn choices(log: &Log, session: &SessionContext) -> Vec<(String, Mode)> {
    let ceiling = session.calls.permission.ceiling();
    let before = mode_before(log, session).min(ceiling);
    let mut choices = Vec::new();
    if before > Mode::Plan {
        choices.push((format!("yes, in the mode `{}`", before.name()), before));
    }
    if before < Mode::AcceptEdits && ceiling >= Mode::AcceptEdits {
        choices.push(("yes, and edit files without asking".to_owned(), Mode::AcceptEdits));
    }
    choices
}

/// The mode before plan mode.
fn mode_before(log: &Log, session: &SessionContext) -> Mode {
    let entries = log.journal.entries();
    let chosen = entries.iter().rev().find_map(|entry| match entry.fact {
        Fact::ModeSet { mode } => Some(mode).filter(|mode| *mode != Mode::Plan),
        _ => None,
    });
    let begin = session.shared.setup.policy.mode;
    chosen.unwrap_or(if begin == Mode::Plan { Mode::Ask } else { begin })
}

fn accepted_text(edited: Option<String>) -> String {
    match edited {
        None => "[Plan mode is over] The user accepted your plan. Carry it out.".to_owned(),
        Some(plan) => format!(
            "[Plan mode is over] The user edited your plan and accepted it. Carry out this plan:\n\n{plan}"
        ),
    }
}

/// The user's answer about a plan.
#[derive(Debug, PartialEq)]
enum Answered {
    Accepted { mode: Mode, edited: Option<String> },
    KeepPlanning,
    Comment(String),
}

impl Answered {
    /// Reads an answer: a choice, a choice followed by the edited plan, or any other text.
    fn of(answer: &str, choices: &[(String, Mode)]) -> Self {
        let (first, rest) = answer.trim().split_once('\n').unwrap_or((answer.trim(), ""));
        let edited = Some(rest.trim().to_owned()).filter(|text| !text.is_empty());
        let chosen = choices.iter().find(|(text, _)| text == first.trim());
        match (chosen, first.trim()) {
            (Some((_, mode)), _) => Self::Accepted { mode: *mode, edited },
            (None, "" | KEEP_PLANNING) if edited.is_none() => Self::KeepPlanning,
            (None, _) => Self::Comment(answer.trim().to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_choice_a_choice_with_an_edited_plan_or_a_comment() {
        let choices = [("yes".to_owned(), Mode::Ask)];
        let accepted =
            |edited: Option<&str>| Answered::Accepted { mode: Mode::Ask, edited: edited.map(str::to_owned) };
        let table = [
            ("yes", accepted(None)),
            ("yes\n\n1. Mend it.\n2. Test it.\n", accepted(Some("1. Mend it.\n2. Test it."))),
            ("no, keep planning", Answered::KeepPlanning),
            ("", Answered::KeepPlanning),
            ("yes, but later", Answered::Comment("yes, but later".into())),
            ("no, keep planning\nwith tests", Answered::Comment("no, keep planning\nwith tests".into())),
        ];
        for (answer, expected) in table {
            assert_eq!(Answered::of(answer, &choices), expected, "{answer:?}");
        }
    }
}
