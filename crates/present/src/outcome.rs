//! [`verdict`]: formats the outcome of a call in a few words. [`plan`]: the list of steps in a result.
use haft_core::{Plan, PlanStep, Report, StepStatus, ToolResult};

/// Returns the steps in `result`, each on one line that is safe to show.
pub fn plan(result: &ToolResult) -> Option<Plan> {
    let Plan { items } = result.plan().filter(|plan| !plan.items.is_empty())?;
    let shown = |step: PlanStep| {
        let text = crate::safe::text(step.text.trim()).replace('\n', " ");
        PlanStep { text, ..step }
    };
    Some(Plan { items: items.into_iter().map(shown).collect() })
}

/// Formats a step with its box in front.
pub fn step_line(step: &PlanStep) -> String {
    let sign = match step.status {
        StepStatus::Pending => '☐',
        StepStatus::InProgress => '◐',
        StepStatus::Done => '☑',
    };
    format!("{sign} {}", step.text)
}

/// Why a call failed: `2 failed, 14 passed`, `exit code 1`; for a command that was stopped, the reason.
pub fn verdict(result: &ToolResult) -> Option<String> {
    if result.went_well() {
        return None;
    }
    if !result.is_ok() {
        return stopped(result);
    }
    let (counts, code) = match result.report()? {
        Report::Tests(run) => (run.failed.zip(run.passed), None),
        Report::Command(run) => (None, run.exit_code),
        Report::Queued(_) => return Some("queued".to_owned()),
        Report::Plan(_) | Report::Subagent(_) | Report::Delivery(_) => return None,
    };
    let counts = counts.or_else(|| counted(&result.content)).filter(|(failed, _)| *failed > 0);
    let code = code.map(|code| format!("exit code {code}"));
    counts.map(|(failed, passed)| format!("{failed} failed, {passed} passed")).or(code)
}

/// Why a command was stopped after some output: `interrupted`, `timed out after 5 s`.
pub(crate) fn stopped(result: &ToolResult) -> Option<String> {
    let run = result.command()?;
    match run {
        _ if run.interrupted => Some("interrupted".into()),
        _ if run.timed_out => Some(run.error.unwrap_or_else(|| "timed out".into())),
        _ => None,
    }
}

/// Lines at the end of an output in which the counts of a test runner are searched.
const COUNTED_LINES: usize = 15;

/// The numbers of failed and passed tests, from the last line with `N failed`, whatever the words around it.
fn counted(output: &str) -> Option<(u64, u64)> {
    let before = |line: &str, word: &str| {
        let words: Vec<&str> =
            line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        words.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].parse().ok())
    };
    let mut lines = output.lines().rev().take(COUNTED_LINES);
    lines.find_map(|line| Some((before(line, "failed")?, before(line, "passed").unwrap_or_default())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn result(content: &str, details: Value) -> ToolResult {
        ToolResult { content: content.into(), details, ..ToolResult::default() }
    }

    #[test]
    fn what_went_wrong_is_told_in_numbers() {
        let code = |code: i64| json!({"exit_code": code});
        let table = [
            ("ok", code(0), None),
            ("no", code(2), Some("exit code 2")),
            ("=== 2 failed, 14 passed in 0.1s ===\n[exit code: 1]", code(1), Some("2 failed, 14 passed")),
            ("test result: FAILED. 14 passed; 2 failed; 0 ignored", code(101), Some("2 failed, 14 passed")),
            ("Tests:       1 failed, 3 total", code(1), Some("1 failed, 0 passed")),
            ("test result: ok. 3 passed; 0 failed", code(1), Some("exit code 1")),
            ("x", json!({"ok": false, "failed": 1, "passed": 2}), Some("1 failed, 2 passed")),
        ];
        for (content, details, expected) in table {
            assert_eq!(verdict(&result(content, details)).as_deref(), expected, "{content}");
        }
    }

    #[test]
    fn a_list_of_steps_has_boxes() {
        let items = json!({"items": [
            {"text": "find", "status": "done"}, {"text": "mend\nit", "status": "in_progress"},
            {"text": "test", "status": "pending"},
        ]});
        let plan = plan(&result("", items)).unwrap();
        let lines: Vec<String> = plan.items.iter().map(step_line).collect();
        assert_eq!(lines, ["☑ find", "◐ mend it", "☐ test"]);
        assert_eq!((plan.progress().as_str(), plan.current()), ("1 of 3 done", Some(&plan.items[1])));
        for other in
            [json!({"items": [1]}), json!({"items": []}), json!({"items": [{"status": "x", "text": ""}]})]
        {
            assert_eq!(super::plan(&result("", other)), None);
        }
    }
}
