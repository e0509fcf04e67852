//! [`WebIdentity`]: a role that is assumed with a token of another identity provider, such as that of a service account
//! of Kubernetes on EKS (IRSA).
//!
//! Sources: docs.aws.amazon.com "AssumeRoleWithWebIdentity", "Assume role credential provider" and "Service-specific
//! endpoints", 2026-11.
use super::{super::Credential, Keys, Proof};
use crate::sign_in::exchange::{FetchError, element, post_form, read_token};
use jiff::Timestamp;
use std::{path::PathBuf, time::SystemTime};

/// The default name of a session, if no variable or profile sets it.
const SESSION: &str = "haft";

/// A role, and the file with its token, which is rewritten before the token expires.
#[derive(Clone)]
pub(in crate::sign_in) struct WebIdentity {
    pub role: String,
    pub file: PathBuf,
    pub session: Option<String>,
    /// The address of the Security Token Service.
    pub address: String,
}

impl WebIdentity {
    pub(super) async fn fetch(&self) -> Result<Credential, FetchError> {
        let token = read_token(&self.file)?;
        let form = [
            ("Action", "AssumeRoleWithWebIdentity"),
            ("Version", "2011-06-15"),
            ("RoleArn", &self.role),
            ("RoleSessionName", self.session.as_deref().unwrap_or(SESSION)),
            ("WebIdentityToken", &token),
        ];
        let answered = post_form(&self.address, &form).await?.accepted()?;
        keys_in(&answered.text).ok_or_else(|| FetchError::refused(format!("`{}` sent no keys", self.address)))
    }
}

/// Reads `<Credentials>` with `<AccessKeyId>`, `<SecretAccessKey>`, `<SessionToken>` and `<Expiration>`, the time by
/// RFC 3339.
fn keys_in(answer: &str) -> Option<Credential> {
    let credentials = element(answer, "Credentials")?;
    let text = |name: &str| {
        Some(element(credentials, name)?.trim())
            .filter(|text| crate::sign_in::is_token(text))
            .map(str::to_owned)
    };
    let keys = Keys {
        id: text("AccessKeyId")?,
        secret: text("SecretAccessKey")?,
        session: Some(text("SessionToken")?),
    };
    let ends = text("Expiration")?.parse::<Timestamp>().ok().map(SystemTime::from);
    Some(Credential { proof: Proof::Keys(keys), ends })
}
