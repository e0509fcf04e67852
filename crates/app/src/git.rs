//! [`git`]: runs Git for Haft's own use, in a repository that is not trusted.
use haft_core::git_settings::{self, FIXED_SETTINGS, options, variables};
use std::{
    ffi::OsStr,
    path::Path,
    process::{Command, Stdio},
};

/// A Git command that runs no hook of the repository and no program that its settings name, and that gets no
/// environment variable which looks like a key.
pub(crate) fn git(folder: &Path) -> Command {
    let list = quiet(folder).args(options(FIXED_SETTINGS)).args(LIST).stderr(Stdio::null()).output();
    let list = String::from_utf8(list.map(|list| list.stdout).unwrap_or_default());
    let mut command = quiet(folder);
    match list {
        Ok(list) => command.envs(variables(git_settings::overrides(&git_settings::settings(&list)))),
        // Settings whose names are not UTF-8 cannot be overridden. With this invalid count, Git fails.
        Err(_) => command.env("GIT_CONFIG_COUNT", "settings that are not UTF-8"),
    };
    command
}

/// Arguments that print the settings of a repository.
const LIST: [&str; 4] = ["config", "--list", "--show-scope", "-z"];

fn quiet(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).stdin(Stdio::null()).env_clear();
    for name in ["PATH", "HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "TMPDIR"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command.envs([("LC_ALL", "C"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_ALLOW_PROTOCOL", "none")]);
    command
}

/// The output of Git without the last newline; `None` if it fails.
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
