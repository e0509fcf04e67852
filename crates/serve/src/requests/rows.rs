//! [`Row`]: stores the keys of requests in the database of a fleet. If a request reaches two servers at the same time,
//! both execute it, since a second execution changes nothing, and both return the response that was stored first.
use super::{Found, KEY_LIFETIME, Keeper};
use crate::error::Answer;
use haft_engine::new_session_id;
use haft_fleet::{Database, RequestAnswer, answer_request, begin_request};

/// A stored key.
pub(super) struct Row {
    database: Database,
    name: String,
}

pub(super) async fn find(database: &Database, name: &str, request: &str) -> Answer<Found> {
    let new = new_session_id();
    let first = begin_request(database, name, (request, &new), KEY_LIFETIME).await?;
    if first.request != request {
        return Ok(Found::Other);
    }
    if let Some(answer) = first.answer {
        return Ok(Found::Answered(answer));
    }
    let keeper = Keeper::Row(Row { database: database.clone(), name: name.to_owned() });
    Ok(Found::Begun { is_repeated: first.job != new, id: first.job, keeper })
}

impl Row {
    pub(super) async fn keep(&self, answer: RequestAnswer) -> Answer<RequestAnswer> {
        let first = answer_request(&self.database, &self.name, &answer).await?;
        Ok(first.unwrap_or(answer))
    }
}
