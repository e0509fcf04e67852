//! [`refresh`]: updates the manual pages and completions that are installed beside a program.
use super::trial;
use crate::config::Environment;
use haft_process::{Exit, Finished};
use std::{
    io::{self, Write},
    path::Path,
};

/// The paths of completions below the prefix of `install.sh`, each with its shell.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/haft"),
    ("zsh", "share/zsh/site-functions/_haft"),
    ("fish", "share/fish/vendor_completions.d/haft.fish"),
];
/// The folder for manual pages, below the prefix.
const PAGES: &str = "share/man/man1";

/// Lets `program`, which is in the `bin` folder of a prefix, write those of its manual pages and completions again that
/// exist there. Returns what could not be written.
pub(super) async fn refresh(program: &Path, environment: &Environment) -> Vec<String> {
    let Some(prefix) = program.parent().and_then(Path::parent) else { return Vec::new() };
    let mut problems = Vec::new();
    for (shell, file) in COMPLETIONS.map(|(shell, file)| (shell, prefix.join(file))) {
        if file.is_file() {
            let printed = printed(program, &["completions", shell], environment).await;
            let written = printed.and_then(|text| write(&file, &text).map_err(|error| error.to_string()));
            problems.extend(written.err().map(|why| stale(&file, &why)));
        }
    }
    let pages = prefix.join(PAGES);
    if pages.join("haft.1").is_file() {
        let folder = pages.to_string_lossy();
        let written = printed(program, &["man", "--to", &folder], environment).await;
        problems.extend(written.err().map(|why| stale(&pages, &why)));
    }
    problems
}

fn stale(file: &Path, why: &str) -> String {
    format!("`{}` is of another version: {why}", file.display())
}

async fn printed(program: &Path, arguments: &[&str], environment: &Environment) -> Result<String, String> {
    match trial::run(program, arguments, environment).await {
        Ok(Finished { exit: Exit::Code(0), stdout, .. }) if stdout.missing_bytes == 0 => Ok(stdout.text),
        Ok(finished) => Err(finished.stderr.text.lines().next().unwrap_or("the program failed").to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Writes the file atomically, with the permissions of the old one.
fn write(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    new.as_file().set_permissions(file.metadata()?.permissions())?;
    new.persist(file).map(|_| ()).map_err(|failed| failed.error)
}
