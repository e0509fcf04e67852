//! [`Chooser`]: chooses the next token among those that the grammar allows: the likeliest one, or one at random.
//!
//! llama.cpp is built here without its `common` part (41 % of its C++), so an exception in the grammar would end the
//! process. It is thrown when a token is accepted that the grammar refuses. So no token is accepted here unless the
//! grammar allows it.
use haft_core::Request;
use llama_cpp_2::{
    model::LlamaModel,
    sampling::LlamaSampler,
    token::{LlamaToken, data::LlamaTokenData, data_array::LlamaTokenDataArray},
};

/// Chooses tokens by a request's sampling settings, and by a grammar if there is one.
pub(crate) struct Chooser {
    /// The sampler; `None` chooses the likeliest token.
    draw: Option<LlamaSampler>,
    grammar: Option<LlamaSampler>,
}

/// Sampling settings; those of a request (`temperature`, `top_p`, `top_k`, `min_p`, `seed`) have priority.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sampling {
    temperature: f32,
    top_k: i32,
    top_p: f32,
    min_p: f32,
    seed: u32,
}

impl Sampling {
    pub(crate) fn of(request: &Request, temperature: f32, seed: u32) -> Self {
        let number = |name: &str| request.options.get(name).and_then(serde_json::Value::as_f64);
        Self {
            temperature: number("temperature").map_or(temperature, |value| value as f32),
            top_k: number("top_k").map_or(40, |value| value as i32),
            top_p: number("top_p").map_or(0.95, |value| value as f32),
            min_p: number("min_p").map_or(0.05, |value| value as f32),
            seed: number("seed").map_or(seed, |value| value as u32),
        }
    }
}

impl Chooser {
    pub(crate) fn new(sampling: Sampling) -> Self {
        let draw = (sampling.temperature > 0.0).then(|| {
            LlamaSampler::chain_simple([
                LlamaSampler::top_k(sampling.top_k),
                LlamaSampler::top_p(sampling.top_p, 1),
                LlamaSampler::min_p(sampling.min_p, 1),
                LlamaSampler::temp(sampling.temperature),
                LlamaSampler::dist(sampling.seed),
            ])
        });
        Self { draw, grammar: None }
    }

    /// From now on, chooses only tokens that this GBNF grammar allows after `written`, which was already written.
    /// Returns false, and stays unconstrained, if the grammar is invalid or does not allow `written`.
    pub(crate) fn bind(&mut self, model: &LlamaModel, grammar: &str, written: &[LlamaToken]) -> bool {
        self.grammar = LlamaSampler::grammar(model, grammar, "root").ok();
        for token in written {
            if !self.allows(*token) {
                self.grammar = None;
                break;
            }
            self.accept(*token);
        }
        self.grammar.is_some()
    }

    /// Whether there is a grammar, and it is complete. `end`: the token that ends a reply.
    pub(crate) fn is_at_end(&mut self, end: LlamaToken) -> bool {
        self.grammar.is_some() && self.allows(end)
    }

    /// Removes the grammar.
    pub(crate) fn free(&mut self) {
        self.grammar = None;
    }

    /// Chooses the next token by the likelihood of each token.
    pub(crate) fn choose(&mut self, logits: &[f32]) -> LlamaToken {
        let mut token = self.pick(logits, false);
        if self.grammar.is_some() && !self.allows(token) {
            token = self.pick(logits, true);
        }
        self.accept(token);
        token
    }

    fn pick(&mut self, logits: &[f32], masked: bool) -> LlamaToken {
        if !masked && self.draw.is_none() {
            return likeliest(logits);
        }
        let mut candidates = candidates(logits);
        if let Some(grammar) = self.grammar.as_mut().filter(|_| masked) {
            candidates.apply_sampler(grammar);
        }
        if let Some(draw) = &mut self.draw {
            candidates.apply_sampler(draw);
            return candidates.selected_token().unwrap_or_else(|| likeliest(logits));
        }
        let best = candidates.data.iter().max_by(|left, right| left.logit().total_cmp(&right.logit()));
        best.map_or_else(|| likeliest(logits), LlamaTokenData::id)
    }

    /// Whether the grammar allows one token. This is far cheaper than masking the whole vocabulary (6.6 ms against 40
    /// ms with 262,144 tokens), and nearly always enough.
    fn allows(&mut self, token: LlamaToken) -> bool {
        let Some(grammar) = &mut self.grammar else { return true };
        let mut one = LlamaTokenDataArray::new(vec![LlamaTokenData::new(token, 1.0, 0.0)], false);
        one.apply_sampler(grammar);
        one.data.first().is_some_and(|candidate| candidate.logit() > f32::NEG_INFINITY)
    }

    fn accept(&mut self, token: LlamaToken) {
        if let Some(draw) = &mut self.draw {
            draw.accept(token);
        }
        // Even after masking, a token may be refused: if the grammar allows no token at all.
        if self.allows(token) {
            if let Some(grammar) = &mut self.grammar {
                grammar.accept(token);
            }
        } else {
            self.grammar = None;
        }
    }
}

fn candidates(logits: &[f32]) -> LlamaTokenDataArray {
    let tokens = (0..).zip(logits).map(|(id, logit)| LlamaTokenData::new(LlamaToken::new(id), *logit, 0.0));
    LlamaTokenDataArray::from_iter(tokens, false)
}

fn likeliest(logits: &[f32]) -> LlamaToken {
    let mut best = 0;
    for (place, logit) in logits.iter().enumerate() {
        if *logit > logits[best] {
            best = place;
        }
    }
    LlamaToken::new(best as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_overrules_the_settings() {
        let mut request = Request::default();
        let own = Sampling::of(&request, 0.0, 7);
        assert_eq!(own, Sampling { temperature: 0.0, top_k: 40, top_p: 0.95, min_p: 0.05, seed: 7 });
        request.options = json!({"temperature": 0.5, "top_k": 3, "seed": 9}).as_object().unwrap().clone();
        assert_eq!(Sampling::of(&request, 0.0, 7), Sampling { temperature: 0.5, top_k: 3, seed: 9, ..own });
    }

    #[test]
    fn the_likeliest_is_taken_without_a_grammar() {
        let mut chooser = Chooser::new(Sampling::of(&Request::default(), 0.0, 0));
        assert_eq!(chooser.choose(&[0.5, 2.0, -1.0]), LlamaToken::new(1));
    }
}
