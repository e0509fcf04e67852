//! [`KeptKeys`]: keys of vendors: those that `haft login` keeps, and which of all applies.
use super::{Config, ConfigError, Environment};
use crate::untrusted_file;
use haft_providers::{Vendor, vendors};
use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::Path,
};

/// The keys that `haft login` keeps, by vendor. They cannot be printed by accident.
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
        // What the parser says of a line may hold the key that stands there.
        let wrong = || ConfigError::Wrong {
            path: path.to_owned(),
            message: "not a list of keys; delete the file and run `haft login` again".into(),
        };
        let text = str::from_utf8(&bytes).map_err(|_| wrong())?;
        toml::from_str(text).map(Self).map_err(|_| wrong())
    }

    /// Keeps `key` for `vendor` as well, in the file `path`.
    pub fn add(&mut self, vendor: &Vendor, key: String, path: &Path) -> io::Result<()> {
        self.0.insert(holder(vendor).name.clone(), key);
        self.write(path)
    }

    /// Forgets the key of `vendor`; returns whether there was one.
    pub fn remove(&mut self, vendor: &Vendor, path: &Path) -> io::Result<bool> {
        let was_there = self.0.remove(&holder(vendor).name).is_some();
        if was_there {
            self.write(path)?;
        }
        Ok(was_there)
    }

    /// The vendors that a key is kept for.
    pub fn vendors(&self) -> impl Iterator<Item = &'static Vendor> {
        self.0.keys().filter_map(|name| haft_providers::vendor(name))
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str)
    }

    fn get(&self, vendor: &Vendor) -> Option<&str> {
        self.0.get(&holder(vendor).name).map(String::as_str)
    }

    /// The file appears whole, and other users cannot read it.
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

/// Of the vendors that share a key, the first: both APIs of OpenAI take the same.
pub fn holder(vendor: &Vendor) -> &Vendor {
    let shares = |other: &&Vendor| vendor.key_variable.is_some() && other.key_variable == vendor.key_variable;
    vendors().iter().find(shares).unwrap_or(vendor)
}

/// Where a key comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySource<'a> {
    /// This environment variable.
    Variable(&'a str),
    /// The person's configuration.
    File,
    /// `haft login`.
    Login,
}

impl Config {
    /// The key of `vendor` and where it comes from: its variable, else the configuration, else what `haft login` kept.
    pub fn key<'a>(
        &'a self,
        environment: &'a Environment,
        vendor: &'a Vendor,
    ) -> Option<(&'a str, KeySource<'a>)> {
        let variable = vendor.key_variable.as_deref();
        let set = variable.and_then(|name| Some((environment.get(name)?, KeySource::Variable(name))));
        let written = self.user.vendors.get(&vendor.name).and_then(|file| file.key.as_deref());
        let written = written.map(|key| (key, KeySource::File));
        set.or(written).or_else(|| Some((self.kept.get(vendor)?, KeySource::Login)))
    }
}
