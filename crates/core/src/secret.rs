//! [`Secrets`]: values that are secret by their name or their looks, hidden from logs, models and child processes.
//!
//! A *secret* here is what lets its holder in somewhere: a key, a password, a token, and what leads to one, such as the
//! socket of an agent that holds keys.
use std::{borrow::Cow, fmt, sync::Arc};

mod looks;
mod names;

/// What stands in place of a secret.
const PLACEHOLDER: &str = "[key]";

/// Shorter values are not searched for: they stand in many texts that are not secrets.
const MIN_SECRET_BYTES: usize = 8;

/// A value that is only taken for a secret because of its variable's name must look like one to be searched for: a
/// password may be `development`, and every word of it would be hidden.
const MIN_GUESSED_BYTES: usize = 16;

/// Whether a variable holds a secret, by its name or by its value.
pub fn is_secret(name: &str, value: &str) -> bool {
    names::is_secret(name, value) || looks::is_secret(value)
}

/// The address without its user name and password; nothing where it has none.
pub fn without_credentials(url: &str) -> Option<String> {
    let (start, end) = looks::credentials(url)?;
    Some(format!("{}{}", &url[..start], &url[end..]))
}

/// Values that must not be shown, in any output. They cannot be printed by accident.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(Arc<[String]>);

impl Secrets {
    /// `known` are secrets for sure; of `guessed` those are taken that look like one.
    pub fn new(known: impl IntoIterator<Item = String>, guessed: impl IntoIterator<Item = String>) -> Self {
        let known = known.into_iter().map(|value| value.trim().to_owned());
        let known = known.filter(|value| value.len() >= MIN_SECRET_BYTES);
        let guessed = guessed.into_iter().map(|value| value.trim().to_owned());
        let mut values: Vec<String> = known.chain(guessed.filter(|value| is_unlike_words(value))).collect();
        // The longest first: a part of it may be a secret, too.
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        Self(values.into())
    }

    /// Whether there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The values themselves, the longest first.
    pub fn values(&self) -> &Arc<[String]> {
        &self.0
    }

    /// Whether one of them stands in `text`.
    pub fn are_in(&self, text: &str) -> bool {
        self.0.iter().any(|secret| text.contains(secret))
    }

