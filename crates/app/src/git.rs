//! [`git`]: Git for Haft's own use, in a repository that is not trusted.
use std::{
    ffi::OsStr,
    path::Path,
    process::{Command, Stdio},
};

/// No hook of the repository and no program that its settings name runs, and nothing of ours that looks like a key is told.
pub(crate) fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).stdin(Stdio::null()).env_clear();
    for name in ["PATH", "HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "TMPDIR"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command.envs([("LC_ALL", "C"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_ALLOW_PROTOCOL", "none")]);
    let off = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "submodule.recurse=false", "gc.auto=0"];
    command.args(off.iter().flat_map(|setting| ["-c", setting]));
    command
}

/// What Git prints, without the last line end; `None` if it fails.
pub(crate) fn said(folder: &Path, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Option<String> {
    let output = git(folder).args(words).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// Like [`git`], for a command that may also read repositories of this machine.
pub(crate) fn local(folder: &Path) -> Command {
    let mut command = git(folder);
    command.env("GIT_ALLOW_PROTOCOL", "file");
    command
}
