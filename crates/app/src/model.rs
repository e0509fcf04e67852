//! [`open`]: opens the provider that `PROVIDER/MODEL` names.
use crate::{
    App, Failure,
    config::{Config, KeySource, ModelFile, VendorFile, holder, provider_names},
};
use haft_core::{Price, Provider, schema::nearest};
use haft_dialects::{DIALECTS, Dialect, dialect};
use haft_engine::{Model, Profile};
use haft_providers::{
    CacheTtl, Card, Connection, Exec, Key, Loading, Missing, Record, Retry, Scripted, SignIn, Timeouts,
    Variables, Vendor, card, connect, is_listening, served_window, takes_effort, vendor, vendors,
};
use haft_text_calls::{LeadingThoughts, TextToolCalls, UnreadCalls};
use std::{borrow::Cow, path::Path, sync::Arc};

mod allowed;
mod choices;
#[cfg(feature = "local")]
mod embedded;
mod fallbacks;
mod offer;
mod shared;
pub(crate) use allowed::AllowedModels;
pub use choices::{choices, efforts, live_choices};
#[cfg(feature = "local")]
pub use embedded::no_file;
#[cfg(feature = "local")]
use embedded::open as local;
pub use fallbacks::with_fallbacks;
pub(crate) use fallbacks::{try_fallbacks, try_one, with_own_fallbacks};
pub use offer::{Offer, files, offers, servers};
pub use shared::SharedModels;

/// A model, and the notices about it.
pub struct Chosen {
    /// The model, ready for requests.
    pub model: Model,
    /// Notices for standard error: how the model was chosen if no setting names it, and which settings do not reach it.
    pub notices: Vec<String>,
}

/// The format in which a model writes its calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolCallFormat<'a> {
    /// A dialect's name, or `auto`; `None` if the server has native calls.
    pub dialect: Option<&'a str>,
    /// The dialect is used only where the model does not call natively.
    pub is_fallback: bool,
    /// Calls are not constrained by a grammar.
    pub is_free: bool,
}

impl<'a> ToolCallFormat<'a> {
    /// The format that `profile` sets.
    pub fn of(profile: &'a Profile) -> Self {
        Self { dialect: profile.dialect.as_deref(), is_fallback: profile.native_first, is_free: false }
    }
}

/// The model that a flag, a variable or the configuration names, otherwise that of the first vendor with a key. A
/// server on this machine that no setting names is offered but never used without asking: any process may listen on its
/// port.
pub async fn choose(
    app: &App,
    config: &Config,
    base_url: Option<&str>,
    speech: ToolCallFormat<'_>,
) -> Result<Chosen, Failure> {
    let chosen = chosen(app, config, base_url, speech).await?;
    let model = measured(app, config, chosen.model, base_url, Loading::Allowed).await;
    Ok(Chosen { model, ..chosen })
}

/// Like [`choose`], but does not ask a server for the window of the model.
pub(crate) async fn chosen(
    app: &App,
    config: &Config,
    base_url: Option<&str>,
    speech: ToolCallFormat<'_>,
) -> Result<Chosen, Failure> {
    if let Some(said) = config.effective().model {
        let (spec, notice) = whole(app, config, said, base_url).await?;
        let model = open(app, config, &spec, base_url, speech)?;
        let notices = notice.into_iter().chain(without_effort(config, &spec)).collect();
        return Ok(Chosen { model, notices });
    }
    let Some((spec, why)) = of_a_key(app, config) else {
        return Err(offer::none(app, config).await);
    };
    let model = open(app, config, &spec, base_url, speech)?;
    let notice = format!("using `{spec}`, since {why}; `--model PROVIDER/MODEL` selects another");
    let notices = [notice].into_iter().chain(without_effort(config, &spec)).collect();
    Ok(Chosen { model, notices })
}

/// The notice if the user sets an effort for a model that takes none.
fn without_effort(config: &Config, spec: &str) -> Option<String> {
    let effort = config.effective().effort?.name();
    (!has_effort(spec)).then(|| format!("`{spec}` does not support reasoning effort; ignoring `{effort}`"))
}

/// Whether the effort of the model `spec` can be set.
pub fn has_effort(spec: &str) -> bool {
    let vendor = |(kind, name)| Some((vendor_of(kind)?, name));
    let known = spec.split_once('/').filter(|(_, name)| *name != "…").and_then(vendor);
    known.is_some_and(|(vendor, name)| takes_effort(vendor, name))
}

