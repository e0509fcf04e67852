//! [`MultiEdit`] (`multi_edit`): makes several replacements in one file, all of them or none.
use crate::{
    EditSettings, Occurrence,
    edit::{MAX_FILE, PARAMETERS, Wanted, listed, replaced, which},
    files::{Place, blocking, changes},
    report::counted,
};
use haft_core::{Aliases, Effect, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::{Path, PathBuf};

pub(crate) struct MultiEdit(pub(crate) EditSettings);

/// Make several edits of one file, one after the other: all of them or none.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The file, relative to the workspace or absolute.
    path: PathBuf,
    /// Each sees what the ones before it made.
    edits: Vec<Edit>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
struct Edit {
    /// The text to replace, exactly as it stands in the file.
    old_text: String,
    /// The text to put in its place.
    new_text: String,
    /// Which to replace if there are several: unique (none), first or all.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("enum" = ["unique", "first", "all"]))]
    occurrence: Option<Occurrence>,
    #[schemars(extend("x-hidden" = true))]
    replace_all: Option<bool>,
}

impl Tool for MultiEdit {
    const NAME: &'static str = "multi_edit";
    const ALIASES: Aliases =
        Aliases { names: &["multiedit", "multi-edit", "edit_file_multi"], parameters: PARAMETERS };
    const QUOTES_FILES: bool = true;
    type Args = Args;

    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        changes(workspace, &args.path)
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let place = Place::new(ctx, &args.path);
        let settings = self.0.clone();
        let wanted = args.edits.into_iter().map(|edit| Wanted {
            occurrence: which(edit.occurrence, edit.replace_all, &settings),
            old: edit.old_text,
            new: edit.new_text,
            exact: settings.exact,
        });
        let wanted = wanted.collect::<Vec<_>>();
        blocking(move || edit(&place, &wanted)).await
    }
}

fn edit(place: &Place, edits: &[Wanted]) -> Result<ToolOutput, ToolError> {
    let path = place.name.display();
    if edits.is_empty() {
        let why = format!("cannot edit `{path}`: `edits` is empty");
        return Err(ToolError::new(ToolErrorKind::Validation, why).hint("give at least one edit"));
    }
    let before = place.content_if_any("edit", MAX_FILE)?;
    let mut content = before.clone();
    let mut lines = Vec::new();
    for (number, wanted) in edits.iter().enumerate() {
        let edited = replaced(place, content.as_deref(), wanted).map_err(|failed| {
            let tried = format!("cannot edit `{path}`: edit {} of {}", number + 1, edits.len());
            unchanged(failed.told(&tried, &place.name))
        })?;
        lines.extend(edited.lines);
        content = Some(edited.content);
    }
    let content = content.unwrap_or_default();
    place.write(&content)?;
    let grown = content.len() as i64 - before.map_or(0, |before| before.len()) as i64;
    let made = format!("{} in `{path}`", counted(edits.len() as u64, "edit"));
    let at = if lines.is_empty() { String::new() } else { format!(", at {}", listed(&lines)) };
    let details = json!({
        "path": place.name, "edited": true, "bytes_changed": grown, "replaced": lines.len(),
    });
    let shown = format!("Made {}{at}", counted(edits.len() as u64, "edit"));
    Ok(ToolOutput::text(format!("Made {made}{at}.")).show(shown).details(details))
}

/// Tells the model that the edits before the failed one were not made either.
fn unchanged(error: ToolError) -> ToolError {
    let hint = error.hint.clone().unwrap_or_default();
    error.hint(format!("{hint}\n[no edit was made: send all of them again]"))
}
