//! [`Dialect`]: calls and thoughts that a model writes as plain text, where its server has no words for them.
//!
//! A [`Dialect`] is data: a name, the models that speak it, and how to read it. A [`Reader`] is fed text as it comes
//! and says what it is: prose goes out as soon as it cannot be the beginning of a call. The items are the same however
//! the text is cut into pieces, and each byte is read a bounded number of times.
//!
//! Most dialects are a row: a [`Dialect`] with its name, the models that speak it, the grammar by which the engine in
//! `blocks` reads it, and how it writes a call; what is in a block is JSON, tags (`tagged_calls`), or read by a small
//! function in the file of the family. A few are machines of their own on `tokens`. To add one: a row in the `DIALECTS`
//! of its family, below `families`.
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

/// A way to write calls and thoughts as text.
pub struct Dialect {
    /// What `--dialect` takes.
    pub name: &'static str,
    /// Parts of the names of models that speak it, in lower case; for `auto`, see [`spoken_by`].
    pub models: &'static [&'static str],
    /// Delimiters that tell it in a chat template or in a reply: in each of these lists, all that must be there.
    pub signs: &'static [&'static [&'static str]],
    reading: Reading,
    /// How it writes a call.
    pub writing: Writing,
    /// Whether the beginning of a call may also begin other text, so that a model cannot be constrained to it.
    pub is_ambiguous: bool,
    /// How it writes results.
    pub results: Results,
    /// Examples of calls of these tools, if their schemas do not tell how they are written.
    pub examples: Option<Examples>,
}

/// Writes examples of calls, given the names of the tools; of those tools of which it knows some.
pub type Examples = fn(&[&str]) -> Option<String>;

/// How the replies of a dialect are read.
#[derive(Clone, Copy)]
enum Reading {
    /// The engine reads it by this grammar.
    Grammar(&'static Grammar),
    /// It has a reader of its own.
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

/// How the results of tools are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Results {
    /// Each behind the name of its tool.
    Named,
    /// Each between `<tool_response>` and `</tool_response>`.
    Tagged,
    /// Numbered, in one list.
    Numbered,
}

impl Dialect {
    /// Read by a grammar.
    const fn new(
        name: &'static str,
        models: &'static [&'static str],
        grammar: &'static Grammar,
        writing: Writing,
    ) -> Self {
        Self::read_by(Reading::Grammar(grammar), name, models, writing)
    }

    /// Returns a dialect with a reader of its own: `name` is what `--dialect` takes, `models` are parts of the names of
    /// models that speak it, in lower case. Calls are written as `writing` says. The fields and the methods below say
    /// the rest.
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

    /// Returns the dialect with delimiters that tell it in a chat template or in a reply: in each of these lists, all
    /// that must be there.
    pub const fn signs(self, signs: &'static [&'static [&'static str]]) -> Self {
        Self { signs, ..self }
    }

    /// Returns the dialect marked as one to which a model cannot be constrained, since the beginning of a call may also
    /// begin other text.
    pub const fn ambiguous(self) -> Self {
        Self { is_ambiguous: true, ..self }
    }

    /// Returns the dialect with this way to write results.
    pub const fn results(self, results: Results) -> Self {
        Self { results, ..self }
    }

    /// Whether a call is JSON without any delimiter, which may be anywhere in prose.
    pub fn writes_bare_json(&self) -> bool {
        matches!(self.writing, Writing::Json(JsonCall { around: ["", ""], .. }))
    }

    /// Returns the call as a model that speaks this dialect writes it; as Hermes does where it has no way of its own.
    pub fn written(&self, call: &Call) -> String {
        self.writing.written(call)
    }

    /// Returns a reader for one reply that does what holds for every dialect, too: it finds calls in thoughts that were never
    /// closed, for instance.
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

/// The dialect that a model of this name speaks: the one that knows the longest part of it.
pub fn spoken_by(model: &str) -> Option<&'static Dialect> {
    let model = model.to_lowercase();
    let known = |dialect: &Dialect| {
        let parts = dialect.models.iter().filter(|part| model.contains(**part));
        parts.map(|part| part.len()).max()
    };
    // Of two with equally long matches the first one wins.
    DIALECTS
        .iter()
        .copied()
        .filter(|dialect| known(dialect).is_some())
        .rev()
        .max_by_key(|dialect| known(dialect))
}

/// The dialect of this name.
pub fn dialect(name: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.name == name)
}

