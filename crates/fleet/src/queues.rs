//! Queues: which workers may take a job. One exists as soon as a job or a worker names it.
use crate::{error::FleetError, owners::is_name};

/// The queue of jobs that name none.
pub const DEFAULT_QUEUE: &str = "default";

/// Fails if `name` cannot be a queue.
///
/// # Errors
/// [`FleetError::Usage`] unless it has letters, digits and `-_.@+`, at most 64.
pub fn check_queue(name: &str) -> Result<(), FleetError> {
    match is_name(name) {
        true => Ok(()),
        false => Err(FleetError::Usage(format!(
            "`{}` cannot be a queue: a name has up to 64 letters, digits and `-`, `_`, `.`, `@`, `+`",
            name.escape_debug()
        ))),
    }
}
