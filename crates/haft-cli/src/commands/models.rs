//! [`models`] (`haft models`): lists the available models, and downloads others.
use super::table::List;
use crate::{
    CliContext,
    args::Models,
    assemble,
    config::{Config, KeySource, Settings},
    failure::Failure,
    model,
};
use futures::future::join_all;
use haft_core::Price;
use haft_providers::{Card, Vendor, card, is_listening, vendor, vendors};
use haft_terminal::Exit;
use serde_json::json;
use std::collections::HashSet;

pub(super) use embedded::{demo, fetch_demo};

/// The model to try things out with.
#[derive(Clone)]
pub(super) struct Demo {
    /// As `--model` takes it.
    pub(super) spec: String,
    /// What is to be downloaded; nothing where it is here.
    pub(super) megabytes: Option<u64>,
}

/// `haft models …`
pub(crate) async fn models(context: &CliContext, command: Models) -> Result<Exit, Failure> {
    match command {
        Models::List { vendor: None, json } => list(context, json).await,
        Models::List { vendor: Some(vendor), json } => offered(context, &vendor, json).await,
        Models::Pull { name } => embedded::pull(context, &name),
        Models::Path { name } => embedded::path(context, &name),
        Models::Check(check) => super::check::check(context, &check).await,
    }
}

/// What people may choose in a conversation: what is in use, what they wrote down, what lies here, and vendors whose key
/// is set. An `…` stands for a name that has to be typed.
pub(crate) fn choices(context: &CliContext, config: &Config, own: &str) -> Vec<(String, String)> {
    let mut choices = vec![(own.to_owned(), String::new())];
    let model = config.effective().model;
    let written = model.iter().chain(config.user.models.keys());
    choices.extend(written.map(|spec| (spec.clone(), "in your configuration".to_owned())));
    let has_key = |vendor: &&Vendor| config.key(&context.environment, vendor).is_some();
    for vendor in vendors().iter().filter(has_key) {
        let model = vendor
            .default_model
            .iter()
            .map(|model| (format!("{}/{model}", vendor.name), vendor.title.clone()));
        choices.extend(model);
        choices.push((format!("{}/…", vendor.name), format!("another model of {}", vendor.title)));
    }
    let here = embedded::rows(context).into_iter().filter(|row| row["state"] == "here");
    choices.extend(
        here.filter_map(|row| Some((row["model"].as_str()?.to_owned(), "in this process".to_owned()))),
    );
    let local = vendors().iter().filter(|vendor| vendor.local);
    choices.extend(
        local.map(|vendor| (format!("{}/…", vendor.name), format!("a server here: {}", vendor.title))),
    );
    let mut seen = HashSet::new();
    choices.retain(|(spec, _)| seen.insert(spec.clone()));
    in_order(choices)
}

/// As [`choices`], and all models of vendors whose key is set and of servers that answer here, as they list them now.
pub(crate) async fn live_choices(context: &CliContext, config: &Config, own: &str) -> Vec<(String, String)> {
    let asked = vendors().iter().map(|vendor| async move {
        match model::can_list(context, config, vendor).await {
            true => model::models_of(context, config, &vendor.name).await.unwrap_or_default(),
            false => Vec::new(),
        }
    });
    let listed = join_all(asked).await.into_iter().flatten().map(|spec| (spec, String::new()));
    let mut choices = choices(context, config, own);
    let mut seen: HashSet<String> = choices.iter().map(|(spec, _)| spec.clone()).collect();
    choices.extend(listed.filter(|(spec, _)| seen.insert(spec.clone())));
    in_order(choices).into_iter().map(|(spec, what)| (spec.clone(), with_card(&spec, what))).collect()
}

/// Names that have to be typed stand behind those that are whole.
fn in_order(mut choices: Vec<(String, String)>) -> Vec<(String, String)> {
    choices.sort_by_key(|(spec, _)| spec.ends_with('…'));
    choices
}

/// With the window and the price, where they are known: `400k window, $1.25 in, $10 out per million tokens`.
fn with_card(spec: &str, what: String) -> String {
    let known = spec.split_once('/').and_then(|(name, model)| Some(card(vendor(name)?, model)));
    let Card { window, price } = known.unwrap_or_default();
    let window = window.map(|window| match window {
        1_000_000.. => format!("{}M window", window / 1_000_000),
        _ => format!("{}k window", window / 1_000),
    });
    let price = price.filter(|price| *price != Price::FREE);
    let price = price.map(|price| format!("${} in, ${} out per million", price.input, price.output));
    let what = Some(what).filter(|what| !what.is_empty());
    [what, window, price].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

async fn list(context: &CliContext, json: bool) -> Result<Exit, Failure> {
    let config = context.config(&assemble::workspace(None)?, &Settings::default())?;
    let mut rows = embedded::rows(context);
    for vendor in vendors() {
        let state = match (&vendor.key_variable, config.key(&context.environment, vendor)) {
            (_, Some((_, KeySource::Variable(name)))) => format!("{name} is set"),
            (_, Some((_, KeySource::File))) => "key in configuration".into(),
            (_, Some((_, KeySource::Login))) => "logged in".into(),
            (Some(variable), None) => format!("needs {variable}"),
            (None, None) if is_listening(&vendor.base_url).await => "answers".into(),
            (None, None) => "no server".into(),
        };
        rows.push(json!({"model": format!("{}/…", vendor.name), "title": vendor.title, "state": state}));
    }
    let mut list = List::new(["MODEL", "STATE", "TITLE"], json);
    for row in rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        list.row([text("model"), text("state"), text("title")], || row.clone());
    }
    Ok(list.print("There is no model.")?)
}

