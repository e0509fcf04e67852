//! [`claims`]: finds the claims of a reply in its text.
//!
//! An overlooked claim costs little, but a false detection costs a round. Therefore text that may be a plan, a
//! question, a condition, a negation or a quotation is not a claim.
use super::success::{Success, is_part, success};
use regex::Regex;
use std::sync::LazyLock;

/// A claim of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) what: Deed,
    /// The text of the claim.
    pub(crate) words: String,
}

/// What a reply claims to have happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    TestsPass,
    /// That the work is correct, in any words.
    Works,
    RanTests,
    Ran(String),
    Wrote(String),
    Deleted(String),
    Committed,
    Pushed,
}

/// Words before a claim, in the same clause, that make it no claim.
static NO_CLAIM: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)\b(not|never|no|none|nothing|neither|nor|without|cannot|unable|fail(?:s|ed|ing)?|yet\ to|instead\ of
        |\w+n['’]t|dont|wont|cant
        |will|shall|would|should|could|can|may|might|must|going\ to|gonna|want|need|needs|\w+['’]ll|\w+['’]d
        |plan|plans|planned|intend|propose|suggest|recommend|try|tries|next|todo|goal|aim|expect|hope|ideally
        |to\ (?:get|make)|if|whether|unless|until|once|when|whenever|before|assuming|suppose|in\ case|so\ that|in\ order\ to
        |ensure|verify|confirm|make\ sure|check|let\ me|let['’]s|please|you|your|they|he|she|someone|somebody
        |already|previously|originally|earlier|last\ (?:week|month|year|time)|ago|says?|said|claims?|asks?|asked
        |only|some|most|half|few|almost|nearly|example|e\.g\.)\b",
    )
});
/// Lines below such a heading are not claims.
static PLAN: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(plan|next|todo|to do|remaining|steps|should|would|could|will|can|suggest\w*|recommend\w*|options?|example|asked|goal|not|you|open)\b",
    )
});
static TESTS_PASS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)\b(?:tests?|test\ suite|suite|specs)\b(?:\s+(?:\([^)]*\)|in\ the\ \w+|for\ \w+|of\ \w+))?\s+
        (?:(?:all|now|still|successfully|have|has|are|is|ran\ and|run\ and|cleanly)\s+)*
        (?:pass|passes|passed|passing|green|succeed|succeeds|succeeded)\b
        |\b[1-9]\d*\s+(?:tests?\s+)?pass(?:ed|ing)?\b",
    )
});
/// `passed something` does not mean that a test passed.
static SOMETHING: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^\s+(?:the|a|an|through|along|over|it|its|this|these|that|as|wrong|null|none|nil|arguments?|args|parameters?|values?|`)",
    )
});
/// `Changed lines are in …` names what was changed, but does not claim to have changed it.
static STATE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^\s+by\b|\b(?:is|are|was|were|lives?|stands?|goes|go|contains?|shows?)\b"));
static RAN_TESTS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(?:ran|executed|re-ran|reran)\s+(?:(?:all|the|of|full|whole|entire|unit|integration|existing|new|project['’]s)\s+)*(?:tests?|test suite)\b",
    )
});
static RAN: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?:(?:^|\b(?:i|we|and|also|then)\s+)(?:ran|executed)|(?:['’]ve|\bhave)\s+(?:also\s+)?(?:run|executed))\s+(?:the\s+command\s+)?`([^`]+)`",
    )
});
/// A subject in the first person, or a clause that begins with the verb.
const SUBJECT_PATTERN: &str =
    r"(?:^|\b(?:i|we)(?:['’]ve|\s+have)?\s+|\band\s+)(?:(?:also|now|then|just|successfully|have)\s+)*";
static COMMITTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"{SUBJECT_PATTERN}committed\b|\b(?:changes|everything|work|fix|it|this|that|all)\s+(?:has|have|is|are)\s+(?:(?:now|all|been)\s+)*committed\b"
    ))
});
static PUSHED: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"{SUBJECT_PATTERN}(?:\w+\s+and\s+)?pushed\b|\b(?:changes|commit|branch|everything|it)\s+(?:has|have|is|are)\s+(?:(?:now|all|been)\s+)*pushed\b"
    ))
});
static WROTE: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"{SUBJECT_PATTERN}(created|added|wrote|written|generated|saved|updated|edited|modified|changed|fixed|rewrote|refactored|deleted|removed)\b"
    ))
});
static WRITTEN: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(\S+)\s+(?:(?:has|have)\s+(?:now\s+)?been|is\s+now)\s+(?:successfully\s+)?(created|added|written|generated|saved|updated|edited|modified|changed|fixed|deleted|removed)\b",
    )
});
static QUOTED: LazyLock<Regex> = LazyLock::new(|| regex("\"[^\"\n]*\"|“[^”\n]*”"));
static CODE: LazyLock<Regex> = LazyLock::new(|| regex("`[^`\n]*`"));
static FENCED: LazyLock<Regex> = LazyLock::new(|| regex(r"(?s)```.*?(?:```|$)|~~~.*?(?:~~~|$)"));
/// Names with these extensions are files; `user.name` is a field.
static FILE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)^[\w./@+-]*\w\.(?:rs|py|pyi|js|mjs|cjs|ts|tsx|jsx|go|java|c|h|cc|cpp|hpp|cs|rb|php|swift|kt|kts|scala|sh|bash
        |zsh|fish|ps1|bat|toml|ya?ml|json|jsonl|jsonc|md|mdx|rst|txt|html?|css|scss|less|sql|xml|csv|tsv|lock|cfg|ini|conf
        |log|ipynb|vue|svelte|lua|zig|hs|ml|exs?|erl|clj|jl|dart|proto|graphql|tf|gradle|mk|cmake|nix|svg|png|jpe?g|gif|pdf
        |diff|patch|tmpl|j2|snap)$",
    )
});
/// Names that look like files but are frameworks.
const FRAMEWORK_NAMES: &[&str] =
    &["node.js", "next.js", "vue.js", "nuxt.js", "react.js", "express.js", "three.js", "d3.js"];

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a test reads it")
}

/// The claims of `reply`, in their order.
pub(crate) fn claims(reply: &str) -> Vec<Claim> {
    let text = FENCED.replace_all(reply, "\n");
    let text = QUOTED.replace_all(&text, " ");
    let mut found = Vec::new();
    let mut below_plan = false;
    for line in text.lines() {
        let plain =
            line.trim_start_matches([' ', '\t', '#', '*', '-', '•', '✅', '✓', '_', '[', 'x', ']']).trim();
        let is_item = line.trim_start().starts_with(['-', '*', '•']) || starts_with_number(line);
        if line.trim_start().starts_with('>') || line.trim_start().starts_with("- [ ]") {
            continue;
        }
        if !plain.is_empty() && !is_item {
            let heading = plain.ends_with([':', '*']) || line.starts_with('#');
            below_plan = heading && PLAN.is_match(&plain.to_lowercase());
        }
        if !(below_plan && (is_item || plain.ends_with([':', '*']))) {
            sentences(plain).for_each(|sentence| of_sentence(sentence, line, &mut found));
        }
    }
    found
}

fn starts_with_number(line: &str) -> bool {
    let rest = line.trim_start().trim_start_matches(|letter: char| letter.is_ascii_digit());
    rest.len() < line.trim_start().len() && rest.starts_with(['.', ')'])
}

/// Splits a line at full stops that are followed by a space, because file names contain full stops.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    line.split_inclusive(['.', '!', '?', ';', '。', '！', '？', '；'])
        .scan((line, 0), |(line, end), piece| {
            *end += piece.len();
            let ends_anyway = piece.ends_with(['。', '！', '？', '；']);
            Some((*end, ends_anyway || line[*end..].starts_with(' ') || *end == line.len()))
        })
        .filter(|(_, ends)| *ends)
        .scan(0, move |start, (end, _)| {
            let sentence = &line[*start..end];
            *start = end;
            Some(sentence.trim())
        })
}

/// Adds the claims of a sentence to `found`. `line`: the line of the sentence, with its markup.
fn of_sentence(sentence: &str, line: &str, found: &mut Vec<Claim>) {
    if sentence.ends_with('?') {
        return;
    }
    for clause in clauses(sentence) {
        let lower = clause.to_lowercase();
        let mut add = |what| {
            if !found.iter().any(|claim: &Claim| claim.what == what) {
                found.push(Claim { what, words: sentence.to_owned() });
            }
        };
        deeds(&lower, clause).into_iter().for_each(&mut add);
    }
    let is_told = |what: &Deed| found.iter().any(|claim: &Claim| claim.what == *what);
    let spoken = CODE.replace_all(sentence, "`code`");
    let said = success(&spoken, line).map(|said| match said {
        Success::Tests => Deed::TestsPass,
        Success::Work => Deed::Works,
    });
    let said = said.filter(|what| !is_told(what) && !is_told(&Deed::TestsPass));
    found.extend(said.map(|what| Claim { what, words: sentence.to_owned() }));
}

