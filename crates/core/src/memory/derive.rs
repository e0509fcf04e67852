//! [`learn`]: derives memory lines from what the journals of a workspace show repeatedly, and finds lines that the
//! journals contradict.
use super::{
    MemoryChange, MemoryLine, SessionRecord, Source,
    observe::{Observed, Run},
};
use crate::{Entry, Seq, active_path, past_calls::PastCalls};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

/// Minimum number of sessions that must show the same.
const MIN_SESSIONS: usize = 2;
/// Two corrections count as the same if they share at least this fraction of their words.
const MIN_SHARED_WORDS: f64 = 0.6;
/// Words that are ignored when corrections are compared.
const FILLER_WORDS: [&str; 14] =
    ["a", "an", "and", "do", "in", "is", "it", "no", "of", "please", "that", "the", "this", "to"];

/// Memory lines derived from journals.
#[derive(Debug, Default)]
pub struct Learned {
    /// The derived lines, without those that the user declined or had removed.
    pub lines: Vec<MemoryLine>,
    /// Texts of lines that later sessions contradict, each with the contradicting entries.
    contradicted: HashMap<String, Vec<Source>>,
    /// Entries that were undone.
    undone: HashSet<Source>,
}

/// Derives lines from the journals of one workspace, the oldest first.
pub fn learn(sessions: &[SessionRecord]) -> Learned {
    let observed: Vec<Observed> = sessions.iter().map(Observed::of).collect();
    let (works, contradicted) = commands(&observed);
    let mut lines = [works, flaky(&observed), corrections(&observed)].concat();
    lines.retain(|line| !observed.iter().any(|observed| observed.declined.contains(&line.text)));
    let undone = sessions.iter().flat_map(undone).collect();
    Learned { lines, contradicted, undone }
}

impl Learned {
    /// Returns the proposed changes for a file with these memory lines.
    pub fn change(&self, present: &[MemoryLine]) -> MemoryChange {
        let has_text = |line: &MemoryLine| self.lines.iter().any(|shown| shown.text == line.text);
        let withdraw = present.iter().filter_map(|line| Some((line.clone(), self.objection(line)?)));
        let withdraw = withdraw.filter(|(line, _)| !has_text(line)).collect();
        let is_new = |line: &&MemoryLine| !present.iter().any(|known| known.text == line.text);
        MemoryChange { add: self.lines.iter().filter(is_new).cloned().collect(), withdraw }
    }

    /// Returns why a line is outdated, as a sentence without its full stop; `None` if it is not.
    pub fn objection(&self, line: &MemoryLine) -> Option<String> {
        if self.lines.iter().any(|shown| shown.text == line.text) {
            return None;
        }
        if let Some(source) = line.sources.iter().find(|source| self.undone.contains(source)) {
            return Some(format!("{source} was undone"));
        }
        let against = self.contradicted.get(&line.text)?;
        let against: Vec<String> = against.iter().map(Source::to_string).collect();
        Some(format!("contradicted by {}", against.join(", ")))
    }
}

type Contradicted = HashMap<String, Vec<Source>>;

/// Lines for commands that succeeded in several sessions after a search or a failure. Commands whose last runs failed
/// in several sessions are contradicted.
fn commands(observed: &[Observed]) -> (Vec<MemoryLine>, Contradicted) {
    let mut by_command: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
    for run in observed.iter().flat_map(|observed| &observed.runs) {
        by_command.entry(&run.command).or_default().push(run);
    }
    let (mut lines, mut contradicted) = (Vec::new(), HashMap::new());
    for (command, runs) in by_command {
        let text = format!("`{command}` passes");
        let mut last: Vec<&Run> = Vec::new();
        for run in &runs {
            last.retain(|other| other.source.session != run.source.session);
            last.push(run);
        }
        let newest = &last[last.len().saturating_sub(MIN_SESSIONS)..];
        let sources = |runs: &[&Run]| runs.iter().map(|run| run.source.clone()).collect::<Vec<_>>();
        if newest.len() == MIN_SESSIONS && newest.iter().all(|run| !run.passed) {
            contradicted.insert(text, sources(newest));
            continue;
        }
        let well: Vec<&Run> = last.into_iter().filter(|run| run.passed).collect();
        if well.len() >= MIN_SESSIONS && runs.iter().any(|run| run.passed && run.was_sought) {
            lines.push(MemoryLine { text, sources: sources(&well[well.len() - MIN_SESSIONS..]) });
        }
    }
    (lines, contradicted)
}

