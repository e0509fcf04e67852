//! The suite `streams`: assembles recorded replies.
use crate::{Answer, Case, Chunks};
use haft_providers::{WIRES, conformance::assemble};
use std::fs;

pub(crate) fn answer(case: &Case, chunks: Chunks) -> Answer {
    let protocol = case.text("protocol");
    let Some(wire) = WIRES.iter().find(|wire| wire.name() == protocol) else {
        return Answer::Skipped(format!("the wire `{protocol}` is not spoken here"));
    };
    match fs::read(case.folder.join(case.text("file"))) {
        Ok(bytes) => Answer::Result(assemble(*wire, chunks.of(&bytes))),
        Err(error) => Answer::Skipped(format!("cannot read `{}`: {error}", case.text("file"))),
    }
}