/// What the vendor's own server says that it has.
async fn offered(context: &CliContext, name: &str, json: bool) -> Result<Exit, Failure> {
    let workspace = assemble::workspace(None)?;
    let config = context.config(&workspace, &Settings::default())?;
    let models = model::models_of(context, &config, name.trim_end_matches("/…")).await?;
    let mut list = List::new(["MODEL"], json);
    models.iter().for_each(|model| list.row([model], || json!({"model": model})));
    Ok(list.print("The server has no model.")?)
}

#[cfg(feature = "local")]
mod embedded {
    use super::Demo;
    use crate::{CliContext, assemble, config::Settings, failure::Failure};
    use haft_local::models::{self, Progress};
    use haft_terminal::Exit;
    use serde_json::{Value, json};
    use std::{
        io::{IsTerminal, Write, stderr, stdout},
        path::PathBuf,
    };

    pub(super) fn rows(context: &CliContext) -> Vec<Value> {
        let folder = &context.places.models;
        let rows = models::known().iter().map(|(name, model)| {
            let size = model.size.map(|bytes| format!(" ({:.1} GB)", bytes as f64 / 1e9)).unwrap_or_default();
            let here = folder.join(&model.file).exists();
            let state = if here { "here".to_owned() } else { format!("to pull{size}") };
            json!({"model": format!("local/{name}"), "title": model.title, "license": model.license, "state": state})
        });
        rows.collect()
    }

    pub(crate) fn demo(context: &CliContext) -> Option<Demo> {
        let model = models::known().get(models::DEFAULT)?;
        let is_here = models::find(models::DEFAULT, &context.places.models).is_ok();
        let megabytes = model.size.filter(|_| !is_here).map(|bytes| bytes / 1_000_000);
        Some(Demo { spec: format!("local/{}", models::DEFAULT), megabytes })
    }

    /// Downloads it where it is not here. As `--model` takes it.
    pub(crate) fn fetch_demo(context: &CliContext, demo: Demo) -> Result<String, Failure> {
        if demo.megabytes.is_some() {
            fetch(context, &demo.spec)?;
        }
        Ok(demo.spec)
    }

    pub(super) fn pull(context: &CliContext, name: &str) -> Result<Exit, Failure> {
        writeln!(stdout(), "{}", fetch(context, name)?.display())?;
        Ok(Exit::Success)
    }

    fn fetch(context: &CliContext, name: &str) -> Result<PathBuf, Failure> {
        let draws = stderr().is_terminal();
        let CliContext { environment, places } = context;
        let config = context.config(&assemble::workspace(None)?, &Settings::default())?;
        let environment = environment.for_downloads(&config);
        let pulled = models::pull(name, &places.models, &environment, &mut |progress| {
            if draws {
                let _no_terminal = write!(stderr(), "\r\x1b[K{}", bar(&progress));
            }
        });
        if draws {
            let _no_terminal = write!(stderr(), "\r\x1b[K");
        }
        pulled.map_err(|error| {
            Failure::failed(error.to_string()).hint("a file of your own does too: `--model local/FILE.gguf`")
        })
    }

    /// `[#########           ]  45 MB of 98 MB from …`
    fn bar(Progress { source, bytes, total }: &Progress) -> String {
        let megabytes = |bytes: u64| bytes / 1_000_000;
        match total {
            Some(total) => {
                let done = (bytes.min(total) * 30 / total.max(&1)) as usize;
                let (done, ahead) = ("#".repeat(done), " ".repeat(30 - done));
                format!("[{done}{ahead}] {} MB of {} MB from {source}", megabytes(*bytes), megabytes(*total))
            }
            None => format!("{} MB from {source}", megabytes(*bytes)),
        }
    }

    pub(super) fn path(context: &CliContext, name: &str) -> Result<Exit, Failure> {
        let file = models::find(name, &context.places.models);
        let file = file.map_err(|error| crate::model::no_file(&error))?;
        writeln!(stdout(), "{}", file.display())?;
        Ok(Exit::Success)
    }
}

#[cfg(not(feature = "local"))]
mod embedded {
    use super::Demo;
    use crate::{CliContext, failure::Failure};
    use haft_terminal::Exit;
    use serde_json::Value;

    pub(crate) fn demo(_: &CliContext) -> Option<Demo> {
        None
    }

    pub(crate) fn fetch_demo(_: &CliContext, demo: Demo) -> Result<String, Failure> {
        Err(without(&demo.spec))
    }

    pub(super) fn rows(_: &CliContext) -> Vec<Value> {
        Vec::new()
    }

    pub(super) fn pull(_: &CliContext, name: &str) -> Result<Exit, Failure> {
        Err(without(name))
    }

    pub(super) fn path(_: &CliContext, name: &str) -> Result<Exit, Failure> {
        Err(without(name))
    }

    fn without(name: &str) -> Failure {
        Failure::usage(format!("cannot get `{name}`: this `haft` was built without the feature `local`"))
    }
}
