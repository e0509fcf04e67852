//! [`Places`]: the files and folders of Haft.
use super::Environment;
use crate::{
    Failure,
    system::{SYSTEMS, System, SystemRow},
};
use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// The files and folders of Haft on this machine.
#[derive(Clone, Debug)]
pub struct Places {
    /// The folder of sessions: `HAFT_HOME`, otherwise the data folder of the user. Absolute, because the current folder
    /// may change.
    pub home: PathBuf,
    /// The user's own configuration file.
    pub user_file: PathBuf,
    /// The file of keys that `haft login` saves.
    pub keys_file: PathBuf,
    /// The file of logins that `haft mcp login` saves.
    pub mcp_logins_file: PathBuf,
    /// The folder of installed plugins. It is beside `home`, not in it: commands cannot see `home`, but skills may have
    /// scripts.
    pub plugins: PathBuf,
    /// The folder of GGUF files: `HAFT_MODELS`, otherwise a folder in `home`.
    pub models: PathBuf,
    /// The folder for data that can be made again.
    pub cache: PathBuf,
    /// The folders in which build tools keep data that can be made or fetched again.
    pub tool_caches: Vec<PathBuf>,
    /// The user's home folder.
    pub person: Option<PathBuf>,
    /// The user's folders of other systems, with skills, commands and agents.
    pub others: Vec<(System, PathBuf)>,
}

impl Places {
    /// Finds the folders by the XDG rules. A folder that other users can write to is refused.
    pub fn of(environment: &Environment) -> Result<Self, Failure> {
        let person = environment.get("HOME").map(PathBuf::from).or_else(std::env::home_dir);
        let under = |variable: &str, otherwise: &str| {
            let base = environment.get(variable).map(PathBuf::from).filter(|path| path.is_absolute());
            let base = base.or_else(|| person.as_ref().map(|home| home.join(otherwise)));
            base.map(|base| base.join("haft"))
        };
        let home = environment.get("HAFT_HOME").map(|home| absolute(Path::new(home)));
        let home = home.or_else(|| under("XDG_DATA_HOME", ".local/share")).ok_or_else(|| {
            Failure::usage("cannot find a directory for sessions: there is no home directory")
                .hint("set HOME, or set HAFT_HOME to a directory that only you can write to")
        })?;
        let models = environment.get("HAFT_MODELS").map_or_else(|| home.join("models"), PathBuf::from);
        let user_file =
            under("XDG_CONFIG_HOME", ".config").unwrap_or_else(|| home.clone()).join("config.toml");
        let keys_file = user_file.with_file_name("keys.toml");
        let mcp_logins_file = user_file.with_file_name("mcp-logins.json");
        let cache = under("XDG_CACHE_HOME", ".cache").unwrap_or_else(|| home.join("cache"));
        let (others, plugins) = (others(environment, person.as_ref()), Self::beside(&home));
        let tool_caches = tool_caches(environment, person.as_deref());
        Ok(Self {
            home,
            user_file,
            keys_file,
            mcp_logins_file,
            plugins,
            models,
            cache,
            tool_caches,
            person,
            others,
        })
    }

    /// The path that the user writes, which may begin with `~/`.
    pub(crate) fn named(&self, name: &str) -> PathBuf {
        match (name.strip_prefix("~/"), &self.person) {
            (Some(inside), Some(person)) => person.join(inside),
            _ => PathBuf::from(name),
        }
    }

    /// The folder of the plugins for this home.
    fn beside(home: &Path) -> PathBuf {
        let name = home.file_name().unwrap_or_else(|| OsStr::new("haft"));
        home.with_file_name([name, OsStr::new("-plugins")].into_iter().collect::<OsString>())
    }

    /// The user's folder of a system.
    pub(crate) fn folder_of(&self, system: System) -> Option<PathBuf> {
        match system {
            System::Haft => self.user_file.parent().map(PathBuf::from),
            other => self.others.iter().find(|(known, _)| *known == other).map(|(_, folder)| folder.clone()),
        }
    }
}

/// The absolute path; the path unchanged if the current folder does not exist any more.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Caches of build tools: the variable that names a folder, if there is one; the default folder below the user's home;
/// and the subfolders that are caches.
const TOOL_CACHES: &[(&str, &str, &[&str])] = &[
    ("XDG_CACHE_HOME", ".cache", &[""]),
    ("BUN_INSTALL", ".bun", &["install/cache"]),
    ("CARGO_HOME", ".cargo", &["git", "registry"]),
    ("CCACHE_DIR", ".ccache", &[""]),
    ("DENO_DIR", ".cache/deno", &[""]),
    ("GOCACHE", ".cache/go-build", &[""]),
    ("GOMODCACHE", "go/pkg/mod", &[""]),
    ("GOPATH", "go", &["pkg/mod", "pkg/sumdb"]),
    ("GRADLE_USER_HOME", ".gradle", &[""]),
    ("", ".m2", &["repository"]),
    ("NPM_CONFIG_CACHE", ".npm", &[""]),
    ("NUGET_PACKAGES", ".nuget/packages", &[""]),
    ("PIP_CACHE_DIR", ".cache/pip", &[""]),
    ("PNPM_HOME", ".local/share/pnpm", &["store"]),
    ("SCCACHE_DIR", ".cache/sccache", &[""]),
    ("UV_CACHE_DIR", ".cache/uv", &[""]),
    ("YARN_GLOBAL_FOLDER", ".yarn/berry", &[""]),
];

fn tool_caches(environment: &Environment, person: Option<&Path>) -> Vec<PathBuf> {
    let folder = |variable: &str, otherwise: &str| {
        let named = environment.get(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        named.or_else(|| person.map(|home| home.join(otherwise)))
    };
    let caches = TOOL_CACHES.iter().filter_map(|(variable, otherwise, parts)| {
        folder(variable, otherwise).map(|base| parts.iter().map(move |part| base.join(part)))
    });
    caches.flatten().collect()
}

/// The folders in which other systems keep the user's files. A variable applies if it names an absolute path.
fn others(environment: &Environment, person: Option<&PathBuf>) -> Vec<(System, PathBuf)> {
    let absolute =
        |variable: &str| environment.get(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = |row: &SystemRow| {
        let configured = || {
            let inside = row.person.strip_prefix(".config/")?;
            absolute("XDG_CONFIG_HOME").map(|base| base.join(inside))
        };
        let named = row.variable.and_then(absolute).or_else(configured);
        named.or_else(|| person.map(|home| home.join(row.person))).map(|folder| (row.system, folder))
    };
    SYSTEMS.iter().filter(|row| row.system != System::Haft).filter_map(folder).collect()
}
