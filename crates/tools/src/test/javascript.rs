//! [`jest`] and [`mocha`]: parse the JSON output of vitest, jest and mocha.
use super::report::Report;
use haft_core::TestFailure;
use serde_json::Value;

/// Parses the output of jest, and that of vitest, which has the same format.
pub(super) fn jest(stdout: &str) -> Option<Report> {
    let all = object(stdout, "numTotalTests")?;
    let number = |name: &str| all[name].as_u64().unwrap_or_default();
    let mut report = Report {
        passed: number("numPassedTests"),
        failed: number("numFailedTests"),
        skipped: number("numPendingTests") + number("numTodoTests"),
        failures: Vec::new(),
    };
    for file in all["testResults"].as_array()? {
        let path = file["name"].as_str().unwrap_or_default();
        let tests = file["assertionResults"].as_array().map(Vec::as_slice).unwrap_or_default();
        let failed = tests.iter().filter(|test| test["status"] == "failed");
        let before = report.failures.len();
        report.failures.extend(failed.map(|test| {
            let messages = test["failureMessages"].as_array().map(Vec::as_slice).unwrap_or_default();
            let messages: Vec<&str> = messages.iter().filter_map(Value::as_str).collect();
            failure(test["fullName"].as_str().unwrap_or_default(), path, &messages.join("\n"))
        }));
        if file["status"] == "failed" && report.failures.len() == before {
            report.failures.push(failure(
                path.rsplit('/').next().unwrap_or(path),
                path,
                file["message"].as_str().unwrap_or_default(),
            ));
        }
    }
    Some(report)
}

pub(super) fn mocha(stdout: &str) -> Option<Report> {
    let all = object(stdout, "stats")?;
    let number = |name: &str| all["stats"][name].as_u64().unwrap_or_default();
    let failures = all["failures"].as_array()?.iter().map(|test| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (error, file) = (&test["err"], text(&test["file"]));
        let failure = failure(&text(&test["fullTitle"]), &file, &text(&error["stack"]));
        TestFailure { file: Some(file), ..failure }
    });
    let (passed, failed, skipped) = (number("passes"), number("failures"), number("pending"));
    Some(Report { passed, failed, skipped, failures: failures.collect() })
}

/// The object with this key, whatever text a script printed around it.
fn object(stdout: &str, key: &str) -> Option<Value> {
    let starts = stdout.match_indices('{').filter(|(at, _)| *at == 0 || stdout[..*at].ends_with('\n'));
    starts.map(|(at, _)| &stdout[at..]).find_map(|text| {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        values.next()?.ok().filter(|value| value.get(key).is_some())
    })
}

/// The message before the stack, and the location in the stack that is in the test's own file.
fn failure(name: &str, path: &str, text: &str) -> TestFailure {
    let is_frame = |line: &&str| line.trim_start().starts_with("at ");
    let base = path.rsplit('/').next().unwrap_or(path);
    let line = text.lines().filter(is_frame).find_map(|line| {
        let rest = &line[line.find(&format!("{base}:"))? + base.len() + 1..];
        rest.split(':').next()?.trim_end_matches(')').parse::<u64>().ok()
    });
    let message: Vec<&str> = text.lines().take_while(|line| !is_frame(line)).collect();
    let message = message.join("\n").trim().to_owned();
    TestFailure { name: name.to_owned(), file: Some(path.to_owned()), line, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-13
    #[test]
    fn outputs_of_vitest_jest_and_mocha_are_read() {
        insta::assert_debug_snapshot!("vitest", jest(include_str!("recorded/vitest.out")).unwrap());
        insta::assert_debug_snapshot!("jest", jest(include_str!("recorded/jest.out")).unwrap());
        insta::assert_debug_snapshot!("mocha", mocha(include_str!("recorded/mocha.out")).unwrap());
        let around = format!("> lint\n{{not JSON\n{}\nbye", include_str!("recorded/mocha.out"));
        assert_eq!(mocha(&around).unwrap().failed, 1);
        assert_eq!((jest("sh: jest: not found"), mocha("{}")), (None, None));
    }
}
