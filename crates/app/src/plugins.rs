//! [`Plugin`]: a folder with skills, commands, agents, hooks and MCP servers, which the user installs from a folder or
//! a Git address.
//!
//! A plugin is copied into a folder of Haft's own. Its files are trusted no more than those of a project: they choose
//! no model and grant nothing. Its MCP servers are programs that run with the user's rights, so the user must allow
//! them separately.
mod difference;
mod fetch;
mod files;
mod hooks;
mod manifest;

pub use crate::plugin::Plugin;
pub(crate) use hooks::claude_hooks;

use crate::{
    App, Failure, agents,
    config::{Config, Settings},
    mcp_servers,
    plugin::{RECORD, installed},
    skills, slash,
    source_dir::SourceDir,
    system::Kind,
};
use files::inside;
use haft_process::{own_folder, write_own_file};
use manifest::{Entry, Manifest, Marketplace, Source};
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};
use tempfile::TempDir;

/// The parts of a plugin, by the names that they have in Haft.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brings {
    /// Names of its skills.
    pub skills: Vec<String>,
    /// Commands, with the `/`.
    pub commands: Vec<String>,
    /// Agents.
    pub agents: Vec<String>,
    /// MCP servers, each with its command or address.
    pub servers: Vec<(String, String)>,
    /// Hooks, each with its event and its command.
    pub hooks: Vec<(String, String)>,
}

/// A plugin that was fetched and checked, but is not installed yet. Dropping it removes the fetched files.
pub struct Candidate {
    /// The plugin that would be installed.
    pub plugin: Plugin,
    /// Its parts.
    pub brings: Brings,
    /// Notes on parts of it that have no effect.
    pub notes: Vec<String>,
    /// The plugin that it would replace.
    pub before: Option<Plugin>,
    temporary: TempDir,
}

impl App {
    /// The installed plugins, by name.
    #[must_use]
    pub fn plugins(&self) -> Vec<Plugin> {
        installed(&self.places)
    }

    /// The parts of an installed plugin.
    #[must_use]
    pub fn brings(&self, plugin: &Plugin) -> Brings {
        brings(plugin, &|_| ())
    }

    /// Fetches the plugin `entry` of the marketplace `source`, or the plugin that `source` is: a folder, a Git address, or
    /// `OWNER/REPOSITORY` at GitHub.
    ///
    /// # Errors
    ///
    /// If it cannot be fetched or is not a plugin, if a file of it is not allowed, or if its name is taken.
    pub async fn fetch_plugin(&self, source: &str, entry: Option<&str>) -> Result<Candidate, Failure> {
        let candidate = self.candidate(source, entry, &source_of(source)).await?;
        match &candidate.before {
            None => Ok(candidate),
            Some(known) => Err(Failure::usage(format!(
                "the plugin `{}` is already installed, from `{}`",
                known.name,
                known.source.escape_debug()
            ))
            .hint(format!(
                "`haft plugins update {0}` updates it, `haft plugins remove {0}` removes it",
                known.name
            ))),
        }
    }

    /// Fetches an installed plugin again from its source.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::fetch_plugin`] does, and if its source has since become a plugin of another name.
    pub async fn fetch_update(&self, plugin: &Plugin) -> Result<Candidate, Failure> {
        let candidate = self.candidate(&plugin.source, plugin.entry.as_deref(), &plugin.source).await?;
        if candidate.plugin.name != plugin.name {
            let (old, new) = (&plugin.name, &candidate.plugin.name);
            return Err(Failure::failed(format!(
                "cannot update the plugin `{old}`: its source is called `{new}` by now"
            ))
            .hint(format!("`haft plugins remove {old}`, and add it again")));
        }
        Ok(candidate)
    }

