//! [`models`] (`haft models`): lists the available models, and downloads others.
use crate::{CliContext, args::Models};
use haft_app::{
    Failure,
    config::{KeySource, Settings},
    model, session,
};
use haft_providers::vendors;
use haft_terminal::Exit;
use haft_terminal::table::List;
use serde_json::json;

pub(super) use embedded::{demo, fetch_demo};

/// The model for trying Haft out.
#[derive(Clone)]
pub(super) struct Demo {
    /// The model, as `--model` takes it.
    pub(super) spec: String,
    /// Size of the download in MB; `None` if the file exists already.
    pub(super) megabytes: Option<u64>,
}

/// `haft models …`
pub(crate) async fn models(cli: &CliContext, command: Models) -> Result<Exit, Failure> {
    match command {
        Models::List { vendor: None, json } => list(cli, json).await,
        Models::List { vendor: Some(vendor), json } => offered(cli, &vendor, json).await,
        Models::Pull { name } => embedded::pull(cli, &name),
        Models::Path { name } => embedded::path(cli, &name),
        Models::Check(check) => super::check::check(cli, &check).await,
    }
}

async fn list(cli: &CliContext, json: bool) -> Result<Exit, Failure> {
    let config = cli.config(&session::workspace(None)?, &Settings::default())?;
    let mut rows = embedded::rows(cli);
    for vendor in vendors() {
        let signed_in = model::signed_in(cli, &config, vendor).and_then(Result::ok);
        let state = match (&vendor.key_variable, config.key(&cli.environment, vendor)) {
            (_, Some((_, KeySource::Variable(name)))) => format!("{name} is set"),
            (_, Some((_, KeySource::File))) => "key in configuration".into(),
            (_, Some((_, KeySource::Login))) => "logged in".into(),
            (_, None) if signed_in.is_some() => {
                signed_in.map(|how| format!("signed in with {how}")).unwrap_or_default()
            }
            (Some(variable), None) => format!("needs {variable}"),
            (None, None) if vendor.sign_in.is_some() => "needs a sign-in".into(),
            (None, None) if model::can_list(cli, &config, vendor).await => "answers".into(),
            (None, None) => "no server".into(),
        };
        rows.push(json!({"model": format!("{}/…", vendor.name), "title": vendor.title, "state": state}));
    }
    let mut list = List::new(["MODEL", "STATE", "TITLE"], json);
    for row in rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        list.row([text("model"), text("state"), text("title")], || row.clone());
    }
    Ok(list.print("There are no models.")?)
}

/// The models that the vendor's own server lists.
async fn offered(cli: &CliContext, name: &str, json: bool) -> Result<Exit, Failure> {
    let workspace = session::workspace(None)?;
    let config = cli.config(&workspace, &Settings::default())?;
    let models = model::models_of(cli, &config, name.trim_end_matches("/…")).await?;
    let mut list = List::new(["MODEL"], json);
    models.iter().for_each(|model| list.row([model], || json!({"model": model})));
    Ok(list.print("The server has no models.")?)
}

#[cfg(feature = "local")]
mod embedded {
    use super::Demo;
    use crate::CliContext;
    use haft_app::{Failure, config::Settings, session};
    use haft_local::{
        PullError,
        models::{self, Progress},
    };
    use haft_terminal::Exit;
    use serde_json::{Value, json};
    use std::{
        io::{IsTerminal, Write, stderr, stdout},
        path::PathBuf,
    };

    pub(super) fn rows(cli: &CliContext) -> Vec<Value> {
        let folder = &cli.places.models;
        let rows = models::known().iter().map(|(name, model)| {
            let size = model.size.map(|bytes| format!(" ({:.1} GB)", bytes as f64 / 1e9)).unwrap_or_default();
            let here = folder.join(&model.file).exists();
            let state = if here { "here".to_owned() } else { format!("to pull{size}") };
            json!({"model": format!("local/{name}"), "title": model.title, "license": model.license, "state": state})
        });
        rows.collect()
    }

    pub(crate) fn demo(cli: &CliContext) -> Option<Demo> {
        let model = models::known().get(models::DEFAULT)?;
        let is_here = models::find(models::DEFAULT, &cli.places.models).is_ok();
        let megabytes = model.size.filter(|_| !is_here).map(|bytes| bytes / 1_000_000);
        Some(Demo { spec: format!("local/{}", models::DEFAULT), megabytes })
    }

    /// Downloads the demo model if its file does not exist; returns the model in the form for `--model`.
    pub(crate) fn fetch_demo(cli: &CliContext, demo: Demo) -> Result<String, Failure> {
        if demo.megabytes.is_some() {
            fetch(cli, &demo.spec)?;
        }
        Ok(demo.spec)
    }

    pub(super) fn pull(cli: &CliContext, name: &str) -> Result<Exit, Failure> {
        writeln!(stdout(), "{}", fetch(cli, name)?.display())?;
        Ok(Exit::Success)
    }

    fn fetch(cli: &CliContext, name: &str) -> Result<PathBuf, Failure> {
        let draws = stderr().is_terminal();
        let config = cli.config(&session::workspace(None)?, &Settings::default())?;
        let environment = cli.environment.for_downloads(&config);
        let pulled = models::pull(name, &cli.places.models, &environment, &mut |progress| {
            if draws {
                let _no_terminal = write!(stderr(), "\r\x1b[K{}", bar(&progress));
            }
        });
        if draws {
            let _no_terminal = write!(stderr(), "\r\x1b[K");
        }
        pulled.map_err(|error| {
            let hint = "a local file works, too: `--model local/FILE.gguf`";
            match error {
                PullError::Unknown { .. } => Failure::usage(error.to_string()).hint(hint),
                _ => Failure::failed(error.to_string()).hint(hint),
            }
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

    pub(super) fn path(cli: &CliContext, name: &str) -> Result<Exit, Failure> {
        let file = models::find(name, &cli.places.models);
        let file = file.map_err(|error| haft_app::model::no_file(&error))?;
        writeln!(stdout(), "{}", file.display())?;
        Ok(Exit::Success)
    }
}

#[cfg(not(feature = "local"))]
mod embedded {
    use super::Demo;
    use crate::CliContext;
    use haft_app::Failure;
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
        Failure::usage(format!("cannot download `{name}`: this `haft` was built without the feature `local`"))
    }
}
