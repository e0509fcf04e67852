//! `haft update`.
mod faults;
mod notices;
mod replacing;
