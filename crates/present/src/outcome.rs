//! [`verdict`]: shows the outcome of a call in a few words. [`Plan`]: the list of steps in a result.
use haft_core::ToolResult;
use serde_json::Value;

/// A list of steps, as a model keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan(pub Vec<Step>);

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is to be done.
    pub text: String,
    /// How far that is.
    pub state: StepState,
}

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// Not begun.
    Pending,
    /// At work.
    InProgress,
    /// Done.
    Done,
}

impl Plan {
    /// The list that `result` is: `items` among its fields, each with a text and a status.
    pub fn of(result: &ToolResult) -> Option<Self> {
        let items = result.details.get("items").filter(|_| result.is_ok())?.as_array()?;
        let steps: Option<Vec<Step>> = items.iter().map(step).collect();
        steps.filter(|steps| !steps.is_empty()).map(Self)
    }

    /// `1 of 3 done`.
    pub fn progress(&self) -> String {
        let done = self.0.iter().filter(|step| step.state == StepState::Done).count();
        format!("{done} of {} done", self.0.len())
    }

    /// What is at work; nothing once all is done.
    pub fn current(&self) -> Option<&Step> {
        let at = |state| self.0.iter().find(|step| step.state == state);
        at(StepState::InProgress).or_else(|| at(StepState::Pending))
    }
}

impl Step {
    /// With its box in front.
    pub fn line(&self) -> String {
        let sign = match self.state {
            StepState::Pending => '☐',
            StepState::InProgress => '◐',
            StepState::Done => '☑',
        };
        format!("{sign} {}", self.text)
    }
}

fn step(item: &Value) -> Option<Step> {
    let state = match item.get("status")?.as_str()? {
        "pending" => StepState::Pending,
        "in_progress" => StepState::InProgress,
        "done" => StepState::Done,
        _ => return None,
    };
    let text = crate::safe::text(item.get("text")?.as_str()?.trim()).replace('\n', " ");
    Some(Step { text, state })
}

/// Why a call did not go well: `2 failed, 14 passed`, `exit code 1`; of a command that was stopped, why.
pub fn verdict(result: &ToolResult) -> Option<String> {
    if result.went_well() {
        return None;
    }
    if !result.is_ok() {
        return stopped(result);
    }
    let count = |name: &str| result.details.get(name).and_then(Value::as_u64);
    let counts = match (count("failed"), count("passed")) {
        (Some(failed), Some(passed)) => Some((failed, passed)),
        _ => counted(&result.content),
    };
    let counts = counts.filter(|(failed, _)| *failed > 0);
    let code = result.details.get("exit_code").and_then(Value::as_i64);
    let code = code.map(|code| format!("exit code {code}"));
    counts.map(|(failed, passed)| format!("{failed} failed, {passed} passed")).or(code)
}

/// Why a command was stopped that had said something until then: `interrupted`, `timed out after 5 s`.
pub(crate) fn stopped(result: &ToolResult) -> Option<String> {
    let is = |name: &str| result.details.get(name).and_then(Value::as_bool) == Some(true);
    match (is("interrupted"), is("timed_out")) {
        (true, _) => Some("interrupted".into()),
        (_, true) => Some(result.details.get("error").and_then(Value::as_str).unwrap_or("timed out").into()),
        _ => None,
    }
}

/// Lines at the end of an output in which a test runner prints its counts.
const COUNTED_LINES: usize = 15;

/// How many tests failed and passed, by the last line that says so: `2 failed`, in whatever words around it.
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
    use serde_json::json;

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
        let plan = Plan::of(&result("", items)).unwrap();
        let lines: Vec<String> = plan.0.iter().map(Step::line).collect();
        assert_eq!(lines, ["☑ find", "◐ mend it", "☐ test"]);
        assert_eq!((plan.progress().as_str(), plan.current()), ("1 of 3 done", Some(&plan.0[1])));
        for other in
            [json!({"items": [1]}), json!({"items": []}), json!({"items": [{"status": "x", "text": ""}]})]
        {
            assert_eq!(Plan::of(&result("", other)), None);
        }
    }
}
