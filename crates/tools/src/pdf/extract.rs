//! [`serve_pdf`]: the process that reads a PDF from standard input, and writes lines of JSON to standard output.
use pdf_extract::{Document, Error, OutputError, PlainTextOutput, output_doc_page};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    io::{self, Read, Write, stdin, stdout},
    panic::{AssertUnwindSafe, catch_unwind},
};

/// The only argument of the process: this, followed by the number of the first page.
pub(super) const ARGUMENT_PREFIX: &str = "--read-pdf-from-page=";

/// Maximum memory of the process, in bytes.
pub(super) const MEMORY_BYTES: u64 = 2 << 30;

/// Maximum processor time, in seconds.
const PROCESSOR_SECONDS: u64 = 20;

/// A line of the output of the process.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// The process has begun.
    Begun,
    /// The number of pages.
    Pages(u32),
    /// The text of a page, counted from 1.
    Text { page: u32, text: String },
    /// It cannot be opened without a password.
    Encrypted,
    /// Why it cannot be opened.
    Malformed(String),
}

/// Reads a PDF from standard input if the first argument of this process requests it; returns whether it did. Must be
/// called at the beginning of `main`, before anything is printed.
pub fn serve_pdf(argument: Option<OsString>) -> bool {
    let first = argument.as_ref().and_then(|argument| argument.to_str()?.strip_prefix(ARGUMENT_PREFIX));
    let Some(first) = first.and_then(|first| first.parse().ok()) else { return false };
    limit(Resource::As, MEMORY_BYTES);
    limit(Resource::Cpu, PROCESSOR_SECONDS);
    limit(Resource::Fsize, 0);
    // If the parent process has ended, the output is not needed.
    let _pipe_is_closed = say(&Line::Begun).and_then(|()| serve(first));
    true
}

/// Sets a limit. If the system refuses it, the timeout of the parent process still applies.
fn limit(resource: Resource, most: u64) {
    let _refused = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
}

fn serve(first: u32) -> io::Result<()> {
    let mut content = Vec::new();
    stdin().lock().read_to_end(&mut content)?;
    let document = match guarded(|| open(&content)) {
        Ok(document) => document,
        Err(problem) => return say(&problem),
    };
    let pages = u32::try_from(document.get_pages().len()).unwrap_or(u32::MAX);
    say(&Line::Pages(pages))?;
    for page in first..=pages {
        let text = guarded(|| Ok(text_of(&document, page).unwrap_or_default())).unwrap_or_default();
        say(&Line::Text { page, text })?;
    }
    Ok(())
}

fn open(content: &[u8]) -> Result<Document, Line> {
    let mut document = Document::load_mem(content).map_err(|error| match error {
        Error::Decryption(_) | Error::InvalidPassword | Error::UnsupportedSecurityHandler(_) => {
            Line::Encrypted
        }
        error => Line::Malformed(error.to_string()),
    })?;
    if document.is_encrypted() {
        document.decrypt("").map_err(|_| Line::Encrypted)?;
    }
    Ok(document)
}

fn text_of(document: &Document, page: u32) -> Result<String, OutputError> {
    let mut text = String::new();
    output_doc_page(document, &mut PlainTextOutput::new(&mut text), page)?;
    Ok(text.trim().to_owned())
}

/// Runs `work`, and catches panics: the parser panics on some malformed files.
fn guarded<T>(work: impl FnOnce() -> Result<T, Line>) -> Result<T, Line> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(Line::Malformed("the parser gave up".into())))
}

/// Prints on a new line, whatever the parser printed before.
fn say(line: &Line) -> io::Result<()> {
    let text = serde_json::to_string(line)?;
    let mut stdout = stdout().lock();
    writeln!(stdout, "\n{text}")?;
    stdout.flush()
}
