//! [`FILE`], [`FOLDER`] and others: other names of parameters that several tools have. A tool adds those that only it has.

/// Other names of a parameter: the name in the schema, then what models of other products call it.
pub(crate) type Alias = (&'static str, &'static [&'static str]);

pub(crate) const FILE: Alias =
    ("path", &["file_path", "filePath", "filepath", "filename", "file", "absolute_path", "target_file"]);

pub(crate) const FOLDER: Alias = (
    "path",
    &[
        "dir_path",
        "directory",
        "directory_path",
        "folder",
        "dir",
        "cwd",
        "target_directory",
        "relative_workspace_path",
    ],
);

pub(crate) const LIMIT: Alias = ("limit", &["head_limit", "max_results"]);

/// Also what is ignored.
pub(crate) const ALL: Alias = ("all", &["hidden", "show_hidden", "no_ignore"]);

pub(crate) const ACTION: Alias = ("action", &["operation", "command", "mode"]);
