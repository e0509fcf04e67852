//! [`Variables`]: the variables from which a sign-in is read.
use std::{
    collections::BTreeMap,
    env, fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Variables of the environment for the sign-in to a cloud. Their values cannot be printed by accident.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables(Arc<BTreeMap<String, String>>);

impl Variables {
    /// Variables with these names and values.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(Arc::new(variables.into_iter().collect()))
    }

    /// A variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The path in the variable `name`, otherwise `usual` in the user's home.
    pub(crate) fn file(&self, name: &str, usual: impl AsRef<Path>) -> PathBuf {
        let home = || PathBuf::from(self.get("HOME").unwrap_or("/"));
        self.get(name).map_or_else(
            || home().join(usual),
            |path| match path.strip_prefix("~/") {
                Some(rest) => home().join(rest),
                None => path.into(),
            },
        )
    }

    /// Whether a program of this name is in the `PATH`.
    pub(crate) fn has_program(&self, name: &str) -> bool {
        let path = self.get("PATH").unwrap_or_default();
        env::split_paths(path).any(|folder| folder.is_absolute() && folder.join(name).is_file())
    }

    /// The variables, with `value` added for the first of `names` if all of them are unset.
    #[must_use]
    pub fn or(self, names: &[&str], value: Option<&str>) -> Self {
        let (Some(name), Some(value)) = (names.first(), value) else { return self };
        if names.iter().any(|name| self.get(name).is_some()) {
            return self;
        }
        let mut variables = (*self.0).clone();
        variables.insert((*name).to_owned(), value.to_owned());
        Self(Arc::new(variables))
    }

    /// All variables, as the sign-in tools of a cloud get them.
    pub(crate) fn all(&self) -> Arc<[(String, String)]> {
        self.0.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Variables({})", self.0.len())
    }
}
