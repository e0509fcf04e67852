//! [`Lazy`]: a command whose options are built only when it is used. Building the options of all commands would take
//! most of the start time.
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};
use std::ops::Deref;

/// The arguments of a command, built on demand. The variant of [`super::Verb`] that contains it has the description.
#[derive(Debug)]
pub(crate) struct Lazy<T>(pub(crate) Box<T>);

impl<T> Deref for Lazy<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: FromArgMatches> FromArgMatches for Lazy<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Box::new).map(Self)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(Box::new).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Lazy<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| described(command, T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(|command| described(command, T::augment_args_for_update))
    }
}

impl<T: Subcommand> Subcommand for Lazy<T> {
    fn augment_subcommands(command: Command) -> Command {
        command.defer(|command| described(command, T::augment_subcommands))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        command.defer(|command| described(command, T::augment_subcommands_for_update))
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}

/// Adds arguments, and keeps the description of the command.
fn described(command: Command, augment: fn(Command) -> Command) -> Command {
    let (about, long) = (command.get_about().cloned(), command.get_long_about().cloned());
    let command = augment(command).about(about.unwrap_or_default());
    match long {
        Some(long) => command.long_about(long),
        None => command.long_about(None),
    }
}
