//! [`source`] and [`address`]: Amazon Bedrock: the region, and keys as AWS's own tools find them.
//!
//! Sources: docs.aws.amazon.com "Configuration and credential file settings", "Standardized credential providers",
//! "Process credential provider", "Container credential provider", "IMDS credential provider" and `aws configure
//! export-credentials`, 2026-11. Other methods of AWS (single sign-on, a role that assumes another one) are left to
//! `aws`, which stores those logins for the SDKs, too.
mod profile;
mod signature;
mod web_identity;

pub(crate) use signature::encoded;

use super::{
    Credential, Missing, Outgoing, Proof, Variables, command,
    exchange::{FetchError, exchange},
};
use crate::{http, json};
use haft_core::{address::is_loopback, secret};
use haft_http::Reach;
use jiff::Timestamp;
use profile::{Means, Profile};
use reqwest::Url;
use serde_json::Value;
pub(super) use signature::Keys;
use signature::Signed;
use std::{fmt, fs, path::PathBuf, time::SystemTime};
use web_identity::WebIdentity;

/// The service name in signatures.
const SERVICE: &str = "bedrock";
const MACHINE: &str = "http://169.254.169.254";
const CONTAINER: &str = "http://169.254.170.2";
/// Hosts of container credentials that may be asked without encryption: of ECS, and of EKS.
const CONTAINER_HOSTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"];
const RELATIVE: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
const FULL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
/// Lifetime of a session with the machine's metadata server, in seconds.
const SESSION_SECONDS: &str = "21600";

const PROFILE_HINT: &str = "`aws configure list-profiles` lists the profiles; set AWS_PROFILE to one of them";

/// The base URL: `given`, such as that of a VPC endpoint; otherwise that of the region.
pub(super) fn address(given: Option<&str>, variables: &Variables) -> Result<String, Missing> {
    let region = region(variables)?;
    let own = || format!("https://bedrock-runtime.{region}.amazonaws.com");
    Ok(given.map_or_else(own, |given| given.trim().trim_end_matches('/').to_owned()))
}

fn region(variables: &Variables) -> Result<String, Missing> {
    let set = variables.get("AWS_REGION").or_else(|| variables.get("AWS_DEFAULT_REGION")).map(str::to_owned);
    if let Some(region) = set {
        return Ok(region);
    }
    let profile = Profile::read(variables);
    profile.get("region").map(str::to_owned).ok_or_else(|| {
        let unknown = "the region for Amazon Bedrock is not known";
        match profile.unknown() {
            Some(why) => Missing::new(format!("{unknown}: {why}"), PROFILE_HINT),
            None => Missing::new(
                unknown,
                "set AWS_REGION, `region` in your AWS profile, or `region` in `[vendors.bedrock]`",
            ),
        }
    })
}

/// The source of keys.
#[derive(Clone)]
pub(super) enum Source {
    /// Variables of the environment.
    Environment(Keys),
    /// A profile with keys.
    Profile { name: String, keys: Keys },
    /// A profile with a command that prints keys, or a profile that only `aws` can sign in to.
    Command { name: String, line: Vec<String>, variables: Variables },
    /// A role that is assumed with a token in a file. `name`: the profile that configures it; `None` if variables do.
    WebIdentity { name: Option<String>, identity: WebIdentity },
    /// The role of a container.
    Container { address: String, token: Option<String>, token_file: Option<PathBuf> },
    /// The role of a machine.
    Machine { address: String },
}

/// The first source that applies, in the order of AWS's tools.
pub(super) fn source(variables: &Variables) -> Result<Source, Missing> {
    let get = |name: &str| variables.get(name).map(|value| value.trim().to_owned());
    if let (Some(id), Some(secret)) = (get("AWS_ACCESS_KEY_ID"), get("AWS_SECRET_ACCESS_KEY")) {
        return Ok(Source::Environment(Keys { id, secret, session: get("AWS_SESSION_TOKEN") }));
    }
    let profile = Profile::read(variables);
    if let (Some(role), Some(file), false) =
        (get("AWS_ROLE_ARN"), get("AWS_WEB_IDENTITY_TOKEN_FILE"), profile.is_named)
    {
        let session = get("AWS_ROLE_SESSION_NAME");
        let identity = WebIdentity { role, file: file.into(), session, address: token_service(variables)? };
        return Ok(Source::WebIdentity { name: None, identity });
    }
    if let Some(source) = of_profile(&profile, variables)? {
        return Ok(source);
    }
    if profile.is_named {
        return Err(Missing::new(
            format!(
                "cannot sign in to Amazon Bedrock with the profile `{}`: {}",
                profile.name,
                profile.absent()
            ),
            PROFILE_HINT,
        ));
    }
    if let Some(source) = of_container(variables)? {
        return Ok(source);
    }
    of_machine(variables).ok_or_else(|| {
        Missing::new(
            format!(
                "there is no sign-in to Amazon Bedrock: AWS_BEARER_TOKEN_BEDROCK and AWS_ACCESS_KEY_ID are not set, {}, \
                 and this is no container or machine with a role",
                profile.absent()
            ),
            "run `aws configure` or `aws sso login`, or set AWS_BEARER_TOKEN_BEDROCK, or save such a key with `haft login bedrock`",
        )
    })
}

