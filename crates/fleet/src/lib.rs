//! Jobs on many machines: a queue, leases and journals on PostgreSQL.
//!
//! A worker has a job for as long as its *lease* lasts, which it renews. Each claim raises the job's *fencing token*.
//! PostgreSQL accepts an entry, a content or a conclusion only with the token of the last claim, and only while its
//! lease lasts by PostgreSQL's own clock. So what a worker sends after it was paused has no effect, and its files are
//! only in the folder of its own attempt.
//!
//! | module | what it does |
//! | --- | --- |
//! | `error`, `tls`, `database`, `schema` | statements on a connection that is made again if it breaks; migrations |
//! | `owners`, `jobs` | owners of jobs; submitting, listing, steering and canceling jobs |
//! | `requests` | requests that clients may repeat |
//! | `queue`, `lease` | which worker has a job, and until when |
//! | `entries`, `writer` | journals: read for the next attempt, written by this one |
//! | `live` | events of a job that are shown but not recorded |
//! | `objects`, `storage` | where the contents of changed files are stored |
//! | `git`, `replay_changes` | the work tree of an attempt |
//! | `slot` | limits how many jobs run at the same time; a job that waits for an approval gives its slot away |
//! | `app_work` | an attempt at a job with the sessions of `haft-app` |
//! | `worker` | claims, works, renews, settles |
//! | `queues`, `limits` | which workers and owners may use a queue; limits of owners and queues |
//! | `setups`, `secrets`, `prepared` | commands that run once before jobs of a queue, and their secrets |
//! | `audit` | the log of what users did |
//! | `push` | devices to notify, and the notices |
//! | `status`, `pauses`, `prune` | an overview of the fleet; jobs that no worker begins; removing old jobs |
//!
//! How it works inside: `README.md` of this crate.
mod app_work;
mod audit;
mod database;
mod entries;
mod error;
mod git;
mod jobs;
mod lease;
mod limits;
mod live;
mod objects;
mod owners;
mod pauses;
mod places;
mod prepared;
mod prune;
mod push;
mod queue;
mod queues;
mod replay_changes;
mod requests;
mod schema;
mod secrets;
mod setups;
mod slot;
mod status;
mod storage;
mod tls;
mod worker;
mod writer;

pub use app_work::{ADMIN, AppWork, new_job};
pub use audit::{append_to_audit, audit_log};
pub use database::Database;
pub use entries::{contents, entries_since, next_entry, restore};
pub use error::FleetError;
pub use git::{Attempt, Repository};
pub use jobs::{JobLine, JobsWanted, NewJob, add, cancel, description, find, job, jobs, retry, send};
pub use lease::{Lease, Leases};
pub use limits::{LimitUsage, Limited, Limits, Period, limits, set_limits};
pub use live::{Following, LiveSender, News};
pub use owners::{
    FleetClient, LoginRights, Owner, OwnerLine, add_owner, client_of, end_logins, log_in, log_out, owners,
    remove_owner,
};
pub use pauses::{Paused, pause, pauses, unpause};
pub use places::{Moved, work_place};
pub use prune::{Pruned, prune};
pub use push::{
    PushDevice, PushNotice, add_push_device, push_devices, push_key, put_off_notice, remove_notice,
    remove_push_device, take_notices,
};
pub use queue::{Claimed, Heard, Settled, claim, put_back, release_others, renew, settle, sweep};
pub use queues::{DEFAULT_QUEUE, QueueAccess, access, check_queue, check_worker, set_access};
pub use replay_changes::replay_changes;
pub use requests::{Request, RequestAnswer, answer_request, begin_request};
pub use schema::{Migrated, migrate};
pub use secrets::{FleetKey, SecretLine, remove_secret, secrets, set_secret};
pub use setups::{QueueSetup, set_setup, setups};
pub use slot::{Slot, Slots};
pub use status::{JobCount, Status, TurnCount, WorkerLine, costs, drain, status, turns};
pub use storage::{set_storage, storage};
pub use worker::{Begun, Ended, Preparation, Settings, Work, work};
pub use writer::{CommitUploader, Writer};