    /// `text` with `[key]` in place of each of them.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut hidden = Cow::Borrowed(text);
        for secret in self.0.iter().filter(|secret| text.contains(secret.as_str())) {
            hidden = hidden.replace(secret, PLACEHOLDER).into();
        }
        hidden
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

/// Long, with letters and digits, without spaces and no path.
fn is_unlike_words(value: &str) -> bool {
    value.len() >= MIN_GUESSED_BYTES
        && value.bytes().all(|byte| byte.is_ascii_graphic())
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !value.starts_with(['/', '.', '~'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names_or_by_their_values() {
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
        let slack = "https://hooks.slack.com/services/T0/B0/x";
        let secret = [
            ("OPENAI_API_KEY", "x"),
            ("OPENAI_API_KEYS", "a,b"),
            ("API_KEY_PROD", "x"),
            ("aws_secret_access_key", "x"),
            ("AWS_SESSION_TOKEN", "x"),
            ("PGPASSWORD", "x"),
            ("MYSQL_PWD", "hunter2"),
            ("AZURE_DEVOPS_EXT_PAT", "x"),
            ("GPG_PASSPHRASE", "x"),
            ("PASSPHRASE", "x"),
            ("DB_PASS", "x"),
            ("SECRET_KEY_BASE", "x"),
            ("TOKEN_1", "x"),
            ("NPMTOKEN", "x"),
            ("NPM_CONFIG__AUTH", "x"),
            ("SLACK_WEBHOOK", "x"),
            ("SENTRY_DSN", "x"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
            ("GIT_ASKPASS", "/usr/bin/x"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json"),
            ("DATABASE_URL", "postgres://me:secret@db/x"),
            ("DATABASE_URL", "postgres://me:se/cr#et@db/x"),
            ("REDIS", "redis://:secret@db:6379"),
            ("X", "https://token@github.com/a/b"),
            ("X", "Server=db;User=me;Password=hunter2;"),
            ("X", "host=db password=hunter2"),
            ("X", "Bearer sk-proj-0123456789abcdef0123"),
            ("X", "sk_live_0123456789abcdef"),
            ("X", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
            ("X", "github_pat_0123456789abcdefghij"),
            ("X", "glpat-0123456789abcdefghij"),
            ("X", "xoxb-0123456789-abcdefghij"),
            ("X", "AKIAIOSFODNN7EXAMPLE"),
            ("X", "AIzaSyA0123456789abcdefghijklmnopqrstuv"),
            ("X", "123456789:AAF0123456789abcdefghijklmnopqrstuv"),
            ("X", jwt),
            ("X", "-----BEGIN OPENSSH PRIVATE KEY-----\nx"),
            ("X", slack),
        ];
        let public = [
            ("PATH", "/usr/bin:/bin"),
            ("PWD", "/home/me"),
            ("OLDPWD", "/home/me"),
            ("INIT_PWD", "/home/me"),
            ("HOME", "/home/me"),
            ("LANG", "en_US.UTF-8"),
            ("XAUTHORITY", "/run/x"),
            ("SSH_KEY_PATH", "/home/me/key"),
            ("AUTH_TYPE", "basic"),
            ("KEYBOARD", "de"),
            ("GIT_AUTHOR_NAME", "Me"),
            ("TOKENIZERS_PARALLELISM", "false"),
            ("MAX_TOKENS", "4096"),
            ("PASSENGER_COUNT", "3"),
            ("COMPATIBILITY", "yes"),
            ("HTTP_PROXY", "http://proxy:3128"),
            ("ORIGIN", "ssh://git@github.com/a/b"),
            ("ORIGIN", "git@github.com:a/b"),
            ("MAVEN_OPTS", "-Djavax.net.ssl.trustStorePassword=changeit"),
            ("NPM_CONFIG_REGISTRY", "https://packages.example/"),
            ("X", "https://npm.example:8080/@scope/a"),
            ("X", "https://npm.example/@scope/a"),
            ("RUSTFLAGS", "-C target-cpu=native"),
            ("X", "task-1-of-3"),
            ("X", "sk-learn"),
            ("X", "a.b.c"),
        ];
        for (name, value) in secret {
            assert!(is_secret(name, value), "{name}={value}");
        }
        for (name, value) in public {
            assert!(!is_secret(name, value), "{name}={value}");
        }
    }

    #[test]
    fn addresses_lose_their_credentials() {
        let table = [
            ("http://me:secret@proxy:3128", Some("http://proxy:3128")),
            ("http://me@proxy:3128/", Some("http://proxy:3128/")),
            ("socks5h://me:se@cret@proxy", Some("socks5h://proxy")),
            ("http://proxy:3128/a@b", None),
            ("proxy:3128", None),
            ("me:secret@proxy:3128", Some("proxy:3128")),
        ];
        for (url, expected) in table {
            assert_eq!(without_credentials(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn secrets_are_hidden_and_words_are_not() {
        let known = ["sk-0123456789", "sk-0123456789abc", " padded-key \n", "short"].map(str::to_owned);
        let guessed = ["development", "/home/me/0123456789", "hunter2hunter2hunter2"].map(str::to_owned);
        let secrets = Secrets::new(known, guessed);
        let table = [
            ("key sk-0123456789abc, sk-0123456789!", "key [key], [key]!"),
            ("padded-key", "[key]"),
            ("short development /home/me/0123456789", "short development /home/me/0123456789"),
            ("hunter2hunter2hunter2", "[key]"),
        ];
        for (text, expected) in table {
            assert_eq!(secrets.hide(text), expected);
            assert_eq!(secrets.are_in(text), text != expected);
        }
        assert_eq!(format!("{secrets:?}"), "Secrets(4)");
        assert_eq!(Secrets::default().hide("x"), "x");
    }
}
