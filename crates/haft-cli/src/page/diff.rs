//! What a change did to a file, line by line, with the words that changed in a line.
use super::text::{counted, escaped};
use haft::kernel::{Change, FileState};
use similar::{ChangeTag, DiffOp, TextDiff};

/// Of a longer diff the beginning is shown.
const MOST_LINES: usize = 2_000;

/// Gives the content of a recorded state; none where it is not kept any more.
pub(super) type Contents<'a> = &'a dyn Fn(&FileState) -> Option<Vec<u8>>;

/// A change as a figure with its path, how many lines came and went, and the lines.
pub(super) fn html(change: &Change, contents: Contents<'_>) -> String {
    let path = escaped(&change.path.to_string_lossy());
    let what = match (&change.before, &change.after) {
        (None, Some(_)) => "created",
        (Some(_), None) => "deleted",
        _ => "modified",
    };
    let (body, counts) = match (text(&change.before, contents), text(&change.after, contents)) {
        (Some(before), Some(after)) => lines(&before, &after),
        _ => ("<p class=\"quiet\">not text, or not kept any more</p>".into(), String::new()),
    };
    format!(
        "<figure class=\"diff\"><figcaption><code>{path}</code> <span class=\"quiet\">{what}</span>{counts}</figcaption>{body}</figure>"
    )
}

/// How many lines came and went; nothing of what is not text.
pub(super) fn counts(change: &Change, contents: Contents<'_>) -> (usize, usize) {
    let (Some(before), Some(after)) = (text(&change.before, contents), text(&change.after, contents)) else {
        return (0, 0);
    };
    let diff = TextDiff::from_lines(&before, &after);
    count(&diff)
}

fn count(diff: &TextDiff<'_, '_, str>) -> (usize, usize) {
    let of = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    (of(ChangeTag::Insert), of(ChangeTag::Delete))
}

fn text(state: &Option<FileState>, contents: Contents<'_>) -> Option<String> {
    match state {
        None => Some(String::new()),
        Some(state) => String::from_utf8(contents(state)?).ok(),
    }
}

fn lines(before: &str, after: &str) -> (String, String) {
    let diff = TextDiff::from_lines(before, after);
    let (more, less) = count(&diff);
    let counts = format!(
        " <span class=\"more\"><span aria-hidden=\"true\">+{more}</span><span class=\"spoken\">{} added</span></span> <span class=\"less\"><span aria-hidden=\"true\">−{less}</span><span class=\"spoken\">{} removed</span></span>",
        counted(more, "line"),
        counted(less, "line")
    );
    let (mut rows, mut shown) = (String::new(), 0);
    for (number, group) in diff.grouped_ops(3).iter().enumerate() {
        if number > 0 {
            rows.push_str("<tr class=\"gap\"><td colspan=\"4\">⋯</td></tr>");
        }
        for op in group {
            if shown > MOST_LINES {
                break;
            }
            shown += op.old_range().len().max(op.new_range().len());
            rows_of(&diff, op, &mut rows);
        }
    }
    if shown > MOST_LINES {
        rows.push_str("<tr class=\"gap\"><td colspan=\"4\">the rest is left out</td></tr>");
    }
    if rows.is_empty() {
        return ("<p class=\"quiet\">empty</p>".into(), counts);
    }
    (format!("<table><tbody>{rows}</tbody></table>"), counts)
}

fn rows_of(diff: &TextDiff<'_, '_, str>, op: &DiffOp, rows: &mut String) {
    for change in diff.iter_inline_changes(op) {
        let number = |index: Option<usize>| index.map(|index| (index + 1).to_string()).unwrap_or_default();
        let (class, sign, mark) = match change.tag() {
            ChangeTag::Equal => ("", " ", ""),
            ChangeTag::Insert => (" class=\"more\"", "+", "ins"),
            ChangeTag::Delete => (" class=\"less\"", "−", "del"),
        };
        let words = change.values().iter().map(|(is_changed, text)| {
            let text = escaped(text.trim_end_matches(['\n', '\r']));
            match *is_changed && !mark.is_empty() && !text.is_empty() {
                true => format!("<{mark}>{text}</{mark}>"),
                false => text,
            }
        });
        rows.push_str(&format!(
            "<tr{class}><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"sign\">{sign}</td><td class=\"line\">{}</td></tr>",
            number(change.old_index()),
            number(change.new_index()),
            words.collect::<String>()
        ));
    }
}
