//! [`Dialect`]: calls and thoughts that a model writes as plain text, if its server does not parse them.
//!
//! A [`Dialect`] is data: a name, the models that use it, and its grammar. A [`Reader`] is fed text as it arrives and
//! classifies it: prose is emitted as soon as it cannot be the beginning of a call. The items are the same however the
//! text is split into pieces, and each byte is read a bounded number of times.
//!
//! Most dialects are one row: a [`Dialect`] with its name, the models that use it, the grammar for the engine in
//! `blocks`, and how it writes a call. The content of a block is JSON, tags (`tagged_calls`), or parsed by a small
//! function in the file of the family. A few dialects are separate state machines on top of `tokens`. To add a dialect,
//! add a row to the `DIALECTS` of its family, below `families`.
//!
//! How it works inside: `README.md` of this crate.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod blocks;
mod bodies;
mod delimiters;
mod ends;
mod families;
mod guess;
mod json_calls;
mod leading;
mod products;
pub mod pythonic;
mod reply;
mod tagged_calls;
mod tokens;
mod typed;
mod walk;
mod writing;
use blocks::Grammar;
use families::{gemma, harmony, inkling, json, minimax_m3, muse, named, python, tags};
pub use guess::{by_delimiters, guess};
pub use leading::{THINK_TAGS, leading_thoughts};
pub use products::SENTINEL;
use serde_json::{Map, Value};
use std::{slice::from_ref, sync::Arc};
pub(crate) use typed::kind_of;
pub use writing::{ArgumentMap, Attribute, Elements, JsonCall, Writing};

/// A notation for calls and thoughts in text.
pub struct Dialect {
    /// The name for `--dialect`.
    pub name: &'static str,
    /// Parts of the names of models that use it, in lower case; for `auto`, see [`spoken_by`].
    pub models: &'static [&'static str],
    /// Delimiters that identify it in a chat template or in a reply: all delimiters of one of these lists.
    pub signs: &'static [&'static [&'static str]],
    reading: Reading,
    /// How it writes a call.
    pub writing: Writing,
    /// Whether the beginning of a call may also begin other text, so that a model cannot be constrained to it.
    pub is_ambiguous: bool,
    /// How results are written.
    pub results: Results,
    /// Examples of calls of these tools, if their schemas do not show how they are written.
    pub examples: Option<Examples>,
}

/// Writes examples of calls for those of the named tools that it knows.
pub type Examples = fn(&[&str]) -> Option<String>;

/// How replies are parsed.
#[derive(Clone, Copy)]
enum Reading {
    /// By the engine, with this grammar.
    Grammar(&'static Grammar),
    /// By a separate reader.
    Own(fn(&Setting) -> Box<dyn Reader>),
}

impl Reading {
    fn reader(self, setting: &Setting) -> Box<dyn Reader> {
        match self {
            Self::Grammar(grammar) => blocks::reader(grammar, setting),
            Self::Own(reader) => reader(setting),
        }
    }
}

/// How results of tools are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Results {
    /// Each after the name of its tool.
    Named,
    /// Each between `<tool_response>` and `</tool_response>`.
    Tagged,
    /// Numbered, in one list.
    Numbered,
}

impl Dialect {
    /// A dialect with a grammar.
    const fn new(
        name: &'static str,
        models: &'static [&'static str],
        grammar: &'static Grammar,
        writing: Writing,
    ) -> Self {
        Self::read_by(Reading::Grammar(grammar), name, models, writing)
    }

    /// Returns a dialect with a separate reader: `name` is the value for `--dialect`, `models` are parts of the names
    /// of models that use it, in lower case. Calls are written as `writing` says. Further fields are set by the methods
    /// below.
    pub const fn own(
        name: &'static str,
        models: &'static [&'static str],
        reader: fn(&Setting) -> Box<dyn Reader>,
        writing: Writing,
    ) -> Self {
        Self::read_by(Reading::Own(reader), name, models, writing)
    }

    const fn read_by(
        reading: Reading,
        name: &'static str,
        models: &'static [&'static str],
        writing: Writing,
    ) -> Self {
        let results = Results::Named;
        Self { name, models, signs: &[], reading, writing, is_ambiguous: false, results, examples: None }
    }

    /// Sets the delimiters that identify the dialect in a chat template or in a reply: all delimiters of one of these
    /// lists.
    pub const fn signs(self, signs: &'static [&'static [&'static str]]) -> Self {
        Self { signs, ..self }
    }

    /// Marks the dialect as one to which a model cannot be constrained, since the beginning of a call may also begin
    /// other text.
    pub const fn ambiguous(self) -> Self {
        Self { is_ambiguous: true, ..self }
    }

    /// Sets how results are written.
    pub const fn results(self, results: Results) -> Self {
        Self { results, ..self }
    }

    /// Whether a call is JSON without delimiters, which may be anywhere in prose.
    pub fn writes_bare_json(&self) -> bool {
        matches!(self.writing, Writing::Json(JsonCall { around: ["", ""], .. }))
    }

    /// Writes the call as a model with this dialect does; as Hermes does if its notation is unknown.
    pub fn written(&self, call: &Call) -> String {
        self.writing.written(call)
    }

    /// Returns a reader for one reply that also applies the rules for all dialects: for instance, it finds calls in
    /// thoughts that were never closed.
    pub fn listen(&self, setting: &Setting) -> Box<dyn Reader> {
        reply::reader(self.reading, setting)
    }
}

