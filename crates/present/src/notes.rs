//! [`of`]: formats a fact as one line, which is shown beside replies and calls.
use crate::safe;
use haft_core::{
    Accepted, AcceptedFile, Answer, AttemptEnd, AttemptResult, Change, ChangeKind, Fact, Outcome,
    SessionSetup, StopReason,
};
use haft_engine::local_time;
use std::path::{Path, PathBuf};

/// Maximum number of ignored folders and files that a note names.
const MAX_NAMED: usize = 3;

/// The note for a fact; `None` if it is shown in another way or needs none.
pub fn of(fact: &Fact) -> Option<String> {
    Some(match fact {
        Fact::ApprovalAnswered { answer, .. } => return not_answered(*answer).map(str::to_owned),
        Fact::Unsettled { paths, .. } => {
            let paths: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
            format!("left as it was: {}", paths.join(", "))
        }
        Fact::Staged { unrecorded, .. } | Fact::SubagentChanged { unrecorded, .. } => {
            return not_recorded(unrecorded);
        }
        Fact::Replied { stop, .. } => return ended_early(*stop).map(str::to_owned),
        Fact::RootAdded { root } => {
            format!(
                "`{}` is added: its files are read and changed like those of the workspace",
                root.display()
            )
        }
        Fact::OutboxOpened => {
            "no questions: what cannot be taken back is queued; `haft outbox list` shows it".into()
        }
        Fact::ItemSending { item, .. } => format!("item {item} of the outbox is sent"),
        Fact::ItemDropped { item, .. } => format!("item {item} of the outbox is dropped"),
        Fact::ModeSet { mode } => format!("what is allowed: {}", mode.name()),
        Fact::TaskStarted { task: job, title, .. } => format!("background task {} started: {title}", job.0),
        Fact::TaskEnded { task: job, result } => {
            let how = match result {
                result if result.is_ok() => "ended",
                result if result.is_stopped() => "was stopped",
                _ => "failed",
            };
            format!("background task {} {how}", job.0)
        }
        Fact::Evicted { results } => format!("{} results put aside to save room", results.len()),
        Fact::Compacted { before, after, .. } => {
            format!("summarized to save room: {before} tokens became {after}")
        }
        Fact::SetupChanged { setup, .. } => set_up(setup),
        Fact::ModelSwitched { from, to, reason, .. } => {
            format!("{from} {}; {to} goes on", reason.sentence())
        }
        Fact::ModelAwaited { model, reason, until, .. } => {
            format!("{model} {}; waiting until {}", reason.sentence(), local_time(*until))
        }
        Fact::Sampled { server, model, usage, .. } => {
            let read = usage.input + usage.cache_read + usage.cache_write;
            format!("{model} answered the MCP server `{server}`: {read} tokens in, {} out", usage.output)
        }
        Fact::ModelFailed { message, hint, .. } => failed(message, hint.as_deref()),
        Fact::PromptDenied { reason, .. } => denied(reason),
        Fact::Unconfined { reason } => {
            format!("commands run unconfined, and an undo cannot take back what they do: {reason}")
        }
        Fact::AnswerRejected { problems, text: Some(_) } => {
            format!("the answer does not match the schema: {}", problems.join("; "))
        }
        Fact::PlanAnswered { is_accepted: true, .. } => "the plan is accepted".into(),
        Fact::PlanAnswered { is_accepted: false, .. } => "the plan is to be changed".into(),
        Fact::Reminded { claims, .. } => format!("nothing shows what it claims: {}", claims.join("; ")),
        _ => return of_goal(fact).or_else(|| fact.limit_reached()),
    })
}

/// Lists what undo cannot restore of a call's changes; `None` if all are recorded.
fn not_recorded(paths: &[PathBuf]) -> Option<String> {
    let named = paths.iter().take(MAX_NAMED).map(|path| format!("`{}`", path.display()));
    let more = paths.len().checked_sub(MAX_NAMED).filter(|more| *more > 0).map(|more| format!("{more} more"));
    let names: Vec<String> = named.chain(more).collect();
    let names = (!names.is_empty()).then(|| names.join(", "))?;
    Some(format!("not recorded, so no undo restores it: what changed in {names}"))
}

/// Why a call was refused without an answer of the user; `None` if the user answered.
fn not_answered(answer: Answer) -> Option<&'static str> {
    match answer {
        Answer::Unanswered => Some("refused: it needs an approval, and there is no person to ask"),
        Answer::NotUnderstood => Some("refused: the front-end's answer to the question was not understood"),
        Answer::Once | Answer::Always | Answer::No => None,
    }
}

/// Why a reply ended early; `None` if it is complete.
fn ended_early(stop: StopReason) -> Option<&'static str> {
    match stop {
        StopReason::Length => {
            Some("the reply was cut off: it is longer than the model or its server gives at once")
        }
        StopReason::Refusal => Some("the vendor's content policy ended the reply"),
        StopReason::Repeating => Some(
            "the reply was ended: it said nothing new for too long (`[timeouts] repeating` in the configuration)",
        ),
        StopReason::Endless => Some(
            "the reply was ended: it took too long (`[timeouts] reply` in the configuration), or grew too large",
        ),
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Interrupted => None,
    }
}

