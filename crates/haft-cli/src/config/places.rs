//! Where things lie.
use super::Environment;
use std::path::PathBuf;

/// Where things lie on this machine.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// Sessions: `HAFT_HOME`, else the data folder of the person.
    pub(crate) home: PathBuf,
    /// The person's own file.
    pub(crate) user_file: PathBuf,
    /// GGUF files: `HAFT_MODELS`, else in `home`.
    #[cfg_attr(not(feature = "local"), expect(dead_code, reason = "only the embedded model lies there"))]
    pub(crate) models: PathBuf,
    /// What can be made again.
    #[cfg_attr(not(feature = "local"), expect(dead_code, reason = "only the embedded model lies there"))]
    pub(crate) cache: PathBuf,
    /// The person's home folder.
    pub(crate) person: Option<PathBuf>,
}

impl Places {
    /// By the XDG rules.
    pub(crate) fn of(environment: &Environment) -> Self {
        let person = environment.get("HOME").map(PathBuf::from);
        let under = |variable: &str, otherwise: &str| {
            let base = environment.get(variable).map(PathBuf::from).filter(|path| path.is_absolute());
            let base = base.or_else(|| person.as_ref().map(|home| home.join(otherwise)));
            base.unwrap_or_else(std::env::temp_dir).join("haft")
        };
        let home = environment
            .get("HAFT_HOME")
            .map_or_else(|| under("XDG_DATA_HOME", ".local/share"), PathBuf::from);
        let models = environment.get("HAFT_MODELS").map_or_else(|| home.join("models"), PathBuf::from);
        let user_file = under("XDG_CONFIG_HOME", ".config").join("config.toml");
        Self { home, user_file, models, cache: under("XDG_CACHE_HOME", ".cache"), person }
    }
}
