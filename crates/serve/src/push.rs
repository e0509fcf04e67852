//! [`Push`]: notifies users on their devices that a question waits or that a turn or job has ended (Web Push).
//!
//! It follows the news of all sessions. A notification is delayed, and dropped if the question was answered meanwhile,
//! so that users in front of the page are not disturbed.
mod devices;
mod fleet;
mod message;
mod notice;
mod quiet;
mod send;
mod vapid;

use crate::hub::{Hub, News, SessionState};
pub(crate) use devices::{AddError, Device, PushSubscription, Wishes};
use devices::{Devices, When};
pub(crate) use fleet::{FleetPush, Hindrance};
use haft_app::config::serve::{Permission, PushFile};
use haft_core::{CallId, Entry, JobSummary, SessionId};
use jiff::Timestamp;
use notice::Notice;
use parking_lot::Mutex;
use send::{Letter, Sender, Sent};
use std::{
    collections::{HashMap, HashSet},
    io,
    sync::Arc,
    time::Duration,
};
use tokio::{sync::broadcast::error::RecvError, task::spawn_blocking, time::sleep};
use vapid::VapidKey;

/// How long a question waits before devices are notified, if the configuration does not say.
const AFTER: Duration = Duration::from_secs(10);
/// Delays before a message that a push service did not accept is sent again, unless the service says when.
const RETRY_DELAYS: [Duration; 4] =
    [Duration::from_secs(5), Duration::from_secs(30), Duration::from_secs(120), Duration::from_secs(600)];
/// Maximum delay that a push service can ask for.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(600);
/// Maximum number of devices of one user.
const MAX_DEVICES: usize = 20;

/// Notifies devices. Clones share the same state.
#[derive(Clone)]
pub(crate) struct Push(Arc<Inner>);

struct Inner {
    hub: Hub,
    devices: Devices,
    sender: Sender,
    key: Mutex<Option<Arc<VapidKey>>>,
    /// Working sessions, each with the calls of which devices were or will be notified.
    active: Mutex<HashMap<SessionId, HashSet<CallId>>>,
}

/// What a notification is about.
#[derive(Clone, Debug)]
enum Subject {
    /// This call waits for an answer.
    Call(CallId),
    /// The session has become idle.
    End,
}

/// The next step for a device.
enum Step {
    Nothing,
    /// Check again after this time.
    Wait(Duration),
    Send(Letter),
}

impl Push {
    pub(crate) fn new(hub: Hub) -> Self {
        let devices = Devices::new(hub.home().0.clone());
        let sender = Sender::new(hub.settings().push.allow_private);
        let (key, active) = Default::default();
        Self(Arc::new(Inner { hub, devices, sender, key, active }))
    }

    fn settings(&self) -> &PushFile {
        &self.0.hub.settings().push
    }

    pub(crate) fn is_off(&self) -> bool {
        self.settings().off
    }

    /// The public key with which browsers subscribe. Blocks on file access.
    pub(crate) fn public_key(&self) -> io::Result<String> {
        self.key().map(|key| key.public())
    }

    fn key(&self) -> io::Result<Arc<VapidKey>> {
        let mut known = self.0.key.lock();
        if let Some(key) = known.as_ref() {
            return Ok(key.clone());
        }
        let key = Arc::new(VapidKey::of(&self.0.hub.home().0)?);
        *known = Some(key.clone());
        Ok(key)
    }

    /// The devices of the user of `hub`. Blocks on file access.
    pub(crate) fn devices_of(&self, hub: &Hub) -> io::Result<Vec<Device>> {
        let all = self.0.devices.list()?;
        Ok(all.into_iter().filter(|device| device.is_of(hub) && device.view(hub).is_some()).collect())
    }

