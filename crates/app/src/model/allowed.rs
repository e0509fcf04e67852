//! [`AllowedModels`]: the models that a role allows.
use crate::users::matches;
use haft_engine::{Models, Setup};
use std::sync::Arc;

/// Patterns of `PROVIDER/MODEL`; without any, all models are allowed.
#[derive(Clone)]
pub(crate) struct AllowedModels(pub(crate) Arc<[String]>);

impl AllowedModels {
    /// Fails if the model is not allowed.
    pub(crate) fn check(&self, model: &str) -> Result<(), String> {
        let Self(patterns) = self;
        if patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, model)) {
            return Ok(());
        }
        let model = model.escape_debug();
        Err(format!(
            "the role of the user who began the session does not allow the model `{model}`, only {}",
            patterns.join(", ")
        ))
    }

    /// Restricts sessions of `setup` to these models: removes other fallbacks, and refuses agents that name another
    /// model.
    pub(crate) fn hold(self, setup: &mut Setup) {
        setup.model.fallbacks.retain(|model| self.check(&model.spec).is_ok());
        setup.models = setup
            .models
            .take()
            .map(|open| -> Models { Arc::new(move |model| self.check(model).and_then(|()| open(model))) });
    }
}
