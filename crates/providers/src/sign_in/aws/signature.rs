//! [`headers`]: signs a request with AWS Signature Version 4.
//!
//! Source: docs.aws.amazon.com "Create a signed AWS API request", 2026-11. Only one form of request is supported: with
//! the headers `host`, `x-amz-date` and optionally `x-amz-security-token`, and without a query.
//!
//! Own code instead of `aws-sigv4`, which adds some twenty-five crates, among them a second version of `http`, for the
//! four hashes below.
use jiff::Timestamp;
use reqwest::Url;
use ring::{digest, hmac};

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// An access key of AWS, with its session if it is temporary.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::sign_in) struct Keys {
    pub id: String,
    pub secret: String,
    pub session: Option<String>,
}

/// The signed parts of a request.
pub(super) struct Signed<'a> {
    pub method: &'a str,
    pub url: &'a Url,
    pub body: &'a [u8],
    pub region: &'a str,
    pub service: &'a str,
}

/// Names and values of the headers that sign a request made at `now`.
pub(super) fn headers(signed: &Signed<'_>, keys: &Keys, now: Timestamp) -> Vec<(&'static str, String)> {
    let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let date = &time[..8];
    let Signed { region, service, .. } = signed;
    let scope = format!("{date}/{region}/{service}/aws4_request");
    let session = keys.session.iter().map(|session| ("x-amz-security-token", session.clone()));
    let own: Vec<(&str, String)> = [("x-amz-date", time.clone())].into_iter().chain(session).collect();
    let named: Vec<(&str, String)> = [("host", host(signed.url))].into_iter().chain(own.clone()).collect();
    let names = named.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let listed: String = named.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let (method, path) = (signed.method, encoded(signed.url.path(), "/"));
    let canonical = format!("{method}\n{path}\n\n{listed}\n{names}\n{}", sha256(signed.body));
    let text = format!("{ALGORITHM}\n{time}\n{scope}\n{}", sha256(canonical.as_bytes()));
    let key = [date, region, service, "aws4_request"]
        .iter()
        .fold(format!("AWS4{}", keys.secret).into_bytes(), |key, part| mac(&key, part));
    let (id, signature) = (&keys.id, hex(&mac(&key, &text)));
    let authorization =
        format!("{ALGORITHM} Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}");
    own.into_iter().chain([("authorization", authorization)]).collect()
}

/// The host as the client sends it: with the port, unless it is the default one.
fn host(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}{port}", url.host_str().unwrap_or_default())
}

/// `text` with all bytes percent-encoded except letters, digits, `-_.~` and those in `kept`. In a signature, a path is
/// encoded once more than in the request.
pub(crate) fn encoded(text: &str, kept: &str) -> String {
    let encode = |byte: u8| match char::from(byte) {
        letter if letter.is_ascii_alphanumeric() || "-_.~".contains(letter) || kept.contains(letter) => {
            letter.to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys and the time of AWS's published test suite. The first two rows are its `get-vanilla` and `post-vanilla`, the
    /// others were signed by botocore 1.43.11.
    #[test]
    fn signatures_are_those_of_the_test_suite_and_of_the_vendors_own_client() {
        let model = "https://bedrock-runtime.eu-central-1.amazonaws.com/model";
        let claude = format!("{model}/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream");
        let arn = format!(
            "{model}/arn%3Aaws%3Abedrock%3Aeu-central-1%3A123456789012%3Ainference-profile%2Feu.amazon.nova/converse-stream"
        );
        let (suite, bedrock) = (("us-east-1", "service"), ("eu-central-1", "bedrock"));
        let example = "https://example.amazonaws.com/";
        let table = [
            (
                "GET",
                example,
                "",
                suite,
                None,
                "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            ),
            (
                "POST",
                example,
                "",
                suite,
                None,
                "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            ),
            (
                "POST",
                &claude,
                r#"{"messages":[]}"#,
                bedrock,
                None,
                "fe49feb766ba107cf6ff295c4e169be02c788d284d8073ff6b60a83382b4210a",
            ),
            (
                "POST",
                &arn,
                r#"{"messages":[]}"#,
                bedrock,
                Some("session-token"),
                "b373cf82fa6f2d9d3f97c2bf6e8506ccbaecd0255861402e5cd448e2bd722a2d",
            ),
            (
                "GET",
                "http://127.0.0.1:4000/foundation-models",
                "",
                bedrock,
                None,
                "4553576c1d1f0cc18fae069e8884c68cc5baf42850abb6bf5d36862bb1352d49",
            ),
        ];
        let now: Timestamp = "2015-08-30T12:36:00Z".parse().unwrap();
        for (method, url, body, (region, service), session, expected) in table {
            let keys = Keys {
                id: "AKIDEXAMPLE".into(),
                secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
                session: session.map(str::to_owned),
            };
            let (url, body) = (&Url::parse(url).unwrap(), body.as_bytes());
            let made = headers(&Signed { method, url, body, region, service }, &keys, now);
            let (name, value) = made.last().unwrap();
            assert!(
                *name == "authorization" && value.ends_with(&format!("Signature={expected}")),
                "{url}: {value}"
            );
        }
    }
}
