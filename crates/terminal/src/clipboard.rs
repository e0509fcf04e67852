//! [`picture`]: reads a picture from the desktop's clipboard with the usual programs for it.
use base64::{Engine as _, engine::general_purpose::STANDARD};
use haft_core::Image;
use haft_process::{ProcessError, Program};
use std::{io, path::Path, sync::Arc, time::Duration};
use tokio::io::AsyncReadExt;

/// The command line with which a program writes the clipboard's picture to standard output, as PNG.
struct Reader {
    program: &'static str,
    arguments: &'static [&'static str],
    /// Whether the program writes base64, because its pipes change bytes.
    is_base64: bool,
}

/// The programs, in the order in which they are tried; the first one that has a picture is used.
static READERS: [Reader; 4] = [
    Reader { program: "wl-paste", arguments: &["--type", "image/png"], is_base64: false },
    Reader {
        program: "xclip",
        arguments: &["-selection", "clipboard", "-target", "image/png", "-out"],
        is_base64: false,
    },
    Reader { program: "pngpaste", arguments: &["-"], is_base64: false },
    // Reads the clipboard of Windows from WSL.
    Reader {
        program: "powershell.exe",
        arguments: &[
            "-NoProfile",
            "-STA",
            "-Command",
            "Add-Type -AssemblyName System.Windows.Forms; $i = [Windows.Forms.Clipboard]::GetImage(); \
             if ($i) { $m = New-Object IO.MemoryStream; $i.Save($m, [Drawing.Imaging.ImageFormat]::Png); \
             [Convert]::ToBase64String($m.ToArray()) }",
        ],
        is_base64: true,
    },
];

/// Timeout of a program. The application that owns the clipboard may be slow, or on another machine.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size in bytes: no vendor accepts larger pictures (as for files), so larger output is not read.
const MAX_BYTES: u64 = 50 << 20;
const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The picture in the clipboard; the error says what was tried, and what to do.
pub(crate) async fn picture(folder: &Path, environment: Arc<[(String, String)]>) -> Result<Image, String> {
    let mut tried = Vec::new();
    for reader in &READERS {
        match reader.read(folder, environment.clone()).await {
            Ok(Some(png)) => return Ok(Image { mime: "image/png".into(), data: STANDARD.encode(png) }),
            Ok(None) => tried.push(reader.program),
            Err(_it_is_not_installed) => {}
        }
    }
    if tried.is_empty() {
        let names = READERS.iter().map(|reader| reader.program).collect::<Vec<_>>().join(", ");
        return Err(format!("cannot read pictures from the clipboard: install one of {names}"));
    }
    Err(format!("there is no picture in the clipboard ({})", tried.join(", ")))
}

impl Reader {
    /// Runs the program; `None` if its output is not a picture. Fails if the program cannot be started.
    async fn read(
        &self,
        folder: &Path,
        environment: Arc<[(String, String)]>,
    ) -> Result<Option<Vec<u8>>, ProcessError> {
        let program = Program {
            program: self.program.into(),
            arguments: self.arguments.iter().map(Into::into).collect(),
            folder: folder.to_owned(),
            environment,
            timeout: None,
            capture: 0,
            confinement: None,
        };
        let piped = program.start_piped()?;
        drop(piped.input);
        // Standard error is read, too, so that the program does not block.
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let (mut stdout, mut stderr) = (piped.output.take(MAX_BYTES + 1), piped.errors.take(MAX_BYTES));
        let both =
            async { tokio::try_join!(stdout.read_to_end(&mut output), stderr.read_to_end(&mut errors)) };
        let read: Result<_, io::Error> =
            tokio::time::timeout(TIMEOUT, both).await.unwrap_or_else(|late| Err(late.into()));
        drop(piped.process);
        if read.is_err() || output.len() as u64 > MAX_BYTES {
            return Ok(None);
        }
        let png = match self.is_base64 {
            true => STANDARD.decode(output.trim_ascii()).unwrap_or_default(),
            false => output,
        };
        Ok(Some(png).filter(|png| png.starts_with(PNG_SIGNATURE)))
    }
}
