//! [`ServerAddress`]: the address that the user copies from a browser or from the output of `haft serve`.
use haft_app::Failure;
use haft_http::Reach;
use reqwest::Url;
use std::fmt;

/// The address of a server, of the page of a session, or of a session in the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    /// URL without a slash at the end.
    pub(super) base: String,
    /// The session that the address names.
    pub session: Option<String>,
    /// The token in the address.
    pub token: Option<String>,
}

impl ServerAddress {
    /// Parses an address. Unless `is_insecure` is set, an unencrypted address must lead to this machine.
    ///
    /// # Errors
    ///
    /// If `text` is not such an address.
    pub fn parse(text: &str, is_insecure: bool) -> Result<Self, Failure> {
        let hint = "use the address that `haft serve` prints, such as `https://haft.example.com`";
        // The fragment after `#` may hold the token.
        let shown = text.split('#').next().unwrap_or_default();
        let wrong = |why: &str| Failure::usage(format!("cannot attach to `{shown}`: {why}")).hint(hint);
        let url = Url::parse(text.trim()).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong("it is not an address with `http://` or `https://`"));
        }
        if Reach::of(url.as_str()) == Reach::Plain && !is_insecure {
            let why = "it is not encrypted, so the token and the session could be read on the way";
            return Err(Failure::usage(format!("cannot attach to `{shown}`: {why}")).hint(
                "use `https://` with a proxy in front of the server, or a tunnel: `ssh -L 8171:127.0.0.1:8171 HOST`; \
                 `--insecure` attaches all the same",
            ));
        }
        let fragment = url.fragment().unwrap_or_default();
        let named = fragment.strip_prefix("s/").or(fragment.strip_prefix("/s/"));
        let token = fragment.strip_prefix("token=").map(str::to_owned);
        let path = url.path().trim_end_matches('/');
        let (path, in_path) = match path.split_once("/v1/sessions/") {
            Some((path, rest)) => (path, rest.split('/').next()),
            None => (path, None),
        };
        let session = named.or(in_path).filter(|id| !id.is_empty()).map(str::to_owned);
        Ok(Self { base: format!("{}{path}", url.origin().ascii_serialization()), session, token })
    }
}

/// Displays the address without the token.
impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_that_of_a_server_or_of_a_session() {
        let of = |base: &str, session: Option<&str>, token: Option<&str>| {
            let owned = |text: Option<&str>| text.map(str::to_owned);
            Ok(ServerAddress { base: base.into(), session: owned(session), token: owned(token) })
        };
        let table = [
            ("http://127.0.0.1:8171", of("http://127.0.0.1:8171", None, None)),
            ("http://127.0.0.1:8171/#token=ab12", of("http://127.0.0.1:8171", None, Some("ab12"))),
            ("https://haft.example.com/#s/2026-a", of("https://haft.example.com", Some("2026-a"), None)),
            ("https://example.com/haft/?x=1", of("https://example.com/haft", None, None)),
            ("http://localhost:1/v1/sessions/2026-a/events", of("http://localhost:1", Some("2026-a"), None)),
            (
                "http://10.0.0.1:8171",
                Err("it is not encrypted, so the token and the session could be read on the way"),
            ),
            ("ftp://example.com", Err("it is not an address with `http://` or `https://`")),
            ("example.com", Err("relative URL without a base")),
        ];
        for (text, expected) in table {
            let read = ServerAddress::parse(text, false).map_err(|failure| failure.message);
            assert_eq!(
                read,
                expected.map_err(|why: &str| format!("cannot attach to `{text}`: {why}")),
                "{text}"
            );
        }
        assert!(ServerAddress::parse("http://10.0.0.1:8171", true).is_ok());
    }
}
