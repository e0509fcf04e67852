//! [`prompts`] (`haft commands`): lists prompts that are kept in files.
use crate::{CliContext, args::Commands};
use haft_app::{Failure, session, slash};
use haft_terminal::Exit;
use haft_terminal::table::List;
use serde_json::json;

/// `haft commands …`
pub(crate) fn prompts(cli: &CliContext, command: &Commands) -> Result<Exit, Failure> {
    let Commands::List { json } = command;
    let workspace = session::workspace(None)?;
    let mut list = List::new(["COMMAND", "DESCRIPTION"], *json);
    for template in cli.prompts(&workspace) {
        let (name, slash::Header { description, agent, model }) = (&template.name, &template.header);
        list.row([&format!("/{name}"), description], || {
            json!({"name": name, "description": description, "agent": agent, "model": model, "file": template.file})
        });
    }
    Ok(list.print("There are no saved prompts yet: create one as `.haft/commands/NAME.md`.")?)
}
