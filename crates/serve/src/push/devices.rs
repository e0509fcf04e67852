//! [`Devices`]: the browsers that are notified, in Haft's home.
use super::{
    message::{self, DeviceKeys, POINT_BYTES},
    notice::NoticeKind,
    quiet::QuietHours,
};
use crate::{hub::Hub, users::SignedIn};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use haft_app::{config::serve::PushFile, untrusted_file, users::hash_of};
use haft_http::{Reach, is_inside};
use haft_process::own_folder;
use jiff::Timestamp;
use reqwest::Url;
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{self, Write},
    path::PathBuf,
    time::Duration,
};
use utoipa::ToSchema;

/// The file in Haft's home.
const FILE: &str = "serve-push.json";
/// Held while the file changes.
const LOCK: &str = "serve-push.lock";
/// How often it is looked whether quiet hours have ended: clocks are set, and machines sleep.
const QUIET_INTERVAL: Duration = Duration::from_secs(60);
/// Characters of an address.
const MAX_ENDPOINT_LENGTH: usize = 2_048;
/// Bytes of what a browser and the server alone know.
const SECRET_BYTES: usize = 16;

/// A browser that is notified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Device {
    /// What the browser got from its push service.
    pub(crate) subscription: PushSubscription,
    pub(crate) wishes: Wishes,
    /// Login that the device belongs to.
    login: Login,
    /// In milliseconds since 1970-01-01 UTC.
    pub(crate) added_at: u64,
}

/// A subscription, as `PushSubscription.toJSON()` gives it
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct PushSubscription {
    /// Where messages go: an address of the browser's push service
    pub(crate) endpoint: String,
    keys: SubscriptionKeys,
}

/// Keys of a subscription, in base64url
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SubscriptionKeys {
    /// Public key of the browser
    p256dh: String,
    /// Secret of the browser
    auth: String,
}

/// What a device is told, and when
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Wishes {
    /// Calls and questions that wait for a person [default: true]
    pub(super) questions: bool,
    /// Jobs that have ended [default: true]
    pub(super) jobs: bool,
    /// Turns that have ended [default: false]
    pub(super) turns: bool,
    /// When nothing is told
    pub(super) quiet: Option<QuietHours>,
}

impl Default for Wishes {
    fn default() -> Self {
        Self { questions: true, jobs: true, turns: false, quiet: None }
    }
}

impl Wishes {
    /// When a device is told of it, if it is `now`.
    pub(super) fn when(&self, kind: NoticeKind, now: Timestamp) -> When {
        let is_wanted = match kind {
            NoticeKind::Approval | NoticeKind::Question => self.questions,
            NoticeKind::Job => self.jobs,
            NoticeKind::Turn => self.turns,
        };
        match self.quiet.as_ref().and_then(|quiet| quiet.end(now)) {
            _ if !is_wanted => When::Never,
            None => When::Now,
            Some(end) if kind.is_question() => {
                let left = Duration::try_from(end.duration_since(now)).unwrap_or_default();
                When::After(left.min(QUIET_INTERVAL))
            }
            Some(_) => When::Never,
        }
    }
}

/// When a device is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Never,
    Now,
    /// The device is checked again after this time.
    After(Duration),
}

/// Why a device is not added.
#[derive(Debug)]
pub(crate) enum AddError {
    /// The subscription is invalid; the reason is a sentence without its full stop.
    Invalid(String),
    /// The push service accepts nothing from a server without a contact address.
    NoContact,
    /// There are too many.
    Many(usize),
    /// The user is gone.
    NoUser,
    /// The files cannot be read or written.
    Files(io::Error),
}

/// The login of a person: a device is notified only while it is valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Login {
    /// `None` for the server's own token.
    user: Option<String>,
    role: Option<String>,
    /// SHA-256 of the token, if it is not one of an OpenID provider.
    token_sha256: Option<String>,
}

impl Login {
    /// The current login of the user of `hub`; `None` if the user is gone.
    fn now(hub: &Hub, user: Option<&str>) -> Option<Self> {
        let Some(name) = user else {
            let token_sha256 = Some(hash_of(hub.settings().token.as_bytes()));
            return Some(Self { user: None, role: None, token_sha256 });
        };
        let user = hub.users().named(name)?;
        let role = Some(user.role.name.clone());
        Some(Self { user: Some(name.to_owned()), role, token_sha256: user.token_sha256.clone() })
    }
}

impl Device {
    /// A device of the person whom `hub` serves; `None` if that user is gone.
    pub(super) fn new(
        hub: &Hub,
        subscription: PushSubscription,
        wishes: Wishes,
        added_at: u64,
    ) -> Option<Self> {
        let login = Login::now(hub, hub.user_name())?;
        Some(Self { subscription, wishes, login, added_at })
    }

    /// Whether the login belongs to the user of `hub`.
    pub(super) fn is_of(&self, hub: &Hub) -> bool {
        self.login.user.as_deref() == hub.user_name()
    }

    /// What its person sees of `hub`; `None` if the login holds no more.
    pub(super) fn view(&self, hub: &Hub) -> Option<Hub> {
        let user = self.login.user.as_deref();
        if Login::now(hub, user).as_ref() != Some(&self.login) {
            return None;
        }
        match user {
            None => Some(hub.clone()),
            Some(name) => Some(hub.seen_by(SignedIn::without_request(hub.users().named(name)?))),
        }
    }

