//! Which worked examples stand nearest to a request.
//!
//! Nearness is shared words and word pairs, rare ones counting more, and what sort of sentence it is: a question or
//! an order, and how many files it names. Names of files and numbers are made alike first, so that `Read notes.txt`
//! and `Read todo.md` are the same words; so are a few words that mean the same to someone at a computer.
use std::collections::{BTreeMap, BTreeSet};

/// Keeps very short texts from being near to everything.
const OWN_WEIGHT: f64 = 8.0;
/// How much nearer a text is for being of the same kind as the nearest: the model follows the majority, so the
/// examples had better agree.
const SAME_KIND: f64 = 1.5;

/// A text and what kind of thing it asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate<'a> {
    pub(crate) text: &'a str,
    pub(crate) kind: String,
}

/// The places of the `count` nearest of `candidates`, the nearest last: a small model follows what it read last.
pub(crate) fn nearest(request: &str, candidates: &[Candidate<'_>], count: usize) -> Vec<usize> {
    let scores = scores(request, candidates);
    let Some(best) = ranked(&scores).first().copied() else { return Vec::new() };
    let kinship = |place: usize| match candidates[place].kind == candidates[best].kind {
        true => scores[place] * SAME_KIND,
        false => scores[place],
    };
    let scores: Vec<f64> = (0..candidates.len()).map(kinship).collect();
    let mut places: Vec<usize> = ranked(&scores).into_iter().take(count).collect();
    places.reverse();
    places
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
    let rarity = |feature: &String| {
        let seen = seen_in.get(feature.as_str()).copied().unwrap_or(0);
        (1.0 + candidates.len() as f64 / (1 + seen) as f64).ln()
    };
    let wanted = self::features(request);
    let score = |of: &BTreeSet<String>| {
        let shared: f64 = of.intersection(&wanted).map(rarity).sum();
        let own: f64 = of.iter().map(rarity).sum();
        shared / (OWN_WEIGHT + own).sqrt()
    };
    features.iter().map(score).collect()
}

/// Words that say nothing by themselves; they count in pairs.
const EMPTY: &[&str] = &[
    "a", "an", "and", "are", "can", "could", "do", "does", "for", "here", "i", "in", "is", "it", "me", "my",
    "of", "on", "please", "that", "the", "this", "to", "with", "you",
];

/// Words that begin a question, or a statement that wants an answer.
const ASKING: &[&str] = &[
    "what", "which", "who", "when", "where", "why", "how", "is", "are", "does", "do", "at", "did", "has",
    "i", "my",
];

/// Words that mean the same; the first stands for all.
const SAME: &[&[&str]] = &[
    &["delete", "remove", "erase", "discard", "rid", "drop"],
    &["folder", "directory"],
    &["make", "create", "new"],
    &["run", "start", "execute", "launch"],
    &["change", "replace", "swap", "substitute"],
    &["write", "save", "store", "put"],
    &["list", "files"],
    &["line", "lines", "row", "rows", "entries", "count"],
    &["size", "big", "large", "bytes"],
    &["contain", "contains", "contents", "content"],
    &["end", "last", "ends"],
    &["rename", "move"],
    &["cost", "costs", "price", "much"],
    &["hello", "hi", "hey", "good"],
    &["say", "says", "said", "tell", "show", "print", "prints"],
];

/// Words, pairs of neighbouring words, and the sort of sentence.
fn features(text: &str) -> BTreeSet<String> {
    let words: Vec<String> = words(text);
    let files = words.iter().filter(|word| *word == "<file>" || *word == "<script>").count();
    let is_question =
        text.trim_end().ends_with('?') || words.first().is_some_and(|word| ASKING.contains(&word.as_str()));
    let sort = format!("#{}-{}", files.min(2), if is_question { "question" } else { "order" });
    let pairs = words.windows(2).map(|pair| pair.join(" "));
    let telling = words.iter().filter(|word| !EMPTY.contains(&word.as_str())).cloned();
    let first = words.first().map(|word| format!("^{word}"));
    pairs.chain(telling).chain([sort, format!("#{}", files.min(2))]).chain(first).collect()
}

fn words(text: &str) -> Vec<String> {
    let words =
        text.split_whitespace().map(|word| word.trim_matches(['.', ',', '?', '!', ':', ';', '(', ')']));
    words.filter(|word| !word.is_empty()).map(alike).collect()
}

fn alike(word: &str) -> String {
    let bare = word.trim_matches(['"', '\'', '`']);
    let is_number = bare.chars().any(|character| character.is_ascii_digit())
        && bare.chars().all(|character| character.is_ascii_digit() || ".,-:".contains(character));
    let is_file = bare.contains('/') || bare.split_once('.').is_some_and(|(_, end)| !end.is_empty());
    match (is_number, is_file) {
        (true, _) => "<number>".into(),
        (false, true) if bare.ends_with(".py") || bare.ends_with(".sh") => "<script>".into(),
        (false, true) => "<file>".into(),
        (false, false) => common(&bare.strip_suffix("'s").unwrap_or(bare).to_lowercase()),
    }
}

/// The word that stands for all that mean the same.
fn common(word: &str) -> String {
    let group = SAME.iter().find(|group| group.contains(&word));
    group.map_or(word, |group| group[0]).to_owned()
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

    #[test]
    fn names_and_numbers_are_alike() {
        assert_eq!(words("What's in \"src/main.rs\" at 8080?"), ["what", "in", "<file>", "at", "<number>"]);
        assert_eq!(words("Erase the directory"), ["delete", "the", "folder"]);
    }
}
