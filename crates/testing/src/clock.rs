//! [`now`] and [`since`]: the processor time of this thread, which is independent of other programs on the machine.
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Returns the time since some moment in the past.
pub fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns the time since `start`, which [`now`] returned.
pub fn since(start: Duration) -> Duration {
    now().saturating_sub(start)
}
