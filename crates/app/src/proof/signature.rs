//! [`sign`] and [`signer`]: signatures by SSH keys, made and checked by `ssh-keygen`, as Git does it.
use super::Flaw;
use crate::Failure;
use std::{
    io::{self, Write},
    path::Path,
    process::{Command, Output, Stdio},
};
use tempfile::NamedTempFile;

/// The namespace of signatures: a signature of another kind of content is not accepted.
const NAMESPACE: &str = "haft-bundle";

/// Signs `content` with the key in the file `key`. If that is a public key, the SSH agent signs.
///
/// # Errors
///
/// If `ssh-keygen` cannot be started, or cannot sign.
pub(super) fn sign(content: &[u8], key: &Path) -> Result<Vec<u8>, Failure> {
    let output = ssh_keygen(&["-Y", "sign", "-n", NAMESPACE, "-f", &text(key)?], content)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(Failure::failed(format!("cannot sign with `{}`: {}", key.display(), said(&output.stderr))))
}

/// Returns the owner of the key that signed `content`: the key's name in the file `signers`, otherwise its fingerprint.
///
/// # Errors
///
/// If `ssh-keygen` cannot be run. The inner error is returned if the signature is invalid, or `signers` does not name
/// the key.
pub(super) fn signer(
    content: &[u8],
    signature: &[u8],
    signers: Option<&Path>,
) -> Result<Result<String, Flaw>, Failure> {
    let mut file = NamedTempFile::new()?;
    file.write_all(signature)?;
    let file = text(file.path())?;
    let checked = ssh_keygen(&["-Y", "check-novalidate", "-n", NAMESPACE, "-s", &file], content)?;
    if !checked.status.success() {
        return Ok(Err(Flaw::Signature(said(&[checked.stdout, checked.stderr].concat()))));
    }
    let key = said(&checked.stdout);
    let key = key.split_once(" with ").map_or(key.as_str(), |(_, key)| key).to_owned();
    let Some(signers) = signers else { return Ok(Ok(key)) };
    let list = text(signers)?;
    let found = ssh_keygen(&["-Y", "find-principals", "-f", &list, "-s", &file], &[])?;
    let name = String::from_utf8_lossy(&found.stdout).lines().next().map(str::to_owned);
    let unknown = || Flaw::Signer { key: key.clone(), signers: list.clone() };
    let Some(name) = name.filter(|_| found.status.success()) else { return Ok(Err(unknown())) };
    let words = ["-Y", "verify", "-f", &list, "-I", &name, "-n", NAMESPACE, "-s", &file];
    let verified = ssh_keygen(&words, content)?;
    Ok(if verified.status.success() { Ok(format!("{name}, with {key}")) } else { Err(unknown()) })
}

/// Runs `ssh-keygen` with `input` on its standard input. It may ask for a passphrase on the terminal, and use the SSH
/// agent.
fn ssh_keygen(words: &[&str], input: &[u8]) -> Result<Output, Failure> {
    let run = || -> io::Result<Output> {
        let mut command = Command::new("ssh-keygen");
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        // A program that fails at once reads nothing; its own error is reported.
        let _closed = child.stdin.take().map(|mut stdin| stdin.write_all(input));
        child.wait_with_output()
    };
    run().map_err(|error| {
        Failure::failed(format!("cannot start `ssh-keygen`: {error}"))
            .hint("install OpenSSH's client; signatures are made and checked with it")
    })
}

fn text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::usage(format!("cannot use `{}`: its name is not UTF-8", path.display())))
}

/// The last line of its output.
fn said(printed: &[u8]) -> String {
    let printed = String::from_utf8_lossy(printed);
    printed.trim_end().lines().next_back().unwrap_or("it says no reason").to_owned()
}
