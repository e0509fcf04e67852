//! Jobs on many machines: a queue, leases and journals on PostgreSQL.
//!
//! A worker has a job for as long as its *lease* lasts, which it renews. Each claim raises the job's *fencing token*,
//! and PostgreSQL takes an entry, a content or a conclusion only with the token of the last claim, while its lease
//! lasts by PostgreSQL's own clock. So a worker that was paused can say what it likes: nothing of it counts, and what
//! it wrote is in the folder of its own attempt.
//!
//! | module | what it is |
//! | --- | --- |
//! | `error`, `tls`, `database`, `schema` | statements on a connection that comes back; migrations |
//! | `owners`, `jobs` | who gives jobs, and what people do with them |
//! | `requests` | what clients may send again |
//! | `queue`, `lease` | who has a job, and until when |
//! | `entries`, `writer` | journals: read for the next attempt, written by this one |
//! | `live` | what is shown of a job and not recorded |
//! | `objects`, `storage` | where the contents of changed files are kept |
//! | `git`, `replay_changes` | the work tree of an attempt |
//! | `slot` | room for one job at work, which one that waits for a person leaves |
//! | `app_work` | an attempt at a job with the sessions of `haft-app` |
//! | `worker` | claims, works, renews, settles |
//! | `queues`, `limits` | who may give and take the jobs of a queue; what owners and queues may use |
//! | `setups`, `secrets`, `prepared` | what is run once before jobs of a queue, and what it gets |
//! | `audit` | what people did |
//! | `push` | devices that are notified, and what they are to be told |
//! | `status`, `pauses`, `prune` | what there is; whose jobs no worker begins; how old jobs are removed |
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
pub use entries::{contents, entries_since, restore};
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
pub use queue::{Claimed, Heard, Settled, claim, put_back, renew, settle, sweep};
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