/// The parts of a sentence that can be claimed independently.
fn clauses(sentence: &str) -> impl Iterator<Item = &str> {
    let parts = sentence.split(", ").flat_map(|part| part.split(" but ")).flat_map(|part| part.split(" so "));
    parts.flat_map(|part| part.split(" – ")).flat_map(|part| part.split(" — ")).map(str::trim)
}

fn deeds(lower: &str, clause: &str) -> Vec<Deed> {
    let mut deeds = Vec::new();
    // `all tests pass` in code is a name, not a claim.
    let spoken = CODE.replace_all(lower, "`code`");
    let passes_on = TESTS_PASS.find(&spoken).is_some_and(|found| SOMETHING.is_match(&spoken[found.end()..]));
    if !passes_on && !is_part(lower) && is_claimed(&TESTS_PASS, &spoken) {
        deeds.push(Deed::TestsPass);
    } else if is_claimed(&RAN_TESTS, &spoken) {
        deeds.push(Deed::RanTests);
    }
    if let Some(ran) = RAN.captures(lower).filter(|ran| !is_something_else(lower, ran)) {
        deeds.push(Deed::Ran(ran[1].trim().to_owned()));
    }
    if is_claimed(&COMMITTED, &spoken) && !spoken.contains("committed to ") {
        deeds.push(Deed::Committed);
    }
    if is_claimed(&PUSHED, &spoken) {
        deeds.push(Deed::Pushed);
    }
    deeds.extend(files(lower, clause));
    deeds
}

fn is_claimed(pattern: &Regex, clause: &str) -> bool {
    pattern.captures(clause).is_some_and(|found| !is_something_else(clause, &found))
}

fn is_something_else(clause: &str, found: &regex::Captures<'_>) -> bool {
    let end = found.get(0).map_or(0, |whole| whole.end());
    NO_CLAIM.is_match(&CODE.replace_all(&clause[..end], "`code`"))
}

/// The files that a clause says were written or deleted.
fn files(lower: &str, clause: &str) -> Vec<Deed> {
    if let Some(found) = WROTE.captures(lower).filter(|found| !is_something_else(lower, found)) {
        let end = found.get(0).map_or(0, |whole| whole.end());
        // If the lower-case text has another length in bytes, the names are taken from it.
        let rest = if lower.len() == clause.len() { clause.get(end..) } else { lower.get(end..) };
        let rest = rest.unwrap_or_default();
        let by_somebody = found[0].contains("i ") || found[0].contains("we ") || found[0].contains("ve ");
        if !by_somebody && STATE.is_match(rest) {
            return Vec::new();
        }
        let named = rest.split_whitespace().filter_map(file);
        return named.map(|name| deed(&found[1], name)).collect();
    }
    let written = WRITTEN.captures(lower).filter(|found| !is_something_else(lower, found));
    let named = written.and_then(|found| Some(deed(&found[2], file(&found[1])?)));
    named.into_iter().collect()
}

fn deed(verb: &str, file: String) -> Deed {
    match verb {
        "deleted" | "removed" => Deed::Deleted(file),
        _ => Deed::Wrote(file),
    }
}

/// The name of a file in a word, if it is one: `src/main.rs`, **a.txt**, [a.md](a.md).
fn file(word: &str) -> Option<String> {
    let word = word.split("](").next().unwrap_or_default();
    let marks = |letter: char| "`*_'\"()[]{},;:!".contains(letter);
    let name = word.trim_start_matches(marks).trim_end_matches(|letter| marks(letter) || letter == '.');
    let name = name.strip_prefix("./").unwrap_or(name);
    let is_file =
        FILE.is_match(&name.to_lowercase()) && !FRAMEWORK_NAMES.contains(&name.to_lowercase().as_str());
    is_file.then(|| name.to_owned())
}
