//! [`VapidKey`]: the key pair that identifies this server to push services (RFC 8292), in Haft's home.
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use haft_app::untrusted_file;
use haft_process::own_folder;
use jiff::{SignedDuration, Timestamp};
use reqwest::Url;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_json::json;
use std::{
    io::{self, Write},
    path::Path,
};

/// The file in Haft's home: the key pair as PKCS #8, in base64url.
const FILE: &str = "serve-push-key";
/// Lifetime of a token; RFC 8292 allows up to a day.
const TOKEN_LIFETIME: SignedDuration = SignedDuration::from_hours(12);

/// A key pair of P-256.
pub(super) struct VapidKey(EcdsaKeyPair);

impl VapidKey {
    /// The key pair in `home`, which is created if it is missing. Fails if the file cannot be read or written, or holds
    /// no key pair.
    pub(super) fn of(home: &Path) -> io::Result<Self> {
        let path = home.join(FILE);
        let text = match untrusted_file::read(&path, None) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => make(home, &path)?,
            read => read?,
        };
        Self::parse(&text).map_err(|error| io::Error::other(format!("`{FILE}` holds no key pair: {error}")))
    }

    /// Reads a key pair as PKCS #8 in base64url.
    pub(super) fn parse(text: &str) -> io::Result<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text.trim()).map_err(io::Error::other)?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &bytes, &SystemRandom::new());
        pair.map(Self).map_err(io::Error::other)
    }

    /// Generates a key pair in the form that [`Self::parse`] reads.
    pub(super) fn generate() -> io::Result<String> {
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        made.map(|made| URL_SAFE_NO_PAD.encode(made)).map_err(|_| no_random())
    }

    /// The public key in the form that browsers need for a subscription.
    pub(super) fn public(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0.public_key())
    }

    /// The header `Authorization` of a message to `endpoint`.
    pub(super) fn authorization(&self, endpoint: &Url, contact: Option<&str>) -> io::Result<String> {
        let mut claims = json!({
            "aud": endpoint.origin().ascii_serialization(),
            "exp": (Timestamp::now() + TOKEN_LIFETIME).as_second(),
        });
        if let Some(contact) = contact {
            claims["sub"] = json!(contact);
        }
        let part = |value: String| URL_SAFE_NO_PAD.encode(value);
        let signed = format!(
            "{}.{}",
            part(json!({"typ": "JWT", "alg": "ES256"}).to_string()),
            part(claims.to_string())
        );
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes()).map_err(|_| no_random())?;
        let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature));
        Ok(format!("vapid t={token}, k={}", self.public()))
    }
}

/// The only error of generating keys and signatures.
fn no_random() -> io::Error {
    io::Error::other("the system gives no random numbers")
}

/// Creates the file atomically, readable only by the user. If two servers start at the same time, both use the key of
/// the first.
fn make(home: &Path, path: &Path) -> io::Result<String> {
    let text = VapidKey::generate()?;
    own_folder(home)?;
    let mut file = tempfile::NamedTempFile::new_in(home)?;
    writeln!(file, "{text}")?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(text),
        Err(lost) if lost.error.kind() == io::ErrorKind::AlreadyExists => untrusted_file::read(path, None),
        Err(lost) => Err(lost.error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
    use std::{fs, os::unix::fs::PermissionsExt};

    // H-97
    #[test]
    fn a_key_pair_is_made_once_kept_private_and_signs() {
        let home = tempfile::tempdir().unwrap();
        let key = VapidKey::of(home.path()).unwrap();
        let path = home.path().join(FILE);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(VapidKey::of(home.path()).unwrap().public(), key.public());
        let endpoint = Url::parse("https://push.example.org:8443/a?b=c").unwrap();
        let header = key.authorization(&endpoint, Some("mailto:me@example.org")).unwrap();
        let (token, public) = header.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        let parts: Vec<_> = token.split('.').collect();
        let [head, claims, signature] = parts[..] else { panic!("{token}") };
        let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
        let claims_read: serde_json::Value = serde_json::from_slice(&decoded(claims)).unwrap();
        assert_eq!(claims_read["aud"], "https://push.example.org:8443");
        assert_eq!(claims_read["sub"], "mailto:me@example.org");
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, decoded(public))
            .verify(format!("{head}.{claims}").as_bytes(), &decoded(signature))
            .unwrap();
        fs::write(&path, "x").unwrap();
        assert!(VapidKey::of(home.path()).is_err());
    }
}
