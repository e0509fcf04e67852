//! [`ask`]: asks one hook once.
use super::{
    HookInput,
    settings::{Hook, HookTarget},
};
use haft_core::clip;
use haft_process::{Exit, Finished, ProcessError, Program};
use reqwest::header::HeaderMap;
use serde::Deserialize;
use std::{path::Path, sync::Arc, time::Duration};

/// Maximum bytes of a response; a longer one is invalid.
pub(super) const MAX_ANSWER: usize = 64 << 10;

/// Maximum bytes of a reason to show.
const MAX_REASON: usize = 2_000;

/// The reason if a hook denies without giving one.
const NO_REASON: &str = "it gives no reason";

/// The response of a hook.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub(crate) deny: Option<String>,
    /// Why the call needs the user's approval.
    pub(crate) ask: Option<String>,
    pub(crate) context: Option<String>,
}

/// Why a hook did not respond; the text follows its name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Silence {
    #[error("could not be asked: {0}")]
    Process(#[from] ProcessError),
    #[error("could not be asked: {0}")]
    Http(String),
    #[error("did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("failed with exit code {0}{1}")]
    Code(i32, String),
    #[error("was ended by signal {0}")]
    Signal(i32),
    #[error("failed with status {0}")]
    Status(u16),
    #[error("answered with more than {} kB", MAX_ANSWER >> 10)]
    TooLong,
    #[error("could not be asked: {0}")]
    View(String),
    #[error("answered something else than a JSON object with `decision`, `reason` and `context`: {0}")]
    Unreadable(String),
}

pub(crate) async fn ask(
    hook: &Hook,
    told: &HookInput<'_>,
    workspace: &Path,
    environment: &Arc<[(String, String)]>,
) -> Result<Answer, Silence> {
    let message = serde_json::to_string(told).expect("it has only names for keys");
    match &hook.way {
        HookTarget::Command(command) => {
            let program = Program {
                program: "sh".into(),
                arguments: vec!["-c".into(), command.into()],
                folder: workspace.to_owned(),
                environment: environment.clone(),
                timeout: Some(hook.timeout),
                capture: MAX_ANSWER,
                confinement: None,
            };
            ended(program.run_with(message.as_bytes(), |_| ()).await?, hook.timeout)
        }
        HookTarget::Url(url, headers) => {
            match tokio::time::timeout(hook.timeout, post(url, headers, message)).await {
                Ok(answer) => answer,
                Err(_over) => Err(Silence::TimedOut(hook.timeout)),
            }
        }
    }
}

impl Silence {
    /// A hook failed with this exit code, and wrote this to standard error.
    pub(super) fn code(code: i32, complaint: &str) -> Self {
        Self::Code(code, if complaint.is_empty() { String::new() } else { format!(": {complaint}") })
    }
}

/// The reason that a hook gives, or a note that it gives none.
pub(super) fn given_or_none(reason: &str) -> String {
    if reason.is_empty() { NO_REASON.to_owned() } else { reason.to_owned() }
}

/// The text that a hook wrote to standard error.
pub(super) fn complaint_of(finished: &Finished) -> String {
    clip::head(finished.stderr.text.trim(), MAX_REASON).to_owned()
}

/// Exit code 2 denies, with standard error as the reason.
fn ended(finished: Finished, limit: Duration) -> Result<Answer, Silence> {
    let complaint = clip::head(finished.stderr.text.trim(), MAX_REASON);
    match finished.exit {
        Exit::Code(0) if finished.stdout.missing_bytes > 0 => Err(Silence::TooLong),
        Exit::Code(0) => read(&finished.stdout.text),
        Exit::Code(2) => Ok(Answer { deny: Some(given_or_none(complaint)), ..Answer::default() }),
        Exit::Code(code) => Err(Silence::code(code, complaint)),
        Exit::Signal(signal) => Err(Silence::Signal(signal)),
        Exit::TimedOut => Err(Silence::TimedOut(limit)),
    }
}

/// Sends an event by POST, without proxies and redirects: the event goes only to the address that the user named.
async fn post(url: &url::Url, headers: &HeaderMap, message: String) -> Result<Answer, Silence> {
    let failed = |error: reqwest::Error| Silence::Http(cause(&error.without_url()));
    let client = haft_http::builder().no_proxy().build();
    let request = client.map_err(failed)?.post(url.clone());
    let request = request.header("content-type", "application/json").header("user-agent", "haft");
    let mut response = request.headers(headers.clone()).body(message).send().await.map_err(failed)?;
    if !response.status().is_success() {
        return Err(Silence::Status(response.status().as_u16()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ANSWER {
            return Err(Silence::TooLong);
        }
    }
    read(&String::from_utf8_lossy(&body))
}

/// The innermost cause; the outer ones only say that a request failed.
fn cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => cause(source),
        None => error.to_string(),
    }
}

/// The response in the form that a hook writes. An unknown field makes it invalid: otherwise a misspelled `deny` would
/// allow the call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    decision: Option<Decision>,
    reason: Option<String>,
    context: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Deny,
    /// The call needs the user's approval.
    Ask,
    /// Has no effect: a hook cannot allow anything.
    Allow,
}

fn read(text: &str) -> Result<Answer, Silence> {
    if text.trim().is_empty() {
        return Ok(Answer::default());
    }
    let written: Written =
        serde_json::from_str(text).map_err(|error| Silence::Unreadable(error.to_string()))?;
    let reason = Some(written.reason.unwrap_or_else(|| NO_REASON.into()));
    let (deny, ask) = match written.decision {
        Some(Decision::Deny) => (reason, None),
        Some(Decision::Ask) => (None, reason),
        Some(Decision::Allow) | None => (None, None),
    };
    Ok(Answer { deny, ask, context: written.context })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_denies_or_adds_and_everything_else_is_none() {
        let denies = |reason: &str| Ok(Answer { deny: Some(reason.into()), ..Answer::default() });
        let asks = |reason: &str| Ok(Answer { ask: Some(reason.into()), ..Answer::default() });
        let adds = |context: &str| Ok(Answer { context: Some(context.into()), ..Answer::default() });
        let table = [
            ("", Ok(Answer::default())),
            (" \n", Ok(Answer::default())),
            ("{}", Ok(Answer::default())),
            (r#"{"decision":"allow"}"#, Ok(Answer::default())),
            (r#"{"decision":"deny","reason":"no"}"#, denies("no")),
            (r#"{"decision":"deny"}"#, denies(NO_REASON)),
            (r#"{"decision":"ask","reason":"odd"}"#, asks("odd")),
            (r#"{"context":"by the way"}"#, adds("by the way")),
            (r#"{"decison":"deny"}"#, Err("unknown field `decison`")),
            (r#"{"decision":"block"}"#, Err("unknown variant `block`")),
            ("fine", Err("expected ident")),
            ("[]", Err("invalid length 0")),
        ];
        for (text, expected) in table {
            match (read(text), expected) {
                (Ok(answer), Ok(expected)) => assert_eq!(answer, expected, "{text}"),
                (Err(error), Err(expected)) => {
                    assert!(error.to_string().contains(expected), "{text}: {error}")
                }
                (answer, expected) => panic!("{text}: {answer:?}, not {expected:?}"),
            }
        }
    }
}
