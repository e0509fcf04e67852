//! Checks the model and the profile that a client names. A name is passed on; a path is accepted only below a served
//! folder.
use super::{Hub, Known};
use crate::{
    error::{Answer, ApiError},
    parts::Place,
};
use haft_app::{config::serve::Permission, users::Role};
use haft_engine::Engine;
use std::path::{Path, PathBuf};

impl Hub {
    /// Returns `PROVIDER/MODEL`; for a model that is a file (`script/FILE`, `local/FILE.gguf`), with its absolute path.
    /// A relative path counts from `workspace`. If the file is in no served folder, the error does not say whether it
    /// exists elsewhere.
    pub(super) fn model(&self, workspace: &Path, named: String) -> Answer<String> {
        if let Some(user) = self.user().filter(|_| !self.allows_model(&named)) {
            return Err(not_of_role(&user.role, &named));
        }
        let file = match named.split_once('/') {
            Some((kind @ "script", file)) => Some((kind, file)),
            // Without a slash, it is a name, or a file in the folder of models.
            Some((kind @ "local", file)) if file.contains('/') => Some((kind, file)),
            _ => None,
        };
        match file {
            Some((kind, file)) if named != self.settings().model() => {
                let found = self.served_file(workspace, file).ok_or_else(|| self.refused("model", &named))?;
                Ok(format!("{kind}/{}", found.display()))
            }
            _ => Ok(named),
        }
    }

    /// Whether the user's role allows this model.
    pub(crate) fn allows_model(&self, model: &str) -> bool {
        self.user().is_none_or(|user| user.role.has_model(model))
    }

    /// Fails if the agent's model is not allowed by the user's role.
    pub(super) fn check_agent(&self, engine: &Engine, name: &str) -> Answer<()> {
        let agent = engine.setup().agents.iter().find(|agent| agent.name == name);
        let model = agent.and_then(|agent| agent.model.as_deref()).filter(|model| !self.allows_model(model));
        match (model, self.user()) {
            (Some(model), Some(user)) => Err(not_of_role(&user.role, model)),
            _ => Ok(()),
        }
    }

    /// The model if a client names none: the server's, or the first one that the user's role names.
    pub(super) fn usual_model(&self) -> Answer<String> {
        let usual = self.settings().model();
        match self.user() {
            Some(user) if !user.role.has_model(usual) => {
                let mut named = user.role.file().models.iter().filter(|model| !model.contains('*'));
                named.next().cloned().ok_or_else(|| not_of_role(&user.role, usual))
            }
            _ => Ok(usual.to_owned()),
        }
    }

    /// Returns the name of a profile, or the absolute path of a TOML file. A relative path counts from `workspace`. If
    /// the file is in no served folder, the error does not say whether it exists elsewhere.
    pub(super) fn profile(&self, workspace: &Path, named: String) -> Answer<String> {
        let is_name = !named.ends_with(".toml") && !named.contains('/');
        if is_name || named == self.settings().profile() {
            return Ok(named);
        }
        // A file can grant more than a role allows, e.g., that commands run unconfined.
        if self.user().is_some_and(|user| !user.role.may(Permission::Administer)) {
            return Err(ApiError::forbidden("a profile that is a file is for those who may administer")
                .suggest("name a profile of the list"));
        }
        let found = self.served_file(workspace, &named).ok_or_else(|| self.refused("profile", &named))?;
        Ok(found.display().to_string())
    }

    /// The place with which a session is opened again. Its journal has the profile's own name, which may be a path.
    pub(super) fn place_again(&self, known: &Known) -> Answer<Place> {
        check_tree(known)?;
        let profile = self.profile(&known.place.workspace, known.place.profile.clone())?;
        Ok(Place { profile, ..known.place.clone() })
    }

    /// Fails if a fork of this session would work outside the served folders: a job works in a work tree.
    pub(crate) fn check_fork(&self, known: &Known) -> Answer<()> {
        check_tree(known)?;
        match known.order.is_none() || self.is_served(&known.place.workspace) {
            true => Ok(()),
            false => {
                let message =
                    format!("cannot fork the session of the job `{}`: its work tree is not served", known.id);
                Err(ApiError::conflict(message).suggest("`POST /v1/jobs` begins another job"))
            }
        }
    }

    /// The canonical path of a file in the served folders.
    fn served_file(&self, workspace: &Path, named: &str) -> Option<PathBuf> {
        let real = workspace.join(named).canonicalize().ok()?;
        (real.is_file() && self.is_served(&real)).then_some(real)
    }

    fn refused(&self, what: &str, named: &str) -> ApiError {
        let folder = match self.user() {
            None => "that is served".to_owned(),
            Some(user) => format!("of the role `{}`", user.role.name),
        };
        ApiError::wrong(format!("the {what} `{}` is not a file in a folder {folder}", named.escape_debug()))
            .suggest(format!("name a {what} of the list, or a file in the workspace of the session"))
    }
}

/// Fails if the session belongs to a job whose work tree was removed, e.g., because the job is completed.
fn check_tree(known: &Known) -> Answer<()> {
    let branch = known.order.as_ref().and_then(|order| order.branch.as_deref());
    let Some(branch) = branch.filter(|_| !known.place.workspace.exists()) else { return Ok(()) };
    let message = format!(
        "the work tree of the job `{}` is gone, as that of each completed job; its commits are on the branch `{branch}`",
        known.id
    );
    Err(ApiError::conflict(message)
        .suggest("`timeline` and `export` show what it did; `POST /v1/jobs` begins another job"))
}

fn not_of_role(role: &Role, model: &str) -> ApiError {
    let message = format!("the role `{}` does not allow the model `{}`", role.name, model.escape_debug());
    ApiError::forbidden(message).suggest(format!("name one of {}", role.file().models.join(", ")))
}
