//! [`UnreadCalls`]: detects calls that a model writes as text and that Haft does not parse.
use super::{schemas, trial};
use futures::{StreamExt, stream::BoxStream};
use haft_core::{Delta, Provider, ProviderError, Request};
use haft_dialects::Setting;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// Leaves the replies of a model unchanged, and reports once the format of calls that are not parsed.
pub struct UnreadCalls {
    inner: Arc<dyn Provider>,
    has_told: Arc<AtomicBool>,
    tell: Tell,
}

/// Called with the name of the format.
type Tell = Arc<dyn Fn(&'static str) + Send + Sync>;

impl UnreadCalls {
    /// Wraps `inner`.
    pub fn new(inner: Arc<dyn Provider>, tell: impl Fn(&'static str) + Send + Sync + 'static) -> Self {
        Self { inner, has_told: Arc::default(), tell: Arc::new(tell) }
    }
}

impl Provider for UnreadCalls {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let (has_told, tell, tools) = (self.has_told.clone(), self.tell.clone(), request.tools.clone());
        let is_watched = !has_told.load(Relaxed) && !tools.is_empty();
        let mut reply = is_watched.then(String::new);
        let watched = self.inner.stream(request).inspect(move |delta| match delta {
            Ok(Delta::Text(text)) => reply.iter_mut().for_each(|reply| reply.push_str(text)),
            Ok(Delta::Retrying { .. }) => reply.iter_mut().for_each(String::clear),
            Ok(Delta::CallStart { .. }) => reply = None,
            Ok(Delta::Stop(stop)) if !stop.is_cut_off() => {
                let setting = Setting { tools: schemas(&tools), ..Setting::default() };
                if let Some(found) = reply.take().and_then(|reply| trial::calls(&reply, &setting))
                    && !has_told.swap(true, Relaxed)
                {
                    tell(found.dialect.name);
                }
            }
            _ => {}
        });
        watched.boxed()
    }
}
