//! What a small model may say next, as a grammar.
use super::line::{FINAL, Form, form_of};
use crate::constrain::{Rules, either, literal};
use haft_core::ToolSpec;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Characters of one argument. A small model that goes on for longer has lost its way.
const LONGEST_ARGUMENT: u64 = 240;

/// What has been called in this turn, as the first thing that stands after the tool's name.
pub(crate) type Done<'a> = [(&'a str, &'a str)];

/// One line: a call of one of `tools` that is not among `done`, or `final` and a text. Where the person's `wish`
/// names files, a path is one of them: a small model invents names that look like those of the examples.
pub(crate) fn line_grammar(tools: &[ToolSpec], wish: &str, done: &Done<'_>) -> String {
    let mut rules = Rules::new(Some(LONGEST_ARGUMENT));
    let named = if done.is_empty() { named_files(wish) } else { Vec::new() };
    let mut choices = vec![format!("{} [^\\n ] [^\\n]*", literal(&format!("{FINAL} ")))];
    choices.extend(tools.iter().filter_map(|tool| tool_line(&mut rules, tool, wish, &named, done)));
    rules.into_grammar(&format!("\" \" {} \"\\n\"", either(choices)))
}

fn tool_line(
    rules: &mut Rules,
    tool: &ToolSpec,
    wish: &str,
    named: &[&str],
    done: &Done<'_>,
) -> Option<String> {
    let firsts: BTreeSet<&str> =
        done.iter().filter(|(name, _)| *name == tool.name).map(|(_, first)| *first).collect();
    let rest = format!("[^\\n]{{0,{LONGEST_ARGUMENT}}}");
    let one_of = || either(named.iter().map(|name| literal(name)));
    let names_path = |parameter: &String| parameter.contains("path") && !named.is_empty();
    let arguments = match form_of(&tool.parameters) {
        // Which JSON was sent before cannot be excluded in a small grammar, so a repetition of the tool is.
        Form::Json if !firsts.is_empty() => return None,
        Form::Json => rules.schema(&with_paths(&tool.parameters, named)),
        Form::Value(parameter) if names_path(&parameter) => one_of(),
        Form::Value(parameter) if parameter == "command" && firsts.is_empty() => {
            command(rules, tool, wish, named)
        }
        Form::Value(_) if firsts.is_empty() => format!("[^\\n ] {rest}"),
        Form::Value(_) => other_than(rules, &firsts, "\\n"),
        Form::Pair(parameter, _) if names_path(&parameter) => format!("{} \" \" [^\\n ] {rest}", one_of()),
        Form::Pair(..) if firsts.is_empty() => format!("({WORD}) \" \" [^\\n ] {rest}"),
        Form::Pair(..) => format!("{} \" \" [^\\n ] {rest}", other_than(rules, &firsts, "\\n ")),
    };
    Some(format!("{} {arguments}", literal(&format!("{} ", tool.name))))
}

