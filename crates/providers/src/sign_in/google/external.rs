//! [`ExternalAccount`]: Workload Identity Federation: a token of another identity provider is exchanged for one of Google.
//!
//! Sources: google.aip.dev/auth/4117 "External Account Credentials", cloud.google.com "Configure Workload Identity
//! Federation with other identity providers" and "Method: token" of the Security Token Service API, 2026-11.
use super::SCOPE;
use crate::{
    http, json,
    sign_in::{
        Credential, Variables, command,
        exchange::{FetchError, exchange, post_form, read_token},
        is_token,
    },
};
use haft_core::secret;
use haft_http::Reach;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

/// The variable without which no program of a credentials file is started.
const ALLOWS_PROGRAMS: &str = "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES";

/// The content of a file of the type `external_account`.
#[derive(Clone)]
pub(in crate::sign_in) struct ExternalAccount {
    pub path: PathBuf,
    audience: String,
    token_type: String,
    tokens: String,
    source: TokenSource,
    /// The field of the response that holds the token; `None` if the response is the token.
    field: Option<String>,
    /// The address that gives tokens of a service account; requests are then made in its name.
    impersonation: Option<String>,
    lifetime: u64,
    /// The project that is billed for the exchange, for logins of users (Workforce Identity Federation).
    user_project: Option<String>,
    billed_to: Option<String>,
}

/// The source of the other identity provider's token.
#[derive(Clone)]
enum TokenSource {
    File(PathBuf),
    Server { address: String, headers: Vec<(String, String)> },
    Program { line: Vec<String>, variables: Variables },
}

impl ExternalAccount {
    /// Reads the account from the `content` of the file at `path`. An error names what is missing in the file or not
    /// supported.
    pub(super) fn read(path: &Path, content: &Value, variables: &Variables) -> Result<Self, String> {
        let text =
            |name: &str| Some(json::text(&content[name])).filter(|text| !text.is_empty()).map(str::to_owned);
        let needed = |name: &str| text(name).ok_or_else(|| format!("it has no `{name}`"));
        let source = &content["credential_source"];
        let format =
            [&source["format"], &source["url"]["format"]].into_iter().find(|format| format.is_object());
        let format = format.unwrap_or(&Value::Null);
        let field =
            (json::text(&format["type"]) == "json").then(|| json::text(&format["subject_token_field_name"]));
        let lifetime = &content["service_account_impersonation"]["token_lifetime_seconds"];
        Ok(Self {
            path: path.to_owned(),
            audience: needed("audience")?,
            token_type: needed("subject_token_type")?,
            tokens: needed("token_url")?,
            source: TokenSource::read(source, &told(variables, content))?,
            field: field.map(str::to_owned),
            impersonation: text("service_account_impersonation_url"),
            lifetime: json::count(lifetime).unwrap_or(super::ASSERTION_SECONDS),
            user_project: text("workforce_pool_user_project"),
            billed_to: text("quota_project_id"),
        })
    }

    pub(super) async fn fetch(&self) -> Result<Credential, FetchError> {
        let subject = self.subject().await?;
        secret::register(&subject);
        let credential = self.exchanged(&subject).await?;
        Ok(credential.billed_to(self.billed_to.clone()))
    }

