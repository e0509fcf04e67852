//! [`Evaluator`]: runs the model. Takes tokens, returns likelihoods, and keeps the tokens that were read for the next
//! round.
use crate::{Settings, state};
use llama_cpp_2::{
    context::{LlamaContext, params::LlamaContextParams},
    llama_backend::LlamaBackend,
    llama_batch::LlamaBatch,
    model::LlamaModel,
    token::LlamaToken,
};
use std::{num::NonZeroU32, path::PathBuf};

/// Number of tokens evaluated at once. Between two batches, it is checked whether the reply is still wanted.
const BATCH: usize = 128;
/// Minimum number of tokens of a static beginning that is saved: a shorter one is evaluated so fast that a file is not
/// worthwhile.
const MIN_SAVED_TOKENS: usize = 64;
/// The number of the context's only conversation.
const SEQUENCE: i32 = 0;

/// Why an evaluation ended without a result.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Number of tokens in the prompt, and the maximum in the context.
    TooLong { needed: usize, room: usize },
    /// The stream of the reply was dropped.
    Cancelled,
    /// The error of llama.cpp.
    Engine(String),
}

/// Number of tokens of a prompt that were evaluated, that were still in the context, and that were saved to a file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Taken {
    pub(crate) fresh: usize,
    pub(crate) reused: usize,
    pub(crate) saved: usize,
}

/// A context, and the tokens that it contains.
pub(crate) struct Evaluator<'model> {
    context: LlamaContext<'model>,
    held: Vec<LlamaToken>,
    room: usize,
    /// The folder for the states of static beginnings, and the fingerprint of this model.
    cache: Option<(PathBuf, String)>,
}

impl<'model> Evaluator<'model> {
    /// `fingerprint` identifies the model.
    pub(crate) fn new(
        backend: &LlamaBackend,
        model: &'model LlamaModel,
        settings: &Settings,
        fingerprint: String,
    ) -> Result<Self, String> {
        let trained = model.n_ctx_train();
        let room = settings.context_tokens.unwrap_or(crate::DEFAULT_CONTEXT).min(trained).max(1);
        let threads = settings.threads.unwrap_or_else(crate::default_threads) as i32;
        let parameters = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(room))
            .with_n_batch(BATCH as u32)
            .with_n_ubatch(BATCH as u32)
            .with_n_threads(threads)
            .with_n_threads_batch(threads)
            // Without this, the cache of models with a sliding window (Gemma) cannot be cut back to a common beginning.
            .with_swa_full(true);
        let context = model.new_context(backend, parameters).map_err(|error| error.to_string())?;
        let room = context.n_ctx() as usize;
        let cache = settings.cache_folder.clone().map(|folder| (folder, format!("{fingerprint}-{room}")));
        Ok(Self { context, held: Vec::new(), room, cache })
    }

    /// Evaluates `prompt`, except the beginning that was already evaluated. `fixed`: number of first tokens with which
    /// other conversations begin, too. `wanted` is called between batches: whether to continue.
    pub(crate) fn read(
        &mut self,
        prompt: &[LlamaToken],
        fixed: usize,
        wanted: &dyn Fn() -> bool,
    ) -> Result<Taken, Fault> {
        if prompt.len() >= self.room {
            return Err(Fault::TooLong { needed: prompt.len(), room: self.room });
        }
        let file = self.state_file(prompt, fixed);
        let mut reused = self.keep_common(prompt);
        if let Some(file) = &file
            && reused < fixed
        {
            reused = self.load(file, &prompt[..fixed], reused);
        }
        let mut saved = 0;
        if let Some(file) = &file
            && reused < fixed
        {
            self.evaluate(&prompt[reused..fixed], wanted)?;
            saved = usize::from(state::save(&self.context, SEQUENCE, file, &prompt[..fixed])) * fixed;
        }
        let at = self.held.len();
        self.evaluate(&prompt[at..], wanted)?;
        Ok(Taken { fresh: prompt.len() - reused, reused, saved })
    }

    /// Evaluates one token that the model wrote; returns false if the context is full.
    pub(crate) fn push(&mut self, token: LlamaToken) -> Result<bool, Fault> {
        if self.held.len() + 1 >= self.room {
            return Ok(false);
        }
        self.evaluate(&[token], &|| true)?;
        Ok(true)
    }

    /// The likelihood of each token of the vocabulary to come next, as logits.
    pub(crate) fn logits(&self) -> &[f32] {
        self.context.get_logits_ith(-1)
    }

    fn state_file(&self, prompt: &[LlamaToken], fixed: usize) -> Option<PathBuf> {
        let (folder, fingerprint) = self.cache.as_ref()?;
        (fixed >= MIN_SAVED_TOKENS).then(|| folder.join(state::name(fingerprint, &prompt[..fixed])))
    }

    /// Removes all tokens after the longest common beginning. The last token is always evaluated again, for its
    /// likelihoods.
    fn keep_common(&mut self, prompt: &[LlamaToken]) -> usize {
        let common = self.held.iter().zip(prompt).take_while(|(held, wanted)| held == wanted).count();
        let keep = common.min(prompt.len().saturating_sub(1));
        if keep == self.held.len() {
            return keep;
        }
        // Models with a running state instead of a cache (Mamba) cannot go back, so they begin again.
        let cut = self.context.kv_cache_seq_rm(SEQUENCE, Some(keep as u32), None).is_ok();
        if !cut {
            self.clear();
            return 0;
        }
        self.held.truncate(keep);
        keep
    }

    fn load(&mut self, file: &std::path::Path, fixed: &[LlamaToken], reused: usize) -> usize {
        if !state::is_sound(file) {
            return reused;
        }
        self.clear();
        if state::load(&mut self.context, SEQUENCE, file, fixed) {
            self.held = fixed.to_vec();
        } else {
            self.clear();
        }
        self.held.len()
    }

    fn clear(&mut self) {
        self.context.clear_kv_cache();
        self.held.clear();
    }

    fn evaluate(&mut self, tokens: &[LlamaToken], wanted: &dyn Fn() -> bool) -> Result<(), Fault> {
        for part in tokens.chunks(BATCH) {
            if !wanted() {
                return Err(Fault::Cancelled);
            }
            let mut batch = LlamaBatch::new(part.len(), 1);
            for (offset, token) in part.iter().enumerate() {
                let place = (self.held.len() + offset) as i32;
                let is_last = offset + 1 == part.len();
                batch
                    .add(*token, place, &[SEQUENCE], is_last)
                    .map_err(|error| Fault::Engine(error.to_string()))?;
            }
            if let Err(error) = self.context.decode(&mut batch) {
                self.clear();
                return Err(Fault::Engine(error.to_string()));
            }
            self.held.extend_from_slice(part);
        }
        Ok(())
    }
}
