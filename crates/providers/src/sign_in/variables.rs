//! [`Variables`]: the variables from which a sign-in is read.
use std::{collections::BTreeMap, env, fmt, sync::Arc};

/// Variables of the environment, from which the sign-in of a cloud is read. Their values cannot be printed by accident.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables(Arc<BTreeMap<String, String>>);

impl Variables {
    /// Of names and values.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(Arc::new(variables.into_iter().collect()))
    }

    /// A variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Whether a program of this name is in the `PATH`.
    pub(crate) fn has_program(&self, name: &str) -> bool {
        let path = self.get("PATH").unwrap_or_default();
        env::split_paths(path).any(|folder| folder.is_absolute() && folder.join(name).is_file())
    }

    /// All of them, as the sign-in tools of a cloud get them.
    pub(crate) fn all(&self) -> Arc<[(String, String)]> {
        self.0.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Variables({})", self.0.len())
    }
}
