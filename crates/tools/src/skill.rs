//! [`ReadSkill`] (`skill`): returns the text of a skill, and the names of the files beside it.
use haft_core::{
    Aliases, Effect, Skill, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput, schema::nearest,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::{Path, PathBuf};

pub(crate) struct ReadSkill(pub(crate) Vec<Skill>);

/// Maximum files of a skill that are listed.
const MAX_FILES: usize = 200;

/// Maximum depth of files below a skill.
const MAX_DEPTH: usize = 6;

/// Get the instructions of a skill.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    name: String,
}

impl Tool for ReadSkill {
    const NAME: &'static str = "skill";
    const ALIASES: Aliases = Aliases {
        names: &["Skill", "use_skill", "load_skill", "read_skill"],
        parameters: &[("name", &["skill", "skill_name", "command"])],
    };
    type Args = Args;

    fn effects(&self, args: &Args, _: &Path) -> Vec<Effect> {
        self.find(&args.name).map(|skill| Effect::Read(skill.folder.clone())).into_iter().collect()
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let skill = self.find(&args.name).ok_or_else(|| self.unknown(&args.name))?;
        let folder = skill.folder.clone();
        let files = crate::files::blocking(move || Ok(files_in(&folder))).await?;
        let shown = format!("Read the skill `{}`", skill.name);
        let details = json!({"name": skill.name, "folder": skill.folder, "files": files});
        let text = format!("{}{}", skill.text, beside(skill, &files, &ctx.live));
        Ok(ToolOutput::text(text).show(shown).details(details))
    }
}

impl ReadSkill {
    fn find(&self, name: &str) -> Option<&Skill> {
        self.0.iter().find(|skill| skill.name.eq_ignore_ascii_case(name.trim()))
    }

    fn unknown(&self, name: &str) -> ToolError {
        let names: Vec<&str> = self.0.iter().map(|skill| skill.name.as_str()).collect();
        let near = nearest(name, &names).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        let hint = format!("{near}there are {}", names.join(", "));
        ToolError::new(ToolErrorKind::User, format!("there is no skill `{}`", name.escape_debug())).hint(hint)
    }
}

/// The path to call `read` with.
fn beside(skill: &Skill, files: &[PathBuf], workspace: &Path) -> String {
    if files.is_empty() {
        return String::new();
    }
    let folder = skill.folder.strip_prefix(workspace).unwrap_or(&skill.folder);
    let names = files.iter().map(|file| format!("\n- {}", folder.join(file).display()));
    format!("\n\nFiles of this skill:{}", names.collect::<String>())
}

/// The regular files of `folder` except `SKILL.md`, by name, relative to it. Follows no link.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let walk = ignore::WalkBuilder::new(folder)
        .standard_filters(false)
        .max_depth(Some(MAX_DEPTH))
        .sort_by_file_name(Ord::cmp)
        .build();
    let files = walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let files = files.filter_map(|entry| entry.path().strip_prefix(folder).ok().map(Path::to_owned));
    files.filter(|file| file != Path::new("SKILL.md")).take(MAX_FILES).collect()
}
