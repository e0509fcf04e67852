//! [`FoundAgent`]: an agent that can be used: built in, or the user's or the project's.
use crate::{Failure, config::Places, untrusted_file};
use haft_engine::Agent;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The agent that people get who ask for none.
pub const AGENT: &str = "haft";

/// An agent, and where it was read.
pub struct FoundAgent {
    /// Ready to be opened.
    pub agent: Agent,
    /// `None`: built in.
    pub file: Option<PathBuf>,
}

/// All agents by name. A person's file takes the place of a built-in agent, a project's only stands beside them: it
/// comes with the repository, and is not trusted.
pub fn known(places: &Places, workspace: &Path) -> Result<Vec<FoundAgent>, Failure> {
    let mut all: Vec<FoundAgent> = Vec::new();
    for known in read_folder(&places.user_file.with_file_name("agents"), None)? {
        add(&mut all, known)?;
    }
    for agent in Agent::built_in() {
        if !all.iter().any(|known| known.agent.name == agent.name) {
            all.push(FoundAgent { agent, file: None });
        }
    }
    for known in read_folder(&workspace.join(".haft/agents"), Some(workspace))? {
        if let Some(model) = &known.agent.model {
            return Err(bad(&known, format!("a project may not select the model `{model}`")));
        }
        add(&mut all, known)?;
    }
    all.sort_by(|a, b| a.agent.name.cmp(&b.agent.name));
    Ok(all)
}

/// The one that people get who ask for none has these names.
const RESERVED: [&str; 2] = ["agent", AGENT];

fn add(all: &mut Vec<FoundAgent>, known: FoundAgent) -> Result<(), Failure> {
    if RESERVED.contains(&known.agent.name.as_str()) {
        return Err(bad(&known, format!("the name `{}` is taken", known.agent.name)));
    }
    match all.iter().find(|other| other.agent.name == known.agent.name) {
        Some(other) => {
            let place = other.file.as_ref().map_or("built in".to_owned(), |file| file.display().to_string());
            Err(bad(&known, format!("an agent named `{}` already exists: {place}", known.agent.name)))
        }
        None => {
            all.push(known);
            Ok(())
        }
    }
}

fn bad(known: &FoundAgent, why: String) -> Failure {
    let file = known.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
    Failure::usage(format!("cannot use the agent in `{file}`: {why}"))
}

/// The Markdown files of a folder, by name; empty if the folder does not exist.
fn read_folder(folder: &Path, within: Option<&Path>) -> Result<Vec<FoundAgent>, Failure> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    files.sort();
    files.into_iter().map(|file| read_file(file, within)).collect()
}

fn read_file(file: PathBuf, within: Option<&Path>) -> Result<FoundAgent, Failure> {
    let failed = |why: String| {
        Failure::usage(format!("cannot read the agent in `{}`: {why}", file.display()))
            .hint("`haft agents show builder` prints one to start from")
    };
    let text = untrusted_file::read(&file, within).map_err(|error| failed(error.to_string()))?;
    let agent = Agent::parse(&text).map_err(|error| failed(error.to_string()))?;
    Ok(FoundAgent { agent, file: Some(file) })
}
