//! From a tool's result to the answer: the lines that matter, and the words that an answer may have.
//!
//! A small model takes the wrong line, or goes on with the words of an example. So of a file it sees the lines that
//! share a word with the request, where there are any, and its answer is made of words from the request, the result
//! and the frames of the examples' answers.
use super::words::{ASKING, EMPTY, alike, bare, deciding};
use haft_core::{
    Example,
    grammar::{Rules, either, literal},
};
use std::collections::BTreeSet;

/// With more words to choose from than this, an answer is free: the model had better sum up.
const MOST_WORDS: usize = 200;

/// Words that any answer may need.
const FRAME: &str =
    "the is are was it its in of a an and to has have there not no yes does do exist file i you your";

/// The lines of a file's `text` that share most words with `wish`; all of them where none does, or where the request
/// is about places (`the first line`) or the whole (`the content`).
pub(crate) fn focus(text: &str, wish: &str) -> String {
    let words = alike(wish);
    let about_places = ["first", "last", "line", "content", "sort", "word", "character", "list"];
    let ordinals = ["second", "third", "fourth", "fifth", "next", "all", "every", "each"];
    let is_whole = deciding(&words).iter().any(|word| about_places.contains(word))
        || words.iter().any(|word| ordinals.contains(&word.as_str()));
    let empty = |word: &str| {
        EMPTY.contains(&word) || ASKING.contains(&word) || ["tell", "show", "file", "check"].contains(&word)
    };
    let wanted: BTreeSet<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| word.len() > 2 && !word.starts_with('<') && !empty(word))
        .collect();
    let of_line = |line: &str| alike(&line.replace(|character: char| !character.is_alphanumeric(), " "));
    let shared = |line: &str| {
        let words = of_line(line);
        wanted.iter().filter(|wanted| words.iter().any(|word| akin(word, wanted))).count()
    };
    let most = text.lines().map(shared).max().unwrap_or(0);
    let best: Vec<&str> = text.lines().filter(|line| shared(line) == most).collect();
    let says_more = best.iter().any(|line| of_line(line).len() > most);
    match most > 0 && !is_whole && says_more {
        true => best.join("\n"),
        false => text.to_owned(),
    }
}

/// The same word, or another form of it.
fn akin(left: &str, right: &str) -> bool {
    let common = left.chars().zip(right.chars()).take_while(|(left, right)| left == right).count();
    left == right || common >= 4 && left.len().max(right.len()) <= common + 3
}

/// An answer from words of `known` texts and of the frames of the `shown` examples' answers. `None` where there is
/// nothing to go by, or too much.
pub(crate) fn answer(rules: &mut Rules, known: &[&str], shown: &[&Example]) -> Option<String> {
    let mut words: BTreeSet<String> = known.iter().flat_map(|text| pieces(text)).collect();
    if words.is_empty() || words.len() > MOST_WORDS || shown.is_empty() {
        return None;
    }
    for example in shown {
        let own: BTreeSet<String> = pieces(&example.request).chain(pieces(&example.result)).collect();
        words.extend(pieces(&example.answer).filter(|word| !own.contains(word)));
    }
    for word in FRAME.split(' ') {
        words.insert(word.to_owned());
        words.insert(word[..1].to_uppercase() + &word[1..]);
    }
    let word = rules.add(&either(words.iter().map(|word| literal(word))));
    Some(rules.add(&format!("{word} ([,:;.]? \" \" {word}){{0,60}} [.!?]?")))
}

/// The words of a text, as they stand there and without what stands around and between them in data.
fn pieces(text: &str) -> impl Iterator<Item = String> + use<'_> {
    let marks: &[char] = &[',', ':', '=', '"', '\'', '`', '{', '}', '[', ']', '(', ')', '<', '>', ';', '|'];
    let both = text.split_whitespace().flat_map(move |word| {
        let inner = word.split(marks).map(|piece| piece.trim_end_matches(['.', '!', '?']));
        [word.trim_end_matches(['.', ',', ';', ':', '!', '?']), bare(word)].into_iter().chain(inner)
    });
    both.filter(|word| !word.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_seen_by_the_lines_that_matter() {
        let file = "# Wifi\nHeating: 21\nWifi password: sun9\nLeader: Ann\n";
        let table = [
            ("I forgot the wifi password, see home.txt", "Wifi password: sun9"),
            ("Who leads, according to home.txt?", "Leader: Ann"),
            ("What is the first line of home.txt about heating?", file),
            ("Read home.txt and tell me what it says.", file),
        ];
        for (wish, expected) in table {
            assert_eq!(focus(file, wish), expected, "{wish}");
        }
    }

    #[test]
    fn an_answer_has_the_words_of_the_result_and_the_frame_of_the_examples() {
        let example = Example::new(
            "Start a.py.",
            serde_json::Value::Null,
            "The area is 64",
            "The output is: The area is 64",
        );
        let mut rules = Rules::new(None);
        let name = answer(&mut rules, &["{\"port\": 8081}"], &[&example]).unwrap();
        let grammar = rules.into_grammar(&name);
        for (word, is_there) in
            [("8081", true), ("port", true), ("output", true), ("area", false), ("64", false)]
        {
            assert_eq!(grammar.contains(&format!("\"{word}\"")), is_there, "{word} in {grammar}");
        }
        assert_eq!(answer(&mut Rules::new(None), &[""], &[&example]), None);
    }
}
