//! [`PartialAnswers`]: the options of a question that accept a part of what a call would do to files, and the one that refuses
//! it with a reason.
//!
//! The protocol knows no parts: each is an option of its own, which accepts it and nothing else.
use super::sdk::{PermissionOption, PermissionOptionKind};
use haft_core::{Accepted, Change, FileKind, changed::squash};
use haft_engine::Recorded;
use haft_present::parts::{Offer, accepted};

/// With more hunks than this, files are offered as a whole only.
const MAX_HUNKS: usize = 8;
/// With more files than this, no single one is offered: the list would be longer than the proposal.
const MAX_FILES: usize = 16;

/// Picks a refusal whose reason the person says with the next prompt.
pub(super) const REFUSE_AND_SAY: &str = "no-because";

/// Parts that can be accepted alone, in the order of their options.
#[derive(Default)]
pub(super) struct PartialAnswers(Vec<(String, Accepted)>);

impl PartialAnswers {
    /// The parts of these changes that the user can accept: each file if there are several, and each hunk of a file
    /// with several, up to eight.
    pub(super) fn of(session: &dyn Recorded, changes: &[Change]) -> Self {
        let changes: Vec<Change> =
            squash(changes).into_iter().filter(|change| !is_new_folder(change)).collect();
        let offers = Offer::all(session, &changes);
        let files: Vec<&[Offer]> = offers.chunk_by(|one, next| one.path == next.path).collect();
        let mut parts = Vec::new();
        if (2..=MAX_FILES).contains(&files.len()) {
            parts.extend(files.iter().map(|file| (file_name(file), accepted(*file))));
        }
        if offers.len() <= MAX_HUNKS {
            let hunks = offers.iter().filter_map(|offer| Some((hunk_name(offer)?, accepted([offer]))));
            parts.extend(hunks);
        }
        Self(parts)
    }

    /// The options, which are listed between those that accept all and those that refuse all.
    pub(super) fn options(&self) -> impl Iterator<Item = PermissionOption> {
        self.0.iter().enumerate().map(|(place, (name, _))| {
            PermissionOption::new(format!("part-{place}"), name.clone(), PermissionOptionKind::AllowOnce)
        })
    }

    /// What the option of this ID accepts; `None` if it is no part.
    pub(super) fn picked(&self, id: &str) -> Option<Accepted> {
        let place = id.strip_prefix("part-")?.parse::<usize>().ok()?;
        self.0.get(place).map(|(_, accepted)| accepted.clone())
    }
}

/// It comes with the files that are accepted in it.
fn is_new_folder(change: &Change) -> bool {
    let is_folder = change.after.as_ref().is_some_and(|after| after.kind() == FileKind::Folder);
    change.before.is_none() && is_folder
}

fn file_name(file: &[Offer]) -> String {
    let name = file.first().map(Offer::file).unwrap_or_default();
    format!("Allow only {name}")
}

fn hunk_name(offer: &Offer) -> Option<String> {
    let (first, last) = offer.lines()?;
    let lines = if first == last { format!("line {first}") } else { format!("lines {first}-{last}") };
    Some(format!("Allow only {lines} of {}", offer.file()))
}
