//! [`Error`]: why something could not be done, and what to do about it.
use haft_engine::{Closed, EngineError, TurnError, TurnReport};
use std::fmt;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something could not be done.
///
/// Displays what was tried, on what, and why it failed; [`Error::hint`] says what to do next. A `main` that returns it
/// prints both.
pub struct Error(Box<Inner>);

struct Inner {
    message: String,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    report: Option<Box<TurnReport>>,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Inner { message: message.into(), hint: None, source: None, report: None }))
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    pub(crate) fn caused_by(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }

    /// Returns what to do about it, if known.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Returns the report of the turn, if a turn failed.
    pub fn report(&self) -> Option<&TurnReport> {
        self.0.report.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

/// Prints the error in readable form, because `main` prints errors by `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        self.0.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        let hint = match &error {
            EngineError::Journal(error) => error.hint(),
            EngineError::HomeInWorkspace { .. } => {
                Some("choose another folder with `workspace`, or another place for sessions with `home`")
            }
            EngineError::WorkspaceInGit(_) => Some("choose another folder with `workspace`"),
            EngineError::NoSuchAgent { .. } => Some("add it with `agent`"),
            EngineError::ShutDown => Some("`Haft::close` was called: build another `Haft`"),
            EngineError::NoModel { .. }
            | EngineError::NotOpen(_)
            | EngineError::NotJoined { .. }
            | EngineError::NotAttached { .. } => None,
        };
        let told = Self::new(error.to_string());
        match hint {
            Some(hint) => told.with_hint(hint),
            None => told,
        }
    }
}

impl From<Closed> for Error {
    fn from(closed: Closed) -> Self {
        Self::new(format!("cannot give the command: {closed}"))
            .with_hint("`Haft::resume` opens the session again")
    }
}

impl From<TurnError> for Error {
    fn from(error: TurnError) -> Self {
        let (message, hint) = (error.to_string(), error.hint().map(str::to_owned));
        let (TurnError::Ended { report, .. }
        | TurnError::Failed { report, .. }
        | TurnError::NoAnswer { report, .. }) = error;
        Self(Box::new(Inner { message, hint, source: None, report: Some(report) }))
    }
}

#[cfg(feature = "app")]
impl From<haft_app::Failure> for Error {
    fn from(failure: haft_app::Failure) -> Self {
        let told = Self::new(failure.message);
        match failure.hint {
            Some(hint) => told.with_hint(hint),
            None => told,
        }
    }
}
