//! [`highlight`]: which words of a code are keywords, strings and the like, so that the page can color them.
use crate::{
    api::{
        Context,
        body::{Body, blocking},
    },
    error::{Answer, ApiError, ErrorBody},
};
use axum::Json;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use syntect::{
    easy::ScopeRegionIterator,
    parsing::{ParseState, ScopeStack, SyntaxSet},
};
use tokio::sync::Semaphore;
use utoipa::ToSchema;

/// Longer code is refused.
const MAX_CODE_BYTES: usize = 100_000;
/// Codes that are parsed at the same time; others wait. A grammar can be slow on a code that was written for that.
static PLACES: Semaphore = Semaphore::const_new(2);

/// A code
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Code {
    /// Name of the language, or ending of its files
    language: String,
    /// The code, at most 100,000 bytes
    code: String,
}

/// A code, in parts
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HighlightedCode {
    /// The parts of each line; together they are the line. A single part without a kind if the language is unknown
    lines: Vec<Vec<CodePart>>,
}

/// A part of a line
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
struct CodePart {
    text: String,
    /// `null`: the part is of no such kind
    kind: Option<CodeKind>,
}

/// What a part of a line is
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum CodeKind {
    Comment,
    String,
    /// A number or another constant
    Constant,
    Keyword,
    /// Name of a function
    Function,
    /// Name of a type, a tag or a section
    Type,
    /// Line that a diff adds
    Added,
    /// Line that a diff removes
    Removed,
}

/// Beginnings of the names of scopes. The innermost listed scope of a word counts.
const KINDS: [(&str, CodeKind); 17] = [
    ("comment", CodeKind::Comment),
    ("string", CodeKind::String),
    ("constant", CodeKind::Constant),
    ("keyword", CodeKind::Keyword),
    ("storage", CodeKind::Keyword),
    ("variable.language", CodeKind::Keyword),
    ("entity.name.function", CodeKind::Function),
    ("support.function", CodeKind::Function),
    ("support.macro", CodeKind::Function),
    ("variable.function", CodeKind::Function),
    ("entity.name.tag", CodeKind::Type),
    ("entity.name", CodeKind::Type),
    ("support.type", CodeKind::Type),
    ("support.class", CodeKind::Type),
    ("entity.other.inherited-class", CodeKind::Type),
    ("markup.inserted", CodeKind::Added),
    ("markup.deleted", CodeKind::Removed),
];

/// Color code
///
/// Changes nothing, and is in no audit log.
#[utoipa::path(post, path = "/v1/highlight", operation_id = "highlight", tag = "server", request_body = Code,
    responses((status = OK, body = HighlightedCode), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn highlight(_context: Context, Body(code): Body<Code>) -> Answer<Json<HighlightedCode>> {
    highlighted(code).await
}

/// Highlights for any client, without a check of its permissions.
pub(crate) async fn highlighted(Code { language, code }: Code) -> Answer<Json<HighlightedCode>> {
    if code.len() > MAX_CODE_BYTES {
        let message = format!("the code has {} bytes, more than {MAX_CODE_BYTES}", code.len());
        return Err(ApiError::wrong(message).suggest("show it without colors"));
    }
    let place = PLACES.acquire().await;
    let highlighted = move || {
        let lines = lines(&language, &code);
        drop(place);
        Ok(Json(HighlightedCode { lines }))
    };
    blocking(highlighted).await
}

/// Loaded when the first code is shown: it takes some milliseconds and megabytes.
fn syntaxes() -> &'static SyntaxSet {
    static SYNTAXES: OnceLock<SyntaxSet> = OnceLock::new();
    SYNTAXES.get_or_init(two_face::syntax::extra_newlines)
}

fn lines(language: &str, code: &str) -> Vec<Vec<CodePart>> {
    let Some(syntax) = syntaxes().find_syntax_by_token(language).filter(|_| !language.is_empty()) else {
        return code.split('\n').map(plain).collect();
    };
    let mut state = (ParseState::new(syntax), ScopeStack::new());
    code.split('\n').map(|line| parts(line, &mut state)).collect()
}

fn plain(line: &str) -> Vec<CodePart> {
    if line.is_empty() { Vec::new() } else { vec![CodePart { text: line.to_owned(), kind: None }] }
}

/// A line that the grammar stumbles over stays plain.
fn parts(line: &str, (parse, scopes): &mut (ParseState, ScopeStack)) -> Vec<CodePart> {
    let with_end = format!("{line}\n");
    let Ok(marks) = parse.parse_line(&with_end, syntaxes()) else { return plain(line) };
    let mut parts: Vec<CodePart> = Vec::new();
    for (text, mark) in ScopeRegionIterator::new(&marks, &with_end) {
        if scopes.apply(mark).is_err() {
            return plain(line);
        }
        let (text, kind) = (text.trim_end_matches('\n'), kind(scopes));
        match parts.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.kind == kind => last.text.push_str(text),
            _ => parts.push(CodePart { text: text.to_owned(), kind }),
        }
    }
    parts
}

fn kind(scopes: &ScopeStack) -> Option<CodeKind> {
    scopes.as_slice().iter().rev().find_map(|scope| {
        let name = scope.build_string();
        let fits = |beginning: &str| {
            name.strip_prefix(beginning).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        KINDS.iter().find(|(beginning, _)| fits(beginning)).map(|(_, kind)| *kind)
    })
}
