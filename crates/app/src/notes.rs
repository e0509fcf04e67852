//! [`read`] and [`FolderNotes`]: the instructions for agents: files such as `AGENTS.md` of the user, of the repository,
//! of the workspace and of folders in it, and what they import.
use crate::{
    App,
    config::Places,
    header::Fields,
    source_dir::SourceDir,
    system::{SYSTEMS, System},
    untrusted_file::{self, Warn},
};
use futures::{FutureExt, future::BoxFuture};
use haft_core::{Hooked, Hooks, Moment, SessionId, ToolCall, memory::NOTE_FILES};
use haft_engine::Note;
use parking_lot::Mutex;
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Further files in a folder of a repository, as Claude Code reads them. Git ignores the second one, which is the
/// user's own.
const MORE_FILES: [&str; 2] = [".claude/CLAUDE.md", "CLAUDE.local.md"];
/// The folder with further notes of Claude Code.
const RULES: &str = ".claude/rules";
/// How many files may import each other in a row, as in Claude Code (code.claude.com/docs/en/memory, read 2026-11).
const MAX_IMPORTS: usize = 5;
/// Endings of files that can be imported. The model reads others with a call, which rules decide about.
const IMPORTED: [&str; 4] = ["md", "markdown", "mdc", "txt"];

/// The user's own file, then those from the repository's root down to `workspace`. What a file imports follows it.
pub(crate) fn read(places: &Places, workspace: &Path, warn: Warn<'_>) -> Vec<Note> {
    let root = root(workspace);
    let mut reader = Reader { places, workspace, root, warn, seen: HashSet::new(), notes: Vec::new() };
    let own = SYSTEMS.iter().filter_map(|row| Some(places.folder_of(row.system)?.join(row.notes)));
    own.map(|file| reader.add(&file, None)).find(|is_read| *is_read);
    let folders: Vec<&Path> = workspace.ancestors().take_while(|folder| folder.starts_with(root)).collect();
    folders.into_iter().rev().for_each(|folder| reader.add_folder(folder));
    reader.notes
}

/// The root of the repository around `workspace`, or `workspace` itself.
fn root(workspace: &Path) -> &Path {
    workspace.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(workspace)
}

/// Hooks that also add the notes of folders below the workspace to the first result of a session that is about a file
/// there.
pub(crate) struct FolderNotes {
    hooks: Arc<dyn Hooks>,
    app: App,
    workspace: PathBuf,
    /// The files and folders whose notes a session has been told.
    told: Mutex<HashMap<SessionId, HashSet<PathBuf>>>,
}

impl FolderNotes {
    pub(crate) fn new(hooks: Arc<dyn Hooks>, app: App, workspace: PathBuf) -> Self {
        Self { hooks, app, workspace, told: Mutex::default() }
    }

    /// The notes that `session` was not told yet, of the folders around the files that `call` names or wrote.
    fn of(&self, session: &SessionId, call: &ToolCall, writes: &[PathBuf]) -> Vec<(String, String)> {
        let Self { app, workspace, told, .. } = self;
        let mut told = told.lock();
        let told = told.entry(session.clone()).or_default();
        let named = call.arguments.get("path").and_then(Value::as_str).map(|path| workspace.join(path));
        // The model knows what it wrote or reads itself.
        let files = writes.iter().chain(&named).filter(|path| path.is_file());
        told.extend(files.filter_map(|file| file.canonicalize().ok()));
        let warn = |warning| app.warn(warning);
        let (places, root, seen) = (&app.places, root(workspace), std::mem::take(told));
        let mut reader = Reader { places, workspace, root, warn: &warn, seen, notes: Vec::new() };
        for path in writes.iter().chain(&named) {
            let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
            let Some(Ok(folder)) = folder.map(Path::canonicalize) else { continue };
            let below = folder.ancestors().take_while(|folder| folder != workspace);
            let below: Vec<&Path> = below.filter(|folder| folder.starts_with(workspace)).collect();
            for folder in below.into_iter().rev() {
                if reader.seen.insert(folder.to_owned()) {
                    reader.add_folder(folder);
                }
            }
        }
        *told = reader.seen;
        reader.notes.into_iter().map(|Note { file, text }| (file, text)).collect()
    }
}

impl Hooks for FolderNotes {
    fn hear<'a>(&'a self, session: &'a SessionId, moment: Moment<'a>) -> BoxFuture<'a, Hooked> {
        let heard = async move {
            let hooked = self.hooks.hear(session, moment).await;
            match moment {
                Moment::AfterCall { call, writes, result } if result.error.is_none() => {
                    Hooked { notes: self.of(session, call, writes), ..hooked }
                }
                _ => hooked,
            }
        };
        heard.boxed()
    }
}

