//! `haft commands`: prompts that are kept in files.
use crate::{CliContext, args::Commands, assemble, failure::Failure, mcp::notes, slash};
use haft::{present::safe, terminal::Exit};
use serde_json::json;
use std::io::{Write, stdout};

/// `haft commands …`
pub(crate) fn prompts(context: &CliContext, command: &Commands) -> Result<Exit, Failure> {
    let Commands::List { json } = command;
    let workspace = assemble::workspace(None)?;
    for template in slash::known(&context.places, &workspace, &*notes(false)) {
        let (name, slash::Header { description, agent, model }) = (&template.name, &template.header);
        let object = json!({
            "name": name, "description": description, "agent": agent, "model": model, "file": template.file,
        });
        match json {
            true => writeln!(stdout(), "{object}")?,
            false => writeln!(stdout(), "/{name:<12} {}", safe::text(description))?,
        }
    }
    Ok(Exit::Success)
}