fn of_profile(profile: &Profile, variables: &Variables) -> Result<Option<Source>, Missing> {
    let name = profile.name.clone();
    let line = match profile.means() {
        None => return Ok(None),
        Some(Means::Keys(keys)) => return Ok(Some(Source::Profile { name, keys })),
        Some(Means::WebIdentity { role, file, session }) => {
            let identity = WebIdentity { role, file, session, address: token_service(variables)? };
            return Ok(Some(Source::WebIdentity { name: Some(name), identity }));
        }
        Some(Means::Command(line)) => line,
        Some(Means::Other) if variables.has_program("aws") => {
            let line = ["aws", "configure", "export-credentials", "--format", "process", "--profile", &name];
            line.map(str::to_owned).to_vec()
        }
        Some(Means::Other) => {
            return Err(Missing::new(
                format!(
                    "cannot sign in to Amazon Bedrock with the profile `{name}`: it needs `aws`, which is not on the PATH"
                ),
                "install the AWS CLI (version 2)",
            ));
        }
    };
    Ok(Some(Source::Command { name, line, variables: variables.clone() }))
}

/// The address of the Security Token Service: that of the region, unless a variable sets another one.
fn token_service(variables: &Variables) -> Result<String, Missing> {
    let given = variables.get("AWS_ENDPOINT_URL_STS").map(|given| given.trim_end_matches('/').to_owned());
    given.map_or_else(|| Ok(format!("https://sts.{}.amazonaws.com", region(variables)?)), Ok)
}

/// The source for a container. Other hosts must use encryption, since the response has keys.
fn of_container(variables: &Variables) -> Result<Option<Source>, Missing> {
    let relative = variables.get(RELATIVE).map(|path| format!("{CONTAINER}{path}"));
    let Some(address) = relative.or_else(|| variables.get(FULL).map(str::to_owned)) else { return Ok(None) };
    let is_trusted = Url::parse(&address).is_ok_and(|url| {
        let host = url.host_str().unwrap_or_default();
        url.scheme() == "https" || CONTAINER_HOSTS.contains(&host) || is_loopback(host)
    });
    if !is_trusted {
        return Err(Missing::new(
            format!(
                "cannot sign in to Amazon Bedrock with {FULL}: `{address}` is neither encrypted nor on this machine"
            ),
            "unset it, or set it as the container's platform documents it",
        ));
    }
    let token = variables.get("AWS_CONTAINER_AUTHORIZATION_TOKEN").map(str::to_owned);
    let token_file = variables.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE").map(PathBuf::from);
    Ok(Some(Source::Container { address, token, token_file }))
}

fn of_machine(variables: &Variables) -> Option<Source> {
    let is_off =
        variables.get("AWS_EC2_METADATA_DISABLED").is_some_and(|off| off.eq_ignore_ascii_case("true"));
    let given = variables.get("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    let is_there = || {
        fs::read_to_string("/sys/class/dmi/id/sys_vendor").is_ok_and(|vendor| vendor.contains("Amazon EC2"))
    };
    let address = given.unwrap_or(MACHINE).trim_end_matches('/').to_owned();
    (!is_off && (given.is_some() || is_there())).then_some(Source::Machine { address })
}

impl Source {
    pub(super) async fn fetch(&self) -> Result<Credential, FetchError> {
        match self {
            Self::Environment(keys) | Self::Profile { keys, .. } => {
                Ok(Credential { proof: Proof::Keys(keys.clone()), ends: None })
            }
            Self::Command { line, variables, .. } => {
                let printed = command::ask(line, variables).await?;
                keys_in(&printed).ok_or_else(|| FetchError::refused(format!("`{}` printed no keys", line[0])))
            }
            Self::WebIdentity { identity, .. } => identity.fetch().await,
            Self::Container { address, token, token_file } => of_role(address, token, token_file).await,
            Self::Machine { address } => of_instance(address).await,
        }
    }

    pub(super) fn secrets(&self) -> Vec<&str> {
        match self {
            Self::Environment(keys) | Self::Profile { keys, .. } => keys.secrets(),
            Self::Container { token, .. } => token.iter().map(String::as_str).collect(),
            Self::Command { .. } | Self::WebIdentity { .. } | Self::Machine { .. } => Vec::new(),
        }
    }

