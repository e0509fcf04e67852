//! [`EditFile`] (`edit`): replaces one text in a file and keeps every other byte.
use crate::{
    EditSettings, Occurrence,
    aliases::{Alias, FILE},
    examples::examples_for,
    files::{Place, blocking, changes},
    report::counted,
};
use haft_core::{Aliases, Effect, Example, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use replace::{Edited, Missed, Replacement};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub(crate) mod alike;
pub(crate) mod ends;
pub(crate) mod fold;
pub(crate) mod near;
pub(crate) mod replace;

pub(crate) struct EditFile(pub(crate) EditSettings);

/// Replace text in a file. `old_text` must match exactly, blanks and line breaks included.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The file, relative to the workspace or absolute.
    path: PathBuf,
    /// The text to replace, without line numbers. Take in enough lines to make it unique.
    old_text: String,
    /// The text to put in its place.
    new_text: String,
    /// Which to replace if there are several: unique (none), first or all.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("enum" = ["unique", "first", "all"]))]
    occurrence: Option<Occurrence>,
    #[schemars(extend("x-hidden" = true))]
    replace_all: Option<bool>,
    /// gemini-cli's models state their intent; Haft does not use it.
    #[expect(dead_code, reason = "understood, and of no use")]
    #[schemars(extend("x-hidden" = true))]
    instruction: Option<String>,
}

/// What Claude Code, opencode, gemini-cli, pi and others call the parameters of an edit.
pub(crate) const PARAMETERS: &[Alias] = &[
    FILE,
    ("old_text", &["old_string", "oldString", "old_str", "oldText", "old", "search"]),
    ("new_text", &["new_string", "newString", "new_str", "newText", "new", "replace", "replacement"]),
    ("replace_all", &["replaceAll", "allow_multiple"]),
];

impl Tool for EditFile {
    const NAME: &'static str = "edit";
    const ALIASES: Aliases =
        Aliases { names: &["replace", "str_replace", "edit_file", "search_replace"], parameters: PARAMETERS };
    type Args = Args;
    const QUOTES_FILES: bool = true;

    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        changes(workspace, &args.path)
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let place = Place::new(ctx, &args.path);
        let wanted = Wanted {
            old: args.old_text,
            new: args.new_text,
            occurrence: which(args.occurrence, args.replace_all, &self.0),
            exact: self.0.exact,
        };
        blocking(move || edit(&place, &wanted)).await
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

/// Maximum size in bytes: a larger file is better left to a command.
pub(crate) const MAX_FILE: u64 = 64 * 1024 * 1024;

/// A replacement that a call asks for.
pub(crate) struct Wanted {
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) occurrence: Occurrence,
    pub(crate) exact: bool,
}

/// What the call says, otherwise what the profile says.
pub(crate) fn which(said: Option<Occurrence>, all: Option<bool>, settings: &EditSettings) -> Occurrence {
    let all = all.filter(|all| *all).map(|_| Occurrence::All);
    said.or(all).unwrap_or(settings.occurrence)
}

fn edit(place: &Place, wanted: &Wanted) -> Result<ToolOutput, ToolError> {
    let content = place.content_if_any("edit", MAX_FILE)?;
    let edited = replaced(place, content.as_deref(), wanted)
        .map_err(|failed| failed.told(&format!("cannot edit `{}`", place.name.display()), &place.name))?;
    place.write(&edited.content)?;
    let grown = edited.content.len() as i64 - content.map_or(0, |content| content.len()) as i64;
    let details = json!({
        "path": place.name, "edited": true, "bytes_changed": grown, "replaced": edited.lines.len(),
    });
    Ok(ToolOutput::text(said(place, &edited)).show(shown(&edited)).fields(details))
}

/// A file with one text replaced. Replacing nothing in a file that is missing or empty writes the content.
pub(crate) fn replaced(place: &Place, content: Option<&[u8]>, wanted: &Wanted) -> Result<Edited, NotEdited> {
    if wanted.old.is_empty() && content.is_none_or(<[u8]>::is_empty) {
        return Ok(Edited { content: wanted.new.clone().into_bytes(), lines: Vec::new(), exact: true });
    }
    let Some(content) = content else { return Err(NotEdited::Missing(place.missing("edit"))) };
    let Wanted { old, new, occurrence, exact } = wanted;
    if old.is_empty() {
        return Err(NotEdited::wrong(
            "`old_text` is empty",
            "give the text to replace; to make a file use `write`",
        ));
    }
    if old == new {
        let why = "`old_text` and `new_text` are the same";
        return Err(NotEdited::wrong(why, "give the text as it should become"));
    }
    let wanted = Replacement { old, new, occurrence: *occurrence, exact: *exact };
    replace::replace(content, &wanted).map_err(|missed| NotEdited::missed(content, old, missed))
}

/// Why a text was not replaced.
pub(crate) enum NotEdited {
    /// There is no such file.
    Missing(ToolError),
    Refused {
        kind: ToolErrorKind,
        /// The whole text.
        why: String,
        /// Without line numbers.
        short: String,
        hint: String,
    },
}

impl NotEdited {
    fn wrong(why: &str, hint: &str) -> Self {
        let (why, hint) = (why.to_owned(), hint.to_owned());
        Self::Refused { kind: ToolErrorKind::Validation, short: why.clone(), why, hint }
    }

    fn missed(content: &[u8], old: &str, missed: Missed) -> Self {
        let kind = ToolErrorKind::User;
        match missed {
            Missed::Absent => {
                let short = "old_text not found in file".to_owned();
                Self::Refused { kind, why: short.clone(), short, hint: near::hint(content, old) }
            }
            Missed::Ambiguous(lines) => {
                let short = format!("old_text found {} times in file", lines.len());
                let hint = "take in more lines around the one that you mean, or set `occurrence`".to_owned();
                Self::Refused { kind, why: format!("{short}, at {}", listed(&lines)), short, hint }
            }
        }
    }

    /// `tried`: what the call was about to do.
    pub(crate) fn told(self, tried: &str, path: &Path) -> ToolError {
        match self {
            Self::Missing(error) => error,
            Self::Refused { kind, why, short, hint } => {
                ToolError::new(kind, format!("{tried}: {why}")).hint(hint).fields(not_edited(path, &short))
            }
        }
    }
}

/// What the model reads of an edit.
fn not_edited(path: &Path, why: &str) -> Value {
    json!({"path": path, "edited": false, "error": why})
}

fn said(place: &Place, edited: &Edited) -> String {
    let path = place.name.display();
    if edited.lines.is_empty() {
        return format!("Wrote {} bytes to `{path}`.", edited.content.len());
    }
    let roughly = if edited.exact { "" } else { " [blanks or quotes differed from `old_text`]" };
    let occurrences = counted(edited.lines.len() as u64, "occurrence");
    format!("Replaced {occurrences} in `{path}`, at {}.{roughly}", listed(&edited.lines))
}

fn shown(edited: &Edited) -> String {
    match edited.lines.as_slice() {
        [] => "Created".into(),
        lines => format!("Replaced {} at {}", counted(lines.len() as u64, "occurrence"), listed(lines)),
    }
}

/// Maximum line numbers that are listed.
const MAX_LISTED: usize = 10;

pub(crate) fn listed(lines: &[usize]) -> String {
    let numbers: Vec<_> = lines.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    let word = if lines.len() == 1 { "line" } else { "lines" };
    let dots = if lines.len() > MAX_LISTED { ", …" } else { "" };
    format!("{word} {}{dots}", numbers.join(", "))
}
