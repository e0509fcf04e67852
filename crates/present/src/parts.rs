//! [`Offer`]: a part of a call's changes to files that the user can accept separately.
use crate::{
    diff::sign,
    file_diff::{DiffLine, FileDiff},
    safe,
};
use haft_core::{Accepted, AcceptedFile, Change};
use haft_engine::Recorded;
use std::{path::PathBuf, slice};

/// A hunk of a text file, or another file as a whole.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The file, as its change names it.
    pub path: PathBuf,
    /// Index of the hunk, from 0; `None` for the whole file.
    pub hunk: Option<usize>,
    /// The file and the number of the hunk, with control characters made visible.
    pub name: String,
    /// The diff of this part.
    pub diff: Option<FileDiff>,
}

impl Offer {
    /// The parts of `changes`: the hunks of files with several, and the other files.
    pub fn all(session: &dyn Recorded, changes: &[Change]) -> Vec<Self> {
        changes.iter().flat_map(|change| Self::of(session, change)).collect()
    }

    fn of(session: &dyn Recorded, change: &Change) -> Vec<Self> {
        let file = FileDiff::all(session, slice::from_ref(change)).pop();
        // A change of Git's own data is not shown by its lines, and in a diff not by its name either: here, each file
        // is named.
        let name = format!("{} {}", sign(change.kind()), safe::visible_line(&change.path.to_string_lossy()));
        let about = file.iter().flat_map(|file| [&file.properties, &file.note]).flatten();
        let about: String = about.map(|about| format!(" ({about})")).collect();
        let offer = |hunk: Option<usize>, diff: Option<FileDiff>| {
            let number = hunk.map(|hunk| format!(", hunk {}", hunk + 1)).unwrap_or_default();
            Self { path: change.path.clone(), hunk, name: format!("{name}{number}{about}"), diff }
        };
        match file {
            Some(file) if file.hunks.len() > 1 => {
                let one = |hunk: &Vec<DiffLine>| FileDiff { hunks: vec![hunk.clone()], ..file.clone() };
                let hunks = file.hunks.iter().enumerate();
                hunks.map(|(place, hunk)| offer(Some(place), Some(one(hunk)))).collect()
            }
            file => vec![offer(None, file)],
        }
    }

    /// The name of the file, with control characters made visible.
    pub fn file(&self) -> String {
        safe::visible_line(&self.path.to_string_lossy())
    }

    /// The first and the last line of the change, counted from 1: line numbers after the change, or before it if it
    /// only removes lines. `None` for a whole file.
    pub fn lines(&self) -> Option<(usize, usize)> {
        self.hunk?;
        let changed = || self.diff.iter().flat_map(|file| &file.hunks).flatten();
        let range = |numbers: Vec<usize>| Some((*numbers.iter().min()?, *numbers.iter().max()?));
        range(changed().filter(|line| line.is_added()).filter_map(|line| line.new).collect()).or_else(|| {
            range(changed().filter(|line| line.is_removed()).filter_map(|line| line.old).collect())
        })
    }
}

/// Accepts these parts, and refuses all others.
pub fn accepted<'a>(parts: impl IntoIterator<Item = &'a Offer>) -> Accepted {
    let mut accepted = Accepted::default();
    for Offer { path, hunk, .. } in parts {
        match accepted.files.iter_mut().find(|file| file.path == *path) {
            Some(file) => file.hunks.iter_mut().for_each(|hunks| hunks.extend(*hunk)),
            None => {
                let hunks = hunk.map(|hunk| vec![hunk]);
                accepted.files.push(AcceptedFile { path: path.clone(), hunks, text: None });
            }
        }
    }
    accepted
}
