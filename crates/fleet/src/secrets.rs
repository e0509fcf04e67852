//! [`FleetKey`]: encrypts the secrets of queues. The setup commands of a queue get its secrets; commands of agents do
//! not. PostgreSQL stores the secrets encrypted; only the workers have the key.
use crate::{
    database::{Database, Parameters, SHORT},
    error::FleetError,
    queues::check_queue,
};
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    rand::{SecureRandom, SystemRandom},
};
use std::{fmt, sync::Arc};
use tokio_postgres::types::Type;

/// The key of a fleet's secrets: 256 bits for AES-GCM (NIST SP 800-38D). Cheap to clone.
#[derive(Clone)]
pub struct FleetKey(Arc<LessSafeKey>);

impl fmt::Debug for FleetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FleetKey")
    }
}

impl FleetKey {
    /// Reads 64 hexadecimal digits.
    ///
    /// # Errors
    /// [`FleetError::Usage`] if `text` is something else.
    pub fn parse(text: &str) -> Result<Self, FleetError> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text.trim(), &mut bytes).map_err(|_| {
            FleetError::Usage(
                "the key of a fleet has 64 hexadecimal digits; `openssl rand -hex 32` makes one".to_owned(),
            )
        })?;
        let key = UnboundKey::new(&AES_256_GCM, &bytes).expect("AES-256 has keys of 32 bytes");
        Ok(Self(Arc::new(LessSafeKey::new(key))))
    }

    /// Returns the nonce, the encrypted value and its tag. It can be decrypted only with the same names.
    pub(crate) fn seal(&self, queue: &str, name: &str, value: &str) -> Result<Vec<u8>, FleetError> {
        let failed =
            |why: &str| FleetError::Local { action: "encrypt a secret".to_owned(), why: why.to_owned() };
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| failed("the system gives no random bytes"))?;
        let mut sealed = value.as_bytes().to_vec();
        let nonces = Nonce::assume_unique_for_key(nonce);
        self.0
            .seal_in_place_append_tag(nonces, Aad::from(names(queue, name)), &mut sealed)
            .map_err(|_| failed("it is too long"))?;
        Ok([&nonce[..], &sealed].concat())
    }

    pub(crate) fn open(&self, queue: &str, name: &str, sealed: &[u8]) -> Result<String, FleetError> {
        let opened = sealed.split_first_chunk::<NONCE_LEN>().and_then(|(nonce, rest)| {
            let (nonce, mut rest) = (Nonce::assume_unique_for_key(*nonce), rest.to_vec());
            let value = self.0.open_in_place(nonce, Aad::from(names(queue, name)), &mut rest).ok()?;
            String::from_utf8(value.to_vec()).ok()
        });
        opened.ok_or_else(|| FleetError::Local {
            action: format!("decrypt the secret `{name}` of the queue `{queue}`"),
            why: "it was encrypted with another key, or was changed; set it again".to_owned(),
        })
    }
}

fn names(queue: &str, name: &str) -> Vec<u8> {
    // Unambiguous, since neither name contains a zero byte.
    [queue.as_bytes(), b"\0", name.as_bytes()].concat()
}

/// A secret of a queue, without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretLine {
    /// The queue.
    pub queue: String,
    /// The variable in which setup commands get the value.
    pub name: String,
    /// When it was set, in UTC, as RFC 3339.
    pub set_at: String,
}

/// Stores `value` for the setup commands of `queue`, as the variable `name`. Replaces an earlier value.
///
/// # Errors
/// [`FleetError::Usage`] if a name is invalid; if PostgreSQL cannot be reached.
pub async fn set_secret(
    database: &Database,
    key: &FleetKey,
    (queue, name): (&str, &str),
    value: &str,
) -> Result<(), FleetError> {
    check_queue(queue)?;
    check_variable(name)?;
    let sealed = key.seal(queue, name, value)?;
    let statement = "INSERT INTO queue_secrets (queue, name, sealed) VALUES ($1, $2, $3) \
         ON CONFLICT (queue, name) DO UPDATE SET sealed = excluded.sealed, made = now()";
    let parameters: Parameters<'_> = &[(&queue, Type::TEXT), (&name, Type::TEXT), (&sealed, Type::BYTEA)];
    database.query_within(SHORT, "set a secret", statement, parameters).await.map(|_| ())
}

