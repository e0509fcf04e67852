//! [`DiffPainter`]: draws changes to files in colors: line numbers, a background for added and removed lines,
//! highlighted code.
use super::{
    ansi,
    highlight::highlight_in,
    look::{Look, Side},
    wrap::{one_row, width, window, wrap},
};
use haft_core::ChangeKind;
use haft_present::file_diff::{DiffLine, FileDiff};
use ratatui::{
    style::{Modifier, Style},
    text::{Line, Span},
};
use std::path::Path;

/// Separates two hunks, on its own line.
const GAP: &str = "⋮";

/// Whether a hunk begins below this line of a diff.
pub(crate) fn is_gap(line: &Line<'_>) -> bool {
    line.to_string().trim() == GAP
}

/// The maximum size of a diff, in lines of files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    most: usize,
    /// Number of removed lines that are always shown.
    removed: usize,
    /// Whether each line takes one row, scrolled to its difference.
    is_tight: bool,
}

impl Room {
    /// No limit.
    pub(crate) const WHOLE: Self = Self { most: usize::MAX, removed: 0, is_tight: false };
    /// For places where the user can scroll back. Shows more removed lines, since these are lost in the file.
    pub(crate) const SCROLLS: Self = Self { most: 40, removed: 200, is_tight: false };

    /// Whether nothing is left out.
    pub(crate) fn is_whole(self) -> bool {
        self.most == usize::MAX
    }

    /// Maximum lines of a diff that is shown in full.
    pub(crate) fn most(self) -> usize {
        self.most
    }

    /// At most `most` lines.
    pub(crate) fn of(most: usize) -> Self {
        Self { most, removed: 0, is_tight: false }
    }

    /// Like [`Self::of`], with one row for each line.
    pub(crate) fn tight(most: usize) -> Self {
        Self { is_tight: true, ..Self::of(most) }
    }
}

/// Draws diffs with a width of `columns`.
pub(crate) struct DiffPainter<'a> {
    pub(crate) columns: usize,
    pub(crate) look: &'a Look,
    /// The hint how to see the lines that are left out, if there is a way.
    pub(crate) how: Option<&'a str>,
}

/// The head of a file: `Edit src/a.rs`, followed by the numbers of added and removed lines, `+2 −1`.
pub(crate) fn head(file: &FileDiff, look: &Look) -> Vec<Span<'static>> {
    let verb = match file.kind {
        ChangeKind::Created => "Create ",
        ChangeKind::Modified => "Edit ",
        ChangeKind::Deleted => "Delete ",
    };
    let mut spans = vec![Span::raw(verb), Span::styled(file.path.clone(), look.bold())];
    let count = |is: fn(&DiffLine) -> bool| file.lines().filter(|line| is(line)).count();
    let (added, removed) = (count(DiffLine::is_added), count(DiffLine::is_removed));
    if added > 0 {
        spans.push(Span::styled(format!("  +{added}"), look.good()));
    }
    if removed > 0 {
        let gap = if added > 0 { " " } else { "  " };
        spans.push(Span::styled(format!("{gap}−{removed}"), look.bad()));
    }
    for word in file.properties.iter().chain(&file.note) {
        spans.push(Span::styled(format!("  ({word})"), look.dim()));
    }
    spans
}

