//! [`Place::open`] and [`Builder::open_model`]: open the parts of an agent that its builder has to find: the folder for
//! sessions, and the model.
use crate::{Builder, Error, Result, ToolCallFormat, builder::Place, environment::Environment};
use haft_core::{Provider, schema};
use haft_dialects::{DIALECTS, Dialect, dialect};
use haft_engine::{Home, Model, Models, Profile, Stages};
use haft_stage::{CommandAccess, LocalStage};
use haft_text_calls::{LeadingThoughts, TextToolCalls};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;

impl Place {
    /// Opens the folder of sessions; also determines how each session stores its contents there.
    pub(crate) fn open(
        self,
        environment: &Environment,
        commands: Option<CommandAccess>,
        workspace: &Path,
    ) -> Result<(Home, Stages)> {
        let (home, kept) = match self {
            Self::Person => (environment.home()?, None),
            Self::Folder(folder) => (absolute(&folder)?, None),
            Self::Memory => {
                let folder = temporary(workspace)?;
                (folder.path().to_owned(), Some(folder))
            }
        };
        let locks = home.join("locks");
        let stages = move |contents: &Path| {
            // The folder exists as long as the engine, which owns this closure.
            let _kept = &kept;
            let plain = LocalStage::new(contents.to_owned()).with_locks(locks.clone());
            Arc::new(match &commands {
                Some(access) => plain.with_command_views(access.clone()),
                None => plain,
            }) as _
        };
        Ok((Home(home), Arc::new(stages)))
    }
}

/// A temporary folder outside of `workspace`, which may itself be the system's folder for temporary files.
fn temporary(workspace: &Path) -> Result<TempDir> {
    let holds = |folder: &PathBuf| folder.canonicalize().is_ok_and(|folder| folder.starts_with(workspace));
    let folders = [std::env::temp_dir(), "/var/tmp".into(), "/dev/shm".into()];
    let folder = folders.into_iter().find(|folder| folder.is_dir() && !holds(folder)).ok_or_else(|| {
        Error::new(format!(
            "cannot keep sessions in memory: all folders for temporary files are in the workspace `{}`",
            workspace.display()
        ))
        .with_hint("name a folder outside of it with `home`, or a smaller workspace with `workspace`")
    })?;
    let made = tempfile::Builder::new().prefix("haft-").tempdir_in(&folder);
    made.map_err(|error| {
        let place = folder.display();
        Error::new(format!("cannot make a folder for sessions in memory in `{place}`: {error}"))
            .with_hint("name another folder with `home`")
    })
}

/// The absolute path, with links followed as far as the path exists, for comparison with the workspace.
fn absolute(folder: &Path) -> Result<PathBuf> {
    let failed = |error: std::io::Error| {
        Error::new(format!("cannot keep sessions in `{}`: {error}", folder.display()))
            .with_hint("name another folder with `home`")
    };
    std::fs::create_dir_all(folder).and_then(|()| folder.canonicalize()).map_err(failed)
}

/// Wraps the provider in the dialect that the program sets.
fn speaking(provider: Arc<dyn Provider>, speech: ToolCallFormat) -> Result<Arc<dyn Provider>> {
    Ok(Arc::new(match speech {
        ToolCallFormat::Auto => TextToolCalls::auto(provider),
        ToolCallFormat::In(own) => TextToolCalls::new(provider, own),
        ToolCallFormat::Named(name) => TextToolCalls::new(provider, known(&name)?),
    }))
}

/// Wraps the provider in the dialect of the profile.
fn speaking_as(provider: Arc<dyn Provider>, profile: &Profile) -> Result<Arc<dyn Provider>> {
    match &profile.dialect {
        None => Ok(Arc::new(LeadingThoughts::new(provider))),
        Some(name) if profile.native_first => Ok(Arc::new(TextToolCalls::fallback(provider, known(name)?))),
        Some(name) => speaking(provider, name.as_str().into()),
    }
}

fn known(name: &str) -> Result<&'static Dialect> {
    dialect(name).ok_or_else(|| {
        let names: Vec<&str> = DIALECTS.iter().map(|dialect| dialect.name).collect();
        let near = schema::nearest(name, &names).map(|near| format!("did you mean `{near}`? "));
        let hint = format!("{}there are auto, {}", near.unwrap_or_default(), names.join(", "));
        Error::new(format!("there is no dialect `{name}`")).with_hint(hint)
    })
}

impl Builder {
    /// Opens the given provider, otherwise the named model.
    pub(crate) async fn open_model(&self, environment: &Environment) -> Result<Model> {
        let model = match &self.provider {
            Some(provider) => Model::plain(self.model.as_deref().unwrap_or("own/provider"), provider.clone()),
            None => self.named_model(environment).await?,
        };
        let provider = match (self.speech.clone(), &self.profile) {
            (Some(speech), _) => speaking(model.provider, speech)?,
            (None, Some(profile)) => speaking_as(model.provider, profile)?,
            (None, None) => model.provider,
        };
        Ok(Model {
            provider,
            price: self.price.or(model.price),
            window: self.window.or(model.window),
            ..model
        })
    }

    #[cfg(feature = "http")]
    async fn named_model(&self, environment: &Environment) -> Result<Model> {
        let spec = self.model.as_deref().ok_or_else(no_model)?;
        let model = crate::model::open(spec, &self.way, environment)?;
        Ok(crate::model::measured(model, &self.way, environment).await)
    }

    #[cfg(not(feature = "http"))]
    async fn named_model(&self, _: &Environment) -> Result<Model> {
        Err(no_model())
    }

    /// Opens the models that agents name. Each uses the key of its own vendor.
    #[cfg(feature = "http")]
    pub(crate) fn models(&self, environment: &Arc<Environment>) -> Option<Models> {
        let environment = environment.clone();
        Some(Arc::new(move |spec| {
            crate::model::open(spec, &Default::default(), &environment).map_err(|error| error.to_string())
        }))
    }

    #[cfg(not(feature = "http"))]
    pub(crate) fn models(&self, _: &Arc<Environment>) -> Option<Models> {
        None
    }

    /// Keys that must not be shown.
    #[cfg(feature = "http")]
    pub(crate) fn keys(&self, environment: &Environment) -> Vec<String> {
        crate::model::keys(&self.way, environment)
    }

    #[cfg(not(feature = "http"))]
    pub(crate) fn keys(&self, _: &Environment) -> Vec<String> {
        Vec::new()
    }
}

fn no_model() -> Error {
    Error::new("there is no model to ask")
        .with_hint("name one with `model(\"PROVIDER/MODEL\")`, or give one with `provider`")
}