    async fn exchanged(&self, subject: &str) -> Result<Credential, FetchError> {
        let options = self.user_project.as_ref().map(|project| json!({"userProject": project}).to_string());
        let mut form = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("audience", &self.audience),
            ("scope", SCOPE),
            ("subject_token_type", &self.token_type),
            ("subject_token", subject),
        ];
        form.extend(options.iter().map(|options| ("options", options.as_str())));
        let answer = post_form(&self.tokens, &form).await?.json()?;
        let missing = || FetchError::refused(format!("`{}` sent no token", self.tokens));
        let credential = Credential::of_oauth(&answer).ok_or_else(missing)?;
        match &self.impersonation {
            None => Ok(credential),
            Some(address) => {
                credential.register();
                self.impersonated(address, json::text(&answer["access_token"])).await
            }
        }
    }

    /// Requests a token of the service account: `{"accessToken", "expireTime"}`, the time by RFC 3339.
    async fn impersonated(&self, address: &str, token: &str) -> Result<Credential, FetchError> {
        let wanted = json!({"delegates": [], "scope": [SCOPE], "lifetime": format!("{}s", self.lifetime)});
        let client =
            http::client(Reach::of(address)).map_err(|error| FetchError::refused(error.to_string()))?;
        let request = client.post(address).header("authorization", format!("Bearer {token}"));
        let request = request.header("content-type", "application/json").body(wanted.to_string());
        let answer = exchange(address, request).await?.json()?;
        let token = answer["accessToken"].as_str().filter(|token| is_token(token));
        let token = token.ok_or_else(|| FetchError::refused(format!("`{address}` sent no token")))?;
        let ends = json::text(&answer["expireTime"]).parse::<Timestamp>().map(SystemTime::from);
        Ok(Credential::token(token, Some(ends.unwrap_or(SystemTime::UNIX_EPOCH))))
    }

    /// The token of the other identity provider.
    async fn subject(&self) -> Result<String, FetchError> {
        let (place, text) = match &self.source {
            TokenSource::File(path) => (path.display().to_string(), read_token(path)?),
            TokenSource::Server { address, headers } => {
                let client = http::client(Reach::of(address))
                    .map_err(|error| FetchError::refused(error.to_string()))?;
                let request = headers.iter().fold(client.get(address), |request, (name, value)| {
                    request.header(name.as_str(), value.as_str())
                });
                (address.clone(), exchange(address, request).await?.accepted()?.text)
            }
            TokenSource::Program { line, variables } => {
                return of_program(&command::ask(line, variables).await?, &line[0]);
            }
        };
        let token = match &self.field {
            None => Some(text.trim().to_owned()),
            Some(field) => json::parse(&text).map(|answer| json::text(&answer[field.as_str()]).to_owned()),
        };
        token
            .filter(|token| is_token(token))
            .ok_or_else(|| FetchError::refused(format!("`{place}` holds no token")))
    }

    /// A name for the identity that signs requests.
    pub(super) fn named(&self) -> String {
        let path = self.path.display();
        let account =
            self.impersonation.as_ref().and_then(|address| address.rsplit('/').next()?.split(':').next());
        match account {
            Some(account) => format!("the service account `{account}` for an external account (`{path}`)"),
            None => format!("the external account in `{path}`"),
        }
    }
}

impl TokenSource {
    fn read(source: &Value, variables: &Variables) -> Result<Self, String> {
        let text = |name: &str| Some(json::text(&source[name])).filter(|text| !text.is_empty());
        if let Some(path) = text("file") {
            return Ok(Self::File(path.into()));
        }
        if let Some(kind) = text("environment_id") {
            return Err(format!("its `environment_id` is `{kind}`, which Haft cannot use"));
        }
        if let Some(address) = text("url") {
            let headers = source["headers"].as_object().map(headers).unwrap_or_default();
            return Ok(Self::Server { address: address.to_owned(), headers });
        }
        let line = json::text(&source["executable"]["command"]);
        match shlex::split(line).filter(|line| !line.is_empty()) {
            Some(line) if variables.get(ALLOWS_PROGRAMS) == Some("1") => {
                Ok(Self::Program { line, variables: variables.clone() })
            }
            Some(line) => Err(format!("it starts `{}`, which {ALLOWS_PROGRAMS}=1 would allow", line[0])),
            None => Err("its `credential_source` names no file, no address and no program".into()),
        }
    }
}

/// Adds the variables that tell the program which token is requested.
fn told(variables: &Variables, content: &Value) -> Variables {
    let told = [
        ("GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE", json::text(&content["audience"])),
        ("GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE", json::text(&content["subject_token_type"])),
        ("GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE", "0"),
    ];
    told.into_iter().fold(variables.clone(), |variables, (name, value)| variables.or(&[name], Some(value)))
}

fn headers(given: &Map<String, Value>) -> Vec<(String, String)> {
    given.iter().map(|(name, value)| (name.clone(), json::text(value).to_owned())).collect()
}

/// Reads `{"success": true, "id_token" or "saml_response"}`, or `{"success": false, "message"}`.
fn of_program(printed: &Value, program: &str) -> Result<String, FetchError> {
    if printed["success"] == false {
        return Err(FetchError::refused(format!("`{program}` says: {}", json::text(&printed["message"]))));
    }
    let tokens = [&printed["id_token"], &printed["saml_response"]].map(json::text);
    let token = tokens.into_iter().find(|token| is_token(token)).map(str::to_owned);
    token.ok_or_else(|| FetchError::refused(format!("`{program}` printed no token")))
}
