//! Settings that are one word of a closed set ([`Word`]).
use super::setting::{Choice, Value};
use serde::{Deserialize, Serialize};

/// A setting that is one word of a closed set.
pub(crate) trait Word: Copy + Send + Sync + Serialize + 'static {
    /// Every value, and what it does.
    const ALL: &'static [(Self, Choice)];
}

impl<T: Word> Value for T {
    fn parse(word: &str) -> Result<Self, String> {
        let found = T::ALL.iter().find(|(_, (name, _))| *name == word).map(|(value, _)| *value);
        let names = || T::ALL.iter().map(|(_, (name, _))| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| format!("`{word}` is invalid: expected one of {}", names()))
    }

    fn choices() -> Vec<Choice> {
        T::ALL.iter().map(|(_, choice)| *choice).collect()
    }
}

/// Whether addresses and paths that are shown are links (OSC 8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hyperlinks {
    /// In terminals that are known to show them.
    #[default]
    Auto,
    /// In every terminal.
    Always,
    /// Never.
    Never,
}

impl Word for Hyperlinks {
    const ALL: &'static [(Self, Choice)] = &[
        (Self::Auto, ("auto", "In terminals that are known to show them")),
        (Self::Always, ("always", "In every terminal")),
        (Self::Never, ("never", "Never")),
    ];
}