    pub(super) fn renewal(&self) -> String {
        match self {
            Self::Environment(_) => {
                "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN anew".into()
            }
            Self::Profile { name, .. } => format!("run `aws configure --profile {name}`"),
            Self::Command { name, line, .. } if line[0] == "aws" => {
                format!("run `aws sso login --profile {name}`")
            }
            Self::Command { line, .. } => format!("see that `{}` works from a shell", line[0]),
            Self::WebIdentity { identity: WebIdentity { role, file, .. }, .. } => format!(
                "check that the trust policy of `{role}` accepts the token in `{}`, and that the role has the permission \
                 `bedrock:InvokeModelWithResponseStream`",
                file.display()
            ),
            Self::Container { .. } | Self::Machine { .. } => {
                "give the role the permission `bedrock:InvokeModelWithResponseStream`".into()
            }
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment(_) => f.write_str("AWS_ACCESS_KEY_ID"),
            Self::Profile { name, .. } => write!(f, "the AWS profile `{name}`"),
            Self::Command { name, line, .. } => write!(f, "the AWS profile `{name}` (by `{}`)", line[0]),
            Self::WebIdentity { name: Some(name), .. } => write!(f, "the AWS profile `{name}`"),
            Self::WebIdentity { name: None, identity } => {
                write!(f, "the role `{}` (AWS_ROLE_ARN)", identity.role)
            }
            Self::Container { .. } => f.write_str("the role of this container"),
            Self::Machine { .. } => f.write_str("the role of this machine"),
        }
    }
}

impl Keys {
    pub(super) fn secrets(&self) -> Vec<&str> {
        [Some(&self.secret), self.session.as_ref()].into_iter().flatten().map(String::as_str).collect()
    }

    /// The headers that sign `request`.
    pub(super) fn sign(&self, request: &Outgoing<'_>, variables: &Variables) -> Vec<(&'static str, String)> {
        let Ok(url) = &Url::parse(request.url) else { return Vec::new() };
        let region = region(variables).unwrap_or_default();
        let (method, body) = (request.method, request.body);
        let signed = Signed { method, url, body, region: &region, service: SERVICE };
        signature::headers(&signed, self, Timestamp::now())
    }
}

/// Reads `{"AccessKeyId", "SecretAccessKey", "SessionToken" or "Token", "Expiration"}`, the time by RFC 3339.
fn keys_in(answer: &Value) -> Option<Credential> {
    let text =
        |name: &str| Some(json::text(&answer[name])).filter(|text| super::is_token(text)).map(str::to_owned);
    let session = text("SessionToken").or_else(|| text("Token"));
    let keys = Keys { id: text("AccessKeyId")?, secret: text("SecretAccessKey")?, session };
    let ends = json::text(&answer["Expiration"]).parse::<Timestamp>().ok().map(SystemTime::from);
    Some(Credential { proof: Proof::Keys(keys), ends })
}

async fn of_role(
    address: &str,
    token: &Option<String>,
    file: &Option<PathBuf>,
) -> Result<Credential, FetchError> {
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path);
        text.map_err(|error| FetchError::refused(format!("cannot read `{}`: {error}", path.display())))
    };
    let token = file.as_ref().map(read).transpose()?.or_else(|| token.clone());
    token.iter().for_each(|token| secret::register(token));
    let reach = if address.starts_with("https:") { Reach::Secure } else { Reach::Loopback };
    let request = client(reach)?.get(address);
    let request = token.iter().fold(request, |request, token| request.header("authorization", token.trim()));
    let answer = exchange(address, request).await?.json()?;
    keys_in(&answer).ok_or_else(|| FetchError::refused(format!("`{address}` sent no keys")))
}

/// The keys of version 2 of the metadata server: requests a session first, then the name of the role, then its keys.
async fn of_instance(address: &str) -> Result<Credential, FetchError> {
    let session = format!("{address}/latest/api/token");
    let asked = client(Reach::Loopback)?.put(&session);
    let asked = asked.header("x-aws-ec2-metadata-token-ttl-seconds", SESSION_SECONDS);
    let session = exchange(&session, asked).await?.accepted()?.text;
    secret::register(&session);
    let ask = async |place: &str| {
        let asked = client(Reach::Loopback)?.get(place);
        exchange(place, asked.header("x-aws-ec2-metadata-token", session.trim())).await
    };
    let roles = format!("{address}/latest/meta-data/iam/security-credentials/");
    let role = ask(&roles).await?.accepted()?.text;
    let role = format!("{roles}{}", role.lines().next().unwrap_or_default().trim());
    let answer = ask(&role).await?.json()?;
    keys_in(&answer).ok_or_else(|| FetchError::refused(format!("`{role}` sent no keys")))
}

/// A client without a proxy, which could not reach a server of this machine.
fn client(reach: Reach) -> Result<reqwest::Client, FetchError> {
    http::client(reach).map_err(|error| FetchError::refused(error.to_string()))
}
