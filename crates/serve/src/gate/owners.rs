//! [`Owners`]: finds the owners of jobs by their tokens in the database of the fleet.
use super::{Bucket, Refusal, take};
use crate::gate::Asker;
use haft_app::{config::serve::Permission, users::Role};
use haft_fleet::{Database, FleetClient, client_of};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, Instant},
};

/// How long a token is cached; a replaced token stays valid for that long.
const TOKEN_CACHE_TIME: Duration = Duration::from_secs(10);
/// How long a token is looked up without a limit after it was valid: clients that guess lock out no other.
const TOKEN_TRUST_TIME: Duration = Duration::from_secs(3600);
/// Burst of lookups of unknown tokens, and how many per second.
const LOOKUP_BURST: f64 = 100.0;
const LOOKUPS_PER_SECOND: f64 = 20.0;

/// The owners of tokens.
pub(super) struct Owners {
    database: Database,
    /// The roles of this server by their names. They decide what a login may do, also if they were changed since.
    roles: BTreeMap<String, Role>,
    /// Whether users log in at this server, so that it has all roles.
    has_logins: bool,
    known: Mutex<HashMap<[u8; 32], (Asker, Instant)>>,
    looks: Mutex<Bucket>,
}

impl Owners {
    pub(super) fn new(database: Database, roles: BTreeMap<String, Role>, has_logins: bool) -> Self {
        Self {
            database,
            roles,
            has_logins,
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
        let known = self.known.lock().get(&hash).cloned();
        match known {
            Some((asker, since)) if since.elapsed() < TOKEN_CACHE_TIME => return Ok(Some(asker)),
            None if !take(&self.looks) => return Err(Refusal::Guessing),
            _ => {}
        }
        let found = client_of(&self.database, token).await;
        let client = found.map_err(|error| Refusal::Away(error.to_string()))?;
        let asker = client.and_then(|client| self.asker(client));
        let mut known = self.known.lock();
        known.retain(|_, (_, since)| since.elapsed() < TOKEN_TRUST_TIME);
        match &asker {
            Some(asker) => drop(known.insert(hash, (asker.clone(), Instant::now()))),
            None => drop(known.remove(&hash)),
        }
        Ok(asker)
    }

    /// The client with the rights that its role has by now; `None` if its role is gone, or may no longer prompt.
    fn asker(&self, client: FleetClient) -> Option<Asker> {
        let FleetClient { owner, is_admin, may_approve, role } = client;
        let (is_admin, may_approve) = match &role {
            Some(role) => match self.roles.get(role) {
                Some(role) if role.may(Permission::Prompt) => {
                    (role.may(Permission::Administer), role.may(Permission::Approve))
                }
                // The role may be known only where the user logged in.
                None if !self.has_logins => (is_admin, may_approve),
                _ => return None,
            },
            None => (is_admin, may_approve),
        };
        Some(match is_admin {
            true => Asker::Admin(Some(owner)),
            false => Asker::Owner { owner, role, may_approve },
        })
    }
}
