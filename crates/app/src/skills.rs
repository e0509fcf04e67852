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
        known(&self.places, workspace, &*self.warn)
    }
}

/// All skills by name, and the folders of those outside of `workspace` that may be read without an approval.
pub(crate) fn read(places: &Places, workspace: &Path, warn: Warn<'_>) -> (Vec<Skill>, Vec<PathBuf>) {
    let known = known(places, workspace, warn);
    let readable = known.iter().filter(|found| found.is_readable).map(|found| found.skill.folder.clone());
    let readable = readable.collect();
    (known.into_iter().map(|found| found.skill).collect(), readable)
}

fn known(places: &Places, workspace: &Path, warn: Warn<'_>) -> Vec<FoundSkill> {
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
    let (Header { name, description }, text, notes) =
        header.map_err(|bad| left_out(bad.to_string())).ok()??;
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "-_".contains(c)) {
        left_out("its `name` may contain only letters, digits, `-` and `_`".into());
        return None;
    }
    let folder = folder.canonicalize().ok()?;
    let skill = Skill { name: dir.named(name), description, text: dir.filled(text.trim()), folder };
    let is_readable = dir.is_own() || dir.plugin.is_some();
    Some(FoundSkill { skill, file, shadows: Vec::new(), notes, is_readable })
}

type Read<'a> = Result<Option<(Header, &'a str, Vec<String>)>, BadHeader>;

fn own_header(text: &str) -> Read<'_> {
    let (header, text) = with_header(text)?;
    Ok(Some((header, text, Vec::new())))
}

/// The header of a skill of another system. Without a name in the header, the name of the folder is used. `None` if the
/// skill is not for models.
fn other_header<'a>(text: &'a str, folder: &Path) -> Read<'a> {
    let (mut fields, below) = Fields::of(text)?;
    let named = || folder.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let name = fields.text("name").unwrap_or_else(named);
    let first_line = || below.trim().lines().next().unwrap_or_default().to_owned();
    let description = fields.text("description").unwrap_or_else(first_line);
    let is_for_people = fields.text("disable-model-invocation").is_some_and(|value| value == "true");
    Ok((!is_for_people).then(|| (Header { name, description }, below, fields.notes())))
}
