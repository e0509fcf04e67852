//! [`pdf_text`]: extracts the text of a PDF, page by page.
//!
//! A PDF may come from anywhere, and needs a large parser. So a separate process reads it, with limits on time and
//! memory, and confined if the system allows that.
mod extract;

pub(crate) use extract::Line;
pub use extract::serve_pdf;
use extract::{ARGUMENT_PREFIX, MEMORY_BYTES};
use haft_core::{Confinement, Outside, ProcessLimits, Reach, WorkspaceMount};
use haft_process::{Exit, Finished, ProcessError, Program, reader_program};
use std::{fs, io, path::Path, sync::Arc, time::Duration};
use tempfile::TempDir;

/// Maximum bytes of a PDF.
pub const MAX_PDF_BYTES: u64 = 50 << 20;

/// Maximum bytes of its text.
const MAX_TEXT: usize = 32 << 20;

/// Timeout for reading.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The header may come after this many other bytes (PDF 1.7, implementation note 13).
const HEADER_WITHIN: usize = 1_024;

/// The text of a PDF, as far as it could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PdfText {
    /// Number of pages.
    pub pages: u32,
    /// The text of each page, beginning with the first one requested; empty if the page has no text, such as a scan.
    pub texts: Vec<String>,
    /// Why the later pages were not read.
    pub stopped: Option<String>,
}

/// Why nothing of a PDF could be read.
#[derive(Debug, thiserror::Error)]
pub enum PdfError {
    /// The content is not a PDF.
    #[error("its content is not a PDF")]
    NotPdf,
    /// It is protected by a password.
    #[error("it is encrypted, and needs a password")]
    Encrypted,
    /// It is complete, but has no pages.
    #[error("it is a PDF without pages")]
    NoPages,
    /// The requested pages do not exist. Holds the number of pages.
    #[error("it has only {0} page{s}", s = if *.0 == 1 { "" } else { "s" })]
    PastTheEnd(u32),
    /// The parser cannot read it. Holds the reason.
    #[error("it is cut off or malformed: {0}")]
    Malformed(String),
    /// The reading process reached a limit, or ended unexpectedly.
    #[error("{0}")]
    Stopped(String),
    /// This program is embedded in another one that cannot read PDFs.
    #[error("it is a PDF")]
    NoReader,
    /// The reading process could not be started.
    #[error("the process that reads PDFs cannot be started: {0}")]
    NotStarted(#[from] ProcessError),
    /// The folder for the process could not be made.
    #[error("the process that reads PDFs has no folder: {0}")]
    NoFolder(#[from] io::Error),
}

impl PdfError {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotPdf => "look at it with a command, e.g. `file` or `head -c 200`",
            Self::Encrypted => {
                "ask for a copy without a password; `qpdf --decrypt --password=… IN OUT` makes one"
            }
            Self::NoPages => "ask for the right file",
            Self::PastTheEnd(_) => "use a smaller `offset`",
            Self::Malformed(_) => "ask for a complete copy, or try a command: `pdftotext -layout FILE -`",
            Self::Stopped(_) | Self::NoReader | Self::NotStarted(_) | Self::NoFolder(_) => {
                "get its text with a command: `pdftotext -layout FILE -`"
            }
        }
    }
}

/// Reads the pages from `first` on, counted from 1, in a separate process. That process ends with this one, and after
/// 20 seconds.
///
/// # Errors
///
/// If `content` is not a readable PDF; [`PdfError::NoReader`] if no program was named with
/// [`haft_process::supervise_by`].
pub async fn pdf_text(content: &[u8], first: u32) -> Result<PdfText, PdfError> {
    let beginning = &content[..content.len().min(HEADER_WITHIN)];
    if !beginning.windows(5).any(|bytes| bytes == b"%PDF-") {
        return Err(PdfError::NotPdf);
    }
    let reader = reader_program().ok_or(PdfError::NoReader)?;
    let folder = tempfile::tempdir()?;
    let mut last = None;
    for outside in [Some(Outside::Overlays), Some(Outside::Bound), None] {
        let program = program(&reader, first, &folder, outside)?;
        match program.run_with(content, |_| ()).await {
            // If the system refuses the confinement, the process prints nothing.
            Ok(finished) if outside.is_some() && finished.stdout.text.is_empty() => {}
            Ok(finished) => return answer(&finished, first),
            Err(error) => last = Some(error),
        }
    }
    Err(last.map_or_else(|| PdfError::Stopped("the process that reads PDFs said nothing".into()), Into::into))
}

