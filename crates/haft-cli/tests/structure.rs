//! No modules of a crate use each other in a circle, so that each can be read without the others; and the folders of the
//! engine use those alone that stand below them in the table of `ARCHITECTURE.md`.
//!
//! A module uses another one where a path in it leads there: written out, imported, or handed on by a `pub use` on the way.
//! A module and those that lie in it may use each other: they are one thing, told in parts.
//!
//! And what `CONTRIBUTING.md` shows as changes can be applied to the sources as they are; that they compile and work, a slower
//! test says.
//!
//! A binary of its own: `make check` runs it, and compiles no other test of the binary for it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use syn::{
    Attribute, Item, ItemMod, ItemUse, UseTree, Visibility,
    visit::{self, Visit},
};

#[test]
fn no_modules_use_each_other_in_a_circle() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut circles = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let found = Crate::read(&folder.join("src")).circles();
        circles.extend(found.iter().map(|circle| format!("{name}: {}", circle.join(" "))));
    }
    assert!(circles.is_empty(), "{} circles of modules:\n{}", circles.len(), circles.join("\n"));
}

#[test]
fn no_folder_of_the_engine_uses_one_that_stands_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let table = text.split_once("Inside `engine` each folder is a floor").unwrap().1;
    let rows =
        table.lines().skip_while(|line| !line.starts_with("| `")).take_while(|line| line.starts_with("| `"));
    let floors: Vec<&str> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
    let floor =
        |module: &Module| floors.iter().position(|name| module.first().is_some_and(|first| first == name));
    let engine = Crate::read(&root.join("crates/engine/src"));
    let mut wrong = Vec::new();
    for (module, uses) in engine.edges() {
        let Some(own) = floor(module) else { continue };
        // What is not in the table stands on top.
        let above = uses.into_iter().filter(|used| floor(used).is_none_or(|other| other > own));
        wrong.extend(above.map(|used| format!("{} uses {}", module.join("::"), used.join("::"))));
    }
    assert!(floors.len() > 5, "the table was not found: {floors:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_the_guide_to_contributing_shows_can_be_applied() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let changes: Vec<&str> =
        page.split("```diff\n").skip(1).map(|rest| rest.split_once("```").unwrap().0).collect();
    assert!(!changes.is_empty(), "{page}");
    for change in changes {
        let mut apply = Command::new("git");
        apply.args(["apply", "--check", "-"]).current_dir(&root).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut apply = apply.spawn().unwrap();
        apply.stdin.take().unwrap().write_all(change.as_bytes()).unwrap();
        let applied = apply.wait_with_output().unwrap();
        assert!(applied.status.success(), "{change}\n{}", String::from_utf8_lossy(&applied.stderr));
    }
}

#[test]
fn a_circle_is_found_however_a_module_is_named() {
    let circle_of = |sources: &[(&str, &str)]| Crate::of(sources).circles();
    let table = [
        ("imports", "use crate::b::B;", "use super::a::A;"),
        ("paths in a body", "fn f() { crate::b::g() }", "fn g() -> crate::a::A { loop {} }"),
        ("names that the crate hands on", "use crate::B;", "use crate::{A, C as D};"),
        ("a module as a whole", "use crate::b::*;", "use crate::a;"),
        ("a test is no use, its siblings are", "use crate::b;", "mod x { use super::super::a::A; }"),
    ];
    for (what, a, b) in table {
        let root = "mod a; mod b; pub use a::A; pub use b::{B, C};";
        assert_eq!(circle_of(&[("", root), ("a", a), ("b", b)]), [["a", "b"]], "{what}");
    }
    let tests = "#[cfg(test)] mod tests { use crate::a; }";
    assert!(circle_of(&[("a", "use crate::b;"), ("b", tests)]).is_empty(), "tests may use what they want");
    let inside = [("a", "mod c; use c::C;"), ("a::c", "use super::A;")];
    assert!(circle_of(&inside).is_empty(), "a module and what lies in it are one thing");
}

/// The path of a module inside its crate: `["tool", "schema"]`. The crate's root is empty.
type Module = Vec<String>;

/// The modules of a crate that have files of their own, without their tests.
struct Crate {
    files: BTreeMap<Module, syn::File>,
}

impl Crate {
    fn read(source: &Path) -> Self {
        let parsed = rust_files(source).into_iter().filter_map(|path| {
            let module = module_in(path.strip_prefix(source).unwrap())?;
            let text = fs::read_to_string(&path).unwrap();
            Some((
                module,
                syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
            ))
        });
        Self { files: parsed.collect() }
    }

    /// A crate of modules with these paths and texts.
    fn of(sources: &[(&str, &str)]) -> Self {
        let parsed = sources.iter().map(|(path, text)| {
            let module = path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
            (module, syn::parse_file(text).unwrap())
        });
        Self { files: parsed.collect() }
    }

    /// Sets of modules that use each other, directly or through others.
    fn circles(&self) -> Vec<Vec<String>> {
        let edges = self.edges();
        let reached: BTreeMap<&Module, BTreeSet<&Module>> =
            edges.keys().map(|module| (*module, reach(&edges, module))).collect();
        let mut circles: Vec<Vec<String>> = Vec::new();
        for (module, seen) in &reached {
            let circle: Vec<String> = seen
                .iter()
                .filter(|other| reached[*other].contains(*module))
                .map(|other| other.join("::"))
                .collect();
            if circle.len() > 1 && !circles.contains(&circle) {
                circles.push(circle);
            }
        }
        circles
    }