fn set_up(SessionSetup { agent, model, effort }: &SessionSetup) -> String {
    let (agent, model) = (safe::name(agent), safe::name(model));
    let effort = effort.as_ref().map(|effort| format!(", effort {}", safe::name(effort)));
    let effort = effort.unwrap_or_default();
    format!("the session goes on with the agent `{agent}` and the model `{model}`{effort}")
}

/// The note for a fact about a goal or attempts at it.
fn of_goal(fact: &Fact) -> Option<String> {
    Some(match fact {
        Fact::GoalSet { goal: Some(goal) } => format!("goal: {}; check: `{}`", goal.text, goal.check),
        Fact::GoalSet { goal: None } => "the goal is given up".into(),
        Fact::GoalMissed { why, text: Some(_), .. } => format!("the goal is not reached: {why}"),
        Fact::GoalMissed { why, text: None, .. } => {
            format!("the goal is not reached, and going on is of no use: {why}")
        }
        Fact::GoalReached { check, red, green } => format!(
            "the goal is reached: `{check}` failed at entry {red}, and succeeds at entry {green}, after the last change"
        ),
        Fact::AttemptsBegun { made } => {
            let last = made.arguments["count"].as_u64().unwrap_or_default() + 1;
            let attempts = match last {
                2 => "attempt 2 begins in a view of its own".to_owned(),
                last => format!("attempts 2 to {last} begin, each in a view of its own"),
            };
            format!("{attempts}, with the files as they were before the turn")
        }
        Fact::AttemptEnded(end) => attempt(end),
        _ => return None,
    })
}

/// The result of an attempt: how it ended, its cost and its changes.
fn attempt(end: &AttemptEnd) -> String {
    let AttemptEnd { number, session, result, why, usage, cost_usd, files, .. } = end;
    let result = match result {
        AttemptResult::Won | AttemptResult::Passed => "reached the goal".to_owned(),
        AttemptResult::Missed => {
            format!("did not reach the goal: {}", why.as_deref().unwrap_or("it ended first"))
        }
        AttemptResult::Stopped => "was ended".to_owned(),
    };
    let (added, removed) =
        files.iter().fold((0, 0), |(added, removed), file| (added + file.added, removed + file.removed));
    let plural = if files.len() == 1 { "" } else { "s" };
    let price = cost_usd.map_or(format!("{} tokens", usage.total()), |usd| format!("${usd:.4}"));
    format!(
        "attempt {number} {result} ({} file{plural}, +{added} -{removed}; {price}; session {session})",
        files.len()
    )
}

/// The part of a proposal that the user did not accept, and what was written differently. `None` if the whole proposal
/// was accepted.
pub fn not_taken(proposed: &[Change], accepted: &Accepted) -> Option<String> {
    let name = |path: &Path| safe::visible_line(&path.to_string_lossy());
    let list =
        |what: &str, names: Vec<String>| (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")));
    let is_nothing = |file: &AcceptedFile| file.text.is_none() && file.hunks.as_deref() == Some(&[]);
    let is_taken = |change: &&Change| match accepted.of(change) {
        Some(file) => !is_nothing(file),
        // A folder is accepted with the files in it.
        None => accepted.files.iter().any(|file| !is_nothing(file) && file.path.starts_with(&change.path)),
    };
    let left = proposed.iter().filter(|change| !is_taken(change)).map(|change| name(&change.path)).collect();
    let in_part = accepted.files.iter().filter(|file| file.text.is_none()).filter_map(|file| {
        let hunks: Vec<String> = file.hunks.iter().flatten().map(|hunk| (hunk + 1).to_string()).collect();
        let word = if hunks.len() == 1 { "hunk" } else { "hunks" };
        (!hunks.is_empty()).then(|| format!("{word} {} of {}", hunks.join(" and "), name(&file.path)))
    });
    let edited = accepted.files.iter().filter(|file| file.text.is_some()).map(|file| name(&file.path));
    let parts = [
        list("not taken", left),
        list("taken", in_part.collect()),
        list("taken as you edited it", edited.collect()),
    ];
    let said: Vec<String> = parts.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// The note if the model could not be reached.
pub fn failed(message: &str, hint: Option<&str>) -> String {
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("the model could not be asked: {message}{hint}")
}

/// The note if a prompt was refused before a model read it.
pub fn denied(reason: &str) -> String {
    format!("the prompt was refused: {reason}")
}

/// The change of a file that belongs to no call.
pub fn changed(change: &Change) -> String {
    let what = match change.kind() {
        ChangeKind::Created => "created",
        ChangeKind::Modified => "changed",
        ChangeKind::Deleted => "removed",
    };
    format!("{what} `{}`", safe::visible_line(&change.path.to_string_lossy()))
}

/// Why a turn was cut off, if no other item shows it.
pub fn of_outcome(outcome: Outcome) -> Option<String> {
    let reason = outcome.reason()?;
    match outcome {
        Outcome::Failed | Outcome::Refused | Outcome::Stuck => None,
        _ if outcome.is_limit() => Some(format!("stopped: {reason}")),
        _ => Some(reason.to_owned()),
    }
}
