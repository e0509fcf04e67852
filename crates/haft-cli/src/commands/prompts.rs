//! [`prompts`] (`haft commands`): lists the prompts that are saved in files.
use super::skills::source;
use crate::{CliContext, args::Commands};
use haft_app::{Failure, session, slash};
use haft_terminal::Exit;
use haft_terminal::table::List;
use serde_json::json;

/// `haft commands …`
pub(crate) fn prompts(cli: &CliContext, command: &Commands) -> Result<Exit, Failure> {
    let Commands::List { json } = command;
    let workspace = session::workspace(None)?;
    let mut list = List::new(["COMMAND", "SOURCE", "DESCRIPTION"], *json);
    for template in cli.prompts(&workspace) {
        let (name, slash::Header { description, agent, model }) = (&template.name, &template.header);
        list.row([&format!("/{name}"), &source(cli, &workspace, &template.file), description], || {
            json!({
                "name": name, "source": template.file, "description": description, "agent": agent, "model": model,
                "file": template.file, "shadows": template.shadows, "notes": template.notes,
            })
        });
    }
    Ok(list.print("There are no saved prompts yet: create one as `.haft/commands/NAME.md`.")?)
}
