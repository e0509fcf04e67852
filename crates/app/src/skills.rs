//! [`FoundSkill`]: a skill, a folder with a file `SKILL.md`, of the user, of the project, or of another system.
use crate::{
    App,
    config::Places,
    header::Fields,
    source_dir::{self, SourceDir},
    system::Kind,
    untrusted_file::{self, Warn},
};
use haft_core::Skill;
use haft_engine::{BadHeader, with_header};
use serde::Deserialize;
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

/// A skill, and its source.
pub struct FoundSkill {
    /// The skill as models see it.
    pub skill: Skill,
    /// Its `SKILL.md`.
    pub file: PathBuf,
    /// Files of skills with the same name, which are not used.
    pub shadows: Vec<PathBuf>,
    /// Notes on parts of its header that have no effect.
    pub notes: Vec<String>,
    /// Whether agents are offered it.
    is_for_models: bool,
    /// Whether it is a command of the user.
    pub(crate) is_for_people: bool,
    /// Whether its folder may be read without an approval, even outside of the workspace.
    is_readable: bool,
}

/// The required fields in the header of a skill for Haft. Other fields are for other systems, and are ignored.
#[derive(Deserialize)]
struct Header {
    name: String,
    description: String,
}

impl App {
    /// The skills that agents are offered in the folder `workspace`, by name.
    #[must_use]
    pub fn skills(&self, workspace: &Path) -> Vec<FoundSkill> {
        let known = known(&self.places, workspace, &*self.warn);
        known.into_iter().filter(|found| found.is_for_models).collect()
    }
}

/// All skills by name, and the folders of those outside of `workspace` that may be read without an approval.
pub(crate) fn read(places: &Places, workspace: &Path, warn: Warn<'_>) -> (Vec<Skill>, Vec<PathBuf>) {
    let known = known(places, workspace, warn);
    let readable = known.iter().filter(|found| found.is_readable).map(|found| found.skill.folder.clone());
    let readable = readable.collect();
    (known.into_iter().filter(|found| found.is_for_models).map(|found| found.skill).collect(), readable)
}

/// All skills by name, also those that are only for models, or only for the user.
pub(crate) fn known(places: &Places, workspace: &Path, warn: Warn<'_>) -> Vec<FoundSkill> {
    in_dirs(source_dir::all(places, workspace, Kind::Skills), warn)
}

/// The skills of these folders by name; the first one with a name is used.
pub(crate) fn in_dirs(dirs: Vec<SourceDir>, warn: Warn<'_>) -> Vec<FoundSkill> {
    let mut skills: Vec<FoundSkill> = Vec::new();
    let mut folders = HashSet::new();
    for dir in dirs {
        for folder in dir.entries() {
            let Some(found) = skill(&dir, &folder, warn) else { continue };
            // Several systems may share a folder by links.
            if !folders.insert(found.skill.folder.clone()) {
                continue;
            }
            match skills.iter_mut().find(|known| known.skill.name == found.skill.name) {
                Some(known) => {
                    if dir.is_of_haft() {
                        let folder = folder.display();
                        warn(format!("the skill in `{folder}` was ignored: another one has the same name"));
                    }
                    known.shadows.push(found.file);
                }
                None => skills.push(found),
            }
        }
    }
    skills.sort_by(|a, b| a.skill.name.cmp(&b.skill.name));
    skills
}

fn skill(dir: &SourceDir, folder: &Path, warn: Warn<'_>) -> Option<FoundSkill> {
    let file = folder.join("SKILL.md");
    let text = untrusted_file::text(&file, dir.within.as_deref(), warn)?;
    let left_out = |why: String| warn(format!("the skill in `{}` was ignored: {why}", folder.display()));
    let header = if dir.is_of_haft() { own_header(&text) } else { other_header(&text, folder) };
    let Read { header: Header { name, description }, text, notes, is_for_models, is_for_people } =
        header.map_err(|bad| left_out(bad.to_string())).ok()?;
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "-_".contains(c)) {
        left_out("its `name` may contain only letters, digits, `-` and `_`".into());
        return None;
    }
    let folder = folder.canonicalize().ok()?;
    let skill = Skill { name: dir.named(name), description, text: dir.filled(text.trim()), folder };
    let is_readable = dir.is_own() || dir.plugin.is_some();
    Some(FoundSkill { skill, file, shadows: Vec::new(), notes, is_for_models, is_for_people, is_readable })
}

/// What a `SKILL.md` says.
struct Read<'a> {
    header: Header,
    text: &'a str,
    notes: Vec<String>,
    is_for_models: bool,
    is_for_people: bool,
}

fn own_header(text: &str) -> Result<Read<'_>, BadHeader> {
    let (header, text) = with_header(text)?;
    Ok(Read { header, text, notes: Vec::new(), is_for_models: true, is_for_people: true })
}

/// The header of a skill of another system. Without a name in the header, the name of the folder is used.
fn other_header<'a>(text: &'a str, folder: &Path) -> Result<Read<'a>, BadHeader> {
    let (mut fields, below) = Fields::of(text)?;
    let named = || folder.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let name = fields.text("name").unwrap_or_else(named);
    let first_line = || below.trim().lines().next().unwrap_or_default().to_owned();
    let description = fields.text("description").unwrap_or_else(first_line);
    let is_for_models = fields.text("disable-model-invocation").is_none_or(|value| value != "true");
    let is_for_people = fields.text("user-invocable").is_none_or(|value| value != "false");
    let header = Header { name, description };
    Ok(Read { header, text: below, notes: fields.notes(), is_for_models, is_for_people })
}
