//! What each dialect reads, and what holds for every one.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cohere;
mod deepseek_r1;
mod dsml;
mod gemma;
mod granite;
mod harmony;
mod inkling;
mod invokes;
mod keyed;
mod kimi_k2;
mod kinds;
mod kit;
mod listed;
mod llama;
mod minimax_m3;
mod mistral;
mod muse;
mod plamo3;
mod pythonic;
mod readers;
mod shell;
mod tagged;
mod tags;
mod texts;
mod thoughts;
mod tool_use;
mod values;