/// Whether the user has chosen a model: a setting names one, or the user gave Haft a key. A key in the environment does
/// not count: it may be for another program.
pub fn is_chosen(app: &App, config: &Config) -> bool {
    let is_given = |vendor: &Vendor| {
        let source = config.key(&app.environment, vendor).map(|(_, source)| source);
        vendor.default_model.is_some() && matches!(source, Some(KeySource::File | KeySource::Login))
    };
    config.effective().model.is_some() || vendors().iter().any(is_given)
}

/// Completes the name of a vendor alone to its default model, or to the best model of its server; a notice says which.
pub async fn whole(
    app: &App,
    config: &Config,
    spec: String,
    base_url: Option<&str>,
) -> Result<(String, Option<String>), Failure> {
    let alone = spec.strip_suffix('/').unwrap_or(&spec);
    let Some(vendor) = vendor(alone) else { return Ok((spec, None)) };
    let (spec, why) = offer::default_of(app, config, vendor, base_url).await?;
    let notice = format!("using `{spec}`, {why}");
    Ok((spec, Some(notice)))
}

/// The first vendor for which there is a key, and where the key comes from.
fn of_a_key(app: &App, config: &Config) -> Option<(String, String)> {
    vendors().iter().find_map(|vendor| {
        let (variable, model) = (vendor.key_variable?, vendor.default_model?);
        let why = match config.key(&app.environment, vendor)?.1 {
            KeySource::Variable(_) => format!("{variable} is set"),
            KeySource::File => format!("the configuration has a key for {}", vendor.title),
            KeySource::Login => format!("you are logged in to {}", vendor.title),
        };
        Some((format!("{}/{model}", vendor.name), why))
    })
}

/// Asks a server on this machine for the window of its model, unless the user's file sets it.
async fn measured(
    app: &App,
    config: &Config,
    model: Model,
    base_url: Option<&str>,
    loading: Loading,
) -> Model {
    let kind = model.spec.split_once('/').map_or("", |(kind, _)| kind);
    let Some(vendor) = vendor_of(kind).filter(|vendor| vendor.local && model.window.is_none()) else {
        return model;
    };
    let connection = connection(app, config, vendor, base_url);
    Model { window: served_window(vendor, &connection, &model.name, loading).await, ..model }
}

/// The models that the server of the vendor `name` offers, each in the form for `--model`.
pub async fn models_of(app: &App, config: &Config, name: &str) -> Result<Vec<String>, Failure> {
    let vendor = vendor_named(name)?;
    let connection = connection(app, config, vendor, None);
    let listed = haft_providers::list_models(vendor, &connection).await;
    Ok(listed?.into_iter().map(|model| format!("{name}/{model}")).collect())
}

/// Whether `vendor` can be asked for its models: its key is there, or its server answers on this machine.
pub async fn can_list(app: &App, config: &Config, vendor: &Vendor) -> bool {
    let Connection { base_url, key, .. } = connection(app, config, vendor, None);
    match vendor.local {
        true => is_listening(base_url.as_deref().unwrap_or(vendor.base_url)).await,
        false => key.is_some(),
    }
}

/// Opens the provider of a model. Makes no connection, but checks everything that can be checked without one.
pub fn open(
    app: &App,
    config: &Config,
    spec: &str,
    base_url: Option<&str>,
    speech: ToolCallFormat<'_>,
) -> Result<Model, Failure> {
    let (kind, account, name) = parts(config, spec)?;
    let config = &match account {
        Some(_) => Cow::Owned(config.clone().with_account(account)),
        None => Cow::Borrowed(config),
    };
    let own_dialect = || table_of(config, spec)?.dialect.as_deref();
    let speech = ToolCallFormat { dialect: speech.dialect.or_else(own_dialect), ..speech };
    let mut own_window = None;
    let (name, provider) = match kind {
        "exec" => command(app, config, name, speech)?,
        "script" => (name.to_owned(), speaking(app, spec, Arc::new(script(Path::new(name))?), speech)?),
        "local" => {
            let (provider, window) = local(app, name, speech)?;
            own_window = Some(window);
            (name.to_owned(), provider)
        }
        kind => {
            let remote = remote(app, config, kind, base_url, speech.is_free)?;
            (name.to_owned(), speaking(app, spec, remote, speech)?)
        }
    };
    let Card { window, price, documents } = card_of(config, spec);
    let effort =
        config.effective().effort.filter(|_| has_effort(spec)).map(|effort| effort.name().to_owned());
    let window = own_window.or(window);
    Ok(Model { name, effort, window, price, documents, ..Model::plain(spec, provider) })
}

