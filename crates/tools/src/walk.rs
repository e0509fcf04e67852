//! [`walk`]: visits the files below a folder on all cores, except those that `.gitignore` and similar files exclude.
use crate::{files::Place, watch::Watch};
use haft_core::{ToolContext, ToolError, ToolErrorKind};
use ignore::{WalkBuilder, WalkState, types::Types};
use parking_lot::Mutex;
use std::{
    collections::HashSet,
    ffi::OsStr,
    fs,
    io::ErrorKind,
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

/// The start of a search: a folder, or a single file.
pub(crate) struct Root {
    /// Path of the folder as shown to the model; empty for the workspace.
    pub(crate) name: PathBuf,
    /// Real path of the folder.
    pub(crate) real: PathBuf,
    /// The real path with links followed, for the rules about reading.
    resolved: PathBuf,
    pub(crate) is_file: bool,
}

impl Root {
    /// `verb`: the purpose of the call, for errors.
    pub(crate) fn new(ctx: &ToolContext, path: &Path, verb: &str) -> Result<Self, ToolError> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let real = plain(&ctx.path(path));
        let place = Place::new(ctx, path);
        let found = fs::metadata(&real).map_err(|error| place.cannot(verb, error))?;
        if !found.is_dir() && !found.is_file() {
            return Err(place.cannot(verb, ErrorKind::InvalidInput.into()));
        }
        let name = plain(path);
        let inside = name.strip_prefix(&ctx.live).or_else(|_| name.strip_prefix(&ctx.workspace));
        let name = inside.unwrap_or(&name).to_owned();
        let resolved = ctx.live.join(&name).canonicalize().unwrap_or_else(|_| real.clone());
        Ok(Self { name, real, resolved, is_file: found.is_file() })
    }

    /// Like [`Root::new`], but accepts only a folder.
    pub(crate) fn folder(ctx: &ToolContext, path: &Path, verb: &str) -> Result<Self, ToolError> {
        let root = Self::new(ctx, path, verb)?;
        if !root.is_file {
            return Ok(root);
        }
        let why = format!("cannot {verb} `{}`: it is a file, not a folder", path.display());
        Err(ToolError::new(ToolErrorKind::User, why).hint("name its folder, or look into it with `read`"))
    }

    /// The path, as shown to the model, of the file at `below` in this root.
    pub(crate) fn called(&self, below: &Path) -> String {
        shown(&if below.as_os_str().is_empty() { self.name.clone() } else { self.name.join(below) })
    }

    /// The path as part of a sentence.
    pub(crate) fn said(&self) -> String {
        if self.name.as_os_str().is_empty() {
            "the workspace".into()
        } else {
            format!("`{}`", self.called("".as_ref()))
        }
    }

    pub(crate) fn below<'a>(&self, path: &'a Path) -> &'a Path {
        below(&self.real, path)
    }

    /// Whether a walk may visit a file or folder at a path below this root. `left_out` counts those that it may not
    /// visit.
    fn admits(&self, ctx: &ToolContext, left_out: Arc<AtomicU64>) -> impl Fn(&Path, bool) -> bool + use<> {
        let (readable, real, resolved) = (ctx.readable.clone(), self.real.clone(), self.resolved.clone());
        let is_everything = readable.is_everything();
        move |path, is_folder| {
            if is_everything {
                return true;
            }
            let place = resolved.join(below(&real, path));
            let is_admitted = if is_folder { !readable.excludes(&place) } else { readable.holds(&place) };
            left_out.fetch_add(u64::from(!is_admitted), Relaxed);
            is_admitted
        }
    }
}

/// The part of a path after `root`.
fn below<'a>(root: &Path, path: &'a Path) -> &'a Path {
    let rest = path.as_os_str().as_bytes().get(root.as_os_str().len()..).unwrap_or_default();
    Path::new(OsStr::from_bytes(rest.strip_prefix(b"/").unwrap_or(rest)))
}

/// The path without `.` and duplicate slashes.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// The path in one line, with special characters escaped.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    if !text.contains(char::is_control) {
        return text.into_owned();
    }
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

/// What a walk excludes.
#[derive(Clone, Default)]
pub(crate) struct Rules {
    /// Whether to include names that begin with a dot.
    pub(crate) hidden: bool,
    /// Whether to include files that `.gitignore` and `.ignore` match.
    pub(crate) ignored: bool,
    /// Types of files to include, by extension.
    pub(crate) types: Option<Types>,
}

