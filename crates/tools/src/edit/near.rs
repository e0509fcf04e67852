//! [`hint`]: guesses which part of a file was meant by a text that was not found.
use haft_core::clip::head;
use strsim::sorensen_dice;

/// Maximum bytes of a line. A longer line is not compared, and is cut when it is shown.
const MAX_LINE: usize = 400;

/// Maximum number of lines that are compared, so that a failed search in a large file ends within a second.
const MAX_LINES: usize = 10_000;

/// Maximum number of lines of the file that are shown.
const MAX_SHOWN: usize = 8;

/// Minimum similarity of a line, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.6;

/// Maximum number of lines of the text that decide which part was meant.
const MAX_DECIDING: usize = 20;

/// The lines of the file that are most similar to `old`, as they are in the file; if none are similar, advice on what
/// to do.
pub(crate) fn hint(content: &[u8], old: &str) -> String {
    let content = String::from_utf8_lossy(content);
    let lines: Vec<&str> = content.lines().collect();
    let wanted: Vec<&str> = old.lines().collect();
    if wanted.iter().all(|line| line.trim().is_empty()) {
        return "read the file and copy the text from it".into();
    }
    let Some(first) = most_in_common(&lines, &wanted).or_else(|| most_alike(&lines, &wanted)) else {
        return "nothing like it is in the file: read it and copy the text from it".into();
    };
    let block = &lines[first..lines.len().min(first + wanted.len())];
    let shown: Vec<&str> = block.iter().take(MAX_SHOWN).map(|line| head(line, MAX_LINE)).collect();
    let said = if only_blanks_differ(block, &wanted) { " (only blanks differ)" } else { "" };
    let more = if block.len() > MAX_SHOWN { "\n…" } else { "" };
    let differs = match first_difference(block, &wanted).filter(|at| *at >= MAX_SHOWN) {
        Some(at) => {
            format!("\nthe first line that differs is {}:\n{}", first + at + 1, head(block[at], MAX_LINE))
        }
        None => String::new(),
    };
    format!("the nearest text is at line {}{said}:\n{}{more}{differs}", first + 1, shown.join("\n"))
}

/// The first line of the block that has most lines in common with `wanted`, ignoring spaces.
fn most_in_common(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let keys: Vec<&str> = wanted.iter().take(MAX_DECIDING).map(|line| line.trim()).collect();
    let same = |start: usize| {
        let pairs = lines[start..].iter().zip(&keys);
        // A longer line is more specific than a bracket.
        pairs.filter(|(line, key)| line.trim() == **key).map(|(_, key)| key.len()).sum::<usize>()
    };
    let best = (0..lines.len().min(MAX_LINES)).map(|start| (same(start), start));
    best.rev().max_by_key(|(same, _)| *same).filter(|(same, _)| *same > 2).map(|(_, start)| start)
}

/// Where `wanted` would begin if its longest line were the most similar line of the file.
fn most_alike(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let deciding = wanted.iter().take(MAX_DECIDING).enumerate();
    let (above, key) = deciding.max_by_key(|(_, line)| line.trim().len())?;
    let key = head(key.trim(), MAX_LINE);
    let comparable = |line: &&str| !line.is_empty() && line.len() <= MAX_LINE;
    let lines = lines.iter().take(MAX_LINES).map(|line| line.trim()).enumerate();
    let alike = lines.filter(|(_, line)| comparable(line)).map(|(at, line)| (sorensen_dice(key, line), at));
    let best = alike.rev().max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(alike, _)| *alike >= MIN_SIMILARITY).map(|(_, at)| at.saturating_sub(above))
}

fn first_difference(block: &[&str], wanted: &[&str]) -> Option<usize> {
    block.iter().zip(wanted).position(|(line, wanted)| line != wanted)
}

fn only_blanks_differ(shown: &[&str], wanted: &[&str]) -> bool {
    let squeezed = |lines: &[&str]| lines.concat().split_whitespace().collect::<String>();
    squeezed(shown) == squeezed(wanted)
}