/// Lines for tests that failed and passed in two runs of the same command with nothing changed in between.
fn flaky(observed: &[Observed]) -> Vec<MemoryLine> {
    let mut lines: Vec<MemoryLine> = Vec::new();
    for runs in observed.iter().map(|observed| &observed.runs) {
        for (place, run) in runs.iter().enumerate().filter(|(_, run)| run.has_names) {
            let same = |other: &&Run| other.command == run.command && other.has_names;
            let Some(next) = runs[place + 1..].iter().find(same).filter(|next| next.state == run.state)
            else {
                continue;
            };
            let (failed, passed) = if run.failures.is_empty() { (next, run) } else { (run, next) };
            if !passed.passed {
                continue;
            }
            for name in &failed.failures {
                let text =
                    format!("the test `{name}` is flaky: it failed and passed with no change in between");
                if !lines.iter().any(|line| line.text == text) {
                    lines.push(MemoryLine { text, sources: vec![run.source.clone(), next.source.clone()] });
                }
            }
        }
    }
    lines
}

/// Lines for corrections that the user gave in similar words in several sessions, in the words of the first one.
fn corrections(observed: &[Observed]) -> Vec<MemoryLine> {
    let mut lines: Vec<MemoryLine> = Vec::new();
    for (text, source) in observed.iter().flat_map(|observed| &observed.corrections) {
        match lines.iter_mut().find(|line| are_alike(&line.text, text)) {
            Some(line) if line.sources.len() >= MIN_SESSIONS => {}
            Some(line) if line.sources.iter().any(|known| known.session == source.session) => {}
            Some(line) => line.sources.push(source.clone()),
            None => lines.push(MemoryLine { text: text.clone(), sources: vec![source.clone()] }),
        }
    }
    lines.retain(|line| line.sources.len() >= MIN_SESSIONS);
    lines
}

fn are_alike(a: &str, b: &str) -> bool {
    let (a, b) = (words(a), words(b));
    let (shared, all) = (a.intersection(&b).count(), a.union(&b).count());
    a.len() >= 2 && b.len() >= 2 && shared as f64 >= MIN_SHARED_WORDS * all as f64
}

fn words(text: &str) -> HashSet<String> {
    let words = text.to_lowercase();
    let words = words.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
    words.filter(|word| !FILLER_WORDS.contains(word)).map(str::to_owned).collect()
}

/// The entries of a session that an undo abandoned, and the entries of calls that were undone.
fn undone(record: &SessionRecord) -> Vec<Source> {
    let path: HashSet<Seq> = active_path(&record.entries).iter().map(|entry| entry.seq).collect();
    let mut undone: Vec<Seq> = record.entries.iter().map(|entry| entry.seq).collect();
    undone.retain(|seq| !path.contains(seq));
    let taken_back = PastCalls::of(&record.entries).calls.into_iter().filter(|call| call.is_undone);
    for call in taken_back {
        let is_end = |entry: &&Arc<Entry>| {
            entry.seq > call.reply
                && matches!(&entry.fact, crate::Fact::ToolEnded { call: ended, .. } if *ended == call.id)
        };
        undone.extend(record.entries.iter().find(is_end).map(|entry| entry.seq));
        undone.push(call.reply);
    }
    undone.into_iter().map(|entry| Source { session: record.id.clone(), entry }).collect()
}
