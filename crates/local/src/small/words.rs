//! The words of a request: names of files, and words that mean the same made alike.
use std::{
    collections::{BTreeSet, HashMap},
    sync::OnceLock,
};

/// What people put around words.
const MARKS: &[char] =
    &['"', '\'', '`', '(', ')', ',', ';', ':', '?', '!', '“', '”', '‘', '’', '«', '»', '„'];

/// Words that say nothing of what is to be done.
pub(crate) const EMPTY: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "by", "can", "could", "do", "does", "for", "from", "have", "here",
    "i", "in", "into", "is", "it", "its", "just", "kindly", "me", "my", "now", "of", "on", "out", "please",
    "hey", "so", "some", "that", "the", "there", "this", "to", "up", "us", "want", "will", "with", "would",
    "you", "your",
];

/// Words that begin a question, or a statement that wants an answer.
pub(crate) const ASKING: &[&str] = &[
    "what", "which", "who", "whose", "whom", "when", "where", "why", "how", "is", "are", "do", "at", "did",
    "has", "i", "my",
];

/// Words that mean the same to someone at a computer; the first stands for all. Those in `DECIDING` are actions and
/// things that decide which tool is right.
#[rustfmt::skip]
const DECIDING: &[&[&str]] = &[
    &["delete", "remove", "erase", "discard", "rid", "drop", "trash", "wipe", "throw", "destroy", "scrap", "rm", "eliminate", "clear"],
    &["folder", "directory", "subfolder", "subdirectory", "dir", "mkdir"],
    &["create", "make", "new", "generate", "produce", "prepare", "add", "want", "like"],
    &["copy", "duplicate", "clone", "backup", "back", "cp", "replicate"],
    &["rename", "move", "mv", "retitle"],
    &["count", "many", "amount", "total", "tally", "wc", "quantity"],
    &["run", "execute", "launch", "start", "try", "invoke", "happen"],
    &["change", "replace", "swap", "substitute", "become", "turn", "modify", "edit", "update", "switch", "correct", "fix", "exchange", "instead"],
    &["write", "save", "store", "put", "note", "jot", "enter"],
    &["list", "ls", "everything", "listing"],
    &["line", "row", "entry"],
    &["size", "byte", "big", "large", "kilobyte", "heavy", "weigh", "space"],
    &["content", "contain", "text", "hold", "full", "consist"],
    &["last", "final", "end", "bottom", "tail"],
    &["first", "top", "begin", "beginning", "head", "opening"],
    &["search", "find", "grep", "match", "locate", "occurrence"],
    &["output", "result"],
    &["exist", "present"],
    &["date", "today", "day"],
    &["time", "clock"],
    &["user", "account", "login", "username", "whoami", "logged"],
    &["hello", "hi", "greetings"],
    &["bye", "goodbye", "farewell"],
    &["script", "program"],
    &["installed", "version", "release"],
    &["sort", "alphabetical", "alphabetically", "order"],
    &["machine", "computer", "host", "hostname"],
    &["path", "pwd"],
    &["disk", "storage", "df"],
    &["mention", "anything", "something", "appear"],
    &["word"],
    &["character", "letter"],
    &["plus", "minus", "multiplied", "multiply", "divided", "divide", "calculate", "subtract"],
    &["send", "email", "mail"],
    &["weather", "forecast", "news"],
    &["play"],
    &["buy", "purchase", "book", "reserve"],
    &["remind", "alarm"],
];

/// The same for words that decide nothing by themselves.
const OTHER: &[&[&str]] = &[
    &["file", "document"],
    &["show", "print", "display", "dump", "view", "cat", "see", "open"],
    &["tell", "say", "give", "know", "report", "let"],
    &["cost", "price", "much", "expensive"],
    &["phone", "telephone"],
    &["named", "called", "name", "title"],
    &["check", "look", "go", "using"],
];

/// Phrases that stand for one word.
const PHRASES: &[(&str, &str)] = &[
    // Not the ones of a clock.
    ("how many times", "how many occurrences"),
    (" times ", " multiplied "),
    ("set up", "create"),
    ("new name", "rename"),
    ("name of", "named"),
    ("call it", "rename"),
    ("how long", "how many"),
    ("would like to", ""),
    ("want to", ""),
    ("i'd like", "create"),
    ("i need an ", "create "),
    ("need a ", "create "),
];

/// The words of a request that can only be names of files.
pub(crate) fn named_files(wish: &str) -> Vec<&str> {
    named(wish, is_file)
}

/// The words of a request that are addresses of pages.
pub(crate) fn named_addresses(wish: &str) -> Vec<&str> {
    named(wish, is_address)
}

