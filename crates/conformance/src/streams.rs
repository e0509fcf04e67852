//! The suite `streams`: recorded replies put together again.
use crate::{Answer, Case, Chunks};
use haft_providers::{Wire, conformance::assemble};
use std::fs;

pub(crate) fn answer(case: &Case, chunks: Chunks) -> Answer {
    let wire = match case.text("protocol") {
        "openai_chat" => Wire::OpenaiChat,
        "anthropic" => Wire::Anthropic,
        other => return Answer::Skipped(format!("the wire `{other}` is not spoken here")),
    };
    match fs::read(case.folder.join(case.text("file"))) {
        Ok(bytes) => Answer::Result(assemble(wire, chunks.of(&bytes))),
        Err(error) => Answer::Skipped(format!("cannot read `{}`: {error}", case.text("file"))),
    }
}