    /// Removes an installed plugin with all its parts.
    ///
    /// # Errors
    ///
    /// If there is no such plugin, or its files cannot be removed.
    pub fn remove_plugin(&self, name: &str) -> Result<(), Failure> {
        let plugin = self.plugin(name)?;
        let temporary = temporary(&self.places.plugins)?;
        fs::rename(&plugin.folder, temporary.path().join("removed"))?;
        temporary.close()?;
        let _others_are_installed = fs::remove_dir(&self.places.plugins);
        Ok(())
    }

    /// The installed plugin of this name.
    ///
    /// # Errors
    ///
    /// If no plugin of this name is installed.
    pub fn plugin(&self, name: &str) -> Result<Plugin, Failure> {
        let all = self.plugins();
        let names: Vec<&str> = all.iter().map(|plugin| plugin.name.as_str()).collect();
        let hint = match names.is_empty() {
            true => "`haft plugins add SOURCE` installs one".to_owned(),
            false => format!("there are {}", names.join(", ")),
        };
        let found = all.iter().find(|plugin| plugin.name == name).cloned();
        found.ok_or_else(|| {
            Failure::usage(format!("the plugin `{}` is not installed", name.escape_debug())).hint(hint)
        })
    }

    async fn candidate(&self, source: &str, entry: Option<&str>, kept: &str) -> Result<Candidate, Failure> {
        let config = self.config(Path::new("/"), &Settings::default())?;
        let temporary = temporary(&self.places.plugins)?;
        let candidate = self.candidate_in(source, entry, kept, temporary, &config).await;
        if candidate.is_err() {
            let _others_are_installed = fs::remove_dir(&self.places.plugins);
        }
        candidate
    }

    async fn candidate_in(
        &self,
        source: &str,
        entry: Option<&str>,
        kept: &str,
        temporary: TempDir,
        config: &Config,
    ) -> Result<Candidate, Failure> {
        let environment = self.environment.for_downloads(config);
        let fetched = fetch::fetch(source, temporary.path(), &environment).await?;
        let marketplace = Marketplace::of(&fetched.folder)?;
        let chosen = marketplace
            .as_ref()
            .map(|all| choose(&all.plugins, entry, source, &fetched.folder))
            .transpose()?
            .flatten();
        if chosen.is_none()
            && let Some(name) = entry
        {
            return Err(Failure::usage(format!(
                "`{}` has no plugin `{}`",
                source.escape_debug(),
                name.escape_debug()
            )));
        }
        // A clone of another repository lives until it is copied.
        let other;
        let (folder, commit) = match chosen.as_ref().map(Entry::place).transpose()? {
            Some(Source::Elsewhere(elsewhere)) => {
                other = fetch::fetch(&elsewhere.address()?, temporary.path(), &environment).await?;
                (other.folder.clone(), other.commit.clone())
            }
            Some(Source::Inside(path)) => {
                let path = marketplace.as_ref().map_or(path.clone(), |all| all.below_root(path));
                (fetched.folder.join(inside(&fetched.folder, &path)?), fetched.commit)
            }
            None => (fetched.folder, fetched.commit),
        };
        let (plugin, notes) = staged(&folder, &temporary, chosen.as_ref(), kept)?;
        let plugin = Plugin { commit, ..plugin };
        let before = self.plugins().into_iter().find(|known| known.name == plugin.name);
        let brings = brings(&plugin, &*self.warn);
        Ok(Candidate { plugin, brings, notes, before, temporary })
    }
}

/// The source in the form in which it is saved: a folder by its absolute path.
fn source_of(source: &str) -> String {
    let folder = || Path::new(source).canonicalize().ok()?.to_str().map(str::to_owned);
    if fetch::is_address(source) { source.to_owned() } else { folder().unwrap_or_else(|| source.to_owned()) }
}

/// A temporary folder beside the installed plugins, so that a plugin can be moved into place in one step.
fn temporary(plugins: &Path) -> Result<TempDir, Failure> {
    own_folder(plugins)?;
    Ok(tempfile::Builder::new().prefix(".tmp-").tempdir_in(plugins)?)
}

