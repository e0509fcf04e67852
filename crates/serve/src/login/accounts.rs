//! [`Accounts`]: the accounts for logins: users of this server, or owners of a fleet's jobs.
use super::{CALLBACK, LoginError};
use crate::{
    audit::{Asked, Audit, named},
    gate::fleet_role,
    users::{User, Users},
};
use axum::http::{Method, StatusCode};
use haft_app::{
    config::serve::Permission,
    token,
    users::{self, Role},
};
use haft_fleet::{ADMIN, Database, LoginRights, Owner};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

/// Where logins are stored.
pub(crate) enum Accounts {
    /// Users log in to this server, until it ends.
    Users { users: Arc<Users>, home: PathBuf },
    /// Owners log in to all servers of a fleet.
    Owners(Database),
}

/// A login according to the claims of the identity provider.
pub(super) struct Claimed {
    pub(super) name: String,
    /// The role's name.
    pub(super) role: String,
    /// Whether the provider vouches for the name, so that users cannot choose it themselves.
    pub(super) is_verified: bool,
}

impl Accounts {
    /// Logs the user in for this duration, and returns a token.
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
                log(&Audit::new(home), named(&user)).await?;
                users.log_in(token.as_bytes(), user, Instant::now() + length);
            }
            Self::Owners(database) => {
                let is_verified = claimed.is_verified;
                let (owner, rights) = owner(claimed, roles)?;
                let role = if rights.is_admin { fleet_role(true) } else { &rights.role };
                log(&Audit::Fleet(database.clone()), (owner.0.clone(), role.to_owned())).await?;
                let let_in =
                    haft_fleet::log_in(database, &owner, (&rights, is_verified), &token, length).await;
                let_in.map_err(|error| LoginError::refused(error.to_string()))?;
            }
        }
        Ok(token)
    }

    /// Logs a refused login.
    pub(super) async fn log_refusal(&self, name: String) -> Result<(), LoginError> {
        let audit = match self {
            Self::Users { home, .. } => Audit::new(home),
            Self::Owners(database) => Audit::Fleet(database.clone()),
        };
        let asked = Asked { user: Some(name), ..Asked::new(None, Method::GET.as_str(), CALLBACK) };
        write(&audit, asked.ended(StatusCode::FORBIDDEN.as_u16())).await
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

/// Writes the login to the audit log before it takes effect.
async fn log(audit: &Audit, by: (String, String)) -> Result<(), LoginError> {
    let asked = Asked::new(Some(by), Method::GET.as_str(), CALLBACK);
    write(audit, asked.ended(StatusCode::SEE_OTHER.as_u16())).await
}

async fn write(audit: &Audit, asked: Asked) -> Result<(), LoginError> {
    let logged = audit.write(&asked).await;
    logged.map_err(|error| LoginError::of_provider("the audit log cannot be written", &error))
}

fn user(
    claimed: Claimed,
    roles: &BTreeMap<String, Role>,
    home: &std::path::Path,
) -> Result<User, LoginError> {
    let Claimed { name, role, is_verified } = claimed;
    let refused = |error: haft_app::Failure| LoginError::refused(error.message);
    // A claim that users can edit must not give them the role of another user.
    let known = users::list(home).map_err(refused)?;
    if !is_verified && known.iter().any(|user| user.name == name && user.token_sha256.is_some()) {
        return Err(LoginError::refused(format!("`{name}` has a token on this server")));
    }
    found(roles, &role)?;
    let role = users::note_login(home, &name, &role).map_err(refused)?;
    Ok(User { name, role: found(roles, &role)?.clone(), token_sha256: None })
}

/// The owner for this login, and its rights in the fleet.
fn owner(claimed: Claimed, roles: &BTreeMap<String, Role>) -> Result<(Owner, LoginRights), LoginError> {
    let Claimed { name, role, .. } = claimed;
    // This owner has the jobs that are added with the server's own token.
    if name == ADMIN {
        return Err(LoginError::refused(format!("the name `{ADMIN}` is that of the fleet's own owner")));
    }
    let role = found(roles, &role)?;
    match role.may(Permission::Prompt) {
        true => {
            let (is_admin, may_approve) = (role.may(Permission::Administer), role.may(Permission::Approve));
            Ok((Owner(name), LoginRights { role: role.name.clone(), is_admin, may_approve }))
        }
        false => {
            let message = format!("the role `{}` may not prompt, and so gives no jobs", role.name);
            Err(LoginError::refused(message))
        }
    }
}

fn found<'a>(roles: &'a BTreeMap<String, Role>, name: &str) -> Result<&'a Role, LoginError> {
    roles.get(name).ok_or_else(|| LoginError::refused(format!("there is no role `{name}` on this server")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_app::config::serve::ServeFile;
    use serde_json::json;

    // H-89
    #[test]
    fn a_login_is_an_owner_with_its_name_but_not_the_fleets_own() {
        let file = json!({"roles": {"intern": {"may": ["view", "prompt"]}}});
        let file: ServeFile = serde_json::from_value(file).unwrap();
        let roles = users::roles(&file);
        for (name, role, expected) in [
            ("ann@example.org", "member", Ok(("ann@example.org", false, true))),
            ("ann@example.org", "admin", Ok(("ann@example.org", true, true))),
            ("ann@example.org", "intern", Ok(("ann@example.org", false, false))),
            ("ann@example.org", "viewer", Err("the role `viewer` may not prompt, and so gives no jobs")),
            ("admin", "member", Err("the name `admin` is that of the fleet's own owner")),
            ("admin", "admin", Err("the name `admin` is that of the fleet's own owner")),
        ] {
            let claimed = Claimed { name: name.into(), role: role.into(), is_verified: true };
            let found = owner(claimed, &roles).map_err(|error| error.message);
            let found = found.as_ref();
            let found = found.map(|(owner, may)| (owner.0.as_str(), may.is_admin, may.may_approve));
            assert_eq!(found.map_err(String::as_str), expected, "{name}, {role}");
        }
    }
}