/// All dialects. If two match the same model name, or the same text, the first one wins: dialects with common words as
/// delimiters come last.
pub static DIALECTS: &[&Dialect] = &{
    let mut all = [&FAMILIES[0][0]; 69];
    let (mut count, mut family) = (0, 0);
    while family < FAMILIES.len() {
        let mut place = 0;
        while place < FAMILIES[family].len() {
            all[count] = &FAMILIES[family][place];
            (count, place) = (count + 1, place + 1);
        }
        family += 1;
    }
    assert!(count == all.len(), "there are as many rows as dialects");
    all
};

const FAMILIES: &[&[Dialect]] = &[
    &tags::DIALECTS,
    from_ref(&minimax_m3::MINIMAX_M3),
    &gemma::DIALECTS,
    from_ref(&harmony::HARMONY),
    from_ref(&inkling::INKLING),
    &python::DIALECTS,
    &muse::DIALECTS,
    from_ref(&products::FENCED_SHELL),
    from_ref(&products::THOUGHTS_JSON),
    from_ref(&products::ALFRED),
    from_ref(&products::TOOL_USE_XML),
    &named::DIALECTS,
    &json::DIALECTS,
];

/// The dialect of the model with this name: the one with the longest matching part.
pub fn spoken_by(model: &str) -> Option<&'static Dialect> {
    let model = model.to_lowercase();
    let known = |dialect: &Dialect| {
        let parts = dialect.models.iter().filter(|part| model.contains(**part));
        parts.map(|part| part.len()).max()
    };
    // Of two equally long matches, the first one wins.
    DIALECTS
        .iter()
        .copied()
        .filter(|dialect| known(dialect).is_some())
        .rev()
        .max_by_key(|dialect| known(dialect))
}

/// The dialect with this name.
pub fn dialect(name: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.name == name)
}

/// Whether `text` can be the name of a tool. A lenient reader takes any text between delimiters as a name.
pub(crate) fn is_name(text: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || "_-.:/".contains(letter);
    !text.is_empty() && text.len() <= LONGEST_NAME && text.chars().all(is_part)
}

/// Names of a parameter that holds the others, unless the tool has a parameter with that name.
pub(crate) const WRAPPERS: [&str; 6] = ["arguments", "parameters", "params", "args", "kwargs", "input"];

/// Maximum length of a name. Vendors accept 64 characters; those of MCP servers may be longer.
const LONGEST_NAME: usize = 256;

/// A tool that can be called.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSchema {
    /// The tool's name for the model.
    pub name: String,
    /// The description for the model; may be empty.
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub parameters: Value,
}

impl ToolSchema {
    /// Returns a tool without a description.
    pub fn new(name: impl Into<String>, parameters: Value) -> Self {
        Self { name: name.into(), description: String::new(), parameters }
    }
}

/// The known context of a reply.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The tools that can be called. Their schemas determine the type of a value if the text does not.
    pub tools: Arc<[ToolSchema]>,
    /// The end of the prompt that the model continues, which may have opened the thoughts. Empty if unknown.
    pub prompt_end: String,
    /// Whether the reply begins within the thoughts. `None`: determined by `prompt_end`.
    pub begins_thinking: Option<bool>,
    /// Whether thoughts are separated from the text; if not, their delimiters stay in it.
    pub split_thinking: bool,
    /// Whether calls are parsed; if not, they stay in the text.
    pub find_calls: bool,
    /// The version of the dialect, if there are several; empty for any.
    pub variant: String,
    /// Whether a call of an unknown tool is a [`Said::Problem`]. Otherwise it is a call like any other: the code that
    /// runs it knows further names of its tools, or tells the model that there is no such tool.
    pub only_known: bool,
    /// Whether an incomplete call at the end of the reply is emitted; otherwise it is a [`Said::Problem`]. A caller
    /// that sets this must know that the reply was cut off.
    pub beginnings: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            tools: Arc::new([]),
            prompt_end: String::new(),
            begins_thinking: None,
            split_thinking: true,
            find_calls: true,
            variant: String::new(),
            only_known: false,
            beginnings: true,
        }
    }
}

