//! [`event`] and [`entry`]: format events as lines of JSON, as in the output of `--output stream-json` and in journals.
use crate::safe;
use haft_core::{Entry, Event, line};
use std::time::SystemTime;

/// Formats an event as `{"seq":N|null,"at":MS,"type":TYPE,…}`, without a line end.
pub fn event(event: &Event) -> String {
    match event {
        Event::Recorded(recorded) => entry(recorded),
        Event::Live(update) => {
            let at = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as u64;
            safe::json(&line::of_update(update, at)).into_owned()
        }
    }
}

/// Formats a recorded entry, as in the journal.
pub fn entry(entry: &Entry) -> String {
    safe::json(&line::of_entry(entry)).into_owned()
}
