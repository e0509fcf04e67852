//! `read`: a text file by lines, or an image.
use crate::{
    ReadSettings,
    examples::examples_for,
    files::{Place, blocking},
    passage::{End, NoPassage, Passage, passage},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use haft_core::{Effect, Example, Image, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

pub(crate) struct ReadFile(pub(crate) ReadSettings);

/// Read a text file, or look at an image (jpg, png, gif, webp).
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The file, relative to the workspace or absolute.
    path: PathBuf,
    /// First line to read, counted from 1.
    offset: Option<u64>,
    /// How many lines, at most 2000.
    limit: Option<u64>,
}

impl Tool for ReadFile {
    const NAME: &'static str = "read";
    type Args = Args;

    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        vec![Effect::Read(workspace.join(&args.path))]
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let place = Place::new(ctx, &args.path);
        let settings = self.0.clone();
        let lines = Lines { offset: args.offset, limit: args.limit };
        blocking(move || read(&place, &lines, &settings)).await
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

/// Which lines are wanted.
#[derive(Default)]
pub(crate) struct Lines {
    /// The first, counted from 1.
    pub(crate) offset: Option<u64>,
    pub(crate) limit: Option<u64>,
}

/// A text by lines, or an image.
pub(crate) fn read(place: &Place, lines: &Lines, settings: &ReadSettings) -> Result<ToolOutput, ToolError> {
    match is_image(&place.name) {
        true => read_image(place),
        false => read_text(place, lines, settings),
    }
}

fn read_text(place: &Place, lines: &Lines, settings: &ReadSettings) -> Result<ToolOutput, ToolError> {
    let file = place.open("read")?;
    let size = file.metadata().map_err(|error| place.cannot("read", error))?.len();
    let mut file = BufReader::with_capacity(64 * 1024, file);
    let beginning = file.fill_buf().map_err(|error| place.cannot("read", error))?;
    if looks_binary(beginning) {
        return Err(binary(place));
    }
    let from = lines.offset.unwrap_or(1).max(1);
    let passage = passage(file, from, lines.limit, settings).map_err(|none| no_passage(place, none))?;
    if !settings.numbered {
        return Ok(raw(passage, settings));
    }
    let truncated = matches!(passage.end, End::Full { .. });
    let details = json!({
        "path": place.name, "from": from, "lines": passage.lines, "bytes": size, "truncated": truncated,
    });
    Ok(ToolOutput::text(with_notes(passage, size, settings)).details(details))
}

/// As far as the file is looked at before it is taken for text.
const BEGINNING: usize = 8 * 1024;

fn looks_binary(beginning: &[u8]) -> bool {
    beginning[..beginning.len().min(BEGINNING)].contains(&0)
}

fn binary(place: &Place) -> ToolError {
    let why = format!("cannot read `{}`: it looks binary", place.name.display());
    ToolError::new(ToolErrorKind::User, why)
        .hint("look at it with a command, e.g. `file`, `strings` or `xxd`; if it is UTF-16, convert it with `iconv`")
}

fn no_passage(place: &Place, none: NoPassage) -> ToolError {
    match none {
        NoPassage::Io(error) => place.cannot("read", error),
        NoPassage::PastTheEnd(lines) => {
            let lines = if lines == 1 { "1 line".into() } else { format!("{lines} lines") };
            let why = format!("cannot read `{}` from there: it has only {lines}", place.name.display());
            ToolError::new(ToolErrorKind::User, why).hint("use a smaller `offset`")
        }
    }
}

/// The content, and the marker where it goes on.
fn raw(passage: Passage, settings: &ReadSettings) -> ToolOutput {
    let cut = matches!(passage.end, End::Full { .. });
    let marker = settings.marker.as_deref().unwrap_or("\n[content truncated]");
    ToolOutput::text(passage.text + if cut { marker } else { "" })
}

fn with_notes(passage: Passage, size: u64, settings: &ReadSettings) -> String {
    let mut text = passage.text.trim_end_matches('\n').to_owned();
    match (passage.end, &settings.marker) {
        (End::OfFile, _) if text.is_empty() => text += "[the file is empty]",
        (End::OfFile, _) => {}
        (End::Full { .. }, Some(marker)) => text += marker,
        (End::Full { next } | End::AsAsked { next }, _) => {
            text += &format!("\n[the file goes on, it has {size} bytes; continue with offset={next}]");
        }
    }
    if passage.lossy {
        text += "\n[not UTF-8: � stands for what cannot be shown]";
    }
    text
}

/// More than this no vendor takes.
const LARGEST_IMAGE: u64 = 5 * 1024 * 1024;

/// By its extension.
fn is_image(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    let extension = extension.as_ref().and_then(|extension| extension.to_str());
    matches!(extension, Some("jpg" | "jpeg" | "png" | "gif" | "webp"))
}

fn read_image(place: &Place) -> Result<ToolOutput, ToolError> {
    let content = place.content("read", LARGEST_IMAGE)?;
    let text = format!("[Image: {}]", place.name.display());
    // A vendor refuses the whole conversation for one picture that is none, so it must be one.
    let Some(mime) = media_type(&content) else {
        return Ok(ToolOutput::text(format!("{text}\n[not shown: its content is no such image]")));
    };
    let image = Image { mime: mime.into(), data: BASE64_STANDARD.encode(&content) };
    Ok(ToolOutput { images: vec![image], ..ToolOutput::text(text) })
}

/// By its first bytes: what a file is called need not be what it is.
fn media_type(content: &[u8]) -> Option<&'static str> {
    match content {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
