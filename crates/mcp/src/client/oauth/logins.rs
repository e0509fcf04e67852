//! [`Logins`]: the file of logins: the tokens and metadata from the authorization server of each MCP server.
use super::LoginError;
use haft_core::secret;
use haft_process::{own_folder, read_regular};
use oauth2::{TokenResponse, basic::BasicTokenType};
use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationMetadata, CredentialRefreshGuard, CredentialStore, OAuthTokenResponse,
    StoredCredentials,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::sleep;

/// Maximum bytes of the file.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Interval of retries while another process holds the lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// The file of logins, by names of servers.
#[derive(Clone)]
pub(super) struct Logins {
    file: PathBuf,
}

/// A login. It contains tokens, so it cannot be printed.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SavedLogin {
    /// The address of the MCP server; the tokens are sent nowhere else.
    pub(super) url: String,
    /// The resource of the tokens (RFC 8707).
    pub(super) resource: String,
    /// Metadata of the authorization server.
    pub(super) metadata: AuthorizationMetadata,
    pub(super) client_secret: Option<String>,
    pub(super) credentials: StoredCredentials,
}

/// A lock that is held while a login is changed, against other processes, too: a refresh token is often valid for one
/// use only.
pub(super) struct Lock(#[expect(dead_code, reason = "closing it unlocks")] File);

impl Logins {
    pub(super) fn new(file: &Path) -> Self {
        Self { file: file.to_owned() }
    }

    /// The login for the server `name` at `url`. A login for another address does not count.
    pub(super) fn get(&self, name: &str, url: &Url) -> io::Result<Option<SavedLogin>> {
        let login = self.read()?.remove(name).filter(|login| login.url == url.as_str());
        if let Some(login) = &login {
            login.client_secret.iter().for_each(|secret| secret::register(secret));
            register(&login.credentials);
        }
        Ok(login)
    }

    /// Stores a login, and replaces the previous one. Requires the lock.
    pub(super) fn put(&self, name: &str, login: SavedLogin, _lock: &Lock) -> io::Result<()> {
        let mut all = self.read()?;
        all.insert(name.to_owned(), login);
        self.write(&all)
    }

    /// Removes the login of the server `name`, and returns it. Requires the lock.
    pub(super) fn remove(&self, name: &str, _lock: &Lock) -> io::Result<Option<SavedLogin>> {
        let mut all = self.read()?;
        let removed = all.remove(name);
        if removed.is_some() {
            self.write(&all)?;
        }
        Ok(removed)
    }

    /// Waits until no other process holds the lock.
    pub(super) async fn lock(&self) -> io::Result<Lock> {
        own_folder(self.file.parent().unwrap_or(Path::new(".")))?;
        let path = self.file.with_extension("lock");
        let file = File::options().write(true).create(true).truncate(false).open(path)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock(file)),
                Err(TryLockError::WouldBlock) => sleep(LOCK_INTERVAL).await,
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// The credential store of the SDK for the server `name` at `url`.
    pub(super) fn of(&self, name: &str, url: &Url) -> impl CredentialStore + 'static {
        Store { logins: self.clone(), name: name.to_owned(), url: url.clone() }
    }

    pub(super) fn failed(&self, why: io::Error) -> LoginError {
        LoginError::File { file: self.file.clone(), why }
    }

    fn read(&self) -> io::Result<BTreeMap<String, SavedLogin>> {
        let bytes = match read_regular(&self.file, MAX_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(error),
        };
        // A parser's error may quote the token in a line.
        let wrong = |_| io::Error::other("it is not a list of logins; delete the file and log in again");
        serde_json::from_slice(&bytes).map_err(wrong)
    }

    /// Writes the file atomically, readable only by the user.
    fn write(&self, all: &BTreeMap<String, SavedLogin>) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(self.file.parent().unwrap_or(Path::new(".")))?;
        serde_json::to_writer_pretty(&mut file, all)?;
        file.flush()?;
        file.as_file().sync_all()?;
        file.persist(&self.file).map_err(|failed| failed.error)?;
        Ok(())
    }
}

/// Checks that a token can be sent as `Authorization: Bearer`.
pub(super) fn is_bearer(token: &OAuthTokenResponse) -> Result<(), LoginError> {
    match token.token_type() {
        BasicTokenType::Bearer => Ok(()),
        other => Err(LoginError::TokenType(other.as_ref().to_owned())),
    }
}

/// Registers the tokens as secrets, so that no output shows them.
fn register(credentials: &StoredCredentials) {
    let Some(tokens) = &credentials.token_response else { return };
    secret::register(tokens.access_token().secret());
    tokens.refresh_token().into_iter().for_each(|token| secret::register(token.secret()));
}

/// The login of one server.
struct Store {
    logins: Logins,
    name: String,
    url: Url,
}

#[async_trait::async_trait]
impl CredentialStore for Store {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(self.logins.get(&self.name, &self.url).map_err(failed)?.map(|login| login.credentials))
    }

    /// Stores refreshed tokens. A login that the user removed meanwhile stays removed.
    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        if let Some(Err(wrong)) = credentials.token_response.as_ref().map(is_bearer) {
            return Err(AuthError::TokenRefreshFailed(wrong.to_string()));
        }
        let mut all = self.logins.read().map_err(failed)?;
        let Some(login) = all.get_mut(&self.name).filter(|login| login.url == self.url.as_str()) else {
            return Ok(());
        };
        register(&credentials);
        login.credentials = credentials;
        self.logins.write(&all).map_err(failed)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        let lock = self.logins.lock().await.map_err(failed)?;
        self.logins.remove(&self.name, &lock).map(|_| ()).map_err(failed)
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        Ok(Some(CredentialRefreshGuard::new(self.logins.lock().await.map_err(failed)?)))
    }
}

fn failed(error: io::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}