fn program(reader: &Path, first: u32, folder: &TempDir, outside: Option<Outside>) -> io::Result<Program> {
    let confinement = outside.map(|outside| confinement(folder.path(), outside)).transpose()?;
    Ok(Program {
        program: reader.into(),
        arguments: vec![format!("{ARGUMENT_PREFIX}{first}").into()],
        folder: confinement.as_ref().map_or_else(|| folder.path().into(), |found| found.workspace.clone()),
        environment: Arc::default(),
        timeout: Some(TIMEOUT),
        capture: 2 * MAX_TEXT,
        confinement: confinement.map(Arc::new),
    })
}

/// The confinement of the process. It needs no access to anything: its input is the PDF, its output the text.
fn confinement(folder: &Path, outside: Outside) -> io::Result<Confinement> {
    let folder = folder.canonicalize()?;
    let (workspace, tmp) = (folder.join("workspace"), folder.join("tmp"));
    [&workspace, &tmp].into_iter().try_for_each(fs::create_dir_all)?;
    Ok(Confinement {
        workspace,
        finds: WorkspaceMount::ReadOnly,
        tmp,
        finds_tmp: WorkspaceMount::ReadOnly,
        outside,
        writable: Vec::new(),
        caches: Vec::new(),
        hidden: Vec::new(),
        reach: Reach::Nothing,
        private_hosts: false,
        limits: ProcessLimits { memory_bytes: Some(MEMORY_BYTES), ..ProcessLimits::default() },
    })
}

/// Parses the lines that the process printed. They may be incomplete.
fn answer(finished: &Finished, first: u32) -> Result<PdfText, PdfError> {
    let lines = finished.stdout.text.lines().filter_map(|line| serde_json::from_str(line).ok());
    let (mut pages, mut texts, mut problem) = (None, Vec::new(), None);
    for line in lines {
        match line {
            Line::Pages(count) => pages = Some(count),
            // If more was printed than is kept, pages in the middle are missing.
            Line::Text { page, text } if page as usize == first as usize + texts.len() => texts.push(text),
            Line::Begun | Line::Text { .. } => {}
            Line::Encrypted => return Err(PdfError::Encrypted),
            Line::Malformed(why) => problem = Some(why),
        }
    }
    match (pages, problem) {
        (Some(0), _) => Err(PdfError::NoPages),
        (Some(pages), _) if first > pages => Err(PdfError::PastTheEnd(pages)),
        (Some(pages), _) => {
            let is_whole = first as usize + texts.len() > pages as usize;
            let stopped = (!is_whole).then(|| why_stopped(finished));
            match stopped {
                Some(why) if texts.is_empty() => Err(PdfError::Stopped(why)),
                stopped => Ok(PdfText { pages, texts, stopped }),
            }
        }
        (None, Some(why)) => Err(PdfError::Malformed(why)),
        (None, None) => Err(PdfError::Stopped(why_stopped(finished))),
    }
}

fn why_stopped(finished: &Finished) -> String {
    let memory = MEMORY_BYTES >> 30;
    match finished.exit {
        Exit::TimedOut => format!("reading it takes more than {} seconds", TIMEOUT.as_secs()),
        _ if finished.stdout.missing_bytes > 0 => format!("it has more than {} MB of text", MAX_TEXT >> 20),
        Exit::Signal(_) | Exit::Code(_) => {
            format!("it is malformed, or reading it takes more than {memory} GB of memory")
        }
    }
}
