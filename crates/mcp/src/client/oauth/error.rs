//! [`LoginError`]: why a login failed.
use crate::client::words;
use rmcp::transport::auth::AuthError;
use std::{io, path::PathBuf};

/// Why a login or a logout failed.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The server is a program, or has no address for logins.
    #[error("it is a program on this machine, which needs no login")]
    NoAddress,
    /// The configuration already sets the header with the credentials.
    #[error("its `headers` already have a token")]
    HasToken,
    /// The server's address cannot be parsed.
    #[error("`{0}` is not an address")]
    Address(String),
    /// The server names no authorization server.
    #[error("it names no authorization server, so it has no OAuth")]
    NoOAuth,
    /// The authorization server has no device authorization (RFC 8628).
    #[error(
        "its authorization server cannot log in another device: it has no `device_authorization_endpoint`"
    )]
    NoDevice,
    /// An address of an authorization server is not encrypted, or leads into a private network to which the server does
    /// not belong.
    #[error(
        "its authorization server has an address that Haft does not use, because it is not encrypted or is private: {0}"
    )]
    Forbidden(String),
    /// The redirect of the browser cannot be received.
    #[error("cannot listen on port {port} of this machine: {why}")]
    Port {
        /// The port; 0 for any.
        port: u16,
        /// Why not.
        why: io::Error,
    },
    /// The authorization server or the user refused, or its response is invalid.
    #[error("the authorization server gave no token: {0}")]
    Refused(String),
    /// The authorization server did not register Haft.
    #[error("its authorization server did not register Haft: {0}")]
    Unregistered(String),
    /// The redirect does not belong to this login.
    #[error("the address is not the answer to this login: {0}")]
    Foreign(&'static str),
    /// The tokens cannot be sent as `Authorization: Bearer`.
    #[error("the authorization server gave a token of the type `{0}`, and MCP uses `Bearer` tokens")]
    TokenType(String),
    /// Another step failed.
    #[error("{0}")]
    Failed(String),
    /// The login cannot be stored or read.
    #[error("cannot use the file of logins `{}`: {why}", .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why not.
        why: io::Error,
    },
}

impl From<AuthError> for LoginError {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::AuthorizationServerMismatch { expected_issuer, received_issuer } => {
                Self::Failed(format!(
                    "the authorization server calls itself `{received_issuer}`, and should be `{expected_issuer}`"
                ))
            }
            AuthError::AuthorizationServerMissingIssuer { expected_issuer } => {
                Self::Failed(format!("the authorization server does not say that it is `{expected_issuer}`"))
            }
            AuthError::PkceUnsupported => Self::Failed(
                "the authorization server does not know PKCE with S256, which protects logins".into(),
            ),
            AuthError::TokenExchangeFailed(why) => Self::Refused(why),
            AuthError::RegistrationFailed(why) => Self::Unregistered(why),
            error => Self::Failed(words::in_full(&error)),
        }
    }
}
