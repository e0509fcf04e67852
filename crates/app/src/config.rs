//! [`Config`]: the configuration. Options override `HAFT_*` variables, which override the user's file, which overrides
//! the profile. The project's file only narrows the result.
//!
//! The project's file comes with the repository, which is not trusted. So it can narrow what the user allows, but never
//! widen it, choose the model or start a program.
pub(crate) mod claude;
#[cfg(test)]
mod documentation;
pub mod edit;
mod environment;
mod error;
mod files;
mod hidden;
mod keys;
mod lsp;
mod origin;
mod places;
mod secret_files;
pub mod serve;
mod setting;
mod settings;
mod timeouts;
mod values;
mod words;

use claude::ClaudeRules;
pub use environment::Environment;
pub use error::ConfigError;
use error::{of_project, plain};
pub use files::{
    KeyNames, KeysFile, McpFile, McpOAuthFile, McpRootsFile, ModelFile, Rules, UpdateFile, VendorFile,
};
pub use hidden::hide_keys;
pub use keys::{KeptKeys, KeySource, holder};
pub use lsp::{LspFile, LspServerFile};
use origin::Origin;
pub use places::Places;
pub(crate) use setting::Dollars;
pub use setting::{Choice, Setting, Value};
pub use settings::{ProjectFile, SETTINGS, Settings, UserFile};
pub(crate) use values::provider_names;
pub use words::{EditorMode, Hyperlinks, NotificationKind};

use crate::{system::SYSTEMS, untrusted_file};
use haft_core::{Budget, Limits, Mode, Network, Policy, ProcessLimits, Rule, Ruling, Sandbox};
use haft_engine::Profile;
use haft_stage::CommandAccess;
use serde::Deserialize;
use std::{
    io,
    path::{Path, PathBuf},
};

/// All layers of the configuration: options, variables, the user's file, the project's file.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Options of the command line.
    flags: Settings,
    /// `HAFT_*`.
    variables: Settings,
    /// The user's file.
    pub user: UserFile,
    /// The project's file.
    pub project: ProjectFile,
    /// Keys that `haft login` saved.
    pub kept: KeptKeys,
    /// Permissions in the settings of Claude Code. Their `deny` and `ask` rules apply to Haft, too.
    pub(crate) claude: Vec<ClaudeRules>,
    /// The account that is in use.
    account: Option<String>,
    /// Where the values come from.
    origin: Origin,
}

impl Config {
    /// Reads the user's and the project's file and the `HAFT_*` variables. `flags`: options of the command line.
    pub fn load(
        places: &Places,
        environment: &Environment,
        workspace: &Path,
        flags: &Settings,
    ) -> Result<Self, ConfigError> {
        let (user, person): (UserFile, String) = read(&places.user_file)?;
        check_user(&places.user_file, &person, &user)?;
        let file = project_file(workspace);
        let is_own = |name: &str| SETTINGS.iter().any(|setting| setting.key == name);
        let found = read(&file).map_err(|error| of_project(error, &places.user_file, is_own));
        let (project, theirs): (ProjectFile, String) = found?;
        check_rules(&file, &theirs, Ruling::Ask, [&project.rules.deny, &project.rules.ask])?;
        let kept = KeptKeys::load(&places.keys_file)?;
        let origin = Origin { file: places.user_file.clone(), text: person, project: file };
        let variables = variables(environment)?;
        let (claude, flags) = (claude::load(places, workspace), flags.clone());
        let mut config = Self { flags, variables, user, project, kept, claude, account: None, origin };
        config.account = config.account_in(places, workspace)?;
        Ok(config)
    }

    /// The settings of the user: options override variables, which override the user's file.
    pub fn effective(&self) -> Settings {
        self.flags.clone().over(self.configured())
    }

    /// The settings of the user without options: variables override the user's file.
    fn configured(&self) -> Settings {
        self.variables.clone().over(self.user.settings())
    }

    /// The mode in force: the mode that the user sets, limited to what the project's file allows.
    pub fn mode(&self) -> Mode {
        let wanted = self.effective().permission.unwrap_or_default();
        self.most().min(wanted)
    }

    /// The widest mode that the project's file allows.
    pub fn most(&self) -> Mode {
        self.project.settings().permission.unwrap_or(Mode::Full)
    }

