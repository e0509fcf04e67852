//! `haft eval`: which model solves which task, on tasks of one's own.
mod budget;
mod compare;
mod resume;
mod sessions;
mod tasks;

use crate::kit::{Place, call};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// A task: its name, and what its check runs.
fn add_task(place: &Place, name: &str, check: &str) -> PathBuf {
    let folder = place.path().join("tasks").join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("task.md"), "Show how good you are.\n").unwrap();
    let script = folder.join("check.sh");
    fs::write(&script, format!("#!/bin/sh\n{check}\n")).unwrap();
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    folder
}

/// A task that models of this skill and above solve.
fn add_hurdle(place: &Place, name: &str, skill: usize) {
    add_task(place, name, &format!("test \"$(cat skill)\" -ge {skill}"));
}

/// A model of this skill. Its replies take their time, in milliseconds.
fn model_of(place: &Place, name: &str, skill: usize, delay: u64) -> String {
    let mut first = call("write", json!({"path": "skill", "content": skill.to_string()}));
    first["delay_ms"] = json!(delay);
    place.script(name, &[first, json!({"say": "Done."})])
}

fn tasks(place: &Place) -> String {
    place.path().join("tasks").display().to_string()
}

/// Whether checks can run here; a test that needs them says so otherwise.
fn checks(place: &Place, what: &str) -> bool {
    let confines = place.run(&["doctor"]).out.contains("commands: can be confined here");
    if !confines {
        haft_testing::left_out(&format!("{what}: commands cannot be confined here"));
    }
    confines
}

/// All files below `folder` with what is in them.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&path)),
            false => _ = found.insert(path.clone(), fs::read(&path).unwrap()),
        }
    }
    found
}

/// The lines of the only evaluation there is, those that are whole.
fn lines(place: &Place) -> Vec<Value> {
    let Ok(mut folders) = fs::read_dir(place.path().join("home/evals")) else { return Vec::new() };
    let Some(folder) = folders.next() else { return Vec::new() };
    let text = fs::read_to_string(folder.unwrap().path().join("results.jsonl")).unwrap_or_default();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_type<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

/// The copies that runs have left.
fn copies(place: &Place) -> Vec<PathBuf> {
    let evals = fs::read_dir(place.path().join("home/evals")).unwrap().map(Result::unwrap);
    evals.map(|folder| folder.path().join("work")).filter(|work| work.exists()).collect()
}
