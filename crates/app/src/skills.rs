//! [`read`]: reads skills: folders with a file `SKILL.md`, of the user and of the project.
use crate::{
    config::Places,
    source_dir::{self, SourceDir},
    untrusted_file::{self, Warn},
};
use haft_core::Skill;
use haft_engine::with_header;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// What the header of a skill must say. Other fields mean something to other systems.
#[derive(Deserialize)]
struct Header {
    name: String,
    description: String,
}

/// All skills by name, and the folders of those that lie outside `workspace` and may be read all the same. A project's
/// takes no place of a person's.
pub(crate) fn read(places: &Places, workspace: &Path, warn: Warn<'_>) -> (Vec<Skill>, Vec<PathBuf>) {
    let (mut skills, mut readable): (Vec<Skill>, Vec<PathBuf>) = Default::default();
    for dir in source_dir::both(places, workspace, "skills") {
        for folder in dir.entries() {
            let Some(skill) = skill(&dir, &folder, warn) else { continue };
            if skills.iter().any(|known| known.name == skill.name) {
                warn(format!(
                    "the skill in `{}` was ignored: another one has the same name",
                    folder.display()
                ));
                continue;
            }
            readable.extend(dir.is_own().then(|| skill.folder.clone()));
            skills.push(skill);
        }
    }
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    (skills, readable)
}

fn skill(dir: &SourceDir, folder: &Path, warn: Warn<'_>) -> Option<Skill> {
    let text = untrusted_file::text(&folder.join("SKILL.md"), dir.within.as_deref(), warn)?;
    let left_out = |why: String| warn(format!("the skill in `{}` was ignored: {why}", folder.display()));
    let (Header { name, description }, text) =
        with_header(&text).map_err(|bad| left_out(bad.to_string())).ok()?;
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "-_".contains(c)) {
        left_out("its `name` may contain only letters, digits, `-` and `_`".into());
        return None;
    }
    let folder = folder.canonicalize().ok()?;
    Some(Skill { name, description, text: text.trim().to_owned(), folder })
}
