//! [`LanguageServer`]: the settings of a language server. [`LspSettings`]: the common settings of all servers of a
//! session.
use crate::program::find;
use haft_core::Stage;
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// A language server: its languages, and how it is started.
#[derive(Clone, Debug, PartialEq)]
pub struct LanguageServer {
    /// Name of the server, for users and in `[lsp.NAME]`.
    pub name: String,
    /// Files that it supports: the file extension without the dot, and the LSP identifier of the language.
    pub files: Vec<(String, String)>,
    /// Files that mark the root of a project. The outermost folder of the workspace that contains one of them is the
    /// server's root; without one, the workspace is.
    pub markers: Vec<String>,
    /// The program: a name to look up in `PATH`, or an absolute path.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Environment variables in addition to those of commands.
    pub environment: Vec<(String, String)>,
    /// `initializationOptions`, and the server's configuration, returned when it asks for it.
    pub options: Value,
    /// Whether it reports when it has loaded the project (`experimental/serverStatus`); no request is sent before.
    pub says_when_ready: bool,
    /// Maximum time for its start and for each answer, in place of Haft's own timeouts.
    pub timeout: Option<Duration>,
    /// Whether the user has configured it, so that the user is told if it does not start.
    pub is_own: bool,
}

impl LanguageServer {
    /// The path of its program: in a folder of the `PATH` of `environment`, or the command itself if it is an absolute
    /// path; `None` if it is not installed. A program of the workspace does not count.
    pub fn program(&self, environment: &[(String, String)], workspace: &Path) -> Option<PathBuf> {
        find(&self.command, environment, workspace)
    }
}

/// The settings of the servers of a session.
pub struct LspSettings {
    /// The servers, in the order in which they are tried: the first installed one is used for a file.
    pub servers: Vec<LanguageServer>,
    /// The workspace: absolute, links followed.
    pub workspace: PathBuf,
    /// The environment of the servers: that of commands.
    pub environment: Arc<[(String, String)]>,
    /// The stage, which determines how commands are confined. Without a confinement, no server starts.
    pub stage: Arc<dyn Stage>,
    /// The folder in which each server gets a folder for its `/tmp`; outside the workspace.
    pub folder: PathBuf,
    /// Called once for each server that stops working.
    pub on_note: Arc<dyn Fn(String) + Send + Sync>,
}

/// A row of [`BUILT_IN`].
pub struct BuiltIn {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    markers: &'static [&'static str],
    command: &'static str,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
    options: fn() -> Value,
    says_when_ready: bool,
}

const PYTHON: &[(&str, &str)] = &[("py", "python"), ("pyi", "python")];
const PYTHON_MARKERS: &[&str] = &["pyproject.toml", "pyrightconfig.json", "setup.py", "setup.cfg"];
const TYPESCRIPT: &[(&str, &str)] = &[
    ("ts", "typescript"),
    ("mts", "typescript"),
    ("cts", "typescript"),
    ("tsx", "typescriptreact"),
    ("js", "javascript"),
    ("mjs", "javascript"),
    ("cjs", "javascript"),
    ("jsx", "javascriptreact"),
];
const C: &[(&str, &str)] = &[
    ("c", "c"),
    ("h", "c"),
    ("cc", "cpp"),
    ("cpp", "cpp"),
    ("cxx", "cpp"),
    ("hh", "cpp"),
    ("hpp", "cpp"),
    ("hxx", "cpp"),
];

