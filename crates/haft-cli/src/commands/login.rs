//! [`login`] and [`logout`] (`haft login`, `haft logout`): save and remove keys for vendors.
use super::{interruptible::interruptible, look::of_questions};
use crate::{
    CliContext,
    args::{Login, LoginArgs, LogoutArgs},
};
use haft_app::{
    Failure,
    config::{Config, KeptKeys, KeySource, Settings, holder},
    model, session,
};
use haft_core::ProviderError;
use haft_providers::{Connection, Key, Vendor, check_key, vendors};
use haft_terminal::{
    Exit, document,
    table::Table,
    tui::menu::{self, Secret},
};
use serde_json::json;
use std::io::{IsTerminal, Read, Write, stderr, stdin, stdout};

/// Maximum size of a key, in bytes.
const MAX_KEY_BYTES: u64 = 16 << 10;

/// `haft login …`
pub(crate) async fn login(cli: &CliContext, args: &LoginArgs) -> Result<Exit, Failure> {
    let config = cli.config(&session::workspace(None)?, &Settings::default())?;
    if let Some(Login::Status { json }) = args.command {
        return status(cli, &config, json);
    }
    let account = args.account.as_deref().map(named).transpose()?;
    let config = config.with_account(account);
    loop {
        let (vendor, escape) = match &args.vendor {
            Some(name) => (with_key(name)?, Escape::Leaves),
            None => match chosen(cli, "Log in to", with_keys().collect()).await? {
                Some(vendor) => (vendor, Escape::GoesBack),
                None => return Ok(Exit::Interrupted),
            },
        };
        match enter(cli, &config, vendor, !args.no_check, escape).await? {
            Entered::Kept => return Ok(Exit::Success),
            Entered::Back => {}
            Entered::Left => return Ok(Exit::Interrupted),
        }
    }
}

/// A name as `--account` takes it.
fn named(account: &str) -> Result<&str, Failure> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    match !account.is_empty() && account.chars().all(is_plain) {
        true => Ok(account),
        false => Err(Failure::usage(format!("`{account}` cannot be the name of an account"))
            .hint("use letters, digits, `-`, `_` and `.`")),
    }
}

/// What Esc does at the prompt for a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escape {
    /// Goes back to the list of vendors.
    GoesBack,
    /// Leaves the program: there is no list to go back to.
    Leaves,
}

/// The result of the prompt for a key.
pub(crate) enum Entered {
    /// A key was saved.
    Kept,
    /// The user goes back to the list before.
    Back,
    /// The user leaves the program.
    Left,
}

/// `haft logout …`
pub(crate) async fn logout(cli: &CliContext, args: &LogoutArgs) -> Result<Exit, Failure> {
    let path = &cli.places.keys_file;
    let mut kept = KeptKeys::load(path)?;
    let account = args.account.as_deref();
    let all: Vec<_> = kept.vendors().filter(|(_, of)| *of == account).map(|(vendor, _)| vendor).collect();
    let vendor = match (&args.vendor, all.as_slice()) {
        (Some(name), _) => with_key(name)?,
        (None, []) => {
            writeln!(stdout(), "No key is saved: `haft login PROVIDER` saves one.")?;
            return Ok(Exit::Success);
        }
        (None, [only]) => only,
        (None, _) => match chosen(cli, "Log out of", all).await? {
            Some(vendor) => vendor,
            None => return Ok(Exit::Interrupted),
        },
    };
    let is_removed = kept.remove(vendor, account, path).map_err(|error| cannot_write(cli, &error))?;
    if !is_removed {
        return Err(Failure::usage(format!("no key of {} is saved{}", vendor.title, of(account)))
            .hint("`haft login status` shows the source of each key"));
    }
    writeln!(stderr(), "Removed the key of {}{}.", vendor.title, of(account))?;
    let config = cli.config(&session::workspace(None)?, &Settings::default())?;
    if let Some((_, source)) = config.key(&cli.environment, vendor) {
        writeln!(stderr(), "note: {} still provides a key", place(cli, source))?;
    }
    Ok(Exit::Success)
}

fn of(account: Option<&str>) -> String {
    account.map(|account| format!(" for the account `{account}`")).unwrap_or_default()
}

