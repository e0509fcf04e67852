//! Modes as they are typed.
use clap::ValueEnum;
use haft::kernel::Mode;

/// `--permission`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Permission {
    /// Ask before every effect
    Ask,
    /// Write files of the workspace without asking
    AcceptEdits,
    /// Allow everything
    Full,
    /// Only read, only in the workspace
    ReadOnly,
}

impl From<Permission> for Mode {
    fn from(permission: Permission) -> Self {
        match permission {
            Permission::Ask => Self::Ask,
            Permission::AcceptEdits => Self::AcceptEdits,
            Permission::Full => Self::Full,
            Permission::ReadOnly => Self::ReadOnly,
        }
    }
}

impl From<Mode> for Permission {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Ask => Self::Ask,
            Mode::AcceptEdits => Self::AcceptEdits,
            Mode::Full => Self::Full,
            Mode::ReadOnly => Self::ReadOnly,
        }
    }
}
