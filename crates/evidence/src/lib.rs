//! [`ClaimChecker`]: checks what a reply claims against what the journal shows.
//!
//! `claims.rs` finds the claims in a reply's text, `success.rs` has the expressions for "it works", `red.rs` finds the
//! tests that fail because of the work, and this file looks for the calls that prove a claim.
mod claims;
mod red;
mod success;

use claims::{Claim, Deed, claims};
use haft_core::{
    CallId, Change, Changed, Entry, Evidence, Fact, Report, Seq, ToolResult, Tracking, active_path, text_of,
};
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::Arc,
};

/// The [`Evidence`] that Haft uses: finds claims in replies, and looks for the calls that prove them.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClaimChecker;

impl Evidence for ClaimChecker {
    fn unproven(&self, entries: &[Arc<Entry>], check: Option<&str>) -> Vec<String> {
        unproven(entries, check)
    }

    fn failing_tests(&self, path: &[&Arc<Entry>]) -> Vec<String> {
        red::failing(path)
    }
}

/// A run of tests that a session recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedTests {
    /// The entry in which it ended.
    pub seq: Seq,
    /// The command line; the name of the tool if it took none.
    pub command: String,
    /// Whether it succeeded.
    pub ok: bool,
}

/// Returns the runs of tests in `entries`, in order.
#[must_use]
pub fn test_runs(entries: &[Arc<Entry>]) -> Vec<RecordedTests> {
    let mut started = HashMap::new();
    let mut runs = Vec::new();
    for entry in entries {
        match &entry.fact {
            Fact::ToolStarted { call, name, arguments, how, .. } => {
                started.insert(call, (name, words(arguments), *how));
            }
            Fact::ToolEnded { call, result, .. } => {
                let Some((name, words, how)) = started.remove(call) else { continue };
                let mut done = Done::default();
                done.end(name, &words, (how, false), result);
                let Some(run) = done.calls.pop().filter(Call::runs_tests) else { continue };
                let command = if run.words.is_empty() { run.name } else { run.words };
                runs.push(RecordedTests { seq: entry.seq, command, ok: run.went_well });
            }
            _ => {}
        }
    }
    runs
}

/// The claims of the last reply that the session does not prove, each in the reply's own words with what is missing.
/// `check`: the command that proves the work; if it is not set, any run of tests does.
fn unproven(entries: &[Arc<Entry>], check: Option<&str>) -> Vec<String> {
    let path = active_path(entries);
    let facts: Vec<&Fact> = path.iter().map(|entry| &entry.fact).collect();
    let last = facts.iter().rev().find_map(|fact| match fact {
        Fact::Replied { parts, .. } => Some(text_of(parts)),
        _ => None,
    });
    let deeds = Done { check: check.map(normal), ..done(&facts) };
    let unproven = claims(&last.unwrap_or_default()).into_iter().filter(|claim| !deeds.show(&claim.what));
    unproven.map(|Claim { what, words }| format!("\"{words}\": {}", missing(&what, check))).collect()
}

fn missing(what: &Deed, check: Option<&str>) -> String {
    match what {
        Deed::TestsPass | Deed::Works => match check {
            Some(check) => format!("`{check}` did not succeed after the last change, or was not run"),
            None => "no run of tests succeeded after the last change, or the last one did not".into(),
        },
        Deed::RanTests => "no run of tests is recorded".into(),
        Deed::Ran(command) => format!("no call ran `{command}`"),
        Deed::Wrote(file) => format!("no call changed `{file}`"),
        Deed::Deleted(file) => format!("no call deleted `{file}`"),
        Deed::Committed => "no call made a commit".into(),
        Deed::Pushed => "no call pushed".into(),
    }
}

/// The calls and changes of a session.
#[derive(Default)]
struct Done {
    calls: Vec<Call>,
    /// Paths that were changed, and whether they exist since then.
    changes: Vec<(String, bool)>,
    /// Claims of subagents, each with the position of its call.
    hearsay: Vec<(Deed, usize)>,
    /// How many calls there were before this turn.
    before: usize,
    /// The command that proves the work.
    check: Option<String>,
}

struct Call {
    name: String,
    /// The texts of its arguments and its command line, in lower case, a space between two words.
    words: String,
    went_well: bool,
    /// Whether it ran a program.
    is_command: bool,
    /// Whether it may have had effects that were not recorded.
    is_untracked: bool,
    /// Whether it changed files on record.
    has_changed: bool,
    /// The failed tests, if the call ran tests.
    failed: Option<Vec<String>>,
}

