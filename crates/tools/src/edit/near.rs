//! What a text that was not found was probably meant to be.
use haft_core::clip::head;
use similar::get_close_matches;

/// Bytes of a line: a longer one is not compared, and not shown to its end.
const LONGEST: usize = 400;

/// No more lines than this are compared, so that a miss in a large file is answered within a second.
const MOST_LINES: usize = 10_000;

/// So many lines of the file are shown.
const SHOWN: usize = 8;

/// As alike as this, from 0 to 1, a line must be.
const ALIKE: f32 = 0.6;

/// The lines of the file that come nearest to `old`, as they stand there; or what to do where none does.
pub(crate) fn hint(content: &[u8], old: &str) -> String {
    let content = String::from_utf8_lossy(content);
    let lines: Vec<&str> = content.lines().collect();
    let wanted: Vec<&str> = old.lines().collect();
    let Some((skipped, key)) = wanted.iter().enumerate().find(|(_, line)| !line.trim().is_empty()) else {
        return "read the file and copy the text from it".into();
    };
    match nearest(&lines, key.trim()) {
        Some(at) => {
            let first = at.saturating_sub(skipped);
            let shown = &lines[first..lines.len().min(first + wanted.len().min(SHOWN))];
            let said = if only_blanks_differ(shown, &wanted) { " (only blanks differ)" } else { "" };
            format!(
                "the nearest text is at line {}{said}:\n{}",
                first + 1,
                shown.iter().map(|line| head(line, LONGEST)).collect::<Vec<_>>().join("\n")
            )
        }
        None => "nothing like it is in the file: read it and copy the text from it".into(),
    }
}

fn nearest(lines: &[&str], key: &str) -> Option<usize> {
    let trimmed: Vec<&str> = lines.iter().take(MOST_LINES).map(|line| line.trim()).collect();
    if let Some(same) = trimmed.iter().position(|line| *line == key) {
        return Some(same);
    }
    let comparable = |line: &&str| !line.is_empty() && line.len() <= LONGEST;
    let candidates: Vec<&str> = trimmed.iter().copied().filter(comparable).collect();
    let found = *get_close_matches(head(key, LONGEST), &candidates, 1, ALIKE).first()?;
    trimmed.iter().position(|line| *line == found)
}

fn only_blanks_differ(shown: &[&str], wanted: &[&str]) -> bool {
    let squeezed = |lines: &[&str]| lines.concat().split_whitespace().collect::<String>();
    squeezed(shown) == squeezed(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_text_is_answered_with_the_nearest_one() {
        let file = b"fn main() {\n    let count = 1;\n    println!(\"{count}\");\n}\n";
        let table = [
            ("let count = 2;", "the nearest text is at line 2:\n    let count = 1;"),
            ("\tlet count = 1;", "the nearest text is at line 2 (only blanks differ):\n    let count = 1;"),
            ("\nlet cuont = 1;\n", "the nearest text is at line 1:\nfn main() {\n    let count = 1;"),
            ("unlike anything else", "nothing like it is in the file: read it and copy the text from it"),
            ("\n \n", "read the file and copy the text from it"),
        ];
        for (old, expected) in table {
            assert_eq!(hint(file, old), expected, "{old:?}");
        }
    }
}
