//! [`parse`]: parses the output of `cargo test`: that of libtest on standard output, and that of the compiler on
//! standard error.
use super::report::Report;
use haft_core::TestFailure;

pub(super) fn parse(stdout: &str, stderr: &str) -> Option<Report> {
    let mut report = Report::default();
    let mut suites = 0;
    for line in stdout.lines() {
        if let Some(counts) = line.strip_prefix("test result: ") {
            suites += 1;
            count(counts, &mut report);
        }
    }
    report.failures = sections(stdout);
    // A test may also print text that looks like an error of the compiler.
    if suites == 0 || stderr.contains("error: could not compile") {
        report.failures.extend(compile_errors(stderr));
    }
    (suites > 0 || !report.failures.is_empty()).then_some(report)
}

/// `FAILED. 1 passed; 3 failed; 1 ignored; …`
fn count(counts: &str, report: &mut Report) {
    let words: Vec<&str> = counts.split([' ', ';']).filter(|word| !word.is_empty()).collect();
    for pair in words.windows(2) {
        let Ok(number) = pair[0].parse::<u64>() else { continue };
        match pair[1] {
            "passed" => report.passed += number,
            "failed" => report.failed += number,
            "ignored" => report.skipped += number,
            _ => {}
        }
    }
}

/// `---- NAME stdout ----`, then what the test printed until the next heading or the list of names.
fn sections(stdout: &str) -> Vec<TestFailure> {
    let mut failures: Vec<TestFailure> = Vec::new();
    let mut inside = false;
    for line in stdout.lines() {
        let name = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
        if let Some(name) = name {
            inside = true;
            failures.push(TestFailure { name: name.to_owned(), ..TestFailure::default() });
        } else if line == "failures:" || line.starts_with("test result: ") {
            inside = false;
        } else if let (true, Some(failure)) = (inside, failures.last_mut()) {
            failure.message += line;
            failure.message.push('\n');
        }
    }
    failures.into_iter().map(explained).collect()
}

/// The location, and the message without the text around it.
fn explained(failure: TestFailure) -> TestFailure {
    let text = failure.message.trim().to_owned();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.retain(|line| !line.starts_with("note: run with `RUST_BACKTRACE"));
    let panic = lines.iter().rposition(|line| line.starts_with("thread '") && line.contains(" panicked at "));
    let Some(panic) = panic else {
        let place =
            lines.iter().find_map(|line| line.rsplit_once(" at ").filter(|_| line.starts_with("note: ")));
        let place = place.map(|(_, place)| place.to_owned());
        let failure = TestFailure { message: text, ..failure };
        return match place {
            Some(place) => failure.at(&place),
            None => failure,
        };
    };
    let place =
        lines[panic].rsplit_once(" panicked at ").map_or("", |(_, place)| place).trim_end_matches(':');
    let message = lines[panic + 1..].join("\n");
    TestFailure { message: message.trim().to_owned(), ..failure }.at(place)
}

/// `error[E0425]: …` and, below it, ` --> FILE:LINE:COLUMN`. Leaves out messages of cargo about whole crates.
fn compile_errors(stderr: &str) -> Vec<TestFailure> {
    let mut failures: Vec<TestFailure> = Vec::new();
    for block in stderr.split("\n\n") {
        let lines: Vec<&str> = block.lines().skip_while(|line| !is_error(line)).collect();
        let Some(place) = lines.iter().find_map(|line| line.trim_start().strip_prefix("--> ")) else {
            continue;
        };
        let failure =
            TestFailure { name: "build".into(), message: lines.join("\n"), ..TestFailure::default() };
        let failure = failure.at(place);
        // The library and the tests are compiled separately, and may report the same error.
        if !failures.contains(&failure) {
            failures.push(failure);
        }
    }
    failures
}

fn is_error(line: &str) -> bool {
    line.starts_with("error[") || line.starts_with("error: ")
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-13
    #[test]
    fn outputs_of_cargo_are_read() {
        let table = [
            ("failures", include_str!("recorded/cargo.out"), include_str!("recorded/cargo.err")),
            ("broken", include_str!("recorded/cargo_broken.out"), include_str!("recorded/cargo_broken.err")),
            ("none", include_str!("recorded/cargo_none.out"), include_str!("recorded/cargo_none.err")),
        ];
        for (name, stdout, stderr) in table {
            insta::assert_debug_snapshot!(format!("cargo_{name}"), parse(stdout, stderr).unwrap());
        }
        assert_eq!(parse("", "error: could not find `Cargo.toml`\n"), None);
    }
}
