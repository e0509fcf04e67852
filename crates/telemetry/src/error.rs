//! [`TelemetryError`]: why telemetry was not started.
use opentelemetry_otlp::ExporterBuildError;

/// Why telemetry was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// A variable has a value that is invalid or that Haft does not support.
    #[error("cannot send telemetry: `{name}` is `{value}`; {expected}")]
    Variable {
        /// Name of the variable.
        name: String,
        /// Value of the variable.
        value: String,
        /// What it may be, as a sentence without a dot.
        expected: &'static str,
    },
    /// The client for the collector cannot be made.
    #[error("cannot send telemetry: {0}")]
    Client(#[from] reqwest::Error),
    /// The SDK refuses the settings.
    #[error("cannot send telemetry: {0}")]
    Exporter(#[from] ExporterBuildError),
}