impl DiffPainter<'_> {
    /// All `files`, each with its head; lines beyond `room` are only counted.
    pub(crate) fn files(&self, files: &[FileDiff], room: Room) -> Vec<Line<'static>> {
        let heads = files.iter().map(|file| {
            let head = std::iter::once(Span::raw("  ")).chain(head(file, self.look)).collect();
            one_row(head, self.columns)
        });
        self.below(files, heads.map(Some), room)
    }

    /// The lines of `files` without their heads.
    pub(crate) fn bodies(&self, files: &[FileDiff], room: Room) -> Vec<Line<'static>> {
        self.below(files, files.iter().map(|_| None), room)
    }

    /// The output of [`files`](Self::files) as text, with escape sequences unless the look is plain.
    pub(crate) fn text(&self, files: &[FileDiff], room: Room) -> String {
        let mut text = String::new();
        for line in self.files(files, room) {
            match self.look.is_plain() {
                true => text += line.to_string().trim_end(),
                false => ansi::paint(&mut text, &line, self.columns),
            }
            text.push('\n');
        }
        text
    }

    fn below(
        &self,
        files: &[FileDiff],
        heads: impl Iterator<Item = Option<Line<'static>>>,
        room: Room,
    ) -> Vec<Line<'static>> {
        let all: Vec<&DiffLine> = files.iter().flat_map(FileDiff::lines).collect();
        let shown = shown(&all, room);
        let mut is_shown = shown.iter().copied();
        let mut lines = Vec::new();
        for (file, head) in files.iter().zip(heads) {
            lines.extend(head);
            let kept: Vec<Vec<bool>> =
                file.hunks.iter().map(|hunk| is_shown.by_ref().take(hunk.len()).collect()).collect();
            lines.extend(self.file(file, &kept, room));
        }
        let left_out = || all.iter().zip(&shown).filter(|(_, shown)| !**shown).map(|(line, _)| line);
        let (more, removed) = (left_out().count(), left_out().filter(|line| line.is_removed()).count());
        if more > 0 {
            let removed = if removed > 0 { format!(", {removed} of them removed") } else { String::new() };
            let s = if more == 1 { "" } else { "s" };
            let how = self.how.map(|how| format!(" ({how})")).unwrap_or_default();
            let text = format!("  … {more} more line{s}{removed}{how}");
            lines.push(Line::styled(text, self.look.dim()));
        }
        lines
    }

    fn file(&self, file: &FileDiff, kept: &[Vec<bool>], room: Room) -> Vec<Line<'static>> {
        let number = file.lines().flat_map(|line| [line.old, line.new]).flatten().max().unwrap_or_default();
        let digits = number.to_string().len();
        let language = language(&file.path);
        let mut lines = Vec::new();
        for (hunk, kept) in file.hunks.iter().zip(kept).filter(|(_, kept)| kept.contains(&true)) {
            if !lines.is_empty() && !room.is_tight {
                lines.push(Line::styled(format!("  {:>digits$} {GAP}", ""), self.look.dim()));
            }
            let last = kept.iter().rposition(|kept| *kept).map_or(0, |last| last + 1);
            let texts = self.texts(&hunk[..last], &language).into_iter();
            let rows = hunk.iter().zip(texts).zip(kept).filter(|(_, kept)| **kept);
            lines.extend(rows.flat_map(|((line, text), _)| self.line(line, text, digits, room)));
        }
        lines
    }

    /// The text of each line, highlighted as part of the old or the new file.
    fn texts(&self, hunk: &[DiffLine], language: &str) -> Vec<Vec<Span<'static>>> {
        let on = |is_there: fn(&DiffLine) -> bool, side: Side| {
            let code = hunk.iter().filter(|line| is_there(line)).map(|line| line.text() + "\n");
            highlight_in(self.look.theme_on(side), &code.collect::<String>(), language, self.look).into_iter()
        };
        let mut removed = on(|line| line.old.is_some(), Side::Changed);
        let mut added = on(|line| line.new.is_some(), Side::Changed);
        let mut same = on(|line| line.new.is_some(), Side::Same);
        let text = |line: &DiffLine| {
            let before = line.old.and_then(|_| removed.next());
            let (after, plain) = (line.new.and_then(|_| added.next()), line.new.and_then(|_| same.next()));
            match (line.is_added(), line.is_removed()) {
                (true, _) => after,
                (_, true) => before,
                _ => plain,
            }
            .unwrap_or_else(|| vec![Span::raw(line.text())])
        };
        hunk.iter().map(text).collect()
    }

    /// A line in one row or as many as it takes, after its line numbers.
    fn line(
        &self,
        line: &DiffLine,
        text: Vec<Span<'static>>,
        digits: usize,
        room: Room,
    ) -> Vec<Line<'static>> {
        let (sign, style, part) = self.styles(line);
        let number = |number: Option<usize>| number.map_or(String::new(), |number| number.to_string());
        let gutter = format!("  {:>digits$} {:>digits$} ", number(line.old), number(line.new));
        let blank = Span::styled(" ".repeat(gutter.len() + 2), style);
        let lead = [
            Span::styled(gutter, self.look.dim().patch(Style { fg: None, ..style })),
            Span::styled(sign, style),
        ];
        let text = text.into_iter().map(|span| Span::styled(span.content, style.patch(span.style))).collect();
        let text = marked(text, &line.parts, part);
        let columns = self.columns.saturating_sub(blank.content.len());
        let rows = match room.is_tight {
            true => vec![window(&text, first_column(line, columns), columns)],
            false => wrap(&text, columns),
        };
        let rows = rows.into_iter().enumerate().map(|(place, row)| {
            let lead = if place == 0 { lead.to_vec() } else { vec![blank.clone()] };
            Line::from_iter(lead.into_iter().chain(row)).style(Style { bg: style.bg, ..Style::new() })
        });
        rows.collect()
    }

    /// The sign in front, the style of the line, and the style of the part that differs.
    fn styles(&self, line: &DiffLine) -> (&'static str, Style, Style) {
        let look = self.look;
        let (sign, style) = match (line.is_added(), line.is_removed()) {
            (true, _) => ("+ ", look.good()),
            (_, true) => ("- ", look.bad()),
            _ => return ("  ", if line.new.is_none() { look.dim() } else { Style::new() }, Style::new()),
        };
        match look.grounds(line.is_added()) {
            Some((ground, part)) => (sign, ground, Style::new().bg(part)),
            None if look.is_plain() => (sign, style, look.bold()),
            None => (sign, style, Style::new().add_modifier(Modifier::REVERSED)),
        }
    }
}

