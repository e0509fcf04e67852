//! [`WorkerArgs`] and [`Fleet`]: the options of `haft worker` and `haft fleet`.
use super::WorkArgs;
use clap::{Args, Subcommand};
use std::{num::NonZeroUsize, path::PathBuf};

/// The database that the machines of a fleet share.
#[derive(Clone, Debug, Args)]
pub(crate) struct FleetUrl {
    /// PostgreSQL of the fleet, `postgres://USER@HOST/DATABASE` [default: the variable `HAFT_FLEET`]
    #[arg(long, value_name = "URL")]
    pub(crate) fleet: Option<String>,
}

/// `haft worker`
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// Which fleet.
    #[command(flatten)]
    pub(crate) fleet: FleetUrl,
    /// Name of this worker in lists [default: the name of the machine]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Work on at most this many jobs at a time
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) workers: NonZeroUsize,
    /// Let another worker take over a job if this one was not heard from for this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) lease: u64,
    /// Keep mirrors and work trees in this directory [default: `fleet` in the data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// How the turns of each job go.
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

/// `haft fleet …`
#[derive(Debug, Subcommand)]
pub(crate) enum Fleet {
    /// Show workers, the number of jobs in each state, and jobs that failed too often to be tried again
    Status {
        /// Which fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Tell workers to take no more jobs, and to end when they have none
    Drain {
        /// Which fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// Name of the workers, or one instance of that name [default: all workers]
        worker: Option<String>,
    },
    /// Create the tables of a fleet, or update them for this version
    Migrate {
        /// Which fleet.
        #[command(flatten)]
        fleet: FleetUrl,
    },
    /// Queue a job: `haft fleet add builder "Add a test" --repository URL`
    Add {
        /// Which fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// Agent that does it: `builder`, `debugger`, `reviewer`, `triager` or one of your own
        kind: String,
        /// What to do
        description: String,
        /// Repository to work on: a URL, or a path that every worker can read; without it, an empty directory
        #[arg(long, value_name = "URL")]
        repository: Option<String>,
        /// Commit or branch to begin with [default: HEAD of the repository]
        #[arg(long, value_name = "COMMIT", requires = "repository")]
        base: Option<String>,
        /// Priority among the jobs of the same owner: larger numbers go first
        #[arg(long, value_name = "N", default_value = "0", allow_hyphen_values = true)]
        priority: i32,
        /// Owner of the job
        #[arg(long, value_name = "NAME", default_value = "admin")]
        owner: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Try a job again that failed, was cancelled, or was tried too often
    Retry {
        /// Which fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// ID of the job
        id: String,
    },
    /// Create an owner and print its token for programs; for an existing owner, replace the token
    Owner {
        /// Which fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// Name: letters, digits, `-` and `_`
        name: String,
    },
}
