//! Jobs on one machine.
mod lifecycle;
mod retries;
