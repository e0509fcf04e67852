//! [`Web`]: sends a GET request, and follows redirects that stay on the same host and lead to an allowed address.
use super::{
    fault::{broken, failed, private},
    page::Page,
};
use haft_core::{Readable, ToolError, ToolErrorKind};
use haft_http::{PublicNames, Reach, is_inside};
use reqwest::{Client, Response, header::LOCATION};
use std::sync::{Arc, OnceLock};
use url::Url;

/// Maximum redirects that are followed.
const MAX_REDIRECTS: usize = 5;

/// Makes clients on first use.
pub(super) struct Web {
    allow_private: bool,
    secure: OnceLock<Option<Client>>,
    plain: OnceLock<Option<Client>>,
}

/// An address that can be fetched.
pub(super) fn parse(text: &str) -> Result<Url, ToolError> {
    let cannot = |why: String| {
        ToolError::new(ToolErrorKind::Validation, format!("cannot fetch `{text}`: {why}"))
            .hint("give a whole address, e.g. `https://example.org/page`")
    };
    let url = Url::parse(text.trim()).map_err(|error| cannot(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(cannot(format!("`{}` is neither `http` nor `https`", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(cannot("names and passwords are not sent".into()));
    }
    Ok(url)
}

impl Web {
    pub(super) fn new(allow_private: bool) -> Self {
        Self { allow_private, secure: OnceLock::new(), plain: OnceLock::new() }
    }

    /// Reads at most `most` bytes. `readable`: the addresses to which redirects may lead.
    pub(super) async fn get(
        &self,
        mut url: Url,
        most: usize,
        readable: &Readable,
    ) -> Result<Page, ToolError> {
        let first = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.ask(&url).await?;
            match response.status().as_u16() {
                200..=299 => return Page::read(url, response, most).await,
                301 | 302 | 303 | 307 | 308 => {
                    let target = next(&url, &response)?;
                    if !readable.covers(first.as_str(), target.as_str()) {
                        return Err(leads_away(&url, &target, "which needs a permission of its own"));
                    }
                    url = target;
                }
                _ => return Err(failed(&url, &response)),
            }
        }
        let message = format!("cannot fetch `{url}`: more than {MAX_REDIRECTS} redirects");
        Err(ToolError::new(ToolErrorKind::User, message))
    }

    async fn ask(&self, url: &Url) -> Result<Response, ToolError> {
        if !self.allow_private && is_inside(url) {
            return Err(private(url));
        }
        let client = match url.scheme() {
            "https" => self.secure.get_or_init(|| self.client(Reach::Secure)),
            _ => self.plain.get_or_init(|| self.client(Reach::Plain)),
        };
        let client = client.as_ref().ok_or_else(|| {
            ToolError::new(ToolErrorKind::System, "cannot set up connections: no certificates can be read")
        })?;
        let accept = "text/markdown, text/html;q=0.9, text/*;q=0.8, application/json;q=0.8, */*;q=0.1";
        let answer = client.get(url.clone()).header("accept", accept).send().await;
        answer.map_err(|error| broken(url, error))
    }

    fn client(&self, reach: Reach) -> Option<Client> {
        let builder = reach.builder().referer(false).no_proxy();
        let builder = if self.allow_private { builder } else { builder.dns_resolver(Arc::new(PublicNames)) };
        builder.build().ok()
    }
}

/// The target of a redirect, if it is on the approved host.
fn next(url: &Url, response: &Response) -> Result<Url, ToolError> {
    let target = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let Some(target) = target.and_then(|target| url.join(target).ok()) else {
        return Err(failed(url, response));
    };
    let target = parse(target.as_str())?;
    match why_not(url, &target) {
        None => Ok(target),
        Some(why) => Err(leads_away(url, &target, why)),
    }
}

/// Why a redirect is not followed, regardless of rules.
fn why_not(url: &Url, target: &Url) -> Option<&'static str> {
    if url.scheme() == "https" && target.scheme() == "http" {
        return Some("which is not encrypted");
    }
    (!same_host(url, target)).then_some("on another host")
}

fn leads_away(url: &Url, target: &Url, why: &str) -> ToolError {
    let message = format!("cannot fetch `{url}`: it redirects to `{target}`, {why}");
    ToolError::new(ToolErrorKind::User, message).hint("fetch that address if it is what you want")
}

/// Whether the hosts are equal except for `www.`, and both ports are the default or the same.
fn same_host(one: &Url, other: &Url) -> bool {
    let bare = |url: &Url| url.host_str().map(|host| host.trim_start_matches("www.").to_owned());
    bare(one) == bare(other) && one.port() == other.port()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_stays_on_its_host() {
        let table = [
            ("http://a.org/x", "https://a.org/y", true),
            ("https://a.org/", "https://www.a.org/", true),
            ("https://a.org/", "https://b.a.org/", false),
            ("https://a.org/", "https://a.org:8443/", false),
            ("http://a.org:80/", "https://a.org:443/", true),
            ("https://a.org/", "http://a.org/", false),
        ];
        for (one, other, expected) in table {
            let why_not = why_not(&parse(one).unwrap(), &parse(other).unwrap());
            assert_eq!(why_not.is_none(), expected, "{one} {other}: {why_not:?}");
        }
    }

    #[test]
    fn connections_can_be_set_up() {
        assert!(Web::new(false).client(Reach::Secure).is_some());
    }
}
