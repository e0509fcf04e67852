//! [`Setting`]: describes a setting, and the macro that makes a table of settings into types.
use haft_core::{Mode, Network, Sandbox};
use haft_providers::Effort;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use std::num::NonZeroU64;

/// A row of the table of settings.
pub struct Setting {
    /// The key in files. The option is `--key`, the variable `HAFT_KEY`.
    pub key: &'static str,
    /// What it does, as `--help` and the documentation say it.
    pub help: &'static str,
    /// What stands for the value in `--help`.
    pub value: &'static str,
    /// The short option.
    pub short: Option<char>,
    /// Whether there is an option.
    pub has_flag: bool,
    /// Whether the project's file may narrow it.
    pub is_narrowed: bool,
    /// Whether the profile decides if the setting is not set.
    pub(super) is_of_profile: bool,
    /// The default.
    pub otherwise: &'static str,
    /// Whether the option alone sets it, without a value.
    pub is_switch: bool,
    /// The values that exist, each with what it does; empty if they cannot be listed.
    pub choices: fn() -> Vec<Choice>,
    /// Says why a word is not a value of this setting.
    pub check: fn(&str) -> Result<(), String>,
}

/// A value of a closed set, and what it does.
pub type Choice = (&'static str, &'static str);

impl Setting {
    /// The variable that sets it.
    pub fn variable(&self) -> String {
        format!("HAFT_{}", self.key.to_ascii_uppercase())
    }

    /// The option that sets it, without its value.
    pub fn flag(&self) -> String {
        format!("--{}", self.key.replace('_', "-"))
    }
}

/// The type of a setting: how it is written in variables and options, and how it is shown.
pub trait Value: Clone + Send + Sync + Serialize + 'static {
    /// Reads a variable or the value of an option.
    fn parse(word: &str) -> Result<Self, String>;

    /// Whether the option alone sets it.
    const IS_SWITCH: bool = false;

    /// The values that exist; empty if they cannot be listed.
    fn choices() -> Vec<Choice> {
        Vec::new()
    }
}

impl Value for String {
    fn parse(word: &str) -> Result<Self, String> {
        Ok(word.to_owned())
    }
}

/// Models as `PROVIDER/MODEL`: an array in files, with commas between them in variables and options.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelList(pub Vec<String>);

impl Value for ModelList {
    fn parse(word: &str) -> Result<Self, String> {
        let models = word.split(',').map(str::trim).filter(|model| !model.is_empty());
        Ok(Self(models.map(str::to_owned).collect()))
    }
}

impl Value for bool {
    fn parse(word: &str) -> Result<Self, String> {
        word.parse().map_err(|_| format!("`{word}` is neither `true` nor `false`"))
    }

    const IS_SWITCH: bool = true;
}

impl Value for u32 {
    fn parse(word: &str) -> Result<Self, String> {
        word.parse().map_err(|_| format!("`{word}` is not a whole number"))
    }
}

impl Value for NonZeroU64 {
    fn parse(word: &str) -> Result<Self, String> {
        word.parse().map_err(|_| format!("`{word}` is not a whole number above 0"))
    }
}

impl Value for Mode {
    fn parse(word: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(|mode| format!("`{}`", mode.name())).join(", ");
        Self::named(word).ok_or_else(|| format!("`{word}` is invalid: expected one of {}", names()))
    }

    fn choices() -> Vec<Choice> {
        Self::ALL.map(|mode| (mode.name(), summary(mode))).to_vec()
    }
}

impl Value for Sandbox {
    fn parse(word: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(|when| format!("`{}`", when.name())).join(", ");
        let found = Self::ALL.into_iter().find(|when| when.name() == word);
        found.ok_or_else(|| format!("`{word}` is invalid: expected one of {}", names()))
    }

    fn choices() -> Vec<Choice> {
        Self::ALL.map(|when| (when.name(), when_confined(when))).to_vec()
    }
}

impl Value for Network {
    fn parse(word: &str) -> Result<Self, String> {
        Self::parse(word)
    }
}

fn when_confined(when: Sandbox) -> &'static str {
    match when {
        Sandbox::Off => "Never; commands need approval",
        Sandbox::Auto => "If the system supports it",
        Sandbox::Require => "Always; fail if the system does not support it",
    }
}

impl Value for Effort {
    fn parse(word: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(|effort| format!("`{}`", effort.name())).join(", ");
        Self::named(word).ok_or_else(|| format!("`{word}` is invalid: expected one of {}", names()))
    }

    fn choices() -> Vec<Choice> {
        Self::ALL.map(|effort| (effort.name(), "")).to_vec()
    }
}

fn summary(mode: Mode) -> &'static str {
    match mode {
        Mode::ReadOnly => "Only read files in the workspace",
        Mode::Plan => "Read files, run commands whose changes are dropped, and make a plan that you accept",
        Mode::Ask => "Ask before everything except reading files in the workspace",
        Mode::AcceptEdits => "Also write files in the workspace without asking, except Git's own files",
        Mode::Full => "Allow everything",
    }
}

/// US dollars, above 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Dollars(pub f64);