    /// Which module uses which other one, where neither lies in the other.
    fn edges(&self) -> BTreeMap<&Module, BTreeSet<&Module>> {
        let exports = self.exports();
        let used_by = |module: &Module, file| {
            let mut paths = Paths { module: module.clone(), found: Vec::new() };
            paths.visit_file(file);
            let used = paths.found.iter().filter_map(|path| self.module_of(path, &exports));
            used.filter(|used| !used.starts_with(module) && !module.starts_with(used)).collect()
        };
        self.files.iter().map(|(module, file)| (module, used_by(module, file))).collect()
    }

    /// The names that a module hands on from another one, and where they come from.
    fn exports(&self) -> BTreeMap<Module, Module> {
        let mut exports = BTreeMap::new();
        for (module, file) in &self.files {
            for item in &file.items {
                let Item::Use(item) = item else { continue };
                if matches!(item.vis, Visibility::Inherited) {
                    continue;
                }
                for (name, path) in imports(&item.tree) {
                    let from = absolute(module, &path).unwrap_or_else(|| [module.clone(), path].concat());
                    exports.insert([module.clone(), vec![name]].concat(), from);
                }
            }
        }
        exports
    }

    /// The module in which the item at `path` is, wherever it was handed on.
    fn module_of(&self, path: &Module, exports: &BTreeMap<Module, Module>) -> Option<&Module> {
        let mut path = path.clone();
        // A name that is handed on may be handed on again.
        for _ in 0..4 {
            let from = (1..=path.len()).rev().find_map(|end| {
                let from = exports.get(&path[..end]).filter(|from| from.as_slice() != &path[..end])?;
                Some([from, &path[end..]].concat())
            });
            match from {
                Some(from) => path = from,
                None => break,
            }
        }
        (1..=path.len())
            .rev()
            .find_map(|end| self.files.get_key_value(&path[..end]).map(|(module, _)| module))
    }
}

/// All modules that `from` uses, directly or through others.
fn reach<'a>(edges: &BTreeMap<&'a Module, BTreeSet<&'a Module>>, from: &'a Module) -> BTreeSet<&'a Module> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(next) = open.pop() {
        open.extend(edges.get(next).into_iter().flatten().filter(|used| seen.insert(**used)));
    }
    seen
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
}

/// The module that the file at `path` holds; none for tests.
fn module_in(path: &Path) -> Option<Module> {
    let names = path.with_extension("");
    let mut module: Module = names.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
    match module.last()?.as_str() {
        "tests" => return None,
        "mod" | "lib" | "main" => _ = module.pop(),
        _ => {}
    }
    Some(module)
}

/// Collects the paths in a file that begin in its crate.
struct Paths {
    module: Module,
    found: Vec<Module>,
}

impl<'a> Visit<'a> for Paths {
    fn visit_item(&mut self, item: &'a Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        let paths = imports(&item.tree).into_iter().filter_map(|(_, path)| absolute(&self.module, &path));
        self.found.extend(paths);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.found.extend(absolute(&self.module, &names));
        visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }
}

/// The path from the crate's root, where `path` in `module` begins with `crate`, `self` or `super`.
fn absolute(module: &[String], path: &[String]) -> Option<Module> {
    let (first, mut rest) = path.split_first()?;
    let mut base = match first.as_str() {
        "crate" => Vec::new(),
        "self" => module.to_vec(),
        "super" => module.split_last()?.1.to_vec(),
        _ => return None,
    };
    while let Some(behind) = rest.strip_prefix(&["super".to_owned()]) {
        base.pop()?;
        rest = behind;
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

/// Blocks of code in comments of documentation that Rust would run as tests.
fn examples(text: &str) -> usize {
    let lines = text.lines().map(str::trim_start);
    let comments = lines.filter_map(|line| line.strip_prefix("///").or_else(|| line.strip_prefix("//!")));
    let fences = comments.filter_map(|comment| comment.trim_start().strip_prefix("```"));
    // Each second one ends a block.
    let is_rust = |language: &&str| ["", "rust", "no_run", "should_panic"].iter().any(|own| language == own);
    fences.step_by(2).filter(is_rust).count()
}

/// Building a crate for its examples takes seconds, and most have none.
#[test]
fn a_crate_whose_examples_are_not_tested_has_none() {
    assert_eq!(examples("/// ```\n/// a();\n/// ```\n//! ```text\n//! b\n//! ```\nfn a() {}\n"), 1);
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut untested = 0;
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        if !manifest.contains("\ndoctest = false\n") {
            continue;
        }
        untested += 1;
        let mut folders = vec![folder.join("src")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let found = examples(&fs::read_to_string(&path).unwrap());
                    assert_eq!(found, 0, "{} has an example, and its crate tests none", path.display());
                }
            }
        }
    }
    assert!(untested >= 20, "{untested}");
}

/// What a `use` brings in: the name, and its path. All that `*` brings in is one path, to where it comes from.
fn imports(tree: &UseTree) -> Vec<(String, Vec<String>)> {
    match tree {
        UseTree::Path(path) => {
            let prefix = path.ident.to_string();
            let within = imports(&path.tree).into_iter();
            let prefixed = within.map(|(name, rest)| {
                let name = if rest.is_empty() { prefix.clone() } else { name };
                (name, [vec![prefix.clone()], rest].concat())
            });
            prefixed.collect()
        }
        UseTree::Group(group) => group.items.iter().flat_map(imports).collect(),
        UseTree::Name(name) if name.ident == "self" => vec![("self".into(), Vec::new())],
        UseTree::Name(name) => vec![(name.ident.to_string(), vec![name.ident.to_string()])],
        UseTree::Rename(name) => vec![(name.rename.to_string(), vec![name.ident.to_string()])],
        UseTree::Glob(_) => vec![("*".into(), Vec::new())],
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        _ => &[],
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "test")
    })
}
