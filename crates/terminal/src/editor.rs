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
/// Name of a proposed file in errors.
pub(crate) const EDITED_FILE: &str = "the proposed file";
/// Maximum length of a file extension; a longer one means nothing to editors.
const MAX_ENDING_LENGTH: usize = 10;

/// The user's editor, and the folder for its files.
#[derive(Clone, Debug)]
pub struct Editor {
    /// The command line, as `VISUAL` or `EDITOR` has it; a shell interprets it.
    pub command: String,
    /// A private folder of the user for temporary files.
    pub scratch: PathBuf,
}

impl Editor {
    /// Opens `text` in the editor, and returns it as the user leaves it. `what` names the text in errors; `like` is a
    /// file with the same kind of text, since editors use its extension. The editor gets the terminal of the process.
    ///
    /// # Errors
    /// If there is no text, with the reason, e.g., that the editor failed.
    pub(crate) fn edit(&self, what: &str, text: &str, like: &Path) -> Result<String, String> {
        let failed = |why: String| format!("cannot edit {what} with `{}`: {why}", self.command);
        match self.in_a_file(text, &file_name(like)) {
            Ok((status, _)) if !status.success() => Err(failed(format!("it ended with {status}"))),
            Ok((_, text)) => Ok(text),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// Runs the editor on a file that only this user can read, and removes the file.
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

    /// Runs the editor through a shell, as Git does: the variable may hold options.
    fn run(&self, file: &Path) -> io::Result<ExitStatus> {
        let command = &self.command;
        Command::new("sh").arg("-c").arg(format!("{command} \"$@\"")).arg(command).arg(file).status()
    }
}

/// A safe file name with the extension of `like`.
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
