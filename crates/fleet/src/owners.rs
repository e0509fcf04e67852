//! Who gives jobs. What an owner shows is a token, of which only the hash is kept.
use crate::{
    database::{Database, SHORT},
    error::FleetError,
};
use sha2::{Digest, Sha256};
use tokio_postgres::types::Type;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner(pub String);

/// Creates an owner, or changes the token of one. Without a token, no client can sign in with this name.
///
/// Fails if the name is invalid: letters, digits, `-` and `_`, at most 64.
pub async fn add_owner(database: &Database, owner: &Owner, token: Option<&str>) -> Result<(), FleetError> {
    let Owner(name) = owner;
    if !is_name(name) {
        return Err(FleetError::Usage(format!(
            "`{}` cannot be an owner: a name has up to 64 letters, digits, `-` and `_`",
            name.escape_debug()
        )));
    }
    let statement = "INSERT INTO owners (name, token_hash) VALUES ($1, $2) \
                     ON CONFLICT (name) DO UPDATE SET token_hash = coalesce($2, owners.token_hash)";
    let hash = token.map(hash);
    database
        .query_within(SHORT, "make an owner", statement, &[(name, Type::TEXT), (&hash, Type::TEXT)])
        .await?;
    Ok(())
}

/// Whose token it is.
pub async fn owner_of(database: &Database, token: &str) -> Result<Option<Owner>, FleetError> {
    let statement = "SELECT name FROM owners WHERE token_hash = $1";
    let hash = hash(token);
    let rows = database.query_within(SHORT, "look for an owner", statement, &[(&hash, Type::TEXT)]).await?;
    Ok(rows.first().map(|row| Owner(row.get(0))))
}

/// Of an owner or a queue.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn hash(token: &str) -> String {
    hex::encode(Sha256::digest(token.as_bytes()))
}
