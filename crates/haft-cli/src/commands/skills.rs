//! [`skills`] (`haft skills`): lists the skills that agents are offered.
use crate::{CliContext, args::Skills};
use haft_app::{Failure, session};
use haft_terminal::{
    Exit,
    table::{List, short},
};
use serde_json::json;
use std::path::Path;

/// `haft skills …`
pub(crate) fn skills(cli: &CliContext, command: &Skills) -> Result<Exit, Failure> {
    let Skills::List { json } = command;
    let workspace = session::workspace(None)?;
    let mut list = List::new(["SKILL", "SOURCE", "DESCRIPTION"], *json);
    for found in cli.skills(&workspace) {
        let (name, description) = (&found.skill.name, &found.skill.description);
        list.row([name, &source(cli, &workspace, &found.file), description], || {
            json!({
                "name": name, "source": found.file, "description": description, "shadows": found.shadows,
                "notes": found.notes,
            })
        });
    }
    Ok(list.print("There are no skills yet: create one as `.haft/skills/NAME/SKILL.md`.")?)
}

/// The path of a file for lists: relative to the workspace, or with `~` for the user's home folder.
pub(crate) fn source(cli: &CliContext, workspace: &Path, file: &Path) -> String {
    short(file.strip_prefix(workspace).unwrap_or(file), cli.environment.get("HOME"))
}
