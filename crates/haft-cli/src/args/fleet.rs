//! [`WorkerArgs`] and [`Fleet`]: the options of `haft worker` and `haft fleet`.
use super::WorkArgs;
use clap::{Args, Subcommand};
use haft_fleet::{DEFAULT_QUEUE, Period};
use std::{num::NonZeroUsize, path::PathBuf};

/// The database that the machines of a fleet share.
#[derive(Clone, Debug, Args)]
pub(crate) struct FleetUrl {
    /// PostgreSQL database of the fleet: `postgres://USER@HOST/DATABASE` [default: the variable `HAFT_FLEET`]
    #[arg(long, value_name = "URL")]
    pub(crate) fleet: Option<String>,
}

/// `haft worker`
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// The fleet.
    #[command(flatten)]
    pub(crate) fleet: FleetUrl,
    /// Name of this worker [default: the host name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Take only jobs of this queue; can be repeated [default: all queues]
    #[arg(long = "queue", value_name = "NAME")]
    pub(crate) queues: Vec<String>,
    /// Maximum number of jobs to run at the same time
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) workers: NonZeroUsize,
    /// Lease timeout: another worker may take over a job after this many seconds without contact
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) lease: u64,
    /// Directory for mirrors and work trees [default: `fleet` in the data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Options of each job's turns.
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

