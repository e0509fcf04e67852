//! [`io_kind`] and [`says`]: find out why a request failed, which `reqwest` reports only in the causes of its error.
use std::{error::Error, io, iter::successors};

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    successors(Some(error as &(dyn Error + 'static)), |&error| error.source())
}

/// Returns the kind of the innermost I/O error, usually one of the operating system, if there is one.
pub fn io_kind(error: &reqwest::Error) -> Option<io::ErrorKind> {
    causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).last().map(io::Error::kind)
}

/// Returns whether the error or one of its causes contains `words`.
pub fn says(error: &reqwest::Error, words: &str) -> bool {
    causes(error).any(|cause| cause.to_string().contains(words))
}
