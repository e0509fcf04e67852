//! [`Offer`]: what Haft offers if no model is chosen: servers on this machine, keys in the environment, files for this
//! process, and providers that want a key.
use super::{base_url, connection};
use crate::{
    App, Failure,
    config::{Config, KeySource, holder},
};
use futures::future::join_all;
use haft_providers::{Connection, Installed, Vendor, best_model, list_models, vendors};
use std::time::Duration;
use tokio::time::timeout;

/// On loopback an answer takes a few milliseconds. A server that does not list its models within this time is not offered.
const LIST_TIMEOUT: Duration = Duration::from_millis(250);
/// How long a server that is there may take to say which of its models is the best.
const BEST_TIMEOUT: Duration = Duration::from_millis(500);
/// Models of a server that are offered, the best included.
const MAX_SERVER_MODELS: usize = 4;

/// A way to a model.
#[derive(Clone)]
pub enum Offer {
    /// A server on this machine that answers.
    Server {
        /// The provider whose server it is.
        vendor: &'static Vendor,
        /// Its address.
        address: String,
        /// Its models as `--model` takes them, the best first; at least one.
        specs: Vec<String>,
    },
    /// A key in the environment.
    Key {
        /// The provider whose key it is.
        vendor: &'static Vendor,
        /// The variable that holds it.
        variable: String,
        /// The vendor's default model, as `--model` takes it.
        spec: String,
    },
    /// A file for this process, as `--model` takes it.
    File(String),
    /// A vendor that wants a key.
    Login {
        /// The provider whose key is needed.
        vendor: &'static Vendor,
        /// Its default model, as `--model` takes it.
        spec: String,
    },
}

/// The ways to a model, the shortest first.
pub async fn offers(app: &App, config: &Config) -> Vec<Offer> {
    let mut offers = servers(app, config).await;
    let mut wanting = Vec::new();
    // Only the first of the vendors that share a key.
    let is_own = |vendor: &&Vendor| vendor.key_variable.is_some() && holder(vendor).name == vendor.name;
    for vendor in vendors().iter().filter(is_own) {
        let Some(model) = &vendor.default_model else { continue };
        let spec = format!("{}/{model}", vendor.name);
        match config.key(&app.environment, vendor) {
            Some((_, KeySource::Variable(name))) => {
                offers.push(Offer::Key { vendor, variable: name.to_owned(), spec });
            }
            _ => wanting.push(Offer::Login { vendor, spec }),
        }
    }
    offers.extend(files(app).into_iter().map(Offer::File));
    offers.extend(wanting);
    offers
}

/// The servers on this machine that answer, all asked at the same time. They are told no key.
pub async fn servers(app: &App, config: &Config) -> Vec<Offer> {
    let local = vendors().iter().filter(|vendor| vendor.local);
    let asked = join_all(local.map(|vendor| answering(app, config, vendor))).await;
    asked.into_iter().flatten().collect()
}

async fn answering(app: &App, config: &Config, vendor: &'static Vendor) -> Option<Offer> {
    let base_url = base_url(app, config, vendor, None);
    let address = base_url.unwrap_or_else(|| vendor.base_url.to_owned());
    let connection = Connection { base_url: Some(address.clone()), ..Connection::default() };
    let listed = timeout(LIST_TIMEOUT, list_models(vendor, &connection)).await.ok()?.ok()?;
    let best =
        timeout(BEST_TIMEOUT, best_model(vendor, &connection)).await.ok().and_then(Result::ok).flatten();
    let best = best.map(|best| best.name);
    let is_other = |name: &String| best.as_ref() != Some(name) && !name.to_lowercase().contains("embed");
    let names = best.iter().cloned().chain(listed.into_iter().filter(is_other));
    let specs: Vec<String> =
        names.take(MAX_SERVER_MODELS).map(|name| format!("{}/{name}", vendor.name)).collect();
    (!specs.is_empty()).then_some(Offer::Server { vendor, address, specs })
}

/// The model that a vendor's name alone stands for, as `--model` takes it, and the reason.
pub(super) async fn default_of(
    app: &App,
    config: &Config,
    vendor: &Vendor,
    flag: Option<&str>,
) -> Result<(String, String), Failure> {
    if let Some(model) = &vendor.default_model {
        return Ok((format!("{}/{model}", vendor.name), format!("the default model of {}", vendor.title)));
    }
    if vendor.sign_in.is_some() {
        let hint = format!("name one: `{}/MODEL` (`haft help models` says which names)", vendor.name);
        return Err(Failure::usage(format!("{} has no default model", vendor.title)).hint(hint));
    }
    let connection = connection(app, config, vendor, flag);
    match best_model(vendor, &connection).await? {
        Some(Installed { name, why }) => Ok((format!("{}/{name}", vendor.name), why)),
        None => {
            let failure = Failure::usage(format!("{} has no model installed", vendor.title));
            Err(match &vendor.install {
                Some(install) => failure.hint(format!("install one, e.g. with `{install}`")),
                None => failure.hint("install or load one there"),
            })
        }
    }
}

/// There is no model. Names the ways to one, a line each, in the order of [`offers`].
pub(super) async fn none(app: &App, config: &Config) -> Failure {
    let server = |offer| match offer {
        Offer::Server { address, specs, .. } => {
            specs.first().map(|spec| format!("use the server at {address}: `--model {spec}`"))
        }
        _ => None,
    };
    let mut ways: Vec<String> = servers(app, config).await.into_iter().filter_map(server).collect();
    ways.extend(files(app).first().map(|spec| format!("use the model inside Haft: `--model {spec}`")));
    ways.push("save a key: `haft login PROVIDER` (`haft login status` lists them)".to_owned());
    ways.push("set one: OPENAI_API_KEY, ANTHROPIC_API_KEY or another variable".to_owned());
    if cfg!(feature = "local") && files(app).is_empty() {
        ways.push("download a model to run inside Haft: `haft models pull NAME`".to_owned());
    }
    ways.push("choose any other: `--model PROVIDER/MODEL` (`haft help models`)".to_owned());
    ways.push(format!("keep it: `model = \"PROVIDER/MODEL\"` in `{}`", app.places.user_file.display()));
    let ways: String = ways.iter().map(|way| format!("\n  {way}")).collect();
    Failure::usage("no model configured and no API key found")
        .hint(format!("there are these ways to a model:{ways}"))
}

/// The models for this process whose files are here, as `--model` takes them.
#[cfg(feature = "local")]
pub fn files(app: &App) -> Vec<String> {
    use haft_local::models::{find, known};
    let here = known().keys().filter(|name| find(name, &app.places.models).is_ok());
    here.map(|name| format!("local/{name}")).collect()
}

/// Always empty: this `haft` was built without the feature `local`.
#[cfg(not(feature = "local"))]
pub fn files(_: &App) -> Vec<String> {
    Vec::new()
}
