//! [`Manifest`]: the declarations of a plugin in the format of Claude Code: `.claude-plugin/plugin.json`, and
//! `.claude-plugin/marketplace.json` for a folder with several plugins.
use super::{
    files::{inside, json},
    hooks,
};
use crate::Failure;
use haft_tools::PluginHook;
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Source: code.claude.com/docs/en/plugins-reference, 2026-11. Haft ignores other fields.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Manifest {
    pub(super) name: Option<String>,
    pub(super) description: String,
    skills: Option<Paths>,
    commands: Option<Paths>,
    agents: Option<Paths>,
    hooks: Option<Value>,
    mcp_servers: Option<Value>,
    lsp_servers: Option<Value>,
}

/// One path, or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Paths {
    One(String),
    Several(Vec<String>),
}

/// A folder with several plugins.
#[derive(Debug, Deserialize)]
pub(super) struct Marketplace {
    #[serde(default)]
    pub(super) plugins: Vec<Entry>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    /// Folder below the marketplace. Sources that do not begin with `./` are relative to it.
    plugin_root: Option<String>,
}

/// An entry of a marketplace. It adds to the plugin's own manifest.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Entry {
    /// Parsed when the entry is used, so that an invalid source does not make the other entries unusable.
    #[serde(default)]
    source: Value,
    #[serde(flatten)]
    pub(super) manifest: Manifest,
}

/// The location of a plugin of a marketplace.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Source {
    /// A folder below the marketplace.
    Inside(String),
    /// A repository elsewhere.
    Elsewhere(Elsewhere),
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Elsewhere {
    source: String,
    repo: Option<String>,
    url: Option<String>,
    path: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
}

impl Elsewhere {
    /// The Git address, followed by `#REF` if a reference is named.
    pub(super) fn address(&self) -> Result<String, Failure> {
        let address = match (&self.repo, &self.url, &self.path) {
            (Some(repo), None, None) => Some(format!("https://github.com/{repo}.git")),
            (None, Some(url), None) => Some(url.clone()),
            _ => None,
        };
        let address = address.ok_or_else(|| {
            Failure::failed(format!(
                "cannot install a plugin from a source of the kind `{}`",
                self.source.escape_debug()
            ))
            .hint("sources are a path, `github` and `url`")
        })?;
        Ok(self.reference.as_ref().map_or(address.clone(), |reference| format!("{address}#{reference}")))
    }
}

/// The parts of a plugin: paths relative to its folder.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) skills: Vec<PathBuf>,
    pub(super) commands: Vec<PathBuf>,
    pub(super) agents: Vec<PathBuf>,
    pub(super) servers: BTreeMap<String, Value>,
    pub(super) hooks: Vec<PluginHook>,
    /// Notes on entries without an effect in Haft.
    pub(super) notes: Vec<String>,
}

impl Entry {
    /// The location of the plugin.
    pub(super) fn place(&self) -> Result<Source, Failure> {
        serde_json::from_value(self.source.clone()).map_err(|_| {
            let name = self.manifest.name.as_deref().unwrap_or_default().escape_debug();
            Failure::failed(format!(
                "cannot install the plugin `{name}`: its entry in `.claude-plugin/marketplace.json` has no `source` that \
                 Haft knows"
            ))
            .hint("sources are a path, `github` and `url`")
        })
    }
}

impl Marketplace {
    /// A path of an entry, relative to the marketplace.
    pub(super) fn below_root(&self, path: String) -> String {
        match &self.metadata.plugin_root {
            Some(root) if !path.starts_with("./") => format!("{}/{path}", root.trim_end_matches('/')),
            _ => path,
        }
    }

    /// The marketplace in a folder, if there is one.
    pub(super) fn of(folder: &Path) -> Result<Option<Self>, Failure> {
        json(folder, Path::new(".claude-plugin/marketplace.json"))
    }
}

impl Manifest {
    /// The manifest in a plugin's folder, if there is one.
    pub(super) fn of(folder: &Path) -> Result<Option<Self>, Failure> {
        json(folder, Path::new(".claude-plugin/plugin.json"))
    }

    /// The parts of the plugin in `folder`: those that its manifest names, those that `entry` of a marketplace names,
    /// and the folders with the usual names.
    pub(super) fn contents(&self, folder: &Path, entry: Option<&Self>) -> Result<Contents, Failure> {
        let both: Vec<&Self> = [Some(self), entry].into_iter().flatten().collect();
        let paths = |usual: &str, of: fn(&Self) -> &Option<Paths>| {
            let named = both.iter().filter_map(|manifest| of(manifest).as_ref()).flat_map(Paths::all);
            let named: Vec<PathBuf> = named.map(|path| inside(folder, path)).collect::<Result<_, _>>()?;
            let usual = Some(PathBuf::from(usual)).filter(|usual| folder.join(usual).is_dir());
            let mut all: Vec<PathBuf> = usual.into_iter().chain(named).collect();
            all.dedup();
            Ok::<_, Failure>(all)
        };
        let mut contents = Contents {
            skills: paths("skills", |manifest| &manifest.skills)?,
            commands: paths("commands", |manifest| &manifest.commands)?,
            agents: paths("agents", |manifest| &manifest.agents)?,
            ..Contents::default()
        };
        if both.iter().any(|manifest| manifest.lsp_servers.is_some()) {
            contents
                .notes
                .push("language servers have no effect: `[lsp]` of your configuration names them".to_owned());
        }
        let named: Vec<&Value> = both.iter().filter_map(|manifest| manifest.hooks.as_ref()).collect();
        contents.hooks = hooks::of(folder, &named, &mut contents.notes)?;
        contents.servers = servers(folder, &both)?;
        Ok(contents)
    }
}

impl Paths {
    fn all(&self) -> impl Iterator<Item = &str> {
        match self {
            Self::One(path) => std::slice::from_ref(path),
            Self::Several(paths) => paths,
        }
        .iter()
        .map(String::as_str)
    }
}

/// The servers that manifests contain or whose files they name, and those of `.mcp.json`.
fn servers(folder: &Path, manifests: &[&Manifest]) -> Result<BTreeMap<String, Value>, Failure> {
    let mut files = vec![PathBuf::from(".mcp.json")];
    let mut all = BTreeMap::new();
    for named in manifests.iter().filter_map(|manifest| manifest.mcp_servers.as_ref()) {
        match named {
            Value::String(path) => files.push(inside(folder, path)?),
            Value::Object(servers) => all.extend(servers.clone()),
            _ => {
                return Err(Failure::failed(
                    "cannot read the plugin: `mcpServers` is neither a path nor an object",
                ));
            }
        }
    }
    for file in files {
        let Some(Value::Object(mut found)) = json(folder, &file)? else { continue };
        match found.remove("mcpServers") {
            Some(Value::Object(servers)) => all.extend(servers),
            Some(_) | None => all.extend(found),
        }
    }
    Ok(all)
}
