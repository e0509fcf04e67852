//! [`attempt`]: runs one task in a session of one turn, and returns its [`Trial`].
use super::tasks::Task;
use crate::{Failure, agents::AGENT};
use futures::StreamExt;
use haft_core::{CallId, Event, Fact, Part, ToolErrorKind, ToolResult, text_of};
use haft_engine::{Engine, Setup, Turn};
use haft_present::unattended;
use std::{collections::HashSet, fs, path::Path, time::Instant};

/// The result of one task.
#[derive(Debug, Default)]
pub struct Trial {
    /// Calls as lines, for comparison with the expected ones.
    pub lines: Vec<String>,
    /// The last reply.
    pub answer: String,
    /// Number of calls that could not be parsed, or did not match the tool's schema. They were not run.
    pub invalid: usize,
    started: HashSet<CallId>,
    /// Whether the first call is right.
    pub right_call: bool,
    /// Whether everything is right.
    pub right: bool,
    /// Duration from the prompt to the end of the turn.
    pub seconds: f64,
}

pub(super) async fn attempt(setup: Setup, task: &Task, workspace: &Path) -> Result<Trial, Failure> {
    for (name, text) in &task.files {
        fs::write(workspace.join(name), text)?;
    }
    let engine = Engine::new(setup);
    let session = engine.create(AGENT)?;
    let started = Instant::now();
    let outcome = watch(session.prompt(&task.request)).await;
    engine.shut_down().await;
    let mut outcome = outcome?;
    outcome.seconds = started.elapsed().as_secs_f64();
    outcome.judge(task, workspace);
    Ok(outcome)
}

/// Follows the turn. Approvals are denied, and questions stay unanswered.
async fn watch(mut turn: Turn) -> Result<Trial, Failure> {
    let mut outcome = Trial::default();
    while let Some(event) = turn.next().await {
        let Event::Recorded(entry) = event else { continue };
        match &entry.fact {
            Fact::Replied { parts, .. } => outcome.hear(parts),
            Fact::ToolStarted { call, .. } => _ = outcome.started.insert(call.clone()),
            Fact::ToolEnded { call, result, .. } => outcome.see(call, result),
            Fact::ApprovalAsked { call, .. } => unattended::refuse(turn.session(), call),
            Fact::QuestionAsked { call, .. } => unattended::reply(turn.session(), call),
            _ => {}
        }
    }
    turn.await.map_err(|error| Failure::failed(error.report().error.clone().unwrap_or_default()))?;
    Ok(outcome)
}

impl Trial {
    fn hear(&mut self, parts: &[Part]) {
        for call in parts.iter().filter_map(Part::as_call) {
            let values = call.arguments.as_object().into_iter().flat_map(|object| object.values());
            let values = values.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            self.lines.push(format!("{} {}", call.name, values.collect::<Vec<_>>().join(" ")));
        }
        self.answer = text_of(parts);
        // Text that begins like a call was meant as a call that could not be parsed.
        let meant = ["read ", "write ", "edit ", "bash ", "<tool_call>"];
        self.invalid += usize::from(meant.iter().any(|name| self.answer.trim_start().starts_with(name)));
    }

    fn see(&mut self, call: &CallId, result: &ToolResult) {
        let is_invalid = !self.started.contains(call)
            && result.error.as_ref().is_some_and(|error| error.kind == ToolErrorKind::Validation);
        self.invalid += usize::from(is_invalid);
    }

    fn judge(&mut self, task: &Task, workspace: &Path) {
        let first = self.lines.first().cloned().unwrap_or_else(|| format!("final {}", self.answer));
        self.right_call = task.begins_with(&first);
        self.right = self.right_call && task.ends_with(&self.answer, workspace);
    }
}