    /// Whether commands are confined: as the user configures it, otherwise as the profile does, and at least as
    /// strictly as the project's file asks for.
    pub fn sandbox(&self, profile: &Profile) -> Sandbox {
        let wanted = self.effective().sandbox.unwrap_or(profile.sandbox);
        self.project.settings().sandbox.map_or(wanted, |least| least.max(wanted))
    }

    /// The network access of confined commands: what the user sets, limited to what the project's file allows.
    pub fn network(&self) -> Network {
        let wanted = self.effective().network.unwrap_or_default();
        self.project.settings().network.map_or(wanted.clone(), |limit| wanted.within(&limit))
    }

    /// The paths and hosts that confined commands may reach, and the paths that are hidden from them.
    pub fn command_access(&self, places: &Places) -> CommandAccess {
        let files = &self.user.commands;
        let place = |name: &String| places.named(name);
        let secrets =
            places.person.iter().flat_map(|person| secret_files::NAMES.iter().map(|name| person.join(name)));
        let own = [Some(places.home.as_path()), places.user_file.parent()].into_iter().flatten();
        let hidden = secrets.chain(own.map(Path::to_owned)).chain(files.hidden.iter().map(place));
        CommandAccess {
            writable: files.writable.iter().map(place).collect(),
            caches: places.tool_caches.iter().cloned().chain(files.caches.iter().map(place)).collect(),
            hidden: hidden.collect(),
            private_hosts: files.private_hosts,
            limits: ProcessLimits {
                processes: files.processes.unwrap_or(ProcessLimits::default().processes),
                file_bytes: files.file_size.map(|megabytes| u64::from(megabytes) << 20),
                memory_bytes: files.memory.map(|megabytes| u64::from(megabytes) << 20),
            },
        }
    }

    /// The limits in force. An option replaces the profile's limit, but cannot exceed a limit of the user's own
    /// configuration. The project's file can only lower a limit.
    pub fn limits(&self, profile: &Limits) -> Limits {
        let (rounds, tokens) = (|of: &Settings| of.max_rounds, |of: &Settings| of.max_tokens.map(u64::from));
        let (usd, seconds) =
            (|of: &Settings| of.max_cost.map(|usd| usd.0), |of: &Settings| of.max_time.map(u64::from));
        Limits {
            max_rounds: self.limit(rounds, profile.max_rounds),
            job_rounds: self.limit(rounds, profile.job_rounds),
            budget: Budget {
                requests: profile.budget.requests,
                tokens: self.limit(tokens, profile.budget.tokens),
                usd: self.limit(usd, profile.budget.usd),
                seconds: self.limit(seconds, profile.budget.seconds),
            },
            evidence: self.effective().evidence.unwrap_or(profile.evidence),
            check: self.effective().check.or_else(|| profile.check.clone()),
            waits: self.effective().wait.unwrap_or(profile.waits),
            max_wait: self.effective().wait_limit.map_or(profile.max_wait, u64::from),
            ..profile.clone()
        }
    }

    fn limit<T: PartialOrd + Default>(
        &self,
        of: impl Fn(&Settings) -> Option<T>,
        profile: Option<T>,
    ) -> Option<T> {
        // 0 stands for the profile's limit; in the profile, 0 stands for no limit.
        let is_limit = |limit: &T| *limit > T::default();
        let own = || of(&self.configured());
        let wanted = of(&self.flags).or(own()).filter(is_limit).or(profile);
        let limits = [wanted, own(), of(&self.project.settings())].into_iter().flatten().filter(is_limit);
        limits.reduce(|lowest, limit| if limit < lowest { limit } else { lowest })
    }

