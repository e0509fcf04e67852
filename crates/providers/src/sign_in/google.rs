//! [`source`] and [`address`]: Google Vertex AI: the address of a project's models, and tokens by Application Default
//! Credentials.
//!
//! Sources: cloud.google.com "How Application Default Credentials works", "Using OAuth 2.0 for Server to Server
//! Applications", "About VM metadata", "Vertex AI: Inference" and the variables of the Gen AI SDK, 2026-11.
mod external;

use super::{
    Credential, Missing, Variables,
    exchange::{FetchError, exchange, post_form},
};
use crate::{Wire, http, json};
use base64::{Engine, prelude::BASE64_STANDARD, prelude::BASE64_URL_SAFE_NO_PAD};
use external::ExternalAccount;
use haft_core::secret;
use haft_http::Reach;
use ring::{
    rand::SystemRandom,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use serde_json::{Value, json};
use std::{
    fmt, fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const TOKENS: &str = "https://oauth2.googleapis.com/token";
/// The metadata server of a machine on Google Cloud, which gives out tokens.
const METADATA_HOST: &str = "metadata.google.internal";
/// Maximum lifetime of an assertion that Google accepts, in seconds.
const ASSERTION_SECONDS: u64 = 3_600;

/// The base URL: `given`, such as that of a proxy, otherwise Google's own for the location.
pub(super) fn address(given: Option<&str>, variables: &Variables, wire: Wire) -> Result<String, Missing> {
    let own = || credentials(variables).ok().flatten().and_then(|file| project_of(&file.content));
    let Some(project) = variables.get("GOOGLE_CLOUD_PROJECT").map(str::to_owned).or_else(own) else {
        return Err(Missing::new(
            "the project for Vertex AI is not known",
            "set GOOGLE_CLOUD_PROJECT to its ID, or `project` in `[vendors.vertex]`",
        ));
    };
    let location = variables.get("GOOGLE_CLOUD_LOCATION").unwrap_or("global");
    let usual = match location {
        "global" => "https://aiplatform.googleapis.com".to_owned(),
        location => format!("https://{location}-aiplatform.googleapis.com"),
    };
    let root = given.map_or(usual, |given| given.trim().trim_end_matches('/').to_owned());
    let root = root.strip_suffix("/v1").unwrap_or(&root);
    let publisher = if wire == Wire::Anthropic { "anthropic" } else { "google" };
    Ok(format!("{root}/v1/projects/{project}/locations/{location}/publishers/{publisher}"))
}

/// A file of credentials.
struct File {
    path: PathBuf,
    content: Value,
}

fn project_of(content: &Value) -> Option<String> {
    let names = ["project_id", "quota_project_id"].map(|name| json::text(&content[name]));
    names.into_iter().find(|name| !name.is_empty()).map(str::to_owned)
}

/// The file that a variable names, which must exist, otherwise the one that `gcloud` wrote.
fn credentials(variables: &Variables) -> Result<Option<File>, Missing> {
    const NAMED: &str = "GOOGLE_APPLICATION_CREDENTIALS";
    let folder = variables.file("CLOUDSDK_CONFIG", ".config/gcloud");
    let path = match variables.get(NAMED) {
        Some(_) => variables.file(NAMED, ""),
        None => folder.join("application_default_credentials.json"),
    };
    let unusable = |why: String| {
        let hint = format!("{}, or set {NAMED} to the file of a service account", renewal());
        Missing::new(format!("cannot sign in to Vertex AI with `{}`: {why}", path.display()), hint)
    };
    match fs::read_to_string(&path) {
        Ok(text) => {
            let content = json::parse(&text).ok_or_else(|| unusable("it is not JSON".into()))?;
            Ok(Some(File { path, content }))
        }
        Err(_) if variables.get(NAMED).is_none() => Ok(None),
        Err(error) => Err(unusable(error.to_string())),
    }
}

fn renewal() -> String {
    "run `gcloud auth application-default login`".into()
}

/// The identity that requests tokens.
#[derive(Clone)]
pub(super) enum Source {
    /// The key of a service account.
    Service { path: PathBuf, email: String, key: String, key_id: String, tokens: String },
    /// A user, who has logged in with `gcloud`.
    User {
        path: PathBuf,
        client: String,
        client_secret: String,
        refresh: String,
        tokens: String,
        billed_to: Option<String>,
    },
    /// An account of another identity provider.
    External(Box<ExternalAccount>),
    /// The service account of this machine.
    Machine { host: String },
}

/// The first source that applies: a file that a variable names, that of `gcloud`, the machine on Google Cloud.
pub(super) fn source(variables: &Variables) -> Result<Source, Missing> {
    if let Some(file) = credentials(variables)? {
        return of_file(file, variables);
    }
    let is_there = variables.get("GCE_METADATA_HOST").is_some()
        || variables.get("K_SERVICE").is_some()
        || fs::read_to_string("/sys/class/dmi/id/product_name").is_ok_and(|name| name.contains("Google"));
    match is_there {
        true => Ok(Source::Machine {
            host: variables.get("GCE_METADATA_HOST").unwrap_or(METADATA_HOST).to_owned(),
        }),
        false => Err(Missing::new(
            "there is no sign-in to Vertex AI: GOOGLE_APPLICATION_CREDENTIALS is not set, `gcloud` has written no \
             credentials, and this machine is not on Google Cloud",
            format!("{}, or set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account", renewal()),
        )),
    }
}

fn of_file(File { path, content }: File, variables: &Variables) -> Result<Source, Missing> {
    let text = |name: &str| json::text(&content[name]).to_owned();
    let tokens = match text("token_uri") {
        given if given.is_empty() => TOKENS.to_owned(),
        given => given,
    };
    let (source, needed): (Source, &[&str]) = match json::text(&content["type"]) {
        "service_account" => {
            let (email, key, key_id) = (text("client_email"), text("private_key"), text("private_key_id"));
            let path = path.clone();
            (Source::Service { path, email, key, key_id, tokens }, &["client_email", "private_key"])
        }
        "authorized_user" => {
            let (client, client_secret) = (text("client_id"), text("client_secret"));
            let billed_to = Some(text("quota_project_id")).filter(|project| !project.is_empty());
            let (path, refresh) = (path.clone(), text("refresh_token"));
            let needed = &["client_id", "client_secret", "refresh_token"];
            (Source::User { path, client, client_secret, refresh, tokens, billed_to }, needed)
        }
        "external_account" => {
            let read = ExternalAccount::read(&path, &content, variables);
            return read.map(|account| Source::External(account.into())).map_err(|why| {
                Missing::new(
                    format!("cannot sign in to Vertex AI with `{}`: {why}", path.display()),
                    format!("create the file again with `gcloud iam workload-identity-pools create-cred-config`, or {}", renewal()),
                )
            });
        }
        other => {
            return Err(Missing::new(
                format!("cannot sign in to Vertex AI with `{}`: its type is `{other}`", path.display()),
                format!("use the file of a service account, or {}", renewal()),
            ));
        }
    };
    match needed.iter().find(|name| json::text(&content[**name]).is_empty()) {
        None => Ok(source),
        Some(name) => Err(Missing::new(
            format!("cannot sign in to Vertex AI with `{}`: it has no `{name}`", path.display()),
            format!("download the file again, or {}", renewal()),
        )),
    }
}

impl Source {
    pub(super) async fn fetch(&self) -> Result<Credential, FetchError> {
        let (answer, billed_to) = match self {
            Self::Service { email, key, key_id, tokens, .. } => {
                let assertion = assertion(email, key, key_id, tokens, SystemTime::now())?;
                secret::register(&assertion);
                let grant = ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
                (post_form(tokens, &[grant, ("assertion", &assertion)]).await?.json()?, None)
            }
            Self::User { client, client_secret, refresh, tokens, billed_to, .. } => {
                let form = [
                    ("grant_type", "refresh_token"),
                    ("client_id", client),
                    ("client_secret", client_secret),
                    ("refresh_token", refresh),
                ];
                (post_form(tokens, &form).await?.json()?, billed_to.clone())
            }
            Self::External(account) => return account.fetch().await,
            Self::Machine { host } => (of_machine(host).await?, None),
        };
        let credential = Credential::of_oauth(&answer);
        let credential = credential.ok_or_else(|| FetchError::refused("the server of tokens sent none"))?;
        Ok(credential.billed_to(billed_to))
    }

    pub(super) fn secrets(&self) -> Vec<&str> {
        match self {
            Self::Service { key, .. } => vec![key],
            Self::User { client_secret, refresh, .. } => vec![client_secret, refresh],
            Self::External(_) | Self::Machine { .. } => Vec::new(),
        }
    }

    pub(super) fn renewal(&self) -> String {
        match self {
            Self::Service { path, .. } => format!(
                "check that the key in `{}` is not deleted and its account has the role `Vertex AI User`",
                path.display()
            ),
            Self::User { .. } => renewal(),
            Self::External(account) => format!(
                "check that the pool in `{}` accepts the token, and that the account has the role `Vertex AI User`",
                account.path.display()
            ),
            Self::Machine { .. } => {
                "give the machine a service account with the scope `cloud-platform` and the role `Vertex AI User`".into()
            }
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &Path| path.display().to_string();
        match self {
            Self::Service { path, email, .. } => {
                write!(f, "the service account `{email}` (`{}`)", shown(path))
            }
            Self::User { path, .. } => write!(f, "the login of `gcloud` (`{}`)", shown(path)),
            Self::External(account) => f.write_str(&account.named()),
            Self::Machine { host } => write!(f, "the service account of this machine (`{host}`)"),
        }
    }
}

/// No proxy is used, since it could not reach that server.
async fn of_machine(host: &str) -> Result<Value, FetchError> {
    let address = format!("http://{host}/computeMetadata/v1/instance/service-accounts/default/token");
    let client = http::client(Reach::Loopback).map_err(|error| FetchError::refused(error.to_string()))?;
    exchange(&address, client.get(&address).header("metadata-flavor", "Google")).await?.json()
}

/// A JSON web token (RFC 7523) with which the service account `email` requests an access token of Google, valid for an
/// hour from `now`.
fn assertion(
    email: &str,
    key: &str,
    key_id: &str,
    audience: &str,
    now: SystemTime,
) -> Result<String, FetchError> {
    let issued = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let header = json!({"alg": "RS256", "typ": "JWT", "kid": key_id});
    let claims = json!({
        "iss": email, "scope": SCOPE, "aud": audience, "iat": issued, "exp": issued + ASSERTION_SECONDS,
    });
    let encoded = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", encoded(&header), encoded(&claims));
    let unusable = || FetchError::refused("its private key is not an RSA key in PKCS #8");
    let pair = RsaKeyPair::from_pkcs8(&der(key).ok_or_else(unusable)?).map_err(|_| unusable())?;
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
        .map_err(|_| FetchError::refused("its private key cannot sign"))?;
    Ok(format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
}

/// Decodes the content between the lines `-----BEGIN PRIVATE KEY-----` and `-----END PRIVATE KEY-----`.
fn der(pem: &str) -> Option<Vec<u8>> {
    let body: String = pem.lines().map(str::trim).filter(|line| !line.starts_with("-----")).collect();
    BASE64_STANDARD.decode(body).ok()
}
