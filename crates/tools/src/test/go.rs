//! [`parse`]: parses the output of `go test -json`: one event per line. Packages that do not build are reported there
//! as well, or on standard error.
use super::report::Report;
use haft_core::TestFailure;
use serde::Deserialize;
use std::collections::BTreeMap;

/// An event, see `go doc test2json`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: String,
    test: Option<String>,
    #[serde(default)]
    output: String,
}

pub(super) fn parse(stdout: &str, stderr: &str) -> Option<Report> {
    let events = || stdout.lines().filter_map(|line| serde_json::from_str::<Event>(line).ok());
    let mut outputs: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut report = Report::default();
    let mut any = false;
    // Up to Go 1.23 the compiler prints to standard error.
    let mut compiler = stderr.to_owned();
    for event in events() {
        any = true;
        if event.action == "build-output" {
            compiler += &event.output;
        }
        let Some(test) = event.test else { continue };
        let key = (event.package, test);
        match event.action.as_str() {
            "output" => *outputs.entry(key).or_default() += &event.output,
            "pass" => report.passed += 1,
            "skip" => report.skipped += 1,
            "fail" => {
                report.failed += 1;
                report.failures.push(TestFailure { name: key.1, message: key.0, ..TestFailure::default() });
            }
            _ => {}
        }
    }
    without_parents(&mut report);
    for failure in &mut report.failures {
        let output = outputs.remove(&(std::mem::take(&mut failure.message), failure.name.clone()));
        *failure = explained(failure.clone(), &output.unwrap_or_default());
    }
    report.failures.extend(build_errors(&compiler));
    (any || !report.failures.is_empty()).then_some(report)
}

/// Removes tests that failed only because a subtest failed.
fn without_parents(report: &mut Report) {
    let names: Vec<(String, String)> =
        report.failures.iter().map(|failure| (failure.message.clone(), failure.name.clone())).collect();
    let is_parent = |failure: &TestFailure| {
        let inside = format!("{}/", failure.name);
        names.iter().any(|(package, name)| *package == failure.message && name.starts_with(&inside))
    };
    report.failures.retain(|failure| !is_parent(failure));
    report.failed = report.failures.len() as u64;
}

/// The message of the test itself, and its location: ` FILE_test.go:12: message`, or the panic.
fn explained(failure: TestFailure, output: &str) -> TestFailure {
    let marks = ["=== RUN", "=== PAUSE", "=== CONT", "=== NAME", "--- FAIL", "--- PASS", "--- SKIP"];
    let said: Vec<&str> =
        output.lines().filter(|line| !marks.iter().any(|mark| line.trim_start().starts_with(mark))).collect();
    let panics = said.iter().any(|line| line.starts_with("panic: "));
    let place = match panics {
        true => said.iter().rev().find_map(|line| source(line.trim())),
        // Other log lines may come first; usually the last one says why it failed.
        false => said.iter().rev().find_map(|line| line.strip_prefix("    ").and_then(source)),
    };
    let message =
        said.iter().map(|line| line.strip_prefix("    ").unwrap_or(line)).collect::<Vec<_>>().join("\n");
    let message = match message.split_once("\n\ngoroutine ") {
        Some((panic, _)) => panic.to_owned(),
        None => message,
    };
    let failure = TestFailure { message: message.trim().to_owned(), ..failure };
    match place {
        Some(place) => failure.at(place),
        None => failure,
    }
}

/// `FILE_test.go:LINE` at the beginning of a line.
fn source(line: &str) -> Option<&str> {
    let end = line.find("_test.go:")? + "_test.go:".len();
    let digits = line[end..].find(|c: char| !c.is_ascii_digit()).map_or(line.len(), |at| end + at);
    (digits > end && !line[..end].contains(' ')).then(|| &line[..digits])
}

/// `# PACKAGE`, then `FILE:LINE:COLUMN: message`.
fn build_errors(stderr: &str) -> Vec<TestFailure> {
    let mut package = "build";
    let mut failures = Vec::new();
    for line in stderr.lines() {
        if let Some(name) = line.strip_prefix("# ") {
            package = name.split(' ').next().unwrap_or(name);
            continue;
        }
        let mut parts = line.splitn(4, ':');
        let (file, number) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if !file.ends_with(".go") || number.parse::<u64>().is_err() {
            continue;
        }
        let (column, message) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let message = if message.is_empty() { column.trim() } else { message.trim() };
        let failure =
            TestFailure { name: package.to_owned(), message: message.to_owned(), ..TestFailure::default() };
        failures.push(failure.at(&format!("{file}:{number}")));
    }
    failures
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-13
    #[test]
    fn outputs_of_go_are_read() {
        let report = parse(include_str!("recorded/go.out"), include_str!("recorded/go.err")).unwrap();
        insta::assert_debug_snapshot!("go", report);
        let built = r##"{"ImportPath":"a","Action":"build-output","Output":"# a\n"}
            {"ImportPath":"a","Action":"build-output","Output":"a_test.go:5:3: undefined: x\n"}
            {"ImportPath":"a","Action":"build-fail"}"##;
        let failure = parse(built, "").unwrap().failures.remove(0);
        assert_eq!(
            (failure.name.as_str(), failure.line, failure.message.as_str()),
            ("a", Some(5), "undefined: x")
        );
        assert_eq!(parse("", "go: cannot find main module\n"), None);
        assert_eq!(parse("no JSON\n", ""), None);
    }
}
