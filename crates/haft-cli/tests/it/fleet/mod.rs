//! Jobs on many machines, with real workers and a real PostgreSQL.
mod approvals;
mod database_faults;
mod serve;
mod workers;
