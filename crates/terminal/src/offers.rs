//! [`read`]: asks line by line which parts of a proposal to accept; [`Proposed`]: a file that the user can edit before
//! it is written.
use crate::diffs::Diffs;
use haft_core::{Accepted, AcceptedFile, Change, Fact, FileKind, FileState};
use haft_engine::Session;
pub(crate) use haft_present::parts::{Offer, accepted};
use haft_present::{file_diff::DiffLine, proposal::proposed_text, safe};
use std::{
    io::{BufRead, Write},
    path::PathBuf,
};

/// The name of a part and its lines, ending with a line break.
fn text(offer: &Offer, diffs: Diffs) -> String {
    let lines: String = offer.diff.iter().flat_map(|file| &file.hunks).map(|hunk| lines(hunk)).collect();
    diffs.in_rows(&format!("{}\n{lines}", offer.name))
}

/// The only file that a change writes, and its proposed text.
#[derive(Clone, Debug)]
pub(crate) struct Proposed {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl Proposed {
    /// The file that the call of `fact` would write, if it is a single text file.
    pub(crate) fn of(session: &Session, fact: &Fact) -> Option<Self> {
        let Fact::ApprovalAsked { changes, bulk, .. } = fact else { return None };
        let change = proposed_file(changes).filter(|_| bulk.is_empty())?;
        Some(Self { path: change.path.clone(), text: proposed_text(session, change)? })
    }

    /// Accepts the change with `text` instead; `None` if `text` is the proposed one.
    pub(crate) fn accept(self, text: String) -> Option<Accepted> {
        let file = AcceptedFile { path: self.path, hunks: None, text: Some(text) };
        (file.text.as_ref() != Some(&self.text)).then(|| Accepted { files: vec![file] })
    }
}

/// The change that writes a file, if it is the only one. Folders that are created for the file do not count.
pub(crate) fn proposed_file(changes: &[Change]) -> Option<&Change> {
    let is = |state: &Option<FileState>, kind| state.as_ref().is_some_and(|state| state.kind() == kind);
    let is_new_folder = |change: &&Change| change.before.is_none() && is(&change.after, FileKind::Folder);
    let mut files = changes.iter().filter(|change| !is_new_folder(change));
    let file = files.next().filter(|change| is(&change.after, FileKind::File))?;
    let is_text = file.before.is_none() || is(&file.before, FileKind::File);
    (is_text && files.next().is_none()).then_some(file)
}

/// The lines that a hunk removes and adds.
fn lines(hunk: &[DiffLine]) -> String {
    let line = |line: &DiffLine| match (line.is_removed(), line.is_added()) {
        (true, _) => Some(format!("   - {}\n", line.text())),
        (_, true) => Some(format!("   + {}\n", line.text())),
        (false, false) => None,
    };
    hunk.iter().filter_map(line).collect()
}

/// Asks which parts to accept; `None` if the user returns to the question.
pub(crate) fn read(
    offers: &[Offer],
    diffs: Diffs,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Option<Accepted> {
    let numbered =
        offers.iter().enumerate().map(|(place, offer)| format!("{}. {}", place + 1, text(offer, diffs)));
    let mut said: String = numbered.collect();
    loop {
        said += "accept which? numbers such as 1 3, or Enter to go back: ";
        let _no_terminal = output.write_all(said.as_bytes()).and_then(|()| output.flush());
        let mut line = String::new();
        if !input.read_line(&mut line).is_ok_and(|bytes| bytes > 0) || line.trim().is_empty() {
            return None;
        }
        match chosen(offers, line.trim()) {
            Ok(accepted) => return Some(accepted),
            Err(word) => {
                said = format!(
                    "there is no part `{}`; they are 1 to {}\n",
                    safe::visible_line(word),
                    offers.len()
                )
            }
        }
    }
}

/// The parts with these numbers, counted from 1. The error is the first word that is not the number of a part.
fn chosen<'a>(offers: &[Offer], numbers: &'a str) -> Result<Accepted, &'a str> {
    let mut parts = Vec::new();
    for word in numbers.split([' ', ',']).filter(|word| !word.is_empty()) {
        let place = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        parts.push(place.and_then(|place| offers.get(place)).ok_or(word)?);
    }
    if parts.is_empty() { Err(numbers) } else { Ok(accepted(parts)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_chosen_by_their_numbers() {
        let offer = |path: &str, hunk| Offer { path: path.into(), hunk, name: path.into(), diff: None };
        let offers = [offer("a", Some(0)), offer("a", Some(1)), offer("b", None)];
        let list = "1. a\n2. a\n3. b\n";
        let asked = "accept which? numbers such as 1 3, or Enter to go back: ";
        type Files<'a> = &'a [(&'a str, Option<&'a [usize]>)];
        let table: [(&str, Option<Files<'_>>, &str); 6] = [
            ("2\n", Some(&[("a", Some(&[1]))]), ""),
            ("1, 3\n", Some(&[("a", Some(&[0])), ("b", None)]), ""),
            ("1 2\n", Some(&[("a", Some(&[0, 1]))]), ""),
            ("4\n3\n", Some(&[("b", None)]), "there is no part `4`; they are 1 to 3\n"),
            ("1 b\n\n", None, "there is no part `b`; they are 1 to 3\n"),
            ("", None, ""),
        ];
        for (typed, expected, refused) in table {
            let mut output = Vec::new();
            let accepted = read(&offers, Diffs(None), &mut typed.as_bytes(), &mut output);
            let file = |(path, hunks): &(&str, Option<&[usize]>)| AcceptedFile {
                path: path.into(),
                hunks: hunks.map(<[usize]>::to_vec),
                text: None,
            };
            let expected = expected.map(|files| Accepted { files: files.iter().map(file).collect() });
            assert_eq!(accepted, expected, "{typed:?}");
            let again = if refused.is_empty() { String::new() } else { format!("{refused}{asked}") };
            assert_eq!(String::from_utf8(output).unwrap(), format!("{list}{asked}{again}"), "{typed:?}");
        }
    }
}
