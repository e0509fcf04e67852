//! [`Editor`]: opens a text in the editor that the user has chosen.
use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

/// The error if no editor is configured.
pub(crate) const NO_EDITOR: &str = "no editor: set VISUAL or EDITOR, e.g. `export EDITOR=nano`";
/// What a proposed file is called in errors.
pub(crate) const EDITED_FILE: &str = "the proposed file";
/// Longer endings of file names tell an editor nothing.
const MAX_ENDING_LENGTH: usize = 10;

/// The editor of a user, and where it gets its files.
#[derive(Clone, Debug)]
pub struct Editor {
    /// The command, as `VISUAL` and `EDITOR` name it; a shell reads it.
    pub command: String,
    /// A folder of the user's own for files that last a moment.
    pub scratch: PathBuf,
}

impl Editor {
    /// Returns `text` as the user leaves it, once the editor has ended. `what` names the text in errors; `like` is a file with
    /// the same kind of text: editors look at the ending of its name. The editor gets the terminal of the process.
    ///
    /// # Errors
    /// Says why there is no text, e.g., because the editor failed.
    pub(crate) fn edit(&self, what: &str, text: &str, like: &Path) -> Result<String, String> {
        let failed = |why: String| format!("cannot edit {what} with `{}`: {why}", self.command);
        match self.in_a_file(text, &file_name(like)) {
            Ok((status, _)) if !status.success() => Err(failed(format!("it ended with {status}"))),
            Ok((_, text)) => Ok(text),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// Lets the editor work on a file that only this user can read, and takes it away.
    fn in_a_file(&self, text: &str, name: &str) -> io::Result<(ExitStatus, String)> {
        let folder = self.scratch.join(format!("edit-{}", std::process::id()));
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let file = folder.join(name);
        let edited = fs::write(&file, text)
            .and_then(|()| self.run(&file))
            .and_then(|status| Ok((status, fs::read_to_string(&file)?)));
        let _what_is_left_is_only_the_users = fs::remove_dir_all(&folder);
        edited
    }

    /// Runs the editor as Git does: the variable may hold options.
    fn run(&self, file: &Path) -> io::Result<ExitStatus> {
        let command = &self.command;
        Command::new("sh").arg("-c").arg(format!("{command} \"$@\"")).arg(command).arg(file).status()
    }
}

/// A harmless name with the ending of `like`.
fn file_name(like: &Path) -> String {
    let ending = like.extension().and_then(|ending| ending.to_str()).filter(|ending| {
        ending.len() <= MAX_ENDING_LENGTH && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    ending.map_or("text".to_owned(), |ending| format!("text.{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_sees_the_kind_of_file_and_no_hostile_name() {
        let table = [
            ("src/a.rs", "text.rs"),
            ("Makefile", "text"),
            ("a.r\u{1b}[2Js", "text"),
            ("a.$(touch x)", "text"),
            ("a.averyveryverylongending", "text"),
        ];
        for (like, expected) in table {
            assert_eq!(file_name(Path::new(like)), expected, "{like:?}");
        }
    }

    #[test]
    fn what_the_editor_saved_comes_back_and_its_file_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let table = [
            ("true", Ok("one\n")),
            ("sed -i s/one/two/", Ok("two\n")),
            ("false", Err("cannot edit it with `false`: it ended with exit status: 1")),
        ];
        for (command, expected) in table {
            let editor = Editor { command: command.into(), scratch: folder.path().to_owned() };
            let edited = editor.edit("it", "one\n", Path::new("a.rs"));
            assert_eq!(edited.as_deref().map_err(String::as_str), expected, "{command}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{command}");
        }
    }
}
