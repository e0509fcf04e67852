//! [`storage`]: where the contents of changed files are kept: in PostgreSQL, or in an object store with the protocol of
//! Amazon S3, under their hashes.
use crate::{
    database::{Database, SHORT},
    error::FleetError,
};
use haft_http::Reach;
use object_store::{
    ClientOptions, ObjectStoreExt, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey},
    client::{HttpClient, HttpConnector},
    path::Path,
};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, error::Error, sync::Arc, time::Duration};
use tokio_postgres::{Row, types::Type};

/// How long an object store that does not answer is asked again.
const RETRY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long one request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// The row of the table of settings.
const SETTING: &str = "storage";

/// An object store.
pub(crate) struct Objects {
    store: AmazonS3,
    prefix: String,
    /// `s3://BUCKET/PREFIX`.
    pub(crate) address: String,
}

impl Objects {
    /// `variables`: those of the environment whose names begin with `AWS_`, as other programs for S3 read them.
    fn new(address: &str, variables: &BTreeMap<String, String>) -> Result<Self, FleetError> {
        let unreadable = || {
            FleetError::Usage(format!(
                "`{}` is not `s3://BUCKET` or `s3://BUCKET/PREFIX`",
                address.escape_debug()
            ))
        };
        let (bucket, prefix) =
            address.strip_prefix("s3://").map_or(("", ""), |rest| rest.split_once('/').unwrap_or((rest, "")));
        if bucket.is_empty() {
            return Err(unreadable());
        }
        let mut builder = AmazonS3Builder::new().with_bucket_name(bucket).with_retry(retries());
        let mut endpoint = "https:";
        for (name, value) in variables.iter().filter(|(_, value)| !value.is_empty()) {
            if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
                if name.starts_with("AWS_ENDPOINT") {
                    endpoint = value;
                }
                builder = builder.with_config(key, value);
            }
        }
        let reach = Reach::of(endpoint);
        if reach == Reach::Loopback {
            builder = builder.with_allow_http(true);
        }
        let store = builder.with_http_connector(Connector(reach)).build();
        let store = store.map_err(|error| failed(format!("use the object store `{address}`"), &error))?;
        Ok(Self { store, prefix: prefix.trim_end_matches('/').to_owned(), address: address.to_owned() })
    }

    fn path(&self, hash: &str) -> Path {
        // Some stores list or limit by the beginning of a name.
        let begin = hash.get(..2).unwrap_or(hash);
        Path::from(format!("{}/{begin}/{hash}", self.prefix))
    }

    /// What is there already has the same bytes.
    pub(crate) async fn put(&self, hash: &str, bytes: Vec<u8>) -> Result<(), FleetError> {
        let put = self.store.put(&self.path(hash), bytes.into()).await;
        put.map_err(|error| failed(format!("write the content `{hash}` to `{}`", self.address), &error))?;
        Ok(())
    }

    /// Fails where it is not there, or has become something else.
    async fn get(&self, hash: &str) -> Result<Vec<u8>, FleetError> {
        let action = || format!("read the content `{hash}` from `{}`", self.address);
        let read = async { self.store.get(&self.path(hash)).await?.bytes().await };
        let bytes = read.await.map_err(|error| failed(action(), &error))?;
        if hash_of(&bytes) != hash {
            return Err(FleetError::Local {
                action: action(),
                why: "the object has another hash".to_owned(),
            });
        }
        Ok(bytes.into())
    }

    /// Whether contents can be written, read and removed.
    async fn try_out(&self) -> Result<(), FleetError> {
        let bytes = b"haft: whether this can be written and read".to_vec();
        let hash = hash_of(&bytes);
        self.put(&hash, bytes).await?;
        self.get(&hash).await?;
        let removed = self.store.delete(&self.path(&hash)).await;
        removed
            .map_err(|error| failed(format!("remove the content `{hash}` from `{}`", self.address), &error))
    }
}

fn retries() -> RetryConfig {
    RetryConfig { retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() }
}

fn hash_of(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn failed(action: String, error: &object_store::Error) -> FleetError {
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let said = next.to_string();
        if !why.contains(&said) {
            why = format!("{why}: {said}");
        }
        cause = next.source();
    }
    FleetError::Local { action, why }
}

/// Connects as the rest of Haft does.
#[derive(Debug)]
struct Connector(Reach);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = self.0.builder().timeout(REQUEST_TIMEOUT).build();
        let failed = |error| object_store::Error::Generic { store: "S3", source: Box::new(error) };
        client.map(HttpClient::new).map_err(failed)
    }
}

impl Database {
    /// Takes what `variables` say of object stores: keys, region and endpoint, in variables that begin with `AWS_`.
    #[must_use]
    pub fn with_objects(self, variables: &BTreeMap<String, String>) -> Self {
        let own = variables.iter().filter(|(name, _)| name.starts_with("AWS_"));
        let _was_told_before =
            self.0.variables.set(own.map(|(name, value)| (name.clone(), value.clone())).collect());
        self
    }

    fn objects(&self, address: &str) -> Result<Arc<Objects>, FleetError> {
        let mut known = self.0.objects.lock();
        if let Some(objects) = known.get(address) {
            return Ok(objects.clone());
        }
        let none = BTreeMap::new();
        let objects = Arc::new(Objects::new(address, self.0.variables.get().unwrap_or(&none))?);
        known.insert(address.to_owned(), objects.clone());
        Ok(objects)
    }

    /// Where contents are to be kept; `None` for PostgreSQL.
    pub(crate) async fn storage(&self) -> Result<Option<Arc<Objects>>, FleetError> {
        storage(self).await?.map(|address| self.objects(&address)).transpose()
    }

    /// The content of a row with hash, bytes and place.
    pub(crate) async fn content(&self, row: &Row) -> Result<(String, Vec<u8>), FleetError> {
        let (hash, bytes, place): (String, Option<Vec<u8>>, Option<String>) =
            (row.get(0), row.get(1), row.get(2));
        let bytes = match (bytes, place) {
            (None, Some(place)) => self.objects(&place)?.get(&hash).await?,
            (bytes, _) => bytes.unwrap_or_default(),
        };
        Ok((hash, bytes))
    }
}

/// The address of the object store for contents; `None` where PostgreSQL keeps them.
///
/// # Errors
/// Fails where PostgreSQL cannot be asked.
pub async fn storage(database: &Database) -> Result<Option<String>, FleetError> {
    let statement = "SELECT value FROM settings WHERE name = $1";
    let rows = database.query_within(SHORT, "read settings", statement, &[(&SETTING, Type::TEXT)]).await?;
    Ok(rows.first().map(|row| row.get(0)))
}

/// Keeps contents at `s3://BUCKET/PREFIX` from here on, or in PostgreSQL. What is kept already stays where it is.
///
/// # Errors
/// Fails where the object store cannot be written and read, and where PostgreSQL cannot be asked.
pub async fn set_storage(database: &Database, address: Option<&str>) -> Result<(), FleetError> {
    let statement = match address {
        Some(address) => {
            database.objects(address)?.try_out().await?;
            "INSERT INTO settings VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        }
        None => "DELETE FROM settings WHERE name = $1 AND $2::text IS NULL",
    };
    let parameters: crate::database::Parameters<'_> = &[(&SETTING, Type::TEXT), (&address, Type::TEXT)];
    database.query_within(SHORT, "write settings", statement, parameters).await.map(|_| ())
}
