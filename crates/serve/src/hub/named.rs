//! The model and the profile that a client names. A name is passed on; a path is accepted only below a served folder.
use super::{Hub, Known};
use crate::{
    error::{Answer, ApiError},
    parts::Place,
};
use std::path::{Path, PathBuf};

impl Hub {
    /// `PROVIDER/MODEL`; a model that is a file (`script/FILE`, `local/FILE.gguf`) with its absolute path. A relative path
    /// counts from `workspace`. Fails where the file is in no served folder, whether it exists elsewhere or not.
    pub(super) fn model(&self, workspace: &Path, named: String) -> Answer<String> {
        let file = match named.split_once('/') {
            Some((kind @ "script", file)) => Some((kind, file)),
            // One without a slash is a name, or a file in the folder of models.
            Some((kind @ "local", file)) if file.contains('/') => Some((kind, file)),
            _ => None,
        };
        match file {
            Some((kind, file)) if named != self.settings().model() => {
                let found = self.served_file(workspace, file).ok_or_else(|| refused("model", &named))?;
                Ok(format!("{kind}/{}", found.display()))
            }
            _ => Ok(named),
        }
    }

    /// The name of a profile, or the absolute path of a TOML file. A relative path counts from `workspace`. Fails where
    /// the file is in no served folder, whether it exists elsewhere or not.
    pub(super) fn profile(&self, workspace: &Path, named: String) -> Answer<String> {
        let is_name = !named.ends_with(".toml") && !named.contains('/');
        if is_name || named == self.settings().profile() {
            return Ok(named);
        }
        let found = self.served_file(workspace, &named).ok_or_else(|| refused("profile", &named))?;
        Ok(found.display().to_string())
    }

    /// What a session is opened again with. Its journal has the name that the profile gives itself, which may be a path.
    pub(super) fn place_again(&self, known: &Known) -> Answer<Place> {
        let profile = self.profile(&known.place.workspace, known.place.profile.clone())?;
        Ok(Place { profile, ..known.place.clone() })
    }

    /// With all links followed.
    fn served_file(&self, workspace: &Path, named: &str) -> Option<PathBuf> {
        let real = workspace.join(named).canonicalize().ok()?;
        (real.is_file() && self.is_served(&real)).then_some(real)
    }
}

fn refused(what: &str, named: &str) -> ApiError {
    ApiError::wrong(format!("the {what} `{}` is not a file in a folder that is served", named.escape_debug()))
        .suggest(format!("name a {what} of the list, or a file in the workspace of the session"))
}
