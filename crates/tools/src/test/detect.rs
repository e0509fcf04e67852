//! [`command`]: detects the test runner of a project by its files.
use super::runner::{Command, Framework};
use crate::files::text_of;
use haft_core::{ToolError, ToolErrorKind};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The command for the tests at `start`, a file or folder. The project is searched for up to `root`.
pub(super) fn command(
    root: &Path,
    start: &Path,
    framework: Option<Framework>,
    filter: Option<&str>,
) -> Result<Command, ToolError> {
    let metadata = start.metadata().map_err(|error| {
        let message = format!("cannot run the tests in `{}`: {error}", start.display());
        ToolError::new(ToolErrorKind::User, message).hint("leave out `path` to run all of them")
    })?;
    let first = if metadata.is_dir() { start } else { start.parent().unwrap_or(root) };
    let mut folders = first.ancestors().take_while(|folder| folder.starts_with(root) || *folder == first);
    let found = match framework {
        // The project file of the requested framework may be in a folder above; otherwise, the framework starts where
        // the tests are.
        Some(wanted) => {
            let home = folders.find(|folder| frameworks_in(folder).contains(&wanted));
            (home.unwrap_or(first).to_owned(), wanted)
        }
        None => {
            let found = folders.map(|folder| (folder, frameworks_in(folder)));
            match found.into_iter().find(|(_, found)| !found.is_empty()) {
                Some((folder, found)) => (folder.to_owned(), one_of(&found, start)?),
                // Tests without a project file: modules are imported relative to `root`.
                None if has_python_tests(first) => (root.to_owned(), Framework::Pytest),
                None => return Err(none(first)),
            }
        }
    };
    if found.1 == Framework::Npm && (filter.is_some() || *start != *found.0) {
        return Err(whole_only(&found.0));
    }
    Ok(build(found.0, found.1, start, first, filter))
}

/// Refuses to run a part of the tests, because it is unknown how to select it in the project's script.
fn whole_only(home: &Path) -> ToolError {
    let file = home.join("package.json");
    let message = format!(
        "cannot run a part of the tests: the script `test` of `{}` runs no test runner that is known",
        file.display()
    );
    ToolError::new(ToolErrorKind::User, message).hint("leave out `path` and `filter`, or use `bash`")
}

fn build(home: PathBuf, framework: Framework, start: &Path, first: &Path, filter: Option<&str>) -> Command {
    let below = start.strip_prefix(&home).ok().filter(|path| !path.as_os_str().is_empty());
    let path = below.map(|path| path.display().to_string());
    let arguments = |path: Option<&str>| framework.arguments(path, filter);
    match framework {
        // Cargo works by package, and Go by folder: both run where the tests are.
        Framework::Cargo => {
            let mut arguments = arguments(None);
            if let Some(name) = test_target(start) {
                arguments.splice(1..1, ["--test".to_owned(), name]);
            }
            Command { framework, program: "cargo".into(), arguments, folder: first.to_owned() }
        }
        Framework::Go => {
            let one = (start != first).then_some(".");
            Command { framework, program: "go".into(), arguments: arguments(one), folder: first.to_owned() }
        }
        Framework::Pytest => {
            let program = python(&home);
            Command { framework, program, arguments: arguments(path.as_deref()), folder: home }
        }
        Framework::Node if !has_script(&home, framework) => {
            let arguments = arguments(path.as_deref());
            Command { framework, program: "node".into(), arguments, folder: home }
        }
        Framework::Npm => {
            Command { framework, program: "npm".into(), arguments: arguments(None), folder: home }
        }
        _ => npm(home, framework, arguments(path.as_deref())),
    }
}

/// The name of a test target: `tests/NAME.rs` of a package is a target of its own.
fn test_target(start: &Path) -> Option<String> {
    let folder = start.parent()?;
    let is_target = start.extension()? == "rs"
        && folder.file_name()? == "tests"
        && folder.parent()?.join("Cargo.toml").is_file();
    is_target.then(|| start.file_stem().map(|name| name.to_string_lossy().into_owned()))?
}

