//! [`VerifyArgs`] and [`BundleArgs`]: the options of `haft verify` and `haft bundle`.
use super::mode;
use clap::Args;
use haft_core::Mode;
use std::path::PathBuf;

/// `haft verify`
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Session ID, a unique prefix of it, its name; the file of a bundle or a journal; the address of a bundle or of a pull
    /// request; or a Git range such as `main..HEAD`
    #[arg(value_name = "SESSION|FILE|URL|RANGE")]
    pub(crate) target: String,
    /// Check the chain alone; run nothing
    #[arg(long)]
    pub(crate) chain_only: bool,
    /// Directory to take files from, such as a clone of the repository [default: the session's own; for a file, the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Accept only a bundle that one of these SSH keys signed: a file of allowed signers, see `man ssh-keygen`
    #[arg(long, value_name = "FILE")]
    pub(crate) signers: Option<PathBuf>,
    /// Mode for commands: `full` also runs those that need approval; files in the copy are changed without approval
    #[arg(long, value_name = "MODE", value_parser = mode())]
    pub(crate) permission: Option<Mode>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `haft bundle`
#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    /// Session ID, a unique prefix of it, or its name
    #[arg(value_name = "SESSION")]
    pub(crate) id: String,
    /// File to write; it takes the place of an older one
    #[arg(long, value_name = "FILE", required_unless_present = "trailer")]
    pub(crate) out: Option<PathBuf>,
    /// Sign the bundle with this SSH key; a public key names one of the agent
    #[arg(long, value_name = "KEY", requires = "out")]
    pub(crate) sign: Option<PathBuf>,
    /// Print the line for a commit's message that names the session as it is
    #[arg(long)]
    pub(crate) trailer: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
