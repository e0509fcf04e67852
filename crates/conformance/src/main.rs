//! `haft-conformance SUITE --cases FILE_OR_FOLDER`: one answer for each case, as JSON Lines.
use clap::Parser;
use haft_conformance::{Chunks, Suite, read_cases};
use std::{
    io::{self, Write},
    path::PathBuf,
};

/// Answer the cases of a suite, one JSON line for each.
#[derive(Parser)]
#[command(version)]
struct Flags {
    /// What the cases are about.
    suite: Suite,
    /// A file of JSON Lines, or a folder of such files.
    #[arg(long, value_name = "FILE_OR_FOLDER")]
    cases: PathBuf,
    /// How what streams is cut: `whole`, `given`, `chars` or a number of bytes.
    #[arg(long, default_value = "whole")]
    chunks: Chunks,
}

fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    let mut out = io::BufWriter::new(io::stdout().lock());
    for case in read_cases(&flags.cases)? {
        let answer = flags.suite.answer(&case, flags.chunks);
        writeln!(out, "{}", answer.line(case.id()))?;
    }
    Ok(out.flush()?)
}
