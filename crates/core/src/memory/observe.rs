//! [`Observed`]: the commands, tests and corrections in one session, without what was undone.
use super::{SessionRecord, Source, TOOL, clean};
use crate::{Answer, CallId, Entry, Fact, Part, Report, Seq, ToolCall, Tracking, active_path, text_of};
use crate::{SessionOpened, past_calls::PastCalls};
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// The observations of a session, in the order in which they happened.
#[derive(Default)]
pub(super) struct Observed {
    pub(super) runs: Vec<Run>,
    /// Reasons that the user gave when denying a call, and prompts that begin like a correction.
    pub(super) corrections: Vec<(String, Source)>,
    /// Memory lines that the user declined or had removed.
    pub(super) declined: HashSet<String>,
}

/// A completed run of a command that builds or tests.
pub(super) struct Run {
    pub(super) command: String,
    pub(super) passed: bool,
    /// Names of the tests that failed, as they may be quoted.
    pub(super) failures: Vec<String>,
    /// Whether the run names the tests that failed.
    pub(super) has_names: bool,
    /// Whether a build or test command had failed earlier in the session, or the session had looked for build
    /// instructions.
    pub(super) was_sought: bool,
    /// Equal in two runs if nothing can have changed files in between.
    pub(super) state: u32,
    pub(super) source: Source,
}

/// Programs that build or test, and the first arguments that make them do so; an empty list means any arguments.
const RUNNERS: [(&str, &[&str]); 35] = [
    ("bazel", &["build", "test"]),
    ("bun", &["test", "run"]),
    ("bundle", &["exec"]),
    ("cargo", &["build", "check", "clippy", "nextest", "test"]),
    ("cmake", &["--build"]),
    ("ctest", &[]),
    ("deno", &["test", "task", "check"]),
    ("dotnet", &["build", "test"]),
    ("go", &["build", "test", "vet"]),
    ("gradle", &[]),
    ("gradlew", &[]),
    ("jest", &[]),
    ("just", &[]),
    ("make", &[]),
    ("meson", &["compile", "test"]),
    ("mix", &["compile", "test"]),
    ("mocha", &[]),
    ("mvn", &[]),
    ("mvnw", &[]),
    ("ninja", &[]),
    ("node", &["--test"]),
    ("nox", &[]),
    ("npm", &["test", "run", "t"]),
    ("npx", &["jest", "vitest", "mocha", "tsc"]),
    ("phpunit", &[]),
    ("pnpm", &["test", "run", "build"]),
    ("pytest", &[]),
    ("python", &["-m"]),
    ("python3", &["-m"]),
    ("rake", &[]),
    ("rspec", &[]),
    ("tox", &[]),
    ("uv", &["run"]),
    ("vitest", &[]),
    ("yarn", &["test", "run", "build"]),
];

/// Files that describe how a project is built. A call that names one of them counts as looking for build instructions.
const BUILD_FILES: [&str; 14] = [
    "build.gradle",
    "cargo.toml",
    "cmakelists.txt",
    "contributing",
    "gemfile",
    "go.mod",
    "justfile",
    "makefile",
    "package.json",
    "pom.xml",
    "pyproject.toml",
    "readme",
    "tox.ini",
    ".github/workflows",
];

/// Beginnings of prompts that correct the agent.
const CORRECTIONS: [&str; 7] =
    ["always ", "do not ", "don't ", "never ", "no, ", "please don't ", "stop using "];
/// Maximum characters of a correction; a longer prompt is a task.
const MAX_CORRECTION: usize = 160;

/// A call that has begun.
struct Begun {
    arguments: Value,
    /// Whether it changed files, or may have.
    may_have_changed: bool,
}

/// Folds the entries of a session.
struct Fold<'a> {
    record: &'a SessionRecord,
    /// Calls that were undone one by one: the entry of the reply that made each, and its ID.
    undone: HashSet<(Seq, CallId)>,
    /// The last entry that a fork copied from another session: entries up to it count for that session.
    copied: Option<Seq>,
    made_at: Seq,
    begun: HashMap<CallId, Begun>,
    proposed: HashMap<CallId, Value>,
    was_sought: bool,
    is_refused: bool,
    state: u32,
    observed: Observed,
}

impl Observed {
    /// Collects observations of one session. Sessions of jobs and subagents have no corrections by a user.
    pub(super) fn of(record: &SessionRecord) -> Self {
        let opened = SessionOpened::of(&record.entries);
        let past = PastCalls::of(&record.entries);
        let undone = past.calls.into_iter().filter(|call| call.is_undone);
        let mut fold = Fold {
            record,
            undone: undone.map(|call| (call.reply, call.id)).collect(),
            copied: opened.and_then(|opened| opened.forked_from.as_ref()).map(|forked| forked.seq),
            made_at: Seq(0),
            begun: HashMap::new(),
            proposed: HashMap::new(),
            was_sought: false,
            is_refused: false,
            state: 0,
            observed: Self::default(),
        };
        active_path(&record.entries).into_iter().for_each(|entry| fold.apply(entry));
        fold.observed
    }
}

