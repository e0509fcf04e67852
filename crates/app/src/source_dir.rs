//! [`SourceDir`]: a folder of the user or of a project with skills, commands or agents.
use crate::{
    config::Places,
    plugin::{Plugin, installed},
    system::{Kind, SYSTEMS, System},
};
use ignore::WalkBuilder;
use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

/// Maximum depth of files below such a folder.
const MAX_DEPTH: usize = 4;

/// Maximum number of entries of such a folder that are read.
const MAX_ENTRIES: usize = 2_000;

/// A folder of the user or of a project.
pub(crate) struct SourceDir {
    /// The path of the folder.
    pub(crate) folder: PathBuf,
    /// Only files below this folder are read; `None` for a folder that the user trusts.
    pub(crate) within: Option<PathBuf>,
    /// The system that its files were written for.
    pub(crate) system: System,
    /// The plugin that it belongs to: its name, and the folder of its files.
    pub(crate) plugin: Option<(String, PathBuf)>,
}

/// All folders of this kind: the user's, then those of the project, each in the order of [`SYSTEMS`], then those of
/// plugins. A folder that is the same as an earlier one is left out, for example if the project is the user's home
/// folder.
pub(crate) fn all(places: &Places, workspace: &Path, kind: Kind) -> Vec<SourceDir> {
    let own = SYSTEMS.iter().flat_map(|row| {
        let base = places.folder_of(row.system);
        let folders = row.folders(kind).iter().filter_map(move |name| Some(base.as_ref()?.join(name)));
        folders.map(|folder| SourceDir { folder, within: None, system: row.system, plugin: None })
    });
    let theirs = SYSTEMS.iter().flat_map(|row| {
        let base = workspace.join(row.project);
        row.folders(kind).iter().map(move |name| SourceDir {
            folder: base.join(name),
            within: Some(workspace.to_owned()),
            system: row.system,
            plugin: None,
        })
    });
    let mut seen = HashSet::new();
    let is_new = |dir: &SourceDir| {
        dir.folder.exists() && dir.folder.canonicalize().is_ok_and(|real| seen.insert(real))
    };
    let plugins = installed(places);
    let of_plugins = plugins.iter().flat_map(|plugin| SourceDir::of_plugin(plugin, kind));
    own.chain(theirs).chain(of_plugins).filter(is_new).collect()
}

impl SourceDir {
    /// Whether the user trusts the files in it.
    pub(crate) fn is_own(&self) -> bool {
        self.within.is_none()
    }

    /// The folders of a plugin. Names in them begin with the plugin's name.
    pub(crate) fn of_plugin(plugin: &Plugin, kind: Kind) -> Vec<Self> {
        let folders = match kind {
            Kind::Skills => &plugin.skills,
            Kind::Commands => &plugin.commands,
            Kind::Agents => &plugin.agents,
        };
        // The real path, because `within` is compared with it.
        let files = plugin.files().canonicalize().unwrap_or_else(|_| plugin.files());
        let dir = |folder: &PathBuf| Self {
            folder: files.join(folder),
            within: Some(files.clone()),
            system: System::Claude,
            plugin: Some((plugin.name.clone(), files.clone())),
        };
        folders.iter().map(dir).collect()
    }

    /// A name as the user writes it: `PLUGIN:NAME` for a part of a plugin.
    pub(crate) fn named(&self, name: String) -> String {
        self.plugin.as_ref().map_or(name.clone(), |(plugin, _)| format!("{plugin}:{name}"))
    }

    /// Replaces the placeholder for the plugin's folder in a text of a plugin.
    pub(crate) fn filled(&self, text: &str) -> String {
        match &self.plugin {
            Some((_, files)) => text.replace("${CLAUDE_PLUGIN_ROOT}", &files.to_string_lossy()),
            None => text.to_owned(),
        }
    }

    /// Whether its files have Haft's own format.
    pub(crate) fn is_of_haft(&self) -> bool {
        self.system == System::Haft
    }

    /// Its entries, by name; the folder itself if it is a skill.
    pub(crate) fn entries(&self) -> Vec<PathBuf> {
        if self.folder.join("SKILL.md").is_file() {
            return vec![self.folder.clone()];
        }
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().take(MAX_ENTRIES);
        let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        entries.sort();
        entries
    }

    /// The files with this ending in it and in the folders below, each with its name for the user: the names of these
    /// folders and the file's own, joined by `:`. Links to folders are followed if the user trusts the folder.
    pub(crate) fn files(&self, ending: &str) -> Vec<(String, PathBuf)> {
        let walk = WalkBuilder::new(&self.folder)
            .standard_filters(false)
            .max_depth(Some(MAX_DEPTH))
            .follow_links(self.is_own())
            .sort_by_file_name(Ord::cmp)
            .build();
        let paths = walk.flatten().take(MAX_ENTRIES).map(ignore::DirEntry::into_path);
        let named =
            paths.filter(|path| path.extension().is_some_and(|known| known == ending) && !path.is_dir());
        named.filter_map(|path| Some((self.name_of(&path, ending)?, path))).collect()
    }

    fn name_of(&self, file: &Path, ending: &str) -> Option<String> {
        let is_file = self.folder == file;
        let inside = file.strip_prefix(if is_file { file.parent()? } else { &self.folder }).ok()?.to_str()?;
        let name = inside.strip_suffix(ending)?.strip_suffix('.')?;
        Some(name.replace('/', ":"))
    }
}