/// Uses the project's own script if it runs this test runner, so that the script's options apply; otherwise the runner
/// itself.
fn npm(home: PathBuf, framework: Framework, arguments: Vec<String>) -> Command {
    let name = framework.words();
    if has_script(&home, framework) {
        let script = script(&home).unwrap_or_default();
        let given = |word: &String| script.split_whitespace().any(|known| known == word);
        let more = arguments.into_iter().filter(|word| !given(word));
        let words = ["test", "--silent", "--"].map(str::to_owned);
        let arguments = words.into_iter().chain(more).collect();
        return Command { framework, program: "npm".into(), arguments, folder: home };
    }
    let words = ["--no-install".to_owned(), name.to_owned()];
    let arguments = words.into_iter().chain(arguments).collect();
    Command { framework, program: "npx".into(), arguments, folder: home }
}

fn has_script(home: &Path, framework: Framework) -> bool {
    script(home).is_some_and(|script| script.contains(framework.words()))
}

/// The script `test` of `package.json`.
fn script(home: &Path) -> Option<String> {
    Some(package(home)?["scripts"]["test"].as_str()?.to_owned())
}

fn package(home: &Path) -> Option<Value> {
    serde_json::from_str(&text_of(&home.join("package.json"))?).ok()
}

/// The Python of the project's virtual environment, if it has one.
fn python(home: &Path) -> String {
    let own = [".venv/bin/python", "venv/bin/python"].map(|path| home.join(path));
    let own = own.iter().find(|path| path.is_file()).map(|path| path.display().to_string());
    own.unwrap_or_else(|| "python3".into())
}

fn frameworks_in(folder: &Path) -> Vec<Framework> {
    let has = |name: &str| folder.join(name).is_file();
    let python = ["pytest.ini", "pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "conftest.py"];
    let mut found = Vec::new();
    if has("Cargo.toml") {
        found.push(Framework::Cargo);
    }
    if has("go.mod") {
        found.push(Framework::Go);
    }
    found.extend(package(folder).and_then(|package| of_package(&package)));
    if python.into_iter().any(has) {
        found.push(Framework::Pytest);
    }
    found
}

/// Detects the framework by the script first, then by the project's dependencies.
fn of_package(package: &Value) -> Option<Framework> {
    let all = [Framework::Vitest, Framework::Jest, Framework::Mocha];
    let script = package["scripts"]["test"].as_str().unwrap_or_default();
    let named = all.into_iter().chain([Framework::Node]).find(|framework| script.contains(framework.words()));
    let depends = |framework: &Framework| {
        let lists = ["devDependencies", "dependencies"];
        lists.iter().any(|list| package[list].get(framework.words()).is_some())
    };
    let other = || (!script.is_empty()).then_some(Framework::Npm);
    named.or_else(|| all.into_iter().find(depends)).or_else(other)
}

/// Maximum number of names in a folder that are searched.
const MAX_SEARCHED: usize = 2_000;

fn has_python_tests(folder: &Path) -> bool {
    let folders = [folder.to_owned(), folder.join("tests"), folder.join("test")];
    let names =
        folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flat_map(|all| all.take(MAX_SEARCHED));
    let mut names = names.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.any(|name| name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py")))
}

/// If there are several, the test file itself may decide.
fn one_of(found: &[Framework], start: &Path) -> Result<Framework, ToolError> {
    let extension = start.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let fits = |framework: &&Framework| match framework {
        Framework::Cargo => extension == "rs",
        Framework::Go => extension == "go",
        Framework::Pytest => extension == "py",
        Framework::Vitest | Framework::Jest | Framework::Mocha | Framework::Node | Framework::Npm => {
            matches!(extension, "js" | "ts" | "jsx" | "tsx" | "mjs" | "cjs" | "mts" | "cts")
        }
    };
    match (found, found.iter().find(fits)) {
        ([only], _) => Ok(*only),
        (_, Some(fitting)) => Ok(*fitting),
        _ => {
            let names: Vec<_> = found.iter().map(|framework| format!("`{}`", framework.words())).collect();
            let message = format!("cannot tell which tests to run: there are {}", names.join(" and "));
            Err(ToolError::new(ToolErrorKind::Validation, message)
                .hint("give a narrower `path`, or `framework`"))
        }
    }
}

fn none(folder: &Path) -> ToolError {
    let message = format!(
        "cannot find tests in `{}`: no project file of cargo, go or pytest, and no script `test` in a `package.json`",
        folder.display()
    );
    ToolError::new(ToolErrorKind::User, message).hint("give `framework` and `path`, or run them with `bash`")
}