impl Fold<'_> {
    fn apply(&mut self, entry: &Arc<Entry>) {
        match &entry.fact {
            Fact::Replied { .. } => (self.made_at, self.is_refused) = (entry.seq, false),
            Fact::Called { made } => self.called(entry.seq, made),
            Fact::GoalChecked { .. } | Fact::AttemptsBegun { .. } => self.made_at = entry.seq,
            Fact::Prompted { parts, .. } => self.prompted(parts, entry.seq),
            Fact::ApprovalAnswered { call, answer: Answer::No, .. } => {
                self.is_refused = !self.proposed.contains_key(call);
                let lines = self.proposed.get(call).map(|arguments| texts(arguments, &["add"]));
                self.observed.declined.extend(lines.unwrap_or_default());
            }
            Fact::ToolStarted { call, arguments, how, .. } => {
                let (arguments, may_have_changed) = (arguments.clone(), *how == Tracking::Untracked);
                self.begun.insert(call.clone(), Begun { arguments, may_have_changed });
            }
            Fact::Staged { call, changes, .. } | Fact::SubagentChanged { call, changes, .. } => {
                match self.begun.get_mut(call) {
                    Some(begun) => begun.may_have_changed |= !changes.is_empty(),
                    // A background task.
                    None => self.state += 1,
                }
            }
            Fact::Rewound { .. } | Fact::Unsettled { .. } | Fact::TaskStarted { .. } => self.state += 1,
            Fact::ToolEnded { call, result, .. } => self.ended(call, result, entry.seq),
            _ => {}
        }
    }

    fn called(&mut self, seq: Seq, made: &ToolCall) {
        self.made_at = seq;
        if made.name == TOOL {
            self.proposed.insert(made.id.clone(), made.arguments.clone());
        }
    }

    fn prompted(&mut self, parts: &[Part], seq: Seq) {
        // Files may have been changed by hand before it.
        self.state += 1;
        let text = text_of(parts);
        let begins = |text: &str| CORRECTIONS.iter().any(|beginning| text.starts_with(beginning));
        let corrects = self.is_refused || begins(&text.trim_start().to_lowercase());
        let is_job = SessionOpened::of(&self.record.entries)
            .is_none_or(|opened| opened.is_job() || opened.is_subagent());
        if corrects
            && !is_job
            && self.is_own(seq)
            && text.chars().count() <= MAX_CORRECTION
            && !text.trim().contains('\n')
        {
            self.observed.corrections.extend(clean(&text).map(|text| (text, self.source(seq))));
        }
        self.is_refused = false;
    }

    fn ended(&mut self, call: &CallId, result: &crate::ToolResult, seq: Seq) {
        if let Some(arguments) = self.proposed.remove(call).filter(|_| result.is_ok()) {
            self.observed.declined.extend(texts(&arguments, &["forget"]));
        }
        let Some(begun) = self.begun.remove(call) else { return };
        let run = match result.report().filter(|_| result.is_ok()) {
            Some(Report::Tests(run)) => {
                let passed = run.ok;
                let names = run.failures.iter().filter_map(|failure| clean::name(&failure.name));
                Some((run.command, passed, names.collect(), run.parsed))
            }
            Some(Report::Command(run)) if !run.is_stopped() => run
                .exit_code
                .and_then(|code| Some((runner(&begun.arguments)?.to_owned(), code == 0, Vec::new(), false))),
            _ => None,
        };
        let Some((command, passed, failures, has_names)) = run else {
            self.was_sought |= looks_for_build(&begun.arguments);
            self.state += u32::from(begun.may_have_changed);
            return;
        };
        let is_undone = self.undone.contains(&(self.made_at, call.clone()));
        if let Some(command) = clean::command(&command).filter(|_| !is_undone && self.is_own(seq)) {
            let (was_sought, state, source) = (self.was_sought, self.state, self.source(seq));
            let run = Run { command, passed, failures, has_names, was_sought, state, source };
            self.observed.runs.push(run);
        }
        self.was_sought |= !passed;
    }

    fn is_own(&self, seq: Seq) -> bool {
        self.copied.is_none_or(|copied| seq > copied)
    }

    fn source(&self, entry: Seq) -> Source {
        Source { session: self.record.id.clone(), entry }
    }
}

/// The command line of a call, if it builds or tests.
fn runner(arguments: &Value) -> Option<&str> {
    let line = arguments["command"].as_str()?;
    let mut words = line.split_whitespace();
    let program = words.next()?.rsplit('/').next()?;
    let (_, first) = RUNNERS.iter().find(|(known, _)| *known == program)?;
    let next = words.next().unwrap_or_default();
    (first.is_empty() || first.contains(&next)).then_some(line)
}

fn looks_for_build(arguments: &Value) -> bool {
    let arguments = arguments.to_string().to_lowercase();
    BUILD_FILES.iter().any(|file| arguments.contains(file))
}

/// The texts in these arguments of a call of the memory tool.
fn texts(arguments: &Value, names: &[&str]) -> Vec<String> {
    let all = names.iter().filter_map(|name| arguments[*name].as_array()).flatten();
    let text = |line: &Value| line.as_str().or(line["text"].as_str()).map(str::to_owned);
    all.filter_map(text).collect()
}
