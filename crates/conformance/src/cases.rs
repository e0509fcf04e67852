//! [`Case`]: reads cases from disk: JSON Lines in a file, or in every `.jsonl` of a folder and its subfolders.
use anyhow::Context;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A case: one line of a file.
#[derive(Clone, Debug)]
pub struct Case {
    /// Fields of the case.
    pub fields: Value,
    /// The folder of the files that the case names.
    pub folder: PathBuf,
}

impl Case {
    /// The ID of the case in the results.
    pub fn id(&self) -> &str {
        self.text("id")
    }

    /// A field that is a text; empty if it is missing.
    pub fn text(&self, field: &str) -> &str {
        self.fields[field].as_str().unwrap_or_default()
    }
}

/// Reads cases in the order of file names and lines. Fails at the first file or line that cannot be read.
pub fn read_cases(path: &Path) -> anyhow::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for file in files(path)? {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let fields = serde_json::from_str(line)
                .with_context(|| format!("cannot read line {} of `{}`", number + 1, file.display()))?;
            cases.push(Case { fields, folder: folder.clone() });
        }
    }
    Ok(cases)
}

fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|end| end == "jsonl") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
