//! [`User`] and [`Role`]: the users of `haft serve` besides its owner. Each user has a role and a token. The file
//! [`FILE`] in Haft's home contains only the SHA-256 of the token.
use crate::{
    Failure,
    config::serve::{Permission, RoleFile, ServeFile, VisibleSessions},
    token, untrusted_file,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::{MetadataExt, fchown},
    path::{Path, PathBuf},
};

/// The file of users in Haft's home.
pub const FILE: &str = "serve-users.json";
/// The lock file, held while the file of users changes.
const LOCK: &str = "serve-users.lock";
/// Maximum number of characters in a name.
const MAX_NAME_LENGTH: usize = 64;

/// A user, as stored in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The name that journals and the audit log use.
    pub name: String,
    /// The name of the role.
    pub role: String,
    /// SHA-256 of the token, in hexadecimal; `None` for a user who logs in through another system and was not added
    /// here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_sha256: Option<String>,
    /// When the user was added, in milliseconds since 1970-01-01 UTC.
    pub added_at: u64,
}

/// The permissions of the users of a role.
#[derive(Clone, Debug, PartialEq)]
pub struct Role {
    /// Name of the role.
    pub name: String,
    file: RoleFile,
}

impl Role {
    /// Whether its users may do this.
    #[must_use]
    pub fn may(&self, what: Permission) -> bool {
        self.file.may.contains(&what) || self.file.may.contains(&Permission::Administer)
    }

    /// Whether its users see the sessions of all users.
    #[must_use]
    pub fn sees_all(&self) -> bool {
        self.file.sessions == VisibleSessions::All || self.may(Permission::Administer)
    }

    /// Whether sessions of its users may work in this folder.
    #[must_use]
    pub fn has_folder(&self, folder: &Path) -> bool {
        let folders: &[PathBuf] = &self.file.folders;
        folders.is_empty() || folders.iter().any(|own| folder.starts_with(own))
    }

    /// Whether its users may choose this model, as `PROVIDER/MODEL`.
    #[must_use]
    pub fn has_model(&self, model: &str) -> bool {
        self.file.models.is_empty() || self.file.models.iter().any(|pattern| matches(pattern, model))
    }

    /// The role's entry in the configuration.
    #[must_use]
    pub fn file(&self) -> &RoleFile {
        &self.file
    }
}

/// Whether `text` matches `pattern`, in which `*` stands for any characters.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let Some((begin, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(begin) else { return false };
    let ends = text.char_indices().map(|(place, _)| place).chain([text.len()]);
    ends.into_iter().any(|place| matches(rest, &text[place..]))
}

/// All roles, by name: the built-in ones and those of the configuration.
#[must_use]
pub fn roles(file: &ServeFile) -> BTreeMap<String, Role> {
    use Permission::{Administer, Approve, Prompt, View};
    let own = |may: &[Permission], sessions| RoleFile {
        may: may.to_vec(),
        sessions,
        folders: Vec::new(),
        models: Vec::new(),
        up_to: None,
        max_cost: None,
    };
    let known = [
        ("viewer", own(&[View], VisibleSessions::All)),
        ("member", own(&[View, Prompt, Approve], VisibleSessions::Own)),
        ("approver", own(&[View, Approve], VisibleSessions::All)),
        ("admin", own(&[Administer], VisibleSessions::All)),
    ];
    let known = known.into_iter().map(|(name, file)| (name.to_owned(), file));
    let configured = file.roles.iter().map(|(name, file)| (name.clone(), file.clone()));
    known.chain(configured).map(|(name, file)| (name.clone(), Role { name, file })).collect()
}

