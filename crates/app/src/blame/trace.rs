//! [`trace`]: traces the lines of a file back to the steps that wrote them.
use super::history::{History, Step};
use haft_core::{Change, FileKind, FileState};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::{
    io,
    path::{Path, PathBuf},
};

/// The origin of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A step of the history, by its index.
    Step(usize),
    /// It was changed between two steps.
    Outside,
    /// It was there before the first step.
    Before,
}

/// A new file counts as a renamed deleted file if they share at least 1 in this many lines.
const RENAMED: usize = 2;

/// Minimum number of characters of a line by which a job's change is recognized after its branch was merged.
const TELLING: usize = 4;

/// Returns the origin of each line of `text`, the current content of `file`.
///
/// # Errors
/// If a recorded content cannot be read.
pub(super) fn trace(history: &History, file: &Path, text: &str) -> io::Result<Vec<Line>> {
    let count = text.lines().count();
    let mut walk = Walk { history, origins: vec![Line::Before; count] };
    let version = Version { text: text.to_owned(), lines: (0..count).map(Some).collect() };
    walk.follow(file.to_owned(), version, history.steps.len())?;
    walk.find_merged(file, text)?;
    Ok(walk.origins)
}

/// A version of a file: its text, and for each of its lines the index of that line in the newest version, if it is
/// still there.
struct Version {
    text: String,
    lines: Vec<Option<usize>>,
}

impl Version {
    /// Splits the version into the older one with the text `older`, and the lines that the older one does not have.
    fn split(&self, older: String) -> (Version, Version) {
        let mut new = self.lines.clone();
        let (old_lines, new_lines): (Vec<&str>, Vec<&str>) =
            (older.lines().collect(), self.text.lines().collect());
        let mut lines = vec![None; old_lines.len()];
        for op in capture_diff_slices(Algorithm::Myers, &old_lines, &new_lines) {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                for place in 0..len {
                    lines[old_index + place] = new[new_index + place].take();
                }
            }
        }
        (Version { text: older, lines }, Version { text: self.text.clone(), lines: new })
    }
}

struct Walk<'a> {
    history: &'a History,
    origins: Vec<Line>,
}

impl Walk<'_> {
    fn settle(&mut self, version: &Version, origin: Line) {
        for line in version.lines.iter().flatten() {
            self.origins[*line] = origin;
        }
    }

    /// Traces a version of `file` that existed before the step `end`.
    fn follow(&mut self, mut file: PathBuf, mut version: Version, end: usize) -> io::Result<()> {
        let mut end = end;
        while let Some(place) = end.checked_sub(1) {
            end = place;
            let step = &self.history.steps[place];
            let Some(change) = step.change_of(&file).filter(|_| !step.is_of_job) else { continue };
            // Lines that are missing after this step were written elsewhere, as are all lines if the file is not text
            // there.
            let after = self.text(step, change.after.as_ref())?.unwrap_or_default();
            let (older, outside) = version.split(after);
            self.settle(&outside, Line::Outside);
            version = older;
            if step.call.is_none()
                && let Some(before) = self.same_before(place, &file, change)
            {
                end = before;
                continue;
            }
            let (name, before) = self.came_from(step, change)?;
            let (older, new) = version.split(before.clone().unwrap_or_default());
            match step.call {
                Some(_) => self.settle(&new, Line::Step(place)),
                None => self.restored(place, &file, new)?,
            }
            if before.is_none() {
                return Ok(());
            }
            (file, version) = (name, older);
        }
        self.settle(&version, Line::Before);
        Ok(())
    }

    /// Traces lines that an undo merged in: they are older than the calls that it took back.
    fn restored(&mut self, place: usize, file: &Path, new: Version) -> io::Result<()> {
        let undo = &self.history.steps[place];
        let is_first = |step: &&Step| step.is_taken_back_by(undo) && step.change_of(file).is_some();
        let first = self.history.steps[..place].iter().position(|step| is_first(&step));
        let Some(first) = first else {
            self.settle(&new, Line::Step(place));
            return Ok(());
        };
        let step = &self.history.steps[first];
        let before = step.change_of(file).and_then(|change| change.before.as_ref());
        let (older, rest) = new.split(self.text(step, before)?.unwrap_or_default());
        self.settle(&rest, Line::Step(place));
        self.follow(file.to_owned(), older, first)
    }

    /// The step before which `file` had the content that `change` gave it: undo and redo restore an earlier version.
    fn same_before(&self, place: usize, file: &Path, change: &Change) -> Option<usize> {
        let hash = |state: &Option<FileState>| state.as_ref().map(|state| state.hash.clone());
        let wanted = hash(&change.after)?;
        (0..place).rev().find_map(|place| {
            let change = self.history.steps[place].change_of(file)?;
            let is_same = |state: &Option<FileState>| hash(state).is_some_and(|hash| hash == wanted);
            is_same(&change.after).then_some(place + 1).or_else(|| is_same(&change.before).then_some(place))
        })
    }

    /// The name and the text of the file before `change`: a new file may have been moved in the same step.
    fn came_from(&self, step: &Step, change: &Change) -> io::Result<(PathBuf, Option<String>)> {
        if change.before.is_some() {
            return Ok((
                change.path.clone(),
                Some(self.text(step, change.before.as_ref())?.unwrap_or_default()),
            ));
        }
        let text = self.text(step, change.after.as_ref())?.unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let mut best = (0, change.path.clone(), None);
        for gone in step.changes.iter().filter(|change| change.after.is_none()) {
            let Some(old) = self.text(step, gone.before.as_ref())? else { continue };
            let old_lines: Vec<&str> = old.lines().collect();
            let ops = capture_diff_slices(Algorithm::Myers, &old_lines, &lines);
            let same: usize = ops
                .iter()
                .filter(|op| matches!(op, DiffOp::Equal { .. }))
                .map(|op| op.old_range().len())
                .sum();
            if same > best.0 && same * RENAMED >= old_lines.len().max(lines.len()) {
                best = (same, gone.path.clone(), Some(old));
            }
        }
        Ok((best.1, best.2))
    }

    /// Looks for lines that no other step wrote in the changes of jobs, whose branches may have been merged.
    fn find_merged(&mut self, file: &Path, text: &str) -> io::Result<()> {
        for (place, step) in self.history.steps.iter().enumerate().rev() {
            let Some(change) = step.change_of(file).filter(|_| step.is_of_job) else { continue };
            let after = self.text(step, change.after.as_ref())?.unwrap_or_default();
            let lines = vec![Some(0); after.lines().count()];
            let before = self.text(step, change.before.as_ref())?.unwrap_or_default();
            let (_, new) = Version { text: after, lines }.split(before);
            let new: Vec<&str> = new
                .text
                .lines()
                .zip(&new.lines)
                .filter(|(_, line)| line.is_some())
                .map(|(text, _)| text)
                .collect();
            for (line, origin) in text.lines().zip(&mut self.origins) {
                if !matches!(origin, Line::Step(_))
                    && line.trim().chars().count() >= TELLING
                    && new.contains(&line)
                {
                    *origin = Line::Step(place);
                }
            }
        }
        Ok(())
    }

    /// The text of a state of a file; `None` if it is not a regular file or not text.
    fn text(&self, step: &Step, state: Option<&FileState>) -> io::Result<Option<String>> {
        let Some(state) = state.filter(|state| state.kind() == FileKind::File) else { return Ok(None) };
        Ok(String::from_utf8(self.history.content(step, &state.hash)?).ok())
    }
}
