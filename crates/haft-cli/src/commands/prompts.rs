//! [`prompts`] (`haft commands`): lists prompts that are kept in files.
use super::table::List;
use crate::{CliContext, args::Commands, assemble, failure::Failure, mcp::notes, slash};
use haft_terminal::Exit;
use serde_json::json;

/// `haft commands …`
pub(crate) fn prompts(context: &CliContext, command: &Commands) -> Result<Exit, Failure> {
    let Commands::List { json } = command;
    let workspace = assemble::workspace(None)?;
    let mut list = List::new(["COMMAND", "DESCRIPTION"], *json);
    for template in slash::known(&context.places, &workspace, &*notes(false)) {
        let (name, slash::Header { description, agent, model }) = (&template.name, &template.header);
        list.row([&format!("/{name}"), description], || {
            json!({"name": name, "description": description, "agent": agent, "model": model, "file": template.file})
        });
    }
    Ok(list.print("There is no saved prompt yet: a file `.haft/commands/NAME.md` makes one.")?)
}
