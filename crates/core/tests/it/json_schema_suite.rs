//! The official test suite of JSON Schema, draft 2020-12, through the check that the arguments of calls pass.
//!
//! The suite lies outside of this repository; where it is missing, one line says so (a failure where
//! `HAFT_REQUIRE_ALL` is set).
#![expect(clippy::disallowed_methods, reason = "core knows no IO; what it is tested with lies in files")]
#![expect(clippy::print_stderr, reason = "says how many cases there were, and whether any")]
use haft_core::schema::Schema;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Where schemas of the suite say that its remotes lie.
const SERVED: &str = "http://localhost:1234/";

/// Of 1,299 decisions so many at least must be right: as many as the `jsonschema` of Python gets right.
const LEAST: usize = 1_293;

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = paths
        .flat_map(|path| match path.is_dir() {
            true => json_files(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    files.sort();
    files
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn remotes(root: &Path) -> HashMap<String, Value> {
    let named = |path: &PathBuf| format!("{SERVED}{}", path.strip_prefix(root).unwrap().display());
    json_files(root).iter().map(|path| (named(path), read(path))).collect()
}

#[test]
fn the_official_suite_agrees_on_what_is_valid() {
    let Some(folder) = haft_testing::conformance("json-schema-suite") else { return };
    let files = json_files(&folder.join("draft2020-12"));
    let known = Arc::new(remotes(&folder.join("remotes")));
    let (mut right, mut wrong) = (0, Vec::new());
    for group in files.iter().flat_map(|file| read(file).as_array().unwrap().clone()) {
        let schema = Schema::with_known(group["schema"].clone(), known.clone());
        for test in group["tests"].as_array().unwrap() {
            let said = schema.problems(&test["data"]).map(|problems| problems.is_empty());
            match said {
                Ok(said) if said == test["valid"] => right += 1,
                Ok(_) => wrong.push(format!("{}: {}", group["description"], test["description"])),
                Err(error) => wrong.push(format!("{}: {error}", group["description"])),
            }
        }
    }
    eprintln!("{right} of {} right; wrong: {wrong:#?}", right + wrong.len());
    assert!(right >= LEAST);
}

#[test]
fn nothing_is_fetched() {
    for reference in ["http://127.0.0.1:9/a.json", "https://example.org/a.json", "file:///etc/hostname"] {
        let schema = Schema::new(json!({"properties": {"a": {"$ref": reference}}}));
        let error = schema.problems(&json!({"a": 1})).unwrap_err();
        assert!(error.message.contains("is not known, and schemas are not fetched"), "{}", error.message);
    }
    let known = HashMap::from([("https://example.org/a.json".to_owned(), json!({"type": "string"}))]);
    let schema = json!({"properties": {"a": {"$ref": "https://example.org/a.json"}}});
    let problems = Schema::with_known(schema, Arc::new(known)).problems(&json!({"a": 1})).unwrap();
    assert_eq!(problems[0].message, "`a` must be a string, not an integer");
}