/// The first visible column of a line in one row, chosen so that the difference is visible.
fn first_column(line: &DiffLine, columns: usize) -> usize {
    let before = line.parts.iter().take_while(|(is_other, _)| !is_other);
    let before: usize = before.map(|(_, part)| width(part)).sum();
    let is_in_sight = before + columns / 4 < columns || line.parts.iter().all(|(is_other, _)| !is_other);
    if is_in_sight { 0 } else { before - columns / 4 }
}

/// Which of `lines` are shown. Unchanged lines are dropped first, removed lines last.
fn shown(lines: &[&DiffLine], Room { most, removed: always, .. }: Room) -> Vec<bool> {
    if lines.len() <= most {
        return vec![true; lines.len()];
    }
    let count = |is: fn(&DiffLine) -> bool| lines.iter().filter(|line| is(line)).count();
    let (added, removed) = (count(DiffLine::is_added), count(DiffLine::is_removed));
    let half = if always > 0 { most / 2 } else { 0 };
    let mut removed = removed.min(always.max(most - added.min(most / 2)));
    let mut added = added.min(most.saturating_sub(removed).max(half));
    let mut same = most.saturating_sub(removed + added);
    let has_room = |line: &&DiffLine| {
        let left = match (line.is_added(), line.is_removed()) {
            (true, _) => &mut added,
            (_, true) => &mut removed,
            _ => &mut same,
        };
        let has_room = *left > 0;
        *left = left.saturating_sub(1);
        has_room
    };
    lines.iter().map(has_room).collect()
}

