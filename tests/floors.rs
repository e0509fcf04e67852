//! The floors of the house: which crate may use which, as `ARCHITECTURE.md` draws it.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on has failed")]
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The table of `ARCHITECTURE.md`: a crate, its floor, and what it may use.
fn drawn() -> BTreeMap<String, (u32, BTreeSet<String>)> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let floor = cells.get(1)?.parse().ok()?;
        Some((names(cells[2]).into_iter().next()?, (floor, names(cells[3]))))
    });
    rows.collect()
}

fn names(cell: &str) -> BTreeSet<String> {
    cell.split('`').filter(|name| name.starts_with("haft")).map(str::to_owned).collect()
}

/// Crate, kind of dependency, dependency: only ours.
fn built() -> Vec<(String, String, String)> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut edges = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap().to_owned();
        edges.push((name.clone(), "itself".into(), String::new()));
        for dependency in package["dependencies"].as_array().unwrap() {
            let used = dependency["name"].as_str().unwrap();
            if used.starts_with("haft") {
                let kind = dependency["kind"].as_str().unwrap_or("normal").to_owned();
                edges.push((name.clone(), kind, used.to_owned()));
            }
        }
    }
    edges
}

#[test]
fn no_crate_uses_what_the_picture_does_not_show() {
    let drawn = drawn();
    assert!(drawn.len() > 8, "the table was not found: {drawn:?}");
    for (name, (floor, uses)) in &drawn {
        println!("{floor}  {name} → {}", uses.iter().cloned().collect::<Vec<_>>().join(", "));
        for used in uses {
            assert!(drawn[used].0 <= *floor, "`{name}` stands below `{used}`");
        }
    }
    for (name, kind, used) in built() {
        let Some((_, uses)) = drawn.get(&name) else { panic!("`{name}` is not in the picture") };
        match kind.as_str() {
            "itself" => {}
            // Tests may borrow real parts from the first floor.
            "dev" => assert!(uses.contains(&used) || drawn[&used].0 <= 1, "tests of `{name}` use `{used}`"),
            _ => assert!(uses.contains(&used), "`{name}` uses `{used}`"),
        }
    }
}

#[test]
fn no_line_of_the_picture_is_without_a_crate() {
    let built = built();
    for (name, (_, uses)) in drawn() {
        assert!(built.iter().any(|(crate_name, ..)| *crate_name == name), "there is no crate `{name}`");
        for used in uses {
            let edge = built.iter().any(|(from, kind, to)| *from == name && kind == "normal" && *to == used);
            assert!(edge, "`{name}` does not use `{used}`");
        }
    }
}

/// The Rust files below `folder`, but for those of tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let below = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    below
        .filter(|path| path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs"))
        .collect()
}

/// What stands before the tests of a file.
fn logic(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap().split("#[cfg(test)]").next().unwrap_or_default().to_owned()
}

/// What stands in `text` between each `before` and the quotation mark behind it.
fn quoted(text: &str, before: &str) -> BTreeSet<String> {
    text.split(before).skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

/// Names of tools that the engine may write: a child session may have no `delegate`, and a background task that was
/// begun in another session is shown as a call of `job`. The others are words of errors and of the wire, too.
const KNOWN_TOOLS: &[&str] = &["delegate", "job", "message", "read", "write"];

// T-43, T-50: the loop never names a tool, a provider, a profile or a front-end
#[test]
fn the_engine_and_the_call_path_name_no_tool_and_no_vendor() {
    let crates = root().join("crates");
    let tools: String = sources(&crates.join("tools/src")).iter().map(|path| logic(path)).collect();
    let vendors = std::fs::read_to_string(crates.join("providers/src/vendors.rs")).unwrap();
    let mut names = quoted(&tools, "const NAME: &'static str = \"");
    names.extend(quoted(&vendors, " name: \""));
    names.extend(
        ["alfred", "ally", "pedro", "opencode", "picoclaw", "telegram", "acp", "pytest"].map(str::to_owned),
    );
    assert!(names.len() > 40, "{names:?}");
    names.retain(|name| !KNOWN_TOOLS.contains(&name.as_str()));
    for path in ["engine/src", "call/src"].iter().flat_map(|folder| sources(&crates.join(folder))) {
        // The profiles that Haft ships are data in the engine's folder, and their list is a list of files.
        let text = logic(&path);
        let text = text.lines().filter(|line| !line.contains("include_str!")).collect::<Vec<_>>().join("\n");
        for name in &names {
            // A program of that name reads the files that a command names.
            let is_program = name == "bash" && path.ends_with("call/src/programs.rs");
            assert!(
                is_program || !text.contains(&format!("\"{name}\"")),
                "{} names `{name}`",
                path.display()
            );
        }
    }
}

#[test]
fn unsafe_code_lives_where_the_picture_says() {
    for (name, ..) in built() {
        let folder =
            name.strip_prefix("haft-").map_or("haft", |rest| if rest == "cli" { "haft-cli" } else { rest });
        let manifest =
            std::fs::read_to_string(root().join("crates").join(folder).join("Cargo.toml")).unwrap();
        let may = ["haft-process", "haft-sandbox"].contains(&name.as_str());
        let forbids = manifest.contains("[lints]\nworkspace = true");
        assert_eq!(forbids, !may, "`{name}` has lints of its own, or is named here without need");
    }
}
