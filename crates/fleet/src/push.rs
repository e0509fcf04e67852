//! [`PushDevice`] and [`PushNotice`]: Web Push in a fleet, with the devices to notify and the notices for them. The
//! servers of the fleet send the notices (`haft-serve`).
//!
//! A notice is a row. A server takes it for [`TAKEN_SECONDS`], and removes it when the push service has the message. So
//! several servers send it only once, and if one is killed meanwhile, another sends it.
use crate::{
    database::{Database, Parameters, SHORT},
    error::FleetError,
    owners::{Owner, hash},
    secrets::FleetKey,
};
use haft_core::{CallId, SessionId};
use std::time::Duration;
use tokio_postgres::{Row, types::Type};

/// The name of the key in the table of settings.
const KEY: &str = "push_key";
/// Seconds for which a notice that a server takes is reserved for it. Sending takes at most 30 seconds.
const TAKEN_SECONDS: f64 = 90.0;
/// Maximum number of notices that a server takes at a time.
const MAX_TAKEN: i64 = 16;
/// SQL condition: whether the token with which a device `d` was added is still valid; `$1` is the hash of the server's
/// own token.
const HOLDS: &str = "(d.token_hash IS NULL OR d.token_hash = $1 \
     OR EXISTS (SELECT FROM owners o WHERE o.name = d.owner AND o.token_hash = d.token_hash))";

/// A browser that is notified of the jobs of an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushDevice {
    /// ID of the device.
    pub id: String,
    /// Address of its push service and its keys, as JSON.
    pub subscription: String,
    /// The events and times that it is notified of, as JSON.
    pub wishes: String,
}

impl PushDevice {
    /// Reads the columns `id`, `subscription` and `wishes`, from the column `first` on.
    fn of(row: &Row, first: usize) -> Self {
        Self { id: row.get(first), subscription: row.get(first + 1), wishes: row.get(first + 2) }
    }
}

/// A notice for a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushNotice {
    number: i64,
    /// The job.
    pub job: SessionId,
    /// The call that needs an approval; `None` if the job has ended.
    pub call: Option<CallId>,
    /// How often a server has taken it, including this time.
    pub tries: i32,
    /// The device.
    pub device: PushDevice,
    /// Whether its user may answer approvals.
    pub may_approve: bool,
}

/// The devices of an owner that are notified, each with the time at which it was added, in milliseconds since
/// 1970-01-01 UTC. `server_token`: the token of this server, with which devices may have been added.
///
/// # Errors
/// If PostgreSQL cannot be reached.
pub async fn push_devices(
    database: &Database,
    owner: &Owner,
    server_token: &str,
) -> Result<Vec<(PushDevice, i64)>, FleetError> {
    let statement = format!(
        "SELECT id, subscription, wishes, (extract(epoch FROM made) * 1000)::int8 FROM devices d \
         WHERE owner = $2 AND {HOLDS} ORDER BY made, id"
    );
    let server_token = hash(server_token);
    let parameters: Parameters<'_> = &[(&server_token, Type::TEXT), (&owner.0, Type::TEXT)];
    let rows = database.query_within(SHORT, "list devices", &statement, parameters).await?;
    Ok(rows.iter().map(|row| (PushDevice::of(row, 0), row.get(3))).collect())
}

/// Notifies a device of the jobs of `owner` from now on, or changes its settings. `token`: the token that adds it. A
/// token of a login at an OpenID provider is recognized, and does not limit how long the device is notified.
///
/// # Errors
/// If PostgreSQL cannot be reached.
pub async fn add_push_device(
    database: &Database,
    owner: &Owner,
    token: &str,
    device: &PushDevice,
) -> Result<(), FleetError> {
    // Notices that wait for the end of quiet hours are checked again with the new settings.
    let statement = "WITH again AS (UPDATE notices SET due = clock_timestamp() WHERE device = $1 AND tries = 0) \
         INSERT INTO devices (id, owner, token_hash, subscription, wishes) \
         SELECT $1, $2, CASE WHEN EXISTS (SELECT FROM logins WHERE token_hash = $3) THEN NULL ELSE $3 END, $4, $5 \
         ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, token_hash = excluded.token_hash, \
           subscription = excluded.subscription, wishes = excluded.wishes, made = now()";
    let token = hash(token);
    let parameters: Parameters<'_> = &[
        (&device.id, Type::TEXT),
        (&owner.0, Type::TEXT),
        (&token, Type::TEXT),
        (&device.subscription, Type::TEXT),
        (&device.wishes, Type::TEXT),
    ];
    database.query_within(SHORT, "add a device", statement, parameters).await.map(|_| ())
}

/// Stops notifying the device `id`; with `owner`, only if it belongs to that owner.
///
/// # Errors
/// If PostgreSQL cannot be reached.
pub async fn remove_push_device(
    database: &Database,
    id: &str,
    owner: Option<&Owner>,
) -> Result<(), FleetError> {
    let statement = "DELETE FROM devices WHERE id = $1 AND ($2::text IS NULL OR owner = $2)";
    let owner = owner.map(|owner| owner.0.as_str());
    let parameters: Parameters<'_> = &[(&id, Type::TEXT), (&owner, Type::TEXT)];
    database.query_within(SHORT, "remove a device", statement, parameters).await.map(|_| ())
}

