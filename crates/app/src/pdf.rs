//! [`part_of`]: makes a part of a prompt from a PDF: the document itself, or its text.
use crate::Failure;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use haft_core::{Command, Document, Part};
pub use haft_tools::serve_pdf;
use haft_tools::{MAX_PDF_BYTES, PdfText, pdf_text};
use std::{fs::File, io::Read, path::Path};

/// Whether `file` has the name of a PDF.
#[must_use]
pub fn is_pdf(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("pdf"))
}

/// Maximum bytes and pages of a document that is sent as it is. A larger one is sent as text: vendors refuse a request
/// that is too large, and all of them accept 100 pages (docs.anthropic.com, "PDF support", 2026-11).
const MAX_NATIVE_BYTES: usize = 10 << 20;
const MAX_NATIVE_PAGES: u32 = 100;

/// The PDF `file` for a prompt, with the text of its pages: as a document if it is small enough, otherwise as text alone.
///
/// # Errors
///
/// If it cannot be read, is larger than 50 MB, or is to be sent as text but has none.
pub async fn part_of(file: &Path) -> Result<Part, Failure> {
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let content = content(file).map_err(|why| not_attached(&file.display().to_string(), &why))?;
    part(&file.display().to_string(), &name, &content).await
}

/// Makes a message part of the `content` of a PDF named `name`.
///
/// # Errors
///
/// If it is not a readable PDF, or is to be sent as text but has none.
pub async fn part_of_bytes(name: &str, content: &[u8]) -> Result<Part, Failure> {
    part(name, name, content).await
}

async fn part(place: &str, name: &str, content: &[u8]) -> Result<Part, Failure> {
    let read = pdf_text(content, 1).await;
    let read = read.map_err(|error| not_attached(place, &error.to_string()).hint(error.hint()))?;
    let name = name.replace('"', "'");
    let has_text = read.texts.iter().any(|text| !text.is_empty());
    let text = if has_text { marked(&name, &read) } else { String::new() };
    let is_small = content.len() <= MAX_NATIVE_BYTES && read.pages <= MAX_NATIVE_PAGES;
    let data = if is_small { BASE64_STANDARD.encode(content) } else { String::new() };
    let document = Document { name, pages: read.pages as usize, data, text };
    if is_small { Ok(Part::Document(document)) } else { text_of(document) }
}

fn not_attached(place: &str, why: &str) -> Failure {
    Failure::usage(format!("cannot attach `{place}`: {why}"))
}

/// Replaces each PDF in `command` by its text, for a model that takes no documents.
///
/// # Errors
///
/// If a PDF has no text.
pub fn with_text(command: Command) -> Result<Command, Failure> {
    let read = |parts: Vec<Part>| -> Result<Vec<Part>, Failure> {
        let read = parts.into_iter().map(|part| match part {
            Part::Document(document) => text_of(document),
            part => Ok(part),
        });
        read.collect()
    };
    Ok(match command {
        Command::Prompt { parts, channel } => Command::Prompt { parts: read(parts)?, channel },
        Command::PromptWithSchema { parts, schema } => {
            Command::PromptWithSchema { parts: read(parts)?, schema }
        }
        command => command,
    })
}

fn text_of(Document { name, pages, text, .. }: Document) -> Result<Part, Failure> {
    if !text.is_empty() {
        return Ok(Part::text(text));
    }
    let s = if pages == 1 { "its page has" } else { "its pages have" };
    let why = format!("cannot attach `{name}`: {s} no text; it is a scan, or made of pictures");
    Err(Failure::usage(why)
        .hint("`pdftoppm -png FILE.pdf page` makes pictures of its pages; attach those, or choose a model that takes PDFs"))
}

fn content(file: &Path) -> Result<Vec<u8>, String> {
    let found = std::fs::metadata(file).map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is not a regular file".into());
    }
    let mut content = Vec::new();
    let read = File::open(file).and_then(|file| file.take(MAX_PDF_BYTES + 1).read_to_end(&mut content));
    read.map_err(|error| error.to_string())?;
    if content.len() as u64 > MAX_PDF_BYTES {
        return Err(format!("it is larger than {} MB", MAX_PDF_BYTES >> 20));
    }
    Ok(content)
}

fn marked(name: &str, read: &PdfText) -> String {
    let pages = (1..).zip(&read.texts).map(|(page, text)| {
        let text = if text.is_empty() { "[no text: a picture or a scan]" } else { text };
        format!("--- page {page} of {}\n{text}\n", read.pages)
    });
    let inside: String =
        pages.chain(read.stopped.iter().map(|why| format!("[not read to its end: {why}]\n"))).collect();
    let inside = inside.replace("</pdf>", "&lt;/pdf>");
    format!("\n\n<pdf name=\"{name}\" pages=\"{}\">\n{inside}</pdf>", read.pages)
}