fn done(facts: &[&Fact]) -> Done {
    let changed = Changed::of(facts.iter().copied());
    let steps = changed.steps();
    let steps = steps.map(|step| (step.path.to_string_lossy().into_owned(), step.after.is_some()));
    let mut done = Done { changes: steps.collect(), ..Done::default() };
    let mut started: HashMap<&CallId, (&str, String, Tracking)> = HashMap::new();
    let mut jobs: HashMap<&str, (&str, Tracking)> = HashMap::new();
    let mut staged: HashSet<&CallId> = HashSet::new();
    for fact in facts {
        match fact {
            Fact::ToolStarted { call, name, arguments, how, .. } => {
                started.insert(call, (name, words(arguments), *how));
            }
            Fact::ToolEnded { call, result, .. } => {
                let Some((name, words, how)) = started.remove(call) else { continue };
                done.end(name, &words, (how, staged.contains(call)), result);
            }
            Fact::Staged { call, changes, .. } | Fact::SubagentChanged { call, changes, .. } => {
                let is_work = |change: &Change| !change.path.starts_with(".git");
                staged.extend(changes.iter().any(is_work).then_some(call));
            }
            Fact::Prompted { .. } => done.before = done.calls.len(),
            Fact::TaskStarted { task: job, title, how } => {
                jobs.insert(&job.0, (title.as_str(), *how));
            }
            Fact::TaskEnded { task: job, result } => {
                let (title, how) = jobs.get(job.0.as_str()).copied().unwrap_or(("", Tracking::Untracked));
                done.end("", title, (how, staged.contains(&job.call())), result);
            }
            _ => {}
        }
    }
    done
}

/// All texts in a value.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => format!(" {text}"),
        Value::Array(values) => values.iter().map(words).collect(),
        Value::Object(fields) => fields.values().map(words).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// Commands that only read.
const READING_COMMANDS: &[&str] = &[
    "ls", "cat", "head", "tail", "grep", "rg", "find", "pwd", "wc", "which", "echo", "stat", "file", "du",
    "df", "date", "sleep", "true", "cd", "tree", "whoami", "env", "printenv", "diff", "sort", "uniq", "less",
];
/// Words of a command that runs tests.
const TEST_WORDS: &[&str] = &[
    "test",
    "tests",
    "pytest",
    "jest",
    "vitest",
    "mocha",
    "nextest",
    "rspec",
    "phpunit",
    "ctest",
    "tox",
    "nox",
    "unittest",
    "check",
    "verify",
    "spec",
    "ava",
    "karma",
    "cypress",
    "playwright",
    "gotestsum",
    "run_tests",
];

impl Done {
    fn end(&mut self, name: &str, words: &str, (how, has_changed): (Tracking, bool), result: &ToolResult) {
        let report = result.report();
        let went_well = result.went_well();
        let command = match &report {
            Some(Report::Tests(run)) => run.command.as_str(),
            _ => "",
        };
        let has_run =
            matches!(&report, Some(Report::Command(run)) if run.exit_code.is_some() || run.timed_out);
        if matches!(&report, Some(Report::Subagent(_))) && went_well {
            let place = self.calls.len();
            self.hearsay.extend(claims(&result.content).into_iter().map(|claim| (claim.what, place)));
        }
        let is_untracked = how == Tracking::Untracked;
        let mut call = Call {
            name: name.to_lowercase(),
            words: normal(&format!("{words} {command}")),
            went_well,
            is_command: is_untracked || has_run,
            is_untracked,
            has_changed,
            failed: None,
        };
        call.failed = red::failed_in(&call, result);
        self.calls.push(call);
    }

    fn show(&self, what: &Deed) -> bool {
        let some = |shows: &dyn Fn(&Call) -> bool| self.calls.iter().any(shows);
        let shown = match what {
            Deed::TestsPass => self.are_tests_green(),
            Deed::Works => !self.has_changed_in_turn() || self.are_tests_green(),
            Deed::RanTests => some(&Call::runs_tests),
            Deed::Ran(command) => some(&|call| call.ran(&normal(command))),
            Deed::Wrote(file) => self.touched(file, true) || some(&|call| call.may_have_touched()),
            Deed::Deleted(file) => self.touched(file, false) || some(&|call| call.may_have_touched()),
            Deed::Committed => {
                some(&|call| call.went_well && call.has(&["commit", "merge", "rebase", "cherry-pick"]))
            }
            Deed::Pushed => some(&|call| call.went_well && call.has(&["push"])),
        };
        let last_change = self.last_change().unwrap_or_default();
        let is_it = |(deed, place): &(Deed, usize)| match deed {
            Deed::TestsPass | Deed::Works => deed == what && *place >= last_change,
            deed => deed == what,
        };
        shown || self.hearsay.iter().any(is_it)
    }