/// Notifies the devices of the job's owner that these calls need an approval.
pub(crate) async fn announce_calls(
    database: &Database,
    job: &SessionId,
    calls: &[String],
) -> Result<(), FleetError> {
    let statement = "INSERT INTO notices (job, call, device) SELECT j.id, call, d.id \
         FROM jobs j JOIN devices d USING (owner), unnest($2::text[]) AS call WHERE j.id = $1 ON CONFLICT DO NOTHING";
    let parameters: Parameters<'_> = &[(&job.0, Type::TEXT), (&calls, Type::TEXT_ARRAY)];
    database.query_within(SHORT, "notify devices", statement, parameters).await.map(|_| ())
}

/// Takes notices that have waited for `after`, for devices that this server can notify. Removes notices that are older
/// than a day.
///
/// # Errors
/// If PostgreSQL cannot be reached.
pub async fn take_notices(
    database: &Database,
    server_token: &str,
    after: Duration,
) -> Result<Vec<PushNotice>, FleetError> {
    let statement = format!(
        "WITH old AS (DELETE FROM notices WHERE made < clock_timestamp() - interval '1 day'), \
         next AS MATERIALIZED (SELECT n.number FROM notices n JOIN devices d ON d.id = n.device \
           WHERE n.due <= clock_timestamp() AND n.made >= clock_timestamp() - interval '1 day' \
             AND n.made <= clock_timestamp() - $2 * interval '1 second' AND {HOLDS} \
           ORDER BY n.number LIMIT $3 FOR UPDATE OF n SKIP LOCKED) \
         UPDATE notices n SET tries = n.tries + 1, due = clock_timestamp() + $4 * interval '1 second' \
         FROM next, devices d WHERE n.number = next.number AND d.id = n.device \
         RETURNING n.number, n.job, n.call, n.tries, d.id, d.subscription, d.wishes, \
           d.token_hash IS NOT NULL OR EXISTS (SELECT FROM logins l WHERE l.owner = d.owner AND l.may_approve)"
    );
    let (server_token, after) = (hash(server_token), after.as_secs_f64());
    let parameters: Parameters<'_> = &[
        (&server_token, Type::TEXT),
        (&after, Type::FLOAT8),
        (&MAX_TAKEN, Type::INT8),
        (&TAKEN_SECONDS, Type::FLOAT8),
    ];
    let rows = database.query_within(SHORT, "look for notices", &statement, parameters).await?;
    let notice = |row: &Row| PushNotice {
        number: row.get(0),
        job: SessionId(row.get(1)),
        call: Some(row.get::<_, String>(2)).filter(|call| !call.is_empty()).map(CallId),
        tries: row.get(3),
        device: PushDevice::of(row, 4),
        may_approve: row.get(7),
    };
    Ok(rows.iter().map(notice).collect())
}

/// Puts a notice off; `is_try`: whether that counts as an attempt to send it.
///
/// # Errors
/// If PostgreSQL cannot be reached.
pub async fn put_off_notice(
    database: &Database,
    notice: &PushNotice,
    time: Duration,
    is_try: bool,
) -> Result<(), FleetError> {
    let statement = "UPDATE notices SET due = clock_timestamp() + $2 * interval '1 second', \
         tries = CASE WHEN $3 THEN tries ELSE tries - 1 END WHERE number = $1";
    let seconds = time.as_secs_f64();
    let parameters: Parameters<'_> =
        &[(&notice.number, Type::INT8), (&seconds, Type::FLOAT8), (&is_try, Type::BOOL)];
    database.query_within(SHORT, "put a notice off", statement, parameters).await.map(|_| ())
}

/// Removes a notice: its device was notified, or there is nothing to send.
///
/// # Errors
/// If PostgreSQL cannot be reached.
pub async fn remove_notice(database: &Database, notice: &PushNotice) -> Result<(), FleetError> {
    let statement = "DELETE FROM notices WHERE number = $1";
    let parameters: Parameters<'_> = &[(&notice.number, Type::INT8)];
    database.query_within(SHORT, "remove a notice", statement, parameters).await.map(|_| ())
}

/// The secret by which push services know the servers of this fleet: the stored one, otherwise `new`, which is then
/// stored. PostgreSQL stores it encrypted.
///
/// # Errors
/// If it was encrypted with another key than `key`; if PostgreSQL cannot be reached.
pub async fn push_key(database: &Database, key: &FleetKey, new: &str) -> Result<String, FleetError> {
    let statement = "INSERT INTO settings (name, value) VALUES ($1, $2) \
         ON CONFLICT (name) DO UPDATE SET value = settings.value RETURNING value";
    let sealed = hex::encode(key.seal("", KEY, new)?);
    let parameters: Parameters<'_> = &[(&KEY, Type::TEXT), (&sealed, Type::TEXT)];
    let rows = database.query("read the key of notifications", statement, parameters).await?;
    let kept = rows.first().map(|row| row.get::<_, String>(0)).and_then(|value| hex::decode(value).ok());
    let opened = kept.and_then(|sealed| key.open("", KEY, &sealed).ok());
    opened.ok_or_else(|| FleetError::Local {
        action: "decrypt the key of notifications".to_owned(),
        why: "it was encrypted with another HAFT_FLEET_KEY; give this server the same one".to_owned(),
    })
}
