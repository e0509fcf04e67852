//! [`piped`]: reads standard input, as a prompt or as a part of one.
mod writer;

use crate::CliContext;
use haft_app::Failure;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, ioctl_fionread},
};
use std::{
    io::{IsTerminal, Read, Write, stderr, stdin},
    time::Duration,
};

/// Maximum size of standard input, in bytes. It is more than any model takes: about a million tokens.
pub(super) const MAX: usize = 4 << 20;

/// A pipe may stay open forever without input. If none arrives within this time, the turn begins without it, unless
/// another command of a pipeline is running.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(3);

/// All of standard input.
pub(super) fn whole() -> Result<String, Failure> {
    text(read(Vec::new())?)
}

/// The piped input, if any. `None` for a terminal, and if nothing is written.
pub(super) fn piped(cli: &CliContext) -> Result<Option<String>, Failure> {
    if stdin().is_terminal() {
        return Ok(None);
    }
    if !is_written() {
        if !cli.global.quiet {
            writeln!(stderr(), "(no input on stdin; continuing)")?;
        }
        return Ok(None);
    }
    let mut first = vec![0; 8 << 10];
    match stdin().lock().read(&mut first) {
        Ok(length) => first.truncate(length),
        // Standard input is closed, or was never opened.
        Err(_) => return Ok(None),
    }
    let text = text(read(first)?)?;
    Ok((!text.trim().is_empty()).then_some(text))
}

/// Whether there is piped input. Does not read it.
pub(crate) fn has_come() -> bool {
    !stdin().is_terminal() && is_written() && ioctl_fionread(stdin()).is_ok_and(|bytes| bytes > 0)
}

/// Waits for input. Checks again for a writer while none arrives, because a process that this program's parent starts
/// holds all of its pipes for a moment.
fn is_written() -> bool {
    loop {
        if is_there() {
            return true;
        }
        if !writer::is_in_a_pipeline() {
            return false;
        }
    }
}

/// Waits until there is something to read or the end of input, for at most [`FIRST_BYTE_TIMEOUT`].
fn is_there() -> bool {
    let patience = Timespec::try_from(FIRST_BYTE_TIMEOUT).ok();
    loop {
        match poll(&mut [PollFd::new(&stdin(), PollFlags::IN)], patience.as_ref()) {
            Err(Errno::INTR) => {}
            // If waiting fails, reading will report the error.
            ready => return ready != Ok(0),
        }
    }
}

/// A part of a prompt on separate lines, with marks that nothing inside it can end.
pub(super) fn marked(text: &str) -> String {
    let inside = text.replace("</stdin>", "&lt;/stdin>");
    let newline = if inside.ends_with('\n') { "" } else { "\n" };
    format!("\n\n<stdin bytes=\"{}\">\n{inside}{newline}</stdin>", text.len())
}

/// Reads at most one byte more than the maximum.
fn read(mut bytes: Vec<u8>) -> Result<Vec<u8>, Failure> {
    let rest = (MAX + 1).saturating_sub(bytes.len()) as u64;
    stdin().lock().take(rest).read_to_end(&mut bytes)?;
    if bytes.len() > MAX {
        return Err(too_long(&format!("has more than {} MB", MAX >> 20)));
    }
    Ok(bytes)
}

fn text(bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| Failure::usage("the prompt on standard input is not UTF-8"))
}

/// The failure for a prompt that is too long for any model.
pub(super) fn too_long(how: &str) -> Failure {
    let most = MAX >> 20;
    Failure::usage(format!("the prompt {how}, and no model accepts more than {most} MB"))
        .hint("write it to a file and let the agent read what it needs")
}