/// Checks the names of the model, of the fallbacks and of the formats of calls in a configuration, without asking a provider.
///
/// # Errors
/// If one is not of the form PROVIDER/MODEL, or names a provider, an account or a format that does not exist.
pub fn check_names(config: &Config) -> Result<(), Failure> {
    let settings = config.effective();
    let chosen = settings.model.into_iter().chain(settings.fallback.into_iter().flat_map(|list| list.0));
    let of_tables = config.user.models.values().flat_map(|table| table.fallback.iter().cloned());
    chosen.chain(of_tables).try_for_each(|spec| check_name(config, &spec))?;
    let dialects = config.user.models.values().filter_map(|table| table.dialect.as_deref());
    dialects.filter(|name| *name != "auto").try_for_each(|name| call_format(name).map(drop))
}

fn check_name(config: &Config, spec: &str) -> Result<(), Failure> {
    if vendor(spec.strip_suffix('/').unwrap_or(spec)).is_some() {
        return Ok(());
    }
    match parts(config, spec)? {
        ("exec" | "script" | "local", ..) => Ok(()),
        (kind, ..) => vendor_named(kind).map(drop),
    }
}

/// Provider, account and model that `spec` names.
fn parts<'a>(config: &Config, spec: &'a str) -> Result<(&'a str, Option<&'a str>, &'a str), Failure> {
    let Some((kind, name)) = spec.split_once('/').filter(|(_, name)| !name.is_empty()) else {
        return Err(Failure::usage(format!(
            "cannot use the model `{spec}`: it is not of the form PROVIDER/MODEL"
        ))
        .hint("e.g. `openai/gpt-5`, `ollama/qwen3`, `local/smollm2-135m`; `haft models list` lists models"));
    };
    let (kind, account) = with_account(kind);
    match account.and_then(|account| config.unknown_account(account)) {
        Some(message) => Err(Failure::usage(format!("cannot use the model `{spec}`: {message}"))),
        None => Ok((kind, account, name)),
    }
}

/// The provider and the account of `PROVIDER@ACCOUNT`, the first part of a model's name.
fn with_account(kind: &str) -> (&str, Option<&str>) {
    kind.split_once('@').map_or((kind, None), |(kind, account)| (kind, Some(account)))
}

/// The provider in the name of a model, without an account.
pub(crate) fn provider_of(spec: &str) -> &str {
    with_account(spec.split_once('/').map_or(spec, |(kind, _)| kind)).0
}

/// The vendor that `PROVIDER` or `PROVIDER@ACCOUNT` names.
pub(crate) fn vendor_of(kind: &str) -> Option<&'static Vendor> {
    vendor(with_account(kind).0)
}

/// The user's card of a model, otherwise that of the built-in table. An account changes neither.
pub fn card_of(config: &Config, spec: &str) -> Card {
    let (kind, name) = spec.split_once('/').unwrap_or((spec, ""));
    let (kind, _) = with_account(kind);
    let table = match (kind, vendor(kind)) {
        ("local", _) => Card { price: Some(Price::FREE), ..Card::default() },
        (_, Some(vendor)) => {
            let card = card(vendor, name);
            Card { price: card.price.map(|price| cached(price, config, kind)), ..card }
        }
        (_, None) => Card::default(),
    };
    let said = table_of(config, spec);
    let (window, price) = (said.and_then(|said| said.window), said.and_then(|said| said.price));
    let documents = said.and_then(|said| said.documents).unwrap_or(table.documents);
    Card { window: window.or(table.window), price: price.or(table.price), documents }
}

/// The entry of the user's file for a model, otherwise its entry for the same model without an account.
fn table_of<'a>(config: &'a Config, spec: &str) -> Option<&'a ModelFile> {
    let of_provider = || {
        let (kind, name) = spec.split_once('/')?;
        config.user.models.get(&format!("{}/{name}", with_account(kind).0))
    };
    config.user.models.get(spec).or_else(of_provider)
}

/// The price, with the price of cache writes for the cache lifetime that the user chose.
fn cached(price: Price, config: &Config, vendor: &str) -> Price {
    let ttl = config.user.vendors.get(vendor).and_then(|file| file.cache_ttl).unwrap_or_default();
    match (ttl, price.cache_write) {
        (CacheTtl::OneHour, Some(_)) => Price { cache_write: Some(price.input * 2.0), ..price },
        _ => price,
    }
}

