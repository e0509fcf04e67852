//! [`PartialAnswers`]: the options of a question that accept a part of a call's changes to files, and the option that
//! refuses it with a reason.
//!
//! The protocol has no parts: each is a separate option, which accepts that part and nothing else.
use super::sdk::{PermissionOption, PermissionOptionKind};
use haft_core::{Accepted, Change, FileKind, changed::squash};
use haft_engine::Recorded;
use haft_present::parts::{Offer, accepted};

/// Maximum hunks that are offered separately; with more, only whole files are.
const MAX_HUNKS: usize = 8;
/// Maximum files that are offered separately; with more, the list would be longer than the proposal.
const MAX_FILES: usize = 16;

/// The option that refuses; the user gives the reason with the next prompt.
pub(super) const REFUSE_AND_SAY: &str = "no-because";

/// Parts that can be accepted separately, in the order of their options.
#[derive(Default)]
pub(super) struct PartialAnswers(Vec<(String, Accepted)>);

impl PartialAnswers {
    /// The parts of these changes that the user can accept: each file if there are several, and each hunk of a file
    /// with several, up to [`MAX_HUNKS`].
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

    /// What the option with this ID accepts; `None` if it is not a part.
    pub(super) fn picked(&self, id: &str) -> Option<Accepted> {
        let place = id.strip_prefix("part-")?.parse::<usize>().ok()?;
        self.0.get(place).map(|(_, accepted)| accepted.clone())
    }
}

/// Whether the change creates a folder, which is accepted with the files in it.
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
