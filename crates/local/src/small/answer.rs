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

/// An answer to `wish` from its words, from those of `results`, and of the frames of the `shown` examples' answers.
/// `None` where there is nothing to go by, or too much.
///
/// Where the examples tell something that only their results say, the answer does so too, soon, and to the end of a
/// phrase: a small model repeats the question, or stops in the middle of a name.
pub(crate) fn answer(
    rules: &mut Rules,
    wish: &str,
    results: &[String],
    shown: &[&Example],
) -> Option<String> {
    let told: BTreeSet<String> = results.iter().flat_map(|text| pieces(text)).collect();
    let mut known: BTreeSet<String> = pieces(wish).collect();
    if known.is_empty() && told.is_empty() || known.len() + told.len() > MOST_WORDS || shown.is_empty() {
        return None;
    }
    for example in shown {
        let own: BTreeSet<String> = pieces(&example.request).chain(pieces(&example.result)).collect();
        known.extend(pieces(&example.answer).filter(|word| !own.contains(word)));
    }
    for word in FRAME.split(' ') {
        known.insert(word.to_owned());
        known.insert(word[..1].to_uppercase() + &word[1..]);
    }
    let all = rules.add(&either(known.union(&told).map(|word| literal(word))));
    let news: BTreeSet<&String> = told.difference(&known).collect();
    let Some(lead) = lead(shown).filter(|_| !news.is_empty()) else {
        return Some(rules.add(&format!("{all} ({BETWEEN} {all}){{0,60}} [.!?]?")));
    };
    if let [.., result] = results
        && is_quoted(shown)
        && !result.contains('\n')
    {
        let known = rules.add(&either(known.iter().map(|word| literal(word))));
        return Some(rules.add(&format!("({known} {BETWEEN}){{0,{lead}}} {}", literal(result.trim()))));
    }
    let ends: BTreeSet<String> =
        results.iter().flat_map(|text| text.lines().flat_map(ends_of_phrases)).collect();
    let last = known.iter().chain(news.iter().copied().filter(|word| ends.contains(*word)));
    let last = rules.add(&either(last.map(|word| literal(word))));
    let known = rules.add(&either(known.iter().map(|word| literal(word))));
    let stop = news.iter().filter(|word| ends.contains(**word)).map(|word| literal(word)).collect::<Vec<_>>();
    let news = rules.add(&either(news.iter().map(|word| literal(word))));
    let rest = format!("{news} ({BETWEEN} {all}){{0,40}} {BETWEEN} {last}");
    let told = if stop.is_empty() { rest } else { format!("({rest} | {})", either(stop)) };
    Some(rules.add(&format!("({known} {BETWEEN}){{0,{lead}}} {told} [.!?]?")))
}

/// What may stand between two words.
const BETWEEN: &str = "[,:;.]? \" \"";

/// Whether the answers of all examples that have a result end with the whole of it.
fn is_quoted(shown: &[&Example]) -> bool {
    let mut with_result = shown.iter().filter(|example| !example.result.is_empty());
    with_result.all(|example| example.answer.trim_end_matches('.').ends_with(example.result.trim()))
}

/// How many words an answer has at most before the first that only the result says, if the nearest of the examples
/// with a result has one. Some more than the examples have: names differ in length.
fn lead(shown: &[&Example]) -> Option<usize> {
    let before = |example: &&Example| {
        let asked: BTreeSet<String> = pieces(&example.request).collect();
        let result: BTreeSet<String> = pieces(&example.result).filter(|word| !asked.contains(word)).collect();
        example.answer.split_whitespace().position(|word| pieces(word).any(|piece| result.contains(&piece)))
    };
    let with_result = shown.iter().rev().find(|example| !example.result.is_empty())?;
    before(with_result)?;
    shown.iter().filter_map(before).max().map(|most| most + 4)
}

/// The words of a line behind which a phrase may end: its last, those before a mark, and those before a word that says
/// nothing.
fn ends_of_phrases(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ends = |at: &usize| {
        let next = words.get(at + 1).map(|next| bare(next).to_lowercase());
        let is_marked = words[*at].ends_with(|sign: char| !sign.is_alphanumeric());
        is_marked || next.is_none_or(|next| EMPTY.contains(&next.as_str()) || next.is_empty())
    };
    let last = |at: usize| pieces(words[at]).collect::<Vec<_>>();
    (0..words.len()).filter(ends).flat_map(last).collect()
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
        let results = ["{\"port\": 8081}".to_owned()];
        let mut rules = Rules::new(None);
        let name = answer(&mut rules, "Start b.py.", &results, &[&example]).unwrap();
        let grammar = rules.into_grammar(&name);
        for (word, is_there) in
            [("8081", true), ("port", true), ("output", true), ("area", false), ("64", false)]
        {
            assert_eq!(grammar.contains(&format!("\"{word}\"")), is_there, "{word} in {grammar}");
        }
        assert_eq!(answer(&mut Rules::new(None), "", &[], &[&example]), None);
    }

    #[test]
    fn a_result_is_told_whole_where_the_examples_do_so() {
        let example =
            Example::new("Start a.py.", serde_json::Value::Null, "Hi, Ann", "The output is: Hi, Ann");
        let mut rules = Rules::new(None);
        let name = answer(&mut rules, "Start b.py.", &["[2, 3]".to_owned()], &[&example]).unwrap();
        let grammar = rules.into_grammar(&name);
        assert!(grammar.contains(r#""[2, 3]""#), "{grammar}");
    }

    #[test]
    fn a_phrase_of_a_result_is_told_to_its_end() {
        let table = [
            ("Karin: 17 Station Road", vec!["Karin", "Road"]),
            ("12 data.csv", vec!["data.csv"]),
            ("the owl is awake.", vec!["owl", "awake"]),
        ];
        for (line, expected) in table {
            let ends: BTreeSet<String> = ends_of_phrases(line).into_iter().collect();
            assert_eq!(ends, expected.into_iter().map(str::to_owned).collect(), "{line}");
        }
    }
}
