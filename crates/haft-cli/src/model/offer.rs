//! What is said where nobody chose a model: where keys come from, and what this machine offers.
use super::base_url;
use crate::{CliContext, config::Config, failure::Failure};
use futures::future::join_all;
use haft::providers::{Connection, Vendor, list_models, vendors};
use std::time::Duration;
use tokio::time::timeout;

/// On loopback an answer takes a few milliseconds.
const ANSWER: Duration = Duration::from_millis(300);

/// There is no model. Names the ways to one: a key, a server that answers, a file in this process.
pub(super) async fn none(context: &CliContext, config: &Config) -> Failure {
    let servers = vendors().iter().filter(|vendor| vendor.local);
    let servers = join_all(servers.map(|vendor| answering(context, config, vendor))).await;
    let mut ways = vec![
        "keep a key with `haft login VENDOR`, or set OPENAI_API_KEY, ANTHROPIC_API_KEY or another one (`haft models list` names them)".to_owned(),
        format!(
            "name a model with `--model VENDOR/MODEL`, or with `model = \"VENDOR/MODEL\"` in `{}`",
            context.places.user_file.display()
        ),
    ];
    ways.extend(servers.into_iter().flatten());
    ways.extend(in_process(context));
    Failure::usage("there is no model: none was named, and there is no key of a vendor")
        .hint(ways.join("; or "))
}

/// The option that takes the first model of a server on this machine, if there is a server.
async fn answering(context: &CliContext, config: &Config, vendor: &Vendor) -> Option<String> {
    let base_url = base_url(context, config, vendor, None);
    let address = base_url.as_deref().unwrap_or(&vendor.base_url);
    // Whoever stands there is told no key.
    let connection = Connection { base_url: Some(address.to_owned()), ..Connection::default() };
    let models = timeout(ANSWER, list_models(vendor, &connection)).await.ok()?.ok()?;
    let model = models.first()?;
    Some(format!(
        "take what answers at {address} with `--model {}/{model}`, if you know that server",
        vendor.name
    ))
}

#[cfg(feature = "local")]
fn in_process(context: &CliContext) -> Option<String> {
    use haft::local::models::{find, known};
    let here = known().keys().find(|name| find(name, &context.places.models).is_ok());
    Some(match here {
        Some(name) => format!("take the model in this process with `--model local/{name}`"),
        None => "fetch one for this process with `haft models pull NAME`".to_owned(),
    })
}

#[cfg(not(feature = "local"))]
fn in_process(_: &CliContext) -> Option<String> {
    None
}
