//! What a small model may say next, as a grammar.
use super::{
    answer::answer as answer_of,
    line::{FINAL, Form, form_of},
    slots::{commands, ends_of, in_json, is_slot, spans},
    words::{EMPTY, bare, named_addresses, named_files},
};
use haft_core::{
    ArgumentForm, CallForm, Example, ToolSpec,
    grammar::{RULE, Rules, either, literal},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Characters of one argument. A small model that goes on for longer has lost its way.
const LONGEST_ARGUMENT: u64 = 240;

/// A tool that may be called, and which of its examples the model has before its eyes.
#[derive(Clone, Debug)]
pub(crate) struct Offer<'a> {
    pub(crate) tool: &'a ToolSpec,
    pub(crate) shown: Vec<&'a Example>,
}

/// What an answer may be.
#[derive(Clone, Debug)]
pub(crate) enum Answer<'a> {
    /// There may be none before a call.
    None,
    /// Any text.
    Free,
    /// That it failed, and this is why.
    Failed(&'a str),
    /// Words of the request and of these results, put as the answers of these examples are.
    From(&'a [String], Vec<&'a Example>),
}

/// One line: a call of one of `offers`, or `final` and an `answer`. A call takes what the shown examples take from their
/// requests from the person's `wish`: a small model invents names that look like those of the examples.
///
/// `form`: how calls are written, if not as lines.
pub(crate) fn reply_grammar(
    form: Option<&CallForm>,
    offers: &[Offer<'_>],
    answer: &Answer<'_>,
    wish: &str,
) -> String {
    let mut rules = Rules::new(Some(LONGEST_ARGUMENT));
    let call = |offer| match form {
        Some(form) => call_in_form(&mut rules, form, offer, wish),
        None => tool_line(&mut rules, offer, wish),
    };
    let calls: Vec<String> = offers.iter().map(call).collect();
    let text = match answer {
        Answer::From(results, shown) => {
            let answer = answer_of(&mut rules, wish, results, shown);
            Some(answer.unwrap_or_else(|| ANY_TEXT.to_owned()))
        }
        Answer::Failed(why) => Some(literal(&format!("That failed: {}.", why.trim_end_matches('.')))),
        Answer::None if !calls.is_empty() => None,
        Answer::None | Answer::Free => Some(ANY_TEXT.to_owned()),
    };
    let answer = text.map(|text| format!("{} {text}", literal(&format!("{FINAL} "))));
    rules.into_grammar(&format!("\" \" {} \"\\n\"", either(answer.into_iter().chain(calls))))
}

/// Any text on one line.
const ANY_TEXT: &str = "[^\\n ] [^\\n]*";

fn call_in_form(rules: &mut Rules, form: &CallForm, offer: &Offer<'_>, wish: &str) -> String {
    let arguments = match form.arguments {
        ArgumentForm::Json => json_of_wish(rules, offer, wish),
        ArgumentForm::Elements { .. } => form.arguments_grammar(rules, &offer.tool.parameters),
    };
    let begin = format!("{}{}{}", form.before, offer.tool.name, form.between);
    format!("{} {arguments} {}", literal(&begin), literal(&form.behind))
}

fn tool_line(rules: &mut Rules, offer: &Offer<'_>, wish: &str) -> String {
    let arguments = match form_of(&offer.tool.parameters) {
        Form::Json => json_of_wish(rules, offer, wish),
        Form::Value(parameter) => value(rules, offer, &parameter, wish),
        Form::Pair(first, second) => {
            let first = path(offer, &first, wish).unwrap_or_else(|| format!("({WORD})"));
            let second = text(rules, offer, &second, wish).unwrap_or_else(|| format!("[^\\n ] {REST}"));
            format!("{first} \" \" {second}")
        }
    };
    format!("{} {arguments}", literal(&format!("{} ", offer.tool.name)))
}

/// The rest of a line.
const REST: &str = "[^\\n]{0,240}";

/// The only argument: a command, an address, a path, or any other text.
fn value(rules: &mut Rules, offer: &Offer<'_>, parameter: &str, wish: &str) -> String {
    if parameter == "command" {
        return command(rules, offer, wish);
    }
    let addresses = named_addresses(wish);
    if parameter == "url" && !addresses.is_empty() {
        return either(addresses.into_iter().map(literal));
    }
    let known = path(offer, parameter, wish).or_else(|| text(rules, offer, parameter, wish));
    known.unwrap_or_else(|| format!("[^\\n ] {REST}"))
}

/// For a parameter that is a path: the files that the request names; where it names none, one of its words if
/// examples are to be followed.
fn path(offer: &Offer<'_>, parameter: &str, wish: &str) -> Option<String> {
    let is_path = parameter.contains("path");
    let mut names = named_files(wish);
    if names.is_empty() && is_slot(&offer.shown, parameter) {
        let telling = |word: &&str| !word.is_empty() && !EMPTY.contains(&word.to_lowercase().as_str());
        names = wish.split_whitespace().map(bare).filter(telling).collect();
    }
    (is_path && !names.is_empty())
        .then(|| either(names.into_iter().collect::<BTreeSet<_>>().into_iter().map(literal)))
}

/// For a text that the shown examples take from their requests: some words of this request.
fn text(rules: &mut Rules, offer: &Offer<'_>, parameter: &str, wish: &str) -> Option<String> {
    let ends = ends_of(&offer.shown, parameter);
    is_slot(&offer.shown, parameter).then(|| spans(rules, wish, ends, literal)).flatten()
}

/// A command as the shown examples make theirs, or one that begins with a program which the request names.
fn command(rules: &mut Rules, offer: &Offer<'_>, wish: &str) -> String {
    if offer.shown.is_empty() {
        return format!("[^\\n ] {REST}");
    }
    let mut choices = commands(rules, &offer.shown, wish, literal);
    let programs: BTreeSet<&str> = named_programs(wish).collect();
    choices
        .extend(programs.into_iter().map(|program| format!("{} (\" \" [^\\n ] {REST})?", literal(program))));
    either(choices)
}

/// An object whose paths are named in the request, and whose texts stand in it if they do in the shown examples.
fn json_of_wish(rules: &mut Rules, offer: &Offer<'_>, wish: &str) -> String {
    let parameters = &offer.tool.parameters;
    let named = named_files(wish);
    let mut schema = parameters.clone();
    for (name, shape) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        let known = match name.contains("path") && !named.is_empty() {
            _ if name == "command" && !offer.shown.is_empty() => {
                Some(either(commands(rules, &offer.shown, wish, in_json)))
            }
            true => Some(either(named.iter().map(|name| in_json(name)))),
            // One of a few values stays one of them, whatever words the request has.
            false if shape.get("enum").is_some() => None,
            false if is_slot(&offer.shown, name) => spans(rules, wish, ends_of(&offer.shown, name), in_json),
            false => None,
        };
        if let Some(known) = known {
            *shape = json!({RULE: rules.add(&format!(r#""\"" {known} "\"""#))});
        }
    }
    rules.schema(&schema)
}

/// What stands in back ticks, or after a word that asks to run something.
fn named_programs(wish: &str) -> impl Iterator<Item = &str> {
    let quoted = wish.split('`').skip(1).step_by(2).filter_map(|text| text.split_whitespace().next());
    let words: Vec<&str> = wish.split_whitespace().collect();
    let is_running = |word: &str| {
        ["run", "execute", "start", "launch", "call", "use"].contains(&word.to_lowercase().as_str())
    };
    let after = words.windows(2).filter(|pair| is_running(pair[0])).map(|pair| pair[1]).collect::<Vec<_>>();
    let bare = after.into_iter().map(|word| word.trim_matches(['`', '"', '\'', ',', '.', '?', '!']));
    quoted.chain(bare).filter(|word| !word.is_empty())
}

/// A word, or anything but a quote in double quotes.
const WORD: &str = r#"[^\n "] [^\n ]{0,120} | "\"" [^\n"]{1,120} "\"""#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::four_tools;

    /// The grammar where the model has `shown` examples of each tool before its eyes.
    fn grammar(tools: &[ToolSpec], shown: usize, wish: &str) -> String {
        let offer =
            |tool: &'static ToolSpec| Offer { tool, shown: tool.examples.iter().take(shown).collect() };
        let tools: &'static [ToolSpec] = Vec::leak(tools.to_vec());
        reply_grammar(None, &tools.iter().map(offer).collect::<Vec<_>>(), &Answer::Free, wish)
    }

    fn root(tools: &[ToolSpec], wish: &str) -> String {
        grammar(tools, 0, wish).lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_line_is_a_call_or_the_answer() {
        let read_only = &four_tools()[..1];
        assert_eq!(root(&[], ""), r#"root ::= " " "final " [^\n ] [^\n]* "\n""#);
        let free = r#"root ::= " " ("final " [^\n ] [^\n]* | "read " [^\n ] [^\n]{0,240}) "\n""#;
        assert_eq!(root(read_only, "Read the notes."), free);
        let named = r#"root ::= " " ("final " [^\n ] [^\n]* | "read " ("a.txt" | "src/b")) "\n""#;
        assert_eq!(root(read_only, "Is a.txt the same as src/b?"), named);
    }

    #[test]
    fn a_command_is_made_as_the_shown_examples_make_theirs() {
        let tools = four_tools();
        let bash = &tools[3];
        let with = |shown: &str, wish: &str| {
            let shown = bash.examples.iter().filter(|example| example.request == shown).collect();
            let grammar = reply_grammar(None, &[Offer { tool: bash, shown }], &Answer::None, wish);
            grammar.lines().take_while(|line| !line.starts_with("char")).collect::<Vec<_>>().join("\n")
        };
        let counted = with("How many lines are in log.txt?", "Count the lines of a.md, please.");
        assert!(counted.starts_with(r#"root ::= " " "bash " "wc" " " "-l" " " "a.md" "\n""#), "{counted}");
        let copied = with("Copy one.txt to two.txt.", "Duplicate a.md as b.md.");
        assert!(copied.contains(r#""cp" " " "a.md" " " "b.md""#), "{copied}");
        let named = with("List the files.", "Please run cargo test, then `git log -1`.");
        for program in ["\"ls\"", "\"cargo\" (", "\"git\" ("] {
            assert!(named.contains(program), "{named}");
        }
    }

    #[test]
    fn a_choice_stays_a_choice_whatever_the_request_says() {
        let parameters = json!({"type": "object", "required": ["pattern"], "properties": {
            "pattern": {"type": "string"}, "output": {"type": "string", "enum": ["files", "count"]}}});
        let arguments = json!({"pattern": "x", "output": "files"});
        let examples = vec![Example::new("Which files have x?", arguments, "a", "a has x.")];
        let tool = ToolSpec {
            name: "grep".into(),
            description: String::new(),
            parameters,
            examples: examples.into(),
        };
        let form = crate::prompt::form_of(crate::tagged::Syntax::Tagged, &[tool.clone()].into());
        let offers = [Offer { tool: &tool, shown: tool.examples.iter().collect() }];
        let grammar = reply_grammar(Some(&form), &offers, &Answer::None, "Which documents have y?");
        assert!(grammar.contains(r#"("\"files\"" | "\"count\"")"#), "{grammar}");
        assert!(!grammar.contains(r#""\"output\": " "\"" "documents"#), "{grammar}");
    }

    #[test]
    fn a_text_ends_where_a_phrase_does() {
        let edit = &four_tools()[2..3];
        let grammar = grammar(edit, 1, "Replace green with light blue in a.css.");
        for (piece, is_there) in
            [("\"blue\"", true), ("\"green\"", true), ("\"light \"", true), ("\"light\"", false)]
        {
            assert_eq!(grammar.contains(piece), is_there, "{piece} in {grammar}");
        }
    }

    #[test]
    fn after_a_call_that_failed_the_answer_says_so() {
        let offers: [Offer<'_>; 0] = [];
        let grammar =
            reply_grammar(None, &offers, &Answer::Failed("cannot read `a`: no such file"), "Read a.");
        let root = grammar.lines().next().unwrap_or_default();
        assert!(root.contains(r#""final " "That failed: cannot read `a`: no such file.""#), "{root}");
    }

    #[test]
    fn texts_are_taken_from_the_request_as_in_the_examples() {
        let edit = &four_tools()[2..3];
        let grammar = grammar(edit, 1, "Turn \"red hat\" blue in a.css.");
        for piece in [r#""\"" "a.css" "\"""#, r#""hat""#, r#""red " r"#] {
            assert!(grammar.contains(piece), "{piece} in {grammar}");
        }
    }
}
