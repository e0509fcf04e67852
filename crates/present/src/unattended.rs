//! Answers in place of a person who is not there.
use haft_core::{Answer, CallId, Command};
use haft_engine::Session;

/// Answers a question for an approval: nobody can give it.
pub fn refuse(session: &Session, call: &CallId) {
    let _session_is_closed = session.send(Command::Answer { call: call.clone(), answer: Answer::Nobody });
}

/// Answers a question of a tool: nobody can say anything.
pub fn reply(session: &Session, call: &CallId) {
    let _session_is_closed = session.send(Command::Reply { call: call.clone(), answer: None });
}
