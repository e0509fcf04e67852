//! Profiles as the documents of the programs that they imitate describe them.
mod alfred;
mod all_profiles;
mod ally;
mod opencode;
mod pedro;
mod pedro_commands;
mod pedro_endings;
mod pedro_jobs;
mod pedro_tools;
mod picoclaw;
mod picoclaw_wire;
