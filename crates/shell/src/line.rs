//! [`Line`]: a command line parsed by the grammar of bash: its programs and their words, its redirections and pipes.
//!
//! Quotes are parsed: quoted text is a word, not a command. The expansion of a word (variables, substitutions,
//! patterns) is not known; such a word is kept as it is written.
use crate::{
    hidden::Hidden,
    nodes::{children, text, unescaped},
};
use std::{
    ops::ControlFlow,
    thread,
    time::{Duration, Instant},
};
use tree_sitter::{Node, ParseOptions, Parser, Tree};

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word without its quotes.
    pub text: String,
    /// The text as a pattern: with a backslash before each special character that is quoted: `~`, `*`, `?`, `[`, `$`,
    /// `{`.
    pub pattern: String,
    /// Whether the shell expands no part of it, so that the program gets `text`. A leading `~/` does not count as an
    /// expansion.
    pub is_literal: bool,
}

/// An action of a shell in a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Runs a program: its name and arguments.
    Run(Vec<Word>),
    /// Writes output to a file, not to another descriptor (`2>&1`).
    Write(Word),
    /// Gives a variable this value.
    Assign(Word),
    /// Runs programs concurrently, each reading the output of the one before; their words.
    Pipe(Vec<Vec<Word>>),
    /// Continues before the preceding program has ended: `&`.
    Background,
    /// Defines a function that runs itself twice at the same time (a fork bomb).
    Bomb,
}

/// The actions of a line.
#[derive(Debug, Default)]
pub struct Line {
    /// Actions at any depth, also in substitutions, groups, functions and bodies of loops.
    pub deeds: Vec<Deed>,
    /// Whether the grammar covers all of the line, so that nothing is missing in `deeds`.
    pub is_whole: bool,
}

/// No system starts a shell with a longer command line (`MAX_ARG_STRLEN`, execve(2)).
const MAX_LINE_BYTES: usize = 128 << 10;
/// Maximum time for parsing. A line that takes longer was written to attack the parser.
const PARSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum bytes of a line that is parsed on the current stack. The parser recurses for unclosed constructs, and a
/// shorter line fits on any stack.
const SHALLOW_LINE_BYTES: usize = 2 << 10;
const STACK_FOR_EACH_BYTE: usize = 256;
/// Maximum depth of nested substitutions that the grammar does not cover, and below it their maximum number in a line.
const MAX_HIDDEN_DEPTH: usize = 2;
const MAX_HIDDEN: usize = 16;

impl Line {
    /// Reads `line` by the grammar of bash. Parts that cannot be parsed are left out of [`Self::deeds`].
    pub fn read(line: &str) -> Self {
        Self::read_hidden(line, MAX_HIDDEN_DEPTH)
    }

    fn read_hidden(line: &str, depth: usize) -> Self {
        let read = || {
            let tree = parse(line)?;
            let (mut deeds, hidden) = collect(&tree, line);
            let is_whole = !tree.root_node().has_error() && !has_broken_word(line) && hidden.is_none();
            if let Some(depth) = depth.checked_sub(1) {
                let found = hidden.substitutions.iter().take(MAX_HIDDEN);
                deeds.extend(found.flat_map(|text| Self::read_hidden(text, depth).deeds));
            }
            Some(Self { deeds, is_whole })
        };
        let found = match line.len() {
            0..=SHALLOW_LINE_BYTES => read(),
            length @ ..=MAX_LINE_BYTES => thread::scope(|scope| {
                let stack = (1 << 20) + length * STACK_FOR_EACH_BYTE;
                let started = thread::Builder::new().stack_size(stack).spawn_scoped(scope, read).ok();
                started.and_then(|work| work.join().ok()).flatten()
            }),
            _ => None,
        };
        found.unwrap_or_default()
    }
}

/// Whether a word continues after a line break, where the grammar sees two words.
fn has_broken_word(line: &str) -> bool {
    line.match_indices("\\\n").any(|(place, sign)| {
        let before = line[..place].chars().next_back();
        let after = line[place + sign.len()..].chars().next();
        [before, after].iter().all(|letter| letter.is_some_and(|letter| !letter.is_whitespace()))
    })
}

