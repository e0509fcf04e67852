//! [`FILE`], [`FOLDER`] and others: aliases of parameters that several tools have. A tool adds those of its own
//! parameters.

/// Aliases of a parameter: the name in the schema, then the names that models know from other products.
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

/// Whether to include hidden and ignored files.
pub(crate) const ALL: Alias = ("all", &["hidden", "show_hidden", "no_ignore"]);

pub(crate) const ACTION: Alias = ("action", &["operation", "command", "mode"]);
