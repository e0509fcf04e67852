//! [`event`] and [`entry`]: write events as lines of JSON: what `--output stream-json` prints, and what a journal
//! holds.
use crate::safe;
use haft_core::{Entry, Event, line};
use std::time::SystemTime;

/// `{"seq":N|null,"at":MS,"type":TYPE,…}`, without a line end.
pub fn event(event: &Event) -> String {
    match event {
        Event::Recorded(recorded) => entry(recorded),
        Event::Live(update) => {
            let at = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as u64;
            safe::json(&line::of_update(update, at)).into_owned()
        }
    }
}

/// A recorded entry, as it is in the journal.
pub fn entry(entry: &Entry) -> String {
    safe::json(&line::of_entry(entry)).into_owned()
}
