//! Jobs on many machines, with real workers and a real PostgreSQL.
mod approvals;
mod attach;
mod audit;
mod commands;
mod database_faults;
mod limits;
mod queues;
mod rolling_upgrade;
mod serve;
mod setup;
mod storage;
mod workers;