/// Asks for the key of `vendor`, verifies it, and saves it; for the account in use, if there is one.
pub(crate) async fn enter(
    cli: &CliContext,
    config: &Config,
    vendor: &Vendor,
    is_checked: bool,
    escape: Escape,
) -> Result<Entered, Failure> {
    let key = match typed(cli, vendor, escape).await? {
        Secret::Typed(key) => key,
        Secret::Back if escape == Escape::GoesBack => return Ok(Entered::Back),
        Secret::Back | Secret::Left => return Ok(Entered::Left),
    };
    if is_checked && !is_usable(cli, config, vendor, &key).await? {
        return Ok(if escape == Escape::GoesBack { Entered::Back } else { Entered::Left });
    }
    let path = &cli.places.keys_file;
    let account = config.account();
    KeptKeys::load(path)?.add(vendor, account, key, path).map_err(|error| cannot_write(cli, &error))?;
    let accepted = if is_checked { "" } else { ", not verified" };
    writeln!(
        stderr(),
        "Saved the key of {}{} in `{}`{accepted}; only you can read the file.",
        vendor.title,
        of(account),
        path.display()
    )?;
    let stronger = config.key(&cli.environment, vendor).filter(|(_, from)| *from != KeySource::Login);
    if let Some((_, source)) = stronger {
        writeln!(stderr(), "note: {} also provides a key and takes precedence", place(cli, source))?;
    }
    Ok(Entered::Kept)
}

/// Reads a key from the terminal, without showing it, or from standard input.
async fn typed(cli: &CliContext, vendor: &Vendor, escape: Escape) -> Result<Secret, Failure> {
    let key = if is_terminal() {
        if let Some(page) = &vendor.key_page {
            let where_from = format!("Create a key at {page} and paste it here; it is not displayed.");
            write!(stderr(), "{}", document::item("", &where_from))?;
        }
        let escape = if escape == Escape::GoesBack { "goes back to the list" } else { "leaves" };
        match menu::secret(&format!("Key of {}", vendor.title), escape, of_questions(cli)).await? {
            Secret::Typed(key) => key,
            left => return Ok(left),
        }
    } else {
        let mut text = String::new();
        stdin().take(MAX_KEY_BYTES).read_to_string(&mut text)?;
        text
    };
    let key = key.trim();
    if key.is_empty() {
        return Err(Failure::usage(format!("there is no key of {} on standard input", vendor.title))
            .hint(format!("pipe it in: `haft login {} <FILE`", vendor.name)));
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::usage("not a valid key: it contains whitespace or unexpected characters")
            .hint("check what you pasted"));
    }
    Ok(Secret::Typed(key.to_owned()))
}

/// Whether the key may be saved: the vendor accepts it, or cannot be asked and the user confirms.
async fn is_usable(cli: &CliContext, config: &Config, vendor: &Vendor, key: &str) -> Result<bool, Failure> {
    let connection = model::connection(cli, config, vendor, None);
    let connection = Connection { key: Some(Key::new(key)), ..connection };
    let hint = "`--no-check` saves a key without verifying it";
    match interruptible(check_key(vendor, &connection)).await? {
        Ok(()) => Ok(true),
        Err(error @ ProviderError::Auth { .. }) => {
            Err(Failure::failed(format!("{error}; the key was not saved")).hint(hint))
        }
        Err(error) if is_terminal() => {
            writeln!(stderr(), "The key could not be verified: {error}")?;
            let lines = [("Save it without verifying", ""), ("Do not save it", "")];
            let lines = lines.map(|(label, detail)| (label.to_owned(), detail.to_owned()));
            let look = of_questions(cli);
            Ok(menu::choose("The key was not verified.", &lines, None, look).await? == Some(0))
        }
        Err(error) => {
            Err(Failure::failed(format!("the key could not be verified and was not saved: {error}"))
                .hint(hint))
        }
    }
}

