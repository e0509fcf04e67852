//! [`QueueSetup`]: the setup commands of a queue, which a worker runs in a work tree before a job of the queue begins.
use crate::{
    database::{Database, Parameters, SHORT},
    error::FleetError,
    queues::check_queue,
};
use tokio_postgres::types::Type;

/// The setup commands of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSetup {
    /// The queue.
    pub queue: String,
    /// The commands: lines for the shell.
    pub commands: String,
}

/// Sets the setup commands of `queue`; `None` removes them. They prepare jobs that begin afterwards.
///
/// # Errors
/// [`FleetError::Usage`] if the name of the queue is invalid or the commands are empty; if PostgreSQL cannot be reached.
pub async fn set_setup(database: &Database, queue: &str, commands: Option<&str>) -> Result<(), FleetError> {
    check_queue(queue)?;
    if commands.is_some_and(|commands| commands.trim().is_empty()) {
        return Err(FleetError::Usage("the setup commands are empty".to_owned()));
    }
    let statement = match commands {
        Some(_) => {
            "INSERT INTO queue_setups VALUES ($1, $2) ON CONFLICT (queue) DO UPDATE SET commands = excluded.commands"
        }
        None => "DELETE FROM queue_setups WHERE queue = $1 AND $2::text IS NULL",
    };
    let parameters: Parameters<'_> = &[(&queue, Type::TEXT), (&commands, Type::TEXT)];
    database.query_within(SHORT, "set setup commands", statement, parameters).await.map(|_| ())
}

/// All setup commands, by queue.
///
/// # Errors
/// If PostgreSQL cannot be reached or refuses the statement.
pub async fn setups(database: &Database) -> Result<Vec<QueueSetup>, FleetError> {
    let statement = "SELECT queue, commands FROM queue_setups ORDER BY queue";
    let rows = database.query_within(SHORT, "read setup commands", statement, &[]).await?;
    Ok(rows.iter().map(|row| QueueSetup { queue: row.get(0), commands: row.get(1) }).collect())
}