/// The entry of a marketplace that `name` selects; `None` if the folder itself is the plugin.
fn choose(all: &[Entry], name: Option<&str>, source: &str, folder: &Path) -> Result<Option<Entry>, Failure> {
    let called = |entry: &&Entry| name.is_some() && entry.manifest.name.as_deref() == name;
    match (all.iter().find(called), all) {
        (Some(entry), _) => return Ok(Some(entry.clone())),
        (None, [only]) if name.is_none() => return Ok(Some(only.clone())),
        (None, _) if name.is_none() && folder.join(".claude-plugin/plugin.json").exists() => return Ok(None),
        (None, _) => {}
    }
    let names: Vec<String> =
        all.iter().filter_map(|entry| entry.manifest.name.as_ref()).map(|name| shown(name)).collect();
    let source = source.escape_debug();
    let message = match name {
        Some(name) => format!("the marketplace `{source}` has no plugin `{}`", name.escape_debug()),
        None => format!("`{source}` is a marketplace of {} plugins: name one of them", names.len()),
    };
    Err(Failure::usage(message)
        .hint(format!("`haft plugins add {source} NAME`; there are {}", names.join(", "))))
}

fn shown(name: &str) -> String {
    name.escape_debug().to_string()
}

/// Copies a plugin beside the installed plugins and reads its parts.
fn staged(
    folder: &Path,
    temporary: &TempDir,
    entry: Option<&Entry>,
    source: &str,
) -> Result<(Plugin, Vec<String>), Failure> {
    let place = temporary.path().join("plugin");
    fs::create_dir(&place)?;
    let mut plugin = Plugin { folder: place, source: source.to_owned(), ..Plugin::default() };
    plugin.digest = fetch::copy(folder, &plugin.files())?;
    let manifest = Manifest::of(&plugin.files())?.unwrap_or_default();
    let of_entry = entry.map(|entry| &entry.manifest);
    let contents = manifest.contents(&plugin.files(), of_entry)?;
    let stem = || Path::new(source.trim_end_matches('/')).file_stem()?.to_str().map(str::to_owned);
    let name = manifest.name.or_else(|| of_entry?.name.clone()).or_else(stem).unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    if name.len() > 64 || !name.starts_with(|c: char| c != '-' && is_plain(c)) || !name.chars().all(is_plain)
    {
        return Err(Failure::failed(format!(
            "cannot install the plugin: its name `{}` may contain only `a-z`, `0-9`, `_` and, behind the first, `-`",
            name.escape_debug()
        )));
    }
    plugin.name = name;
    plugin.entry = of_entry.and_then(|entry| entry.name.clone());
    plugin.description = Some(manifest.description)
        .filter(|text| !text.is_empty())
        .unwrap_or_else(|| of_entry.map(|entry| entry.description.clone()).unwrap_or_default());
    (plugin.skills, plugin.commands, plugin.agents) = (contents.skills, contents.commands, contents.agents);
    (plugin.servers, plugin.hooks) = (contents.servers, contents.hooks);
    let has_paths = [&plugin.skills, &plugin.commands, &plugin.agents].iter().any(|paths| !paths.is_empty());
    if !has_paths && plugin.servers.is_empty() && plugin.hooks.is_empty() {
        return Err(Failure::failed(
            "this is no plugin: it has neither skills nor commands, agents, hooks or MCP servers",
        )
        .hint("a plugin is a folder with `skills/`, `commands/`, `agents/` or `.mcp.json`"));
    }
    Ok((plugin, contents.notes))
}

