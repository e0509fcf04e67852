//! [`Skill`]: instructions for a kind of task, which an agent reads when it has such a task.
use std::path::PathBuf;

/// The content of a folder with a file `SKILL.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skill {
    /// The name by which the model loads it.
    pub name: String,
    /// The tasks that it is for, in a line or two.
    pub description: String,
    /// The instructions: the text below the header.
    pub text: String,
    /// The folder that holds it, with links followed. Other files in it may belong to it.
    pub folder: PathBuf,
}
