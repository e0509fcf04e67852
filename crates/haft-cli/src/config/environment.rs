//! The environment of this process, and what of it the commands get that agents run.
use super::Config;
use haft::{
    kernel::{Access, Secrets, secret},
    providers::vendors,
    sandbox::VARIABLE,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the environment says, read once by `main`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// All of it.
    pub(crate) variables: BTreeMap<String, String>,
}

/// `[environment]` of the person's file: which variables commands get, by name, `*` for any letters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EnvironmentFile {
    /// Names that commands do not get, whatever they look like.
    pub(crate) hide: Vec<String>,
    /// Names that commands get although they look like secrets.
    pub(crate) pass: Vec<String>,
}

/// `[environment]` of the project's file, which can only narrow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NarrowEnvironment {
    /// Names that commands do not get, besides the person's.
    pub(crate) hide: Vec<String>,
}

/// Proxies, in small letters: commands need them, with or without a password.
const PROXIES: [&str; 4] = ["http_proxy", "https_proxy", "all_proxy", "ftp_proxy"];

/// How a person's `git` reaches servers.
const REACH: [&str; 6] =
    ["GIT_ASKPASS", "KRB5CCNAME", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_AUTH_SOCK", "VSCODE_GIT_IPC_HANDLE"];

/// Tokens that Haft itself uses, besides the keys of vendors.
const TOKENS: [&str; 3] = ["GITHUB_TOKEN", "GH_TOKEN", "TELEGRAM_BOT_TOKEN"];

/// How the variables of `curl` and `pip` begin.
const FETCHERS: [&str; 2] = ["CURL_", "PIP_"];

/// What a variable is to commands.
#[derive(Debug, PartialEq, Eq)]
enum Use {
    /// They get it.
    Passed,
    /// A proxy, which they get without its user name and password.
    Stripped(String),
    /// They do not get it.
    Hidden,
}

impl Environment {
    /// A variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// What the processes of tools may have.
    pub(crate) fn access(&self, config: &Config) -> Access {
        let (mut environment, mut reach, mut guessed) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value) in &self.variables {
            let whole = (name.clone(), value.clone());
            match self.use_of(name, value, config) {
                Use::Passed => environment.push(whole),
                Use::Stripped(address) => {
                    environment.push((name.clone(), address));
                    guessed.extend(password(value));
                    reach.push(whole);
                }
                Use::Hidden => {
                    if secret::is_secret(name, value) {
                        guessed.extend([Some(value.clone()), password(value)].into_iter().flatten());
                    }
                    let is_asked_for = REACH.contains(&name.as_str()) && !is_named(name, &hidden(config));
                    reach.extend(is_asked_for.then_some(whole));
                }
            }
        }
        let secrets = Secrets::new(self.keys(config), guessed);
        Access { environment: environment.into(), reach: reach.into(), secrets }
    }

    /// What the programs get that fetch models: what reaches servers, and their own settings, with the passwords in them.
    #[cfg_attr(
        not(feature = "local"),
        expect(dead_code, reason = "only models for this process are fetched")
    )]
    pub(crate) fn for_downloads(&self, config: &Config) -> Vec<(String, String)> {
        let is_theirs = |name: &str| FETCHERS.iter().any(|begin| name.starts_with(begin));
        let theirs = self.variables.iter().filter(|(name, _)| is_theirs(name));
        let rest = self.access(config).reaching().into_iter().filter(|(name, _)| !is_theirs(name));
        theirs.map(|(name, value)| (name.clone(), value.clone())).chain(rest).collect()
    }

    /// Proxies of which commands do not get the user name and the password.
    pub(crate) fn stripped(&self, config: &Config) -> Vec<&str> {
        let is_stripped =
            |(name, value): &(&String, &String)| matches!(self.use_of(name, value, config), Use::Stripped(_));
        self.variables.iter().filter(is_stripped).map(|(name, _)| name.as_str()).collect()
    }

    fn use_of(&self, name: &str, value: &str, config: &Config) -> Use {
        // Where this process was itself started for a call, what it starts belongs to that call, too.
        if name == VARIABLE {
            return Use::Passed;
        }
        if is_named(name, &hidden(config)) {
            return Use::Hidden;
        }
        if is_named(name, &config.user.environment.pass) {
            return Use::Passed;
        }
        if PROXIES.contains(&name.to_ascii_lowercase().as_str()) {
            return secret::without_credentials(value).map_or(Use::Passed, Use::Stripped);
        }
        let is_ours = name.to_ascii_uppercase().starts_with("HAFT_");
        let is_key = || key_variables(config).any(|variable| variable == name);
        let holds_key = || self.keys(config).iter().any(|key| key.len() >= 8 && value.contains(key));
        match is_ours || is_key() || secret::is_secret(name, value) || holds_key() {
            true => Use::Hidden,
            false => Use::Passed,
        }
    }

    /// The keys that Haft itself uses.
    fn keys(&self, config: &Config) -> Vec<String> {
        let variables = key_variables(config).filter_map(|variable| self.get(variable));
        let files = config.user.vendors.values().filter_map(|vendor| vendor.key.as_deref());
        variables.chain(files).map(|key| key.trim().to_owned()).collect()
    }
}