fn parse(line: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let began = Instant::now();
    let mut go_on = |_: &_| match began.elapsed() < PARSE_TIMEOUT {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    let options = ParseOptions::new().progress_callback(&mut go_on);
    let bytes = line.as_bytes();
    parser.parse_with_options(&mut |from, _| bytes.get(from..).unwrap_or_default(), None, Some(options))
}

/// Returns the actions of the line, and those that the tree does not show. Walks the tree without recursion, because a
/// line may be nested as deeply as it is long.
fn collect<'a>(tree: &Tree, line: &'a str) -> (Vec<Deed>, Hidden<'a>) {
    let (mut deeds, mut hidden, mut cursor) = (Vec::new(), Hidden::new(line), tree.walk());
    loop {
        let node = cursor.node();
        deeds.extend(deed(node, line));
        hidden.enter(node);
        if cursor.goto_first_child() {
            continue;
        }
        hidden.leaf(node);
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                hidden.end();
                return (deeds, hidden);
            }
        }
    }
}

fn deed(node: Node<'_>, line: &str) -> Option<Deed> {
    match node.kind() {
        "command" => Some(Deed::Run(words(node, line))),
        "file_redirect" => {
            let sign = children(node).find(|child| !child.is_named())?;
            let is_output = sign.kind().contains('>');
            let target = word(destinations(node).next()?, line);
            let is_handle = target.text == "-" || target.text.chars().all(|c| c.is_ascii_digit());
            (is_output && !(sign.kind().ends_with('&') && is_handle)).then_some(Deed::Write(target))
        }
        "variable_assignment" => {
            let value = node.child_by_field_name("value")?;
            Some(Deed::Assign(word(value, line)))
        }
        "pipeline" => {
            let parts = children(node).filter(|child| child.kind() != "|" && child.kind() != "|&");
            Some(Deed::Pipe(parts.map(|part| words(inner(part), line)).collect()))
        }
        // In arithmetic it is an operator.
        "&" => node
            .parent()
            .is_none_or(|parent| parent.kind() != "binary_expression")
            .then_some(Deed::Background),
        "function_definition" => is_bomb(node, line).then_some(Deed::Bomb),
        _ => None,
    }
}

/// The command in `command >file`.
fn inner(node: Node<'_>) -> Node<'_> {
    match node.kind() {
        "redirected_statement" => node.child_by_field_name("body").unwrap_or(node),
        _ => node,
    }
}

/// The name and the arguments of a simple command; empty for other nodes.
fn words(command: Node<'_>, line: &str) -> Vec<Word> {
    if command.kind() != "command" {
        return Vec::new();
    }
    let mut words: Vec<Word> =
        children(command).flat_map(|child| arguments(child)).map(|child| word(child, line)).collect();
    let around = command.parent().filter(|parent| inner(*parent) == command && *parent != command);
    let behind = around.into_iter().flat_map(children).filter(|child| *child != command);
    words.extend(behind.flat_map(|child| arguments(child)).map(|child| word(child, line)));
    words
}

/// The words that a part of a command gives its program. In the grammar everything after `>file` belongs to the
/// redirection; in a shell only the file does.
fn arguments<'a>(part: Node<'a>) -> Vec<Node<'a>> {
    match part.kind() {
        "file_redirect" => destinations(part).skip(1).collect(),
        "heredoc_redirect" => (0..part.child_count())
            .filter(|place| part.field_name_for_child(*place) == Some("argument"))
            .filter_map(|place| part.child(place))
            .collect(),
        "variable_assignment" | "herestring_redirect" => Vec::new(),
        _ if part.is_named() => vec![part],
        _ => Vec::new(),
    }
}

fn destinations<'a>(redirect: Node<'a>) -> impl Iterator<Item = Node<'a>> {
    children(redirect).filter(|child| child.is_named() && child.kind() != "file_descriptor")
}

