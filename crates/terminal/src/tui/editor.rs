//! [`edit`]: opens the typed text in the user's own editor.
use super::app::{App, Request};
use crate::host::Surroundings;
use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

impl App {
    /// Hands what is typed to the editor, once this key is done with.
    pub(super) fn edit_outside(&mut self) {
        match self.around.editor {
            Some(_) => self.request = Some(Request::Edit),
            None => self.hint = Some("no editor: set VISUAL or EDITOR, e.g. `export EDITOR=nano`".into()),
        }
    }

    /// Takes in what the editor left.
    pub(super) fn edited(&mut self, edited: Result<String, String>) {
        match edited {
            Ok(text) => self.input.rewrite(&text),
            Err(why) => self.fail(why, Some("the prompt is unchanged".into())),
        }
    }
}

/// Returns `text` as the editor leaves it. The error says why it cannot.
pub(super) async fn edit(around: &Surroundings, text: String) -> Result<String, String> {
    let editor = around.editor.clone().unwrap_or_default();
    let failed = |why: String| format!("cannot edit the prompt with `{editor}`: {why}");
    let (command, folder) = (editor.clone(), around.scratch.clone());
    let edited = tokio::task::spawn_blocking(move || in_a_file(&folder, &text, |file| run(&command, file)));
    match edited.await {
        Ok(Ok((status, _))) if !status.success() => Err(failed(format!("it ended with {status}"))),
        Ok(Ok((_, text))) => Ok(text.trim_end_matches('\n').to_owned()),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// As Git runs editors: the variable may hold options.
fn run(editor: &str, file: &Path) -> io::Result<ExitStatus> {
    Command::new("sh").arg("-c").arg(format!("{editor} \"$@\"")).arg(editor).arg(file).status()
}

/// Lets `edit` work on a file that only this person can read, and takes it away.
fn in_a_file<T>(
    folder: &Path,
    text: &str,
    edit: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<(T, String)> {
    let folder: PathBuf = folder.join(format!("prompt-{}", std::process::id()));
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let file = folder.join("prompt.md");
    let edited = fs::write(&file, text)
        .and_then(|()| edit(&file))
        .and_then(|done| Ok((done, fs::read_to_string(&file)?)));
    let _what_is_left_is_only_the_persons = fs::remove_dir_all(&folder);
    edited
}