impl Rules {
    /// The note if nothing was found.
    pub(crate) fn note(&self) -> &'static str {
        match (self.hidden, self.ignored) {
            (true, true) => "",
            (true, false) => " Ignored files were left out; `all` takes them in.",
            _ => " Hidden and ignored files were left out; `all` takes them in.",
        }
    }

    /// A walk that follows no links and ignores the user's settings (`core.excludesFile`, `.git/info/exclude`), so that
    /// the same tree gives the same files. Excludes files that may not be read.
    pub(crate) fn walker(&self, root: &Root, watch: &Watch<'_>) -> WalkBuilder {
        let obeys = !self.ignored && root.real.ancestors().all(has_sound_rules);
        let mut walker = WalkBuilder::new(&root.real);
        walker
            .standard_filters(obeys)
            .git_global(false)
            .git_exclude(false)
            .require_git(false)
            .hidden(!self.hidden);
        let (left_out, admits) = (watch.counter(), root.admits(watch.ctx, watch.forbidden()));
        walker.filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            if entry.depth() == 0 {
                return true;
            }
            if !is_folder {
                return admits(entry.path(), false);
            }
            let is_sound = !obeys || has_sound_rules(entry.path());
            left_out.fetch_add(u64::from(!is_sound), Relaxed);
            is_sound && entry.file_name() != ".git" && admits(entry.path(), true)
        });
        if let Some(types) = &self.types {
            walker.types(types.clone());
        }
        walker
    }
}

/// Maximum bytes of an ignore file.
const MAX_RULES: u64 = 4 * 1024 * 1024;

/// Checks the ignore files of a folder. The walk opens them by itself, and would block forever if one were a pipe or an
/// endless device.
fn has_sound_rules(folder: &Path) -> bool {
    [".gitignore", ".ignore"].iter().all(|name| match fs::metadata(folder.join(name)) {
        Ok(found) => found.is_dir() || found.is_file() && found.len() <= MAX_RULES,
        Err(_) => true,
    })
}

/// Maximum number of threads: more would only wait for each other.
const MAX_THREADS: usize = 12;

/// Calls a visitor with each regular file: its real path, and its path below the root. `visitor` is called once for
/// each thread. The order is random. Ends early when the call is stopped.
pub(crate) fn walk<V>(root: &Root, rules: &Rules, watch: &Watch<'_>, visitor: impl Fn() -> V)
where
    V: FnMut(&Path, &Path) + Send,
{
    if root.is_file {
        return visitor()(&root.real, Path::new(""));
    }
    let shown = Shown::below(root, watch.ctx);
    let threads = thread::available_parallelism().map_or(2, usize::from).clamp(2, MAX_THREADS);
    rules.walker(root, watch).threads(threads).build_parallel().run(|| {
        let (mut visit, shown) = (visitor(), &shown);
        Box::new(move |entry| {
            match entry {
                Ok(entry) if shown.replaces(entry.path()) => {}
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                    visit(entry.path(), root.below(entry.path()));
                }
                Ok(_) => {}
                Err(error) => watch.could_not_read(&error),
            }
            if watch.goes_on() { WalkState::Continue } else { WalkState::Quit }
        })
    });
    let mut visit = visitor();
    shown.files(rules).for_each(|(real, lies)| visit(lies, root.below(real)));
}

/// Files that differ between the view of a call and the walked folder.
pub(crate) struct Shown {
    /// The real path of each file, and where the call's version is.
    files: Vec<(PathBuf, PathBuf)>,
    root: PathBuf,
    /// Files that the walk reached, so that ignore rules do not exclude them.
    met: Mutex<HashSet<PathBuf>>,
}

impl Shown {
    /// Those files below `root` that the call may read.
    pub(crate) fn below(root: &Root, ctx: &ToolContext) -> Self {
        let (mut files, admits) = (ctx.view.shown(), root.admits(ctx, Arc::default()));
        files.retain(|(real, _)| real.starts_with(&root.real) && admits(real, false));
        Self { files, root: root.real.clone(), met: Mutex::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether the call sees another file at `path` than the walked folder has.
    pub(crate) fn replaces(&self, path: &Path) -> bool {
        let is_shown = self.files.iter().any(|(real, _)| real == path);
        if is_shown {
            self.met.lock().insert(path.to_owned());
        }
        is_shown
    }

    /// The files to visit after a walk by `rules`, each with its real path and where the call's version is: those that
    /// the walk reached, and those that exist only in the view and would be visited.
    pub(crate) fn files<'a>(&'a self, rules: &'a Rules) -> impl Iterator<Item = (&'a Path, &'a Path)> {
        let is_plain = |real: &Path| {
            let below = real.strip_prefix(&self.root).unwrap_or(real);
            rules.hidden || !below.iter().any(|part| part.as_bytes().starts_with(b"."))
        };
        let is_typed =
            |real: &Path| rules.types.as_ref().is_none_or(|types| !types.matched(real, false).is_ignore());
        let is_visited = move |real: &Path| {
            self.met.lock().contains(real) || !real.exists() && is_plain(real) && is_typed(real)
        };
        let there = self.files.iter().filter(|(_, lies)| lies.is_file());
        let visited = there.filter(move |(real, _)| is_visited(real));
        visited.map(|(real, lies)| (real.as_path(), lies.as_path()))
    }
}
