//! [`get`] reads a setting of the user's file. [`set`], [`unset`], [`add_table`] and [`remove_table`] change one setting
//! or table, and keep the rest as written.
use super::{ConfigError, SETTINGS, Settings, UserFile, check_user, told};
use crate::untrusted_file;
use haft_core::schema::nearest;
use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};
use toml_edit::{DocumentMut, Item, Key, Table, Value};

/// Sets `key` (`model`, `timeouts.idle`, `models."a/b".window`) to `word` in the file `path`. An invalid value is an
/// error, and nothing is written.
pub fn set(path: &Path, key: &str, word: &str) -> Result<(), ConfigError> {
    let wrong = |message: String| wrong_key(key, message);
    let keys = keys(key)?;
    if keys.first().is_some_and(|key| key.get() == "vendors")
        && keys.last().is_some_and(|key| key.get() == "key")
    {
        return Err(wrong(
            "do not pass an API key on the command line; save it with `haft login PROVIDER`".into(),
        ));
    }
    let _until_it_is_written = hold(path)?;
    let document = document(path)?;
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

/// Removes `key`, named as for [`set`], from the file `path`; returns whether the file had it.
///
/// # Errors
///
/// If it is not the name of a setting, if the rest of the file is invalid, or if the file cannot be read or written.
pub fn unset(path: &Path, key: &str) -> Result<bool, ConfigError> {
    let keys = keys(key)?;
    let _until_it_is_written = hold(path)?;
    let mut document = document(path)?;
    let removed = keys.split_last().and_then(|(last, tables)| {
        let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
        for key in tables {
            table = table.get_mut(key.get())?.as_table_like_mut()?;
        }
        table.remove(last.get())
    });
    if removed.is_none() {
        return Ok(false);
    }
    checked(path, &document.to_string()).map_err(|message| wrong_key(key, message))?;
    write(path, &document.to_string())?;
    Ok(true)
}

/// Returns the value of `key`, named as for [`set`], in the settings of a user's file, without API keys; `None` if there
/// is none.
///
/// # Errors
///
/// If it is not the name of a setting.
pub fn get(user: &UserFile, key: &str) -> Result<Option<toml::Value>, ConfigError> {
    let (keys, all) = (keys(key)?, toml::Value::try_from(user));
    let all = all.map_err(|error| wrong_key(key, error.to_string()))?;
    Ok(keys.iter().try_fold(&all, |value, key| value.get(key.get())).cloned())
}

fn keys(key: &str) -> Result<Vec<Key>, ConfigError> {
    Key::parse(key).map_err(|_| wrong_key(key, "not the name of a setting".into()))
}

fn wrong_key(key: &str, message: String) -> ConfigError {
    ConfigError::Value { what: format!("`{key}`"), message }
}

/// Adds `table` as `[group.name]` to the file `path`. An invalid table is an error, and nothing is written.
///
/// # Errors
///
/// If the file cannot be read or written, or already has this table.
pub fn add_table(path: &Path, [group, name]: [&str; 2], mut table: Table) -> Result<(), ConfigError> {
    let wrong = |message: String| ConfigError::Value { what: format!("[{group}.{name}]"), message };
    let _until_it_is_written = hold(path)?;
    let mut document = document(path)?;
    if !document.is_empty() {
        table.decor_mut().set_prefix("\n");
    }
    let mut empty = Table::new();
    empty.set_implicit(true);
    let tables = document.entry(group).or_insert(Item::Table(empty)).as_table_like_mut();
    let tables = tables.ok_or_else(|| wrong(format!("`{group}` is not a table")))?;
    if tables.contains_key(name) {
        return Err(wrong("it is already in the file".into()));
    }
    tables.insert(name, Item::Table(table));
    checked(path, &document.to_string()).map_err(wrong)?;
    write(path, &document.to_string())
}

/// Removes `[group.name]` from the file `path`, with the comments directly above it; returns whether the file had it.
///
/// # Errors
///
/// If the file cannot be read or written.
pub fn remove_table(path: &Path, [group, name]: [&str; 2]) -> Result<bool, ConfigError> {
    let _until_it_is_written = hold(path)?;
    let mut document = document(path)?;
    let removed = document.get_mut(group).and_then(Item::as_table_like_mut).and_then(|all| all.remove(name));
    let Some(removed) = removed else { return Ok(false) };
    if let Some(table) = removed.as_table() {
        keep_comments(&mut document, table);
    }
    write(path, &document.to_string())?;
    Ok(true)
}

/// Moves comments above `removed` that an empty line separates from it to the next table: they concern something else,
/// such as the whole file.
fn keep_comments(document: &mut DocumentMut, removed: &Table) {
    let above = removed.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
    let Some((kept, _)) = above.rsplit_once("\n\n").filter(|(kept, _)| kept.contains('#')) else { return };
    let kept = format!("{kept}\n\n");
    let place = removed.position();
    match first_behind(document.as_table_mut(), place) {
        Some(next) => {
            let own = next.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
            let together = format!("{kept}{}", own.trim_start_matches('\n'));
            next.decor_mut().set_prefix(together);
        }
        None => {
            let end = document.trailing().as_str().unwrap_or_default().to_owned();
            document.set_trailing(format!("{}\n{end}", kept.trim_end_matches('\n')));
        }
    }
}

/// The table below `table` that is written first after `place`.
fn first_behind(table: &mut Table, place: Option<isize>) -> Option<&mut Table> {
    let inner = table.iter_mut().filter_map(|(_, item)| item.as_table_mut());
    let all = inner.flat_map(|inner| {
        // A table that exists only because of the tables below it has no place of its own in the file.
        let is_written = !inner.is_implicit() && inner.position() > place;
        if is_written { Some(inner) } else { first_behind(inner, place) }
    });
    all.min_by_key(|found| found.position())
}

/// The values that `word` may stand for, the likeliest first: as its setting parses it, as TOML, as text.
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

/// A comment after the old value stays.
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

/// Runs the checks of a start on the text.
fn checked(path: &Path, text: &str) -> Result<(), String> {
    let user: UserFile = toml::from_str(text).map_err(|error| with_near(told(&error, text)))?;
    check_user(path, text, &user).map_err(|error| error.to_string())
}

/// Adds the known name that is nearest to an unknown one.
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

/// The parsed file; empty if it does not exist.
fn document(path: &Path) -> Result<DocumentMut, ConfigError> {
    text(path)?.parse().map_err(|error: toml_edit::TomlError| wrong_file(path, error.message()))
}

/// Waits for other processes that change the file `path`, and keeps them waiting until the result is dropped.
fn hold(path: &Path) -> Result<Option<File>, ConfigError> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    locked_folder(&real).map_err(|source| ConfigError::Unwritable { path: path.to_owned(), source })
}

/// Locks the folder of the file `path`, which is made if it does not exist, against other processes that change files
/// in it. `None` if its file system has no locks.
pub(super) fn locked_folder(path: &Path) -> io::Result<Option<File>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let opened = File::open(folder)?;
    let begun = Instant::now();
    loop {
        match opened.try_lock() {
            Ok(()) => return Ok(Some(opened)),
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_TIMEOUT => {
                thread::sleep(LOCK_POLL_INTERVAL)
            }
            Err(TryLockError::WouldBlock) => {
                let why = format!("another program keeps `{}` locked", folder.display());
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
        }
    }
}

/// How long a change waits for those of other processes, and how often it looks.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(20);

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

/// Replaces the file `path` by one with `text`, in one step and with the permissions that it had. If `path` is a link,
/// it stays a link and its target is replaced: many users keep their configuration elsewhere.
///
/// # Errors
///
/// If the file cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), ConfigError> {
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
