//! Configuration, keys, and what users bring along.
mod login;
mod setup;
mod user_files;