    /// The rules in the order in which they are tried: deny, ask, allow. In each group, Haft's own rules come last.
    pub fn policy(&self, places: &Places) -> Result<Policy, ConfigError> {
        let Rules { deny, ask, allow, .. } = &self.user.rules;
        let own = own_rules(places);
        let of_claude =
            |list: fn(&Rules) -> &Vec<String>| self.claude.iter().map(move |claude| list(&claude.rules));
        let denied =
            [deny, &self.project.rules.deny, &own.deny].into_iter().chain(of_claude(|rules| &rules.deny));
        let asked = [ask, &self.project.rules.ask].into_iter().chain(of_claude(|rules| &rules.ask));
        let parsed = denied
            .map(|rules| (Ruling::Deny, rules))
            .chain(asked.map(|rules| (Ruling::Ask, rules)))
            .chain([(Ruling::Allow, allow), (Ruling::Ask, &own.ask)])
            .flat_map(|(ruling, rules)| rules.iter().map(move |rule| Rule::parse(ruling, rule)));
        Ok(Policy { rules: parsed.collect::<Result<_, _>>()?, mode: self.mode() })
    }

    /// The profile that the user names, with the user's settings of tools and limits.
    pub fn profile(&self) -> Result<Profile, ConfigError> {
        let mut profile = self.named_profile()?;
        overlay(&mut profile.tools, &self.user.tools);
        if !self.user.rules.only.is_empty() {
            let only = self.user.rules.only.iter().map(|rule| Rule::parse(Ruling::Only, rule));
            profile.rules.only = only.collect::<Result<_, _>>()?;
        }
        profile.limits = self.limits(&profile.limits);
        Ok(profile)
    }

    /// The profile as its author wrote it, without the user's settings.
    fn named_profile(&self) -> Result<Profile, ConfigError> {
        let name = self.effective().profile.unwrap_or_else(|| "default".to_owned());
        if let Some(profile) = Profile::named(&name) {
            return Ok(profile);
        }
        if !name.ends_with(".toml") {
            let known =
                Profile::all().iter().map(|profile| format!("`{}`", profile.name)).collect::<Vec<_>>();
            let message =
                format!("there is no profile `{name}`; there are {}, or name a TOML file", known.join(", "));
            return Err(self.wrong_value("profile", message));
        }
        let path = PathBuf::from(name);
        let text = untrusted_file::read(&path, None)
            .map_err(|source| ConfigError::Unreadable { path: path.clone(), source })?;
        Profile::parse(&text).map_err(|error| ConfigError::Wrong { path, message: told(&error, &text) })
    }
}

/// Linux takes no lower limit of processes for a namespace.
const FEWEST_PROCESSES: u32 = 301;

/// The settings that the `HAFT_*` variables hold.
fn variables(environment: &Environment) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    for setting in SETTINGS {
        let name = setting.variable();
        if let Some(word) = environment.get(&name) {
            settings.set(setting.key, word).map_err(|message| ConfigError::Value { what: name, message })?;
        }
    }
    Ok(settings)
}

/// Checks of the user's file what its types cannot express.
fn check_user(path: &Path, text: &str, user: &UserFile) -> Result<(), ConfigError> {
    let Rules { deny, only, ask, allow } = &user.rules;
    check_rules(path, text, Ruling::Ask, [deny, ask, allow])?;
    check_rules(path, text, Ruling::Only, [only])?;
    check_tools(path, &user.tools)?;
    match values::wrong_value(user, text) {
        Some(message) => Err(ConfigError::Wrong { path: path.to_owned(), message }),
        None => Ok(()),
    }
}

/// Checks that each rule can be parsed; the error names the file and the line.
fn check_rules<const N: usize>(
    path: &Path,
    text: &str,
    ruling: Ruling,
    lists: [&Vec<String>; N],
) -> Result<(), ConfigError> {
    lists.into_iter().flatten().try_for_each(|rule| match Rule::parse(ruling, rule) {
        Ok(_) => Ok(()),
        Err(error) => Err(ConfigError::Wrong {
            path: path.to_owned(),
            message: origin::at_line_of(rule, text, &error.to_string()),
        }),
    })
}

fn check_tools(path: &Path, tools: &toml::Table) -> Result<(), ConfigError> {
    let settings: Result<haft_tools::Settings, toml::de::Error> = tools.clone().try_into();
    let wrong = |error: toml::de::Error| ConfigError::Wrong {
        path: path.to_owned(),
        message: format!("[tools]: {}", error.message()),
    };
    settings.map(|_| ()).map_err(wrong)
}

