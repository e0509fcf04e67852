//! [`Access`]: the environment variables, the secrets and the network that the processes of tools get.
use crate::{Confinement, Network, Secrets, secret};
use std::sync::Arc;

/// What the processes of a call may reach.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The whole environment of a process: names and values, without secrets.
    pub environment: Arc<[(String, String)]>,
    /// Additional variables for a push to a server, which needs them: the socket of the user's key agent, a proxy with
    /// a password.
    pub reach: Arc<[(String, String)]>,
    /// Values that must not appear in any output.
    pub secrets: Secrets,
    /// What confined processes get of the network.
    pub network: Network,
    /// The confinement of a process. `None`: it sees and reaches what this process does.
    pub confinement: Option<Arc<Confinement>>,
}

/// The variable, in the environment of a call that sends an outbox item, with a key by which a server recognizes a
/// second attempt.
const IDEMPOTENCY_KEY: &str = "HAFT_IDEMPOTENCY_KEY";

impl Access {
    /// Marks the call as one that sends the item `item` of the outbox.
    pub fn with_idempotency_key(self, item: &str) -> Self {
        let key = (IDEMPOTENCY_KEY.to_owned(), format!("haft-{item}"));
        let environment = self.environment.iter().cloned().chain([key]).collect();
        Self { environment, ..self }
    }

    /// Also hides these values in output.
    pub fn hiding(self, values: impl IntoIterator<Item = String>) -> Self {
        let known = self.secrets.values();
        Self { secrets: Secrets::new(known.iter().cloned().chain(values), []), ..self }
    }

    /// The key by which a server recognizes a second attempt of this call; `None` if the call sends no item of the
    /// outbox.
    pub fn idempotency_key(&self) -> Option<&str> {
        let found = self.environment.iter().find(|(name, _)| name == IDEMPOTENCY_KEY);
        found.map(|(_, key)| key.as_str())
    }

    /// The whole environment of a process that connects to a server with the user's credentials.
    pub fn reaching(&self) -> Vec<(String, String)> {
        let is_replaced = |name: &str| self.reach.iter().any(|(other, _)| other == name);
        let rest = self.environment.iter().filter(|(name, _)| !is_replaced(name));
        rest.chain(self.reach.iter()).cloned().collect()
    }
}

/// Decides which variables of the user's environment the processes of tools get. In the names of `hide` and `pass`, `*`
/// stands for any characters.
#[derive(Clone, Debug, Default)]
pub struct AccessRules {
    /// The keys that Haft itself uses.
    pub keys: Vec<String>,
    /// The variables that contain these keys.
    pub key_variables: Vec<String>,
    /// Variables that are always hidden.
    pub hide: Vec<String>,
    /// Variables that are passed on although they look like secrets.
    pub pass: Vec<String>,
    /// What confined processes get of the network.
    pub network: Network,
    /// A variable that is always passed on: it marks the processes of a call.
    pub mark: &'static str,
}

/// Variables with proxies, in lower case: commands need them, with or without a password.
const PROXY_VARIABLES: [&str; 4] = ["http_proxy", "https_proxy", "all_proxy", "ftp_proxy"];

/// Variables by which the user's `git` connects to servers.
const GIT_VARIABLES: [&str; 6] =
    ["GIT_ASKPASS", "KRB5CCNAME", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_AUTH_SOCK", "VSCODE_GIT_IPC_HANDLE"];

/// How a variable is passed to commands.
enum Use {
    /// Commands get the variable.
    Passed,
    /// A proxy, which they get without its user name and password.
    Stripped(String),
    /// Commands do not get the variable.
    Hidden,
}

impl AccessRules {
    /// Splits `variables` into those for all processes, those for connections to servers, and secrets.
    pub fn access<'a>(&self, variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Access {
        let (mut environment, mut reach, mut guessed) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value) in variables {
            let whole = (name.to_owned(), value.to_owned());
            match self.use_of(name, value) {
                Use::Passed => environment.push(whole),
                Use::Stripped(address) => {
                    environment.push((name.to_owned(), address));
                    guessed.extend(password(value));
                    reach.push(whole);
                }
                Use::Hidden => {
                    if secret::is_secret(name, value) {
                        guessed.extend([Some(value.to_owned()), password(value)].into_iter().flatten());
                    }
                    let is_asked_for = GIT_VARIABLES.contains(&name) && !is_named(name, &self.hide);
                    reach.extend(is_asked_for.then_some(whole));
                }
            }
        }
        let secrets = Secrets::new(self.keys.iter().cloned(), guessed);
        let (environment, reach, network) = (environment.into(), reach.into(), self.network.clone());
        Access { environment, reach, secrets, network, confinement: None }
    }

    /// Whether `name` is a proxy that processes get without the user name and password in `value`.
    pub fn is_stripped(&self, name: &str, value: &str) -> bool {
        is_proxy(name) && matches!(self.use_of(name, value), Use::Stripped(_))
    }

    fn use_of(&self, name: &str, value: &str) -> Use {
        // If this process was itself started for a call, its child processes belong to that call, too.
        if name == self.mark {
            return Use::Passed;
        }
        if is_named(name, &self.hide) {
            return Use::Hidden;
        }
        if is_named(name, &self.pass) {
            return Use::Passed;
        }
        if is_proxy(name) {
            return secret::without_credentials(value).map_or(Use::Passed, Use::Stripped);
        }
        let is_ours = name.to_ascii_uppercase().starts_with("HAFT_");
        let is_key = || self.key_variables.iter().any(|variable| variable == name);
        let holds_key = || self.keys.iter().any(|key| key.len() >= 8 && value.contains(key));
        match is_ours || is_key() || secret::is_secret(name, value) || holds_key() {
            true => Use::Hidden,
            false => Use::Passed,
        }
    }
}

fn is_proxy(name: &str) -> bool {
    PROXY_VARIABLES.contains(&name.to_ascii_lowercase().as_str())
}

/// The password of an address.
fn password(address: &str) -> Option<String> {
    let bare = secret::without_credentials(address)?;
    let begins = address.bytes().zip(bare.bytes()).take_while(|(a, b)| a == b).count();
    let user = address.get(begins..begins + address.len() - bare.len())?;
    user.trim_end_matches('@').split_once(':').map(|(_, password)| password.to_owned())
}

fn is_named(name: &str, patterns: &[String]) -> bool {
    patterns.iter().any(|pattern| fits(&pattern.to_ascii_uppercase(), &name.to_ascii_uppercase()))
}

/// Matches `name` against `pattern`, in which `*` stands for any characters or none.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, behind)) => name.strip_prefix(before).is_some_and(|rest| {
            let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            ends.into_iter().any(|at| fits(behind, &rest[at..]))
        }),
    }
}
