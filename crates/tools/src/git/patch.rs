//! [`parse`]: parses `git diff --numstat --patch`: the number of changed lines of each file, then the patch.
use super::{PATCH_CLIP, repository::Answer};
use haft_core::ToolOutput;
use serde::Serialize;
use serde_json::json;

/// Lines added to and removed from a file. Both are missing for a file that is not text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Count {
    path: String,
    added: Option<u64>,
    removed: Option<u64>,
}

/// `ADDED TAB REMOVED TAB PATH` for each file, an empty line, the patch.
pub(super) fn parse(text: &str) -> (Vec<Count>, &str) {
    let mut counts = Vec::new();
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n') {
        let Some(count) = count(line) else { break };
        counts.push(count);
        rest = after;
    }
    (counts, rest.trim_start_matches('\n'))
}

fn count(line: &str) -> Option<Count> {
    let mut fields = line.splitn(3, '\t');
    let mut number = || fields.next().map(|field| field.parse::<u64>().ok());
    let (added, removed) = (number()?, number()?);
    Some(Count { path: fields.next()?.to_owned(), added, removed })
}

/// `2 files, +10 -3`.
fn summary(counts: &[Count]) -> String {
    let sum = |of: fn(&Count) -> Option<u64>| counts.iter().filter_map(of).sum::<u64>();
    let files = if counts.len() == 1 { "1 file".to_owned() } else { format!("{} files", counts.len()) };
    format!("{files}, +{} -{}", sum(|count| count.added), sum(|count| count.removed))
}

/// The result of a diff; `before` precedes the patch, `nothing` replaces an empty one, `note` follows it.
pub(super) fn output(answer: &Answer, before: &str, nothing: &str, note: &str) -> ToolOutput {
    let (counts, patch) = parse(&answer.stdout);
    let details = json!({"files": counts, "truncated": answer.truncated || patch.len() > PATCH_CLIP.bytes});
    if counts.is_empty() && patch.is_empty() {
        return ToolOutput::text(format!("{before}{nothing}{note}")).details(details);
    }
    let shown = summary(&counts);
    let patch = PATCH_CLIP.apply(patch, "name `paths` to see less at once");
    let patch = if patch.is_empty() { String::new() } else { format!("\n{patch}") };
    let patch = if note.is_empty() { &patch } else { patch.trim_end_matches('\n') };
    ToolOutput::text(format!("{before}{shown}{patch}{note}")).show(shown).details(details)
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-11
    #[test]
    fn counts_stand_before_the_patch() {
        let text = "1\t2\ta b\n-\t-\tpic.png\n\ndiff --git a/a b/a\n-x\n";
        let (counts, patch) = parse(text);
        assert_eq!((summary(&counts).as_str(), patch), ("2 files, +1 -2", "diff --git a/a b/a\n-x\n"));
        assert_eq!(parse(""), (Vec::new(), ""));
        assert_eq!(parse("diff x\ty"), (Vec::new(), "diff x\ty"));
    }
}
