//! [`KeptKeys`]: the vendors' keys that `haft login` saved. Also decides which key applies.
use super::{Config, ConfigError, Environment, Places, edit::locked_folder};
use crate::untrusted_file;
use haft_providers::{Vendor, vendors};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::Path,
};

/// The keys that `haft login` saved, by vendor, or by `VENDOR@ACCOUNT`. Its `Debug` output has no keys, so they are not
/// printed by accident.
#[derive(Clone, Default, PartialEq)]
pub struct KeptKeys(BTreeMap<String, String>);

impl fmt::Debug for KeptKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl KeptKeys {
    /// Reads the keys in the file `path`; none if the file does not exist.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let bytes = match untrusted_file::bytes(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(ConfigError::Unreadable { path: path.to_owned(), source }),
        };
        // A parser's error may quote the key, so it is not passed on.
        let wrong = || ConfigError::Wrong {
            path: path.to_owned(),
            message: "not a list of keys; delete the file and run `haft login` again".into(),
        };
        let text = str::from_utf8(&bytes).map_err(|_| wrong())?;
        toml::from_str(text).map(Self).map_err(|_| wrong())
    }

    /// Adds `key` for `vendor` to those that the file `path` has by now, and writes the file.
    pub fn add(
        &mut self,
        vendor: &Vendor,
        account: Option<&str>,
        key: String,
        path: &Path,
    ) -> io::Result<()> {
        let _until_it_is_written = locked_folder(path)?;
        *self = Self::load(path).map_err(io::Error::other)?;
        self.0.insert(name_of(vendor, account), key);
        self.write(path)
    }

    /// Removes the key of `vendor` from those that the file `path` has by now; returns whether there was one.
    pub fn remove(&mut self, vendor: &Vendor, account: Option<&str>, path: &Path) -> io::Result<bool> {
        let _until_it_is_written = locked_folder(path)?;
        *self = Self::load(path).map_err(io::Error::other)?;
        let was_there = self.0.remove(&name_of(vendor, account)).is_some();
        if was_there {
            self.write(path)?;
        }
        Ok(was_there)
    }

    /// The vendors that have a saved key, each with the account if the key belongs to one.
    pub fn vendors(&self) -> impl Iterator<Item = (&'static Vendor, Option<&str>)> {
        self.0.keys().filter_map(|name| {
            let (vendor, account) = name
                .split_once('@')
                .map_or((name.as_str(), None), |(vendor, account)| (vendor, Some(account)));
            Some((haft_providers::vendor(vendor)?, account))
        })
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str)
    }

    fn get(&self, vendor: &Vendor, account: Option<&str>) -> Option<&str> {
        self.0.get(&name_of(vendor, account)).map(String::as_str)
    }

    /// Writes the file atomically; other users cannot read it.
    fn write(&self, path: &Path) -> io::Result<()> {
        if self.0.is_empty() {
            return std::fs::remove_file(path);
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        writeln!(file, "# API keys saved by `haft login`; `haft logout PROVIDER` removes one.")?;
        file.write_all(toml::to_string(&self.0).map_err(io::Error::other)?.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|failed| failed.error)?;
        Ok(())
    }
}

fn name_of(vendor: &Vendor, account: Option<&str>) -> String {
    let vendor = holder(vendor).name;
    account.map_or_else(|| vendor.to_owned(), |account| format!("{vendor}@{account}"))
}

/// Returns the first of the vendors that share a key with `vendor`: both APIs of OpenAI take the same key.
pub fn holder(vendor: &Vendor) -> &Vendor {
    let shares = |other: &&Vendor| vendor.key_variable.is_some() && other.key_variable == vendor.key_variable;
    vendors().iter().find(shares).unwrap_or(vendor)
}

/// The source of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySource<'a> {
    /// This environment variable.
    Variable(&'a str),
    /// The user's configuration.
    File,
    /// `haft login`.
    Login,
}

impl Config {
    /// The account in use: only its keys apply.
    pub fn account(&self) -> Option<&str> {
        self.account.as_deref()
    }

    /// Uses the keys of `account`, if one is given.
    pub fn with_account(self, account: Option<&str>) -> Self {
        let account = account.map(str::to_owned).or(self.account);
        Self { account, ..self }
    }

    /// The account that is named, otherwise the account whose folders contain `workspace`.
    pub(super) fn account_in(
        &self,
        places: &Places,
        workspace: &Path,
    ) -> Result<Option<String>, ConfigError> {
        let Some(name) = self.effective().account else {
            let folders = self.user.accounts.iter().flat_map(|(name, account)| {
                account.folders.iter().map(move |folder| (name, places.named(folder)))
            });
            let holds = folders.filter(|(_, folder)| {
                workspace.starts_with(folder.canonicalize().as_ref().unwrap_or(folder))
            });
            return Ok(holds
                .max_by_key(|(_, folder)| folder.components().count())
                .map(|(name, _)| name.clone()));
        };
        match self.unknown_account(&name) {
            None => Ok(Some(name)),
            Some(message) => Err(self.wrong_value("account", message)),
        }
    }

    /// The error if no account `name` exists: names the accounts that exist, and how to make this one.
    pub(crate) fn unknown_account(&self, name: &str) -> Option<String> {
        let kept = self.kept.vendors().filter_map(|(_, account)| account);
        let known: BTreeSet<&str> = kept.chain(self.user.accounts.keys().map(String::as_str)).collect();
        if known.contains(name) {
            return None;
        }
        let others = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let others = if others.is_empty() { others } else { format!("; there are {others}") };
        Some(format!("there is no account `{name}`{others}: `haft login PROVIDER --account {name}` makes it"))
    }

    /// The key of `vendor` and its source: its variable, otherwise the configuration, otherwise `haft login`. While an
    /// account is in use, only its own key applies.
    pub fn key<'a>(
        &'a self,
        environment: &'a Environment,
        vendor: &'a Vendor,
    ) -> Option<(&'a str, KeySource<'a>)> {
        if let Some(name) = self.account() {
            let keys = self.user.accounts.get(name).map(|account| &account.keys);
            let of = |vendor: &Vendor| keys?.get(vendor.name).map(String::as_str);
            let written = of(vendor).or_else(|| of(holder(vendor))).map(|key| (key, KeySource::File));
            return written.or_else(|| Some((self.kept.get(vendor, Some(name))?, KeySource::Login)));
        }
        let variable = vendor.key_variable;
        let set = variable.and_then(|name| Some((environment.get(name)?, KeySource::Variable(name))));
        let written = self.user.vendors.get(vendor.name).and_then(|file| file.key.as_deref());
        let written = written.map(|key| (key, KeySource::File));
        set.or(written).or_else(|| Some((self.kept.get(vendor, None)?, KeySource::Login)))
    }
}
