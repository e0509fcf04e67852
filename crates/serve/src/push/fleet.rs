//! [`FleetPush`]: notifies the owners of a fleet's jobs on their devices that a call waits or that a job has ended.
//!
//! Pending notifications are in the database; the servers of the fleet share them.
use super::{
    AFTER, MAX_DEVICES, MAX_RETRY_DELAY, RETRY_DELAYS,
    devices::{AddError, PushSubscription, When, Wishes},
    notice::Notice,
    send::{Letter, Sender, Sent},
    vapid::VapidKey,
};
use crate::{api::watch::pending, kept::KeptJob};
use futures::future::join_all;
use haft_app::config::serve::PushFile;
use haft_core::{CallId, Entry, JobStatus};
use haft_fleet::{Database, FleetError, FleetKey, Owner, PushDevice, PushNotice};
use jiff::Timestamp;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::{sync::OnceCell, task::spawn_blocking, time::sleep};

/// How often a server looks for pending notifications.
const INTERVAL: Duration = Duration::from_secs(2);

/// Notifies the devices of a fleet.
pub(crate) struct FleetPush {
    database: Database,
    settings: PushFile,
    /// The server's own token: a device that was added with it is notified only by servers with the same token.
    token: String,
    fleet_key: Option<FleetKey>,
    key: OnceCell<VapidKey>,
    sender: Sender,
}

/// Why a server notifies no devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hindrance {
    /// The configuration turns notifications off.
    Off,
    /// The server cannot decrypt the fleet's key for push services.
    NoKey,
}

/// The next step for a notification.
enum Next {
    /// Remove the notification: the device was notified, or there is nothing to notify of.
    Remove,
    /// Check again after this time. `is_try`: the push service did not accept the message.
    Later { time: Duration, is_try: bool },
    /// Remove the device, which has unsubscribed.
    Forget,
}

impl FleetPush {
    pub(crate) fn new(
        database: Database,
        settings: PushFile,
        token: String,
        fleet_key: Option<FleetKey>,
    ) -> Self {
        let sender = Sender::new(settings.allow_private);
        Self { database, settings, token, fleet_key, key: OnceCell::new(), sender }
    }

    pub(crate) fn hindrance(&self) -> Option<Hindrance> {
        match &self.fleet_key {
            _ if self.settings.off => Some(Hindrance::Off),
            None => Some(Hindrance::NoKey),
            Some(_) => None,
        }
    }

    /// The public key with which browsers subscribe.
    pub(crate) async fn public_key(&self) -> Result<String, FleetError> {
        self.key().await.map(VapidKey::public)
    }

    async fn key(&self) -> Result<&VapidKey, FleetError> {
        let failed =
            |why: String| FleetError::Local { action: "make the key of notifications".to_owned(), why };
        self.key
            .get_or_try_init(async || {
                let fleet_key =
                    self.fleet_key.as_ref().ok_or_else(|| failed("HAFT_FLEET_KEY is not set".to_owned()))?;
                let new = VapidKey::generate().map_err(|error| failed(error.to_string()))?;
                let kept = haft_fleet::push_key(&self.database, fleet_key, &new).await?;
                VapidKey::parse(&kept).map_err(|error| failed(error.to_string()))
            })
            .await
    }

    /// The devices of an owner, each with the time it was added, in milliseconds since 1970-01-01 UTC.
    pub(crate) async fn devices(&self, owner: &Owner) -> Result<Vec<(PushDevice, i64)>, FleetError> {
        haft_fleet::push_devices(&self.database, owner, &self.token).await
    }

    /// Adds a device of an owner, or changes its notification settings. `token`: the token of the request.
    pub(crate) async fn add(
        &self,
        owner: &Owner,
        token: &str,
        subscription: &PushSubscription,
        wishes: &Wishes,
    ) -> Result<Result<(), AddError>, FleetError> {
        if let Err(error) = subscription.check(wishes, &self.settings) {
            return Ok(Err(error));
        }
        let id = subscription.id();
        let others = self.devices(owner).await?.iter().filter(|(device, _)| device.id != id).count();
        if others >= MAX_DEVICES {
            return Ok(Err(AddError::Many(MAX_DEVICES)));
        }
        let (subscription, wishes) = (json!(subscription).to_string(), json!(wishes).to_string());
        let device = PushDevice { id, subscription, wishes };
        haft_fleet::add_push_device(&self.database, owner, token, &device).await.map(Ok)
    }

    /// Removes the device `id`, if it belongs to the owner.
    pub(crate) async fn remove(&self, owner: &Owner, id: &str) -> Result<(), FleetError> {
        haft_fleet::remove_push_device(&self.database, id, Some(owner)).await
    }