/// `:(){ :|:& };:`
fn is_bomb(function: Node<'_>, line: &str) -> bool {
    let (Some(name), Some(body)) =
        (function.child_by_field_name("name"), function.child_by_field_name("body"))
    else {
        return false;
    };
    let is_itself = |child: &Node<'_>| text(*child, line) == text(name, line);
    children(body).any(|part| part.kind() == "pipeline" && children(part).filter(is_itself).count() > 1)
}

/// Parses a word and removes its quotes.
fn word(node: Node<'_>, line: &str) -> Word {
    let mut word = Word { text: String::new(), pattern: String::new(), is_literal: true };
    word.take(node, line);
    // The program `[` is not a pattern.
    if word.pattern == "[" {
        word = Word { text: "[".into(), pattern: "\\[".into(), is_literal: true };
    }
    word.is_literal &= !word.is_list();
    word
}

impl Word {
    fn take(&mut self, node: Node<'_>, line: &str) {
        let text = text(node, line);
        match node.kind() {
            "command_name" | "concatenation" => children(node).for_each(|child| self.take(child, line)),
            "raw_string" => self.literally(text.trim_matches('\'')),
            "ansi_c_string" => {
                self.literally(&unescaped(text.strip_prefix("$'").unwrap_or(text).trim_end_matches('\'')))
            }
            "string" | "translated_string" => self.quoted(node, line),
            "word" => self.bare(text),
            "number" => self.as_is(text),
            _ => self.replaced(text),
        }
    }

    /// Adds text between double quotes and its expansions. Some of the text belongs to no child node.
    fn quoted(&mut self, node: Node<'_>, line: &str) {
        let begin = node.start_byte() + text(node, line).find('"').map_or(0, |at| at + 1);
        let end = node.end_byte() - usize::from(text(node, line).ends_with('"'));
        let mut done = begin;
        let parts = children(node).filter(|child| child.is_named() && child.kind() != "string_content");
        for part in parts {
            self.backslashed(line.get(done..part.start_byte()).unwrap_or_default());
            self.replaced(text(part, line));
            done = part.end_byte();
        }
        self.backslashed(line.get(done..end).unwrap_or_default());
    }

    /// Whether a shell expands it to several words: `a{b,c}`. The parts of such a word are several nodes.
    fn is_list(&self) -> bool {
        let (mut letters, mut depth, mut before) = (self.pattern.chars(), 0usize, ' ');
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => drop(letters.next()),
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ',' if depth > 0 => return true,
                '.' if depth > 0 && before == '.' => return true,
                _ => {}
            }
            before = letter;
        }
        false
    }

    fn as_is(&mut self, text: &str) {
        self.text += text;
        self.pattern += text;
    }

    /// Adds text that a shell expands.
    fn replaced(&mut self, text: &str) {
        self.is_literal = false;
        self.as_is(text);
    }

    fn literally(&mut self, text: &str) {
        self.text += text;
        for letter in text.chars() {
            if "~*?[${".contains(letter) {
                self.pattern.push('\\');
            }
            self.pattern.push(letter);
        }
    }

    /// Adds text outside of quotes, where a backslash quotes the next character, and removes a line break.
    fn bare(&mut self, text: &str) {
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('\\') {
            self.unquoted(before);
            let length = after.chars().next().map_or(0, char::len_utf8);
            if !after.starts_with('\n') {
                self.literally(&after[..length]);
            }
            rest = &after[length..];
        }
        self.unquoted(rest);
    }

    fn unquoted(&mut self, text: &str) {
        let is_home = self.text.is_empty() && text.starts_with('~') && !text.starts_with("~/");
        let is_pattern = text.contains(['*', '?', '[']);
        self.is_literal &= !(is_home || is_pattern);
        self.as_is(text);
    }

    /// Adds text in double quotes, where a backslash quotes only a few characters.
    fn backslashed(&mut self, text: &str) {
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('\\') {
            self.literally(before);
            match after.chars().next() {
                Some('\n') => rest = &after[1..],
                Some('$' | '`' | '"' | '\\') => {
                    self.literally(&after[..1]);
                    rest = &after[1..];
                }
                _ => {
                    self.literally("\\");
                    rest = after;
                }
            }
        }
        self.literally(rest);
    }
}