/// The users in `home`, by name.
///
/// # Errors
/// If the file exists but cannot be read.
pub fn list(home: &Path) -> Result<Vec<User>, Failure> {
    let path = home.join(FILE);
    let failed = |why: String| {
        Failure::failed(format!("cannot read the users in `{}`: {why}", path.display()))
            .hint("repair the file, or remove it and add the users again")
    };
    match untrusted_file::read(&path, None) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| failed(error.to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Adds a user, or gives an existing one another role and another token. Returns the token, which is stored nowhere.
///
/// # Errors
/// If the name or the role is invalid, or the file cannot be changed.
pub fn add(home: &Path, roles: &BTreeMap<String, Role>, name: &str, role: &str) -> Result<String, Failure> {
    if !is_name(name) {
        return Err(Failure::usage(format!("`{}` is not a name of a user", name.escape_debug())).hint(
            format!("a name has up to {MAX_NAME_LENGTH} letters, digits and `.`, `-`, `_`, `@`, `+`"),
        ));
    }
    if !roles.contains_key(role) {
        let all = roles.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        return Err(Failure::usage(format!("there is no role `{}`", role.escape_debug()))
            .hint(format!("roles are {all}; `[serve.roles.NAME]` in the configuration adds one")));
    }
    let token = token::random().map_err(|error| Failure::failed(format!("cannot make a token: {error}")))?;
    change(home, |users| {
        users.retain(|user| user.name != name);
        users.push(User {
            name: name.to_owned(),
            role: role.to_owned(),
            token_sha256: Some(hash_of(token.as_bytes())),
            added_at: now(),
        });
        Ok(())
    })?;
    Ok(token)
}

/// Whether this is a valid user name.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let fits = |char: char| char.is_ascii_alphanumeric() || ".-_@+".contains(char);
    (1..=MAX_NAME_LENGTH).contains(&name.len()) && name.chars().all(fits)
}

fn now() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default()
}

/// Records that a user logged in through another system, with `role`. A user who was added here keeps the role given
/// here. Returns the role in force.
///
/// # Errors
/// If the file cannot be read or changed.
pub fn note_login(home: &Path, name: &str, role: &str) -> Result<String, Failure> {
    let mut has = role.to_owned();
    change(home, |users| {
        match users.iter_mut().find(|user| user.name == name) {
            Some(User { token_sha256: Some(_), role, .. }) => has.clone_from(role),
            Some(known) => known.role = role.to_owned(),
            None => users.push(User {
                name: name.to_owned(),
                role: role.to_owned(),
                token_sha256: None,
                added_at: now(),
            }),
        }
        Ok(())
    })?;
    Ok(has)
}

/// Removes a user. From the next request on, the token is refused.
///
/// # Errors
/// If there is no such user, or the file cannot be changed.
pub fn remove(home: &Path, name: &str) -> Result<(), Failure> {
    change(home, |users| {
        let before = users.len();
        users.retain(|user| user.name != name);
        match users.len() < before {
            true => Ok(()),
            false => Err(Failure::usage(format!("there is no user `{}`", name.escape_debug()))
                .hint("`haft serve users` lists them")),
        }
    })
}

/// SHA-256 of a token, as stored in the file. A token is random and long, so the hash needs no salt.
#[must_use]
pub fn hash_of(token: &[u8]) -> String {
    hex::encode(Sha256::digest(token))
}

/// If root makes the file, its owner becomes the owner of `home`: the account that runs the server.
fn give_to_server(home: &Path, file: &File) {
    if let Ok(folder) = fs::metadata(home) {
        let _only_root_may = fchown(file, Some(folder.uid()), Some(folder.gid()));
    }
}

fn change(home: &Path, change: impl FnOnce(&mut Vec<User>) -> Result<(), Failure>) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::failed(format!("cannot change the users in `{}`: {error}", home.join(FILE).display()))
    };
    fs::create_dir_all(home).map_err(failed)?;
    let lock = File::create(home.join(LOCK)).map_err(failed)?;
    give_to_server(home, &lock);
    lock.lock().map_err(failed)?;
    let mut users = list(home)?;
    change(&mut users)?;
    users.sort_by(|one, other| one.name.cmp(&other.name));
    let text = serde_json::to_string_pretty(&users).map_err(|error| failed(error.into()))?;
    let write = || {
        // Readable only for the account that runs the server.
        let mut file = tempfile::NamedTempFile::new_in(home)?;
        writeln!(file, "{text}")?;
        give_to_server(home, file.as_file());
        file.as_file().sync_all()?;
        file.persist(home.join(FILE))?;
        Ok(())
    };
    write().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text, is) in [
            ("*", "anthropic/claude", true),
            ("anthropic/*", "anthropic/claude", true),
            ("anthropic/*", "openai/gpt", false),
            ("*/mini*", "openai/mini-2", true),
            ("openai/gpt", "openai/gpt-5", false),
            ("ä*b", "ä–b", true),
        ] {
            assert_eq!(matches(pattern, text), is, "{pattern} {text}");
        }
    }
}
