//! [`read_text`] and [`read_notebook`]: read text files and notebooks by lines.
use super::{
    Part,
    notebook::as_text,
    passage::{End, NoPassage, Passage, passage},
    pdf::read_pdf,
};
use crate::{ReadSettings, files::Place};
use haft_core::{ToolError, ToolErrorKind, ToolOutput, clip};
use serde_json::json;
use std::io::{BufRead, BufReader, Read};

/// Returns the requested lines of one file.
pub(super) fn read_text(place: &Place, part: Part, settings: &ReadSettings) -> Result<ToolOutput, ToolError> {
    let file = place.open("read")?;
    let size = file.metadata().map_err(|error| place.cannot("read", error))?.len();
    let mut file = BufReader::with_capacity(64 * 1024, file);
    let beginning = file.fill_buf().map_err(|error| place.cannot("read", error))?;
    match Binary::of(beginning) {
        Some(Binary::Pdf) => return read_pdf(place, part, settings),
        Some(Binary::Other) => return Err(binary(place)),
        None => {}
    }
    let passage = passage(file, part.from(), part.limit, settings).map_err(|none| no_passage(place, none))?;
    Ok(output(place, part, passage, size, settings))
}

/// Maximum bytes of a notebook: a larger one is read as plain JSON.
const MAX_NOTEBOOK: u64 = 16 * 1024 * 1024;

/// Returns the requested lines of a notebook's cells, or of the file itself if it is not a notebook.
pub(super) fn read_notebook(
    place: &Place,
    part: Part,
    settings: &ReadSettings,
) -> Result<ToolOutput, ToolError> {
    let mut content = Vec::new();
    let read = place.open("read")?.take(MAX_NOTEBOOK).read_to_end(&mut content);
    read.map_err(|error| place.cannot("read", error))?;
    let Some(text) = as_text(&content) else { return read_text(place, part, settings) };
    let passage = passage(text.as_bytes(), part.from(), part.limit, settings)
        .map_err(|none| no_passage(place, none))?;
    let mut output = output(place, part, passage, text.len() as u64, settings);
    output.for_model += "\n[a notebook, shown as its cells; the file itself is JSON]";
    Ok(output)
}

fn output(place: &Place, part: Part, passage: Passage, size: u64, settings: &ReadSettings) -> ToolOutput {
    if !settings.numbered {
        return raw(passage, settings);
    }
    let truncated = matches!(passage.end, End::Full { .. }) || passage.has_cut_lines;
    let (from, lines) = (part.from(), passage.lines);
    let text = with_notes(passage, size, settings);
    let details = json!({
        "path": place.name, "from": from, "lines": lines, "bytes": size, "truncated": truncated,
        "tokens": clip::tokens(&text),
    });
    let s = if lines == 1 { "" } else { "s" };
    ToolOutput::text(text)
        .details(details)
        .show(format!("Read {lines} line{s} of `{}`", place.name.display()))
}

/// A file that is not text.
enum Binary {
    Pdf,
    Other,
}

/// Number of bytes that are checked to decide whether a file is text.
const CHECKED_BYTES: usize = 8 * 1024;

impl Binary {
    fn of(beginning: &[u8]) -> Option<Self> {
        if beginning.starts_with(b"%PDF-") {
            return Some(Self::Pdf);
        }
        beginning[..beginning.len().min(CHECKED_BYTES)].contains(&0).then_some(Self::Other)
    }
}

fn binary(place: &Place) -> ToolError {
    let why = format!("cannot read `{}`: it looks binary", place.name.display());
    let hint = "look at it with a command, e.g. `file`, `strings` or `xxd`; if it is UTF-16, convert it with `iconv`";
    ToolError::new(ToolErrorKind::User, why).hint(hint)
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

/// The content, with the marker if it was cut.
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
