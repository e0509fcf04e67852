//! Configuration: flags over `HAFT_*` variables over the project's file over the person's file over the profile.
//!
//! The project's own file comes with the repository, which nobody vouches for: it can narrow what the person allows,
//! never widen it, and never choose who is asked or what is started.
mod environment;
mod error;
mod files;
mod hidden;
mod origin;
mod places;
mod timeouts;

pub(crate) use environment::Environment;
pub(crate) use error::ConfigError;
pub(crate) use files::{ProjectFile, Rules, UserFile};
pub(crate) use hidden::hide_keys;
pub(crate) use origin::Origin;
pub(crate) use places::Places;

use crate::untrusted_file;
use haft::{
    engine::Profile,
    kernel::{Budget, Mode, Policy, Rule, Ruling},
};
use serde::Deserialize;
use std::{
    io,
    path::{Path, PathBuf},
    str::FromStr,
};

/// All layers merged, flags not yet.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The person's file and the variables.
    pub(crate) user: UserFile,
    /// The project's file.
    pub(crate) project: ProjectFile,
    /// Where the person's values come from.
    pub(crate) origin: Origin,
}

impl Config {
    /// Reads the person's and the project's file and the `HAFT_*` variables.
    pub(crate) fn load(
        places: &Places,
        environment: &Environment,
        workspace: &Path,
    ) -> Result<Self, ConfigError> {
        let (mut user, person): (UserFile, String) = read(&places.user_file)?;
        let Rules { deny, ask, allow } = &user.rules;
        check_rules(&places.user_file, &person, [deny, ask, allow])?;
        check_tools(&places.user_file, &user.tools)?;
        let file = project_file(workspace);
        let (project, theirs): (ProjectFile, String) = read(&file)?;
        check_rules(&file, &theirs, [&project.rules.deny, &project.rules.ask])?;
        let variables = VARIABLES.into_iter().filter(|name| environment.get(name).is_some()).collect();
        let origin = Origin { file: places.user_file.clone(), text: person, variables };
        let text = |name: &str| environment.get(name).map(str::to_owned);
        user.model = text("HAFT_MODEL").or(user.model);
        user.profile = text("HAFT_PROFILE").or(user.profile);
        if let Some(word) = environment.get("HAFT_PERMISSION") {
            user.permission = Some(mode("HAFT_PERMISSION", word)?);
        }
        user.max_rounds = number(environment, "HAFT_MAX_ROUNDS", |_| true)?.or(user.max_rounds);
        user.max_cost = number(environment, "HAFT_MAX_COST", |usd: &f64| usd.is_finite())?.or(user.max_cost);
        user.max_tokens = number(environment, "HAFT_MAX_TOKENS", |_| true)?.or(user.max_tokens);
        user.max_time = number(environment, "HAFT_MAX_TIME", |_| true)?.or(user.max_time);
        Ok(Self { user, project, origin })
    }

    /// The mode in force: what the person says, and no wider than the project's file.
    pub(crate) fn mode(&self, flag: Option<Mode>) -> Mode {
        let wanted = flag.or(self.user.permission).unwrap_or_default();
        self.project.permission.map_or(wanted, |narrow| narrow.min(wanted))
    }

    /// The limit of rounds in force: the person's file may say another one than the profile, a flag and the project's
    /// file only a lower one.
    pub(crate) fn max_rounds(&self, flag: Option<u32>, profile: Option<u32>) -> Option<u32> {
        lowest([flag, self.user.max_rounds.or(profile), self.project.max_rounds])
    }

    /// The same for what a turn may cost.
    pub(crate) fn budget(&self, flags: Budget, profile: Budget) -> Budget {
        let (user, project) = (&self.user, &self.project);
        Budget {
            requests: profile.requests,
            tokens: lowest([flags.tokens, user.max_tokens.or(profile.tokens), project.max_tokens]),
            usd: lowest([flags.usd, user.max_cost.or(profile.usd), project.max_cost]),
            seconds: lowest([flags.seconds, user.max_time.or(profile.seconds), project.max_time]),
        }
    }

    /// Rules in the order in which they are tried: what denies, what asks, what allows; ours last.
    pub(crate) fn policy(&self, places: &Places, flag: Option<Mode>) -> Result<Policy, ConfigError> {
        let Rules { deny, ask, allow } = &self.user.rules;
        let own = own_rules(places);
        let all = [
            (Ruling::Deny, deny),
            (Ruling::Deny, &self.project.rules.deny),
            (Ruling::Deny, &own.deny),
            (Ruling::Ask, ask),
            (Ruling::Ask, &self.project.rules.ask),
            (Ruling::Allow, allow),
            (Ruling::Ask, &own.ask),
        ];
        let parsed = all
            .into_iter()
            .flat_map(|(ruling, rules)| rules.iter().map(move |rule| Rule::parse(ruling, rule)));
        Ok(Policy { rules: parsed.collect::<Result<_, _>>()?, mode: self.mode(flag) })
    }