impl Dollars {
    fn of(usd: f64) -> Option<Self> {
        (usd.is_finite() && usd > 0.0).then_some(Self(usd))
    }
}

impl Value for Dollars {
    fn parse(word: &str) -> Result<Self, String> {
        let usd = word.trim_start_matches('$').parse().ok().and_then(Self::of);
        usd.ok_or_else(|| format!("`{word}` is not an amount above 0 in US dollars, e.g., 0.50"))
    }
}

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let usd = f64::deserialize(from)?;
        Self::of(usd).ok_or_else(|| D::Error::custom(format!("expected an amount above 0, found {usd}")))
    }
}

/// Makes of one table the values of a layer (`Settings`), the types of both files, and a row of `SETTINGS` for each.
macro_rules! settings {
    (
        own { $($(#[doc = $own_help:literal])+ $own:ident: $own_type:ty { $($own_part:ident: $own_value:expr),* $(,)? },)* }
        narrowed { $($(#[doc = $help:literal])+ $key:ident: $type:ty { $($part:ident: $value:expr),* $(,)? },)* }
        tables { $($(#[$table_meta:meta])+ $table:ident: $table_type:ty,)* }
        project_tables { $($(#[$project_meta:meta])+ $project:ident: $project_type:ty,)* }
    ) => {
        /// What one layer says: the options, the variables, or a file.
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        pub struct Settings {
            $($(#[doc = $own_help])+ pub $own: Option<$own_type>,)*
            $($(#[doc = $help])+ pub $key: Option<$type>,)*
        }

        /// The person's own file.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields, default)]
        pub struct UserFile {
            $(#[cfg_attr(test, schemars(skip))] #[serde(skip_serializing)] $own: Option<$own_type>,)*
            $(#[cfg_attr(test, schemars(skip))] #[serde(skip_serializing)] $key: Option<$type>,)*
            $($(#[$table_meta])+ pub $table: $table_type,)*
        }

        /// The project's own file, `.haft/config.toml`.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields, default)]
        pub struct ProjectFile {
            $(#[cfg_attr(test, schemars(skip))] #[serde(skip_serializing)] $key: Option<$type>,)*
            $($(#[$project_meta])+ pub $project: $project_type,)*
        }

        impl UserFile {
            /// What it says of settings.
            pub(super) fn settings(&self) -> Settings {
                Settings { $($own: self.$own.clone(),)* $($key: self.$key.clone(),)* }
            }
        }

        impl ProjectFile {
            /// What it says of settings.
            pub(super) fn settings(&self) -> Settings {
                Settings { $($key: self.$key.clone(),)* ..Settings::default() }
            }
        }

        impl Settings {
            /// This value, or the value of `below` if this one is not set.
            pub(super) fn over(self, below: Self) -> Self {
                Self { $($own: self.$own.or(below.$own),)* $($key: self.$key.or(below.$key),)* }
            }

            /// The value of `key`, as the files write it.
            pub(super) fn value(&self, key: &str) -> Option<toml::Value> {
                match key {
                    $(stringify!($own) => in_toml(&self.$own),)*
                    $(stringify!($key) => in_toml(&self.$key),)*
                    _ => unreachable!("every key has a row"),
                }
            }

            /// Reads `word` as the value of `key`.
            pub fn set(&mut self, key: &str, word: &str) -> Result<(), String> {
                match key {
                    $(stringify!($own) => self.$own = Some(<$own_type>::parse(word)?),)*
                    $(stringify!($key) => self.$key = Some(<$type>::parse(word)?),)*
                    _ => unreachable!("every key has a row"),
                }
                Ok(())
            }
        }

        /// Every setting that is one value.
        pub static SETTINGS: &[Setting] = &[
            $(Setting {
                $($own_part: $own_value,)*
                ..Setting::of(stringify!($own), concat!($($own_help),+), false, Kind::of::<$own_type>())
            },)*
            $(Setting {
                $($part: $value,)*
                ..Setting::of(stringify!($key), concat!($($help),+), true, Kind::of::<$type>())
            },)*
        ];
    };
}
pub(super) use settings;

/// A value as the files write it.
pub(super) fn in_toml(value: &Option<impl Value>) -> Option<toml::Value> {
    value.as_ref().and_then(|value| toml::Value::try_from(value).ok())
}

/// What a [`Setting`] knows of its type.
pub(super) struct Kind {
    is_switch: bool,
    choices: fn() -> Vec<Choice>,
    check: fn(&str) -> Result<(), String>,
}

impl Kind {
    pub(super) const fn of<T: Value>() -> Self {
        Self { is_switch: T::IS_SWITCH, choices: T::choices, check: |word| T::parse(word).map(|_| ()) }
    }
}

impl Setting {
    pub(super) const fn of(key: &'static str, help: &'static str, is_narrowed: bool, kind: Kind) -> Self {
        let Kind { is_switch, choices, check } = kind;
        Self {
            key,
            help: help.trim_ascii_start(),
            value: "",
            short: None,
            has_flag: true,
            is_narrowed,
            is_of_profile: false,
            otherwise: "",
            is_switch,
            choices,
            check,
        }
    }
}
