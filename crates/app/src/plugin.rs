//! [`Plugin`]: an installed plugin: its files, and the record about it.
use crate::config::Places;
use haft_tools::PluginHook;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// The file with the record, beside the plugin's own files.
pub(crate) const RECORD: &str = "haft-plugin.json";

/// The folder of a plugin's own files.
const FILES: &str = "files";

/// An installed plugin, and its parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plugin {
    /// Its name, which is the prefix of the names of its skills, commands and agents.
    pub name: String,
    /// The folder or the Git address that it was installed from.
    pub source: String,
    /// Name of the plugin in the marketplace at `source`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The commit that was installed; `None` for a folder.
    pub commit: Option<String>,
    /// SHA-256 of its files, in hexadecimal.
    pub digest: String,
    /// The author's description of the plugin.
    #[serde(default)]
    pub description: String,
    /// Folders of skills, or folders that contain such folders, relative to its files.
    pub(crate) skills: Vec<PathBuf>,
    /// Files of commands, or folders that contain them, relative to its files.
    pub(crate) commands: Vec<PathBuf>,
    /// Files of agents, or folders that contain them, relative to its files.
    pub(crate) agents: Vec<PathBuf>,
    /// MCP servers by name, as its author wrote them.
    #[serde(default)]
    pub(crate) servers: BTreeMap<String, Value>,
    /// Commands that run confined on events.
    #[serde(default)]
    pub(crate) hooks: Vec<PluginHook>,
    /// Whether the user allowed its servers to start.
    #[serde(default)]
    pub starts_servers: bool,
    /// The folder of the plugin, with its files and its record.
    #[serde(skip)]
    pub(crate) folder: PathBuf,
}

impl Plugin {
    /// The folder of its own files.
    pub(crate) fn files(&self) -> PathBuf {
        self.folder.join(FILES)
    }

    /// Reads the plugin in `folder`.
    fn in_folder(folder: &Path) -> Option<Self> {
        let text = fs::read_to_string(folder.join(RECORD)).ok()?;
        let found: Self = serde_json::from_str(&text).ok()?;
        Some(Self { folder: folder.to_owned(), ..found })
    }
}

/// Every installed plugin, by name.
pub(crate) fn installed(places: &Places) -> Vec<Plugin> {
    let entries = fs::read_dir(&places.plugins).into_iter().flatten().flatten();
    let mut found: Vec<Plugin> = entries.filter_map(|entry| Plugin::in_folder(&entry.path())).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}
