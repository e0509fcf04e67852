//! Dialects: calls and thoughts that a model writes as plain text, where its server has no words for them.
//!
//! A [`Dialect`] is data: a name, the models that speak it, and how to read it. A [`Reader`] is fed text as it comes and
//! says what it is: prose goes out as soon as it cannot be the beginning of a call. However the text is cut, the
//! same is said; and each byte is looked at a bounded number of times.
//!
//! Most dialects are *marked* ([`marked`]): signs begin and end thoughts and calls, and what lies between is read by one of
//! a few functions. To add one: a file here with a `static` of type [`Dialect`], and a line in [`DIALECTS`].

#[cfg(test)]
mod cuts;
mod fences;
mod gemma;
mod harmony;
mod hermes;
mod inkling;
mod json;
mod listed;
mod marked;
mod muse;
pub mod pythonic;
mod shell;
mod signs;
mod thoughts;
mod tokens;
mod tool_use;
mod typing;

use haft_core::ToolSpec;
use std::sync::Arc;

/// One way to write calls and thoughts as text.
pub struct Dialect {
    /// What `--dialect` takes.
    pub name: &'static str,
    /// Parts of the names of models that speak it, in lower case; for `auto`, see [`spoken_by`].
    pub models: &'static [&'static str],
    /// A reader for one reply.
    pub reader: fn(&Setting) -> Box<dyn Reader>,
}

/// All of them.
pub static DIALECTS: &[&Dialect] = &[
    &hermes::HERMES,
    &gemma::GEMMA4,
    &gemma::FUNCTIONGEMMA,
    &harmony::HARMONY,
    &inkling::INKLING,
    &listed::LFM2,
    &listed::LLAMA4_PYTHONIC,
    &listed::OLMO3,
    &listed::PYTHONIC,
    &muse::MUSE_GLIMMER,
    &muse::MUSE,
    &shell::FENCED_SHELL,
    &thoughts::THOUGHTS_JSON,
    &thoughts::ALFRED,
    &tool_use::TOOL_USE_XML,
];

/// The dialect that a model of this name speaks: the one that knows the longest part of it.
pub fn spoken_by(model: &str) -> Option<&'static Dialect> {
    let model = model.to_lowercase();
    let known = |dialect: &Dialect| {
        let parts = dialect.models.iter().filter(|part| model.contains(**part));
        parts.map(|part| part.len()).max()
    };
    // Of two that know as much the first counts.
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

/// What is known before a reply begins.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What may be called. The schemas say of which type a value is where the text does not.
    pub tools: Arc<[ToolSpec]>,
    /// The end of the prompt that the model continues: it may have opened the thoughts already. Empty: unknown.
    pub prompt_end: String,
    /// Whether the reply begins within the thoughts. `None`: `prompt_end` tells.
    pub begins_thinking: Option<bool>,
    /// Whether thoughts are told apart from the text; if not, their signs stay in it.
    pub split_thinking: bool,
    /// Whether calls are looked for; if not, they stay in the text.
    pub find_calls: bool,
    /// Which of several versions of the dialect is spoken; empty: any.
    pub variant: String,
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
        }
    }
}

impl Setting {
    /// The tool of this name.
    pub(crate) fn tool(&self, name: &str) -> Option<&ToolSpec> {
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
    /// A call.
    Call(Call),
    /// Something that was meant as a call, and why it is none. Its text was said as [`Said::Text`]: nothing is dropped.
    Problem(String),
}

/// A call that was read from text.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// As the model wrote it; empty where it gave none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// JSON text of an object; of a reply that was cut off perhaps only its beginning.
    pub arguments: String,
}

impl Call {
    pub(crate) fn new(name: impl Into<String>, arguments: impl ToString) -> Self {
        Self { id: String::new(), name: name.into(), arguments: arguments.to_string() }
    }
}

/// Reads one reply.
pub trait Reader: Send {
    /// Takes in more of the reply and says what is certain.
    fn push(&mut self, text: &str, said: &mut Vec<Said>);
    /// The reply is over: says the rest.
    fn end(&mut self, said: &mut Vec<Said>);
}

/// What a whole text says, with neighbouring texts and thoughts put together.
pub fn read<'a>(
    dialect: &Dialect,
    setting: &Setting,
    chunks: impl IntoIterator<Item = &'a str>,
) -> Vec<Said> {
    let mut reader = (dialect.reader)(setting);
    let mut said = Vec::new();
    chunks.into_iter().for_each(|chunk| reader.push(chunk, &mut said));
    reader.end(&mut said);
    said.into_iter().fold(Vec::new(), joined)
}

fn joined(mut said: Vec<Said>, next: Said) -> Vec<Said> {
    match (said.last_mut(), &next) {
        (Some(Said::Text(before)), Said::Text(more))
        | (Some(Said::Thinking(before)), Said::Thinking(more)) => {
            before.push_str(more);
        }
        _ => said.push(next),
    }
    said
}
