//! [`Owner`]: the owner of jobs. An owner logs in with a token, of which only the hash is stored.
use crate::{
    database::{Database, Parameters, SHORT},
    error::FleetError,
};
use sha2::{Digest, Sha256};
use std::time::Duration;
use tokio_postgres::{Row, types::Type};

/// The name of an owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner(pub String);

/// Creates an owner, or replaces the token of an existing one. Without `token`, an existing owner keeps its token, and
/// a new one has none.
///
/// Fails unless the name has only letters, digits and `-_.@+`, at most 64.
pub async fn add_owner(database: &Database, owner: &Owner, token: Option<&str>) -> Result<(), FleetError> {
    let Owner(name) = owner;
    check_name("an owner", name)?;
    let statement = "INSERT INTO owners (name, token_hash) VALUES ($1, $2) \
                     ON CONFLICT (name) DO UPDATE SET token_hash = coalesce($2, owners.token_hash)";
    let hash = token.map(hash);
    database
        .query_within(SHORT, "make an owner", statement, &[(name, Type::TEXT), (&hash, Type::TEXT)])
        .await?;
    Ok(())
}

/// An owner in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerLine {
    /// The owner.
    pub owner: Owner,
    /// Whether clients can sign in with a token of this owner.
    pub has_token: bool,
    /// Number of jobs of the owner in the fleet.
    pub jobs: i64,
}

/// All owners, by name.
///
/// # Errors
/// Fails where PostgreSQL cannot be asked.
pub async fn owners(database: &Database) -> Result<Vec<OwnerLine>, FleetError> {
    let statement = "SELECT name, token_hash IS NOT NULL, (SELECT count(*) FROM jobs WHERE owner = name) \
         FROM owners ORDER BY name";
    let rows = database.query_within(SHORT, "list owners", statement, &[]).await?;
    let line = |row: &Row| OwnerLine { owner: Owner(row.get(0)), has_token: row.get(1), jobs: row.get(2) };
    Ok(rows.iter().map(line).collect())
}

/// The owner of a token, with the rights of the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetClient {
    /// Owner of the client's jobs.
    pub owner: Owner,
    /// Whether the client sees and steers the jobs of all owners.
    pub is_admin: bool,
    /// Whether the client may answer the approvals and questions of jobs.
    pub may_approve: bool,
    /// The role that a login gave; `None` for an owner's own token.
    pub role: Option<String>,
}

/// The rights that a login gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginRights {
    /// The role, as the server's configuration names it.
    pub role: String,
    /// See [`FleetClient::is_admin`].
    pub is_admin: bool,
    /// See [`FleetClient::may_approve`].
    pub may_approve: bool,
}

/// Returns the client with this token: an owner's, or that of a valid login.
///
/// # Errors
/// Fails if PostgreSQL cannot be reached.
pub async fn client_of(database: &Database, token: &str) -> Result<Option<FleetClient>, FleetError> {
    let statement = "SELECT name, false, true, NULL FROM owners WHERE token_hash = $1 UNION ALL \
         SELECT owner, is_admin, may_approve, role FROM logins WHERE token_hash = $1 AND until > clock_timestamp()";
    let hash = hash(token);
    let rows = database.query_within(SHORT, "look for an owner", statement, &[(&hash, Type::TEXT)]).await?;
    Ok(rows.first().map(|row| FleetClient {
        owner: Owner(row.get(0)),
        is_admin: row.get(1),
        may_approve: row.get(2),
        role: row.get(3),
    }))
}

/// Logs in a user of another system as this owner, with `token`, for the duration `length` and with these rights. Adds
/// the owner if the fleet does not have it. `is_verified`: whether the provider guarantees the name; otherwise, an
/// owner that has a token cannot be taken over.
///
/// # Errors
/// If the name is invalid, if the owner has a token and the name is not verified, or if PostgreSQL cannot be reached.
pub async fn log_in(
    database: &Database,
    owner: &Owner,
    (rights, is_verified): (&LoginRights, bool),
    token: &str,
    length: Duration,
) -> Result<(), FleetError> {
    add_owner(database, owner, None).await?;
    let statement = "WITH ended AS (DELETE FROM logins WHERE until < clock_timestamp()) \
         INSERT INTO logins (token_hash, owner, is_admin, may_approve, role, until) \
         SELECT $1, name, $3, $6, $7, clock_timestamp() + $4::float8 * interval '1 second' FROM owners \
         WHERE name = $2 AND ($5 OR token_hash IS NULL) RETURNING 1";
    let (hash, seconds) = (hash(token), length.as_secs_f64());
    let parameters: Parameters<'_> = &[
        (&hash, Type::TEXT),
        (&owner.0, Type::TEXT),
        (&rights.is_admin, Type::BOOL),
        (&seconds, Type::FLOAT8),
        (&is_verified, Type::BOOL),
        (&rights.may_approve, Type::BOOL),
        (&rights.role, Type::TEXT),
    ];
    match database.query_within(SHORT, "record a login", statement, parameters).await?.is_empty() {
        true => Err(FleetError::Usage(format!("`{}` has a token of the fleet", owner.0))),
        false => Ok(()),
    }
}

