//! [`text_of`]: the text of a PDF that goes along with a prompt.
use crate::Failure;
pub use haft_tools::serve_pdf;
use haft_tools::{MAX_PDF_BYTES, PdfText, pdf_text};
use std::{fs::File, io::Read, path::Path};

/// Whether `file` is called a PDF.
#[must_use]
pub fn is_pdf(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("pdf"))
}

/// The pages of `file` with their text, on lines of their own and marked so that nothing in them can end it.
///
/// # Errors
///
/// If it cannot be read, is larger than 50 MB, or has no text at all.
pub async fn text_of(file: &Path) -> Result<String, Failure> {
    let failed = |why: String| Failure::usage(format!("cannot attach `{}`: {why}", file.display()));
    let content = content(file).map_err(failed)?;
    let read = pdf_text(&content, 1).await;
    let read = read.map_err(|error| failed(error.to_string()).hint(error.hint()))?;
    if read.texts.iter().all(String::is_empty) {
        let s = if read.pages == 1 { "its page has" } else { "its pages have" };
        return Err(failed(format!("{s} no text; it is a scan, or made of pictures"))
            .hint("`pdftoppm -png FILE.pdf page` makes pictures of its pages; attach those"));
    }
    Ok(marked(file, &read))
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

fn marked(file: &Path, read: &PdfText) -> String {
    let pages = (1..).zip(&read.texts).map(|(page, text)| {
        let text = if text.is_empty() { "[no text: a picture or a scan]" } else { text };
        format!("--- page {page} of {}\n{text}\n", read.pages)
    });
    let inside: String =
        pages.chain(read.stopped.iter().map(|why| format!("[not read to its end: {why}]\n"))).collect();
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().replace('"', "'");
    let inside = inside.replace("</pdf>", "&lt;/pdf>");
    format!("\n\n<pdf name=\"{name}\" pages=\"{}\">\n{inside}</pdf>", read.pages)
}
