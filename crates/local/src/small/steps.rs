//! A request of several steps, one at a time: a small model does the one that it has before its eyes.
use super::words::{bare, is_file};

/// What stands between two steps of one request.
const BETWEEN: [&str; 9] = [
    " and then ",
    ", then ",
    "; then ",
    ". Then ",
    " then ",
    ". After that ",
    ", after that ",
    ", next ",
    " and finally ",
];

/// The steps in the order of the request, each a request of its own.
pub(super) fn steps(wish: &str) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    for part in parts(wish) {
        let step = match steps.last() {
            Some(before) => whole(part, before),
            None => part.to_owned(),
        };
        steps.push(step);
    }
    steps
}

fn parts(wish: &str) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), wish);
    while let Some((at, words)) = first_between(rest) {
        parts.push(rest[..at].trim());
        rest = &rest[at + words.len()..];
    }
    parts.push(rest.trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// The first of the words in the text, and of those that begin there the longest.
fn first_between(text: &str) -> Option<(usize, &'static str)> {
    let found = BETWEEN.iter().filter_map(|words| text.find(words).map(|at| (at, *words)));
    found.min_by_key(|(at, words)| (*at, usize::MAX - words.len()))
}

/// A step with a capital letter and a full stop; one that begins with a file has the verb of the step before.
fn whole(part: &str, before: &str) -> String {
    let begins_with_file = part.split_whitespace().next().is_some_and(|word| is_file(bare(word)));
    let verb = before.split_whitespace().next().unwrap_or_default();
    let mut step = if begins_with_file { format!("{verb} {part}") } else { part.to_owned() };
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
        let table: [(&str, &[&str]); 6] = [
            ("Read a.txt.", &["Read a.txt."]),
            ("Read a.txt and then b.txt.", &["Read a.txt", "Read b.txt."]),
            ("Read a.txt, then b.txt, then run c.", &["Read a.txt", "Read b.txt.", "Run c."]),
            (
                "Make a folder named x. Then list the files here",
                &["Make a folder named x", "List the files here."],
            ),
            ("then ", &["then"]),
            ("", &[]),
        ];
        for (wish, expected) in table {
            assert_eq!(steps(wish), expected, "{wish}");
        }
    }
}
