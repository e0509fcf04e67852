//! Why something with the fleet cannot be done.
use std::error::Error as _;
use tokio_postgres::error::{DbError, SqlState};

/// Why something with the fleet cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The address of the database is invalid.
    #[error("cannot read the address of the fleet's database: {0}")]
    Address(String),
    /// The server does not respond. This may pass.
    #[error("cannot reach PostgreSQL at {place}: {why}")]
    Unreachable {
        /// Host and port.
        place: String,
        /// The reason, in the words of the system or the server.
        why: String,
    },
    /// PostgreSQL responds, but refuses these credentials.
    #[error("PostgreSQL at {place} refuses the connection: {why}")]
    Refused {
        /// Host and port.
        place: String,
        /// The reason, in the words of the database.
        why: String,
    },
    /// PostgreSQL does not prove its identity, or has no TLS.
    #[error("cannot connect to PostgreSQL at {place} with TLS: {why}")]
    NotPrivate {
        /// Host and port.
        place: String,
        /// What is wrong with its certificate.
        why: String,
    },
    /// The tables do not match this program.
    #[error("{0}")]
    Schema(String),
    /// The lease is lost: another worker may have the job.
    #[error("lost the lease of the job `{0}`: another worker may have it")]
    Lost(String),
    /// The request is invalid, or names something that does not exist.
    #[error("{0}")]
    Usage(String),
    /// A limit would be exceeded.
    #[error("cannot queue the job: {0}")]
    Limit(String),
    /// The owner may not use the queue.
    #[error("cannot queue the job: {0}")]
    Denied(String),
    /// PostgreSQL refuses a statement.
    #[error("PostgreSQL cannot {action}: {why}")]
    Statement {
        /// What was tried.
        action: &'static str,
        /// The reason, in the words of the program.
        why: String,
    },
    /// An error of Git, a file or a journal.
    #[error("cannot {action}: {why}")]
    Local {
        /// What was tried, and on what.
        action: String,
        /// Why it failed.
        why: String,
    },
}

impl FleetError {
    /// Whether the same request may succeed in a moment.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// Classifies `error`, which occurred in `action` at `place`.
    pub(crate) fn of(action: &'static str, place: &str, error: &tokio_postgres::Error) -> Self {
        let (place, why) = (place.to_owned(), words(error));
        match error.code() {
            Some(state) if is_passing(state) => Self::Unreachable { place, why },
            Some(state) if is_refusal(state) => Self::Refused { place, why },
            Some(state) if *state == SqlState::INSUFFICIENT_PRIVILEGE => Self::Schema(format!(
                "the user of {place} has too few rights ({why}); `haft fleet migrate` needs the owner of the database, other \
                 commands need the rights to read and write Haft's tables"
            )),
            Some(state) if *state == SqlState::CHARACTER_NOT_IN_REPERTOIRE => {
                Self::Usage(format!("an argument contains a character that PostgreSQL cannot store: {why}"))
            }
            Some(state) if is_no_table(state) => Self::Schema(format!(
                "the fleet's database at {place} has no Haft tables ({why}); create them with `haft fleet migrate`"
            )),
            Some(state) if *state == SqlState::DUPLICATE_TABLE => Self::Schema(format!(
                "the fleet's database at {place} has tables of another program ({why}); use a separate database for the fleet"
            )),
            Some(state) if *state == SqlState::FOREIGN_KEY_VIOLATION => {
                Self::Usage(no_owner(error.as_db_error().and_then(DbError::detail)))
            }
            Some(state) if state.code() == LIMIT => Self::Limit(why),
            Some(state) if state.code() == DENIED => Self::Denied(why),
            Some(_) => Self::Statement { action, why },
            None if is_about_tls(&why) => Self::NotPrivate { place, why },
            None if error.is_closed() || error.source().is_some_and(|cause| cause.is::<std::io::Error>()) => {
                Self::Unreachable { place, why }
            }
            None if why.contains("password") || why.contains("authentication") => {
                Self::Refused { place, why }
            }
            None if is_connection(&why) => Self::Unreachable { place, why },
            None => Self::Statement { action, why },
        }
    }
}

/// `detail`: the detail that PostgreSQL gives, such as `Key (owner)=(ann) is not present in table "owners".`
fn no_owner(detail: Option<&str>) -> String {
    let named = detail.and_then(|detail| detail.split_once(")=(")?.1.split_once(')'));
    let owner = named.map(|(name, _)| format!("owner `{}`", name.escape_debug()));
    let owner = owner.unwrap_or_else(|| "such owner".to_owned());
    format!("there is no {owner}; create it with `haft fleet owner NAME`")
}

/// The SQL state that `check_pending` of the migrations raises.
const LIMIT: &str = "HF001";
/// The SQL state that `check_queue_owner` of the migrations raises.
const DENIED: &str = "HF002";

/// The text of the innermost cause, which describes what happened.
fn words(error: &tokio_postgres::Error) -> String {
    if let Some(told) = error.as_db_error() {
        return told.message().to_owned();
    }
    with_causes(error)
}

/// The text of an error, followed by the causes that it does not contain.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let said = next.to_string();
        if !words.contains(&said) {
            words = format!("{words}: {said}");
        }
        cause = next.source();
    }
    words
}

/// Whether the server is stopping, starting or out of resources at the moment.
fn is_passing(state: &SqlState) -> bool {
    let passing = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ];
    state.code().starts_with("08") || passing.contains(state)
}

fn is_refusal(state: &SqlState) -> bool {
    state.code().starts_with("28") || *state == SqlState::INVALID_CATALOG_NAME
}

fn is_no_table(state: &SqlState) -> bool {
    [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME].contains(state)
}

fn is_about_tls(why: &str) -> bool {
    why.contains("certificate") || why.contains("does not support TLS")
}

fn is_connection(why: &str) -> bool {
    ["error connecting", "error communicating", "closed", "timed out", "timeout"]
        .iter()
        .any(|word| why.contains(word))
}
