//! [`Record`]: a journal whose chain holds and whose entries are those of one session, in order.
use super::Flaw;
use haft_core::{
    Entry, Fact, Seq, SessionOpened,
    chain::{self, Chain, ChainedLine, Cuts},
    changed::changes_in,
    line,
};
use std::{collections::BTreeMap, sync::Arc};

/// A journal that holds.
pub(super) struct Record {
    pub(super) chain: Chain,
    pub(super) entries: Vec<Arc<Entry>>,
}

impl Record {
    /// Reads `journal`, which must be the one of `session`, if that is known.
    pub(super) fn read(journal: &[u8], session: Option<&str>, cuts: Cuts) -> Result<Self, Flaw> {
        let chain = chain::check(journal, cuts).map_err(Flaw::Chain)?;
        let mut entries: Vec<Arc<Entry>> = Vec::with_capacity(chain.lines);
        for (line, number) in journal.split_inclusive(|byte| *byte == b'\n').zip(1..) {
            let is_cut = cuts == Cuts::Allowed && ChainedLine::of(line).cut().is_some();
            if is_cut && memchr::memmem::find(line, b"[key]").is_none() {
                return Err(Flaw::NothingCut(number));
            }
            let entry = line::entry(line).map_err(|_| Flaw::Unreadable(number))?;
            if entries.last().is_some_and(|last| last.seq >= entry.seq) {
                return Err(Flaw::Order { line: number, seq: entry.seq.0 });
            }
            if entry.opened().is_some() && number > 1 {
                return Err(Flaw::SecondBeginning(number));
            }
            entries.push(Arc::new(entry));
        }
        let opened = SessionOpened::of(&entries).ok_or(Flaw::NoBeginning)?;
        let found = &opened.session.0;
        match session.filter(|expected| expected != found) {
            Some(expected) => Err(Flaw::OtherSession { found: found.clone(), expected: expected.to_owned() }),
            None => Ok(Self { chain, entries }),
        }
    }

    /// Whether a call has ended, so that it can be made again.
    pub(super) fn has_calls(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry.fact, Fact::ToolEnded { .. }))
    }
}

/// Leaves out what calls only proposed: that was in no file.
pub(super) fn done(entries: &[Arc<Entry>]) -> impl Iterator<Item = &Arc<Entry>> {
    entries.iter().filter(|entry| !matches!(entry.fact, Fact::ApprovalAsked { .. }))
}

/// The contents that were in files of the workspace before or after a change, each with the first entry that names it.
pub(super) fn named_contents(entries: &[Arc<Entry>]) -> BTreeMap<String, Seq> {
    let mut named = BTreeMap::new();
    for entry in done(entries) {
        let changes = changes_in(&entry.fact).iter();
        for state in changes.flat_map(|change| [&change.before, &change.after]).flatten() {
            named.entry(state.hash.0.clone()).or_insert(entry.seq);
        }
    }
    named
}
