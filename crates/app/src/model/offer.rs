//! [`Offer`]: what Haft offers if no model is chosen: servers on this machine that answer, and files for this process.
use super::{base_url, connection};
use crate::{App, Failure, config::Config};
use futures::future::join_all;
use haft_providers::{Connection, Installed, Vendor, best_model, vendors};
use std::time::Duration;
use tokio::time::timeout;

/// On loopback an answer takes a few milliseconds.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// A server on this machine that answers.
pub struct Offer {
    /// Whose it is.
    pub vendor: &'static Vendor,
    /// Where it is.
    pub address: String,
    /// Its best model, as `--model` takes it.
    pub spec: String,
}

/// The servers on this machine that answer, all asked at the same time. They are told no key.
pub async fn servers(app: &App, config: &Config) -> Vec<Offer> {
    let local = vendors().iter().filter(|vendor| vendor.local);
    let asked = join_all(local.map(|vendor| answering(app, config, vendor))).await;
    asked.into_iter().flatten().collect()
}

async fn answering(app: &App, config: &Config, vendor: &'static Vendor) -> Option<Offer> {
    let base_url = base_url(app, config, vendor, None);
    let address = base_url.unwrap_or_else(|| vendor.base_url.clone());
    let connection = Connection { base_url: Some(address.clone()), ..Connection::default() };
    let best = timeout(ANSWER_TIMEOUT, best_model(vendor, &connection)).await.ok()?.ok()??;
    Some(Offer { vendor, address, spec: format!("{}/{}", vendor.name, best.name) })
}

/// The model that a vendor's name alone stands for, as `--model` takes it, and why it was taken.
pub(super) async fn default_of(
    app: &App,
    config: &Config,
    vendor: &Vendor,
    flag: Option<&str>,
) -> Result<(String, String), Failure> {
    if let Some(model) = &vendor.default_model {
        return Ok((format!("{}/{model}", vendor.name), format!("the default model of {}", vendor.title)));
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

/// There is no model. Names the ways to one: a key, a server that answers, a file in this process.
pub(super) async fn none(app: &App, config: &Config) -> Failure {
    let mut ways = vec![
        "save a key with `haft login PROVIDER`, or set OPENAI_API_KEY, ANTHROPIC_API_KEY or another one \
         (`haft models list` lists them)"
            .to_owned(),
        format!(
            "choose a model with `--model PROVIDER/MODEL`, or with `model = \"PROVIDER/MODEL\"` in `{}`",
            app.places.user_file.display()
        ),
    ];
    let server = |Offer { address, spec, .. }| format!("use the server at {address}: `--model {spec}`");
    ways.extend(servers(app, config).await.into_iter().map(server));
    ways.extend(in_process(app));
    Failure::usage("no model configured and no API key found").hint(ways.join("; or "))
}

/// The models for this process whose files are here, as `--model` takes them.
#[cfg(feature = "local")]
pub fn files(app: &App) -> Vec<String> {
    use haft_local::models::{find, known};
    let here = known().keys().filter(|name| find(name, &app.places.models).is_ok());
    here.map(|name| format!("local/{name}")).collect()
}

/// None: this `haft` was built without the feature `local`.
#[cfg(not(feature = "local"))]
pub fn files(_: &App) -> Vec<String> {
    Vec::new()
}

fn in_process(app: &App) -> Option<String> {
    match files(app).first() {
        Some(spec) => Some(format!("use the model inside Haft: `--model {spec}`")),
        None if cfg!(feature = "local") => {
            Some("download a model to run inside Haft: `haft models pull NAME`".to_owned())
        }
        None => None,
    }
}
