//! [`Offer`]: the models that Haft offers if none is chosen: of servers on this machine, for keys in the environment,
//! in files for this process, and of providers that need a key.
use super::{base_url, connection};
use crate::{
    App, Failure,
    config::{Config, KeySource, holder},
};
use futures::future::join_all;
use haft_providers::{Connection, Installed, Vendor, best_model, list_models, vendors};
use std::time::Duration;
use tokio::time::timeout;

/// Timeout for listing the models of a server. On loopback, a response takes a few milliseconds. A server that exceeds
/// the timeout is not offered.
const LIST_TIMEOUT: Duration = Duration::from_millis(250);
/// Timeout for asking a server that responds which of its models is the best.
const BEST_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum number of models of a server that are offered, including the best.
const MAX_SERVER_MODELS: usize = 4;

/// A way to get a model.
#[derive(Clone)]
pub enum Offer {
    /// A server on this machine that answers.
    Server {
        /// The provider of the server.
        vendor: &'static Vendor,
        /// Its address.
        address: String,
        /// Its models in the form for `--model`, the best first; at least one.
        specs: Vec<String>,
    },
    /// A key in the environment.
    Key {
        /// The provider that the key is for.
        vendor: &'static Vendor,
        /// The variable that contains it.
        variable: String,
        /// The vendor's default model, in the form for `--model`.
        spec: String,
    },
    /// A file for this process, in the form for `--model`.
    File(String),
    /// A vendor that wants a key.
    Login {
        /// The provider that needs a key.
        vendor: &'static Vendor,
        /// Its default model, in the form for `--model`.
        spec: String,
    },
}

/// The ways to get a model, the easiest first.
pub async fn offers(app: &App, config: &Config) -> Vec<Offer> {
    let mut offers = servers(app, config).await;
    let mut wanting = Vec::new();
    // Of the vendors that share a key, only the first.
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

/// The servers on this machine that respond. All are asked at the same time, without a key.
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

/// The model that a vendor's name alone stands for, in the form for `--model`, and the reason for the choice.
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

/// The failure if there is no model. It names the ways to get one, a line each, in the order of [`offers`].
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

/// The models for this process whose files exist, in the form for `--model`.
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
