//! What stands on standard input, as a prompt or as a part of one.
mod writer;

use crate::failure::Failure;
use std::{
    io::{ErrorKind, IsTerminal, Read, Write, stderr, stdin},
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

/// More than any model takes: about a million tokens.
pub(super) const MAX: usize = 4 << 20;

/// A pipe that nobody writes to may stay open for ever: without a word within this time the turn begins without it, unless
/// another command of a pipeline is at work.
const PATIENCE: Duration = Duration::from_secs(3);

/// All of standard input.
pub(super) fn whole() -> Result<String, Failure> {
    text(read(Vec::new())?)
}

/// What is piped in, if anything is. Nothing of a terminal, and nothing where nobody writes.
pub(super) fn piped(quiet: bool) -> Result<Option<String>, Failure> {
    if stdin().is_terminal() {
        return Ok(None);
    }
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut first = vec![0; 8 << 10];
        let began = loop {
            match stdin().lock().read(&mut first) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        let began = began.map(|length| first[..length].to_vec());
        let _nobody_waits = sender.send(began);
    });
    let first = receiver.recv_timeout(PATIENCE).or_else(|error| match error {
        RecvTimeoutError::Timeout if writer::is_in_a_pipeline() => {
            receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
        }
        error => Err(error),
    });
    let first = match first {
        // Closed, or never opened.
        Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => return Ok(None),
        Ok(Ok(first)) => first,
        Err(RecvTimeoutError::Timeout) => {
            if !quiet {
                let note = "(nothing came on standard input; going on without it)";
                writeln!(stderr(), "{note}")?;
            }
            return Ok(None);
        }
    };
    let text = text(read(first)?)?;
    Ok((!text.trim().is_empty()).then_some(text))
}

/// A part of a prompt on lines of its own, marked so that nothing in it can end it.
pub(super) fn marked(text: &str) -> String {
    let inside = text.replace("</stdin>", "&lt;/stdin>");
    let newline = if inside.ends_with('\n') { "" } else { "\n" };
    format!("\n\n<stdin bytes=\"{}\">\n{inside}{newline}</stdin>", text.len())
}

/// Reads no more than needed to see that it is too much.
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

/// A prompt that no model takes.
pub(super) fn too_long(how: &str) -> Failure {
    let most = MAX >> 20;
    Failure::usage(format!("the prompt {how}, and no model takes more than {most} MB"))
        .hint("put it into a file and let the agent read what it needs")
}
