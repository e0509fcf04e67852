//! [`whole`]: reads the output of a command that was too long for its result, and is stored in a file of the session.
use haft_core::ToolResult;
use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

/// Maximum bytes that are shown, from the end of the file. Layout takes many times as much memory.
const MAX_SHOWN_BYTES: u64 = 8 << 20;

/// All output of the command of `result`, and how it ended; `None` if the session's `folder` has no file with more than
/// the result.
pub(crate) fn whole(result: &ToolResult, folder: &Path) -> Option<String> {
    let path = result.command()?.output_file?;
    // The author of a result, such as an MCP server, must not read other files of the user through it.
    let folder = folder.canonicalize().ok()?;
    let path = path.canonicalize().ok().filter(|path| path.starts_with(folder))?;
    let mut file = File::open(&path).ok()?;
    let left_out = file.metadata().ok()?.len().saturating_sub(MAX_SHOWN_BYTES);
    file.seek(SeekFrom::Start(left_out)).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_SHOWN_BYTES).read_to_end(&mut bytes).ok()?;
    let printed = String::from_utf8_lossy(&bytes);
    let note = (left_out > 0).then(|| format!("… {left_out} earlier bytes are in `{}`\n", path.display()));
    let end = result.content.lines().last().filter(|line| line.starts_with("[exit code: "));
    let end = end.map(|end| format!("{}{end}", if printed.ends_with('\n') { "" } else { "\n" }));
    Some([note.unwrap_or_default(), printed.into_owned(), end.unwrap_or_default()].concat())
}
