//! An embedded model: a GGUF file in this process, its calls held to a grammar. Needs the feature `local`, and the file.
//!
//! ```sh
//! haft models pull smollm2-135m
//! cargo run -p haft --features local --example local_model -- FILE.gguf
//! ```
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows what happens")]
use haft::{
    local::{LocalModel, Settings},
    prelude::*,
};

/// Reads a file.
#[tool(reads = "path")]
fn read(path: String, context: &ToolContext) -> Result<String, std::io::Error> {
    std::fs::read_to_string(context.path(path))
}

#[tokio::main]
async fn main() -> haft::Result<()> {
    let Some(file) = std::env::args_os().nth(1) else {
        eprintln!("give a GGUF file");
        return Ok(());
    };
    let folder = tempfile::tempdir().expect("there is room for a file");
    std::fs::write(folder.path().join("note.txt"), "The door is blue.\n").expect("there is room for a file");
    let model = LocalModel::open(file, Settings::default()).expect("the file is a model");
    let agent =
        Haft::builder().provider(model).tool(read).workspace(folder.path()).in_memory().build().await?;
    let report = agent.session()?.prompt("Read note.txt.").await?;
    assert!(!report.text.is_empty());
    println!("{}", report.text);
    Ok(())
}