/// Whether a tool can be called this. A lenient reader takes whatever is between delimiters for a name.
pub(crate) fn is_name(text: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || "_-.:/".contains(letter);
    !text.is_empty() && text.len() <= LONGEST_NAME && text.chars().all(is_part)
}

/// Names of a parameter that holds the others, where a tool has none of that name.
pub(crate) const WRAPPERS: [&str; 6] = ["arguments", "parameters", "params", "args", "kwargs", "input"];

/// Vendors take 64 letters; those of servers may have more.
const LONGEST_NAME: usize = 256;

/// A tool that may be called.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSchema {
    /// What the model calls.
    pub name: String,
    /// What the model is told about it; empty if nothing.
    pub description: String,
    /// JSON Schema of an object.
    pub parameters: Value,
}

impl ToolSchema {
    /// Returns a tool without a description.
    pub fn new(name: impl Into<String>, parameters: Value) -> Self {
        Self { name: name.into(), description: String::new(), parameters }
    }
}

/// What is known before a reply begins.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What may be called. The schemas say of which type a value is where the text does not.
    pub tools: Arc<[ToolSchema]>,
    /// The end of the prompt that the model continues: it may have opened the thoughts already. Empty: unknown.
    pub prompt_end: String,
    /// Whether the reply begins within the thoughts. `None`: `prompt_end` tells.
    pub begins_thinking: Option<bool>,
    /// Whether thoughts are told apart from the text; if not, their delimiters stay in it.
    pub split_thinking: bool,
    /// Whether calls are looked for; if not, they stay in the text.
    pub find_calls: bool,
    /// Which of several versions of the dialect is spoken; empty: any.
    pub variant: String,
    /// Whether a call of a tool that is not among `tools` is a [`Said::Problem`]. Otherwise it is a call like any
    /// other: the code that runs it knows further names of its tools, or tells the model that there is no such tool.
    pub only_known: bool,
    /// Whether a call of which the reply has only the beginning is passed on; otherwise it is a [`Said::Problem`]. A
    /// caller that takes beginnings must know that the reply was cut off.
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
    /// Returns the tool of this name.
    pub fn tool(&self, name: &str) -> Option<&ToolSchema> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// What a part of a text is.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// Prose for the person.
    Text(String),
    /// Thoughts.
    Thinking(String),
    /// Thoughts are closed. A reader says so where it names what opens calls; [`read`] leaves it out.
    ThinkingEnd,
    /// A call.
    Call(Call),
    /// Text that was meant as a call, and why it is invalid. Its text was reported as [`Said::Text`], or is a field of
    /// this if the dialect has no text in that place: nothing is dropped.
    Problem(Problem),
}

/// Text that was meant as a call and is invalid.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// What kind of problem it is.
    pub kind: ProblemKind,
    /// Why it is invalid, for the model.
    pub text: String,
}

/// What kind of problem there is with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The call cannot be read, or is at a place where calls are not allowed.
    Malformed,
    /// The reply ended too early; of its call the beginning may be said before.
    CutOff,
    /// There is no tool of this name.
    UnknownTool,
}

impl Problem {
    /// The reply ended before this: the end of a call, for instance.
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

/// A call that was read from text.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// ID that the model wrote; empty if it wrote none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// JSON text of an object; of a reply that was cut off perhaps only its beginning.
    pub arguments: String,
}

impl Call {
    /// Returns a call without an id. Arguments are a value, or JSON text.
    pub fn new(name: impl Into<String>, arguments: impl ToString) -> Self {
        Self { id: String::new(), name: name.into(), arguments: arguments.to_string() }
    }

    /// The arguments as an object. The error says why the call cannot be made.
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

/// Reads one reply.
pub trait Reader: Send {
    /// Takes in more of the reply and says what is certain.
    fn push(&mut self, text: &str, said: &mut Vec<Said>);
    /// The reply is over: says the rest.
    fn end(&mut self, said: &mut Vec<Said>);
    /// Returns what calls begin with, where thoughts may hold some. A reader that returns any says [`Said::ThinkingEnd`] where
    /// thoughts are closed.
    fn opens_calls(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// What a whole text says, with neighboring texts and thoughts put together.
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

/// Where only known tools count, a call of another one is invalid.
fn checked(setting: &Setting, said: Said) -> Said {
    match said {
        Said::Call(call) if setting.only_known && setting.tool(&call.name).is_none() => {
            let text = format!("there is no tool `{}`, called with {}", call.name, call.arguments);
            Said::Problem(Problem { kind: ProblemKind::UnknownTool, text })
        }
        said => said,
    }
}
