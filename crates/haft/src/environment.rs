//! [`Environment`]: the environment of this process. Determines the folder of sessions, and the variables that the
//! processes of tools get.
use crate::{Error, Result};
use haft_core::{Access, AccessRules};
use std::{collections::BTreeMap, path::PathBuf};

/// The variables of this process, read once by `build`.
pub(crate) struct Environment(BTreeMap<String, String>);

impl Environment {
    pub(crate) fn read() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self(std::env::vars_os().filter_map(text).collect())
    }

    /// A variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The variables for signing in to a cloud.
    #[cfg(feature = "http")]
    pub(crate) fn variables(&self) -> haft_providers::Variables {
        haft_providers::Variables::new(self.0.clone())
    }

    /// The user's state folder, by the XDG rules: `HAFT_HOME`, otherwise `haft` in the folder for data. Absolute,
    /// because the current folder may change.
    pub(crate) fn home(&self) -> Result<PathBuf> {
        let person = || self.get("HOME").map(PathBuf::from).or_else(std::env::home_dir);
        let data = self.get("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let data = data.or_else(|| person().map(|home| home.join(".local/share")));
        let home = self.get("HAFT_HOME").map(PathBuf::from).or_else(|| data.map(|data| data.join("haft")));
        home.and_then(|home| std::path::absolute(home).ok()).ok_or_else(|| {
            Error::new("there is no place for sessions: you have no home folder").with_hint(
                "set HOME or HAFT_HOME, name a folder with `home`, or keep nothing with `in_memory`",
            )
        })
    }

    /// The environment of the processes of tools: no secrets, and no variables of Haft. Secrets and `keys` are removed
    /// from their output.
    pub(crate) fn access(&self, keys: &[String]) -> Access {
        let rules = AccessRules { keys: keys.to_vec(), mark: CALL_VARIABLE, ..AccessRules::default() };
        rules.access(self.0.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }
}

/// The variable that names the call for which this process was started. The processes that it starts belong to that
/// call, too.
const CALL_VARIABLE: &str = "HAFT_CALL";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_for_sessions_does_not_move_with_the_current_folder() {
        let home = |value: &str| Environment([("HAFT_HOME".to_owned(), value.to_owned())].into()).home();
        assert_eq!(home("/h").ok(), Some("/h".into()));
        assert_eq!(home("own").ok(), std::env::current_dir().ok().map(|folder| folder.join("own")));
    }
}
