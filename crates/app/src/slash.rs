//! [`App::expand`]: expands prompts that users keep in files: `/NAME ARGUMENTS` becomes the text of `commands/NAME.md`,
//! or of the skill with that name.
mod fill;

use crate::{
    App, Failure,
    config::Places,
    header::Fields,
    skills::{self, FoundSkill},
    source_dir::{self, SourceDir},
    system::{Kind, System},
    untrusted_file::{self, Warn},
};
use haft_core::schema::nearest;
use haft_engine::with_header;
use haft_present::host::ExpandedPrompt;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A prompt with placeholders for arguments.
#[derive(Clone, Debug)]
pub struct Template {
    /// The name, without the `/`.
    pub name: String,
    /// The fields of its header; defaults if it has none.
    pub header: Header,
    text: String,
    /// The file that it was read from.
    pub file: PathBuf,
    /// Files of commands with the same name, which are not used.
    pub shadows: Vec<PathBuf>,
    /// Notes on parts that work differently in Haft than in the system that the file was written for.
    pub notes: Vec<String>,
    system: System,
    /// Whether it is a skill.
    is_skill: bool,
    /// Whether it is one of the user's own files, which are trusted.
    is_own: bool,
}

/// The header of a template. Unknown fields are ignored: they are for other systems.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Header {
    /// A description in one line, for lists.
    pub description: String,
    /// The agent to use.
    pub agent: Option<String>,
    /// The model, as `PROVIDER/MODEL`; only in the user's own files.
    pub model: Option<String>,
}

