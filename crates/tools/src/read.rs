//! [`ReadFile`] (`read`): reads text files by lines, PDFs by pages, or images.
use crate::{
    ReadSettings,
    aliases::FILE,
    examples::examples_for,
    files::{Place, blocking},
};
use haft_core::{Aliases, Effect, Example, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

mod image;
mod notebook;
mod passage;
mod pdf;
mod text;

pub(crate) struct ReadFile(pub(crate) ReadSettings);

/// Read a text file or a PDF, or look at an image (jpg, png, gif, webp).
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The file, relative to the workspace or absolute.
    #[schemars(with = "String", extend("x-accepts" = {
        "type": ["string", "array"], "items": {"type": "string"}, "minItems": 1, "maxItems": 100
    }))]
    path: Paths,
    /// First line (of a PDF: first page) to read, counted from 1.
    offset: Option<u64>,
    /// How many lines, at most 2000; of a PDF, how many pages.
    limit: Option<u64>,
}

/// One file, or several.
#[derive(Deserialize)]
#[serde(untagged, expecting = "`path` must be a string, or a list of strings")]
enum Paths {
    One(PathBuf),
    Many(Vec<PathBuf>),
}

impl Paths {
    fn all(&self) -> &[PathBuf] {
        match self {
            Self::One(path) => std::slice::from_ref(path),
            Self::Many(paths) => paths,
        }
    }
}

impl Tool for ReadFile {
    const NAME: &'static str = "read";
    const ALIASES: Aliases = Aliases {
        names: &["read_file", "read_files", "read_many_files", "view", "view_file", "open_file", "cat"],
        parameters: &[
            FILE,
            ("path", &["file_paths", "filePaths", "paths", "files"]),
            ("offset", &["start_line"]),
            ("limit", &["max_lines", "num_lines"]),
        ],
    };
    type Args = Args;

    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        args.path.all().iter().map(|path| Effect::Read(workspace.join(path))).collect()
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let part = Part { offset: args.offset, limit: args.limit };
        let places: Vec<Place> = args.path.all().iter().map(|path| Place::new(ctx, path)).collect();
        let settings = self.0.clone();
        blocking(move || match (args.path, places.as_slice()) {
            (Paths::One(_), [place]) if !settings.header => read_one(place, part, &settings),
            (_, places) => read_many(places, part, &settings),
        })
        .await
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

/// The lines that a call asks for. Without an offset it starts with the first line; a limit of 0 means as many lines as
/// fit.
#[derive(Clone, Copy, Default)]
pub(crate) struct Part {
    offset: Option<u64>,
    limit: Option<u64>,
}

impl Part {
    fn from(self) -> u64 {
        self.offset.unwrap_or(1).max(1)
    }
}

/// A text by lines, a PDF by pages, a notebook by cells, or an image.
pub(crate) fn read_one(place: &Place, part: Part, settings: &ReadSettings) -> Result<ToolOutput, ToolError> {
    match place.name.extension().and_then(|extension| extension.to_str()) {
        _ if image::is_image(&place.name) => image::read_image(place),
        _ if pdf::is_pdf(&place.name) => pdf::read_pdf(place, part, settings),
        Some("ipynb") => text::read_notebook(place, part, settings),
        _ => text::read_text(place, part, settings),
    }
}

/// Returns each file under its name, or why it cannot be read. All of them share the room of one file. Fails only if
/// none can be read.
fn read_many(places: &[Place], part: Part, settings: &ReadSettings) -> Result<ToolOutput, ToolError> {
    let mut whole = ToolOutput::default();
    let (mut files, mut errors, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for place in places {
        let room = settings.room().saturating_sub(settings.size(&whole.for_model));
        if room == 0 {
            left_out.push(format!("`{}`", place.name.display()));
            continue;
        }
        let settings = settings.with_room(room);
        whole.for_model += &format!("=== {} ===\n", place.name.display());
        match read_one(place, part, &settings) {
            Ok(read) => {
                whole.for_model += &read.for_model;
                whole.images.extend(read.images);
                files.push(read.details);
            }
            Err(error) => {
                whole.for_model += &format!("[{error}]");
                errors.push(error);
            }
        }
        whole.for_model += "\n\n";
    }
    if files.is_empty() {
        return Err(none_of(errors));
    }
    if !left_out.is_empty() {
        whole.for_model += &format!("[no room left for {}; read them in another call]", left_out.join(", "));
    }
    let text = whole.for_model.trim_end().to_owned();
    let (read, all) = (files.len(), places.len());
    let details = json!({
        "content": text, "files_read": read, "files": files, "tokens": haft_core::clip::tokens(&text),
        "not_read": errors.iter().map(ToString::to_string).map(Value::String).collect::<Vec<_>>(),
    });
    Ok(ToolOutput { for_model: text, ..whole }.fields(details).show(format!("Read {read} of {all} files")))
}

fn none_of(errors: Vec<ToolError>) -> ToolError {
    let words: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let kind = errors.first().map_or(ToolErrorKind::User, |error| error.kind);
    let hint = errors.into_iter().find_map(|error| error.hint);
    ToolError { hint, ..ToolError::new(kind, words.join("; ")) }
}
