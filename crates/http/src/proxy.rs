//! [`Proxy`]: the proxy for encrypted addresses if there is no direct connection.
use crate::Address;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{ClientBuilder, NoProxy, Url};
use std::{fmt, sync::OnceLock};

/// The result of [`Proxy::remember`], for encrypted and for plain addresses.
static REMEMBERED: OnceLock<Remembered> = OnceLock::new();

struct Remembered {
    for_clients: [Option<reqwest::Proxy>; 2],
    matcher: Matcher,
}

/// The proxy in an environment for encrypted addresses. Displayed without its user name and its password.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    url: String,
    /// Hosts that are reached without the proxy, separated by commas.
    no_proxy: String,
}

impl Proxy {
    /// Reads `https_proxy`, `all_proxy` and `no_proxy`, in lower or upper case, from the environment `variable`.
    ///
    /// The environment of the process may not contain them anymore: `main` blanks values that look like secrets.
    pub fn of<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let either = |name: &str| variable(name).or_else(|| variable(&name.to_ascii_uppercase()));
        let url = either("https_proxy").or_else(|| either("all_proxy"))?;
        Some(Self { url: url.to_owned(), no_proxy: either("no_proxy").unwrap_or_default().to_owned() })
    }

    /// Reads the proxies of this process, for encrypted and for plain addresses, for all clients that are created
    /// afterwards. Otherwise, each client reads them when it is created, which is too late if the process blanks them.
    pub fn remember() {
        let _found = REMEMBERED.get_or_init(|| {
            let variable =
                |name: &str| std::env::var(name).or_else(|_| std::env::var(name.to_ascii_uppercase())).ok();
            let no_proxy = variable("no_proxy").and_then(|hosts| NoProxy::from_string(&hosts));
            let proxy = |names: [&str; 2], make: fn(String) -> reqwest::Result<reqwest::Proxy>| {
                let url = names.into_iter().find_map(variable).filter(|url| !url.is_empty())?;
                Some(make(url).ok()?.no_proxy(no_proxy.clone()))
            };
            // `HTTP_PROXY` is ignored in CGI programs, since web servers set it from a request header.
            let plain = std::env::var_os("REQUEST_METHOD").is_none();
            let for_clients = [
                proxy(["https_proxy", "all_proxy"], reqwest::Proxy::https),
                proxy(["http_proxy", "all_proxy"], reqwest::Proxy::http).filter(|_| plain),
            ];
            Remembered { for_clients, matcher: Matcher::from_env() }
        });
    }

    /// Returns the proxy through which a client of this process reaches `url`, without its user name and its password;
    /// `None` for a direct connection.
    pub fn of_process(url: &str) -> Option<String> {
        let matched = REMEMBERED.get()?.matcher.intercept(&url.parse().ok()?)?;
        let url = Url::parse(&matched.uri().to_string()).ok()?;
        Some(Address(url).to_string().trim_end_matches('/').to_owned())
    }

    /// Adds the proxies of [`Self::remember`] to `builder`.
    pub(crate) fn remembered(builder: ClientBuilder) -> ClientBuilder {
        let found = REMEMBERED.get().into_iter().flat_map(|found| &found.for_clients).flatten();
        found.fold(builder, |builder, proxy| builder.proxy(proxy.clone()))
    }

    pub(crate) fn for_client(&self) -> reqwest::Result<reqwest::Proxy> {
        Ok(reqwest::Proxy::https(&self.url)?.no_proxy(NoProxy::from_string(&self.no_proxy)))
    }

    /// Whether `address` is reached through this proxy.
    pub(crate) fn serves(&self, address: &Address) -> bool {
        let matcher = Matcher::builder().https(self.url.clone()).no(self.no_proxy.clone()).build();
        address.0.as_str().parse().is_ok_and(|address| matcher.intercept(&address).is_some())
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = if self.url.contains("://") { self.url.clone() } else { format!("http://{}", self.url) };
        match Url::parse(&url) {
            Ok(url) => f.write_str(Address(url).to_string().trim_end_matches('/')),
            Err(_) => f.write_str("(no address)"),
        }
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proxy_is_that_of_encrypted_addresses_and_shown_without_its_password() {
        let table: [(&[(&str, &str)], _); 7] = [
            (&[], None),
            (&[("http_proxy", "http://a:1")], None),
            (&[("https_proxy", "http://me:secret@a:1"), ("all_proxy", "http://b:1")], Some("http://a:1")),
            (&[("HTTPS_PROXY", "a:1")], Some("http://a:1")),
            (&[("ALL_PROXY", "http://b:1")], Some("http://b:1")),
            (&[("https_proxy", "http://a:1"), ("no_proxy", "other.example,example.com")], None),
            (&[("https_proxy", "http://a:1"), ("NO_PROXY", "*")], None),
        ];
        let address = Address::parse("https://www.example.com/index.json").unwrap();
        for (variables, expected) in table {
            let get =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            let found = Proxy::of(get).filter(|proxy| proxy.serves(&address));
            assert_eq!(found.map(|proxy| proxy.to_string()).as_deref(), expected, "{variables:?}");
        }
    }
}
