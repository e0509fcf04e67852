//! Configuration, keys, and what users bring along.
mod accounts;
mod hooks;
mod login;
mod other_systems;
mod plugins;
mod setup;
mod user_files;
