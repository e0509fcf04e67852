//! [`UnreadCalls`]: notices when a model that should call natively writes a call as text.
use super::{schemas, trial::Trial};
use futures::{StreamExt, stream::BoxStream};
use haft_core::{Delta, Provider, ProviderError, Request};
use haft_dialects::{Dialect, Setting};
use std::sync::{Arc, OnceLock};

/// Changes nothing of what a model says, and tells once in which format it writes calls that no one reads.
pub struct UnreadCalls {
    inner: Arc<dyn Provider>,
    found: Arc<OnceLock<&'static Dialect>>,
    tell: Tell,
}

/// Takes the name of the format.
type Tell = Arc<dyn Fn(&'static str) + Send + Sync>;

impl UnreadCalls {
    /// Around `inner`.
    pub fn new(inner: Arc<dyn Provider>, tell: impl Fn(&'static str) + Send + Sync + 'static) -> Self {
        Self { inner, found: Arc::default(), tell: Arc::new(tell) }
    }
}

impl Provider for UnreadCalls {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let (found, tell, tools) = (self.found.clone(), self.tell.clone(), request.tools.clone());
        let is_watched = found.get().is_none() && !tools.is_empty();
        let mut trial = is_watched.then(|| Trial::new(found.clone()));
        let watched = self.inner.stream(request).inspect(move |delta| match delta {
            Ok(Delta::Text(text)) => trial.iter_mut().for_each(|trial| trial.hear(text)),
            Ok(Delta::Retrying { .. }) => trial.iter_mut().for_each(Trial::forget),
            Ok(Delta::CallStart { .. }) => trial = None,
            Ok(Delta::Stop(stop)) if !stop.is_cut_off() => {
                let setting = Setting { tools: schemas(&tools), ..Setting::default() };
                let calls = trial.take().map(|trial| trial.calls(&setting)).unwrap_or_default();
                if let Some(dialect) = found.get().filter(|_| !calls.is_empty()) {
                    tell(dialect.name);
                }
            }
            _ => {}
        });
        watched.boxed()
    }
}
