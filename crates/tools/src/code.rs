//! [`Code`]: the definitions and imports of a source file.
//!
//! The queries that come with the grammars are made for web pages: they leave out `impl` blocks and Java's enums, cover
//! only the head of a C function, and inspect every call. The queries in `code/` capture what an outline shows:
//! `@definition`, its `@name`, `@part` for nodes that contain or announce definitions but are none, and `@import`.
use crate::watch::Watch;
use std::{
    ops::ControlFlow,
    thread,
    time::{Duration, Instant},
};
use tree_sitter::{
    Node, ParseOptions, Parser, Query, QueryCursor, QueryCursorOptions, StreamingIterator, Tree,
};

mod languages;

pub(crate) use languages::{Language, known, language_of};

/// The definitions and imports of a file, each by its first line.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub(crate) definitions: Vec<Definition>,
    pub(crate) imports: Vec<(usize, String)>,
}

/// A definition. Lines are counted from 1.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// Number of definitions around it.
    pub(crate) depth: usize,
    /// The line with its name.
    pub(crate) line: String,
    /// Whether it only contains or announces definitions.
    pub(crate) is_part: bool,
}

/// Maximum size in bytes: a larger file is generated.
pub(crate) const MAX_SOURCE: u64 = 1024 * 1024;

/// Timeout of the parser: a file that takes longer is made to keep a parser busy.
const PARSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Stack per byte of the file. The parser recurses for each construct that is opened and not closed, which takes about
/// 130 bytes of stack each time.
const STACK_PER_BYTE: usize = 256;

/// Maximum bytes of a line; longer lines are cut.
const MAX_LINE: usize = 160;

/// Returns the definitions and imports of a file. Skips broken parts; `None` if the file cannot be parsed in time, or
/// the search is stopped.
pub(crate) fn code(language: &Language, mut content: Vec<u8>, watch: &Watch<'_>) -> Option<Code> {
    // The last statement of a Go file needs a line end.
    content.push(b'\n');
    let stack = 1024 * 1024 + content.len() * STACK_PER_BYTE;
    thread::scope(|scope| {
        let work = || understand(language, &content, watch);
        thread::Builder::new().stack_size(stack).spawn_scoped(scope, work).ok()?.join().ok()?
    })
}

fn understand(language: &Language, content: &[u8], watch: &Watch<'_>) -> Option<Code> {
    let began = Instant::now();
    let in_time = || match watch.goes_on() && began.elapsed() < PARSE_TIMEOUT {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    let tree = parse(language, content, in_time)?;
    let mut code = collect(language.query()?, tree.root_node(), content, in_time);
    nest(&mut code.definitions);
    code.imports.sort();
    code.imports.dedup();
    in_time().is_continue().then_some(code)
}

fn parse(language: &Language, content: &[u8], in_time: impl Fn() -> ControlFlow<()>) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).ok()?;
    let mut go_on = |_: &_| in_time();
    let options = ParseOptions::new().progress_callback(&mut go_on);
    parser.parse_with_options(&mut |from, _| content.get(from..).unwrap_or_default(), None, Some(options))
}

fn collect(query: &Query, root: Node<'_>, content: &[u8], in_time: impl Fn() -> ControlFlow<()>) -> Code {
    let mut code = Code::default();
    let mut cursor = QueryCursor::new();
    let mut go_on = |_: &_| in_time();
    let options = QueryCursorOptions::new().progress_callback(&mut go_on);
    let mut matches = cursor.matches_with_options(query, root, content, options);
    while let Some(found) = matches.next() {
        let captured = |wanted: &str| {
            let named = |index: u32| query.capture_names().get(index as usize) == Some(&wanted);
            found.captures().iter().find(|capture| named(capture.index)).map(|capture| capture.node)
        };
        if let Some(import) = captured("import") {
            code.imports.push((import.start_position().row + 1, on_one_line(text(import, content))));
        }
        let (definition, part) = (captured("definition"), captured("part"));
        if let (Some(node), Some(name)) = (definition.or(part), captured("name")) {
            code.definitions.push(Definition {
                name: text(name, content),
                first: node.start_position().row + 1,
                last: last_line(node),
                depth: 0,
                line: line_at(name.start_byte(), content),
                is_part: definition.is_none(),
            });
        }
    }
    code
}

fn text(node: Node<'_>, content: &[u8]) -> String {
    String::from_utf8_lossy(&content[node.byte_range()]).into_owned()
}

/// A node that ends at the beginning of a line ends with the line before it.
fn last_line(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 && end.row > node.start_position().row { end.row } else { end.row + 1 }
}

/// The whole line at a position, without characters at its end that only open a block.
fn line_at(at: usize, content: &[u8]) -> String {
    let from = content[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let to = content[at..].iter().position(|byte| *byte == b'\n').map_or(content.len(), |end| at + end);
    let line = String::from_utf8_lossy(&content[from..to]).into_owned();
    on_one_line(line).trim_end_matches(['{', ' ']).to_owned()
}

fn on_one_line(text: String) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let head = haft_core::clip::head(&line, MAX_LINE);
    if head.len() < line.len() { format!("{head}…") } else { line }
}

/// Sorts definitions in the order of the file, and sets the number of definitions around each.
fn nest(definitions: &mut Vec<Definition>) {
    definitions.sort_by(|a, b| (a.first, b.last, &a.name).cmp(&(b.first, a.last, &b.name)));
    definitions.dedup_by(|a, b| (a.first, a.last, &a.name) == (b.first, b.last, &b.name));
    let mut around: Vec<usize> = Vec::new();
    for definition in definitions {
        while around.last().is_some_and(|last| *last < definition.last) {
            around.pop();
        }
        definition.depth = around.len();
        around.push(definition.last);
    }
}
