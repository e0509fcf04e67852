//! Jobs on one machine.
mod lifecycle;
mod origin;
mod retries;
mod upkeep;
