//! [`FoundAgent`]: an agent that can be used: built in, of the user, of the project, or of another system.
mod other;

use crate::{
    App, Failure,
    config::Places,
    source_dir::{self, SourceDir},
    system::{Kind, System},
    untrusted_file::{self, Warn},
};
use haft_engine::Agent;
use std::path::{Path, PathBuf};

/// The default agent.
pub const AGENT: &str = "haft";

/// An agent, and its source.
pub struct FoundAgent {
    /// The agent.
    pub agent: Agent,
    /// Its file; `None` if it is built in.
    pub file: Option<PathBuf>,
    /// Files of agents with the same name, which are not used.
    pub shadows: Vec<PathBuf>,
    /// Notes on parts of its file that have no effect.
    pub notes: Vec<String>,
    system: System,
}

impl App {
    /// All agents by name. A file of the user replaces a built-in agent of the same name. A file of the project does
    /// not: it comes with the repository and is not trusted. Neither does a file of another system, such as one in
    /// `.claude/agents`.
    ///
    /// # Errors
    ///
    /// If a file of the user's own cannot be read as an agent, or has a name that is taken.
    pub fn agents(&self, workspace: &Path) -> Result<Vec<FoundAgent>, Failure> {
        known(&self.places, workspace, &*self.warn)
    }
}

fn known(places: &Places, workspace: &Path, warn: Warn<'_>) -> Result<Vec<FoundAgent>, Failure> {
    let mut all: Vec<FoundAgent> = Vec::new();
    let dirs = source_dir::all(places, workspace, Kind::Agents);
    let (first, others): (Vec<_>, Vec<_>) =
        dirs.into_iter().partition(|dir| dir.is_own() && dir.is_of_haft());
    first.iter().try_for_each(|dir| add_from(&mut all, dir, warn))?;
    for agent in Agent::built_in() {
        if !all.iter().any(|known| known.agent.name == agent.name) {
            all.push(FoundAgent {
                agent,
                file: None,
                shadows: Vec::new(),
                notes: Vec::new(),
                system: System::Haft,
            });
        }
    }
    others.iter().try_for_each(|dir| add_from(&mut all, dir, warn))?;
    all.sort_by(|a, b| a.agent.name.cmp(&b.agent.name));
    Ok(all)
}

/// Adds the agents of a folder. A file of the user's own that cannot be used is an error; one that came with the
/// repository is skipped with a warning.
fn add_from(all: &mut Vec<FoundAgent>, dir: &SourceDir, warn: Warn<'_>) -> Result<(), Failure> {
    for (name, file) in dir.files("md") {
        if !dir.is_of_haft() {
            other::read(dir, &name, file, warn).into_iter().for_each(|found| add_other(all, found));
            continue;
        }
        let Err(why) = read_file(&file, dir).and_then(|found| add(all, found)) else { continue };
        let file = file.display();
        if dir.is_own() {
            return Err(Failure::usage(format!("cannot use the agent in `{file}`: {why}"))
                .hint("`haft agents show builder` prints one to start from"));
        }
        warn(format!("the agent in `{file}` was ignored: {why}"));
    }
    Ok(())
}

/// The names of the agents in these folders of another system.
pub(crate) fn names_in(dirs: Vec<SourceDir>, warn: Warn<'_>) -> Vec<String> {
    let files =
        dirs.iter().flat_map(|dir| dir.files("md").into_iter().map(move |(name, file)| (dir, name, file)));
    files.filter_map(|(dir, name, file)| Some(other::read(dir, &name, file, warn)?.agent.name)).collect()
}

/// Names of the default agent.
const RESERVED: [&str; 2] = ["agent", AGENT];

fn add(all: &mut Vec<FoundAgent>, found: FoundAgent) -> Result<(), String> {
    let name = &found.agent.name;
    if RESERVED.contains(&name.as_str()) {
        return Err(format!("the name `{name}` is taken"));
    }
    match all.iter().find(|other| other.agent.name == *name) {
        Some(other) if other.system == System::Haft => {
            let place = other.file.as_ref().map_or("built in".to_owned(), |file| file.display().to_string());
            Err(format!("an agent named `{name}` already exists: {place}"))
        }
        Some(_) | None => {
            add_other(all, found);
            Ok(())
        }
    }
}

/// Adds an agent of another system; the first one with a name is used.
fn add_other(all: &mut Vec<FoundAgent>, found: FoundAgent) {
    match all.iter_mut().find(|known| known.agent.name == found.agent.name) {
        Some(known) => known.shadows.extend(found.file),
        None => all.push(found),
    }
}

fn read_file(file: &Path, dir: &SourceDir) -> Result<FoundAgent, String> {
    let text = untrusted_file::read(file, dir.within.as_deref()).map_err(|error| error.to_string())?;
    let agent = Agent::parse(&text).map_err(|error| error.to_string())?;
    if let Some(model) = agent.model.as_ref().filter(|_| !dir.is_own()) {
        return Err(format!("a project may not select the model `{model}`"));
    }
    let (shadows, notes) = Default::default();
    Ok(FoundAgent { agent, file: Some(file.to_owned()), shadows, notes, system: System::Haft })
}