    /// Adds a device of the user of `hub`, or changes its notification settings. Blocks on file access.
    pub(crate) fn add(
        &self,
        hub: &Hub,
        subscription: PushSubscription,
        wishes: Wishes,
    ) -> Result<(), AddError> {
        subscription.check(&wishes, self.settings())?;
        let now = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default();
        let device = Device::new(hub, subscription, wishes, now).ok_or(AddError::NoUser)?;
        let mut are_many = false;
        let changed = self.0.devices.change(|devices| {
            // Another user may have logged in with the same browser.
            devices
                .retain(|known| known.endpoint() != device.endpoint() && known.view(&self.0.hub).is_some());
            are_many = devices.iter().filter(|known| known.is_of(hub)).count() >= MAX_DEVICES;
            if !are_many {
                devices.push(device);
            }
            !are_many
        });
        match changed.map_err(AddError::Files)? {
            () if are_many => Err(AddError::Many(MAX_DEVICES)),
            () => Ok(()),
        }
    }

    /// Removes the device `id`, if it belongs to the user of `hub`. Blocks on file access.
    pub(crate) fn remove(&self, hub: &Hub, id: &str) -> io::Result<()> {
        self.0.devices.remove(|device| device.is_of(hub) && device.subscription.id() == id)
    }

    /// Follows the news of sessions, forever.
    pub(crate) async fn work(&self) {
        if self.is_off() {
            return;
        }
        let mut news = self.0.hub.news();
        loop {
            match news.recv().await {
                Ok(News { session, state }) => self.hear(session, state),
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "devices may not be told of questions: too much happens at once");
                }
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn hear(&self, session: SessionId, state: Option<SessionState>) {
        match state {
            Some(SessionState::Working) => drop(self.0.active.lock().entry(session).or_default()),
            Some(SessionState::Asking) => {
                for call in self.new_calls(&session) {
                    self.tell(session.clone(), Subject::Call(call));
                }
            }
            Some(SessionState::Idle) if self.0.active.lock().contains_key(&session) => {
                self.tell(session, Subject::End);
            }
            Some(SessionState::Idle) => {}
            Some(SessionState::Elsewhere) | None => drop(self.0.active.lock().remove(&session)),
        }
    }

    /// The waiting calls of which no device was notified.
    fn new_calls(&self, id: &SessionId) -> Vec<CallId> {
        let Some(session) = self.0.hub.live(id) else { return Vec::new() };
        let waiting = crate::api::watch::pending(&session.entries());
        let mut active = self.0.active.lock();
        let told = active.entry(id.clone()).or_default();
        waiting.into_iter().map(|(call, _)| call).filter(|call| told.insert(call.clone())).collect()
    }

    /// Notifies all devices, after a delay.
    fn tell(&self, session: SessionId, subject: Subject) {
        let push = self.clone();
        let after = self.settings().after.map_or(AFTER, Duration::from_secs);
        self.0.hub.go_on(async move {
            sleep(after).await;
            let (own, id, about) = (push.clone(), session.clone(), subject.clone());
            let endpoints = spawn_blocking(move || own.begin(&id, &about)).await.unwrap_or_default();
            for endpoint in endpoints {
                let (push, session, subject) = (push.clone(), session.clone(), subject.clone());
                let hub = push.0.hub.clone();
                hub.go_on(async move { push.deliver(endpoint, session, subject).await });
            }
        });
    }

    /// The endpoints of all devices, if there is still something to notify them of.
    fn begin(&self, id: &SessionId, about: &Subject) -> Vec<String> {
        let devices = self.0.devices.list().unwrap_or_else(|error| {
            tracing::error!(%error, "the list of devices cannot be read: none is notified");
            Vec::new()
        });
        if matches!(about, Subject::End) {
            if !devices.is_empty() && self.goes_on(id) {
                return Vec::new();
            }
            // Several news may say that a session is idle.
            if self.0.active.lock().remove(id).is_none() {
                return Vec::new();
            }
        }
        if devices.is_empty() || self.notice(id, about).is_none() {
            return Vec::new();
        }
        devices.iter().map(|device| device.endpoint().to_owned()).collect()
    }

    /// Whether an idle session works again, or is a job that has not ended.
    fn goes_on(&self, id: &SessionId) -> bool {
        let job = self.entries(id).and_then(|entries| JobSummary::of(&entries, false));
        self.0.hub.state(id) != SessionState::Idle || job.is_some_and(|job| !job.status.is_over())
    }

    /// The current notice; `None` if there is nothing to notify of.
    fn notice(&self, id: &SessionId, about: &Subject) -> Option<Notice> {
        let hub = &self.0.hub;
        let title = hub.home().summary(id.clone())?.title;
        match about {
            Subject::Call(call) => Notice::of_call(&hub.live(id)?, id.clone(), call, &title),
            Subject::End if hub.state(id) != SessionState::Idle => None,
            // The parent session continues with the result of this one.
            Subject::End if hub.home().opened(id)?.1.delegated_by.is_some() => None,
            Subject::End => Notice::of_end(&self.entries(id)?, id.clone(), &title),
        }
    }

    fn entries(&self, id: &SessionId) -> Option<Vec<Arc<Entry>>> {
        let hub = &self.0.hub;
        hub.live(id).map_or_else(|| hub.home().peek(&id.0).ok(), |session| Some(session.entries()))
    }

    /// Notifies one device, unless the question was answered meanwhile.
    async fn deliver(&self, endpoint: String, session: SessionId, subject: Subject) {
        let mut delays = RETRY_DELAYS.into_iter();
        loop {
            let (own, at, id, about) = (self.clone(), endpoint.clone(), session.clone(), subject.clone());
            let step = spawn_blocking(move || own.step(&at, &id, &about)).await.unwrap_or(Step::Nothing);
            let letter = match step {
                Step::Nothing => return,
                Step::Wait(time) => {
                    sleep(time).await;
                    continue;
                }
                Step::Send(letter) => letter,
            };
            let service = letter.service();
            match (self.0.sender.send(letter).await, delays.next()) {
                (Sent::Delivered, _) => return,
                (Sent::Gone, _) => return self.forget(endpoint).await,
                (Sent::Later { after, .. }, Some(delay)) => {
                    sleep(after.unwrap_or(delay).min(MAX_RETRY_DELAY)).await;
                }
                (Sent::Later { why, .. } | Sent::Refused { why }, _) => {
                    return tracing::warn!(service, why, "a device was not notified");
                }
            }
        }
    }

    fn step(&self, endpoint: &str, id: &SessionId, about: &Subject) -> Step {
        self.try_step(endpoint, id, about)
            .unwrap_or_else(|error| {
                tracing::warn!(%error, "a device was not notified");
                None
            })
            .unwrap_or(Step::Nothing)
    }

    /// The next step; `None` if the device is not to be notified.
    fn try_step(&self, endpoint: &str, id: &SessionId, about: &Subject) -> io::Result<Option<Step>> {
        let devices = self.0.devices.list()?;
        let Some(device) = devices.into_iter().find(|device| device.endpoint() == endpoint) else {
            return Ok(None);
        };
        let Some(view) = device.view(&self.0.hub) else {
            self.0.devices.remove(|known| known == &device)?;
            return Ok(None);
        };
        let notice = self.notice(id, about).filter(|_| view.find(&id.0).is_ok());
        let Some(notice) = notice else { return Ok(None) };
        match device.wishes.when(notice.kind, Timestamp::now()) {
            When::Never => return Ok(None),
            When::After(time) => return Ok(Some(Step::Wait(time))),
            When::Now => {}
        }
        let may_approve = view.user().is_none_or(|user| user.role.may(Permission::Approve));
        let letter =
            Letter::new(&device.subscription, id, notice, may_approve, (&*self.key()?, self.settings()))?;
        Ok(Some(Step::Send(letter)))
    }

    async fn forget(&self, endpoint: String) {
        let own = self.clone();
        let removed =
            spawn_blocking(move || own.0.devices.remove(|device| device.endpoint() == endpoint)).await;
        if let Ok(Err(error)) = removed {
            tracing::warn!(%error, "a device that has unsubscribed stays in the list");
        }
    }
}
