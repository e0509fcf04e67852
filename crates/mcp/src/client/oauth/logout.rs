//! [`logout`]: removes a login, and revokes its tokens at the authorization server (RFC 7009).
use super::{LoginError, Target, discovered::endpoint, logins::SavedLogin};
use crate::client::settings::McpServer;
use oauth2::TokenResponse;

/// The result of a logout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoggedOut {
    /// There was no login.
    NoLogin,
    /// The login is removed, and its tokens are revoked.
    Revoked,
    /// The login is removed; the authorization server cannot revoke tokens, so they stay valid until they expire.
    Kept,
    /// The login is removed; the authorization server did not revoke the tokens, for this reason.
    Failed(String),
}

/// Removes the login of `server`, and then revokes its tokens, if the authorization server supports that.
///
/// # Errors
///
/// If the file of logins cannot be read or written.
pub async fn logout(server: &McpServer) -> Result<LoggedOut, LoginError> {
    let target = Target::of(server)?;
    let failed = |why| target.logins.failed(why);
    let lock = target.logins.lock().await.map_err(failed)?;
    let Some(login) = target.logins.remove(&target.name, &lock).map_err(failed)? else {
        return Ok(LoggedOut::NoLogin);
    };
    drop(lock);
    // Tokens for another address are removed, but not sent to this one's authorization server.
    if login.url != target.url.as_str() {
        return Ok(LoggedOut::Kept);
    }
    Ok(revoke(&target, &login).await)
}

async fn revoke(target: &Target<'_>, login: &SavedLogin) -> LoggedOut {
    let (Some(address), Some(tokens)) =
        (endpoint(&login.metadata, "revocation_endpoint"), &login.credentials.token_response)
    else {
        return LoggedOut::Kept;
    };
    let http = target.http();
    let refresh = tokens.refresh_token().map(|token| (token.secret(), "refresh_token"));
    let access = (tokens.access_token().secret(), "access_token");
    for (token, kind) in refresh.into_iter().chain([access]) {
        let form = [
            ("token", token.as_str()),
            ("token_type_hint", kind),
            ("client_id", login.credentials.client_id.as_str()),
            // An empty secret means none (RFC 6749, 2.3.1), and the Python SDK requires the field.
            ("client_secret", login.client_secret.as_deref().unwrap_or_default()),
        ];
        match http.post(address, &form).await {
            Ok(answer) if answer.status().is_success() => {}
            Ok(answer) => {
                return LoggedOut::Failed(format!(
                    "it answered with HTTP status {}",
                    answer.status().as_u16()
                ));
            }
            Err(error) => return LoggedOut::Failed(error.to_string()),
        }
    }
    LoggedOut::Revoked
}
