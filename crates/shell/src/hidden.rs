//! [`Hidden`]: commands of a line that its tree does not show: substitutions that the grammar parses as text, and text
//! that a shell evaluates as code.
use crate::nodes::{self, children, text, unescaped};
use std::{borrow::Cow, ops::Range};
use tree_sitter::Node;

/// The findings of a walk through the tree, from the first node to the last.
pub(crate) struct Hidden<'a> {
    line: &'a str,
    /// Substitutions that are not nodes, each with the text after it.
    pub(crate) substitutions: Vec<Cow<'a, str>>,
    /// Whether a here-document, a comment or a word begins or ends elsewhere than the grammar says, or a variable gives
    /// Git other commands.
    is_misread: bool,
    /// Whether the line has a construct that evaluates the value or the name of a variable as code.
    evaluates: bool,
    /// How many substitutions the text of the line has without its quotes, and how many of them are nodes.
    written: usize,
    read: usize,
    /// Whether the last character, ignoring quotes, was `$`.
    is_dollar: bool,
    /// Number of substitutions in backquotes that were parsed.
    backquotes: usize,
    /// How far the leaves cover the line, in bytes.
    done: usize,
    /// The end of the string that contains the current leaves; 0 after a substitution in it.
    string_end: usize,
}

/// Maximum substitutions in backquotes, each of which is parsed again. A line with more counts as not parsed.
const MAX_BACKQUOTES: usize = 64;

impl<'a> Hidden<'a> {
    pub(crate) fn new(line: &'a str) -> Self {
        Self {
            line,
            substitutions: Vec::new(),
            is_misread: false,
            evaluates: false,
            written: 0,
            read: 0,
            is_dollar: false,
            backquotes: 0,
            done: 0,
            string_end: 0,
        }
    }

    /// Whether the tree shows all commands. Quoted text is code for constructs that evaluate it: `x='a[$(b)]'; echo
    /// $((x))` runs `b`.
    pub(crate) fn is_none(&self) -> bool {
        let is_code = self.evaluates && self.written > self.read;
        self.substitutions.is_empty() && !self.is_misread && !is_code
    }

    /// A node, before its children.
    pub(crate) fn enter(&mut self, node: Node<'_>) {
        if node.kind() == "command_substitution" && text(node, self.line).starts_with('`') {
            self.backquotes += 1;
            if self.backquotes <= MAX_BACKQUOTES {
                self.substitutions.extend(in_backquotes(text(node, self.line)).map(Cow::Owned));
            }
        }
        self.is_misread |=
            self.backquotes > MAX_BACKQUOTES || is_misread(node, self.line) || sets_up_git(node, self.line);
        self.evaluates |= evaluates(node, self.line);
        match node.kind() {
            "string" => self.string_end = node.end_byte(),
            "command_substitution" | "process_substitution" => self.string_end = 0,
            _ => {}
        }
    }

    /// A node without children.
    pub(crate) fn leaf(&mut self, node: Node<'_>) {
        self.between(node);
        self.done = self.done.max(node.end_byte());
        let text = text(node, self.line);
        self.read += usize::from(!node.is_named() && (text == "`" || text.starts_with("$(")));
        if node.kind() == "ansi_c_string" {
            self.say(&unescaped(text));
        } else {
            self.text(node.byte_range(), openers(node, self.line));
        }
    }

    /// The text before a leaf that belongs to no node.
    fn between(&mut self, leaf: Node<'_>) {
        let gap = self.done..leaf.start_byte();
        let text = self.line.get(gap.clone()).unwrap_or_default();
        // After an escaped blank the word continues, which the grammar does not handle everywhere.
        let is_escaped = text.replace("\\\n", "").contains('\\');
        // Outside of a test these characters are words, after which the line ends.
        let before = self.line.get(..gap.start).unwrap_or_default();
        let is_continued = text.contains('\n') && ["==", "=~"].iter().any(|sign| before.ends_with(sign));
        // A shell treats these as characters of a word, the grammar as blanks.
        let has_other_blank = |text: &str| text.contains(['\r', '\u{b}', '\u{c}']);
        let is_plain = || !openers(leaf, self.line).is_empty() && !is_quoted(leaf);
        // Lines of text in quotes are leaves of their own.
        let is_in_string = leaf.start_byte() < self.string_end;
        self.is_misread |= is_escaped
            || (is_continued || has_other_blank(text)) && !is_in_string
            || has_other_blank(nodes::text(leaf, self.line)) && is_plain()
            || is_no_comment(leaf, self.line);
        self.text(gap, &IN_QUOTES);
    }

    /// Ends the walk at the end of the line.
    pub(crate) fn end(&mut self) {
        self.text(self.done..self.line.len(), &IN_QUOTES);
    }

    fn text(&mut self, range: Range<usize>, openers: &[&str]) {
        let text = self.line.get(range).unwrap_or_default();
        self.substitutions.extend(substitution(text, openers).map(Cow::Borrowed));
        self.evaluates |= !openers.is_empty() && ["$[", "${"].iter().any(|open| text.contains(open));
        self.say(text);
    }

    /// Processes text of the line, ignoring quotes.
    fn say(&mut self, text: &str) {
        for letter in text.chars().filter(|letter| !matches!(letter, '\'' | '"' | '\\')) {
            self.written += usize::from(letter == '`' || (letter == '(' && self.is_dollar));
            self.is_dollar = letter == '$';
        }
    }
}

/// Builtins that take the name of a variable, whose index they replace, or an expression.
const EVALUATORS: [&str; 7] = ["getopts", "let", "mapfile", "read", "readarray", "test", "wait"];

/// Maximum characters of a name that is compared: more than any of these builtins has.
const MAX_NAME: usize = 12;

