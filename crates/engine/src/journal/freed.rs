//! Freeing what a long session held.
use std::thread;

/// Fewer parts are freed sooner than a thread is started.
const MANY: usize = 10_000;

/// Frees what has so many parts. Nobody waits where they are many: not the end of this process either.
pub(crate) fn free<T: Send + 'static>(held: T, parts: usize) {
    if parts > MANY {
        let _freed_at_once_where_there_is_no_thread = thread::Builder::new().spawn(move || drop(held));
    }
}
