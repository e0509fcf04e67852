//! [`choices`]: the models that the user may choose in a conversation.
use super::{can_list, files, has_effort, models_of, vendor_of};
use crate::{App, config::Config};
use futures::future::join_all;
use haft_core::Price;
use haft_providers::{Card, Effort, Vendor, card, vendors};
use std::collections::HashSet;

/// The models that a user may choose in a conversation: the one in use, those of the configuration, the files on this
/// machine, and providers whose key is set. `…` stands for a name that has to be typed.
#[must_use]
pub fn choices(app: &App, config: &Config, own: &str) -> Vec<(String, String)> {
    let mut choices: Vec<(String, String)> = Vec::new();
    // Before the first session, no model is in use.
    choices.extend((!own.is_empty()).then(|| (own.to_owned(), String::new())));
    let model = config.effective().model;
    let written = model.iter().chain(config.user.models.keys());
    choices.extend(written.map(|spec| (spec.clone(), "in your configuration".to_owned())));
    let has_key = |vendor: &&Vendor| config.key(&app.environment, vendor).is_some();
    for vendor in vendors().iter().filter(has_key) {
        let model = vendor
            .default_model
            .iter()
            .map(|model| (format!("{}/{model}", vendor.name), vendor.title.to_owned()));
        choices.extend(model);
        choices.push((format!("{}/…", vendor.name), format!("another model of {}", vendor.title)));
    }
    choices.extend(files(app).into_iter().map(|spec| (spec, "inside Haft".to_owned())));
    let local = vendors().iter().filter(|vendor| vendor.local);
    choices.extend(
        local.map(|vendor| (format!("{}/…", vendor.name), format!("local server: {}", vendor.title))),
    );
    let mut seen = HashSet::new();
    choices.retain(|(spec, _)| seen.insert(spec.clone()));
    in_order(choices)
}

/// Like [`choices`], with all models that servers on this machine, and providers whose key is set, list at the moment.
pub async fn live_choices(app: &App, config: &Config, own: &str) -> Vec<(String, String)> {
    let asked = vendors().iter().map(|vendor| async move {
        match can_list(app, config, vendor).await {
            true => models_of(app, config, vendor.name).await.unwrap_or_default(),
            false => Vec::new(),
        }
    });
    let listed = join_all(asked).await.into_iter().flatten().map(|spec| (spec, String::new()));
    let mut choices = choices(app, config, own);
    let mut seen: HashSet<String> = choices.iter().map(|(spec, _)| spec.clone()).collect();
    choices.extend(listed.filter(|(spec, _)| seen.insert(spec.clone())));
    in_order(choices).into_iter().map(|(spec, what)| (spec.clone(), with_card(&spec, what))).collect()
}

/// Sorted; names that have to be typed come last.
fn in_order(mut choices: Vec<(String, String)>) -> Vec<(String, String)> {
    choices.sort_by_key(|(spec, _)| spec.ends_with('…'));
    choices
}

/// Adds the window and the price, if known: `400k window, $1.25 in, $10 out per million tokens`.
fn with_card(spec: &str, what: String) -> String {
    let known = spec.split_once('/').and_then(|(name, model)| Some(card(vendor_of(name)?, model)));
    let Card { window, price, .. } = known.unwrap_or_default();
    let window = window.map(|window| match window {
        1_000_000.. => format!("{}M window", window / 1_000_000),
        _ => format!("{}k window", window / 1_000),
    });
    let price = price.filter(|price| *price != Price::FREE);
    let price = price.map(|price| format!("${} in, ${} out per million", price.input, price.output));
    let what = Some(what).filter(|what| !what.is_empty());
    [what, window, price].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The levels of reasoning effort that the model `spec` takes, from the least to the most; empty if it takes none.
#[must_use]
pub fn efforts(spec: &str) -> Vec<&'static str> {
    if has_effort(spec) { Effort::ALL.map(Effort::name).to_vec() } else { Vec::new() }
}
