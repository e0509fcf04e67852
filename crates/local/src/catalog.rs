//! The model files that can be fetched: `models.toml`.
use serde::Deserialize;
use std::{collections::BTreeMap, sync::OnceLock};

/// A model file that [`crate::models::pull`] knows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogModel {
    /// What it is, for people.
    pub title: String,
    /// The file's name in the models folder.
    pub file: String,
    /// Bytes, where known.
    pub size: Option<u64>,
    /// SHA-256 of the whole file, in lower-case hexadecimal. A file with another one is not used.
    pub sha256: String,
    /// What its makers allow, by their name for it.
    pub license: String,
    /// Repository on Hugging Face.
    pub repository: Option<String>,
    /// Python packages that carry the file in parts, in this order.
    #[serde(default)]
    pub packages: Vec<Package>,
}

/// A Python package and the file inside it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Name of the package on PyPI.
    pub name: String,
    /// The one that was looked at.
    pub version: String,
    /// The path inside the package.
    pub member: String,
}

/// All models that [`crate::models::pull`] knows, by name.
pub fn known() -> &'static BTreeMap<String, CatalogModel> {
    static KNOWN: OnceLock<BTreeMap<String, CatalogModel>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        toml::from_str(include_str!("../models.toml")).expect("the table is checked by a test")
    })
}
