//! [`Changed`]: what calls have really done to files, folded from facts.
use crate::{CallId, Change, Fact};
use std::path::PathBuf;

/// Changes in the order in which they happened, each with its call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changed {
    steps: Vec<(CallId, Change)>,
    /// Where those of the last reply begin: names of calls may come again.
    reply: usize,
}

impl Changed {
    /// Of all these facts.
    pub fn of<'a>(facts: impl IntoIterator<Item = &'a Fact>) -> Self {
        let mut changed = Self::default();
        facts.into_iter().for_each(|fact| changed.apply(fact));
        changed
    }

    /// One more fact.
    pub fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::Staged { call, changes, .. } | Fact::ChangedBelow { call, changes, .. } => {
                self.steps.extend(changes.iter().map(|change| (call.clone(), change.clone())));
            }
            Fact::Unsettled { call, paths } => paths.iter().for_each(|path| {
                let own = &self.steps[self.reply.min(self.steps.len())..];
                let place = own.iter().rposition(|(by, change)| by == call && change.path == *path);
                place.map(|place| self.steps.remove(self.reply + place));
            }),
            Fact::Replied { .. } => self.reply = self.steps.len(),
            _ => {}
        }
    }

    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Step by step.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &Change> {
        self.steps.iter().map(|(_, change)| change)
    }

    /// One change for each file: from what it was at first to what it is at last, in the order of the first steps. A
    /// file that ended as it began is left out.
    pub fn whole(&self) -> Vec<Change> {
        whole(self.steps())
    }
}

/// See [`Changed::whole`].
pub fn whole<'a>(steps: impl IntoIterator<Item = &'a Change>) -> Vec<Change> {
    let mut files: Vec<Change> = Vec::new();
    for step in steps {
        match files.iter_mut().find(|file| file.path == step.path) {
            Some(file) => append(file, step),
            None => files.push(step.clone()),
        }
    }
    files.retain(|file| file.before != file.after);
    files
}

/// Attributes that a step does not name stay as they are.
fn append(file: &mut Change, step: &Change) {
    let known = file.after.as_mut().and_then(|after| after.attributes.take());
    let first = step.before.as_ref().and_then(|before| before.attributes.clone());
    if let (Some(before), None) = (&mut file.before, &known) {
        before.attributes = before.attributes.take().or(first);
    }
    file.after.clone_from(&step.after);
    if let (Some(_), Some(after)) = (&step.before, &mut file.after) {
        after.attributes = after.attributes.take().or(known);
    }
}

/// The changes that a fact names, be they made, asked for or taken back: a session keeps their contents.
pub fn named(fact: &Fact) -> &[Change] {
    match fact {
        Fact::Staged { changes, .. }
        | Fact::ChangedBelow { changes, .. }
        | Fact::ApprovalAsked { changes, .. }
        | Fact::Rewound { changes, .. } => changes,
        _ => &[],
    }
}

/// The paths of changes.
pub fn paths(changes: &[Change]) -> Vec<PathBuf> {
    changes.iter().map(|change| change.path.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileState, Hash, How, ToolResult};

    fn change(path: &str, before: &str, after: &str) -> Change {
        let state = |text: &str| (!text.is_empty()).then(|| FileState::file(Hash(text.into()), 0o644));
        Change { path: path.into(), before: state(before), after: state(after) }
    }

    fn staged(call: &str, changes: Vec<Change>) -> Fact {
        Fact::Staged {
            call: CallId(call.into()),
            changes,
            how: How::Declared,
            result: ToolResult::default(),
            unkept: vec![],
        }
    }

    #[test]
    fn what_was_left_alone_was_not_done_and_a_file_is_told_once() {
        let unsettled = |call: &str| Fact::Unsettled { call: CallId(call.into()), paths: vec!["b".into()] };
        let changed = Changed::of(&[
            staged("1", vec![change("a", "", "1"), change("b", "", "1")]),
            unsettled("1"),
            staged("2", vec![change("a", "1", "2"), change("c", "x", "y")]),
            staged("3", vec![change("c", "y", "x")]),
        ]);
        let steps: Vec<&str> = changed.steps().filter_map(|change| change.path.to_str()).collect();
        assert_eq!(steps, ["a", "a", "c", "c"]);
        assert_eq!(changed.whole(), [change("a", "", "2")]);
        assert!(Changed::of(&[staged("1", vec![change("b", "", "1")]), unsettled("1")]).is_empty());
    }

    #[test]
    fn attributes_that_a_later_step_does_not_name_are_as_the_step_before_left_them() {
        let state = |text: &str, note: Option<&str>| {
            let notes = note.map(|note| [("user.note".to_owned(), note.to_owned())].into());
            Some(FileState::file(Hash(text.into()), 0o644).with_attributes(notes))
        };
        let step = |before: Option<FileState>, after| Change { path: "a".into(), before, after };
        let edit = step(state("1", None), state("2", None));
        let note = step(state("2", Some("31")), state("2", Some("32")));
        let again = step(state("2", None), state("3", None));
        assert_eq!(whole([&edit, &note, &again]), [step(state("1", Some("31")), state("3", Some("32")))]);
        let back = note.inverse();
        assert_eq!(whole([&edit, &note, &back, &edit.inverse()]), []);
        let made = step(None, state("2", None));
        let noted = step(state("2", Some("31")), state("2", Some("32")));
        assert_eq!(whole([&made, &noted]), [step(None, state("2", Some("32")))]);
    }
}
