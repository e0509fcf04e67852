//! Configuration, keys, and what users bring along.
mod login;
mod other_systems;
mod setup;
mod user_files;