/// Removes the token of a login.
///
/// # Errors
/// Fails where PostgreSQL cannot be asked.
pub async fn log_out(database: &Database, token: &str) -> Result<(), FleetError> {
    let statement = "DELETE FROM logins WHERE token_hash = $1";
    let hash = hash(token);
    database.query_within(SHORT, "end a login", statement, &[(&hash, Type::TEXT)]).await.map(|_| ())
}

/// Ends all logins of an owner, and stops notifying the devices that were added with them. Returns the number of logins
/// that were still valid.
///
/// # Errors
/// [`FleetError::Usage`] if there is no such owner; if PostgreSQL cannot be reached.
pub async fn end_logins(database: &Database, owner: &Owner) -> Result<i64, FleetError> {
    let statement = "WITH ended AS (DELETE FROM logins WHERE owner = $1 RETURNING until > clock_timestamp() AS held), \
         devices AS (DELETE FROM devices WHERE owner = $1 AND token_hash IS NULL) \
         SELECT (SELECT count(*) FROM ended WHERE held), EXISTS (SELECT FROM owners WHERE name = $1)";
    let rows = database.query_within(SHORT, "end logins", statement, &[(&owner.0, Type::TEXT)]).await?;
    match rows[0].get(1) {
        true => Ok(rows[0].get(0)),
        false => Err(FleetError::Usage(format!("there is no owner `{}`", owner.0.escape_debug()))),
    }
}

/// Removes an owner who has no jobs, with logins, limits, pauses and access to queues. The costs of earlier jobs stay
/// counted.
///
/// # Errors
/// [`FleetError::Usage`] if there is no such owner, or the fleet has jobs of the owner; if PostgreSQL cannot be
/// reached.
pub async fn remove_owner(database: &Database, owner: &Owner) -> Result<(), FleetError> {
    let statement = "WITH gone AS MATERIALIZED (SELECT name FROM owners WHERE name = $1 \
           AND NOT EXISTS (SELECT FROM jobs WHERE owner = $1) FOR UPDATE), \
         limits AS (DELETE FROM limits WHERE owner IN (SELECT name FROM gone)), \
         pauses AS (DELETE FROM pauses WHERE owner IN (SELECT name FROM gone)), \
         removed AS (DELETE FROM owners WHERE name IN (SELECT name FROM gone)) \
         SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM owners WHERE name = $1), \
           (SELECT count(*) FROM jobs WHERE owner = $1)";
    let rows = database.query("remove an owner", statement, &[(&owner.0, Type::TEXT)]).await?;
    let (gone, known, jobs): (i64, i64, i64) = (rows[0].get(0), rows[0].get(1), rows[0].get(2));
    let name = owner.0.escape_debug();
    match (gone, known) {
        (1.., _) => Ok(()),
        (_, 0) => Err(FleetError::Usage(format!("there is no owner `{name}`"))),
        _ => Err(FleetError::Usage(format!(
            "the fleet has {jobs} job{} of `{name}`; remove them first with `haft fleet prune`",
            if jobs == 1 { "" } else { "s" }
        ))),
    }
}

/// Fails unless `name` is a valid name. `what` is the kind of name with its article: an owner, a queue or a worker.
pub(crate) fn check_name(what: &str, name: &str) -> Result<(), FleetError> {
    let is_name = (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.@+".contains(&byte));
    is_name.then_some(()).ok_or_else(|| {
        FleetError::Usage(format!(
            "`{}` cannot be {what}: a name has up to 64 letters, digits and `-`, `_`, `.`, `@`, `+`",
            name.escape_debug()
        ))
    })
}

pub(crate) fn hash(token: &str) -> String {
    hex::encode(Sha256::digest(token.as_bytes()))
}