/// Wraps `provider` in the dialect of `speech`, if there is one.
fn speaking(
    app: &App,
    spec: &str,
    provider: Arc<dyn Provider>,
    speech: ToolCallFormat<'_>,
) -> Result<Arc<dyn Provider>, Failure> {
    let spoken = match speech.dialect {
        None => return Ok(noticing(app, spec, Arc::new(LeadingThoughts::new(provider)))),
        Some("auto") => TextToolCalls::auto(provider),
        Some(name) if speech.is_fallback => TextToolCalls::fallback(provider, call_format(name)?),
        Some(name) => TextToolCalls::new(provider, call_format(name)?),
    };
    let spoken = Arc::new(if speech.is_free { spoken.unheld() } else { spoken });
    Ok(if speech.dialect == Some("auto") { spoken } else { noticing(app, spec, spoken) })
}

/// Wraps `provider` so that a call which it leaves in the text causes a warning.
fn noticing(app: &App, spec: &str, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
    let (warn, spec) = (app.warnings(), spec.to_owned());
    Arc::new(UnreadCalls::new(provider, move |format| {
        warn(format!(
            "the model wrote a call as text, which is not run; with `--dialect {format}`, Haft reads such calls; \
             `haft config set 'models.\"{spec}\".dialect' {format}` keeps it for this model"
        ));
    }))
}

impl App {
    /// Returns the names of the formats of calls in text that [`App::reply_parser`] knows, in alphabetical order.
    #[must_use]
    pub fn call_formats() -> Vec<&'static str> {
        let mut names: Vec<_> = DIALECTS.iter().map(|dialect| dialect.name).collect();
        names.sort_unstable();
        names
    }
}

/// The format of calls in text of this name.
pub(crate) fn call_format(name: &str) -> Result<&'static Dialect, Failure> {
    dialect(name).ok_or_else(|| {
        let near = nearest(name, &App::call_formats());
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        Failure::usage(format!("there is no tool-call format `{name}`"))
            .hint(format!("{near}`haft parse --dialect '?'` lists them"))
    })
}

/// A provider that starts a command for each reply. The command runs outside of the workspace, since no journal records
/// what it does, and gets no keys.
fn command(
    app: &App,
    config: &Config,
    name: &str,
    speech: ToolCallFormat<'_>,
) -> Result<(String, Arc<dyn Provider>), Failure> {
    let Some(file) = config.user.exec.get(name) else {
        let hint = format!(
            "add `[exec.{name}]` with `program` and `arguments` to `{}`",
            app.places.user_file.display()
        );
        return Err(Failure::usage(format!("there is no command `{name}`")).hint(hint));
    };
    let exec = Exec::new(name, file.program.clone(), file.arguments.clone());
    let usual = Timeouts { repeating: exec.repeating, reply: exec.reply, ..Timeouts::default() };
    let Timeouts { repeating, reply, .. } = config.user.timeouts.in_place_of(usual);
    let environment = app.environment.access(config).environment.to_vec();
    let exec = Exec { folder: Some("/".into()), environment, repeating, reply, ..exec };
    let model = file.model.clone().unwrap_or_else(|| name.to_owned());
    let speech = ToolCallFormat { dialect: speech.dialect.or(Some("auto")), is_fallback: false, ..speech };
    let provider = Arc::new(LeadingThoughts::of_command(Arc::new(exec)));
    Ok((model, speaking(app, &format!("exec/{name}"), provider, speech)?))
}

fn script(path: &Path) -> Result<Scripted, Failure> {
    Scripted::open(path).map_err(|error| Failure::usage(error.to_string()))
}

#[cfg(not(feature = "local"))]
fn local(_: &App, name: &str, _: ToolCallFormat<'_>) -> Result<(Arc<dyn Provider>, u64), Failure> {
    Err(Failure::usage(format!(
        "cannot open `local/{name}`: this `haft` was built without the feature `local`"
    )))
}

fn remote(
    app: &App,
    config: &Config,
    kind: &str,
    base_url: Option<&str>,
    is_free: bool,
) -> Result<Arc<dyn Provider>, Failure> {
    let vendor = vendor_named(kind)?;
    let mut connection = connection(app, config, vendor, base_url);
    if let Some(file) = app.environment.get("HAFT_RECORD") {
        let failed = |error| Failure::usage(format!("cannot record to `{file}`: {error}"));
        connection.record = Some(Record::create(file).map_err(failed)?);
    }
    if vendor.sign_in.is_some() {
        may_ask(config, vendor, &connection)?;
    } else if let (Some(variable), None, None) = (&vendor.key_variable, &connection.key, &connection.base_url)
    {
        let name = &holder(vendor).name;
        return Err(match config.account() {
            Some(account) => without_key(vendor, account),
            None => Failure::usage(format!("there is no API key for {}", vendor.title)).hint(format!(
                "set {variable}, or save a key with `haft login {name}`; `haft models list` lists other models"
            )),
        });
    }
    if let Some(url) = connection
        .base_url
        .as_deref()
        .filter(|url| !url.starts_with("http://") && !url.starts_with("https://"))
    {
        return Err(Failure::usage(format!(
            "cannot use the base URL `{url}`: it does not start with `http://` or `https://`"
        )));
    }
    let mut vendor = vendor.clone();
    vendor.quirks.strict_tools &= !is_free;
    Ok(Arc::new(Retry::new(connect(&vendor, connection))))
}

