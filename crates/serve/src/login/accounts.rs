//! [`Accounts`]: whom a login lets in: a user of this server, or an owner of a fleet's jobs.
use super::{CALLBACK, LoginError};
use crate::{
    audit::{Asked, Audit},
    users::{User, Users},
};
use axum::http::{Method, StatusCode};
use haft_app::{
    config::serve::Permission,
    token,
    users::{self, Role},
};
use haft_fleet::{Database, Owner};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

/// Where those who have logged in are known.
pub(crate) enum Accounts {
    /// To this server, until it ends.
    Users { users: Arc<Users>, home: PathBuf },
    /// To all servers of a fleet.
    Owners(Database),
}

/// Who has logged in, as the provider says.
pub(super) struct Claimed {
    pub(super) name: String,
    /// The role's name.
    pub(super) role: String,
    /// Whether the provider vouches for the name: no one can give it to themselves.
    pub(super) is_verified: bool,
}

impl Accounts {
    /// Lets the person in for so long, and returns a token.
    pub(super) async fn let_in(
        &self,
        claimed: Claimed,
        roles: &BTreeMap<String, Role>,
        length: Duration,
    ) -> Result<String, LoginError> {
        let token =
            token::random().map_err(|error| LoginError::of_provider("no token can be made", &error))?;
        match self {
            Self::Users { users, home } => {
                let user = user(claimed, roles, home)?;
                let status = Some(StatusCode::SEE_OTHER.as_u16());
                let asked = Asked { status, ..Asked::new(Some(&user), &Method::GET, CALLBACK) };
                let logged = Audit::new(home).write(&asked).await;
                logged.map_err(|error| LoginError::of_provider("the audit log cannot be written", &error))?;
                users.log_in(token.as_bytes(), user, Instant::now() + length);
            }
            Self::Owners(database) => {
                let role = found(roles, &claimed.role)?;
                if !role.may(Permission::Prompt) {
                    let message = format!("the role `{}` may not prompt, and so gives no jobs", role.name);
                    return Err(LoginError::refused(message));
                }
                let Claimed { name, is_verified, .. } = claimed;
                let (owner, is_admin) = (Owner(name), role.may(Permission::Administer));
                let let_in =
                    haft_fleet::log_in(database, &owner, (is_admin, is_verified), &token, length).await;
                let_in.map_err(|error| LoginError::refused(error.to_string()))?;
            }
        }
        Ok(token)
    }

    /// Forgets a token.
    pub(super) async fn log_out(&self, token: &[u8]) -> Result<(), LoginError> {
        match self {
            Self::Users { users, .. } => users.log_out(token),
            Self::Owners(database) => {
                let token = String::from_utf8_lossy(token);
                let ended = haft_fleet::log_out(database, &token).await;
                ended.map_err(|error| LoginError::of_provider("the login cannot be ended", &error))?;
            }
        }
        Ok(())
    }
}

fn user(
    claimed: Claimed,
    roles: &BTreeMap<String, Role>,
    home: &std::path::Path,
) -> Result<User, LoginError> {
    let Claimed { name, role, is_verified } = claimed;
    let refused = |error: haft_app::Failure| LoginError::refused(error.message);
    // A claim that people can edit must not lead to the role of another.
    let known = users::list(home).map_err(refused)?;
    if !is_verified && known.iter().any(|user| user.name == name && user.token_sha256.is_some()) {
        return Err(LoginError::refused(format!("`{name}` has a token on this server")));
    }
    found(roles, &role)?;
    let role = users::note_login(home, &name, &role).map_err(refused)?;
    Ok(User { name, role: found(roles, &role)?.clone(), token_sha256: None })
}

fn found<'a>(roles: &'a BTreeMap<String, Role>, name: &str) -> Result<&'a Role, LoginError> {
    roles.get(name).ok_or_else(|| LoginError::refused(format!("there is no role `{name}` on this server")))
}
