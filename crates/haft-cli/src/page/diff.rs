//! [`html`]: how a change altered a file, line by line, with the changed words of a line.
use super::text::{counted, escaped, named};
use haft::{
    kernel::{Change, FileState},
    present::file_diff::{self, DiffLine},
};

/// Of a longer diff the beginning is shown.
const MAX_LINES: usize = 2_000;

/// Returns the content of a recorded state; `None` if it is not kept any more.
pub(super) type Contents<'a> = &'a dyn Fn(&FileState) -> Option<Vec<u8>>;

/// A change as a figure with its path, how many lines came and went, and the lines.
pub(super) fn html(change: &Change, contents: Contents<'_>) -> String {
    let path = named(&change.path.to_string_lossy());
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
    count(&file_diff::hunks(&before, &after))
}

fn count(hunks: &[Vec<DiffLine>]) -> (usize, usize) {
    let of = |is: fn(&DiffLine) -> bool| hunks.iter().flatten().filter(|line| is(line)).count();
    (of(DiffLine::is_added), of(DiffLine::is_removed))
}

fn text(state: &Option<FileState>, contents: Contents<'_>) -> Option<String> {
    match state {
        None => Some(String::new()),
        Some(state) => String::from_utf8(contents(state)?).ok(),
    }
}

fn lines(before: &str, after: &str) -> (String, String) {
    let hunks = file_diff::hunks(before, after);
    let (more, less) = count(&hunks);
    let counts = format!(
        " <span class=\"more\"><span aria-hidden=\"true\">+{more}</span><span class=\"spoken\">{} added</span></span> <span class=\"less\"><span aria-hidden=\"true\">−{less}</span><span class=\"spoken\">{} removed</span></span>",
        counted(more, "line"),
        counted(less, "line")
    );
    if hunks.is_empty() {
        return ("<p class=\"quiet\">empty</p>".into(), counts);
    }
    let (mut rows, mut left) = (String::new(), MAX_LINES);
    for (number, hunk) in hunks.iter().enumerate() {
        if number > 0 {
            rows.push_str("<tr class=\"gap\"><td colspan=\"4\">⋯</td></tr>");
        }
        let shown = hunk.len().min(left);
        rows.extend(hunk[..shown].iter().map(row));
        left -= shown;
        if shown < hunk.len() {
            rows.push_str("<tr class=\"gap\"><td colspan=\"4\">the rest is left out</td></tr>");
            break;
        }
    }
    (format!("<table><tbody>{rows}</tbody></table>"), counts)
}

fn row(line: &DiffLine) -> String {
    let number = |number: Option<usize>| number.map(|number| number.to_string()).unwrap_or_default();
    let (class, sign, mark) = match (line.is_added(), line.is_removed()) {
        (true, _) => (" class=\"more\"", "+", "ins"),
        (_, true) => (" class=\"less\"", "−", "del"),
        _ => ("", " ", ""),
    };
    let words = line.parts.iter().map(|(is_changed, text)| match *is_changed && !mark.is_empty() {
        true => format!("<{mark}>{}</{mark}>", escaped(text)),
        false => escaped(text),
    });
    format!(
        "<tr{class}><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"sign\">{sign}</td><td class=\"line\">{}</td></tr>",
        number(line.old),
        number(line.new),
        words.collect::<String>()
    )
}