/// Values of `over` replace those of `table`, in nested tables as well.
fn overlay(table: &mut toml::Table, over: &toml::Table) {
    for (key, value) in over {
        match (table.get_mut(key), value) {
            (Some(toml::Value::Table(inner)), toml::Value::Table(over)) => overlay(inner, over),
            _ => {
                table.insert(key.clone(), value.clone());
            }
        }
    }
}

/// The path of the project's configuration file.
pub fn project_file(workspace: &Path) -> PathBuf {
    workspace.join(".haft").join("config.toml")
}

/// Haft's own rules. They guard keys, and the files through which a repository starts programs.
fn own_rules(places: &Places) -> Rules {
    let secret =
        |folder: &str| places.person.as_ref().map(|home| format!("read:{}/**", home.join(folder).display()));
    // Tokens, the users of a server, the log of their requests, and its saved responses.
    let served = ["serve-*", "mcp-token"].map(|file| places.home.join(file));
    let kept = [&places.keys_file, &places.mcp_logins_file].into_iter().chain(&served);
    let kept = kept.flat_map(|file| ["read", "write"].map(|effect| format!("{effect}:{}", file.display())));
    let secrets = [".ssh", ".gnupg", ".aws"].into_iter().filter_map(secret);
    let deny = secrets.chain(kept).collect();
    let of_git = ["write:**/.git/hooks/**", "write:**/.git/config"].map(str::to_owned);
    // Instructions and permissions of later sessions. The name itself is guarded, too: it could be replaced by a link
    // to another folder.
    let of_agents = SYSTEMS.iter().map(|row| format!("write:**/{}", row.project));
    let ask = of_git.into_iter().chain(of_agents).collect();
    Rules { deny, ask, ..Rules::default() }
}

/// Reads a file of the user. A file that does not exist sets nothing.
///
/// # Errors
///
/// If it cannot be read, or its content is invalid; the error names the line.
pub fn read_file<T: Default + for<'a> Deserialize<'a>>(path: &Path) -> Result<T, ConfigError> {
    read(path).map(|(found, _)| found)
}

/// Reads a file; returns its settings and its text. A file that does not exist has no settings.
fn read<T: Default + for<'a> Deserialize<'a>>(path: &Path) -> Result<(T, String), ConfigError> {
    let bytes = match untrusted_file::bytes(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
        Err(source) => return Err(ConfigError::Unreadable { path: path.to_owned(), source }),
    };
    let wrong = |message: String| ConfigError::Wrong { path: path.to_owned(), message };
    let text = str::from_utf8(&bytes).map_err(|error| {
        wrong(format!("line {}: it is not UTF-8", origin::line_of_bad_byte(&bytes, error.valid_up_to())))
    })?;
    let found = toml::from_str(text).map_err(|error| wrong(told(&error, text)))?;
    Ok((found, text.to_owned()))
}

/// The error as text: `line 3: unknown field …`
fn told(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    match line {
        Some(line) => format!("line {line}: {}", plain(error.message())),
        None => plain(error.message()),
    }
}

#[cfg(test)]
impl Config {
    /// Makes a configuration of these two files, without reading any file.
    pub fn of(user: UserFile, project: ProjectFile) -> Self {
        Self { user, project, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, num::NonZeroU64};

    fn loaded(user: &str, project: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
        typed(user, project, variables, &Settings::default())
    }

    fn typed(
        user: &str,
        project: &str,
        variables: &[(&str, &str)],
        flags: &Settings,
    ) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("repo");
        fs::create_dir_all(workspace.join(".haft")).unwrap();
        fs::write(project_file(&workspace), project).unwrap();
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let environment = Environment { variables: variables.collect() };
        let user_file = folder.path().join("config.toml");
        fs::write(&user_file, user).unwrap();
        let places = Places { user_file, ..Places::of(&environment).ok().unwrap() };
        Config::load(&places, &environment, &workspace, flags)
            .map_err(|error| error.to_string().replace(&folder.path().display().to_string(), ""))
    }