impl App {
    /// The prompts that the user and the project keep in files, by name, and those of their skills that are not only
    /// for models.
    #[must_use]
    pub fn prompts(&self, workspace: &Path) -> Vec<Template> {
        let mut all = commands(&self.places, workspace, &*self.warn);
        // A session warns of the skills that cannot be read.
        for found in
            skills::known(&self.places, workspace, &|_| ()).into_iter().filter(|found| found.is_for_people)
        {
            match all.iter_mut().find(|command| command.name == found.skill.name) {
                Some(command) => command.shadows.push(found.file),
                None => all.push(Template::of_skill(found)),
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Expands `prompt` if it begins with `/NAME`; otherwise returns it as it is. A path is not a name. Warns of
    /// features of another system's file that Haft does not support. `listed_by`: the command that lists all names.
    ///
    /// # Errors
    ///
    /// If there is no such command, or a project's own file chooses a model.
    pub fn expand(&self, workspace: &Path, prompt: &str, listed_by: &str) -> Result<ExpandedPrompt, Failure> {
        let known = match prompt.trim_start().starts_with('/') {
            true => self.prompts(workspace),
            false => commands(&self.places, workspace, &*self.warn),
        };
        expand(&known, prompt, listed_by, &*self.warn)
    }
}

fn expand(
    known: &[Template],
    prompt: &str,
    listed_by: &str,
    warn: Warn<'_>,
) -> Result<ExpandedPrompt, Failure> {
    let Some((template, arguments)) = named(known, prompt, listed_by)? else {
        return Ok(ExpandedPrompt { prompt: prompt.to_owned(), ..ExpandedPrompt::default() });
    };
    template.notes.iter().for_each(|note| warn(format!("`/{}`: {note}", template.name)));
    template.filled(arguments)
}

/// All commands by name. A command of the user has priority over one of the project.
fn commands(places: &Places, workspace: &Path, warn: Warn<'_>) -> Vec<Template> {
    in_dirs(source_dir::all(places, workspace, Kind::Commands), warn)
}

/// The templates of these folders by name; the first one with a name is used.
pub(crate) fn in_dirs(dirs: Vec<SourceDir>, warn: Warn<'_>) -> Vec<Template> {
    let mut all: Vec<Template> = Vec::new();
    for dir in dirs {
        let files = dir.files(dir.system.ending_of_commands()).into_iter();
        for found in files.filter_map(|(name, file)| template(&dir, name, file, warn)) {
            match all.iter_mut().find(|known| known.name == found.name) {
                Some(known) => known.shadows.push(found.file),
                None => all.push(found),
            }
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn template(dir: &SourceDir, name: String, file: PathBuf, warn: Warn<'_>) -> Option<Template> {
    if !is_name(&name) {
        warn(format!("`{}` was ignored: a command cannot be called `/{name}`", file.display()));
        return None;
    }
    let text = untrusted_file::text(&file, dir.within.as_deref(), warn)?;
    let read = match dir.system {
        System::Haft => own(&text),
        System::Gemini => gemini(&text),
        System::Agents | System::Claude | System::Codex | System::OpenCode => other(&text),
    };
    let (header, text, notes) =
        read.map_err(|why| warn(format!("`{}` was ignored: {why}", file.display()))).ok()?;
    if text.trim().is_empty() {
        warn(format!("`{}` was ignored: it has no text", file.display()));
        return None;
    }
    let (shadows, system, is_own) = (Vec::new(), dir.system, dir.is_own());
    let (name, text) = (dir.named(name), dir.filled(text.trim()));
    Some(Template { name, header, text, file, shadows, notes, system, is_skill: false, is_own })
}

type Read = Result<(Header, String, Vec<String>), String>;

fn own(text: &str) -> Read {
    let first = text.trim_start_matches('\u{feff}').trim_start().lines().next().unwrap_or_default();
    if first.trim_end() != "---" {
        return Ok((Header::default(), text.to_owned(), Vec::new()));
    }
    let (header, text) = with_header(text).map_err(|bad| bad.to_string())?;
    Ok((header, text.to_owned(), Vec::new()))
}

/// Reads a Markdown file of another system. Its choice of an agent or a model is ignored: most of its sessions already
/// have both.
fn other(text: &str) -> Read {
    let (mut fields, text) = Fields::of(text).map_err(|bad| bad.to_string())?;
    let description = fields.text("description").unwrap_or_default();
    for name in ["agent", "model"] {
        if let Some(value) = fields.text(name) {
            fields.note(format!("`{name}: {value}` is ignored: `--{name}` chooses it"));
        }
    }
    Ok((Header { description, ..Header::default() }, text.to_owned(), fields.notes()))
}

/// A command of Gemini CLI.
#[derive(Deserialize)]
struct GeminiFile {
    #[serde(default)]
    description: String,
    prompt: String,
}

fn gemini(text: &str) -> Read {
    let GeminiFile { description, prompt } =
        toml::from_str(text).map_err(|error| error.message().to_owned())?;
    Ok((Header { description, ..Header::default() }, prompt, Vec::new()))
}

/// The template whose name `prompt` begins with, and the arguments.
fn named<'a, 'b>(
    known: &'a [Template],
    prompt: &'b str,
    listed_by: &str,
) -> Result<Option<(&'a Template, &'b str)>, Failure> {
    let Some(rest) = prompt.trim_start().strip_prefix('/') else { return Ok(None) };
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match known.iter().find(|template| template.name == name) {
        Some(template) => Ok(Some((template, arguments.trim()))),
        None if !is_name(name) || Path::new("/").join(name).exists() => Ok(None),
        None if names_a_server(name, known) => Ok(None),
        None => Err(unknown(name, known, listed_by)),
    }
}

/// Whether it may be `SERVER:PROMPT` of an MCP server, because no command is named `SERVER:…`.
fn names_a_server(name: &str, known: &[Template]) -> bool {
    let Some((space, _)) = name.split_once(':') else { return false };
    let is_of = |template: &Template| template.name.split_once(':').is_some_and(|(other, _)| other == space);
    !known.iter().any(is_of)
}

fn is_name(word: &str) -> bool {
    word.split(':')
        .all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "-_".contains(c)))
}

fn unknown(name: &str, known: &[Template], listed_by: &str) -> Failure {
    let names: Vec<&str> = known.iter().map(|template| template.name.as_str()).collect();
    let near = nearest(name, &names).map(|near| format!("did you mean `/{near}`? ")).unwrap_or_default();
    Failure::usage(format!("there is no command `/{name}`"))
        .hint(format!("{near}`{listed_by}` lists them; a prompt may begin with a word in front of the `/`"))
}

impl Template {
    fn of_skill(found: FoundSkill) -> Self {
        let FoundSkill { skill, file, shadows, notes, .. } = found;
        let (name, folder) = (skill.name, skill.folder.display());
        let text = format!("Follow the skill `{name}`. Its files are in `{folder}`.\n\n{}", skill.text);
        let header = Header { description: skill.description, ..Header::default() };
        let (system, is_skill, is_own) = (System::Haft, true, false);
        Self { name, header, text, file, shadows, notes, system, is_skill, is_own }
    }

    fn filled(&self, arguments: &str) -> Result<ExpandedPrompt, Failure> {
        let Header { agent, model, .. } = self.header.clone();
        if let Some(model) = model.as_ref().filter(|_| !self.is_own) {
            let file = self.file.display();
            return Err(Failure::usage(format!(
                "cannot use the command in `{file}`: a project may not select the model `{model}`"
            )));
        }
        let prompt = match self.is_skill {
            true => fill::fill_skill(&self.text, arguments),
            false => fill::fill(&self.text, arguments, self.system),
        };
        Ok(ExpandedPrompt { prompt, agent, model })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(name: &str, text: &str) -> Template {
        let (header, file) = (Header::default(), PathBuf::from("x.md"));
        let (shadows, notes, system) = (Vec::new(), Vec::new(), System::Haft);
        let (name, text, is_skill, is_own) = (name.into(), text.into(), false, false);
        Template { name, header, text, file, shadows, notes, system, is_skill, is_own }
    }

    #[test]
    fn a_prompt_is_a_command_where_it_begins_with_its_name() {
        let known =
            [template("fix", "Fix $ARGUMENTS."), template("tmp", "Mine."), template("guard:tidy", "Tidy.")];
        let table = [
            ("/fix the test", Ok("Fix the test.")),
            ("  /fix\nall\n", Ok("Fix all.")),
            ("/tmp", Ok("Mine.")),
            ("fix /etc/hosts", Ok("fix /etc/hosts")),
            ("/etc/hosts is wrong", Ok("/etc/hosts is wrong")),
            ("/etc is full", Ok("/etc is full")),
            ("/ is full", Ok("/ is full")),
            ("// a comment", Ok("// a comment")),
            ("/fxi x", Err("there is no command `/fxi`")),
            ("/guard:tidy", Ok("Tidy.")),
            ("/guard:tdiy", Err("there is no command `/guard:tdiy`")),
            ("/server:prompt x", Ok("/server:prompt x")),
        ];
        for (prompt, expected) in table {
            let told = expand(&known, prompt, "/help", &|_| ())
                .map(|expanded| expanded.prompt)
                .map_err(|failure| failure.message);
            assert_eq!(told, expected.map(str::to_owned).map_err(str::to_owned), "{prompt}");
        }
        let hint = expand(&known, "/fxi", "/help", &|_| ()).unwrap_err().hint.unwrap_or_default();
        assert!(hint.starts_with("did you mean `/fix`? `/help` lists them"), "{hint}");
    }

    #[test]
    fn a_project_does_not_choose_the_model() {
        let header =
            Header { model: Some("openai/x".into()), agent: Some("reviewer".into()), ..Header::default() };
        let theirs = Template { header, ..template("x", "y") };
        assert!(
            expand(std::slice::from_ref(&theirs), "/x", "/help", &|_| ())
                .unwrap_err()
                .message
                .ends_with("may not select the model `openai/x`")
        );
        let mine = Template { is_own: true, ..theirs };
        let expected = ExpandedPrompt {
            prompt: "y".into(),
            agent: Some("reviewer".into()),
            model: Some("openai/x".into()),
        };
        assert_eq!(expand(&[mine], "/x", "/help", &|_| ()).unwrap(), expected);
    }
}
