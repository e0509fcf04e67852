//! [`merged`]: a three-way merge of states of a file, like that of a version control system.
mod git_index;

use diffy::{ConflictStyle, MergeOptions};
use haft_core::{FileKind, FileState, Stage};
use std::io;

/// Two states of a file, and their common base.
#[derive(Clone, Copy)]
pub(crate) struct Sides<'a> {
    /// The common base.
    pub(crate) base: &'a Option<FileState>,
    pub(crate) ours: &'a Option<FileState>,
    pub(crate) theirs: &'a Option<FileState>,
}

/// The result of a merge.
#[derive(Debug, PartialEq)]
pub(crate) enum Merge {
    /// A state with the changes of both sides.
    Clean(Option<FileState>),
    /// Both sides changed the same lines; the state has both between conflict markers.
    Marked(FileState),
    /// Both sides changed the file in ways that cannot be merged: one removed it, it is not a text file, or their modes
    /// or attributes differ.
    Conflict,
}

/// The names of the two sides in conflict markers.
pub(crate) struct Labels<'a> {
    pub(crate) ours: &'a str,
    pub(crate) theirs: &'a str,
}

impl Labels<'static> {
    /// Labels of a merge whose markers are not kept.
    pub(crate) const NONE: Self = Labels { ours: "ours", theirs: "theirs" };
}

/// Merges two states of a file. `stage` stores the contents.
///
/// # Errors
/// Fails if a content cannot be read or kept.
pub(crate) fn merged(stage: &dyn Stage, sides: Sides<'_>, labels: &Labels<'_>) -> io::Result<Merge> {
    let Sides { base, ours, theirs } = sides;
    if is_same(ours, theirs) || is_same(base, theirs) {
        return Ok(Merge::Clean(ours.clone()));
    }
    if is_same(base, ours) {
        return Ok(Merge::Clean(theirs.clone()));
    }
    let (Some(base), Some(ours), Some(theirs)) = (base, ours, theirs) else { return Ok(Merge::Conflict) };
    if [base, ours, theirs].iter().any(|state| state.kind() != FileKind::File) {
        return Ok(Merge::Conflict);
    }
    let mode = chosen(&base.mode, &ours.mode, &theirs.mode);
    let attributes = chosen(&base.attributes, &ours.attributes, &theirs.attributes);
    let (Some(mode), Some(attributes)) = (mode, attributes) else { return Ok(Merge::Conflict) };
    let state = |hash| FileState { hash, mode: *mode, attributes: attributes.clone() };
    if let Some(hash) = chosen(&base.hash, &ours.hash, &theirs.hash) {
        return Ok(Merge::Clean(Some(state(hash.clone()))));
    }
    let their_hash = &theirs.hash;
    let contents = [base, ours, theirs].map(|state| stage.content(&state.hash));
    let [base, ours, theirs] = contents;
    let (base, ours, theirs) = (base?, ours?, theirs?);
    if git_index::is_same(&base, &ours) {
        return Ok(Merge::Clean(Some(state(their_hash.clone()))));
    }
    let (Ok(base), Ok(ours), Ok(theirs)) =
        (String::from_utf8(base), String::from_utf8(ours), String::from_utf8(theirs))
    else {
        return Ok(Merge::Conflict);
    };
    let mut options = MergeOptions::new();
    match options.set_conflict_style(ConflictStyle::Merge).merge(&base, &ours, &theirs) {
        Ok(text) => Ok(Merge::Clean(Some(state(stage.keep(text.as_bytes())?)))),
        Err(text) => Ok(Merge::Marked(state(stage.keep(labeled(&text, labels).as_bytes())?))),
    }
}

/// Whether both states are the same, as far as they were recorded.
pub(crate) fn is_same(one: &Option<FileState>, other: &Option<FileState>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.matches(other) || other.matches(one),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// The side that differs from the base; `None` if both differ from it and from each other.
fn chosen<'a, T: PartialEq>(base: &T, ours: &'a T, theirs: &'a T) -> Option<&'a T> {
    match (ours == base, theirs == base) {
        (true, _) => Some(theirs),
        (_, true) => Some(ours),
        _ => (ours == theirs).then_some(ours),
    }
}

/// Replaces the library's names of the two sides by `labels`.
fn labeled(text: &str, labels: &Labels<'_>) -> String {
    let line = |line: &str| match line.trim_end_matches(['\r', '\n']) {
        "<<<<<<< ours" => line.replace("ours", labels.ours),
        ">>>>>>> theirs" => line.replace("theirs", labels.theirs),
        _ => line.to_owned(),
    };
    text.split_inclusive('\n').map(line).collect()
}
