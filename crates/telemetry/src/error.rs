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
        /// The valid values, as a sentence without a period.
        expected: &'static str,
    },
    /// The client for the collector cannot be created.
    #[error("cannot send telemetry: {0}")]
    Client(#[from] reqwest::Error),
    /// The SDK rejects the settings.
    #[error("cannot send telemetry: {0}")]
    Exporter(#[from] ExporterBuildError),
}
