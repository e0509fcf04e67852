//! [`expand`]: expands prompts that users keep in files: `/NAME ARGUMENTS` becomes the text of `commands/NAME.md`.
use crate::{
    App, Failure,
    config::Places,
    source_dir::{self, SourceDir},
    untrusted_file::{self, Warn},
};
use haft_core::schema::nearest;
use haft_engine::with_header;
use haft_present::host::ExpandedPrompt;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A prompt with places for arguments.
#[derive(Clone, Debug)]
pub struct Template {
    /// Without the `/`.
    pub name: String,
    /// What its header says; nothing where it has none.
    pub header: Header,
    text: String,
    /// Where it was read.
    pub file: PathBuf,
    /// The person vouches for it.
    is_own: bool,
}

/// Other fields mean something to other systems.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Header {
    /// In one line, for lists.
    pub description: String,
    /// Who works.
    pub agent: Option<String>,
    /// `PROVIDER/MODEL`; only in the person's own files.
    pub model: Option<String>,
}

impl App {
    /// The prompts that the user and the project keep in files, by name.
    #[must_use]
    pub fn prompts(&self, workspace: &Path) -> Vec<Template> {
        known(&self.places, workspace, &*self.warn)
    }
}

/// All templates by name. A project's takes no place of a person's.
fn known(places: &Places, workspace: &Path, warn: Warn<'_>) -> Vec<Template> {
    let mut all: Vec<Template> = Vec::new();
    for dir in source_dir::both(places, workspace, "commands") {
        let found = dir.entries().into_iter().filter_map(|file| template(&dir, file, warn));
        for template in found {
            if !all.iter().any(|known| known.name == template.name) {
                all.push(template);
            }
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn template(dir: &SourceDir, file: PathBuf, warn: Warn<'_>) -> Option<Template> {
    let name = file.file_name()?.to_str()?.strip_suffix(".md").filter(|name| is_name(name))?.to_owned();
    let text = untrusted_file::text(&file, dir.within.as_deref(), warn)?;
    let (header, text) = match text.trim_start_matches('\u{feff}').trim_start().starts_with("---\n") {
        false => (Header::default(), text.as_str()),
        true => {
            with_header(&text).map_err(|bad| warn(format!("`{}` was ignored: {bad}", file.display()))).ok()?
        }
    };
    Some(Template { name, header, text: text.trim().to_owned(), is_own: dir.is_own(), file })
}

/// What `prompt` stands for: itself, unless it begins with `/NAME`. A path is not a name. `listed_by`: the command that lists
/// all names.
pub fn expand(known: &[Template], prompt: &str, listed_by: &str) -> Result<ExpandedPrompt, Failure> {
    let as_it_is = || ExpandedPrompt { prompt: prompt.to_owned(), ..ExpandedPrompt::default() };
    let Some(rest) = prompt.trim_start().strip_prefix('/') else { return Ok(as_it_is()) };
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match known.iter().find(|template| template.name == name) {
        Some(template) => template.filled(arguments.trim()),
        None if !is_name(name) || Path::new("/").join(name).exists() => Ok(as_it_is()),
        None => Err(unknown(name, known, listed_by)),
    }
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_".contains(c))
}

fn unknown(name: &str, known: &[Template], listed_by: &str) -> Failure {
    let names: Vec<&str> = known.iter().map(|template| template.name.as_str()).collect();
    let near = nearest(name, &names).map(|near| format!("did you mean `/{near}`? ")).unwrap_or_default();
    Failure::usage(format!("there is no command `/{name}`"))
        .hint(format!("{near}`{listed_by}` lists them; a prompt may begin with a word in front of the `/`"))
}

impl Template {
    fn filled(&self, arguments: &str) -> Result<ExpandedPrompt, Failure> {
        let Header { agent, model, .. } = self.header.clone();
        if let Some(model) = model.as_ref().filter(|_| !self.is_own) {
            let file = self.file.display();
            return Err(Failure::usage(format!(
                "cannot use the command in `{file}`: a project may not select the model `{model}`"
            )));
        }
        Ok(ExpandedPrompt { prompt: fill(&self.text, arguments), agent, model })
    }
}

/// `$ARGUMENTS` is all of them, `$1` the first word. What is filled in is not looked at again. A text without any place
/// for arguments gets them at its end.
fn fill(text: &str, arguments: &str) -> String {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let (mut filled, mut rest, mut has_place) = (String::new(), text, false);
    while let Some((before, after)) = rest.split_once('$') {
        filled += before;
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = after[..digits].parse::<usize>().ok().filter(|number| *number > 0);
        rest = match (after.strip_prefix("ARGUMENTS"), number) {
            (Some(after), _) => {
                filled += arguments;
                has_place = true;
                after
            }
            (None, Some(number)) => {
                filled += words.get(number - 1).copied().unwrap_or_default();
                has_place = true;
                &after[digits..]
            }
            (None, None) => {
                filled.push('$');
                after
            }
        };
    }
    filled += rest;
    match has_place || arguments.is_empty() {
        true => filled,
        false => format!("{filled}\n\n{arguments}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(name: &str, text: &str) -> Template {
        let (header, file) = (Header::default(), PathBuf::from("x.md"));
        Template { name: name.into(), header, text: text.into(), file, is_own: false }
    }

    #[test]
    fn arguments_are_filled_in_once() {
        let table = [
            ("Fix $ARGUMENTS.", "a b", "Fix a b."),
            ("$2 before $1, no $3", "a b", "b before a, no "),
            ("$1", "$2 x", "$2"),
            ("costs 5 $, $0, $HOME, $$1", "a", "costs 5 $, $0, $HOME, $a\u{0}"),
            ("Fix it.", "", "Fix it."),
            ("Fix it.", "now", "Fix it.\n\nnow"),
            ("$11$1", "a b c d e f g h i j k", "ka"),
            ("$99999999999999999999", "a", "$99999999999999999999\n\na"),
        ];
        for (text, arguments, expected) in table {
            assert_eq!(fill(text, arguments), expected.trim_end_matches('\u{0}'), "{text}");
        }
    }

    #[test]
    fn a_prompt_is_a_command_where_it_begins_with_its_name() {
        let known = [template("fix", "Fix $ARGUMENTS."), template("tmp", "Mine.")];
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
        ];
        for (prompt, expected) in table {
            let told = expand(&known, prompt, "/help")
                .map(|expanded| expanded.prompt)
                .map_err(|failure| failure.message);
            assert_eq!(told, expected.map(str::to_owned).map_err(str::to_owned), "{prompt}");
        }
        let hint = expand(&known, "/fxi", "/help").unwrap_err().hint.unwrap_or_default();
        assert!(hint.starts_with("did you mean `/fix`? `/help` lists them"), "{hint}");
    }

    #[test]
    fn a_project_does_not_choose_the_model() {
        let header =
            Header { model: Some("openai/x".into()), agent: Some("reviewer".into()), ..Header::default() };
        let theirs = Template { header, ..template("x", "y") };
        assert!(
            expand(std::slice::from_ref(&theirs), "/x", "/help")
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
        assert_eq!(expand(&[mine], "/x", "/help").unwrap(), expected);
    }
}