/// Removes a secret; returns whether it existed.
///
/// # Errors
/// If PostgreSQL cannot be reached or refuses the statement.
pub async fn remove_secret(database: &Database, queue: &str, name: &str) -> Result<bool, FleetError> {
    let statement = "DELETE FROM queue_secrets WHERE queue = $1 AND name = $2 RETURNING 1";
    let parameters: Parameters<'_> = &[(&queue, Type::TEXT), (&name, Type::TEXT)];
    Ok(!database.query_within(SHORT, "remove a secret", statement, parameters).await?.is_empty())
}

/// All secrets, without their values, by queue and name.
///
/// # Errors
/// If PostgreSQL cannot be reached or refuses the statement.
pub async fn secrets(database: &Database) -> Result<Vec<SecretLine>, FleetError> {
    let statement = "SELECT queue, name, to_char(made AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') \
         FROM queue_secrets ORDER BY queue, name";
    let rows = database.query_within(SHORT, "list secrets", statement, &[]).await?;
    Ok(rows
        .iter()
        .map(|row| SecretLine { queue: row.get(0), name: row.get(1), set_at: row.get(2) })
        .collect())
}

/// The variables of the secrets of `queue`, with their values.
pub(crate) async fn opened(
    database: &Database,
    key: Option<&FleetKey>,
    queue: &str,
) -> Result<Vec<(String, String)>, FleetError> {
    let statement = "SELECT name, sealed FROM queue_secrets WHERE queue = $1 ORDER BY name";
    let rows = database.query("read secrets", statement, &[(&queue, Type::TEXT)]).await?;
    let Some(key) = key else {
        return match rows.is_empty() {
            true => Ok(Vec::new()),
            false => Err(FleetError::Local {
                action: format!("decrypt the secrets of the queue `{queue}`"),
                why: "the worker has no key; set HAFT_FLEET_KEY where it is started".to_owned(),
            }),
        };
    };
    rows.iter()
        .map(|row| {
            let (name, sealed): (String, Vec<u8>) = (row.get(0), row.get(1));
            let value = key.open(queue, &name, &sealed)?;
            Ok((name, value))
        })
        .collect()
}

/// Fails if `name` cannot be a variable, or is a variable of Haft or one that decides which programs run.
fn check_variable(name: &str) -> Result<(), FleetError> {
    let is_variable = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.len() <= 128
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_reserved = name.starts_with("HAFT_") || ["PATH", "HOME", "LD_PRELOAD"].contains(&name);
    match is_variable && !is_reserved {
        true => Ok(()),
        false => Err(FleetError::Usage(format!(
            "`{}` cannot be a secret: the name of a variable has letters, digits and `_`, and is not PATH, HOME, \
             LD_PRELOAD or one that begins with HAFT_",
            name.escape_debug()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_under_its_names_and_with_its_key_alone() {
        let key = FleetKey::parse(&"0a".repeat(32)).unwrap();
        let sealed = key.seal("gpu", "TOKEN", "s3cret").unwrap();
        assert_ne!(sealed, key.seal("gpu", "TOKEN", "s3cret").unwrap());
        assert!(!sealed.windows(6).any(|part| part == b"s3cret"));
        assert_eq!(key.open("gpu", "TOKEN", &sealed).unwrap(), "s3cret");
        let other = FleetKey::parse(&"0b".repeat(32)).unwrap();
        let mut changed = sealed.clone();
        changed[NONCE_LEN] ^= 1;
        for (key, queue, name, sealed) in [
            (&other, "gpu", "TOKEN", &sealed[..]),
            (&key, "cpu", "TOKEN", &sealed),
            (&key, "gpu", "OTHER", &sealed),
            (&key, "gpu", "TOKEN", &changed),
            (&key, "gpu", "TOKEN", &sealed[..NONCE_LEN]),
            (&key, "gpu", "TOKEN", b""),
        ] {
            assert!(key.open(queue, name, sealed).is_err(), "{queue} {name} {sealed:?}");
        }
        assert!(FleetKey::parse("0a").is_err());
    }
}