    /// The profile that `flag`, a variable or the person's file names: built in, or a TOML file.
    pub(crate) fn profile(&self, flag: Option<&str>) -> Result<Profile, ConfigError> {
        let mut profile = self.named_profile(flag)?;
        overlay(&mut profile.tools, &self.user.tools);
        Ok(profile)
    }

    fn named_profile(&self, flag: Option<&str>) -> Result<Profile, ConfigError> {
        let name = flag.or(self.user.profile.as_deref()).unwrap_or("default");
        if let Some(profile) = Profile::named(name) {
            return Ok(profile);
        }
        let path = PathBuf::from(name);
        if !name.ends_with(".toml") {
            let known =
                Profile::all().iter().map(|profile| format!("`{}`", profile.name)).collect::<Vec<_>>();
            let message =
                format!("there is no profile `{name}`; there are {}, or name a TOML file", known.join(", "));
            return Err(self.no_profile(flag, message));
        }
        let text = untrusted_file::read(&path, None)
            .map_err(|source| ConfigError::Unreadable { path: path.clone(), source })?;
        Profile::parse(&text).map_err(|error| ConfigError::Wrong { path, message: told(&error, &text) })
    }
}

impl Config {
    /// Said of whoever named the profile.
    fn no_profile(&self, flag: Option<&str>, message: String) -> ConfigError {
        let path = self.origin.file.clone();
        match origin::line_of_key(&self.origin.text, "profile") {
            _ if flag.is_some() => value("--profile", message),
            _ if self.origin.is_variable("HAFT_PROFILE") => value("HAFT_PROFILE", message),
            Some(line) => ConfigError::Wrong { path, message: format!("line {line}: {message}") },
            None => ConfigError::Wrong { path, message },
        }
    }
}

/// Those that stand over the person's file.
const VARIABLES: [&str; 7] = [
    "HAFT_MODEL",
    "HAFT_PROFILE",
    "HAFT_PERMISSION",
    "HAFT_MAX_ROUNDS",
    "HAFT_MAX_COST",
    "HAFT_MAX_TOKENS",
    "HAFT_MAX_TIME",
];

/// Each can be read; else the file and the line are told.
fn check_rules<const N: usize>(path: &Path, text: &str, lists: [&Vec<String>; N]) -> Result<(), ConfigError> {
    lists.into_iter().flatten().try_for_each(|rule| match Rule::parse(Ruling::Ask, rule) {
        Ok(_) => Ok(()),
        Err(error) => Err(ConfigError::Wrong {
            path: path.to_owned(),
            message: origin::at_line_of(rule, text, &error.to_string()),
        }),
    })
}

fn check_tools(path: &Path, tools: &toml::Table) -> Result<(), ConfigError> {
    let settings: Result<haft::tools::Settings, toml::de::Error> = tools.clone().try_into();
    let wrong = |error: toml::de::Error| ConfigError::Wrong {
        path: path.to_owned(),
        message: format!("[tools]: {}", error.message()),
    };
    settings.map(|_| ()).map_err(wrong)
}

/// What `over` says stands in place of what `table` does, table by table.
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

/// The lowest limit; none, and 0 of a file or a profile, are not a limit.
fn lowest<T: PartialOrd + Default>(limits: [Option<T>; 3]) -> Option<T> {
    let limits = limits.into_iter().flatten().filter(|limit| *limit > T::default());
    limits.reduce(|lowest, limit| if limit < lowest { limit } else { lowest })
}

/// The project's own file.
pub(crate) fn project_file(workspace: &Path) -> PathBuf {
    workspace.join(".haft").join("config.toml")
}

/// What nobody should lose by accident: keys, and the files through which a repository starts programs.
fn own_rules(places: &Places) -> Rules {
    let secret =
        |folder: &str| places.person.as_ref().map(|home| format!("read:{}/**", home.join(folder).display()));
    let deny = [".ssh", ".gnupg", ".aws"].into_iter().filter_map(secret).collect();
    let ask =
        ["write:**/.git/hooks/**", "write:**/.git/config", "write:**/.haft/**"].map(str::to_owned).to_vec();
    Rules { deny, ask, allow: Vec::new() }
}

/// What the file says, and its text. One that is not there says nothing.
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

/// `line 3: unknown field …`
fn told(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    match line {
        Some(line) => format!("line {line}: {}", error.message()),
        None => error.message().to_owned(),
    }
}

/// A number above 0 that `is_limit`.
fn number<T: FromStr + PartialOrd + Default>(
    environment: &Environment,
    name: &str,
    is_limit: impl Fn(&T) -> bool,
) -> Result<Option<T>, ConfigError> {
    let Some(word) = environment.get(name) else { return Ok(None) };
    let limit = word.parse().ok().filter(|limit| *limit > T::default() && is_limit(limit));
    limit
        .map(Some)
        .ok_or_else(|| value(name, format!("`{word}` is not a number above 0 of the kind expected")))
}

