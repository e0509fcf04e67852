//! [`check`]: checks the last reply of a turn against the schema of its answer.
use crate::{journal::JournalError, session::context::Log};
use haft_core::{
    AnswerForm, AnswerSchema, Fact, Message, Outcome, Transcript,
    answer::{MAX_ANSWER_RETRIES, rejection},
    text_of,
};
use serde_json::Value;

/// Records whether the last reply is a valid answer. Returns how the turn, which would otherwise end with `outcome`,
/// ends; `None` if the model is asked again.
pub(crate) fn check(log: &mut Log, outcome: Outcome) -> Result<Option<Outcome>, JournalError> {
    let Some(schema) = log.transcript.answer_schema().cloned() else { return Ok(Some(outcome)) };
    let problems = match answer(&log.transcript, &schema) {
        Ok(answer) => {
            log.record(Fact::Answered { answer })?;
            return Ok(Some(outcome));
        }
        Err(problems) => problems,
    };
    let is_asked_again = log.transcript.rejections() < MAX_ANSWER_RETRIES;
    let text = is_asked_again.then(|| rejection(&schema, &problems));
    log.record(Fact::AnswerRejected { problems, text })?;
    Ok((!is_asked_again).then_some(match outcome {
        Outcome::Refused => Outcome::Refused,
        _ => Outcome::InvalidAnswer,
    }))
}

/// The answer form for a request.
pub(crate) fn form(transcript: &Transcript) -> Option<AnswerForm> {
    let schema = transcript.answer_schema()?.clone();
    Some(AnswerForm { schema, is_due: transcript.rejections() > 0 })
}

fn answer(transcript: &Transcript, schema: &Value) -> Result<Value, Vec<String>> {
    let reply = match transcript.messages().last().map(AsRef::as_ref) {
        Some(Message::Assistant { parts }) => text_of(parts),
        Some(Message::User { .. } | Message::Tool { .. }) | None => String::new(),
    };
    let unusable = |error| vec![format!("the schema cannot be used: {error}")];
    AnswerSchema::new(schema.clone()).map_err(unusable)?.check(&reply)
}
