//! [`set`]: writes one value into the user's file, and keeps the rest as it was written.
use super::{ConfigError, SETTINGS, Settings, UserFile, check_user, told};
use crate::untrusted_file;
use haft_core::schema::nearest;
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};
use toml_edit::{DocumentMut, Item, Key, Table, Value};

/// Sets `key` (`model`, `timeouts.idle`, `models."a/b".window`) to `word` in the file `path`. What does not fit is an
/// error, and nothing is written.
pub fn set(path: &Path, key: &str, word: &str) -> Result<(), ConfigError> {
    let wrong = |message: String| ConfigError::Value { what: format!("`{key}`"), message };
    let keys = Key::parse(key).map_err(|_| wrong("not the name of a setting".into()))?;
    if keys.first().is_some_and(|key| key.get() == "vendors")
        && keys.last().is_some_and(|key| key.get() == "key")
    {
        return Err(wrong(
            "do not pass an API key on the command line; save it with `haft login PROVIDER`".into(),
        ));
    }
    let text = text(path)?;
    let document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| wrong_file(path, error.message()))?;
    let mut first = None;
    for value in values(key, word).map_err(&wrong)? {
        let mut document = document.clone();
        let result = put(&mut document, &keys, value).and_then(|()| checked(path, &document.to_string()));
        match result {
            Ok(()) => return write(path, &document.to_string()),
            Err(message) => {
                first.get_or_insert(message);
            }
        }
    }
    Err(wrong(first.unwrap_or_default()))
}

/// What `word` may stand for, the likeliest first: as its setting reads it, as TOML, as text.
fn values(key: &str, word: &str) -> Result<Vec<Value>, String> {
    if SETTINGS.iter().any(|setting| setting.key == key) {
        let mut settings = Settings::default();
        settings.set(key, word)?;
        let value = settings.value(key);
        return Ok(value.and_then(|value| value.to_string().parse().ok()).into_iter().collect());
    }
    let written = word.parse::<Value>().ok();
    Ok(written.into_iter().chain([Value::from(word)]).collect())
}

/// A comment behind the old value stays.
fn put(document: &mut DocumentMut, keys: &[Key], mut value: Value) -> Result<(), String> {
    let Some((last, tables)) = keys.split_last() else { return Err("a setting has a name".into()) };
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    for key in tables {
        let mut empty = Table::new();
        empty.set_implicit(true);
        let item = table.entry(key.get()).or_insert(Item::Table(empty));
        table = item.as_table_like_mut().ok_or_else(|| format!("`{}` is not a table", key.get()))?;
    }
    match table.get_mut(last.get()) {
        None => {
            table.insert(last.get(), Item::Value(value));
        }
        Some(item) => {
            if let Some(old) = item.as_value() {
                *value.decor_mut() = old.decor().clone();
            }
            *item = Item::Value(value);
        }
    }
    Ok(())
}

/// As it is read at each start.
fn checked(path: &Path, text: &str) -> Result<(), String> {
    let user: UserFile = toml::from_str(text).map_err(|error| with_near(told(&error, text)))?;
    check_user(path, text, &user).map_err(|error| error.to_string())
}

/// With the known name that an unknown one is near to.
fn with_near(message: String) -> String {
    let Some((unknown, known)) =
        message.split_once("unknown field `").and_then(|(_, rest)| rest.split_once('`'))
    else {
        return message;
    };
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    match nearest(unknown, &known) {
        Some(near) => format!("there is no setting `{unknown}`; did you mean `{near}`?"),
        None => format!("there is no setting `{unknown}`; there are {}", known.join(", ")),
    }
}

fn text(path: &Path) -> Result<String, ConfigError> {
    match untrusted_file::bytes(path) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| wrong_file(path, "not UTF-8")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(ConfigError::Unreadable { path: path.to_owned(), source }),
    }
}

fn wrong_file(path: &Path, message: &str) -> ConfigError {
    ConfigError::Wrong { path: path.to_owned(), message: message.to_owned() }
}

/// It appears whole. A link stays a link: many keep their configuration elsewhere.
fn write(path: &Path, text: &str) -> Result<(), ConfigError> {
    let cannot = |source| ConfigError::Unwritable { path: path.to_owned(), source };
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = real.parent().map_or_else(|| PathBuf::from("."), Path::to_owned);
    fs::create_dir_all(&folder).map_err(cannot)?;
    let mut file = tempfile::NamedTempFile::new_in(&folder).map_err(cannot)?;
    file.write_all(text.as_bytes()).map_err(cannot)?;
    if let Ok(old) = fs::metadata(&real) {
        file.as_file().set_permissions(old.permissions()).map_err(cannot)?;
    }
    file.persist(&real).map_err(|failed| cannot(failed.error))?;
    Ok(())
}
