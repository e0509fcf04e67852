//! Where the sources of the grammars lie: cargo knows, and tells no build script of another crate.
use crate::{Grammar, LOCK, Result};
use serde_json::Value;
use std::{
    collections::HashMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The folders of crates, by name. A package that needs nothing else is asked about: of a whole workspace, some crates may
/// never have been downloaded.
pub(crate) fn of(grammars: &[&Grammar], out: &Path) -> Result<HashMap<String, PathBuf>> {
    if grammars.is_empty() {
        return Ok(HashMap::new());
    }
    let (own, asked) = (PathBuf::from(env::var("CARGO_MANIFEST_DIR")?), out.join("asked"));
    fs::create_dir_all(&asked)?;
    let mut packages: Vec<&str> = grammars.iter().map(|grammar| grammar.package).collect();
    packages.dedup();
    let needed: String = packages.iter().map(|package| format!("{package} = \"*\"\n")).collect();
    let manifest = format!(
        "[package]\nname = \"asked\"\nedition = \"2021\"\n[lib]\npath = \"lib.rs\"\n[workspace]\n[dependencies]\n{needed}"
    );
    fs::write(asked.join("Cargo.toml"), manifest)?;
    fs::write(asked.join("lib.rs"), "")?;
    fs::copy(own.join(LOCK), asked.join("Cargo.lock"))?;
    let mut metadata = Command::new(env::var("CARGO")?);
    metadata.args(["metadata", "--format-version=1", "--offline", "--manifest-path"]);
    let told = metadata.arg(asked.join("Cargo.toml")).current_dir(own).output()?;
    if !told.status.success() {
        return Err(String::from_utf8_lossy(&told.stderr).trim().into());
    }
    let told: Value = serde_json::from_slice(&told.stdout)?;
    let packages = told["packages"].as_array().into_iter().flatten();
    let folder = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        Some((package["name"].as_str()?.to_owned(), manifest.parent()?.to_owned()))
    };
    Ok(packages.filter_map(folder).collect())
}