/// Whether a shell evaluates a value or a name in the node as code.
fn evaluates(node: Node<'_>, line: &str) -> bool {
    match node.kind() {
        "arithmetic_expansion"
        | "array"
        | "c_style_for_statement"
        | "declaration_command"
        | "expansion"
        | "subscript"
        | "test_command"
        | "unset_command" => true,
        "compound_statement" => text(node, line).starts_with("(("),
        // In a here-document, the grammar parses an arithmetic expansion like this.
        "command_substitution" => text(node, line).starts_with("$(("),
        "variable_assignment" => text(node, line).starts_with("PS4"),
        "command_name" => {
            // `printf -v NAME`
            let is_named = || node.next_sibling().is_some_and(|next| head(next, line).starts_with("-v"));
            match head(node, line).as_str() {
                "printf" => is_named(),
                name => EVALUATORS.contains(&name),
            }
        }
        _ => false,
    }
}

/// The first characters of a node without its quotes. Limited, because the node and nested nodes may be as long as the
/// line.
fn head(node: Node<'_>, line: &str) -> String {
    let letters = text(node, line).chars().filter(|letter| !matches!(letter, '\'' | '"' | '\\'));
    letters.take(MAX_NAME).collect()
}

/// The beginnings of substitutions; the first two also apply in double quotes and in a here-document.
const OPENERS: [&str; 4] = ["`", "$(", "<(", ">("];
const IN_QUOTES: [&str; 2] = ["`", "$("];

/// The substitutions that a shell expands in a node without children. A substitution that is a node begins with a
/// token.
fn openers(leaf: Node<'_>, line: &str) -> &'static [&'static str] {
    match leaf.kind() {
        "raw_string" | "ansi_c_string" | "comment" => &[],
        _ if !leaf.is_named() => &[],
        "heredoc_body" | "heredoc_content" if is_quoted_document(leaf, line) => &[],
        "heredoc_body" | "heredoc_content" | "string_content" => &IN_QUOTES,
        _ => &OPENERS,
    }
}

/// Whether the word after `<<` has quotes, so that a shell expands nothing in the here-document.
fn is_quoted_document(body: Node<'_>, line: &str) -> bool {
    let above = std::iter::successors(Some(body), Node::parent).take(3);
    let mut starts = above.flat_map(children).filter(|child| child.kind() == "heredoc_start");
    starts.next().is_some_and(|start| text(start, line).contains(['\'', '"', '\\']))
}

/// Whether a here-document begins or ends at something other than exactly its word. The grammar treats a line that only
/// begins with the word as the end.
fn is_misread(node: Node<'_>, line: &str) -> bool {
    let before = || line.get(..node.start_byte()).and_then(|before| before.rsplit('\n').next());
    let behind = line.get(node.end_byte()..).unwrap_or_default();
    match node.kind() {
        "heredoc_start" => behind.starts_with(|c: char| !c.is_whitespace() && !";|&<>)".contains(c)),
        "heredoc_end" => {
            let is_alone = before().is_some_and(|before| before.bytes().all(|byte| byte == b'\t'));
            !is_alone || !(behind.is_empty() || behind.starts_with('\n'))
        }
        _ => false,
    }
}

/// Whether the leaf is a comment only for the grammar: for a shell it begins in the middle of a word.
fn is_no_comment(leaf: Node<'_>, line: &str) -> bool {
    let before = line.get(..leaf.start_byte()).unwrap_or_default();
    let Some(last) = before.chars().next_back().filter(|_| leaf.kind() == "comment") else { return false };
    let start = before.strip_suffix(last).unwrap_or_default();
    let is_escaped = !(start.len() - start.trim_end_matches('\\').len()).is_multiple_of(2);
    is_escaped || !" \t\n;&|()".contains(last)
}

/// Whether the leaf is text in quotes or of a here-document.
fn is_quoted(leaf: Node<'_>) -> bool {
    matches!(leaf.kind(), "string_content" | "heredoc_body" | "heredoc_content")
}

/// Prefixes of variables that define what a command of Git runs (git(1), git-config(1)).
const GIT_VARIABLES: [&str; 2] = ["GIT_CONFIG", "GIT_EXEC_PATH"];

/// Whether a word, without its quotes, begins with such a name.
pub(crate) fn is_git_variable(word: &str) -> bool {
    GIT_VARIABLES.iter().any(|name| word.starts_with(name))
}

/// Whether the node sets such a variable.
fn sets_up_git(node: Node<'_>, line: &str) -> bool {
    let text = text(node, line);
    match node.kind() {
        // `for GIT_CONFIG_COUNT in 1`, `((GIT_CONFIG_COUNT=1))`
        "variable_assignment" | "variable_name" => is_git_variable(text),
        "declaration_command" => {
            let plain: String = text.chars().filter(|letter| !matches!(letter, '\'' | '"' | '\\')).collect();
            // `declare -n other=GIT_CONFIG_COUNT`
            plain.split(|letter: char| letter.is_whitespace() || letter == '=').any(is_git_variable)
        }
        _ => false,
    }
}

/// The text from the first substitution on.
fn substitution<'a>(text: &'a str, openers: &[&str]) -> Option<&'a str> {
    let is_plain = |at: &usize| {
        let before = &text[..*at];
        (before.len() - before.trim_end_matches('\\').len()).is_multiple_of(2)
    };
    let found = openers.iter().filter_map(|open| text.match_indices(open).map(|(at, _)| at).find(is_plain));
    found.min().map(|at| &text[at..])
}

/// The command in backquotes, with nested escaped backquotes unescaped.
fn in_backquotes(substitution: &str) -> Option<String> {
    let inner = substitution.strip_prefix('`')?;
    inner.contains("\\`").then(|| inner.strip_suffix('`').unwrap_or(inner).replace("\\`", "`"))
}
