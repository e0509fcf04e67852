//! [`find`] and [`pull()`]: find and fetch model files by name.
use crate::pull::{self, PullError};
use std::path::{Path, PathBuf};

pub use crate::{
    catalog::{CatalogModel, Package, known},
    pull::Progress,
};

/// The name of the demo model: small, free, and able to follow worked examples.
pub const DEFAULT: &str = "smollm2-135m";

/// Why no file was found for a name.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum FindError {
    /// The model is known, but its file is missing.
    #[error("the model `{name}` is not on this machine: there is no `{path}`")]
    NotPulled {
        /// Name, as in [`known`].
        name: String,
        /// The path that was expected.
        path: PathBuf,
    },
    /// The name is neither a file nor a known model.
    #[error("there is no model `{name}`: neither a file nor one of {known}")]
    Unknown {
        /// Name that was given.
        name: String,
        /// All known names, separated by commas.
        known: String,
    },
}

/// The file for a name: a name from [`known`], or a `.gguf` file, as it stands or in `folder`. The name may begin with
/// `local/`.
pub fn find(name_or_file: &str, folder: &Path) -> Result<PathBuf, FindError> {
    let name = name_or_file.strip_prefix("local/").unwrap_or(name_or_file);
    if let Some(model) = known().get(name) {
        let missing = || FindError::NotPulled { name: name.into(), path: folder.join(&model.file) };
        return pulled(&model.file, folder).ok_or_else(missing);
    }
    let places = [PathBuf::from(name), folder.join(name), folder.join(format!("{name}.gguf"))];
    let mut files = places.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "gguf"));
    files.find(|path| path.is_file()).ok_or_else(|| FindError::Unknown { name: name.into(), known: names() })
}

/// The file in `folder` with this name, or with a name that differs only in case and punctuation.
fn pulled(file: &str, folder: &Path) -> Option<PathBuf> {
    let plain = |name: &str| name.to_lowercase().replace(|character: char| !character.is_alphanumeric(), "");
    let exact = folder.join(file);
    if exact.is_file() {
        return Some(exact);
    }
    let entries = std::fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let is_same =
        |path: &PathBuf| path.file_name().is_some_and(|name| plain(&name.to_string_lossy()) == plain(file));
    entries.filter(|path| path.is_file()).find(is_same)
}

/// Fetches the file of a known model into `folder`, unless it exists there, and returns its path.
///
/// Blocks. Uses the programs `curl` and `python3` if a source needs them. An interrupted download continues where it
/// stopped. The SHA-256 is checked, also that of an existing file: an existing file with another hash is replaced, and
/// a downloaded one is deleted. The programs get `environment` and no other variables.
pub fn pull(
    name: &str,
    folder: &Path,
    environment: &[(String, String)],
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf, PullError> {
    let name = name.strip_prefix("local/").unwrap_or(name);
    let model = known().get(name).ok_or_else(|| PullError::Unknown { name: name.into(), known: names() })?;
    pull::pull(name, model, (folder, environment), progress)
}

fn names() -> String {
    known().keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_has_a_source_and_a_name_of_a_file() {
        assert!(known().contains_key(DEFAULT));
        for (name, model) in known() {
            assert!(model.file.ends_with(".gguf") && !model.file.contains('/'), "{name}");
            assert!(model.repository.is_some() || !model.packages.is_empty(), "{name}");
            let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            assert!(model.sha256.len() == 64 && model.sha256.bytes().all(is_hex), "{name}");
        }
    }
}
