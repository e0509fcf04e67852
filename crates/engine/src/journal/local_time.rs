//! [`local_time`]: shows a moment in the time zone of this machine.
use jiff::{Timestamp, Zoned};
use std::time::SystemTime;

/// Shows `at`, in milliseconds since 1970-01-01 UTC, in the time zone of this machine: `15:04`, and with its date,
/// `Nov 25, 15:04`, if that is another day.
pub fn local_time(at: u64) -> String {
    let at = i64::try_from(at).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    let now = Zoned::now();
    let at = at.unwrap_or(Timestamp::MAX).to_zoned(now.time_zone().clone());
    let format = if at.date() == now.date() { "%H:%M" } else { "%b %d, %H:%M" };
    at.strftime(format).to_string()
}

/// The time now, in milliseconds since 1970-01-01 UTC.
pub(crate) fn now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as u64
}
