//! [`failing`]: finds tests that fail because of the work: tests that fail in the last run, but not before the first
//! change.
use super::{Call, done, words_of};
use haft_core::{Entry, Fact, Report, TestRun, ToolResult};
use std::sync::Arc;

/// Programs whose exit code is the result of tests. `test` alone is a shell builtin, and `mkdir test` runs no tests.
const TEST_RUNNERS: &[&str] = &[
    "ava",
    "bun",
    "bundle",
    "cargo",
    "ctest",
    "deno",
    "dotnet",
    "go",
    "gotestsum",
    "gradle",
    "gradlew",
    "jest",
    "make",
    "mocha",
    "mvn",
    "node",
    "nox",
    "npm",
    "npx",
    "phpunit",
    "pnpm",
    "pytest",
    "python",
    "python3",
    "rake",
    "rspec",
    "tox",
    "vitest",
    "yarn",
];

/// The tests that failed in the last run and in no run before the first change; by name, if the run has names.
pub(super) fn failing(path: &[&Arc<Entry>]) -> Vec<String> {
    let facts: Vec<&Fact> = path.iter().map(|entry| &entry.fact).collect();
    let calls = done(&facts).calls;
    let first_change = calls.iter().position(|call| call.failed.is_none() && call.may_have_changed());
    let runs = || calls.iter().enumerate().filter_map(|(place, call)| Some((place, call.failed.as_ref()?)));
    let before: Vec<&String> = runs()
        .take_while(|(place, _)| first_change.is_none_or(|first| *place < first))
        .flat_map(|(_, failed)| failed)
        .collect();
    let last = runs().next_back().map(|(_, failed)| failed.as_slice()).unwrap_or_default();
    last.iter().filter(|name| !before.contains(name)).cloned().collect()
}

/// The tests that failed in a run; `None` if the call was not a test run, or its result is unknown. Tests that timed
/// out count as failed.
pub(super) fn failed_in(call: &Call, result: &ToolResult) -> Option<Vec<String>> {
    match result.report()? {
        Report::Tests(run) if run.ok => Some(Vec::new()),
        Report::Tests(run) => failures(&run),
        Report::Command(run) => {
            let runs =
                |command: &str| words_of(command).next().is_some_and(|first| TEST_RUNNERS.contains(&first));
            let passed = !run.timed_out && run.exit_code? == 0;
            let is_run = call.runs_tests() && call.commands().any(runs);
            is_run.then(|| if passed { Vec::new() } else { vec![format!("`{}`", call.words)] })
        }
        Report::Plan(_) | Report::Subagent(_) | Report::Delivery(_) | Report::Queued(_) => None,
    }
}

fn failures(run: &TestRun) -> Option<Vec<String>> {
    let names: Vec<String> = run.failures.iter().map(|failure| format!("`{}`", failure.name)).collect();
    let is_nothing = run.parsed && run.passed.unwrap_or_default() + run.failed.unwrap_or_default() == 0;
    match names.is_empty() {
        true if is_nothing => None,
        true => Some(vec![format!("`{}`", run.command)]),
        false => Some(names),
    }
}
