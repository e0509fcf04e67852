//! [`inside`] and [`json`]: read only those files that a plugin names within its own folder.
use crate::{Failure, untrusted_file};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::{
    io,
    path::{Component, Path, PathBuf},
};

/// The path that a manifest names, relative to the plugin's folder. The path exists and is inside the folder.
pub(super) fn inside(folder: &Path, named: &str) -> Result<PathBuf, Failure> {
    let refused = |why: &str| {
        Failure::failed(format!("cannot install the plugin: its path `{}` {why}", named.escape_debug()))
    };
    let path: PathBuf = Path::new(named).components().filter(|part| *part != Component::CurDir).collect();
    if !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(refused("leads out of its folder"));
    }
    let real =
        folder.join(&path).canonicalize().map_err(|error| refused(&format!("cannot be found: {error}")))?;
    let is_inside = folder.canonicalize().is_ok_and(|folder| real.starts_with(folder));
    if is_inside { Ok(path) } else { Err(refused("leads out of its folder")) }
}

/// A JSON file of a plugin; `None` if it does not exist.
pub(super) fn json<T: DeserializeOwned>(folder: &Path, name: &Path) -> Result<Option<T>, Failure> {
    let failed =
        |why: String| Failure::failed(format!("cannot read `{}` of the plugin: {why}", name.display()));
    let real = folder.canonicalize().map_err(|error| failed(error.to_string()))?;
    let text = match untrusted_file::read(&folder.join(name), Some(&real)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error.to_string())),
    };
    // Parsed as an object first: a list could be parsed as a structure whose fields have defaults.
    let found: Map<String, Value> = serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
    T::deserialize(Value::Object(found)).map(Some).map_err(|error| failed(error.to_string()))
}
