//! [`LocalModel`]: a model in this process, from any GGUF file that llama.cpp can load, as a [`Provider`].
//!
//! The model's own chat template turns a request into one text. The model continues it token by token, and its output
//! is returned as deltas. If it calls a tool, a grammar made from the tool's JSON Schema prevents malformed calls.
//! Models below about a billion parameters get *small mode*: worked examples in place of a list of tools.
//!
//! Suggested reading order: `prompt` (the input of the model), `small` and `tagged` (how its reply is parsed), `reply`
//! (the loop), `evaluate` (llama.cpp), `worker` (the thread), and [`models`] (how model files get to this machine).
mod catalog;
mod choose;
mod error;
mod evaluate;
mod gguf;
mod guard;
mod listen;
pub mod models;
mod plain;
mod prompt;
mod pull;
mod reply;
mod small;
mod state;
mod tagged;
mod template;
mod worker;

pub use error::LocalError;
pub use gguf::{Header, read_header};
pub use pull::PullError;

use futures::{StreamExt, channel::mpsc, stream::BoxStream};
use haft_core::{Delta, Provider, ProviderError, Request};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};
use worker::Worker;

/// Default size of the context in tokens, if the model supports that many: enough for a long conversation, and less
/// than 1 GB of memory with most models of 8 billion parameters.
const DEFAULT_CONTEXT: u32 = 8_192;

/// How a model is run. The default suits a shared machine, and always gives the same reply to a request.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of threads. `None`: 1 on one or two cores, otherwise one less than the number of cores.
    pub threads: Option<usize>,
    /// Maximum number of tokens in a conversation, limited to what the model was trained for. `None`: 8,192.
    pub context_tokens: Option<u32>,
    /// Whether calls are constrained by a grammar. Without it, small models write calls that cannot be parsed.
    pub grammar: bool,
    /// Whether small mode is used. `None`: depends on the model's size and its chat template.
    pub small: Option<bool>,
    /// The folder for the saved states of static beginnings, about 25 kB per token. `None`: they are not saved.
    pub cache_folder: Option<PathBuf>,
    /// A chat template (Jinja) in place of the model's own.
    pub template: Option<String>,
    /// 0 always chooses the likeliest token; requests may set another value.
    pub temperature: f32,
    /// The seed for choosing tokens at temperatures above 0.
    pub seed: u32,
    /// Receives the share of the file that is loaded, from 0 to 1.
    pub loading: Option<fn(f32)>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            threads: None,
            context_tokens: None,
            grammar: true,
            small: None,
            cache_folder: None,
            template: None,
            temperature: 0.0,
            seed: 0,
            loading: None,
        }
    }
}

/// A GGUF file as a provider. Replies are made one after the other.
///
/// Dropping a reply's stream cancels it within one token, or within 128 while the prompt is being read.
pub struct LocalModel {
    header: Header,
    settings: Settings,
    worker: Arc<Worker>,
}

impl LocalModel {
    /// Checks the file's header and length. The model itself is loaded at the first request.
    pub fn open(path: impl AsRef<Path>, settings: Settings) -> Result<Self, LocalError> {
        let path = path.as_ref();
        let header = read_header(path)?;
        let worker = Worker::start(path.into(), header.clone(), settings.clone())?;
        Ok(Self { header, settings, worker: Arc::new(worker) })
    }

    /// The header of the file.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Maximum number of tokens in a conversation.
    pub fn window(&self) -> u64 {
        let wanted = u64::from(self.settings.context_tokens.unwrap_or(DEFAULT_CONTEXT));
        wanted.min(self.header.context_tokens.unwrap_or(u64::MAX)).max(1)
    }

    /// Whether the model gets worked examples in place of a list of tools (*small mode*).
    pub fn is_small(&self) -> bool {
        worker::is_small(&self.header, &self.settings)
    }
}

impl Provider for LocalModel {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let (outlet, replies) = mpsc::unbounded();
        self.worker.ask(request, outlet);
        // The worker must outlive its streams: see its `Drop`.
        let worker = Arc::clone(&self.worker);
        replies.inspect(move |_| _ = &worker).boxed()
    }
}

/// One thread on two cores: otherwise, another busy process would delay every token at the barriers of the threads.
/// These are ggml's own threads; it is built without OpenMP, so `OMP_*` variables have no effect.
fn default_threads() -> usize {
    match thread::available_parallelism().map_or(1, usize::from) {
        0..=2 => 1,
        cores => cores - 1,
    }
}

/// `read`, `write`, `edit` and `bash` with their worked examples, for tests.
#[cfg(test)]
fn four_tools() -> Vec<haft_core::ToolSpec> {
    let four = ["read", "write", "edit", "bash"].map(str::to_owned);
    haft_tools::builtin(&haft_tools::Settings::default()).only(&four).specs().to_vec()
}