    pub(super) fn endpoint(&self) -> &str {
        &self.subscription.endpoint
    }
}

impl PushSubscription {
    /// Names it, without its address.
    pub(crate) fn id(&self) -> String {
        let mut id = hash_of(self.endpoint.as_bytes());
        id.truncate(32);
        id
    }

    /// Whether a device can be notified with it.
    pub(super) fn check(&self, wishes: &Wishes, settings: &PushFile) -> Result<(), AddError> {
        if let Some(fault) = wishes.quiet.as_ref().and_then(QuietHours::fault) {
            return Err(AddError::Invalid(fault));
        }
        let address = self.address(settings.allow_private).map_err(AddError::Invalid)?;
        self.keys().map_err(AddError::Invalid)?;
        match settings.contact.is_none() && is_apple(&address) {
            true => Err(AddError::NoContact),
            false => Ok(()),
        }
    }

    /// Returns the address, if messages may go there.
    ///
    /// # Errors
    /// Fails with a sentence without its dot. `allow_private` also takes private addresses, and plain HTTP on this machine.
    pub(super) fn address(&self, allow_private: bool) -> Result<Url, String> {
        let endpoint = self.endpoint.escape_debug();
        if self.endpoint.len() > MAX_ENDPOINT_LENGTH {
            return Err(format!(
                "the address of the subscription has more than {MAX_ENDPOINT_LENGTH} characters"
            ));
        }
        let url =
            Url::parse(&self.endpoint).map_err(|error| format!("`{endpoint}` is not an address: {error}"))?;
        let is_secure =
            url.scheme() == "https" || (allow_private && Reach::of(&self.endpoint) == Reach::Loopback);
        if !is_secure || !url.username().is_empty() || url.password().is_some() {
            return Err(format!("`{endpoint}` is not an HTTPS address of a push service"));
        }
        if !allow_private && is_inside(&url) {
            return Err(format!("`{endpoint}` is an address of this machine or of a private network"));
        }
        Ok(url)
    }

    /// Returns the keys.
    ///
    /// # Errors
    /// Fails with a sentence without its dot.
    pub(super) fn keys(&self) -> Result<DeviceKeys, String> {
        let read = |name, text: &str, length| {
            let bytes = URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
            let bytes = bytes.filter(|bytes| bytes.len() == length);
            bytes.ok_or_else(|| format!("`{name}` is not {length} bytes in base64url"))
        };
        let SubscriptionKeys { p256dh, auth } = &self.keys;
        let keys = DeviceKeys {
            public: read("p256dh", p256dh, POINT_BYTES)?,
            secret: read("auth", auth, SECRET_BYTES)?,
        };
        message::encrypt(b"", &keys).map_err(|_| "`p256dh` is not a point of P-256".to_owned())?;
        Ok(keys)
    }
}

/// Apple's push service.
fn is_apple(address: &Url) -> bool {
    address.host_str().is_some_and(|host| host.ends_with(".push.apple.com"))
}

/// All devices of the server's people.
pub(super) struct Devices {
    home: PathBuf,
}

impl Devices {
    pub(super) fn new(home: PathBuf) -> Self {
        Self { home }
    }

    /// All of them.
    ///
    /// # Errors
    /// Fails where there is a file and it cannot be read.
    pub(super) fn list(&self) -> io::Result<Vec<Device>> {
        match untrusted_file::read(&self.home.join(FILE), None) {
            Ok(text) => serde_json::from_str(&text).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Changes the list, and writes it anew if that returns true.
    ///
    /// # Errors
    /// Fails where the file cannot be read or written.
    pub(super) fn change(&self, change: impl FnOnce(&mut Vec<Device>) -> bool) -> io::Result<()> {
        own_folder(&self.home)?;
        let lock = File::create(self.home.join(LOCK))?;
        lock.lock()?;
        let mut devices = self.list()?;
        if !change(&mut devices) {
            return Ok(());
        }
        // Readable only for the person who runs the server: who has an address and its keys can send messages.
        let mut file = tempfile::NamedTempFile::new_in(&self.home)?;
        writeln!(file, "{}", serde_json::to_string_pretty(&devices)?)?;
        file.as_file().sync_all()?;
        file.persist(self.home.join(FILE))?;
        Ok(())
    }

    /// Notifies no device that fits `is_one` any more.
    pub(super) fn remove(&self, is_one: impl Fn(&Device) -> bool) -> io::Result<()> {
        self.change(|devices| {
            let before = devices.len();
            devices.retain(|device| !is_one(device));
            devices.len() < before
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // H-97
    #[test]
    fn messages_go_to_public_encrypted_addresses_alone() {
        let table = [
            ("https://push.example.org/a", true, true),
            ("https://10.0.0.1/a", false, true),
            ("https://[::1]/a", false, true),
            ("http://127.0.0.1:8/a", false, true),
            ("http://push.example.org/a", false, false),
            ("https://me:secret@push.example.org/a", false, false),
            ("ftp://push.example.org/a", false, false),
            ("nowhere", false, false),
        ];
        for (endpoint, is_allowed, with_private) in table {
            let keys = SubscriptionKeys { p256dh: String::new(), auth: String::new() };
            let subscription = PushSubscription { endpoint: endpoint.to_owned(), keys };
            assert_eq!(subscription.address(false).is_ok(), is_allowed, "{endpoint}");
            assert_eq!(subscription.address(true).is_ok(), with_private, "{endpoint}");
        }
    }
}
