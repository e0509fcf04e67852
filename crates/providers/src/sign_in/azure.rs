//! [`source`] and [`address`]: Azure OpenAI: the address of a resource, and tokens of Microsoft Entra ID.
//!
//! Sources: learn.microsoft.com "Azure OpenAI in Azure AI Foundry Models v1 API", "How to configure Azure OpenAI with
//! Microsoft Entra ID authentication", "OAuth 2.0 client credentials flow", "EnvironmentCredential" and `az account
//! get-access-token`, 2026-11.
mod managed;

use super::{
    Credential, Missing, Variables, command,
    exchange::{FetchError, post_form, read_token},
    is_token,
};
use crate::json;
use managed::ManagedIdentity;
use serde_json::Value;
use std::{
    fmt,
    path::PathBuf,
    time::{Duration, SystemTime},
};

/// The path of OpenAI's wires below the address of a resource.
pub(super) const PATH: &str = "/openai/v1";
/// The resource for which a token is requested.
const RESOURCE: &str = "https://cognitiveservices.azure.com";
/// The token server of the public cloud.
const AUTHORITY: &str = "https://login.microsoftonline.com";

/// The base URL for `given`, the address of the user's resource, as in `AZURE_OPENAI_ENDPOINT`.
pub(super) fn address(given: Option<&str>) -> Result<String, Missing> {
    let Some(given) = given else {
        return Err(Missing::new(
            "the address of your Azure OpenAI resource is not known",
            "set AZURE_OPENAI_ENDPOINT to it (`https://NAME.openai.azure.com`), or `base_url` in `[vendors.azure]`",
        ));
    };
    let given = given.trim().trim_end_matches('/');
    let root = given.strip_suffix(PATH).or_else(|| given.strip_suffix("/openai")).unwrap_or(given);
    Ok(format!("{root}{PATH}"))
}

/// The identity that requests tokens.
#[derive(Clone)]
pub(super) enum Source {
    /// An application, with its own secret or a token of another identity provider.
    Application { address: String, client: String, proof: Proof },
    /// The identity that Azure gives to this machine, container or function.
    Managed(ManagedIdentity),
    /// The login of Azure's own command-line tool.
    Az { tenant: Option<String>, variables: Variables },
}

#[derive(Clone)]
pub(super) enum Proof {
    Secret(String),
    /// A file with a token, which is rewritten before the token expires (workload identity).
    FederatedToken(PathBuf),
}

/// The first source that applies, in the order of Azure's own libraries: an application, a managed identity, the login of
/// `az`.
pub(super) fn source(variables: &Variables) -> Result<Source, Missing> {
    let tenant = variables.get("AZURE_TENANT_ID");
    let client = variables.get("AZURE_CLIENT_ID");
    let secret = variables.get("AZURE_CLIENT_SECRET").map(|secret| Proof::Secret(secret.trim().to_owned()));
    let token = variables.get("AZURE_FEDERATED_TOKEN_FILE").map(|path| Proof::FederatedToken(path.into()));
    match (tenant, client, secret.or(token)) {
        (Some(tenant), Some(client), Some(proof)) => {
            let authority = variables.get("AZURE_AUTHORITY_HOST").unwrap_or(AUTHORITY).trim_end_matches('/');
            let address = format!("{authority}/{tenant}/oauth2/v2.0/token");
            Ok(Source::Application { address, client: client.to_owned(), proof })
        }
        (_, _, Some(_)) => {
            let lacking = [("AZURE_TENANT_ID", tenant), ("AZURE_CLIENT_ID", client)];
            let lacking = lacking.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| *name);
            let lacking = lacking.collect::<Vec<_>>().join(" and ");
            Err(Missing::new(
                format!("the sign-in of an application to Azure is not complete: {lacking} is not set"),
                "set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET",
            ))
        }
        _ => without_application(variables),
    }
}

fn without_application(variables: &Variables) -> Result<Source, Missing> {
    let is_az = || variables.get("AZURE_TOKEN_CREDENTIALS") == Some("AzureCliCredential");
    let managed = if is_az() { None } else { ManagedIdentity::of(variables)? };
    match managed {
        Some(identity) => Ok(Source::Managed(identity)),
        None if variables.has_program("az") => {
            let tenant = variables.get("AZURE_TENANT_ID").map(str::to_owned);
            Ok(Source::Az { tenant, variables: variables.clone() })
        }
        None => Err(Missing::new(
            "there is no sign-in to Azure OpenAI: AZURE_OPENAI_API_KEY and AZURE_CLIENT_SECRET are not set, this is no machine with a \
             managed identity, and `az` is not on the PATH",
            "set AZURE_OPENAI_API_KEY, or save a key with `haft login azure`; or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET; or install `az` and run `az login`",
        )),
    }
}

