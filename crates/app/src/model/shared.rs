//! [`SharedModels`]: models that many engines of one process share.
use haft_engine::{Model, Setup};
use parking_lot::Mutex;
use std::sync::Arc;

/// The models that sessions ask, by the profile that says how. One that runs in this process is large: all sessions have
/// the same.
#[derive(Clone, Default)]
pub struct SharedModels(Arc<Mutex<Vec<(String, Model)>>>);

impl SharedModels {
    /// Gives `setup` the model that another one has already, where they are the same.
    pub fn share(&self, setup: &mut Setup) {
        let mut known = self.0.lock();
        let is_same = |(profile, model): &&(String, Model)| {
            (profile, &model.spec, model.window)
                == (&setup.profile.name, &setup.model.spec, setup.model.window)
        };
        match known.iter().find(is_same) {
            Some((_, model)) => setup.model = model.clone(),
            None => known.push((setup.profile.name.clone(), setup.model.clone())),
        }
    }
}