/// A command line that begins with a program which a worked example runs or the request names, and that names no
/// other files than the request does: a small model takes other words of the request for programs, and names of
/// files from the examples.
fn command(rules: &mut Rules, tool: &ToolSpec, wish: &str, named: &[&str]) -> String {
    let rest = match named.is_empty() {
        true => rules.add(&format!("(\" \" [^\\n ] [^\\n]{{0,{LONGEST_ARGUMENT}}})?")),
        false => {
            // llama.cpp refuses grammars in which counted repetitions multiply, so only the words are counted.
            let word = r#"[^\n ./]+ | "'" [^'\n]+ "'""#;
            let name = either(named.iter().map(|name| literal(name)));
            rules.add(&format!("(\" \" ({name} | {word})){{0,12}}"))
        }
    };
    let shown = tool.examples.iter().filter_map(|example| example.arguments.get("command")?.as_str());
    let shown = shown.filter_map(|line| line.split(' ').next());
    let programs: BTreeSet<&str> = shown.chain(named_programs(wish)).collect();
    match tool.examples.is_empty() {
        true => format!("[^\\n ]{{1,60}} {rest}"),
        false => format!("{} {rest}", either(programs.into_iter().map(literal))),
    }
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

/// A tool's schema in which the parameters that are paths allow `named` only.
fn with_paths(parameters: &Value, named: &[&str]) -> Value {
    let mut parameters = parameters.clone();
    let properties = parameters.get_mut("properties").and_then(Value::as_object_mut);
    for (name, schema) in properties.into_iter().flatten() {
        if name.contains("path") && !named.is_empty() {
            *schema = json!({"enum": named});
        }
    }
    parameters
}

/// The words of a request that can only be names of files.
fn named_files(wish: &str) -> Vec<&str> {
    let marks: &[char] = &['"', '\'', '`', '(', ')', ',', ';', ':', '?', '!'];
    let bare =
        wish.split_whitespace().map(|word| word.trim_matches(marks).trim_end_matches(['.', ',', '?', '!']));
    let bare = bare.map(|word| word.strip_suffix("'s").unwrap_or(word).trim_matches(marks));
    let is_name = |word: &&str| {
        let ending = word.rsplit_once('.').map(|(_, ending)| ending);
        let has_ending = ending.is_some_and(|ending| {
            !ending.is_empty() && ending.len() <= 5 && ending.chars().any(char::is_alphabetic)
        });
        word.contains('/') || has_ending
    };
    bare.filter(is_name).collect()
}

/// A word, or anything but a quote in double quotes.
const WORD: &str = r#"[^\n "] [^\n ]{0,120} | "\"" [^\n"]{1,120} "\"""#;

/// Any text without the characters in `stops` that is none of `texts`, nor one of them with a space or a full
/// stop after it.
fn other_than(rules: &mut Rules, texts: &BTreeSet<&str>, stops: &str) -> String {
    let texts: Vec<Vec<char>> = texts.iter().map(|text| text.chars().collect()).collect();
    let any = rules.add(&format!("[^{stops}]{{0,{LONGEST_ARGUMENT}}}"));
    let texts: Vec<&[char]> = texts.iter().map(Vec::as_slice).collect();
    branch(rules, &texts, &any, stops, true)
}

/// One step down the tree of forbidden texts. At the root something must follow; below it, the end is fine
/// where no text ends.
fn branch(rules: &mut Rules, texts: &[&[char]], any: &str, stops: &str, at_root: bool) -> String {
    let ends_here = texts.iter().any(|text| text.is_empty());
    let next: BTreeSet<char> = texts.iter().filter_map(|text| text.first()).copied().collect();
    let mut barred: String = next.iter().map(|character| in_class(*character)).collect();
    if ends_here || at_root {
        barred.push(' ');
    }
    if ends_here {
        barred.push('.');
    }
    let mut choices = vec![format!("[^{stops}{barred}] {any}")];
    for character in next {
        let below: Vec<&[char]> = texts.iter().filter_map(|text| text.strip_prefix(&[character])).collect();
        let follows = branch(rules, &below, any, stops, false);
        choices.push(format!("{} {follows}", literal(&character.to_string())));
    }
    let name = rules.add(&choices.join(" | "));
    if ends_here || at_root { name } else { format!("{name}?") }
}

fn in_class(character: char) -> String {
    match character {
        ']' | '\\' | '^' | '-' => format!("\\x{:02X}", character as u32),
        '\n' => "\\n".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bank::four_tools;

    fn root(tools: &[ToolSpec], wish: &str, done: &Done<'_>) -> String {
        line_grammar(tools, wish, done).lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_line_is_a_call_or_the_answer() {
        let read_only = &four_tools()[..1];
        assert_eq!(root(&[], "", &[]), r#"root ::= " " "final " [^\n ] [^\n]* "\n""#);
        let free = r#"root ::= " " ("final " [^\n ] [^\n]* | "read " [^\n ] [^\n]{0,240}) "\n""#;
        assert_eq!(root(read_only, "Read the notes.", &[]), free);
        let named = r#"root ::= " " ("final " [^\n ] [^\n]* | "read " ("a.txt" | "src/b")) "\n""#;
        assert_eq!(root(read_only, "Is a.txt the same as src/b?", &[]), named);
    }

    #[test]
    fn a_command_begins_with_a_program_that_is_known() {
        let tools = four_tools();
        let grammar = line_grammar(&tools[3..], "Please run cargo test, then `git log -1`.", &[]);
        let root = grammar.lines().next().unwrap_or_default();
        for program in ["cargo", "git", "ls", "python3"] {
            assert!(root.contains(&format!("| \"{program}\"")), "{root}");
        }
        assert!(!root.contains("Please"));
    }

    #[test]
    fn names_of_files_are_told_from_other_words() {
        let wish = "Put 3.14 and e.g. 'x.y' into \"out.txt\", see notes.md's end (or ./a.b/c). Version 2.0.";
        assert_eq!(named_files(wish), ["e.g", "x.y", "out.txt", "notes.md", "./a.b/c"]);
    }

    #[test]
    fn a_call_that_was_made_is_not_offered_again() {
        let grammar = line_grammar(&four_tools()[..1], "Read ab.txt.", &[("read", "ab"), ("bash", "ls")]);
        let expected = r#"root ::= " " ("final " [^\n ] [^\n]* | "read " r3) "\n"
r0 ::= [^\n]{0,240}
r1 ::= [^\n .] r0
r2 ::= [^\nb] r0 | "b" r1
r3 ::= [^\na ] r0 | "a" r2?
"#;
        assert!(grammar.starts_with(expected), "{grammar}");
    }

    #[test]
    fn a_tool_with_json_arguments_is_offered_once() {
        let tools = four_tools();
        let edit = tools.iter().find(|tool| tool.name == "edit").unwrap();
        assert!(line_grammar(std::slice::from_ref(edit), "", &[]).contains("\"edit \""));
        assert!(!line_grammar(std::slice::from_ref(edit), "", &[("edit", "{}")]).contains("\"edit \""));
    }
}
