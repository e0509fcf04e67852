//! [`read_pdf`]: reads PDFs by pages.
use super::Part;
use crate::{
    ReadSettings,
    files::Place,
    pdf::{MAX_PDF_BYTES, PdfError, PdfText, pdf_text},
};
use haft_core::{ToolError, ToolErrorKind, ToolOutput, clip};
use serde_json::json;
use std::path::Path;
use tokio::runtime::Handle;

/// Whether the file is a PDF, by its extension.
pub(super) fn is_pdf(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("pdf"))
}

/// Returns the requested pages. Blocks while the reading process runs.
pub(super) fn read_pdf(place: &Place, part: Part, settings: &ReadSettings) -> Result<ToolOutput, ToolError> {
    let content = place.content("read", MAX_PDF_BYTES)?;
    let first = u32::try_from(part.from()).unwrap_or(u32::MAX);
    let read = Handle::current().block_on(pdf_text(&content, first));
    let text = read.map_err(|error| refused(place, part, error))?;
    Ok(output(place, first, part.limit, text, settings))
}

fn refused(place: &Place, part: Part, error: PdfError) -> ToolError {
    let from = if part.from() > 1 && matches!(error, PdfError::PastTheEnd(_)) { " from there" } else { "" };
    let why = format!("cannot read `{}`{from}: {error}", place.name.display());
    ToolError::new(ToolErrorKind::User, why).hint(error.hint())
}

fn output(
    place: &Place,
    first: u32,
    limit: Option<u64>,
    read: PdfText,
    settings: &ReadSettings,
) -> ToolOutput {
    let wanted =
        limit.filter(|limit| *limit > 0).map_or(usize::MAX, |limit| limit.try_into().unwrap_or(usize::MAX));
    let mut text = String::new();
    let mut shown = 0;
    for (page, content) in (first..).zip(&read.texts).take(wanted) {
        let content = if content.is_empty() { "[no text: a picture or a scan]" } else { content };
        let whole = format!("--- page {page} of {}\n{content}\n", read.pages);
        let room = settings.room().saturating_sub(settings.size(&text));
        if settings.size(&whole) > room && shown > 0 {
            break;
        }
        text += settings.head(&whole, room);
        shown += 1;
        if settings.size(&whole) > room {
            text += &format!("\n[page {page} is cut here: it has {} bytes]\n", whole.len());
            break;
        }
    }
    let empty = (first..).zip(&read.texts).filter(|(_, content)| content.is_empty());
    let empty: Vec<u32> = empty.map(|(page, _)| page).collect();
    let next = first + shown;
    let truncated = wanted > shown as usize && next <= read.pages;
    text += &notes(&read, next, &empty);
    let details = json!({
        "path": place.name, "from": first, "pages": read.pages, "pages_read": shown, "without_text": empty,
        "truncated": truncated, "tokens": clip::tokens(&text),
    });
    let s = if shown == 1 { "" } else { "s" };
    ToolOutput::text(text)
        .details(details)
        .show(format!("Read {shown} page{s} of `{}`", place.name.display()))
}

/// Notes on the number of pages, pages without text, and how to continue.
fn notes(read: &PdfText, next: u32, empty: &[u32]) -> String {
    let s = if read.pages == 1 { "" } else { "s" };
    let mut notes = format!("[a PDF of {} page{s}", read.pages);
    if !empty.is_empty() {
        notes += &format!("; no text on {}: `pdftoppm -png` makes pictures of them", ranges(empty));
    }
    if let Some(why) = &read.stopped {
        notes += &format!("; not read to its end: {why}");
    }
    if next <= read.pages {
        notes += &format!("; continue with offset={next}");
    }
    notes + "]"
}

/// `page 3`, `pages 1-4, 7`.
fn ranges(pages: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for page in pages {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *page => *last = *page,
            _ => ranges.push((*page, *page)),
        }
    }
    let named = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    let s = if pages.len() == 1 { "" } else { "s" };
    format!("page{s} {}", named.collect::<Vec<_>>().join(", "))
}
