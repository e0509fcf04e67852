//! [`ProcessFigures`]: the metrics of this process under the names that all Prometheus clients use.
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
};
use rustix::process::{Resource, getrlimit};
use std::{fmt, fs, time::SystemTime};

/// Clock ticks per second in proc(5), the same on every architecture of Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Reads the values of this process at each scrape.
#[derive(Debug)]
pub(crate) struct ProcessFigures {
    /// Start time, in seconds since 1970-01-01 UTC.
    begun: f64,
}

impl ProcessFigures {
    /// Metrics of a process that starts at this moment.
    pub(crate) fn new() -> Self {
        Self { begun: SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs_f64() }
    }
}

impl Collector for ProcessFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut add = |name: &str, help: &str, metric: &dyn EncodeMetric| {
            metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
        };
        let begun = "When the process began, in seconds since 1970-01-01 UTC";
        add("process_start_time_seconds", begun, &ConstGauge::new(self.begun))?;
        if let Some(seconds) = cpu_seconds() {
            add("process_cpu_seconds", "Time on a CPU, of user and system", &ConstCounter::new(seconds))?;
        }
        if let Some(bytes) = resident_bytes() {
            add("process_resident_memory_bytes", "Memory that is resident", &ConstGauge::new(bytes))?;
        }
        if let Ok(files) = fs::read_dir("/proc/self/fd") {
            add("process_open_fds", "Open files", &ConstGauge::new(files.count() as f64))?;
        }
        if let Some(maximum) = getrlimit(Resource::Nofile).current {
            add("process_max_fds", "Maximum open files", &ConstGauge::new(maximum as f64))?;
        }
        Ok(())
    }
}

/// CPU time from proc(5): fields 14 and 15 of the line, which are the twelfth and thirteenth after the name in
/// parentheses.
fn cpu_seconds() -> Option<f64> {
    let line = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, behind) = line.rsplit_once(')')?;
    let ticks = |text: Option<&str>| text?.parse::<f64>().ok();
    let mut fields = behind.split_whitespace().skip(11);
    Some((ticks(fields.next())? + ticks(fields.next())?) / TICKS_PER_SECOND)
}

fn resident_bytes() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(kilobytes.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok()? * 1024.0)
}
