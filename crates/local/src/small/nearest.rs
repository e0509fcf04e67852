//! Which worked examples stand nearest to a request.
//!
//! Nearness is shared words and word pairs, rare ones counting more, and what sort of sentence it is: a question or
//! an order, how many files it names, and whether it names an action at all. Words that mean the same count as the
//! same (see [`super::words`]).
use super::words::{ASKING, EMPTY, alike, deciding, is_deciding, named_files};
use std::collections::{BTreeMap, BTreeSet};

/// Keeps very short texts from being near to everything.
const OWN_WEIGHT: f64 = 8.0;
/// How much nearer a text is for being of the same kind as the nearest: the model follows the majority, so the
/// examples had better agree.
const SAME_KIND: f64 = 2.5;
/// What the second nearest of a kind counts in the choice of the kind.
const SECOND_SAY: f64 = 0.3;
/// What is left of the nearness of two texts whose deciding words are all different.
const LEAST_AGREEMENT: f64 = 0.25;

/// A text and what kind of thing it asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate<'a> {
    pub(crate) text: &'a str,
    pub(crate) kind: String,
}

/// The places of the `count` nearest of `candidates`, the nearest last: a small model follows what it read last.
pub(crate) fn nearest(request: &str, candidates: &[Candidate<'_>], count: usize) -> Vec<usize> {
    let scores = scores(request, candidates);
    let Some(best) = likeliest_kind(&scores, candidates) else { return Vec::new() };
    let kinship = |place: usize| match candidates[place].kind == best {
        true => scores[place] * SAME_KIND,
        false => scores[place],
    };
    let scores: Vec<f64> = (0..candidates.len()).map(kinship).collect();
    let mut places: Vec<usize> = ranked(&scores).into_iter().take(count).collect();
    places.reverse();
    places
}

/// The kind of the nearest, where the second nearest of its kind has a say too: one odd example is not evidence.
fn likeliest_kind<'a>(scores: &[f64], candidates: &'a [Candidate<'_>]) -> Option<&'a str> {
    let mut kinds: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for place in ranked(scores) {
        kinds.entry(&candidates[place].kind).or_default().push(scores[place]);
    }
    let worth = |scores: &[f64]| scores[0] + scores.get(1).unwrap_or(&0.0) * SECOND_SAY;
    let best = kinds.iter().max_by(|left, right| worth(left.1).total_cmp(&worth(right.1)));
    best.map(|(kind, _)| *kind)
}

/// Places by falling score; equal ones in the order in which they stand.
fn ranked(scores: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..scores.len()).collect();
    places.sort_by(|left, right| scores[*right].total_cmp(&scores[*left]));
    places
}

fn scores(request: &str, candidates: &[Candidate<'_>]) -> Vec<f64> {
    let features: Vec<BTreeSet<String>> =
        candidates.iter().map(|candidate| features(candidate.text)).collect();
    let mut seen_in: BTreeMap<&str, usize> = BTreeMap::new();
    for feature in features.iter().flatten() {
        *seen_in.entry(feature).or_default() += 1;
    }
    let weight = |feature: &String| {
        let seen = seen_in.get(feature.as_str()).copied().unwrap_or(0);
        let rarity = (1.0 + candidates.len() as f64 / (1 + seen) as f64).ln();
        rarity * emphasis(feature)
    };
    let wanted = self::features(request);
    let wanted_words = alike(request);
    let wanted_deciding = deciding(&wanted_words);
    let score = |(of, candidate): (&BTreeSet<String>, &Candidate<'_>)| {
        let shared: f64 = of.intersection(&wanted).map(weight).sum();
        let own: f64 = of.iter().map(weight).sum();
        let words = alike(candidate.text);
        let fit = LEAST_AGREEMENT + (1.0 - LEAST_AGREEMENT) * overlap(&deciding(&words), &wanted_deciding);
        shared / (OWN_WEIGHT + own).sqrt() * fit * place_for_files(&words, &wanted_words)
    };
    features.iter().zip(candidates).map(score).collect()
}

/// How far a call like the example's has a place for what the request names.
fn place_for_files(example: &[String], wanted: &[String]) -> f64 {
    let count = |words: &[String], mark: &str| words.iter().filter(|word| *word == mark).count();
    let scripts = |words: &[String]| count(words, "<script>");
    let files = |words: &[String]| (count(words, "<file>") + scripts(words)).min(2);
    match (files(example), files(wanted)) {
        // Only a script can be run.
        _ if scripts(example) > 0 && scripts(wanted) == 0 => 0.2,
        (same, wanted) if same == wanted => 1.0,
        (0, _) | (_, 0) => 0.25,
        _ => 0.5,
    }
}

/// What two sets share of what they have together; 1 where both are empty.
fn overlap(left: &BTreeSet<&str>, right: &BTreeSet<&str>) -> f64 {
    match left.union(right).count() {
        0 => 1.0,
        both => left.intersection(right).count() as f64 / both as f64,
    }
}

/// Words for actions and things decide; pairs only confirm; other words are mostly what a request is about.
fn emphasis(feature: &str) -> f64 {
    match feature {
        pair if pair.contains(' ') => 0.6,
        word if is_deciding(word) => 2.0,
        _ => 1.0,
    }
}

/// Words, pairs of neighboring words, and the sort of sentence.
fn features(text: &str) -> BTreeSet<String> {
    let words: Vec<String> = alike(text);
    let files = named_files(text).len().min(2);
    let is_question =
        text.trim_end().ends_with('?') || words.first().is_some_and(|word| ASKING.contains(&word.as_str()));
    let sort = format!("#{files}-{}", if is_question { "question" } else { "order" });
    let acts = !deciding(&words).is_empty();
    let act = format!("#{files}-{}", if acts { "act" } else { "fact" });
    let pairs = words.windows(2).map(|pair| pair.join(" "));
    let telling = words.iter().filter(|word| !EMPTY.contains(&word.as_str())).cloned();
    let first = words.first().map(|word| format!("^{word}"));
    pairs.chain(telling).chain([sort, act]).chain(first).collect()
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
            "Read a.py.",
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
