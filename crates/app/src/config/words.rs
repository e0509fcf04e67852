//! [`Word`]: a setting whose value is one word of a closed set.
use super::setting::{Choice, Value};
use serde::{Deserialize, Serialize};

/// A setting whose value is one word of a closed set.
pub(crate) trait Word: Copy + Send + Sync + Serialize + 'static {
    /// Every value, with its meaning.
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

/// Keys of the text that a user types on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EditorMode {
    /// The keys of a shell (Emacs).
    #[default]
    Normal,
    /// The keys of vi.
    Vim,
}

impl Word for EditorMode {
    const ALL: &'static [(Self, Choice)] =
        &[(Self::Normal, ("normal", "Keys of a shell")), (Self::Vim, ("vim", "Keys of vi"))];
}

/// How the terminal notifies a user who looks elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NotificationKind {
    /// OSC 9 and a bell.
    #[default]
    Osc9,
    /// OSC 777 and a bell.
    Osc777,
    /// A bell.
    Bell,
    /// Not at all.
    Off,
}

impl Word for NotificationKind {
    const ALL: &'static [(Self, Choice)] = &[
        (Self::Osc9, ("osc9", "OSC 9 and a bell")),
        (Self::Osc777, ("osc777", "OSC 777 and a bell (foot, rxvt)")),
        (Self::Bell, ("bell", "A bell")),
        (Self::Off, ("off", "Not at all")),
    ];
}
