//! [`Environment`]: the environment of this process, and which part of it the commands get that agents run.
use super::Config;
use haft_core::{Access, AccessRules};
use haft_process::VARIABLE;
use haft_providers::{SignIn, vendors};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, ffi::OsString};

/// What the environment says, read once by `main`.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// All of it.
    pub variables: BTreeMap<String, String>,
}

/// `[environment]` of the person's file: which variables commands get, by name, `*` for any letters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct EnvironmentFile {
    /// Variables that commands never get.
    pub hide: Vec<String>,
    /// Variables that commands get even if they look like secrets.
    pub pass: Vec<String>,
}

/// `[environment]` of the project's file, which can only narrow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct NarrowEnvironment {
    /// Variables that commands never get, in addition to yours.
    pub hide: Vec<String>,
}

/// Tokens that Haft itself uses, in addition to the keys of vendors.
const TOKENS: [&str; 3] = ["GITHUB_TOKEN", "GH_TOKEN", "TELEGRAM_BOT_TOKEN"];

/// How the variables of `curl` and `pip` begin.
const FETCHERS: [&str; 2] = ["CURL_", "PIP_"];

impl Environment {
    /// The environment of this process. Variables that are not UTF-8 are left out.
    #[must_use]
    pub fn of_process() -> Self {
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Self { variables: std::env::vars_os().filter_map(text).collect() }
    }

    /// A variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// What the processes of tools may have.
    pub fn access(&self, config: &Config) -> Access {
        self.rules(config).access(self.all())
    }

    fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn rules(&self, config: &Config) -> AccessRules {
        AccessRules {
            keys: self.keys(config),
            key_variables: key_variables(config).map(str::to_owned).collect(),
            hide: [config.user.environment.hide.as_slice(), &config.project.environment.hide].concat(),
            pass: config.user.environment.pass.clone(),
            network: config.network(),
            mark: VARIABLE,
        }
    }

    /// What the programs get that fetch models: what reaches servers, and their own settings, with the passwords in them.
    pub fn for_downloads(&self, config: &Config) -> Vec<(String, String)> {
        let is_theirs = |name: &str| FETCHERS.iter().any(|begin| name.starts_with(begin));
        let theirs = self.variables.iter().filter(|(name, _)| is_theirs(name));
        let rest = self.access(config).reaching().into_iter().filter(|(name, _)| !is_theirs(name));
        theirs.map(|(name, value)| (name.clone(), value.clone())).chain(rest).collect()
    }

    /// Proxies of which commands do not get the user name and the password.
    pub fn stripped(&self, config: &Config) -> Vec<&str> {
        let rules = self.rules(config);
        self.all().filter(|(name, value)| rules.is_stripped(name, value)).map(|(name, _)| name).collect()
    }

    /// The keys that Haft itself uses.
    fn keys(&self, config: &Config) -> Vec<String> {
        let variables = key_variables(config).filter_map(|variable| self.get(variable));
        let files = config.user.vendors.values().filter_map(|vendor| vendor.key.as_deref());
        let accounts = config.user.accounts.values().flat_map(|account| account.keys.values());
        let files = files.chain(accounts.map(String::as_str));
        variables.chain(files).chain(config.kept.values()).map(|key| key.trim().to_owned()).collect()
    }
}

fn key_variables(config: &Config) -> impl Iterator<Item = &str> {
    let vendors = vendors().iter().filter_map(|vendor| vendor.key_variable);
    let clouds = SignIn::SECRETS.iter().copied();
    let login = config.user.serve.oidc.as_ref().and_then(|oidc| oidc.client_secret_env.as_deref());
    vendors.chain(clouds).chain(TOKENS).chain(config.user.telegram.token_env.as_deref()).chain(login)
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
            ("ODD_LOGIN", "x"),
            ("OPENAI_API_KEY", "sk-0123456789"),
            ("PATH", "/bin"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
        ]);
        let user = "[environment]\nhide = [\"acme_*\"]\npass = [\"DATABASE_URL\", \"SSH_*\"]\n\
                    [telegram]\ntoken_env = \"ODD\"\n\
                    [serve.oidc]\nissuer = \"https://login.example\"\nclient_id = \"haft\"\nclient_secret_env = \"ODD_LOGIN\"";
        let project = "[environment]\nhide = [\"*_KEY\", \"HAFT_*\", \"MY_COPY\", \"D*\", \"SSH_AUTH_SOCK\"]";
        let table = [
            ("", "", vec!["ACME_LICENSE=x", "CI=1", "ODD=x", "ODD_LOGIN=x", "PATH=/bin"]),
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
            (
                "[environment]\npass = [\"*\"]",
                project,
                vec!["ACME_LICENSE=x", "CI=1", "ODD=x", "ODD_LOGIN=x", "PATH=/bin"],
            ),
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