/// `haft fleet …`
#[derive(Debug, Subcommand)]
pub(crate) enum Fleet {
    /// Show workers, the number of jobs in each state, and jobs that ran out of attempts
    Status {
        /// The fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show workers and jobs, again every two seconds until Ctrl+C
    Top {
        /// The fleet.
        #[command(flatten)]
        fleet: FleetUrl,
    },
    /// List jobs, newest first
    List {
        /// The fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// Only jobs in this state; can be repeated
        #[arg(long, value_name = "STATE", value_parser = ["pending", "running", "waiting", "completed", "failed", "cancelled", "dead"])]
        status: Vec<String>,
        /// Only the jobs of this owner
        #[arg(long, value_name = "NAME")]
        owner: Option<String>,
        /// Only the jobs of this queue
        #[arg(long, value_name = "NAME")]
        queue: Option<String>,
        /// Maximum number of jobs to list
        #[arg(long, value_name = "N", default_value = "50", value_parser = clap::value_parser!(i64).range(1..))]
        limit: i64,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show a job: its task, state, worker and result
    Show {
        /// The fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// ID of the job, or a unique prefix of it
        id: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print a job's journal as JSON, one entry per line
    Logs {
        /// The fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// ID of the job, or a unique prefix of it
        id: String,
        /// Continue with new entries until the job ends
        #[arg(short, long)]
        follow: bool,
        /// No effect: the output is always JSON
        #[arg(long)]
        json: bool,
    },
    /// Stop a job
    Cancel {
        /// The fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// ID of the job, or a unique prefix of it
        id: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Begin no more jobs, of one owner, one queue or the whole fleet; running jobs continue
    Pause {
        /// The fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// Owner [default: all owners]
        owner: Option<String>,
        /// Queue, in place of an owner
        #[arg(long, value_name = "NAME", conflicts_with = "owner")]
        queue: Option<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Begin jobs again after `haft fleet pause`
    Resume {
        /// The fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// Owner [default: the whole fleet]
        owner: Option<String>,
        /// Queue, in place of an owner
        #[arg(long, value_name = "NAME", conflicts_with = "owner")]
        queue: Option<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Limit what the jobs of an owner or a queue use together; without options, show limits
    Limit(LimitArgs),
    /// Drain workers: finish current jobs, then exit
    Drain(DrainArgs),
    /// Let only some owners use a queue; without options, show such queues
    Access(AccessArgs),
    /// Remove jobs that ended long ago, with their journals
    Prune(PruneArgs),
    /// Show who changed what: requests to servers, log-ins and commands of `haft fleet`, and check that nothing is missing
    Audit {
        /// The fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// Only what this owner did
        #[arg(long, value_name = "NAME")]
        owner: Option<String>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Create the database tables of a fleet, or update them to this version
    Migrate {
        /// The fleet.
        #[command(flatten)]
        fleet: FleetUrl,
    },
    /// Queue a job: `haft fleet add builder "Add a test" --repository URL`
    Add {
        /// The fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// Agent to use: `builder`, `debugger`, `reviewer`, `triager` or one of your own
        kind: String,
        /// Task to do
        description: String,
        /// Repository to work on: a URL, or a path that every worker can read and push to [default: an empty directory]
        #[arg(long, value_name = "URL")]
        repository: Option<String>,
        /// Commit or branch to start from [default: HEAD of the repository]
        #[arg(long, value_name = "COMMIT", requires = "repository")]
        base: Option<String>,
        /// Priority among the jobs of the same owner; larger numbers run first
        #[arg(long, value_name = "N", default_value = "0", allow_hyphen_values = true)]
        priority: i32,
        /// Owner of the job
        #[arg(long, value_name = "NAME", default_value = "admin")]
        owner: String,
        /// Queue: workers started with `--queue NAME` or without `--queue` take the job
        #[arg(long, value_name = "NAME", default_value = DEFAULT_QUEUE)]
        queue: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Requeue a job that failed, was canceled or ran out of attempts
    Retry {
        /// The fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// ID of the job, or a unique prefix of it
        id: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show where the contents of changed files are stored, or store new ones in an object store: `s3://BUCKET/PREFIX`
    Storage {
        /// The fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// Object store with the protocol of Amazon S3; keys, region and endpoint come from the variables `AWS_…`
        address: Option<String>,
        /// Store new ones in the database again
        #[arg(long, conflicts_with = "address")]
        database: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show the setup commands of queues, or set those of one: workers run them once in the work tree of a commit
    Setup {
        /// The fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// Commands of the shell, such as `npm ci`
        #[arg(conflicts_with = "remove")]
        commands: Option<String>,
        /// Read the commands from this file, or from standard input if it is `-`
        #[arg(long, value_name = "FILE", conflicts_with_all = ["commands", "remove"])]
        file: Option<PathBuf>,
        /// Remove the setup commands of the queue
        #[arg(long)]
        remove: bool,
        /// Queue
        #[arg(long, value_name = "NAME", default_value = DEFAULT_QUEUE)]
        queue: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the secrets of queues, or set one from standard input: setup commands get it, commands of agents do not
    Secret {
        /// The fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// Variable in which setup commands get the secret
        name: Option<String>,
        /// Remove the secret
        #[arg(long, requires = "name")]
        remove: bool,
        /// Queue
        #[arg(long, value_name = "NAME", default_value = DEFAULT_QUEUE)]
        queue: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List owners, or create one and print its API token; the token of an existing owner is replaced
    Owner {
        /// The fleet.
        #[command(flatten)]
        fleet: FleetUrl,
        /// Name of the owner to create: letters, digits and `-`, `_`, `.`, `@`, `+`
        name: Option<String>,
        /// End all logins of the owner, and leave the token as it is
        #[arg(long, requires = "name")]
        log_out: bool,
        /// Remove the owner, with logins, limits and access to queues; the jobs must have been removed with `haft fleet prune`
        #[arg(long, requires = "name", conflicts_with = "log_out")]
        remove: bool,
        /// Print the list as JSON
        #[arg(long, conflicts_with = "name")]
        json: bool,
    },
}

impl Fleet {
    /// The fleet that is meant.
    pub(crate) fn url(&self) -> &FleetUrl {
        match self {
            Self::Status { fleet, .. }
            | Self::Top { fleet }
            | Self::List { fleet, .. }
            | Self::Show { fleet, .. }
            | Self::Logs { fleet, .. }
            | Self::Cancel { fleet, .. }
            | Self::Pause { fleet, .. }
            | Self::Resume { fleet, .. }
            | Self::Audit { fleet, .. }
            | Self::Migrate { fleet }
            | Self::Add { fleet, .. }
            | Self::Retry { fleet, .. }
            | Self::Storage { fleet, .. }
            | Self::Setup { fleet, .. }
            | Self::Secret { fleet, .. }
            | Self::Owner { fleet, .. }
            | Self::Limit(LimitArgs { fleet, .. })
            | Self::Drain(DrainArgs { fleet, .. })
            | Self::Access(AccessArgs { fleet, .. })
            | Self::Prune(PruneArgs { fleet, .. }) => fleet,
        }
    }
}

/// Which owners may use a queue.
#[derive(Debug, Args)]
pub(crate) struct AccessArgs {
    /// The fleet.
    #[command(flatten)]
    pub(crate) fleet: FleetUrl,
    /// Queue
    #[arg(long, value_name = "NAME")]
    pub(crate) queue: Option<String>,
    /// Owner who may give jobs to the queue; can be repeated. Others are refused, except for `admin`
    #[arg(long, value_name = "NAME", requires = "queue")]
    pub(crate) owner: Vec<String>,
    /// Let all owners use the queue
    #[arg(long, requires = "queue", conflicts_with = "owner")]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which jobs are old.
#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// The fleet.
    #[command(flatten)]
    pub(crate) fleet: FleetUrl,
    /// Days since a job has ended
    #[arg(long, value_name = "N")]
    pub(crate) days: u32,
    /// Only say what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which workers take no more jobs.
#[derive(Debug, Args)]
pub(crate) struct DrainArgs {
    /// The fleet.
    #[command(flatten)]
    pub(crate) fleet: FleetUrl,
    /// Worker name or instance ID [default: all workers]
    pub(crate) worker: Option<String>,
    /// Let workers that have not finished yet take jobs again
    #[arg(long)]
    pub(crate) undo: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `haft fleet limit`
#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    /// The fleet.
    #[command(flatten)]
    pub(crate) fleet: FleetUrl,
    /// Owner
    pub(crate) owner: Option<String>,
    /// Queue, in place of an owner
    #[arg(long, value_name = "NAME", conflicts_with = "owner")]
    pub(crate) queue: Option<String>,
    /// Maximum number of jobs that run at the same time, including those that wait for a person; `none` removes the limit
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub(crate) running: Option<OrNone<i32>>,
    /// Maximum number of pending jobs: adding more is refused; `none` removes the limit
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub(crate) pending: Option<OrNone<i32>>,
    /// Maximum cost in US dollars: once it is spent, no job begins until the next period; `none` removes the limit
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(crate) budget: Option<OrNone<f64>>,
    /// Period of the budget, in UTC: `day`, `week` or `month` [default: the period that the budget has, or `day`]
    #[arg(long, value_name = "PERIOD", requires = "budget", value_parser = period)]
    pub(crate) per: Option<Period>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A limit to set, or `none` to remove it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrNone<T>(pub(crate) Option<T>);

fn jobs(text: &str) -> Result<OrNone<i32>, String> {
    or_none(text, |jobs: &i32| *jobs >= 0, "a number of jobs")
}

fn dollars(text: &str) -> Result<OrNone<f64>, String> {
    or_none(text, |usd: &f64| usd.is_finite() && *usd >= 0.0, "an amount in US dollars")
}

fn or_none<T: std::str::FromStr>(
    text: &str,
    is_valid: impl Fn(&T) -> bool,
    what: &str,
) -> Result<OrNone<T>, String> {
    if text == "none" {
        return Ok(OrNone(None));
    }
    let value = text.parse().ok().filter(is_valid);
    value.map(|value| OrNone(Some(value))).ok_or_else(|| format!("expected {what}, or `none`"))
}

fn period(text: &str) -> Result<Period, String> {
    Period::named(text).ok_or_else(|| "expected `day`, `week` or `month`".to_owned())
}
