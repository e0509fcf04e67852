//! [`JobsOfServer`]: the jobs that clients send to a server.
use super::{Job, Prepared, Wanted, discard, prepare, stop, taken_up, tidy};
use crate::{CliContext, args::TurnArgs, assemble, failure::Failure};
use futures::{FutureExt, future::BoxFuture};
use haft_core::{Conclusion, SessionId};
use haft_engine::Home;
use haft_serve::{Begun, Jobs, Problem};
use std::path::PathBuf;

/// Makes jobs and takes them up, with the options that the server was started with.
pub(crate) struct JobsOfServer {
    pub(crate) context: CliContext,
    pub(crate) turn: TurnArgs,
    /// The model that is asked, as people write it.
    pub(crate) model: String,
}

impl JobsOfServer {
    fn home(&self) -> Home {
        Home(self.context.places.home.clone())
    }
}

impl Jobs for JobsOfServer {
    fn add(
        &self,
        id: SessionId,
        kind: String,
        description: String,
        folder: PathBuf,
    ) -> BoxFuture<'static, Result<SessionId, Problem>> {
        let (context, model) = (self.context.clone(), self.model.clone());
        let wanted = Wanted { kind, description, origin: folder };
        async move { put_down(context, id, wanted, &model).await.map_err(Problem::from) }.boxed()
    }

    fn take(&self, id: SessionId) -> BoxFuture<'static, Result<Begun, Problem>> {
        let (context, home, turn) = (self.context.clone(), self.home(), self.turn.clone());
        async move { take(&context, &home, &id, turn).await.map_err(Problem::from) }.boxed()
    }

    fn cancel(&self, id: SessionId) -> BoxFuture<'static, Result<(), Problem>> {
        let (context, home) = (self.context.clone(), self.home());
        async move { stop(&context, &home, &id.0).await.map(|_| ()).map_err(Problem::from) }.boxed()
    }
}

/// Enqueues it as a session without a worker.
async fn put_down(
    context: CliContext,
    id: SessionId,
    wanted: Wanted,
    model: &str,
) -> Result<SessionId, Failure> {
    // A work tree of a large repository takes its time, and others may wait for this thread.
    let own = context.clone();
    let prepared = tokio::task::spawn_blocking(move || prepare(&own, wanted, false)).await;
    let Prepared { order, folder, .. } = prepared.map_err(std::io::Error::from)??;
    let engine = assemble::bare_engine(&context, &folder, model).inspect_err(|_| discard(&order, &folder))?;
    let created = engine.create_job(order.clone(), Some(id)).await.map(|session| session.id().clone());
    engine.shut_down().await;
    created.map_err(Failure::from).inspect_err(|_| discard(&order, &folder))
}

async fn take(context: &CliContext, home: &Home, id: &SessionId, turn: TurnArgs) -> Result<Begun, Failure> {
    let Job { agent, order, assembled, session, .. } = taken_up(context, home, &id.0, turn, |_| {}).await?;
    let folder = home.folder(id);
    let (engine, done) = (assembled.engine.clone(), order.clone());
    let stop = folder.join(super::CANCEL);
    let end = Box::new(move |conclusion: Conclusion| {
        let ending = async move {
            assembled.engine.shut_down().await;
            tidy(&folder, &assembled, &done, &conclusion);
        };
        ending.boxed()
    });
    Ok(Begun { session, agent, order, engine, stop, end })
}
