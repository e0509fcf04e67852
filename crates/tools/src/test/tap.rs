//! [`parse`]: parses the output of Node's own test runner: TAP version 13, with each failure as an indented block below
//! its line.
use super::report::Report;
use haft_core::TestFailure;

pub(super) fn parse(stdout: &str) -> Option<Report> {
    let count = |name: &str| {
        let prefix = format!("# {name} ");
        stdout.lines().rev().find_map(|line| line.strip_prefix(&prefix)?.trim().parse::<u64>().ok())
    };
    let (passed, failed) = (count("pass")?, count("fail")? + count("cancelled").unwrap_or_default());
    let skipped = count("skipped").unwrap_or_default() + count("todo").unwrap_or_default();
    let lines: Vec<&str> = stdout.lines().collect();
    let failures = lines.iter().enumerate().filter_map(|(at, line)| {
        let name = line.trim_start().strip_prefix("not ok ")?.split_once(" - ").map_or("", |(_, name)| name);
        if name.contains(" # TODO") || name.contains(" # SKIP") {
            return None;
        }
        let indent = line.len() - line.trim_start().len();
        explained(name, block(&lines[at + 1..], indent))
    });
    Some(Report { passed, failed, skipped, failures: failures.collect() })
}

/// The lines between `---` and `...`, without their indentation.
fn block<'a>(lines: &[&'a str], indent: usize) -> Vec<&'a str> {
    let inner = lines.iter().map(|line| line.get(indent + 2..).unwrap_or_default());
    inner.skip_while(|line| *line == "---").take_while(|line| *line != "...").collect()
}

/// The failure of a test; `None` for a group that failed only because a test inside it failed.
fn explained(name: &str, block: Vec<&str>) -> Option<TestFailure> {
    if field(&block, "failureType").is_some_and(|kind| kind == "subtestsFailed") {
        return None;
    }
    let location = field(&block, "location").unwrap_or_default();
    let mut parts = location.rsplitn(3, ':');
    let (_column, line, file) = (parts.next(), parts.next(), parts.next());
    // The given location is where the test begins; the stack contains where it failed.
    let stack = field(&block, "stack").unwrap_or_default();
    let deeper = file.and_then(|file| {
        let rest = &stack[stack.find(&format!("{file}:"))? + file.len() + 1..];
        rest.split(':').next()?.parse().ok()
    });
    let line = deeper.or_else(|| line.and_then(|line| line.parse().ok()));
    let message = field(&block, "error").unwrap_or_default();
    Some(TestFailure {
        name: name.to_owned(),
        file: file.map(str::to_owned),
        line,
        message: message.trim().to_owned(),
    })
}

/// `key: 'value'`, or `key: |-` and the value indented below it.
fn field(block: &[&str], key: &str) -> Option<String> {
    let at =
        block.iter().position(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))?;
    let value = block[at][key.len() + 1..].trim();
    if value != "|-" && value != "|" {
        return Some(value.trim_matches('\'').to_owned());
    }
    let inner = block[at + 1..].iter().take_while(|line| line.is_empty() || line.starts_with("  "));
    Some(inner.map(|line| line.trim_start_matches("  ")).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-13
    #[test]
    fn outputs_of_node_are_read() {
        insta::assert_debug_snapshot!("node", parse(include_str!("recorded/node.out")).unwrap());
        assert_eq!(parse("node: bad option: --test"), None);
    }
}
