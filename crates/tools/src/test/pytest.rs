//! [`parse`]: parses the output of `pytest --tb=short -rfEs`: sections of failures, a short summary, a last line with
//! counts.
use super::report::Report;
use haft_core::TestFailure;

pub(super) fn parse(stdout: &str) -> Option<Report> {
    let mut report = stdout.lines().rev().find_map(counts)?;
    let mut sections = sections(stdout);
    // The output of tests may look the same, but comes before the summary.
    let summary = stdout.rsplit_once("short test summary info").map_or("", |(_, summary)| summary);
    for line in summary.lines() {
        let Some((kind, rest)) = line.split_once(' ').filter(|(kind, _)| matches!(*kind, "FAILED" | "ERROR"))
        else {
            continue;
        };
        let (id, short) = rest.split_once(" - ").unwrap_or((rest, ""));
        let known = sections.iter().position(|section| section.is_of(kind, id));
        let section = known.map(|at| sections.remove(at));
        report.failures.push(section.map_or_else(|| plain(id, short), |section| section.failure(id, short)));
    }
    Some(report)
}

fn plain(id: &str, short: &str) -> TestFailure {
    let file = id.split("::").next().map(str::to_owned);
    TestFailure { name: id.to_owned(), file, line: None, message: short.to_owned() }
}

/// `== 4 failed, 2 passed, 1 skipped, 1 error in 0.03s ==`, with or without its frame. Errors count as failures: a test
/// that could not be set up, or a file that could not be loaded.
fn counts(line: &str) -> Option<Report> {
    let inner = line.trim_matches(|c| c == '=' || c == ' ');
    let (counts, time) = inner.rsplit_once(" in ")?;
    if !time.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut report = Report::default();
    if counts == "no tests ran" {
        return Some(report);
    }
    for count in counts.split(", ") {
        let (number, what) = count.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match what {
            "passed" | "xpassed" => report.passed += number,
            "failed" | "error" | "errors" => report.failed += number,
            "skipped" | "xfailed" | "deselected" => report.skipped += number,
            "warning" | "warnings" | "rerun" => {}
            _ => return None,
        }
    }
    Some(report)
}

/// The text below `____ TITLE ____`.
struct Section<'a> {
    title: &'a str,
    lines: Vec<&'a str>,
}

fn sections(stdout: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    let mut inside = false;
    for line in stdout.lines() {
        let title = line.strip_prefix('_').and_then(|rest| rest.strip_suffix('_'));
        let title = title
            .map(|rest| rest.trim_matches('_').trim())
            .filter(|title| !title.is_empty() && *title != "_ _");
        if let Some(title) = title.filter(|_| line.contains("_ ")) {
            inside = true;
            sections.push(Section { title, lines: Vec::new() });
        } else if line.starts_with("====") || line.starts_with("!!!!") {
            inside = false;
        } else if let (true, Some(section)) = (inside, sections.last_mut()) {
            section.lines.push(line);
        }
    }
    sections
}

impl Section<'_> {
    /// `file.py::Class::test[x]` is titled `Class.test[x]`; an error also names its phase.
    fn is_of(&self, kind: &str, id: &str) -> bool {
        let name = id.split_once("::").map_or_else(|| id.to_owned(), |(_, name)| name.replace("::", "."));
        let title = match kind {
            "ERROR" => self.title.strip_prefix("ERROR ").map(|rest| {
                rest.trim_start_matches("at setup of ")
                    .trim_start_matches("at teardown of ")
                    .trim_start_matches("collecting ")
            }),
            _ => Some(self.title),
        };
        title == Some(name.as_str())
    }

    fn failure(&self, id: &str, short: &str) -> TestFailure {
        let said: Vec<&str> = self
            .lines
            .iter()
            .filter_map(|line| line.strip_prefix("E "))
            .map(|line| line.strip_prefix("  ").unwrap_or(line))
            .collect();
        let message = if said.is_empty() { short.to_owned() } else { said.join("\n") };
        let failure = TestFailure { name: id.to_owned(), message, ..plain(id, short) };
        let mut places = self.lines.iter().filter_map(|line| place(line));
        match places.rfind(|place| !place.contains("site-packages")) {
            Some(place) => failure.at(place),
            None => failure,
        }
    }
}

/// `file.py:12: in name`.
fn place(line: &str) -> Option<&str> {
    let (place, _) = line.split_once(": in ")?;
    let (file, number) = place.rsplit_once(':')?;
    (!file.starts_with(' ') && number.parse::<u64>().is_ok()).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-13
    #[test]
    fn outputs_of_pytest_are_read() {
        let full = parse(include_str!("recorded/pytest.out")).unwrap();
        assert_eq!(parse(include_str!("recorded/pytest_quiet.out")), Some(full.clone()));
        insta::assert_debug_snapshot!("pytest", full);
        insta::assert_debug_snapshot!(
            "pytest_broken",
            parse(include_str!("recorded/pytest_broken.out")).unwrap()
        );
        let logs = parse(include_str!("recorded/pytest_log.out")).unwrap();
        let names: Vec<_> = logs.failures.iter().map(|failure| (&*failure.name, failure.line)).collect();
        let expected = [("test_log.py::test_logs", Some(7)), ("test_log_too.py::test_logs", Some(7))];
        assert_eq!((names, logs.failed), (expected.into(), 2));
        assert_eq!(parse(include_str!("recorded/pytest_none.out")), Some(Report::default()));
        assert_eq!(parse("No module named pytest"), None);
    }
}
