//! The first commands of a new user.
mod command_line;
mod first_minutes;
mod without_configuration;