impl Source {
    pub(super) async fn fetch(&self) -> Result<Credential, FetchError> {
        match self {
            Self::Application { address, client, proof } => {
                let scope = format!("{RESOURCE}/.default");
                let proof = proof.form()?;
                let mut form =
                    vec![("grant_type", "client_credentials"), ("client_id", client), ("scope", &scope)];
                form.extend(proof.iter().map(|(name, value)| (*name, value.as_str())));
                let answer = post_form(address, &form).await?.json()?;
                Credential::of_oauth(&answer)
                    .ok_or_else(|| FetchError::refused(format!("`{address}` sent no token")))
            }
            Self::Managed(identity) => identity.fetch().await,
            Self::Az { tenant, variables } => {
                let line = ["az", "account", "get-access-token", "--resource", RESOURCE, "--output", "json"];
                let tenant = tenant.iter().flat_map(|tenant| ["--tenant", tenant]);
                let line: Vec<String> = line.into_iter().chain(tenant).map(str::to_owned).collect();
                let printed = command::ask(&line, variables).await?;
                let token = of_az(&printed);
                token.ok_or_else(|| FetchError::refused("`az account get-access-token` printed no token"))
            }
        }
    }

    pub(super) fn secrets(&self) -> Vec<&str> {
        match self {
            Self::Application { proof: Proof::Secret(secret), .. } => vec![secret],
            Self::Managed(identity) => identity.secret().into_iter().collect(),
            Self::Application { .. } | Self::Az { .. } => Vec::new(),
        }
    }

    pub(super) fn renewal(&self) -> String {
        match self {
            Self::Application { proof: Proof::Secret(_), .. } => {
                "check AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET; the application needs the role \
                 `Cognitive Services OpenAI User`"
                    .into()
            }
            Self::Application { proof: Proof::FederatedToken(_), .. } => {
                "check AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_FEDERATED_TOKEN_FILE; the application needs the \
                 role `Cognitive Services OpenAI User`"
                    .into()
            }
            Self::Managed(_) => {
                "give the machine or the app an identity with the role `Cognitive Services OpenAI User`, and AZURE_CLIENT_ID \
                 for one of several; AZURE_TOKEN_CREDENTIALS=AzureCliCredential takes the login of `az` instead"
                    .into()
            }
            Self::Az { .. } => "run `az login`".into(),
        }
    }
}

impl Proof {
    fn form(&self) -> Result<Vec<(&'static str, String)>, FetchError> {
        match self {
            Self::Secret(secret) => Ok(vec![("client_secret", secret.clone())]),
            Self::FederatedToken(path) => {
                let token = read_token(path)?;
                let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer".to_owned();
                Ok(vec![("client_assertion_type", kind), ("client_assertion", token)])
            }
        }
    }
}

/// Reads `{"accessToken", "expires_on"}`, the time in seconds since 1970. Versions before 2.54 have no `expires_on`:
/// such a token is used once.
fn of_az(printed: &Value) -> Option<Credential> {
    let token = printed["accessToken"].as_str().filter(|token| is_token(token))?;
    let ends = json::count(&printed["expires_on"]).unwrap_or(0);
    Some(Credential::token(token, SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(ends))))
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Application { client, .. } => write!(f, "the application `{client}` (AZURE_CLIENT_ID)"),
            Self::Managed(identity) => f.write_str(&identity.named()),
            Self::Az { .. } => f.write_str("the login of `az`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_has_one_address_however_it_is_written() {
        let expected = "https://me.openai.azure.com/openai/v1";
        for given in ["", "/", "/openai", "/openai/v1", "/openai/v1/"] {
            let given = format!("https://me.openai.azure.com{given}");
            assert_eq!(address(Some(&given)).as_deref(), Ok(expected), "{given}");
        }
        assert!(address(None).unwrap_err().hint.contains("AZURE_OPENAI_ENDPOINT"));
    }
}
