//! The floors of the house: which crate may use which, as `ARCHITECTURE.md` draws it.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on has failed")]
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

/// Logic longer than this wants two files.
const MAX_LINES: usize = 600;

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

// T-43, T-50: the loop never names a tool, a provider or a front-end
#[test]
fn the_engine_knows_nobody_by_name() {
    let mut folders = vec![root().join("crates/engine/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
                continue;
            }
            if entry.path().ends_with("tests.rs") {
                continue;
            }
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let logic = text.split("#[cfg(test)]").next().unwrap_or_default();
            for name in ["\"edit\"", "\"bash\"", "\"openai", "\"anthropic", "\"print\"", "\"alfred\""] {
                assert!(!logic.contains(name), "{} names {name}", entry.path().display());
            }
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
        let may = name == "haft-sandbox";
        let forbids = manifest.contains("[lints]\nworkspace = true");
        assert_eq!(forbids, !may, "`{name}` has lints of its own, or is named here without need");
    }
}

#[test]
fn no_file_of_logic_is_too_long() {
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs")
                && !path.components().any(|part| part.as_os_str() == "tests")
            {
                let text = std::fs::read_to_string(&path).unwrap();
                let logic =
                    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().lines().count();
                assert!(logic <= MAX_LINES, "{} has {logic} lines", path.display());
            }
        }
    }
}
