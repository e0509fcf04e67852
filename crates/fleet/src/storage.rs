//! [`storage`]: where the contents of changed files are stored: in PostgreSQL, or in an object store.
use crate::{
    database::{Database, SHORT},
    error::FleetError,
    objects::Objects,
};
use std::{collections::BTreeMap, sync::Arc};
use tokio_postgres::{Row, types::Type};

/// The name of the setting in the table of settings.
const SETTING: &str = "storage";

impl Database {
    /// Uses the object stores' keys, region and endpoint in `variables`, whose names begin with `AWS_`.
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

    /// The object store for contents; `None` for PostgreSQL.
    pub(crate) async fn storage(&self) -> Result<Option<Arc<Objects>>, FleetError> {
        storage(self).await?.map(|address| self.objects(&address)).transpose()
    }

    /// The hash and the content of a row with hash, bytes and place.
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

/// The address of the object store for contents; `None` if PostgreSQL stores them.
///
/// # Errors
/// If PostgreSQL cannot be reached.
pub async fn storage(database: &Database) -> Result<Option<String>, FleetError> {
    let statement = "SELECT value FROM settings WHERE name = $1";
    let rows = database.query_within(SHORT, "read settings", statement, &[(&SETTING, Type::TEXT)]).await?;
    Ok(rows.first().map(|row| row.get(0)))
}

/// Stores contents at `s3://BUCKET/PREFIX` from now on, or in PostgreSQL. Existing contents stay where they are.
///
/// # Errors
/// If the object store cannot be written and read, or PostgreSQL cannot be reached.
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
