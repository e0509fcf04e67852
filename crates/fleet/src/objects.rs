//! [`Objects`]: an object store with the protocol of Amazon S3, which stores contents under their hashes.
use crate::error::{FleetError, with_causes};
use haft_http::Reach;
use object_store::{
    ClientOptions, ObjectStoreExt, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey},
    client::{HttpClient, HttpConnector},
    path::Path,
};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, time::Duration};

/// How long requests to an object store that does not respond are repeated.
const RETRY_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// An object store.
pub(crate) struct Objects {
    store: AmazonS3,
    prefix: String,
    /// `s3://BUCKET/PREFIX`.
    pub(crate) address: String,
}

impl Objects {
    /// `variables`: the environment variables that begin with `AWS_`, which other programs for S3 read as well.
    pub(crate) fn new(address: &str, variables: &BTreeMap<String, String>) -> Result<Self, FleetError> {
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
        // Some stores list objects, or limit requests, by the prefix of a name.
        let begin = hash.get(..2).unwrap_or(hash);
        Path::from(format!("{}/{begin}/{hash}", self.prefix))
    }

    /// Stores the bytes under their hash. An object that exists has the same bytes.
    pub(crate) async fn put(&self, hash: &str, bytes: Vec<u8>) -> Result<(), FleetError> {
        let put = self.store.put(&self.path(hash), bytes.into()).await;
        put.map_err(|error| failed(format!("write the content `{hash}` to `{}`", self.address), &error))?;
        Ok(())
    }

    /// Fails if the object does not exist, or its bytes no longer match the hash.
    pub(crate) async fn get(&self, hash: &str) -> Result<Vec<u8>, FleetError> {
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

    /// Checks that contents can be written, read and removed.
    pub(crate) async fn try_out(&self) -> Result<(), FleetError> {
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
    // The time is what ends the retries, not their number.
    RetryConfig { retry_timeout: RETRY_TIMEOUT, max_retries: 1_000, ..RetryConfig::default() }
}

fn hash_of(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn failed(action: String, error: &object_store::Error) -> FleetError {
    FleetError::Local { action, why: with_causes(error) }
}

/// Connects in the same way as the rest of Haft.
#[derive(Debug)]
struct Connector(Reach);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = self.0.builder().timeout(REQUEST_TIMEOUT).build();
        let failed = |error| object_store::Error::Generic { store: "S3", source: Box::new(error) };
        client.map(HttpClient::new).map_err(failed)
    }
}
