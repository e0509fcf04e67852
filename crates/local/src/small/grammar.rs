//! The [`reply_grammar`] of a small model: calls that the shown tools accept, with names and texts of the request.
//!
//! A small model invents names that look like those of the examples. So an argument that the shown examples take from
//! their requests is taken from the request at hand.
use super::{
    reply::first_character,
    words::{bare, named_files},
};
use haft_core::{
    ArgumentForm, CallForm, Example, ToolSpec,
    grammar::{RULE, Rules, either, literal},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Maximum characters of an argument. A small model that writes more is off track.
const MAX_ARGUMENT: u64 = 240;
/// Characters around a text of the request that do not belong to it.
const AROUND: &[char] = &['"', '\'', '`', '“', '”', '(', ')'];
const PUNCTUATION: &[char] = &['.', ',', '?', '!', ':', ';'];

/// A tool that may be called, and the examples of it in the prompt.
#[derive(Clone, Debug)]
pub(crate) struct Offer<'a> {
    pub(crate) tool: &'a ToolSpec,
    pub(crate) shown: Vec<&'a Example>,
}

/// A grammar for a call of one of `offers` in this `form`. It also allows an answer of one line if `may_answer`, or if
/// there is no offer.
pub(crate) fn reply_grammar(form: &CallForm, offers: &[Offer<'_>], may_answer: bool, wish: &str) -> String {
    let mut rules = Rules::new(Some(MAX_ARGUMENT));
    let mut choices: Vec<String> = offers.iter().map(|offer| call(&mut rules, form, offer, wish)).collect();
    if may_answer || choices.is_empty() {
        // Escaped, since `]`, `^` and `\` have a meaning in a character class.
        choices.push(format!("[^\\n \\x{:02X}] [^\\n]*", u32::from(first_character(form))));
    }
    rules.into_grammar(&format!("\" \" {} \"\\n\"", either(choices)))
}

fn call(rules: &mut Rules, form: &CallForm, offer: &Offer<'_>, wish: &str) -> String {
    let arguments = match form.arguments {
        ArgumentForm::Json => arguments(rules, offer, wish),
        ArgumentForm::Elements { .. } => form.arguments_grammar(rules, &offer.tool.parameters),
    };
    let begin = format!("{}{}{}", form.before, offer.tool.name, form.between);
    format!("{} {arguments} {}", literal(&begin), literal(&form.behind))
}

/// The rule for an object of arguments. Its paths are among those that the request names. Its texts are taken from the
/// request if they are in the shown examples.
fn arguments(rules: &mut Rules, offer: &Offer<'_>, wish: &str) -> String {
    let (files, mut schema) = (named_files(wish), offer.tool.parameters.clone());
    for (name, shape) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        let known = match name.as_str() {
            name if name.contains("path") && !files.is_empty() => {
                Some(either(files.iter().map(|file| in_json(file))))
            }
            "command" if !offer.shown.is_empty() => Some(commands(rules, &offer.shown, wish)),
            // A parameter with an enumeration of values keeps it, whatever the request says.
            _ if shape.get("enum").is_some() => None,
            name if is_taken_from_request(&offer.shown, name) => spans(rules, wish),
            _ => None,
        };
        if let Some(known) = known {
            *shape = json!({RULE: rules.add(&format!(r#""\"" {known} "\"""#))});
        }
    }
    rules.arguments(&schema)
}

/// Whether all of `examples` take this argument from their requests. False without examples.
fn is_taken_from_request(examples: &[&Example], name: &str) -> bool {
    let is_taken = |example: &&Example| {
        let text = example.arguments.get(name).and_then(Value::as_str);
        text.is_some_and(|text| example.request.contains(text))
    };
    !examples.is_empty() && examples.iter().all(is_taken)
}

/// A rule for any sequence of consecutive words of `wish`, without marks around it. `None` if it has no words.
fn spans(rules: &mut Rules, wish: &str) -> Option<String> {
    let mut starts = BTreeSet::new();
    let mut following: Option<String> = None;
    for word in wish.split_whitespace().rev() {
        let run_from = |word: &str| {
            let end = word.trim_end_matches(AROUND).trim_end_matches(PUNCTUATION).trim_end_matches(AROUND);
            let end = (!end.is_empty()).then(|| in_json(end));
            let more = following.as_ref().map(|next| format!("{} {next}", in_json(&format!("{word} "))));
            let choices: Vec<String> = end.into_iter().chain(more).collect();
            (!choices.is_empty()).then(|| either(choices))
        };
        starts.extend(run_from(word.trim_start_matches(AROUND)));
        if let Some(run) = run_from(word) {
            following = Some(rules.add(&run));
        }
    }
    (!starts.is_empty()).then(|| either(starts))
}

/// A text of the request, escaped for JSON.
fn in_json(text: &str) -> String {
    let quoted = json!(text).to_string();
    literal(&quoted[1..quoted.len() - 1])
}

/// The command of an example with a placeholder for each word that comes from the request: `<file1>` for the first file
/// that it names, `<word>` for another word, and `<number>` for any number.
pub(super) fn command_shape(example: &Example) -> String {
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

/// A rule for the commands of `examples`, with their files and words replaced by those of `wish`.
fn commands(rules: &mut Rules, examples: &[&Example], wish: &str) -> String {
    let files = named_files(wish);
    let all: BTreeSet<String> = examples.iter().map(|example| command_shape(example)).collect();
    let fits = |shape: &&String| shape.matches("<file").count() == files.len().min(2);
    let fitting: Vec<&String> = all.iter().filter(fits).collect();
    let shapes = if fitting.is_empty() { all.iter().collect() } else { fitting };
    let words: BTreeSet<&str> = wish.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect();
    let any_word = match words.is_empty() {
        true => "[^\\n \"\\x5C]{1,60}".to_owned(),
        false => rules.add(&either(words.into_iter().map(in_json))),
    };
    let any_file = match files.is_empty() {
        true => any_word.clone(),
        false => either(files.iter().map(|file| in_json(file))),
    };
    let piece = |shape: &str, piece: &str| match piece {
        "<word>" => any_word.clone(),
        "<number>" => "[0-9]{1,3}".to_owned(),
        // In a call with one file, this may be any file that the request names.
        "<file1>" if !shape.contains("<file2>") => any_file.clone(),
        "<file1>" => files.first().map_or_else(|| any_file.clone(), |file| in_json(file)),
        "<file2>" => files.get(1).map_or_else(|| any_file.clone(), |file| in_json(file)),
        fixed => in_json(fixed),
    };
    let line =
        |shape: &String| shape.split(' ').map(|word| piece(shape, word)).collect::<Vec<_>>().join(" \" \" ");
    either(shapes.into_iter().map(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{four_tools, prompt::form_of, tagged::Syntax};

    fn grammar(tool: &ToolSpec, examples: usize, may_answer: bool, wish: &str) -> String {
        let form = form_of(Syntax::Tagged, &[tool.clone()].into());
        let offer = Offer { tool, shown: tool.examples.iter().take(examples).collect() };
        reply_grammar(&form, &[offer], may_answer, wish)
    }

    #[test]
    fn a_reply_is_a_call_or_an_answer() {
        let tools = four_tools();
        let form = form_of(Syntax::Tagged, &tools.clone().into());
        let root = |grammar: String| grammar.lines().next().unwrap_or_default().to_owned();
        assert_eq!(root(reply_grammar(&form, &[], false, "")), r#"root ::= " " [^\n \x3C] [^\n]* "\n""#);
        for (may_answer, expected) in [(true, true), (false, false)] {
            let root = root(grammar(&tools[0], 1, may_answer, "Read a.txt."));
            assert_eq!(root.contains("\\x3C"), expected, "{root}");
            assert!(root.contains("<tool_call>"), "{root}");
        }
    }

    #[test]
    fn arguments_are_taken_from_the_request_as_in_the_examples() {
        let grammar = grammar(&four_tools()[2], 1, false, "Turn \"red hat\" blue in a.css.");
        for piece in [r#""\"" "a.css" "\"""#, r#""hat""#, r#""red " r"#] {
            assert!(grammar.contains(piece), "{piece} in {grammar}");
        }
    }

    #[test]
    fn a_command_is_made_as_the_shown_examples_make_theirs() {
        let tools = four_tools();
        let with = |shown: &str, wish: &str| {
            let form = form_of(Syntax::Tagged, &tools.clone().into());
            let shown = tools[3].examples.iter().filter(|example| example.request == shown).collect();
            reply_grammar(&form, &[Offer { tool: &tools[3], shown }], false, wish)
        };
        let counted = with("How many lines are in log.txt?", "Count the lines of a.md, please.");
        assert!(counted.contains(r#""wc" " " "-l" " " "a.md""#), "{counted}");
        let copied = with("Copy one.txt to two.txt.", "Duplicate a.md as b.md.");
        assert!(copied.contains(r#""cp" " " "a.md" " " "b.md""#), "{copied}");
    }

    #[test]
    fn a_choice_stays_a_choice_whatever_the_request_says() {
        let parameters = json!({"type": "object", "required": ["pattern"], "properties": {
            "pattern": {"type": "string"}, "output": {"type": "string", "enum": ["files", "count"]}}});
        let arguments = json!({"pattern": "x", "output": "files"});
        let examples = vec![Example::new("Which files have x?", arguments, "a", "a has x.")].into();
        let tool = ToolSpec { name: "grep".into(), description: String::new(), parameters, examples };
        let grammar = grammar(&tool, 1, false, "Which documents have y?");
        assert!(grammar.contains(r#"("\"files\"" | "\"count\"")"#), "{grammar}");
        assert!(!grammar.contains(r#""\"output\": " "\"" "documents"#), "{grammar}");
    }
}