    #[test]
    fn a_broken_file_is_told_with_its_line_and_what_was_expected() {
        let table = [
            (
                "modle = 1",
                "",
                "`/config.toml`: line 1: unknown field `modle`, expected one of `model`, `effort`",
            ),
            (
                "\npermission = \"all\"",
                "",
                "`/config.toml`: line 2: unknown variant `all`, expected one of `read-only`",
            ),
            ("model = ", "", "`/config.toml`: line 1: "),
            (
                "",
                "model = \"openai/x\"",
                "`/repo/.haft/config.toml`: line 1: unknown field `model`, expected one of `permission`",
            ),
            (
                "",
                "[rules]\nallow = [\"execute:*\"]",
                "`/repo/.haft/config.toml`: line 2: unknown field `allow`",
            ),
            (
                "",
                "[[hooks]]\nevent = \"turn_start\"\ncommand = \"x\"",
                "`/repo/.haft/config.toml`: line 1: a project may not define hooks; define them in your own file",
            ),
            (
                "",
                "[telegram]\nusers = [1]",
                "`/repo/.haft/config.toml`: line 1: unknown field `telegram`, expected one of `permission`",
            ),
            (
                "model = \"a/b\"\n[rules]\ndeny = [\n\"foo:bar\"]",
                "",
                "`/config.toml`: line 4: cannot read the rule `foo:bar`",
            ),
            ("", "[rules]\nask = [\"ls\"]", "`/repo/.haft/config.toml`: line 2: cannot read the rule `ls`"),
            (
                "[tools.fetch]\nallow_privat = true",
                "",
                "`/config.toml`: [tools]: unknown field `allow_privat`",
            ),
            ("max_cost = inf", "", "`/config.toml`: line 1: expected an amount above 0, found inf"),
            (
                "max_time = 0",
                "",
                "`/config.toml`: line 1: invalid value: integer `0`, expected a whole number above 0",
            ),
            ("\nmax_cost = -1", "", "`/config.toml`: line 2: "),
            (
                "",
                "max_cost = nan",
                "`/repo/.haft/config.toml`: line 1: expected an amount above 0, found NaN",
            ),
            (
                "[models.\"a/b\"]\nprice = { input = -1.0, output = 1.0 }",
                "",
                "`/config.toml`: line 2: expected an amount of at least 0, found -1",
            ),
            ("[timeouts]\nidle = 0", "", "`/config.toml`: line 2: expected seconds from 1 to 86400, found 0"),
            (
                "[[hooks]]\nevent = \"before\"",
                "",
                "`/config.toml`: line 2: unknown variant `before`, expected one of `before_tool`",
            ),
        ];
        for (user, project, expected) in table {
            let told = loaded(user, project, &[]).unwrap_err();
            assert!(told.starts_with(expected), "{told}");
        }
        let ends = [
            ("modle = 1", "", "; did you mean `model`?"),
            ("", "model = \"openai/x\"", "; it belongs in `/config.toml`"),
            ("", "[rules]\ndeny = \"x\"", "expected a list, such as [\"a\"]"),
        ];
        for (user, project, expected) in ends {
            let told = loaded(user, project, &[]).unwrap_err();
            assert!(told.trim_end().ends_with(expected), "{told}");
        }
        assert!(
            loaded("", "", &[("HAFT_PERMISSION", "x")])
                .unwrap_err()
                .starts_with("HAFT_PERMISSION: `x` is invalid")
        );
    }

    #[test]
    fn a_profile_that_is_not_there_is_told_of_whoever_named_it() {
        let table = [
            ("\nprofile = \"nope\"", &[][..], None, "/config.toml`: line 2: there is no profile `nope`"),
            ("", &[("HAFT_PROFILE", "nope")], None, "HAFT_PROFILE: there is no profile `nope`"),
            ("profile = \"nope\"", &[], Some("none"), "--profile: there is no profile `none`"),
        ];
        for (user, variables, flag, expected) in table {
            let flags = Settings { profile: flag.map(str::to_owned), ..Settings::default() };
            let told = typed(user, "", variables, &flags).unwrap().profile().unwrap_err().to_string();
            assert!(told.contains(expected), "{told}");
        }
    }

    #[test]
    fn settings_of_tools_stand_over_those_of_the_profile() {
        let user = "profile = \"alfred\"\n[tools.fetch]\nallow_private = true";
        let tools = loaded(user, "", &[]).unwrap().profile().unwrap().tools;
        assert_eq!(tools["fetch"]["allow_private"].as_bool(), Some(true));
        assert_eq!(tools["read"]["numbered"].as_bool(), Some(false));
    }