fn mode(what: &str, word: &str) -> Result<Mode, ConfigError> {
    serde_json::from_value(word.into())
        .map_err(|_| value(what, format!("`{word}` is none of `ask`, `accept-edits`, `full`, `read-only`")))
}

fn value(what: &str, message: String) -> ConfigError {
    ConfigError::Value { what: what.to_owned(), message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn loaded(user: &str, project: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("repo");
        fs::create_dir_all(workspace.join(".haft")).unwrap();
        fs::write(project_file(&workspace), project).unwrap();
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let environment = Environment { variables: variables.collect() };
        let user_file = folder.path().join("config.toml");
        fs::write(&user_file, user).unwrap();
        let places = Places { user_file, ..Places::of(&environment).ok().unwrap() };
        Config::load(&places, &environment, &workspace)
            .map_err(|error| error.to_string().replace(&folder.path().display().to_string(), ""))
    }

    #[test]
    fn a_broken_file_is_told_with_its_line_and_what_was_expected() {
        let table = [
            (
                "modle = 1",
                "",
                "`/config.toml`: line 1: unknown field `modle`, expected one of `model`, `permission`",
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
                "`/repo/.haft/config.toml`: line 1: a project may not have hooks; they stand in the person's own file",
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
            ("max_cost = inf", "", "`/config.toml`: line 1: expected an amount of at least 0, found inf"),
            ("\nmax_cost = -1", "", "`/config.toml`: line 2: "),
            (
                "",
                "max_cost = nan",
                "`/repo/.haft/config.toml`: line 1: expected an amount of at least 0, found NaN",
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
        assert!(
            loaded("", "", &[("HAFT_PERMISSION", "x")])
                .unwrap_err()
                .starts_with("HAFT_PERMISSION: `x` is none of")
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
            let told = loaded(user, "", variables).unwrap().profile(flag).unwrap_err().to_string();
            assert!(told.contains(expected), "{told}");
        }
    }

    #[test]
    fn settings_of_tools_stand_over_those_of_the_profile() {
        let config = loaded("[tools.fetch]\nallow_private = true", "", &[]).unwrap();
        let tools = config.profile(Some("alfred")).unwrap().tools;
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
        for (user, project, flag, expected) in table {
            assert_eq!(loaded(user, project, &[]).unwrap().mode(flag), expected, "{user} {project}");
        }
        let config = loaded("max_rounds = 50", "max_rounds = 5", &[]).unwrap();
        assert_eq!(config.max_rounds(None, Some(200)), Some(5));
    }

    #[test]
    fn a_flag_lowers_a_limit_and_never_raises_it() {
        let table = [
            ("", "", None, Some(200), Some(200)),
            ("", "", Some(5000), Some(200), Some(200)),
            ("", "", Some(7), Some(200), Some(7)),
            ("", "", Some(5000), Some(0), Some(5000)),
            ("max_rounds = 500", "", None, Some(200), Some(500)),
            ("max_rounds = 500", "", Some(5000), Some(200), Some(500)),
            ("max_rounds = 0", "", None, Some(200), None),
            ("max_rounds = 500", "max_rounds = 3", Some(7), Some(200), Some(3)),
        ];
        for (user, project, flag, profile, expected) in table {
            let config = loaded(user, project, &[]).unwrap();
            assert_eq!(config.max_rounds(flag, profile), expected, "{user} {project} {flag:?} {profile:?}");
            let budget =
                |seconds: Option<u32>| Budget { seconds: seconds.map(u64::from), ..Budget::default() };
            let [user, project] = [user, project].map(|text| text.replace("max_rounds", "max_time"));
            let found = loaded(&user, &project, &[]).unwrap().budget(budget(flag), budget(profile));
            assert_eq!(found.seconds, expected.map(u64::from), "{user} {project} {flag:?} {profile:?}");
        }
        for name in ["HAFT_MAX_ROUNDS", "HAFT_MAX_COST", "HAFT_MAX_TOKENS", "HAFT_MAX_TIME"] {
            for word in ["0", "-1", "x", "inf", "-inf", "nan", "1e400", "Infinity"] {
                assert!(loaded("", "", &[(name, word)]).is_err(), "{name} {word}");
            }
        }
    }

    #[test]
    fn variables_stand_over_files() {
        let config =
            loaded("model = \"a/b\"", "", &[("HAFT_MODEL", "c/d"), ("HAFT_PERMISSION", "full")]).unwrap();
        assert_eq!((config.user.model.as_deref(), config.mode(None)), (Some("c/d"), Mode::Full));
    }
}
