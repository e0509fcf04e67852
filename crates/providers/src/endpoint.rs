//! [`Endpoint`]: the address of requests, their credentials, and the wording of errors.
use crate::{
    Connection, Key, Vendor, Wire,
    quirks::{Answers, Quirks},
    sign_in::{SignIn, Signer},
};
use haft_core::ProviderError;
use std::{error::Error, sync::Arc};

/// A vendor at an address.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// The vendor's name in settings.
    pub name: String,
    /// The vendor's name as messages show it.
    pub title: String,
    pub wire: Wire,
    /// Base URL without a slash at the end; paths of the wire are appended.
    pub base_url: String,
    pub key: Option<Key>,
    /// The environment variable that the hint about a refused key names, if there is no account.
    pub key_variable: Option<&'static str>,
    /// The name of the account to which the key belongs, if the user has several.
    pub account: Option<String>,
    /// The command that starts the server, if it runs on this machine.
    pub start: Option<&'static str>,
    pub quirks: Quirks,
    pub sign_in: Option<SignIn>,
    /// Signs the requests to a cloud, if there is no key.
    pub signer: Option<Arc<Signer>>,
}

impl Endpoint {
    pub(crate) fn new(vendor: &Vendor, connection: &Connection) -> Self {
        let given = connection.base_url.as_deref();
        // Callers have checked the address with `Vendor::address`; a request to an incomplete address fails.
        let base_url = vendor.address(given, &connection.variables);
        let base_url = base_url.unwrap_or_else(|_| given.unwrap_or(vendor.base_url).to_owned());
        // The server at another address may support less than the vendor.
        let mut quirks = Quirks { cache_ttl: connection.cache_ttl, ..vendor.quirks };
        if connection.base_url.is_some() {
            quirks.strict_tools = false;
            if quirks.answers == Answers::WithTools {
                quirks.answers = Answers::Never;
            }
        }
        let sign_in = vendor.sign_in.filter(|_| connection.key.is_none());
        let signer = sign_in.map(|sign_in| Arc::new(Signer::new(sign_in, connection.variables.clone())));
        Self {
            name: vendor.name.to_owned(),
            title: vendor.title.to_owned(),
            wire: vendor.wire,
            base_url: if vendor.sign_in.is_some() { base_url } else { full(&base_url, vendor.wire) },
            key: connection.key.clone(),
            key_variable: vendor.key_variable,
            account: connection.account.clone(),
            start: vendor.start,
            quirks,
            sign_in: vendor.sign_in,
            signer,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    /// The address for display: without a user name, a password or a query.
    pub(crate) fn address(&self) -> String {
        let Ok(url) = reqwest::Url::parse(&self.base_url) else { return self.base_url.clone() };
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
    }

    /// Removes the key, or the secrets of the signer, from `text`.
    pub(crate) fn hide_key(&self, text: String) -> String {
        match (&self.key, &self.signer) {
            (Some(key), _) => key.hide_in(text),
            (None, Some(signer)) => signer.hide_in(text),
            (None, None) => text,
        }
    }

    /// The error if no server listens at an address of this machine, so that waiting does not help.
    pub(crate) fn not_running(&self) -> ProviderError {
        let start = match &self.start {
            Some(start) => format!("start it with `{start}`"),
            None => "start the server".to_owned(),
        };
        let hint = format!("{start}, or set another address with `--base-url`");
        ProviderError::NotRunning { provider: self.title.clone(), address: self.address(), hint }
    }

    pub(crate) fn untrusted(&self) -> ProviderError {
        let message = format!(
            "the certificate at {} is not signed by a known authority, or is not valid",
            self.address()
        );
        ProviderError::Untrusted { provider: self.title.clone(), message }
    }

    /// The error for a missing, incomplete or unreadable response.
    pub(crate) fn broken(&self, what: &str) -> ProviderError {
        let message = self.hide_key(format!("{what} ({})", self.address()));
        ProviderError::Connection { provider: self.title.clone(), message, source: None }
    }

    /// Like [`Self::broken`], but keeps the cause for the log.
    pub(crate) fn broken_by(
        &self,
        what: &str,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> ProviderError {
        let message = self.hide_key(format!("{what} ({})", self.address()));
        ProviderError::Connection { provider: self.title.clone(), message, source: Some(source.into()) }
    }
}

/// Completes a base URL. Anthropic's own clients expect it without `/v1`, OpenAI's with it; both forms are accepted for
/// Anthropic. Likewise for Gemini, which has several versions.
fn full(base_url: &str, wire: Wire) -> String {
    let base_url = base_url.trim().trim_end_matches('/');
    match wire {
        Wire::Anthropic if !base_url.ends_with("/v1") => format!("{base_url}/v1"),
        Wire::Gemini if !has_version(base_url) => format!("{base_url}/v1beta"),
        Wire::Gemini | Wire::Anthropic | Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Converse => {
            base_url.to_owned()
        }
    }
}

fn has_version(base_url: &str) -> bool {
    ["/v1", "/v1beta", "/v1alpha"].iter().any(|version| base_url.ends_with(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_come_in_two_forms() {
        let table = [
            (Wire::OpenaiChat, "https://a.test/v1/", "https://a.test/v1"),
            (Wire::Anthropic, "https://a.test", "https://a.test/v1"),
            (Wire::Gemini, "https://a.test/", "https://a.test/v1beta"),
            (Wire::Gemini, "https://a.test/v1alpha", "https://a.test/v1alpha"),
            (Wire::Anthropic, " https://a.test/v1/ ", "https://a.test/v1"),
            (Wire::Anthropic, "https://proxy.test/anthropic/", "https://proxy.test/anthropic/v1"),
        ];
        for (wire, given, expected) in table {
            assert_eq!(full(given, wire), expected);
        }
    }
}
