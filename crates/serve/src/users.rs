//! [`Users`]: the users of the server, as the file in Haft's home currently lists them, and their tokens.
use haft_app::{
    config::serve::Permission,
    users::{self, Role},
};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, HashMap},
    fs,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    sync::Arc,
    time::Instant,
};

/// The user of a request.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// SHA-256 of the user's own token, if there is one.
    pub(crate) token_sha256: Option<String>,
}

/// A user whose token is valid, and that token.
#[derive(Clone, Debug)]
pub(crate) struct SignedIn {
    pub(crate) user: Arc<User>,
    token_sha256: String,
}

impl SignedIn {
    /// For actions of the server on behalf of a user without a request.
    pub(crate) fn without_request(user: Arc<User>) -> Self {
        let token_sha256 = user.token_sha256.clone().unwrap_or_default();
        Self { user, token_sha256 }
    }
}

/// All users.
pub(crate) struct Users {
    home: PathBuf,
    roles: BTreeMap<String, Role>,
    read: Mutex<Read>,
    /// Tokens of users who logged in at an OpenID provider, by SHA-256, each with its expiry.
    logins: Mutex<HashMap<String, (Arc<User>, Instant)>>,
}

/// Inode and modification time of the file; `None` without a file.
type Version = Option<(u64, i64, i64)>;

/// The parsed file.
#[derive(Default)]
struct Read {
    version: Version,
    by_token: HashMap<String, Arc<User>>,
    by_name: HashMap<String, Arc<User>>,
    /// Roles of users that the configuration lacks, by token.
    missing_roles: HashMap<String, String>,
}

impl Users {
    pub(crate) fn new(home: PathBuf, roles: BTreeMap<String, Role>) -> Self {
        Self { home, roles, read: Mutex::default(), logins: Mutex::default() }
    }

    /// Returns the user with this token.
    pub(crate) fn find(&self, token: &[u8]) -> Option<SignedIn> {
        let token_sha256 = users::hash_of(token);
        let user = self.of_token(&token_sha256)?;
        Some(SignedIn { user, token_sha256 })
    }

    /// The role of the user with this token, if the configuration lacks that role.
    pub(crate) fn missing_role(&self, token: &[u8]) -> Option<String> {
        self.with(|read| read.missing_roles.get(&users::hash_of(token)).cloned())
    }

    fn of_token(&self, sha256: &str) -> Option<Arc<User>> {
        let added = self.with(|read| read.by_token.get(sha256).cloned());
        added.or_else(|| {
            let mut logins = self.logins.lock();
            logins.retain(|_, (_, until)| *until > Instant::now());
            logins.get(sha256).map(|(user, _)| user.clone()).filter(|user| self.has(user))
        })
    }

    /// Logs the user in: `token` is valid until `until`.
    pub(crate) fn log_in(&self, token: &[u8], user: User, until: Instant) {
        self.logins.lock().insert(users::hash_of(token), (Arc::new(user), until));
    }

    /// Forgets the token of a login.
    pub(crate) fn log_out(&self, token: &[u8]) {
        self.logins.lock().remove(&users::hash_of(token));
    }

    /// Whether the token is still valid, with the same role.
    pub(crate) fn still_lets_in(&self, SignedIn { user, token_sha256 }: &SignedIn) -> bool {
        self.of_token(token_sha256).is_some_and(|now| now.name == user.name && now.role == user.role)
    }

    /// The user of this name.
    pub(crate) fn named(&self, name: &str) -> Option<Arc<User>> {
        self.with(|read| read.by_name.get(name).cloned())
    }

    /// Whether the user still exists, with the same role.
    fn has(&self, user: &User) -> bool {
        self.named(&user.name).is_some_and(|known| known.role == user.role)
    }

    /// Whether a file of users exists, even if it cannot be read.
    pub(crate) fn are_known(&self) -> bool {
        self.home.join(users::FILE).exists()
    }

    /// The version of the file, which changes with every edit: the file is only ever replaced.
    pub(crate) fn version(&self) -> Version {
        let file = fs::metadata(self.home.join(users::FILE)).ok()?;
        Some((file.ino(), file.mtime(), file.mtime_nsec()))
    }

    fn with<T>(&self, look: impl FnOnce(&Read) -> T) -> T {
        let version = self.version();
        let mut read = self.read.lock();
        if read.version != version {
            *read = Read { version, ..self.read() };
        }
        look(&read)
    }

    /// Reads the file. If that fails, no user is admitted.
    fn read(&self) -> Read {
        let listed = users::list(&self.home).unwrap_or_else(|error| {
            tracing::error!(error = %error.message, "no user is let in");
            Vec::new()
        });
        let mut read = Read::default();
        for user in listed {
            let Some(role) = self.roles.get(&user.role).cloned() else {
                tracing::warn!(user = user.name, role = user.role, "the role of a user is not configured");
                read.missing_roles.extend(user.token_sha256.map(|token| (token, user.role)));
                continue;
            };
            let known = Arc::new(User { name: user.name, role, token_sha256: user.token_sha256 });
            read.by_token.extend(known.token_sha256.clone().map(|token| (token, known.clone())));
            read.by_name.insert(known.name.clone(), known);
        }
        read
    }
}

/// The route that gets code in the body of a request, and changes nothing.
pub(crate) const HIGHLIGHT: &str = "/v1/highlight";

/// The permission for a request. A route that is not named here needs the right to administer.
pub(crate) fn needed(method: &str, route: &str) -> Permission {
    /// Paths below that of a session that need only the permission to view.
    const VIEWED: [&str; 9] =
        ["", "/events", "/timeline", "/asked", "/diff", "/calls", "/changes", "/export", "/outbox"];
    const PROMPTED: [&str; 10] = [
        "/prompt",
        "/typed",
        "/completions",
        "/interrupt",
        "/withdraw",
        "/continue",
        "/compact",
        "/undo",
        "/redo",
        "/fork",
    ];
    const APPROVED: [&str; 8] = [
        "/commit",
        "/pull-request",
        "/approvals/{call}",
        "/questions/{call}",
        "/answer",
        "/reply",
        "/outbox/{item}/send",
        "/outbox/{item}/drop",
    ];
    const PROMPTED_ELSEWHERE: [&str; 5] =
        ["/v1/sessions", "/v1/uploads", "/v1/jobs", "/v1/jobs/{id}/cancel", "/v1/jobs/{id}/retry"];
    const VIEWED_ELSEWHERE: [&str; 13] = [
        "/v1/me",
        "/v1/push",
        "/v1/sessions",
        "/v1/events",
        "/v1/agents",
        "/v1/choices",
        "/v1/tools",
        "/v1/models",
        "/v1/models/{*id}",
        "/v1/jobs",
        "/v1/jobs/{id}",
        "/v1/schedules",
        "/v1/outbox",
    ];
    let below = route.strip_prefix("/v1/sessions/{id}");
    let is_below = |routes: &[&str]| below.is_some_and(|below| routes.contains(&below));
    match method {
        "GET" | "HEAD" if VIEWED_ELSEWHERE.contains(&route) || is_below(&VIEWED) => Permission::View,
        "PUT" | "DELETE" if route == "/v1/push" => Permission::View,
        "POST" if route == HIGHLIGHT => Permission::View,
        "POST" if PROMPTED_ELSEWHERE.contains(&route) || is_below(&PROMPTED) => Permission::Prompt,
        "PATCH" if is_below(&[""]) => Permission::Prompt,
        "POST" if is_below(&APPROVED) => Permission::Approve,
        _ => Permission::Administer,
    }
}