/// `text` with `mark` on the parts that differ.
fn marked(text: Vec<Span<'static>>, parts: &[(bool, String)], mark: Style) -> Vec<Span<'static>> {
    let mut marked = Vec::new();
    let mut parts = parts.iter().map(|(is_other, part)| (*is_other, part.len()));
    let mut part = parts.next();
    for span in text {
        let mut rest: &str = &span.content;
        while !rest.is_empty() {
            let (is_other, length) = part.unwrap_or((false, rest.len()));
            let (head, tail) = rest.split_at(rest.floor_char_boundary(length.min(rest.len())));
            let style = if is_other { span.style.patch(mark) } else { span.style };
            marked.push(Span::styled(head.to_owned(), style));
            part = if head.len() < length { Some((is_other, length - head.len())) } else { parts.next() };
            rest = tail;
        }
    }
    marked
}

/// The language of a file, by its name.
fn language(path: &str) -> String {
    let path = Path::new(path);
    let name = path.extension().or(path.file_name()).and_then(|name| name.to_str());
    name.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paint::look::{Depth, Theme};

    fn line(sign: char, number: usize, text: &str) -> DiffLine {
        let (old, new) = ((sign != '+').then_some(number), (sign != '-').then_some(number));
        DiffLine { old, new, parts: vec![(false, text.to_owned())] }
    }

    fn file(signs: &str) -> FileDiff {
        let hunk = signs.chars().enumerate().map(|(at, sign)| line(sign, at + 1, &format!("let x = {at};")));
        let (path, kind, hunks) = ("a.rs".into(), ChangeKind::Modified, vec![hunk.collect()]);
        FileDiff { path, kind, properties: None, note: None, hunks }
    }

    fn drawn(file: &FileDiff, look: Look, room: Room, columns: usize) -> Vec<Line<'static>> {
        DiffPainter { columns, look: &look, how: Some("more") }.files(std::slice::from_ref(file), room)
    }

    const PLAIN: Look = Look::new(Theme::Plain, Depth::None);

    #[test]
    fn what_is_removed_gives_way_last() {
        let table = [
            ("   -+  ", Room::WHOLE, "   -+  ", ""),
            ("   -+   ", Room::of(4), "  -+", "  … 4 more lines (more)"),
            ("+++++-----", Room::of(4), "++--", "  … 6 more lines, 3 of them removed (more)"),
            ("++-----", Room::of(6), "++----", "  … 1 more line, 1 of them removed (more)"),
            ("----------", Room::of(3), "---", "  … 7 more lines, 7 of them removed (more)"),
            ("+++++-----", Room { removed: 200, ..Room::of(4) }, "++-----", "  … 3 more lines (more)"),
        ];
        for (signs, room, expected, more) in table {
            let lines: Vec<String> =
                drawn(&file(signs), PLAIN, room, 80).iter().map(Line::to_string).collect();
            let rows = lines.iter().skip(1).filter(|line| !line.contains('…'));
            let shown: String = rows
                .filter_map(|row| {
                    row[2..]
                        .trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')
                        .chars()
                        .next()
                        .map(|c| if c == 'l' { ' ' } else { c })
                })
                .collect();
            assert_eq!(shown, expected, "{lines:#?}");
            assert_eq!(lines.iter().find(|line| line.contains('…')).map_or("", |line| line), more);
        }
    }

    /// Both sides of a change and their differences are visible, whatever the length of the line.
    #[test]
    fn where_room_is_tight_a_line_takes_one_row() {
        let common = "let a_rather_long_name_of_something = another_call_with(arguments, and, more);";
        let changed = |sign, other: &str| DiffLine {
            parts: vec![(false, common.to_owned()), (true, other.to_owned()), (false, " end".into())],
            ..line(sign, 1, "")
        };
        let hunk = vec![line(' ', 1, common), changed('-', "old"), changed('+', "new")];
        let file = FileDiff { hunks: vec![hunk], ..file("") };
        for columns in [30, 40, 60] {
            let rows = drawn(&file, PLAIN, Room::tight(2), columns);
            let rows: Vec<String> = rows.iter().map(Line::to_string).collect();
            assert_eq!(rows.len(), 4, "{rows:?}");
            assert!(rows[1].contains("- ") && rows[1].contains("old"), "{columns}: {rows:?}");
            assert!(rows[2].contains("+ ") && rows[2].contains("new"), "{columns}: {rows:?}");
        }
    }

    #[test]
    fn every_row_fits_and_changed_rows_have_a_ground_where_there_are_colors() {
        let changed = DiffLine {
            parts: vec![(false, "let 漢 = ".into()), (true, "1234".into()), (false, ";".into())],
            ..line('+', 1200, "")
        };
        let file = FileDiff { hunks: vec![vec![line(' ', 1, "x"), changed]], ..file("") };
        for (depth, theme) in [
            (Depth::None, Theme::Plain),
            (Depth::Sixteen, Theme::Terminal),
            (Depth::Many, Theme::Terminal),
            (Depth::True, Theme::Light),
        ] {
            let look = Look::new(theme, depth);
            for columns in 20..40 {
                for row in drawn(&file, look, Room::WHOLE, columns).iter().skip(1) {
                    assert!(row.width() <= columns, "{columns}: {row}");
                    let has_ground = row.to_string().contains("1200") && depth >= Depth::Many;
                    assert!(!has_ground || row.style.bg.is_some(), "{depth:?}: {row:?}");
                }
            }
        }
    }
}
