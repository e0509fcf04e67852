//! A model in this process: any GGUF file that llama.cpp can load, as a [`Provider`].
//!
//! A request becomes one text by the model's own chat template. The model continues it token by token, and what it
//! writes comes out as deltas. If it calls a tool, a grammar made from the tool's JSON Schema leaves it no way to write
//! a malformed call. Models below about a billion parameters get *small mode*: worked examples in place of a list of
//! tools.
//!
//! Read in this order: `prompt` (what the model is told), `small` and `tagged` (how its reply is read),
//! `reply` (the loop), `evaluate` (llama.cpp), `worker` (the thread), and
//! [`models`] (how a model file gets to this machine).
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

/// Tokens of context where the settings do not say and the model has as many: enough for a long conversation,
/// and less than 1 GB of memory with most models of 8 billion parameters.
const DEFAULT_CONTEXT: u32 = 8_192;

/// How a model is run. The default suits a shared machine and gives the same answer every time.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Threads that compute. `None`: 1 on one or two cores, otherwise one less than there are.
    pub threads: Option<usize>,
    /// The longest conversation, in tokens, at most what the model was trained for. `None`: 8,192.
    pub context_tokens: Option<u32>,
    /// Whether calls are held to a grammar. Without it, small models write calls that cannot be read.
    pub grammar: bool,
    /// Whether the model is talked to in small mode. `None`: by its size and its chat template.
    pub small: Option<bool>,
    /// Where to keep what the model made of static beginnings, about 25 kB a token. `None`: nowhere.
    pub cache_folder: Option<PathBuf>,
    /// A chat template (Jinja) in place of the model's own.
    pub template: Option<String>,
    /// 0 always takes the likeliest token; requests may ask for another value.
    pub temperature: f32,
    /// For drawing tokens at temperatures above 0.
    pub seed: u32,
    /// Told how much of the file is loaded, from 0 to 1.
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
    /// Checks the file's header and length. The model itself is loaded when the first request comes.
    pub fn open(path: impl AsRef<Path>, settings: Settings) -> Result<Self, LocalError> {
        let path = path.as_ref();
        let header = read_header(path)?;
        let worker = Worker::start(path.into(), header.clone(), settings.clone())?;
        Ok(Self { header, settings, worker: Arc::new(worker) })
    }

    /// What the file says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How many tokens of conversation it takes in.
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

/// One thread on two cores: another busy process would otherwise stall every token at the threads' barriers.
/// That is ggml's own thread pool; it is built without OpenMP, so that `OMP_*` variables mean nothing here.
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
