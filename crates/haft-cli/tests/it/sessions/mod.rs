//! Sessions on disk: names, forks, exports, replays, garbage.
mod blame;
mod bundle;
mod forks;
mod gc;
mod html_export;
mod memory;
mod names;
mod random_blames;
mod random_replays;
mod random_undos;
mod recorded;
mod replays;
mod resuming;
mod two_processes;
mod undo_calls;
mod usage;
mod verify;
