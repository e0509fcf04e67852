//! [`Owners`]: finds the owners of jobs by their tokens in the database of the fleet.
use super::{Bucket, Refusal, take};
use crate::gate::Asker;
use haft_fleet::{Database, client_of};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

/// How long a token is cached; a replaced token stays valid for that long.
const TOKEN_CACHE_TIME: Duration = Duration::from_secs(10);
/// Burst of lookups of unknown tokens, and how many per second.
const LOOKUP_BURST: f64 = 100.0;
const LOOKUPS_PER_SECOND: f64 = 20.0;

/// The owners of tokens.
pub(super) struct Owners {
    database: Database,
    known: Mutex<HashMap<[u8; 32], (Asker, Instant)>>,
    looks: Mutex<Bucket>,
}

impl Owners {
    pub(super) fn new(database: Database) -> Self {
        Self {
            database,
            known: Mutex::default(),
            looks: Mutex::new(Bucket::full(LOOKUP_BURST, LOOKUPS_PER_SECOND)),
        }
    }

    /// Returns the owner with this token, if there is one. Fails if the token cannot be looked up.
    pub(super) async fn find(&self, given: &[u8]) -> Result<Option<Asker>, Refusal> {
        let Some(token) = std::str::from_utf8(given).ok().filter(|token| !token.is_empty()) else {
            return Ok(None);
        };
        let hash: [u8; 32] = Sha256::digest(given).into();
        let fresh = |since: &Instant| since.elapsed() < TOKEN_CACHE_TIME;
        if let Some((asker, _)) = self.known.lock().get(&hash).filter(|(_, since)| fresh(since)) {
            return Ok(Some(asker.clone()));
        }
        if !take(&self.looks) {
            return Err(Refusal::Guessing);
        }
        let found = client_of(&self.database, token).await;
        let Some(client) = found.map_err(|error| Refusal::Away(error.to_string()))? else { return Ok(None) };
        let asker = match client.is_admin {
            true => Asker::Admin(Some(client.owner)),
            false => Asker::Owner { owner: client.owner, role: client.role, may_approve: client.may_approve },
        };
        let mut known = self.known.lock();
        known.retain(|_, (_, since)| fresh(since));
        known.insert(hash, (asker.clone(), Instant::now()));
        Ok(Some(asker))
    }
}