    /// Sends pending notifications, forever.
    pub(crate) async fn work(&self) {
        if self.hindrance().is_some() {
            return std::future::pending().await;
        }
        let after = self.settings.after.map_or(AFTER, Duration::from_secs);
        loop {
            let taken = haft_fleet::take_notices(&self.database, &self.token, after).await;
            match taken {
                Ok(taken) if !taken.is_empty() => {
                    join_all(taken.iter().map(|notice| self.deliver(notice))).await;
                }
                // While PostgreSQL cannot be reached, `/readyz` reports it.
                Ok(_) | Err(_) => sleep(INTERVAL).await,
            }
        }
    }

    async fn deliver(&self, taken: &PushNotice) {
        let delay = usize::try_from(taken.tries - 1).ok().and_then(|tries| RETRY_DELAYS.get(tries)).copied();
        let next = self.next(taken, delay).await.unwrap_or_else(|why| {
            tracing::warn!(job = %taken.job, why, "a device was not notified");
            delay.map_or(Next::Remove, |time| Next::Later { time, is_try: true })
        });
        let database = &self.database;
        let recorded = match next {
            Next::Remove => haft_fleet::remove_notice(database, taken).await,
            Next::Later { time, is_try } => haft_fleet::put_off_notice(database, taken, time, is_try).await,
            Next::Forget => haft_fleet::remove_push_device(database, &taken.device.id, None).await,
        };
        if let Err(error) = recorded {
            tracing::warn!(job = %taken.job, %error, "a device may be notified again");
        }
    }

    /// Notifies the device, unless the question was answered meanwhile. `delay`: the time before the next attempt;
    /// `None` after the last one.
    async fn next(&self, taken: &PushNotice, delay: Option<Duration>) -> Result<Next, String> {
        let read = |error: serde_json::Error| format!("the device cannot be read: {error}");
        let subscription: PushSubscription =
            serde_json::from_str(&taken.device.subscription).map_err(read)?;
        let wishes: Wishes = serde_json::from_str(&taken.device.wishes).map_err(read)?;
        let Some(notice) = self.notice(taken).await? else { return Ok(Next::Remove) };
        match wishes.when(notice.kind, Timestamp::now()) {
            When::Never => return Ok(Next::Remove),
            When::After(time) => return Ok(Next::Later { time, is_try: false }),
            When::Now => {}
        }
        let key = self.key().await.map_err(|error| error.to_string())?;
        let letter = Letter::new(&subscription, &taken.job, notice, taken.may_approve, (key, &self.settings));
        let letter = letter.map_err(|error| error.to_string())?;
        let service = letter.service();
        match (self.sender.send(letter).await, delay) {
            (Sent::Delivered, _) => Ok(Next::Remove),
            (Sent::Gone, _) => Ok(Next::Forget),
            (Sent::Later { after, .. }, Some(delay)) => {
                Ok(Next::Later { time: after.unwrap_or(delay).min(MAX_RETRY_DELAY), is_try: true })
            }
            (Sent::Later { why, .. } | Sent::Refused { why }, _) => {
                tracing::warn!(service, why, "a device was not notified");
                Ok(Next::Remove)
            }
        }
    }

    /// The current notice; `None` if there is nothing to notify of.
    async fn notice(&self, taken: &PushNotice) -> Result<Option<Notice>, String> {
        let failed = |error: FleetError| error.to_string();
        let job = haft_fleet::job(&self.database, &taken.job.0, None).await.map_err(failed)?;
        let Some(job) = job else { return Ok(None) };
        let session = taken.job.clone();
        let Some(call) = taken.call.clone() else {
            let status = match job.status.as_str() {
                "completed" => JobStatus::Completed,
                "failed" | "dead" => JobStatus::Failed,
                // The job was resumed.
                _ => return Ok(None),
            };
            return Ok(Notice::of_job(
                session,
                &job.title,
                status,
                job.reason.as_deref().unwrap_or_default(),
            ));
        };
        if job.status != "waiting" {
            return Ok(None);
        }
        let kept = KeptJob::read(&self.database, &session.0, (0, i64::MAX), |entries| asking(entries, &call));
        let kept = kept.await.map_err(failed)?;
        spawn_blocking(move || Notice::of_call(&kept, session, &call, &job.title))
            .await
            .map_err(|error| error.to_string())
    }
}

/// The entry that asks about this call, if the call still waits.
fn asking(entries: &[Arc<Entry>], call: &CallId) -> Vec<Arc<Entry>> {
    pending(entries).into_iter().filter(|(waits, _)| waits == call).map(|(_, entry)| entry).collect()
}