fn brings(plugin: &Plugin, warn: &dyn Fn(String)) -> Brings {
    let dirs = |kind: Kind| SourceDir::of_plugin(plugin, kind);
    let skills = skills::in_dirs(dirs(Kind::Skills), warn);
    let commands = slash::in_dirs(dirs(Kind::Commands), warn);
    let servers =
        plugin.servers.iter().map(|(name, server)| (format!("{}-{name}", plugin.name), said_of(server)));
    Brings {
        skills: skills.into_iter().map(|found| found.skill.name).collect(),
        commands: commands.into_iter().map(|found| format!("/{}", found.name)).collect(),
        agents: agents::names_in(dirs(Kind::Agents), warn),
        servers: servers.collect(),
        hooks: plugin.hooks.iter().map(|hook| (hooks::event_of(hook), hook.command.clone())).collect(),
    }
}

/// Returns the command or the address of a server, its variables and headers, and which variables of the environment they
/// name.
fn said_of(server: &Value) -> String {
    let text = |value: &Value| value.as_str().map(str::to_owned).unwrap_or_else(|| value.to_string());
    // Quoted as for a shell, so that the user sees which arguments it gets.
    let quoted = |value: &Value| {
        let word = text(value);
        shlex::try_quote(&word).map(|quoted| quoted.into_owned()).unwrap_or(word)
    };
    let words = server["args"].as_array().into_iter().flatten().map(quoted);
    let started = server
        .get("command")
        .map(|command| [quoted(command)].into_iter().chain(words).collect::<Vec<_>>().join(" "));
    let place = started.or_else(|| server.get("url").map(text)).unwrap_or_else(|| server.to_string());
    let values = |field: &str, sign: &str| {
        let values = server[field].as_object().into_iter().flatten();
        values
            .filter_map(|(name, value)| Some(format!("{name}{sign}{}", value.as_str()?)))
            .collect::<Vec<_>>()
    };
    let given: Vec<String> = [values("env", "="), values("headers", ": ")].concat();
    if given.is_empty() {
        return place;
    }
    let text = given.concat();
    let names: BTreeSet<&str> =
        mcp_servers::variables_in(&text).filter(|name| *name != "CLAUDE_PLUGIN_ROOT").collect();
    let names: Vec<&str> = names.into_iter().collect();
    let gets = if names.is_empty() { String::new() } else { format!("; it gets your {}", names.join(", ")) };
    format!("{place} (with {}){gets}", given.join(", "))
}

impl Candidate {
    /// Whether the same files are installed already.
    #[must_use]
    pub fn is_installed(&self) -> bool {
        self.before.as_ref().is_some_and(|before| before.digest == self.plugin.digest)
    }

    /// The difference from the installed files: a line for each file, with its changed lines below.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn difference(&self) -> Result<String, Failure> {
        match &self.before {
            None => Ok(String::new()),
            Some(before) => difference::between(&before.files(), &self.plugin.files()),
        }
    }

    /// Whether its MCP servers keep their permission to start. Any change of its files ends it, since the servers run
    /// these files.
    #[must_use]
    pub fn keeps_servers(&self) -> bool {
        self.is_installed() && self.before.as_ref().is_some_and(|before| before.starts_servers)
    }

    /// Installs the plugin in place of the one that it replaces. `starts_servers`: whether its MCP servers may start.
    ///
    /// # Errors
    ///
    /// If a file cannot be written; the installed plugin then stays as it was.
    pub fn install(self, starts_servers: bool) -> Result<Plugin, Failure> {
        let plugin =
            Plugin { starts_servers: starts_servers && !self.plugin.servers.is_empty(), ..self.plugin };
        let text =
            serde_json::to_string_pretty(&plugin).map_err(|error| Failure::failed(error.to_string()))?;
        write_own_file(&plugin.folder.join(RECORD), text)?;
        let plugins = self.temporary.path().parent().unwrap_or(self.temporary.path());
        let (place, old) = (plugins.join(&plugin.name), self.temporary.path().join("old"));
        if place.exists() {
            fs::rename(&place, &old)?;
        }
        if let Err(error) = fs::rename(&plugin.folder, &place) {
            if old.exists() {
                fs::rename(&old, &place)?;
            }
            return Err(error.into());
        }
        Ok(Plugin { folder: place, ..plugin })
    }
}
