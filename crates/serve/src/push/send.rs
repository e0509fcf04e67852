//! [`Sender`]: sends messages to push services (RFC 8030).
use super::{devices::PushSubscription, message::encrypt, notice::Notice, vapid::VapidKey};
use haft_app::{config::serve::PushFile, users::hash_of};
use haft_core::SessionId;
use haft_http::{LeadsInside, PublicNames, Reach, says};
use reqwest::{
    Client, StatusCode, Url,
    header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER},
};
use std::{
    error::Error,
    io,
    iter::successors,
    sync::{Arc, OnceLock},
    time::Duration,
};

/// Timeout for the push service's response.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long a push service keeps a message for a device that is offline, in seconds.
const LIFETIME: &str = "86400";

/// Creates HTTP clients on first use.
pub(super) struct Sender {
    allow_private: bool,
    secure: OnceLock<Option<Client>>,
    loopback: OnceLock<Option<Client>>,
}

/// A message for a push service.
#[derive(Clone, Debug)]
pub(super) struct Letter {
    pub(super) endpoint: Url,
    pub(super) authorization: String,
    /// The topic: this message replaces one with the same topic that the push service still keeps for the device.
    pub(super) topic: String,
    /// Whether the device is woken up for the message.
    pub(super) is_urgent: bool,
    pub(super) body: Vec<u8>,
}

impl Letter {
    /// The message about `session` for `subscription`, signed with `key`.
    pub(super) fn new(
        subscription: &PushSubscription,
        session: &SessionId,
        notice: Notice,
        may_approve: bool,
        (key, settings): (&VapidKey, &PushFile),
    ) -> io::Result<Self> {
        let endpoint = subscription.address(settings.allow_private).map_err(io::Error::other)?;
        let keys = subscription.keys().map_err(io::Error::other)?;
        let mut topic = hash_of(session.0.as_bytes());
        topic.truncate(32);
        let is_urgent = notice.kind.is_question();
        let body = encrypt(&notice.content(may_approve), &keys)
            .map_err(|_| io::Error::other("the message cannot be encrypted"))?;
        let authorization = key.authorization(&endpoint, settings.contact.as_deref())?;
        Ok(Self { endpoint, authorization, topic, is_urgent, body })
    }

    /// The host of the push service.
    pub(super) fn service(&self) -> String {
        self.endpoint.host_str().unwrap_or_default().to_owned()
    }
}

/// The result of sending a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Delivered,
    /// The subscription has expired.
    Gone,
    /// The message can be sent again, after this time if the service says so.
    Later {
        why: String,
        after: Option<Duration>,
    },
    Refused {
        why: String,
    },
}

impl Sender {
    pub(super) fn new(allow_private: bool) -> Self {
        Self { allow_private, secure: OnceLock::new(), loopback: OnceLock::new() }
    }

    pub(super) async fn send(&self, letter: Letter) -> Sent {
        let reach = Reach::of(letter.endpoint.as_str());
        let client = if reach == Reach::Loopback { &self.loopback } else { &self.secure };
        let Some(client) = client.get_or_init(|| self.client(reach)) else {
            return Sent::Refused { why: "no certificates can be read".to_owned() };
        };
        let urgency = if letter.is_urgent { "high" } else { "normal" };
        let request = client
            .post(letter.endpoint)
            .header(AUTHORIZATION, letter.authorization)
            .header(CONTENT_TYPE, "application/octet-stream")
            .header(CONTENT_ENCODING, "aes128gcm")
            .header("ttl", LIFETIME)
            .header("topic", letter.topic)
            .header("urgency", urgency)
            .body(letter.body);
        match request.send().await {
            Err(error) => failed(&error.without_url()),
            Ok(answer) => {
                let after =
                    answer.headers().get(RETRY_AFTER).and_then(|after| after.to_str().ok()?.parse().ok());
                outcome(answer.status(), after.map(Duration::from_secs))
            }
        }
    }

    /// Uses no proxy, which would resolve names itself.
    fn client(&self, reach: Reach) -> Option<Client> {
        let builder = reach.builder().no_proxy().timeout(TIMEOUT);
        let builder = if self.allow_private { builder } else { builder.dns_resolver(Arc::new(PublicNames)) };
        builder.build().ok()
    }
}

/// The result for a message that got no response.
fn failed(error: &reqwest::Error) -> Sent {
    let last = successors(Some(error as &dyn Error), |&cause| cause.source()).last();
    let why =
        format!("the push service cannot be reached: {}", last.map_or_else(String::new, ToString::to_string));
    match says(error, &LeadsInside.to_string()) {
        true => Sent::Refused { why },
        false => Sent::Later { why, after: None },
    }
}

fn outcome(status: StatusCode, after: Option<Duration>) -> Sent {
    let why = format!("the push service answered {status}");
    match status {
        status if status.is_success() => Sent::Delivered,
        StatusCode::NOT_FOUND | StatusCode::GONE => Sent::Gone,
        StatusCode::TOO_MANY_REQUESTS => Sent::Later { why, after },
        status if status.is_server_error() => Sent::Later { why, after },
        _ => Sent::Refused { why },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // H-97
    #[tokio::test]
    async fn nothing_is_sent_to_a_name_that_leads_inside() {
        let letter = Letter {
            endpoint: Url::parse("https://localhost:1/a").unwrap(),
            authorization: String::new(),
            topic: "a".to_owned(),
            is_urgent: true,
            body: Vec::new(),
        };
        let why = "the push service cannot be reached: the name leads to a private address".to_owned();
        assert_eq!(Sender::new(false).send(letter.clone()).await, Sent::Refused { why });
        let reached = Sender::new(true).send(letter).await;
        assert!(matches!(reached, Sent::Later { after: None, .. }), "{reached:?}");
    }

    // H-97
    #[test]
    fn an_answer_says_whether_to_try_again() {
        let (minute, later) = (Some(Duration::from_secs(60)), |status, after| {
            let why = format!("the push service answered {status}");
            Sent::Later { why, after }
        });
        for (status, expected) in [
            (StatusCode::CREATED, Sent::Delivered),
            (StatusCode::NOT_FOUND, Sent::Gone),
            (StatusCode::GONE, Sent::Gone),
            (StatusCode::TOO_MANY_REQUESTS, later(StatusCode::TOO_MANY_REQUESTS, minute)),
            (StatusCode::BAD_GATEWAY, later(StatusCode::BAD_GATEWAY, minute)),
            (
                StatusCode::FORBIDDEN,
                Sent::Refused { why: "the push service answered 403 Forbidden".to_owned() },
            ),
        ] {
            assert_eq!(outcome(status, minute), expected, "{status}");
        }
    }
}