    /// Whether the last run of tests succeeded and came after the last change.
    fn are_tests_green(&self) -> bool {
        let is_check = |call: &Call| match &self.check {
            Some(check) => call.runs(check),
            None => call.runs_tests(),
        };
        let last = self.calls.iter().rposition(is_check);
        last.is_some_and(|last| {
            self.calls[last].went_well && self.last_change().is_none_or(|change| change <= last)
        })
    }

    /// The place of the last call that changed files.
    fn last_change(&self) -> Option<usize> {
        self.calls.iter().rposition(Call::changes_files)
    }

    fn has_changed_in_turn(&self) -> bool {
        self.last_change().is_some_and(|change| change >= self.before)
    }

    /// Whether a recorded change is one of `file`, which may be named with or without its folders. If `is_there` is
    /// false, only removals and moves away count.
    fn touched(&self, file: &str, is_there: bool) -> bool {
        let is_it = |path: &str| {
            Path::new(&path.to_lowercase()).ends_with(file.to_lowercase()) || file.ends_with(path)
        };
        self.changes.iter().any(|(path, there)| is_it(path) && (is_there || !there))
    }
}

impl Call {
    /// Whether `command` was run: `cargo test` is run by that command line, or by a tool `cargo` with the argument
    /// `test`.
    fn ran(&self, command: &str) -> bool {
        format!("{} {}", self.name, self.words).contains(command)
    }

    /// Whether one of the commands that it ran is `command`, possibly followed by more words.
    fn runs(&self, command: &str) -> bool {
        let is_it = |run: &str| {
            run.strip_prefix(command).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        let is_run = self.is_command || TEST_WORDS.contains(&self.name.as_str());
        // A check of several commands is compared with the whole line.
        is_run && (self.commands().any(is_it) || is_it(&self.words))
    }

    /// Whether the call is for one of `wanted`: by a word of its command line, otherwise by its first argument.
    fn has(&self, wanted: &[&str]) -> bool {
        let is_wanted = |word: &str| wanted.contains(&word);
        match self.is_command {
            true => self.words.split([' ', ';', '&', '|']).any(is_wanted),
            false => self.words.split(' ').next().is_some_and(is_wanted),
        }
    }

    /// Whether the call runs tests. Reading tests, or mentioning them in a message, does not count.
    fn runs_tests(&self) -> bool {
        let is_test = |command: &str| {
            let mut words = words_of(command);
            let first = words.clone().next().unwrap_or_default();
            !READING_COMMANDS.contains(&first)
                && first != "git"
                && words.any(|word| TEST_WORDS.contains(&word.trim_end_matches(':')))
        };
        TEST_WORDS.contains(&self.name.as_str()) || (self.is_command && self.commands().any(is_test))
    }

    /// Whether it may have changed files that were not recorded.
    fn may_have_touched(&self) -> bool {
        let looks = |command: &str| {
            READING_COMMANDS.contains(&words_of(command).next().unwrap_or_default()) && !command.contains('>')
        };
        self.is_untracked && !self.commands().all(looks)
    }

    /// Whether it changed files that affect tests: Git's own files and the output of test runs do not count.
    fn changes_files(&self) -> bool {
        let is_git =
            self.name == "git" || self.commands().all(|command| words_of(command).next() == Some("git"));
        self.has_changed || (self.may_have_touched() && !self.runs_tests() && !is_git)
    }

    /// Whether it changed files, or may have.
    fn may_have_changed(&self) -> bool {
        self.has_changed || self.may_have_touched()
    }

    fn commands(&self) -> impl Iterator<Item = &str> {
        self.words.split([';', '&', '|']).map(str::trim).filter(|command| !command.is_empty())
    }
}

/// The words of a command, without programs that only run it, each reduced to the last part of its path.
fn words_of(command: &str) -> impl Iterator<Item = &str> + Clone {
    let is_shell = |word: &str| word.len() <= 4 && word.ends_with("sh");
    let runs_another = move |word: &&str| {
        is_shell(word)
            || word.starts_with('-')
            || word.contains('=')
            || ["sudo", "time", "env"].contains(word)
    };
    command.split(' ').filter_map(|word| word.rsplit('/').next()).skip_while(runs_another)
}

fn normal(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}
