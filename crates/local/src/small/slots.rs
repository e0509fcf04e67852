//! What a call may be filled with: the worked examples are patterns, and the request has the values.
//!
//! A piece of an example's call that stands in the example's request too is a *slot*: in a call that is made by
//! this example, the piece comes from the request at hand. The rest stays as it is.
use super::words::{EMPTY, bare, is_file, named_files};
use haft_core::{
    Example,
    grammar::{Rules, either, literal},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Characters that may stand around a span, but do not belong to it.
const AROUND: &[char] = &['"', '\'', '`', '“', '”', '(', ')'];

/// Where a span may end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ends {
    /// Behind any word.
    Anywhere,
    /// Where a phrase does: at a mark, before a file, and before a word that joins phrases. So nothing of a phrase is
    /// left out.
    WithPhrase,
}

/// Words that join phrases, besides those that say nothing.
const JOINING: &[&str] = &[
    "after", "be", "become", "becomes", "before", "but", "called", "had", "has", "if", "inside", "instead",
    "must", "named", "or", "should", "then", "under", "using", "was", "were", "where", "which", "within",
];

/// As the shown examples have it for this parameter.
pub(crate) fn ends_of(examples: &[&Example], parameter: &str) -> Ends {
    let is_phrase = |example: &&Example| {
        let text = example.arguments.get(parameter).and_then(Value::as_str).unwrap_or_default();
        let behind = example.request.split_once(text).map_or("", |(_, behind)| behind);
        let next = behind.trim_start();
        behind.starts_with(|sign: char| !sign.is_alphanumeric() && sign != ' ') || begins_phrase(next)
    };
    if examples.iter().all(is_phrase) { Ends::WithPhrase } else { Ends::Anywhere }
}

/// Whether what follows is no part of the phrase before it.
fn begins_phrase(rest: &str) -> bool {
    let Some(word) = rest.split_whitespace().next() else { return true };
    let plain = bare(word).to_lowercase();
    word.starts_with(AROUND) || is_file(bare(word)) || EMPTY.contains(&&*plain) || JOINING.contains(&&*plain)
}

/// Any run of neighboring words of `wish`, without marks around it; `write` puts a word down. `None` if it has no
/// words.
pub(crate) fn spans(
    rules: &mut Rules,
    wish: &str,
    ends: Ends,
    write: impl Fn(&str) -> String,
) -> Option<String> {
    let words: Vec<&str> = wish.split_whitespace().collect();
    let closed = |word: &str| {
        word.trim_end_matches(AROUND)
            .trim_end_matches(['.', ',', '?', '!', ':', ';'])
            .trim_end_matches(AROUND)
            .to_owned()
    };
    let mut following: Option<String> = None;
    let mut starts = BTreeSet::new();
    for (at, word) in words.iter().enumerate().rev() {
        let may_end = ends == Ends::Anywhere
            || word.ends_with(|sign: char| !sign.is_alphanumeric())
            || begins_phrase(&words[at + 1..].join(" "));
        let go_on =
            |from: &str| following.as_ref().map(|next| format!("{} {next}", write(&format!("{from} "))));
        let ended = |from: &str| Some(closed(from)).filter(|text| !text.is_empty()).map(|text| write(&text));
        let open = word.trim_start_matches(AROUND);
        let both = |from: &str| {
            let end = ended(from).filter(|_| may_end);
            let choices: BTreeSet<String> = end.into_iter().chain(go_on(from)).collect();
            (!choices.is_empty()).then(|| either(choices))
        };
        starts.extend(both(open));
        if let Some(body) = both(word) {
            following = Some(rules.add(&body));
        }
    }
    (!starts.is_empty()).then(|| either(starts))
}

/// Whether all of `examples` take this parameter from their requests, and there is one.
pub(crate) fn is_slot(examples: &[&Example], parameter: &str) -> bool {
    let taken = |example: &&Example| {
        example
            .arguments
            .get(parameter)
            .and_then(Value::as_str)
            .is_some_and(|text| example.request.contains(text))
    };
    !examples.is_empty() && examples.iter().all(taken)
}

/// A text of the request as it stands in JSON.
pub(crate) fn in_json(text: &str) -> String {
    let quoted = json!(text).to_string();
    literal(&quoted[1..quoted.len() - 1])
}

/// The kind of a command: its words, with `<file1>` for the first file that the request names, `<word>` for another
/// word of the request, and `<number>` for any number.
pub(crate) fn shape(example: &Example) -> String {
    let line = example.arguments.get("command").and_then(Value::as_str).unwrap_or_default();
    let files = named_files(&example.request);
    let asked: BTreeSet<&str> = example.request.split_whitespace().map(bare).collect();
    let word = |(place, word): (usize, &str)| match files.iter().position(|file| *file == word) {
        Some(at) => format!("<file{}>", at + 1),
        None if word.parse::<u32>().is_ok() => "<number>".to_owned(),
        None if place > 0 && asked.contains(word) => "<word>".to_owned(),
        None => word.to_owned(),
    };
    line.split(' ').enumerate().map(word).collect::<Vec<_>>().join(" ")
}

/// The command lines that are made as those of `examples` are, with what `wish` names; `write` puts a text down.
pub(crate) fn commands(
    rules: &mut Rules,
    examples: &[&Example],
    wish: &str,
    write: fn(&str) -> String,
) -> Vec<String> {
    let files = named_files(wish);
    let shapes: BTreeSet<String> = examples.iter().map(|example| shape(example)).collect();
    let takes = |shape: &&String| shape.matches("<file").count() == files.len().min(2);
    let fitting: Vec<&String> = shapes.iter().filter(takes).collect();
    let shapes = if fitting.is_empty() { shapes.iter().collect() } else { fitting };
    let telling =
        |word: &&str| !word.is_empty() && !is_file(word) && !EMPTY.contains(&word.to_lowercase().as_str());
    let words: BTreeSet<&str> = wish.split_whitespace().map(bare).filter(telling).collect();
    let any_word = match words.is_empty() {
        true => "[^\\n \"\\x5C]{1,60}".to_owned(),
        false => rules.add(&either(words.into_iter().map(write))),
    };
    shapes.into_iter().map(|shape| filled(shape, &files, &any_word, write)).collect()
}

/// A shape with something in each slot.
fn filled(shape: &str, files: &[&str], any_word: &str, write: fn(&str) -> String) -> String {
    let any_file = || {
        if files.is_empty() { any_word.to_owned() } else { either(files.iter().map(|file| write(file))) }
    };
    let piece = |piece: &str| match piece {
        "<word>" => any_word.to_owned(),
        "<number>" => "[0-9]{1,3}".to_owned(),
        // One of several files may be meant by a call that takes one.
        "<file1>" if !shape.contains("<file2>") => any_file(),
        "<file1>" => files.first().map_or_else(any_file, |file| write(file)),
        "<file2>" => files.get(1).map_or_else(any_file, |file| write(file)),
        fixed => write(fixed),
    };
    shape.split(' ').map(piece).collect::<Vec<_>>().join(" \" \" ")
}
