//! [`SharedModels`]: models that several engines of one process share.
use haft_engine::{Model, Setup};
use parking_lot::Mutex;
use std::sync::Arc;

/// The models of sessions, by profile. All sessions share a model that runs in this process, since it is large.
#[derive(Clone, Default)]
pub struct SharedModels(Arc<Mutex<Vec<(String, Model)>>>);

impl SharedModels {
    /// Replaces the model of `setup` by an equal one that is already loaded.
    pub fn share(&self, setup: &mut Setup) {
        let profile = &setup.profile.name;
        self.share_one(profile, &mut setup.model);
        setup.model.fallbacks.iter_mut().for_each(|fallback| self.share_one(profile, fallback));
    }

    fn share_one(&self, profile: &String, own: &mut Model) {
        let mut known = self.0.lock();
        let is_same = |(other, model): &&(String, Model)| {
            let known = (other, &model.spec, &model.effort, model.window);
            known == (profile, &own.spec, &own.effort, own.window)
        };
        match known.iter().find(is_same) {
            Some((_, model)) => own.provider = model.provider.clone(),
            None => known.push((profile.clone(), Model { fallbacks: Vec::new(), ..own.clone() })),
        }
    }
}
