//! Skills: folders with a file `SKILL.md`, of the person and of the project.
use crate::{
    config::Places,
    written::{self, Aside, Shelf},
};
use haft::{engine::with_header, kernel::Skill};
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
pub(crate) fn read(places: &Places, workspace: &Path, aside: Aside<'_>) -> (Vec<Skill>, Vec<PathBuf>) {
    let (mut skills, mut readable): (Vec<Skill>, Vec<PathBuf>) = Default::default();
    for shelf in written::shelves(places, workspace, "skills") {
        for folder in shelf.entries() {
            let Some(skill) = skill(&shelf, &folder, aside) else { continue };
            if skills.iter().any(|known| known.name == skill.name) {
                aside(format!(
                    "the skill in `{}` was left out: there is another one of its name",
                    folder.display()
                ));
                continue;
            }
            readable.extend(shelf.is_own().then(|| skill.folder.clone()));
            skills.push(skill);
        }
    }
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    (skills, readable)
}

fn skill(shelf: &Shelf, folder: &Path, aside: Aside<'_>) -> Option<Skill> {
    let text = written::text(&folder.join("SKILL.md"), shelf.within.as_deref(), aside)?;
    let left_out = |why: String| aside(format!("the skill in `{}` was left out: {why}", folder.display()));
    let (Header { name, description }, text) =
        with_header(&text).map_err(|bad| left_out(bad.to_string())).ok()?;
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "-_".contains(c)) {
        left_out("its `name` has other characters than letters, digits, `-` and `_`".into());
        return None;
    }
    let folder = folder.canonicalize().ok()?;
    Some(Skill { name, description, text: text.trim().to_owned(), folder })
}
