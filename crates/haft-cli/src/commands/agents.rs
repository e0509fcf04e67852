//! [`agents`] (`haft agents`): lists the available agents.
use super::skills::source;
use crate::{CliContext, args::Agents};
use haft_app::{Failure, agents, session, untrusted_file};
use haft_engine::Agent;
use haft_present::safe;
use haft_terminal::Exit;
use haft_terminal::table::List;
use serde_json::json;
use std::io::{Write, stdout};

/// `haft agents …`
pub(crate) fn agents(cli: &CliContext, command: Agents) -> Result<Exit, Failure> {
    let workspace = session::workspace(None)?;
    let known = cli.agents(&workspace);
    match command {
        Agents::List { json } => {
            let mut list = List::new(["AGENT", "SOURCE", "DESCRIPTION"], json);
            for agents::FoundAgent { agent, file, shadows, notes, .. } in known? {
                let Agent { name, description, .. } = &agent;
                let built_in = || "built in".to_owned();
                let source = file.as_ref().map_or_else(built_in, |file| source(cli, &workspace, file));
                list.row([name, &source, description], || {
                    let source = file.as_ref().map_or_else(built_in, |file| file.display().to_string());
                    json!({
                        "name": name, "source": source, "description": description, "file": file,
                        "shadows": shadows, "notes": notes,
                    })
                });
            }
            return Ok(list.print("There are no agents.")?);
        }
        Agents::Show { name } => {
            let built_in = Agent::source(&name);
            let text = match known {
                Ok(known) => {
                    let found = known.iter().find(|known| known.agent.name == name);
                    match &found.ok_or_else(|| no_agent(&name, &known))?.file {
                        Some(file) => untrusted_file::read(file, None)?,
                        None => built_in.unwrap_or_default().to_owned(),
                    }
                }
                // In `haft agents show builder > FILE`, the shell creates the file first, and an empty file is not a
                // valid agent.
                Err(failure) => built_in.ok_or(failure)?.to_owned(),
            };
            write!(stdout(), "{}", safe::text(&text))?;
        }
    }
    Ok(Exit::Success)
}

fn no_agent(name: &str, known: &[agents::FoundAgent]) -> Failure {
    let names: Vec<&str> = known.iter().map(|known| known.agent.name.as_str()).collect();
    Failure::usage(format!("there is no agent `{name}`")).hint(format!("there are {}", names.join(", ")))
}
