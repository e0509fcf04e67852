//! [`Kept`]: the tokens that clients of `haft mcp --listen` and `haft serve` send. A token is made once, and is
//! readable only for the user.
use crate::{Failure, untrusted_file};
use std::{
    fs::{self, DirBuilder, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::Path,
};

/// Name of the token of `haft mcp --listen`, which is also the name of its file in Haft's home.
pub const MCP: &str = "mcp-token";
/// Name of the token of `haft serve`.
pub const SERVE: &str = "serve-token";

/// Number of random bytes in a token: too many to guess.
const BYTES: usize = 32;

/// A token.
pub struct Kept {
    /// The token that clients send.
    pub token: String,
    /// Whether it was made just now.
    pub is_new: bool,
}

/// The token `name` in `home`; makes it if it is missing.
pub fn of(home: &Path, name: &str) -> Result<Kept, Failure> {
    let path = home.join(name);
    let failed = |what: &str, error: io::Error| {
        Failure::failed(format!("cannot {what} the token `{}`: {error}", path.display()))
            .hint("fix its permissions, or delete it to create a new one")
    };
    match untrusted_file::read(&path, None) {
        Ok(token) if is_whole(token.trim()) => {
            fs::set_permissions(&path, Permissions::from_mode(0o600))
                .map_err(|error| failed("close", error))?;
            Ok(Kept { token: token.trim().to_owned(), is_new: false })
        }
        Ok(_) => Err(failed("use", io::Error::other("it is not a Haft token"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = make(home, &path).map_err(|error| failed("write", error))?;
            Ok(Kept { token: made, is_new: true })
        }
        Err(error) => Err(failed("read", error)),
    }
}

fn is_whole(token: &str) -> bool {
    token.len() == 2 * BYTES && token.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Creates a token that cannot be guessed.
pub fn random() -> io::Result<String> {
    let mut random = [0; BYTES];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(hex::encode(random))
}

/// Writes the file atomically. If two processes begin at the same time, both use the token of the first.
fn make(home: &Path, path: &Path) -> io::Result<String> {
    DirBuilder::new().recursive(true).mode(0o700).create(home)?;
    let token = random()?;
    let mut file = tempfile::NamedTempFile::new_in(home)?;
    writeln!(file, "{token}")?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(token),
        Err(lost) if lost.error.kind() == io::ErrorKind::AlreadyExists => {
            untrusted_file::read(path, None).map(|first| first.trim().to_owned())
        }
        Err(lost) => Err(lost.error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_and_kept_private() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let token = of(&home, MCP).unwrap().token;
        let path = home.join(MCP);
        assert!(is_whole(&token), "{token}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(of(&home, MCP).unwrap().token, token);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "").unwrap();
        assert!(of(&home, MCP).map(|_| ()).unwrap_err().message.ends_with("it is not a Haft token"));
    }
}