fn named(wish: &str, is_wanted: fn(&str) -> bool) -> Vec<&str> {
    let names = wish.split_whitespace().map(bare).filter(|word| is_wanted(word));
    let mut once: Vec<&str> = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

/// A word without what stands around it in a sentence.
pub(crate) fn bare(word: &str) -> &str {
    let word = word.trim_matches(MARKS).trim_end_matches(['.', ',', '?', '!', ':', ';']);
    let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
    word.trim_matches(MARKS)
}

/// Names of files that are known without an ending.
const WITHOUT_ENDING: &[&str] =
    &["Makefile", "Dockerfile", "README", "LICENSE", "CHANGELOG", "TODO", "Justfile"];

/// Whether a bare word is the name of a file rather than a number or an ending like `.md`.
pub(crate) fn is_file(word: &str) -> bool {
    let has_ending = word.rsplit_once('.').is_some_and(|(stem, ending)| {
        let fits = (1..=5).contains(&ending.len()) && ending.chars().any(char::is_alphabetic);
        fits && (!stem.is_empty() && stem != "*" || ending.len() > 3 || ending == "env")
    });
    !is_address(word)
        && (word.contains('/') && word.len() > 1 || has_ending || WITHOUT_ENDING.contains(&word))
}

fn is_address(word: &str) -> bool {
    word.contains("://") || word.starts_with("www.")
}

/// What stands for all addresses, see [`alike`].
pub(crate) const ADDRESS: &str = "<address>";

/// Lower case, without endings, and one word for all that mean the same; files, numbers and addresses are all alike.
pub(crate) fn alike(text: &str) -> Vec<String> {
    let mut text = text.to_lowercase();
    for (phrase, word) in PHRASES {
        text = text.replace(phrase, word);
    }
    let words = text.split_whitespace().map(bare).filter(|word| !word.is_empty());
    with_operators(words.map(alike_word).collect())
}

/// A sign between two numbers calculates, whatever it means elsewhere.
fn with_operators(mut words: Vec<String>) -> Vec<String> {
    let is_number = |word: &str| word == "<number>";
    for at in 1..words.len().saturating_sub(1) {
        let is_sign = ["+", "-", "*", "/", "x", "×", "÷"].contains(&words[at].as_str());
        if is_sign && is_number(&words[at - 1]) && is_number(&words[at + 1]) {
            words[at] = "plus".to_owned();
        }
    }
    words
}

fn alike_word(word: &str) -> String {
    let is_number = word.chars().any(|character| character.is_ascii_digit())
        && word.chars().all(|character| character.is_ascii_digit() || ".,-:".contains(character));
    match (is_number, is_file(word)) {
        _ if is_address(word) => ADDRESS.into(),
        (true, _) => "<number>".into(),
        (false, true) if is_script(word) => "<script>".into(),
        (false, true) => "<file>".into(),
        (false, false) => {
            let stem = stem(&word.to_lowercase());
            same().get(&stem).map_or(stem, |first| (*first).to_owned())
        }
    }
}

/// Whether a file is there to be run.
fn is_script(name: &str) -> bool {
    [".py", ".sh"].iter().any(|ending| name.ends_with(ending))
}

/// The words of `words`, as [`alike`] gives them, that decide which tool is right: actions and things of computers.
/// Some are that only where there is a file or a script; elsewhere wars end, and codes are for launching.
pub(crate) fn deciding(words: &[String]) -> BTreeSet<&str> {
    let has = |mark: &str| words.iter().any(|word| word == mark);
    let has_file = has("<file>") || has("<script>");
    let means = |word: &&str| match *word {
        "run" => has("<script>") || !has_file,
        "last" | "first" | "line" | "word" | "character" | "sort" | "mention" | "content" | "size" => {
            has_file
        }
        // What nobody here can do; about files these are words like others.
        "plus" | "send" | "weather" | "play" | "buy" | "remind" => !has_file,
        word => is_deciding(word),
    };
    words.iter().map(String::as_str).filter(means).collect()
}

/// Whether a word, as [`alike`] gives it, can be an action or a thing of computers.
pub(crate) fn is_deciding(word: &str) -> bool {
    DECIDING.iter().any(|group| group[0] == word)
}

/// The first word of each group by the stem of each of its words.
fn same() -> &'static HashMap<String, &'static str> {
    static SAME_BY_STEM: OnceLock<HashMap<String, &'static str>> = OnceLock::new();
    SAME_BY_STEM.get_or_init(|| {
        let groups = DECIDING.iter().chain(OTHER).rev();
        groups.flat_map(|group| group.iter().map(|word| (stem(word), group[0]))).collect()
    })
}

/// A word without the commonest endings of English.
fn stem(word: &str) -> String {
    let long_enough = |stem: &&str| stem.len() >= 3;
    let cut = ["ing", "ed", "es", "s", "e"].iter().find_map(|ending| {
        let is_plural_only = *ending != "s" || !["ss", "us", "is"].iter().any(|end| word.ends_with(end));
        word.strip_suffix(ending).filter(long_enough).filter(|_| is_plural_only)
    });
    let cut = cut.unwrap_or(word);
    // `copies` and `copy`, `running` and `run`.
    let cut = cut.strip_suffix(['i', 'y']).filter(|stem| stem.len() >= 3).unwrap_or(cut);
    let mut last = cut.chars().rev();
    match (last.next(), last.next()) {
        (Some(one), Some(two)) if one == two && cut.len() > 3 && !"ls".contains(one) => {
            cut[..cut.len() - one.len_utf8()].to_owned()
        }
        _ => cut.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_told_from_other_words() {
        let wish = "Put 3.14 and e.g. 'x.y' into \"out.txt\", see notes.md's end (or ./a.b/c). Version 2.0, .md and .env.";
        assert_eq!(named_addresses("Get www.a.org, or 'http://b.org/c'."), ["www.a.org", "http://b.org/c"]);
        assert_eq!(named_files(wish), ["e.g", "x.y", "out.txt", "notes.md", "./a.b/c", ".env"]);
    }

    #[test]
    fn words_that_mean_the_same_are_alike() {
        assert_eq!(alike("What's in \"src/main.rs\" at 8080?"), ["what", "in", "<file>", "at", "<number>"]);
        let table = [
            ("Erasing the directories", "delete the folder"),
            ("copies", "copy"),
            ("get rid of x.py", "get delete of <script>"),
            ("How large", "how size"),
            ("What is 3 * 4?", "what is <number> plus <number>"),
            ("What is 3 times 4?", "what is <number> plus <number>"),
            ("See https://example.org/a?", "show <address>"),
            ("How many times does x appear?", "how count search doe x mention"),
        ];
        for (text, expected) in table {
            assert_eq!(alike(text).join(" "), expected, "{text}");
        }
    }
}
