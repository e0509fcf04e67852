//! [`nearest`]: finds the worked examples nearest to a request: those that have most words and word pairs in common
//! with it. Rare ones weigh more.
use super::words::words;
use std::collections::{BTreeMap, BTreeSet};

/// Keeps very short texts from being near to every request.
const LENGTH_OFFSET: f64 = 8.0;
/// Factor for candidates of the same kind as the nearest one: the model follows the majority, so the examples should
/// agree.
const SAME_KIND_FACTOR: f64 = 2.5;
/// Weight of the second nearest candidate of a kind in the choice of the kind: a single unusual example is not
/// evidence.
const SECOND_WEIGHT: f64 = 0.3;
/// Factor for candidates that name a different number of files than the request.
const OTHER_FILES_FACTOR: f64 = 0.4;

/// A text, and the kind of call that it requests.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate<'a> {
    pub(super) text: &'a str,
    pub(super) kind: String,
}

/// The indexes of the `count` nearest of `candidates`, the nearest last, because a small model follows what it read
/// last.
pub(super) fn nearest(request: &str, candidates: &[Candidate<'_>], count: usize) -> Vec<usize> {
    let mut scores = scores(request, candidates);
    if let Some(kind) = likeliest_kind(&scores, candidates) {
        for (score, candidate) in scores.iter_mut().zip(candidates) {
            *score *= if candidate.kind == kind { SAME_KIND_FACTOR } else { 1.0 };
        }
    }
    let mut places: Vec<usize> = ranked(&scores).into_iter().take(count).collect();
    places.reverse();
    places
}

fn likeliest_kind<'a>(scores: &[f64], candidates: &'a [Candidate<'_>]) -> Option<&'a str> {
    let mut kinds: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for place in ranked(scores) {
        kinds.entry(&candidates[place].kind).or_default().push(scores[place]);
    }
    let weight = |scores: &[f64]| scores[0] + scores.get(1).unwrap_or(&0.0) * SECOND_WEIGHT;
    let best = kinds.iter().max_by(|left, right| weight(left.1).total_cmp(&weight(right.1)));
    best.map(|(kind, _)| *kind)
}

/// Indexes by falling score; equal scores keep their order.
fn ranked(scores: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..scores.len()).collect();
    places.sort_by(|left, right| scores[*right].total_cmp(&scores[*left]));
    places
}

fn scores(request: &str, candidates: &[Candidate<'_>]) -> Vec<f64> {
    let all: Vec<BTreeSet<String>> = candidates.iter().map(|candidate| features(candidate.text)).collect();
    let mut frequency: BTreeMap<&str, usize> = BTreeMap::new();
    for feature in all.iter().flatten() {
        *frequency.entry(feature).or_default() += 1;
    }
    let rarity = |feature: &String| {
        let seen = frequency.get(feature.as_str()).copied().unwrap_or(0);
        (1.0 + candidates.len() as f64 / (1 + seen) as f64).ln()
    };
    let (wanted, wanted_files) = (features(request), files(request));
    let score = |(own, candidate): (&BTreeSet<String>, &Candidate<'_>)| {
        let shared: f64 = own.intersection(&wanted).map(rarity).sum();
        let length: f64 = own.iter().map(rarity).sum();
        let factor = if files(candidate.text) == wanted_files { 1.0 } else { OTHER_FILES_FACTOR };
        shared / (LENGTH_OFFSET + length).sqrt() * factor
    };
    all.iter().zip(candidates).map(score).collect()
}

/// The number of files that a text names, at most 2, and whether one of them is executable.
fn files(text: &str) -> (usize, bool) {
    let words = words(text);
    let count = |mark: &str| words.iter().filter(|word| *word == mark).count();
    ((count("<file>") + count("<script>")).min(2), count("<script>") > 0)
}

/// The features of a text: its words, pairs of adjacent words, the first word, and whether it is a question.
fn features(text: &str) -> BTreeSet<String> {
    let words = words(text);
    let pairs: Vec<String> = words.windows(2).map(|pair| pair.join(" ")).collect();
    let first = words.first().map(|word| format!("^{word}"));
    let sort = if text.trim_end().ends_with('?') { "?" } else { "." };
    words.into_iter().chain(pairs).chain(first).chain([sort.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_stands_last() {
        let texts = [
            "List the files here.",
            "Read todo.md and tell me the first task.",
            "What is the capital of Peru?",
            "Read a.md.",
        ];
        let candidates = texts.map(|text| Candidate { text, kind: text[..4].to_owned() });
        let choose = |request: &str| nearest(request, &candidates, 2);
        assert_eq!(choose("Read notes.txt and tell me the launch code."), [3, 1]);
        assert_eq!(choose("What's the capital of France?").last(), Some(&2));
        assert_eq!(choose("list all files").last(), Some(&0));
        assert_eq!(nearest("anything", &[], 4), Vec::<usize>::new());
        assert_eq!(nearest("anything", &candidates[..1], 4), [0]);
    }
}
