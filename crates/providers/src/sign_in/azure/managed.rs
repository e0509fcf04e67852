//! [`ManagedIdentity`]: the identity that Azure gives to a machine, a container or a function, and the server of its
//! tokens.
//!
//! Sources: learn.microsoft.com "How to use managed identities for App Service and Azure Functions", "How to use managed
//! identities on an Azure VM to acquire an access token" and "Credential chains in the Azure Identity library", 2026-11.
use super::RESOURCE;
use crate::{
    http, json,
    sign_in::{
        Credential, Missing, Variables,
        exchange::{FetchError, exchange},
        is_token,
    },
};
use haft_core::address::is_loopback;
use haft_http::Reach;
use reqwest::Url;
use serde_json::Value;
use std::{
    fs,
    net::Ipv4Addr,
    time::{Duration, SystemTime},
};

/// The metadata server, which each machine reaches under this address.
const MACHINE: &str = "http://169.254.169.254";
/// The chassis tag in the firmware of an Azure machine.
const CHASSIS: &str = "7783-7084-3265-9085-8269-3286-77";

/// The server of tokens.
#[derive(Clone)]
pub(in crate::sign_in) struct ManagedIdentity {
    address: String,
    /// The header that App Service, Container Apps and Functions require; `None` on a machine.
    header: Option<String>,
    /// A user-assigned identity; `None` for that of the system.
    client: Option<String>,
}

impl ManagedIdentity {
    /// The identity of this machine or app; `None` if it has none, as far as can be known without a request.
    pub(super) fn of(variables: &Variables) -> Result<Option<Self>, Missing> {
        let client = variables.get("AZURE_CLIENT_ID").map(str::to_owned);
        let header = variables.get("IDENTITY_HEADER").map(str::to_owned);
        if let (Some(address), Some(_)) = (variables.get("IDENTITY_ENDPOINT"), &header) {
            let address = trusted(address)?;
            return Ok(Some(Self { address, header, client }));
        }
        let given = variables.get("AZURE_POD_IDENTITY_AUTHORITY_HOST");
        let is_wanted = variables.get("AZURE_TOKEN_CREDENTIALS") == Some("ManagedIdentityCredential");
        let is_there = || {
            let chassis = fs::read_to_string("/sys/class/dmi/id/chassis_asset_tag");
            chassis.is_ok_and(|chassis| chassis.trim() == CHASSIS)
        };
        if given.is_none() && !is_wanted && !is_there() {
            return Ok(None);
        }
        let host = given.unwrap_or(MACHINE).trim_end_matches('/');
        Ok(Some(Self { address: format!("{host}/metadata/identity/oauth2/token"), header: None, client }))
    }

    pub(super) async fn fetch(&self) -> Result<Credential, FetchError> {
        let version = if self.header.is_some() { "2019-08-01" } else { "2018-02-01" };
        let query = [("api-version", version), ("resource", RESOURCE)];
        let client = self.client.iter().map(|client| ("client_id", client.as_str()));
        let url = Url::parse_with_params(&self.address, query.into_iter().chain(client));
        let url = url.map_err(|error| {
            FetchError::refused(format!("`{}` is no address of a server: {error}", self.address))
        })?;
        let reach = if url.scheme() == "https" { Reach::Secure } else { Reach::Loopback };
        let asked = http::client(reach).map_err(|error| FetchError::refused(error.to_string()))?.get(url);
        let asked = match &self.header {
            Some(header) => asked.header("x-identity-header", header),
            None => asked.header("metadata", "true"),
        };
        let answer = exchange(&self.address, asked).await?.json()?;
        credential(&answer).ok_or_else(|| FetchError::refused(format!("`{}` sent no token", self.address)))
    }

    pub(super) fn secret(&self) -> Option<&str> {
        self.header.as_deref()
    }

    /// A name for the identity in messages: its client, and whether it belongs to an app or to a machine.
    pub(super) fn named(&self) -> String {
        let place = if self.header.is_some() { "app" } else { "machine" };
        match &self.client {
            Some(client) => format!("the managed identity `{client}` of this {place} (AZURE_CLIENT_ID)"),
            None => format!("the managed identity of this {place}"),
        }
    }
}

/// Checks the address, since its server gets the header: it must be encrypted, on this machine, or link-local.
fn trusted(address: &str) -> Result<String, Missing> {
    let is_trusted = Url::parse(address).is_ok_and(|url| {
        let host = url.host_str().unwrap_or_default();
        let is_on_link = host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_link_local());
        url.scheme() == "https" || is_loopback(host) || is_on_link
    });
    match is_trusted {
        true => Ok(address.to_owned()),
        false => Err(Missing::new(
            format!(
                "cannot sign in to Azure OpenAI with IDENTITY_ENDPOINT: `{address}` is neither encrypted nor on this machine"
            ),
            "unset it, or set it as App Service documents it",
        )),
    }
}

/// Reads `{"access_token", "expires_on"}`, the time in seconds since 1970, as a number or as a string.
fn credential(answer: &Value) -> Option<Credential> {
    let token = answer["access_token"].as_str().filter(|token| is_token(token))?;
    let ends = json::count(&answer["expires_on"]).unwrap_or(0);
    Some(Credential::token(token, SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(ends))))
}