/// The servers that Haft knows, one per row.
pub static BUILT_IN: &[BuiltIn] = &[
    // rust-analyzer.github.io/book/configuration, 2026-11. Build scripts, procedural macros and `cargo check` would run
    // code of the project; and `cargo check` sees files on disk only.
    BuiltIn {
        name: "rust-analyzer",
        files: &[("rs", "rust")],
        markers: &["Cargo.toml", "rust-project.json"],
        command: "rust-analyzer",
        arguments: &[],
        environment: &[("CARGO_NET_OFFLINE", "true"), ("CARGO_TARGET_DIR", "/tmp/target")],
        options: || {
            json!({
                "checkOnSave": false,
                "cargo": {"buildScripts": {"enable": false}},
                "procMacro": {"enable": false},
                "cachePriming": {"enable": false},
                "files": {"watcher": "server"},
            })
        },
        says_when_ready: true,
    },
    // go.dev/gopls/settings, 2026-11.
    BuiltIn {
        name: "gopls",
        files: &[("go", "go")],
        markers: &["go.work", "go.mod"],
        command: "gopls",
        arguments: &[],
        environment: &[("GOFLAGS", "-mod=readonly"), ("GOPROXY", "off"), ("GOTOOLCHAIN", "local")],
        options: || json!({"pullDiagnostics": true}),
        says_when_ready: false,
    },
    // docs.basedpyright.com/configuration/language-server-settings, 2026-11.
    BuiltIn {
        name: "basedpyright",
        files: PYTHON,
        markers: PYTHON_MARKERS,
        command: "basedpyright-langserver",
        arguments: &["--stdio"],
        environment: &[],
        options: || json!({}),
        says_when_ready: false,
    },
    // github.com/microsoft/pyright docs/settings.md, 2026-11.
    BuiltIn {
        name: "pyright",
        files: PYTHON,
        markers: PYTHON_MARKERS,
        command: "pyright-langserver",
        arguments: &["--stdio"],
        environment: &[],
        options: || json!({}),
        says_when_ready: false,
    },
    // github.com/typescript-language-server/typescript-language-server docs/configuration.md, 2026-11.
    BuiltIn {
        name: "typescript-language-server",
        files: TYPESCRIPT,
        markers: &["tsconfig.json", "jsconfig.json", "package.json"],
        command: "typescript-language-server",
        arguments: &["--stdio"],
        environment: &[],
        options: || {
            // Without this option, a second server answers from a single file while the first one loads the project.
            json!({"disableAutomaticTypingAcquisition": true, "tsserver": {"useSyntaxServer": "never"}})
        },
        says_when_ready: false,
    },
    // clangd.llvm.org/installation, 2026-11.
    BuiltIn {
        name: "clangd",
        files: C,
        markers: &["compile_commands.json", "compile_flags.txt", ".clangd"],
        command: "clangd",
        arguments: &["--log=error", "--pch-storage=memory"],
        environment: &[],
        options: || json!({}),
        says_when_ready: false,
    },
];

impl BuiltIn {
    /// The row as data that the user's settings can change.
    pub fn server(&self) -> LanguageServer {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let pairs =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        LanguageServer {
            name: self.name.to_owned(),
            files: pairs(self.files),
            markers: owned(self.markers),
            command: self.command.to_owned(),
            arguments: owned(self.arguments),
            environment: pairs(self.environment),
            options: (self.options)(),
            says_when_ready: self.says_when_ready,
            timeout: None,
            is_own: false,
        }
    }
}

impl LanguageServer {
    /// The LSP identifier of the file's language; `None` if the server does not support it.
    pub(crate) fn language_of(&self, path: &Path) -> Option<&str> {
        let ending = path.extension()?.to_str()?;
        self.files.iter().find(|(own, _)| own == ending).map(|(_, language)| language.as_str())
    }

    /// The folder of the project that `path` belongs to: see [`LanguageServer::markers`].
    pub(crate) fn root_of(&self, path: &Path, workspace: &Path) -> PathBuf {
        let folders: Vec<&Path> =
            path.ancestors().skip(1).take_while(|folder| folder.starts_with(workspace)).collect();
        let is_root = |folder: &&&Path| self.markers.iter().any(|marker| folder.join(marker).is_file());
        folders.iter().rev().find(is_root).map_or_else(|| workspace.to_owned(), |folder| folder.to_path_buf())
    }
}
