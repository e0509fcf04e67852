//! The time that this thread has worked: others may use the machine as well.
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Since some moment.
pub(crate) fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Since `start`, which [`now`] gave.
pub(crate) fn since(start: Duration) -> Duration {
    now().saturating_sub(start)
}