/// Reads notes, each file once.
struct Reader<'a> {
    places: &'a Places,
    workspace: &'a Path,
    /// The root of the repository around `workspace`, or `workspace` itself.
    root: &'a Path,
    warn: Warn<'a>,
    seen: HashSet<PathBuf>,
    notes: Vec<Note>,
}

impl Reader<'_> {
    /// Adds the files of a folder of the repository.
    fn add_folder(&mut self, folder: &Path) {
        let within = Some(self.root);
        NOTE_FILES.iter().map(|name| self.add(&folder.join(name), within)).find(|is_read| *is_read);
        for name in MORE_FILES {
            self.add(&folder.join(name), within);
        }
        self.add_rules(folder.join(RULES));
    }

    /// Adds a file and what it imports. Returns whether it could be read.
    fn add(&mut self, file: &Path, within: Option<&Path>) -> bool {
        let Some(text) = untrusted_file::text(file, within, self.warn) else { return false };
        let takes_imports = file.file_name().is_none_or(|name| name != NOTE_FILES[0]);
        self.add_text(file, String::new(), text.clone());
        if takes_imports {
            self.add_imports(file, within, &text, 0);
        }
        true
    }

    fn add_text(&mut self, file: &Path, about: String, text: String) {
        if self.seen.insert(file.canonicalize().unwrap_or_else(|_| file.to_owned())) {
            self.notes.push(Note { file: format!("{}{about}", self.shown(file)), text });
        }
    }

    fn add_imports(&mut self, importing: &Path, within: Option<&Path>, text: &str, depth: usize) {
        let folder = importing.parent().unwrap_or(importing);
        for name in imports(text) {
            let file = folder.join(self.places.named(name));
            let is_text =
                file.extension().is_some_and(|ending| IMPORTED.iter().any(|known| ending == *known));
            let is_seen = file.canonicalize().is_ok_and(|real| self.seen.contains(&real));
            if depth == MAX_IMPORTS || !is_text || is_seen {
                continue;
            }
            if let Some(text) = untrusted_file::text(&file, within, self.warn) {
                self.add_text(&file, String::new(), text.clone());
                self.add_imports(&file, within, &text, depth + 1);
            }
        }
    }

    /// Adds the files of `folder`. The files that one is about, if its header names some, are shown with its name.
    fn add_rules(&mut self, folder: PathBuf) {
        let within = Some(self.root.to_owned());
        let rules = SourceDir { folder, within, system: System::Claude, plugin: None };
        for (_, file) in rules.files("md") {
            let Some(text) = untrusted_file::text(&file, Some(self.root), self.warn) else { continue };
            let (paths, below) = match Fields::of(&text) {
                Ok((mut fields, below)) => (fields.value("paths"), below.to_owned()),
                Err(_) => (None, text),
            };
            let about = match paths {
                Some(Value::String(paths)) => format!(" (for {paths})"),
                Some(Value::Array(paths)) => {
                    let paths: Vec<&str> = paths.iter().filter_map(Value::as_str).collect();
                    format!(" (for {})", paths.join(", "))
                }
                _ => String::new(),
            };
            self.add_text(&file, about, below.clone());
            self.add_imports(&file, Some(self.root), &below, 0);
        }
    }

    /// The name of a file as the model is shown it: for a file of the repository, relative to the workspace.
    fn shown(&self, file: &Path) -> String {
        let up = self.workspace.ancestors().take_while(|folder| folder.starts_with(self.root));
        let inside = up.enumerate().find_map(|(up, folder)| Some((up, file.strip_prefix(folder).ok()?)));
        match inside {
            Some((up, inside)) => format!("{}{}", "../".repeat(up), inside.display()),
            None => file.display().to_string(),
        }
    }
}

/// The paths that a text imports: words that begin with `@`, outside of code.
fn imports(text: &str) -> Vec<&str> {
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = ["```", "~~~"].iter().any(|fence| line.trim_start().starts_with(fence));
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    let prose = lines.flat_map(|line| line.split('`').step_by(2));
    let names = prose.flat_map(str::split_whitespace).filter_map(|word| word.strip_prefix('@'));
    names.map(|name| name.trim_end_matches(['.', ',', ';', ':', '!', '?', ')'])).collect()
}
