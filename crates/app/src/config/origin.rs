//! [`Origin`]: where a value was set, for `haft config show` and for errors.
use super::{Config, ConfigError, Dollars, Setting, Settings, settings::setting};
use haft_core::{Mode, Rule, Ruling};
use haft_engine::Profile;
use std::{
    num::NonZeroU64,
    path::{Path, PathBuf},
};

/// The texts of the files as read.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    pub(super) file: PathBuf,
    pub(super) text: String,
    pub(super) project: PathBuf,
}

impl Config {
    /// The value of a setting and where it was set. There is no value if something other than a setting decides.
    pub fn in_force(&self, setting: &Setting, profile: &Profile) -> (Option<toml::Value>, String) {
        let value = self.all_in_force(profile).value(setting.key);
        let says_so = |layer: &Settings| value.is_some() && layer.value(setting.key) == value;
        let origin = match () {
            () if [&self.flags, &self.variables, &self.user.settings()].into_iter().any(says_so) => {
                self.who_says(setting)
            }
            () if says_so(&self.project.settings()) => self.origin.project.display().to_string(),
            () if value.is_some() && setting.is_of_profile => format!("the profile `{}`", profile.name),
            () => "default".to_owned(),
        };
        (value, origin)
    }

    /// A rule and its source: the file and its line, the profile, or Haft itself.
    pub fn told_of(&self, rule: &Rule, profile: &Profile) -> String {
        let (text, ruling) = (rule.text(), rule.ruling());
        let (user, project) = (&self.user.rules, &self.project.rules);
        let (mine, theirs): (&[String], &[String]) = match ruling {
            Ruling::Deny => (&user.deny, &project.deny),
            Ruling::Ask => (&user.ask, &project.ask),
            Ruling::Allow => (&user.allow, &[]),
            Ruling::Only => (&user.only, &[]),
        };
        let has = |rules: &[String]| rules.iter().any(|known| known == text);
        let of_claude = self.claude.iter().find(|claude| match ruling {
            Ruling::Deny => has(&claude.rules.deny),
            Ruling::Ask => has(&claude.rules.ask),
            Ruling::Allow | Ruling::Only => false,
        });
        let of_profile =
            || profile.rules.deny.iter().chain(&profile.rules.only).any(|known| known.text() == text);
        let place = match () {
            () if has(mine) => {
                let line = line_of(text, &self.origin.text).map(|line| format!(": line {line}"));
                format!("`{}`{}", self.origin.file.display(), line.unwrap_or_default())
            }
            () if has(theirs) => format!("`{}`", self.origin.project.display()),
            () if of_claude.is_some() => {
                of_claude.map(|claude| format!("`{}`", claude.file.display())).unwrap_or_default()
            }
            () if of_profile() => format!("the profile `{}`", profile.name),
            () => "built in".to_owned(),
        };
        format!("the rule `{} = \"{text}\"` ({place})", ruling.name())
    }

    /// The mode in the project's file, if it would be wider than the user's and so is refused.
    pub fn refused_mode(&self) -> Option<Mode> {
        self.project.settings().permission.filter(|theirs| *theirs > self.mode())
    }

    /// The user's file.
    pub fn user_file(&self) -> &Path {
        &self.origin.file
    }

    /// The project's file.
    pub fn project_file(&self) -> &Path {
        &self.origin.project
    }

    fn all_in_force(&self, profile: &Profile) -> Settings {
        let (limits, said) = (&profile.limits, self.effective());
        let positive = |limit: Option<u64>| limit.and_then(NonZeroU64::new);
        Settings {
            profile: said.profile.or_else(|| Some(profile.name.clone())),
            evidence: Some(limits.evidence),
            check: limits.check.clone(),
            permission: Some(self.mode()),
            max_rounds: limits.max_rounds,
            max_cost: limits.budget.usd.map(Dollars),
            max_tokens: positive(limits.budget.tokens),
            max_time: positive(limits.budget.seconds),
            ..said
        }
    }

    /// The error that the value of the setting `key` cannot be used; it names where the value is set.
    ///
    /// # Panics
    ///
    /// If there is no such setting.
    pub fn wrong_value(&self, key: &str, message: impl Into<String>) -> ConfigError {
        ConfigError::Value { what: self.who_says(setting(key)), message: message.into() }
    }

    /// Where the user sets `setting`: the option, the variable, or the file and its line.
    pub(super) fn who_says(&self, setting: &Setting) -> String {
        let file = self.origin.file.display();
        match line_of_key(&self.origin.text, setting.key) {
            _ if self.flags.value(setting.key).is_some() => setting.flag(),
            _ if self.variables.value(setting.key).is_some() => setting.variable(),
            Some(line) => format!("`{file}`: line {line}"),
            None => format!("`{file}`"),
        }
    }
}

/// The line, counted from 1, that sets the key `key` outside of all tables.
pub(super) fn line_of_key(text: &str, key: &str) -> Option<usize> {
    let outside = text.lines().take_while(|line| !line.trim_start().starts_with('['));
    let sets = |line: &str| {
        line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    outside.map(sets).position(|sets| sets).map(|line| line + 1)
}

/// `message` prefixed with `line 3: …` if `words` occur on that line, as they are or in TOML's escapes; otherwise the
/// message alone.
pub(super) fn at_line_of(words: &str, text: &str, message: &str) -> String {
    match line_of(words, text) {
        Some(line) => format!("line {line}: {message}"),
        None => message.to_owned(),
    }
}

/// The line, counted from 1, that contains `words`, as they are or in TOML's escapes.
fn line_of(words: &str, text: &str) -> Option<usize> {
    let quoted = toml::Value::from(words).to_string();
    let has = |line: &str| line.contains(&quoted) || line.contains(words);
    text.lines().position(has).map(|line| line + 1)
}

/// The line with the first byte that is not valid UTF-8.
pub(super) fn line_of_bad_byte(bytes: &[u8], valid: usize) -> usize {
    bytes[..valid].iter().filter(|byte| **byte == b'\n').count() + 1
}