impl Setting {
    /// Returns the tool with this name.
    pub fn tool(&self, name: &str) -> Option<&ToolSchema> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// An item of a parsed reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// Prose for the user.
    Text(String),
    /// Thoughts.
    Thinking(String),
    /// The end of thoughts. Only readers with [`Reader::opens_calls`] emit it; [`read`] removes it.
    ThinkingEnd,
    /// A call.
    Call(Call),
    /// Text that was meant as a call, and why it is invalid. The text was emitted as [`Said::Text`], or is part of the
    /// problem if the dialect allows no text at that place: nothing is dropped.
    Problem(Problem),
}

/// Text that was meant as a call and is invalid.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Kind of the problem.
    pub kind: ProblemKind,
    /// Why it is invalid, for the model.
    pub text: String,
}

/// A kind of problem with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The call cannot be parsed, or is at a place where calls are not allowed.
    Malformed,
    /// The reply ended too early; the beginning of its call may have been emitted before.
    CutOff,
    /// No tool has this name.
    UnknownTool,
}

impl Problem {
    /// The problem that the reply ended before `what`, for instance the end of a call.
    pub fn cut_off(what: impl std::fmt::Display) -> Self {
        Self { kind: ProblemKind::CutOff, text: format!("the reply ended before {what}") }
    }
}

impl From<String> for Problem {
    fn from(text: String) -> Self {
        Self { kind: ProblemKind::Malformed, text }
    }
}

impl From<&str> for Problem {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Said {
    pub(crate) fn problem(problem: impl Into<Problem>) -> Self {
        Self::Problem(problem.into())
    }

    pub(crate) fn cut_off(what: impl std::fmt::Display) -> Self {
        Self::Problem(Problem::cut_off(what))
    }
}

/// A call that was parsed from text.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// ID that the model wrote; empty if it wrote none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// JSON text of an object; it may be incomplete if the reply was cut off.
    pub arguments: String,
}

impl Call {
    /// Returns a call without an ID. Arguments are a value, or JSON text.
    pub fn new(name: impl Into<String>, arguments: impl ToString) -> Self {
        Self { id: String::new(), name: name.into(), arguments: arguments.to_string() }
    }

    /// The arguments as an object. The error says why the call is invalid.
    pub fn object(&self) -> Result<Map<String, Value>, String> {
        let Self { name, arguments, .. } = self;
        if !is_name(name) {
            return Err(format!("no tool can be called `{name}`"));
        }
        match serde_json::from_str(arguments) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(other) => Err(format!("the arguments of `{name}` are not an object: {other}")),
            Err(error) => Err(format!("the arguments of `{name}` are not valid JSON: {error}")),
        }
    }
}

/// Parses one reply.
pub trait Reader: Send {
    /// Adds text of the reply, and emits what is certain.
    fn push(&mut self, text: &str, said: &mut Vec<Said>);
    /// Ends the reply, and emits the rest.
    fn end(&mut self, said: &mut Vec<Said>);
    /// Returns the delimiters with which calls begin, if thoughts may contain calls. A reader that returns any emits
    /// [`Said::ThinkingEnd`] at the end of thoughts.
    fn opens_calls(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// Parses a whole text; consecutive texts and thoughts are merged.
pub fn read<'a>(
    dialect: &Dialect,
    setting: &Setting,
    chunks: impl IntoIterator<Item = &'a str>,
) -> Vec<Said> {
    let mut reader = dialect.listen(setting);
    let mut said = Vec::new();
    chunks.into_iter().for_each(|chunk| reader.push(chunk, &mut said));
    reader.end(&mut said);
    said.retain(|said| *said != Said::ThinkingEnd);
    let mut joined: Vec<Said> = Vec::new();
    for next in said.into_iter().map(|said| checked(setting, said)) {
        match (joined.last_mut(), &next) {
            (Some(Said::Text(before)), Said::Text(more))
            | (Some(Said::Thinking(before)), Said::Thinking(more)) => before.push_str(more),
            _ => joined.push(next),
        }
    }
    joined
}

/// With `only_known`, a call of an unknown tool is invalid.
fn checked(setting: &Setting, said: Said) -> Said {
    match said {
        Said::Call(call) if setting.only_known && setting.tool(&call.name).is_none() => {
            let text = format!("there is no tool `{}`, called with {}", call.name, call.arguments);
            Said::Problem(Problem { kind: ProblemKind::UnknownTool, text })
        }
        said => said,
    }
}