fn key_variables(config: &Config) -> impl Iterator<Item = &str> {
    let vendors = vendors().iter().filter_map(|vendor| vendor.key_variable.as_deref());
    vendors.chain(TOKENS).chain(config.user.telegram.token_env.as_deref())
}

fn hidden(config: &Config) -> Vec<String> {
    [config.user.environment.hide.as_slice(), &config.project.environment.hide].concat()
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

/// `*` stands for any letters, also for none.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, behind)) => name.strip_prefix(before).is_some_and(|rest| {
            let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            ends.into_iter().any(|at| fits(behind, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(user: &str, project: &str) -> Config {
        let (user, project) = (toml::from_str(user).unwrap(), toml::from_str(project).unwrap());
        Config::of(user, project)
    }

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Environment { variables: owned.collect() }
    }

    fn given(access: &Access) -> Vec<String> {
        access.environment.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    // D06
    #[test]
    fn commands_get_what_is_no_secret_and_what_a_person_passes() {
        let environment = environment(&[
            ("ACME_LICENSE", "x"),
            ("CI", "1"),
            ("DATABASE_URL", "postgres://me:secret@db/x"),
            ("HAFT_HOME", "/h"),
            ("MY_COPY", "see sk-0123456789"),
            ("ODD", "x"),
            ("OPENAI_API_KEY", "sk-0123456789"),
            ("PATH", "/bin"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
        ]);
        let user = "[environment]\nhide = [\"acme_*\"]\npass = [\"DATABASE_URL\", \"SSH_*\"]\n\
                    [telegram]\ntoken_env = \"ODD\"";
        let project = "[environment]\nhide = [\"*_KEY\", \"HAFT_*\", \"MY_COPY\", \"D*\", \"SSH_AUTH_SOCK\"]";
        let table = [
            ("", "", vec!["ACME_LICENSE=x", "CI=1", "ODD=x", "PATH=/bin"]),
            (
                user,
                "",
                vec![
                    "CI=1",
                    "DATABASE_URL=postgres://me:secret@db/x",
                    "PATH=/bin",
                    "SSH_AUTH_SOCK=/tmp/agent",
                ],
            ),
            ("[environment]\npass = [\"*\"]", project, vec!["ACME_LICENSE=x", "CI=1", "ODD=x", "PATH=/bin"]),
        ];
        for (user, project, expected) in table {
            assert_eq!(given(&environment.access(&config(user, project))), expected, "{user} {project}");
        }
        let widened: Result<crate::config::ProjectFile, _> = toml::from_str("[environment]\npass = [\"X\"]");
        assert!(widened.is_err(), "a project cannot widen");
    }

    #[test]
    fn a_proxy_is_handed_on_without_its_password() {
        let environment = environment(&[
            ("HTTPS_PROXY", "http://me:hunter2hunter2hunter2@proxy:3128"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
            ("http_proxy", "http://proxy:3128"),
        ]);
        let none = config("", "");
        let access = environment.access(&none);
        assert_eq!(given(&access), ["HTTPS_PROXY=http://proxy:3128", "http_proxy=http://proxy:3128"]);
        let reach: Vec<&str> = access.reach.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(reach, ["HTTPS_PROXY", "SSH_AUTH_SOCK"]);
        assert_eq!(environment.stripped(&none), ["HTTPS_PROXY"]);
        assert_eq!(access.secrets.hide("hunter2hunter2hunter2"), "[key]");
        let passed = config("[environment]\npass = [\"https_proxy\"]\nhide = [\"SSH_AUTH_SOCK\"]", "");
        assert!(given(&environment.access(&passed))[0].contains("hunter2"));
        assert_eq!(environment.access(&passed).reach.len(), 0);
    }

    #[test]
    #[cfg(feature = "local")]
    fn who_fetches_models_reaches_servers_and_has_no_keys() {
        let environment = environment(&[
            ("HTTPS_PROXY", "http://me:secret@proxy:3128"),
            ("OPENAI_API_KEY", "sk-1"),
            ("PATH", "/bin"),
            ("PIP_INDEX_URL", "https://me:secret@index/simple"),
        ]);
        let mut names: Vec<String> = environment
            .for_downloads(&config("", ""))
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
                "HTTPS_PROXY=http://me:secret@proxy:3128",
                "PATH=/bin",
                "PIP_INDEX_URL=https://me:secret@index/simple"
            ]
        );
    }

    #[test]
    fn keys_of_files_and_variables_are_known() {
        let config = config("[vendors.openai]\nkey = \"file-key-of-mine\"", "");
        let environment = environment(&[
            ("GITHUB_TOKEN", "token-of-mine"),
            ("DB_PASSWORD", "development"),
            ("DATABASE_URL", "postgres://me:0123456789abcdef@db/x"),
            ("HAFT_MODEL", "script/0123456789abcdef0"),
        ]);
        let secrets = environment.access(&config).secrets;
        let text = "file-key-of-mine token-of-mine development 0123456789abcdef script/0123456789abcdef0";
        assert_eq!(secrets.hide(text), "[key] [key] development [key] script/[key]0");
    }
}