    #[test]
    fn a_file_that_is_not_utf_8_is_named_with_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        fs::write(&file, b"model = \"a/b\"\nprofile = \"\xff\"\n").unwrap();
        let told = read::<UserFile>(&file).unwrap_err().to_string();
        assert!(told.ends_with("config.toml`: line 2: it is not UTF-8"), "{told}");
    }

    #[test]
    fn a_project_narrows_and_never_widens() {
        let table = [
            ("permission = \"ask\"", "permission = \"full\"", None, Mode::Ask),
            ("permission = \"full\"", "permission = \"read-only\"", None, Mode::ReadOnly),
            ("", "permission = \"ask\"", Some(Mode::Full), Mode::Ask),
            ("permission = \"full\"", "", Some(Mode::ReadOnly), Mode::ReadOnly),
        ];
        for (user, project, permission, expected) in table {
            let flags = Settings { permission, ..Settings::default() };
            assert_eq!(typed(user, project, &[], &flags).unwrap().mode(), expected, "{user} {project}");
        }
    }

    #[test]
    fn what_is_typed_replaces_the_limit_of_the_profile_as_far_as_the_configuration_allows() {
        let table = [
            ("", "", None, 200, Some(200)),
            ("", "", Some(5000), 200, Some(5000)),
            ("", "", Some(7), 200, Some(7)),
            ("", "", Some(5000), 0, Some(5000)),
            ("", "", None, 0, None),
            ("max_rounds = 500", "", None, 200, Some(500)),
            ("max_rounds = 500", "", Some(5000), 200, Some(500)),
            ("max_rounds = 500", "max_rounds = 3", Some(7), 200, Some(3)),
            ("", "max_rounds = 3", Some(7), 200, Some(3)),
        ];
        for (user, project, flag, profile, expected) in table {
            let flags = Settings {
                max_rounds: flag,
                max_time: flag.map(u64::from).and_then(NonZeroU64::new),
                ..Settings::default()
            };
            let budget = Budget { seconds: Some(profile.into()), ..Budget::default() };
            let limits = Limits { max_rounds: Some(profile), budget, ..Limits::default() };
            let found = typed(user, project, &[], &flags).unwrap().limits(&limits).max_rounds;
            assert_eq!(found, expected, "{user} {project} {flag:?} {profile:?}");
            let [user, project] = [user, project].map(|text| text.replace("max_rounds", "max_time"));
            let found = typed(&user, &project, &[], &flags).unwrap().limits(&limits).budget.seconds;
            assert_eq!(found, expected.map(u64::from), "{user} {project} {flag:?} {profile:?}");
        }
    }

    #[test]
    fn zero_rounds_are_those_of_the_profile() {
        let limits = Limits::default();
        let variable = [("HAFT_MAX_ROUNDS", "0")];
        let table = [
            ("max_rounds = 0", &[][..], None),
            ("", &variable, None),
            ("", &[], Some(0)),
            ("max_rounds = 5000", &variable, None),
            ("max_rounds = 5000", &[], Some(0)),
        ];
        for (user, variables, flag) in table {
            let flags = Settings { max_rounds: flag, ..Settings::default() };
            assert_eq!(typed(user, "", variables, &flags).unwrap().limits(&limits), limits, "{user}");
        }
    }

    #[test]
    fn a_limit_that_is_none_is_an_error() {
        for name in ["HAFT_MAX_ROUNDS", "HAFT_MAX_COST", "HAFT_MAX_TOKENS", "HAFT_MAX_TIME"] {
            for word in ["-1", "x", "inf", "-inf", "nan", "1e400", "Infinity"] {
                assert!(loaded("", "", &[(name, word)]).is_err(), "{name} {word}");
            }
            assert_eq!(loaded("", "", &[(name, "0")]).is_ok(), name == "HAFT_MAX_ROUNDS", "{name}");
        }
    }

    #[test]
    fn variables_stand_over_files() {
        let config =
            loaded("model = \"a/b\"", "", &[("HAFT_MODEL", "c/d"), ("HAFT_PERMISSION", "full")]).unwrap();
        assert_eq!((config.effective().model.as_deref(), config.mode()), (Some("c/d"), Mode::Full));
    }
}