/// Checks that a cloud has an address and a sign-in. An account needs a key of its own.
fn may_ask(config: &Config, vendor: &Vendor, connection: &Connection) -> Result<(), Failure> {
    let failure = |missing: Missing| Failure::usage(missing.message).hint(missing.hint);
    vendor.address(connection.base_url.as_deref(), &connection.variables).map_err(failure)?;
    match (&connection.key, config.account()) {
        (Some(_), _) => Ok(()),
        (None, Some(account)) => Err(without_key(vendor, account)),
        (None, None) => {
            vendor.signed_in(&connection.variables).map_or(Ok(()), |how| how.map(drop)).map_err(failure)
        }
    }
}

fn without_key(vendor: &Vendor, account: &str) -> Failure {
    let name = &holder(vendor).name;
    let failure = Failure::usage(format!("the account `{account}` has no API key for {}", vendor.title));
    match vendor.key_variable {
        Some(_) => failure.hint(format!("`haft login {name} --account {account}` saves one")),
        None => failure.hint(format!("{} takes no key: use it without an account", vendor.title)),
    }
}

/// The vendor of this name.
pub fn vendor_named(kind: &str) -> Result<&'static Vendor, Failure> {
    vendor(kind).ok_or_else(|| no_vendor(kind))
}

fn no_vendor(kind: &str) -> Failure {
    let names = provider_names();
    let near = nearest(kind, &names).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    Failure::usage(format!("there is no provider `{kind}`"))
        .hint(format!("{near}there are {}", names.join(", ")))
}

/// How `vendor` is reached, according to an option, the environment and the configuration.
pub fn connection(app: &App, config: &Config, vendor: &Vendor, flag: Option<&str>) -> Connection {
    let file = config.user.vendors.get(vendor.name).cloned().unwrap_or_default();
    let key = config.key(&app.environment, vendor).map(|(key, _)| Key::new(key));
    let base_url = base_url(app, config, vendor, flag);
    let usual = vendor.timeouts_at(base_url.as_deref().unwrap_or(vendor.base_url));
    let timeouts = Some(file.timeouts.over(config.user.timeouts).in_place_of(usual));
    let (effort, cache_ttl) = (config.effective().effort, file.cache_ttl.unwrap_or_default());
    let variables = variables(app, vendor, &file);
    let account = config.account().map(str::to_owned);
    Connection { base_url, key, account, variables, timeouts, effort, cache_ttl, ..Connection::default() }
}

/// The variables for signing in to a cloud; none for any other vendor.
fn variables(app: &App, vendor: &Vendor, file: &VendorFile) -> Variables {
    let all = || Variables::new(app.environment.variables.clone());
    match vendor.sign_in {
        None => Variables::default(),
        Some(SignIn::Azure) => all(),
        Some(SignIn::Aws) => all()
            .or(&["AWS_REGION", "AWS_DEFAULT_REGION"], file.region.as_deref())
            .or(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"], file.profile.as_deref()),
        Some(SignIn::Google) => all()
            .or(&["GOOGLE_CLOUD_LOCATION"], file.region.as_deref())
            .or(&["GOOGLE_CLOUD_PROJECT"], file.project.as_deref()),
    }
}

/// Describes in a few words the identity with which a cloud is asked if there is no key. `None` for other vendors, for
/// a cloud whose address is not known, and while an account is in use.
pub fn signed_in(app: &App, config: &Config, vendor: &Vendor) -> Option<Result<String, Missing>> {
    let connection = connection(app, config, vendor, None);
    let has_address = vendor.address(connection.base_url.as_deref(), &connection.variables).is_ok();
    let how = vendor.signed_in(&connection.variables);
    how.filter(|_| has_address && config.account().is_none())
}

/// The base URL that an option, a variable or the configuration sets for `vendor`.
pub fn base_url(app: &App, config: &Config, vendor: &Vendor, flag: Option<&str>) -> Option<String> {
    let variable = vendor.base_url_variable.and_then(|name| app.environment.get(name));
    let file = config.user.vendors.get(vendor.name).and_then(|vendor| vendor.base_url.as_deref());
    flag.or(variable).or(file).map(str::to_owned)
}