fn status(cli: &CliContext, config: &Config, json: bool) -> Result<Exit, Failure> {
    let mut table = Table::new(["PROVIDER", "KEY", "FROM"]);
    let clouds = vendors().iter().filter(|vendor| vendor.sign_in.is_some() && vendor.key_variable.is_none());
    for vendor in with_keys().chain(clouds) {
        let source = config.key(&cli.environment, vendor).map(|(_, source)| source);
        let signed_in = model::signed_in(cli, config, vendor).and_then(Result::ok);
        if json {
            let (from, place) = match source {
                None if signed_in.is_some() => (Some("sign-in"), signed_in.clone()),
                None => (None, None),
                Some(KeySource::Variable(name)) => (Some("variable"), Some(name.to_owned())),
                Some(KeySource::File) => {
                    (Some("configuration"), Some(cli.places.user_file.display().to_string()))
                }
                Some(KeySource::Login) => (Some("login"), Some(cli.places.keys_file.display().to_string())),
            };
            let (name, title) = (&vendor.name, &vendor.title);
            writeln!(
                stdout(),
                "{}",
                json!({
                    "vendor": name, "title": title, "account": config.account(), "key": source.is_some(),
                    "from": from, "place": place,
                })
            )?;
            continue;
        }
        let (has, from) = match source {
            None if signed_in.is_some() => ("-", signed_in.unwrap_or_default()),
            None if vendor.key_variable.is_none() => {
                ("no", "`haft help models` says how to sign in".to_owned())
            }
            None if config.account().is_some() => ("no", format!("`haft login {}`", vendor.name)),
            None => ("no", format!("`haft login {}`, or set {}", vendor.name, variable(vendor))),
            Some(source) => ("yes", format!("{}{}", place(cli, source), of(config.account()))),
        };
        table.row([vendor.name.to_owned(), has.to_owned(), from]);
    }
    for (vendor, account) in config.kept.vendors() {
        let Some(account) = account.filter(|account| Some(*account) != config.account()) else { continue };
        match json {
            true => writeln!(
                stdout(),
                "{}",
                json!({
                    "vendor": vendor.name, "title": vendor.title, "account": account, "key": true,
                    "from": "login", "place": cli.places.keys_file.display().to_string(),
                })
            )?,
            false => {
                let from = format!("{}{}", place(cli, KeySource::Login), of(Some(account)));
                table.row([vendor.name.to_owned(), "yes".to_owned(), from]);
            }
        }
    }
    if !json {
        table.print("There is no provider.")?;
    }
    Ok(Exit::Success)
}

fn variable(vendor: &Vendor) -> &str {
    vendor.key_variable.unwrap_or_default()
}

fn place(cli: &CliContext, source: KeySource<'_>) -> String {
    match source {
        KeySource::Variable(name) => format!("the variable {name}"),
        KeySource::File => format!("your configuration `{}`", cli.places.user_file.display()),
        KeySource::Login => format!("`haft login` (`{}`)", cli.places.keys_file.display()),
    }
}

/// Vendors that need a key; of several that share one, the first.
pub(crate) fn with_keys() -> impl Iterator<Item = &'static Vendor> {
    let is_own = |vendor: &&Vendor| holder(vendor).name == vendor.name;
    vendors().iter().filter(|vendor| vendor.key_variable.is_some()).filter(is_own)
}

fn with_key(name: &str) -> Result<&'static Vendor, Failure> {
    let vendor = model::vendor_named(name)?;
    match vendor.key_variable {
        Some(_) => Ok(holder(vendor)),
        None if vendor.sign_in.is_some() => Err(Failure::usage(format!("{} takes no key", vendor.title))
            .hint("`haft help models` says how to sign in; `haft login status` shows whether you are")),
        None => Err(Failure::usage(format!("{} needs no key", vendor.title)).hint(format!(
            "`haft --model {name}` uses it; if your server was started with a key, set `key` in the table \
             `[vendors.{name}]` of your configuration (`haft config path` prints the file)",
            name = vendor.name
        ))),
    }
}

/// The vendor that the user selects with the arrow keys; `None` if the user leaves.
async fn chosen(
    cli: &CliContext,
    title: &str,
    vendors: Vec<&'static Vendor>,
) -> Result<Option<&'static Vendor>, Failure> {
    let names: Vec<&str> = vendors.iter().map(|vendor| vendor.name).collect();
    if !is_terminal() {
        return Err(Failure::usage("cannot ask for a provider without a terminal")
            .hint(format!("pass one of {}", names.join(", "))));
    }
    let lines: Vec<_> =
        vendors.iter().map(|vendor| (vendor.title.to_owned(), vendor.name.to_owned())).collect();
    let place = menu::choose(title, &lines, None, of_questions(cli)).await?;
    Ok(place.map(|place| vendors[place]))
}

/// Whether the user can be asked.
pub(crate) fn is_terminal() -> bool {
    stdin().is_terminal() && stdout().is_terminal()
}

fn cannot_write(cli: &CliContext, error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot write `{}`: {error}", cli.places.keys_file.display()))
}
