//! [`steps`]: splits a request into steps: a small model can do only one at a time.
use super::words::{bare, is_file};

/// Words between two steps of a request. If two begin at the same position, the longer one comes first in this list.
const SEPARATORS: [&str; 6] = [" and then ", ", then ", "; then ", ". Then ", " then ", ". After that "];

/// The steps in the order of the request, each a request of its own.
pub(super) fn steps(wish: &str) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    let mut rest = wish;
    while !rest.trim().is_empty() {
        let found = SEPARATORS.iter().filter_map(|words| rest.find(words).map(|at| (at, words.len())));
        let (end, length) = found.min_by_key(|(at, _)| *at).unwrap_or((rest.len(), 0));
        let part = rest[..end].trim();
        rest = &rest[end + length..];
        if !part.is_empty() {
            steps.push(steps.last().map_or_else(|| part.to_owned(), |before| sentence(part, before)));
        }
    }
    steps
}

/// A step with a capital letter and a full stop. If it begins with a file, it gets the verb of the step before.
fn sentence(part: &str, before: &str) -> String {
    let first = |text: &str| text.split_whitespace().next().unwrap_or_default().to_owned();
    let mut step = match is_file(bare(&first(part))) {
        true => format!("{} {part}", first(before)),
        false => part.to_owned(),
    };
    if let Some(first) = step.chars().next() {
        step.replace_range(..first.len_utf8(), &first.to_uppercase().to_string());
    }
    if !step.ends_with(['.', '?', '!']) {
        step.push('.');
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_falls_into_its_steps() {
        let table: [(&str, &[&str]); 5] = [
            ("Read a.txt.", &["Read a.txt."]),
            ("Read a.txt and then b.txt.", &["Read a.txt", "Read b.txt."]),
            ("Read a.txt, then b.txt, then run c.", &["Read a.txt", "Read b.txt.", "Run c."]),
            (
                "Make a folder named x. Then list the files here",
                &["Make a folder named x", "List the files here."],
            ),
            ("", &[]),
        ];
        for (wish, expected) in table {
            assert_eq!(steps(wish), expected, "{wish}");
        }
    }
}
