//! [`Address`]: an address from which a file may be downloaded: over HTTPS, or from this machine.
use crate::Reach;
use reqwest::Url;
use std::fmt;

/// An address of a file. Displayed without a user name, a password and a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(pub(crate) Url);

/// Why an address cannot be used for a download.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The address cannot be parsed.
    #[error("`{0}` is not an address")]
    Invalid(String),
    /// The address is neither encrypted nor on this machine, or an encrypted address redirects to it.
    #[error("`{0}` is not an HTTPS address")]
    NotEncrypted(String),
}

impl Address {
    /// Parses an address that begins with `https://`, or with `http://` and names this machine.
    ///
    /// # Errors
    ///
    /// As [`AddressError`] says.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let url = Url::parse(text).map_err(|_| AddressError::Invalid(text.to_owned()))?;
        let is_loopback = Reach::of(text) == Reach::Loopback;
        Self(url).checked(is_loopback)
    }

    /// Resolves `text`, an absolute or a relative address. Relative to an encrypted address, the result must be
    /// encrypted, too.
    ///
    /// # Errors
    ///
    /// As [`AddressError`] says.
    pub fn join(&self, text: &str) -> Result<Self, AddressError> {
        let url = self.0.join(text).map_err(|_| AddressError::Invalid(text.to_owned()))?;
        Self(url).checked(self.reach() == Reach::Loopback)
    }

    /// The name of the host.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Its encoded path, such as `/owner/repository`.
    #[must_use]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// The last segment of its path, such as `index.json`.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.0.path_segments().and_then(Iterator::last).unwrap_or_default()
    }

    pub(crate) fn reach(&self) -> Reach {
        Reach::of(self.0.as_str())
    }

    fn checked(self, may_be_loopback: bool) -> Result<Self, AddressError> {
        let is_encrypted = self.0.scheme() == "https";
        match is_encrypted || (may_be_loopback && self.reach() == Reach::Loopback) {
            true => Ok(self),
            false => Err(AddressError::NotEncrypted(self.to_string())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut url = self.0.clone();
        // Fails for addresses without a host, which have no password either.
        let _has_no_host = url.set_password(None).and_then(|()| url.set_username(""));
        url.set_query(None);
        f.write_str(url.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_encrypted_or_on_this_machine() {
        let table = [
            ("https://example.com/index.json", None, Some("https://example.com/index.json")),
            ("https://me:secret@example.com/a?key=b", None, Some("https://example.com/a")),
            ("http://127.0.0.1:1/a", None, Some("http://127.0.0.1:1/a")),
            ("http://example.com/a", None, None),
            ("file:///etc/passwd", None, None),
            ("nowhere", None, None),
            ("https://example.com/v/index.json", Some("a.tar.gz"), Some("https://example.com/v/a.tar.gz")),
            (
                "https://example.com/v/index.json",
                Some("https://cdn.example/a"),
                Some("https://cdn.example/a"),
            ),
            ("https://example.com/v/index.json", Some("//cdn.example/a"), Some("https://cdn.example/a")),
            ("https://example.com/index.json", Some("http://127.0.0.1/a"), None),
            ("http://127.0.0.1/index.json", Some("http://127.0.0.1:2/a"), Some("http://127.0.0.1:2/a")),
            ("http://127.0.0.1/index.json", Some("http://example.com/a"), None),
            ("http://127.0.0.1/index.json", Some("file:///etc/passwd"), None),
        ];
        for (text, relative, expected) in table {
            let found = Address::parse(text)
                .and_then(|address| relative.map_or(Ok(address.clone()), |to| address.join(to)));
            assert_eq!(
                found.ok().map(|address| address.to_string()).as_deref(),
                expected,
                "{text} {relative:?}"
            );
        }
    }
}
