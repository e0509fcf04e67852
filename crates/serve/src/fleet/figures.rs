//! [`FleetFigures`]: the fleet's part of `/metrics`, read from the database on each request.
use super::Context;
use crate::{
    error::ApiError,
    figures::{Figures, by_kind},
    gate::Asker,
};
use axum::{
    Extension,
    extract::State,
    response::{IntoResponse, Response},
};
use haft_fleet::{Database, JobCount, TurnCount};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Unit,
};
use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

/// Prometheus waits for ten seconds by default.
const QUERY_TIMEOUT: Duration = Duration::from_secs(4);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Stands {
    status: String,
}

/// A queue is named by who gives a job, so queues without jobs that wait or run have no series.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StandsInQueue {
    queue: String,
    status: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfQueue {
    queue: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndedInQueue {
    queue: String,
    outcome: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindInQueue {
    queue: String,
    kind: &'static str,
}

/// Figures of a fleet, as of the last request.
#[derive(Default)]
struct Counts {
    jobs: Family<Stands, Gauge>,
    queues: Family<StandsInQueue, Gauge>,
    costs: Family<OfQueue, Counter<f64, AtomicU64>>,
    turns: Family<EndedInQueue, Counter>,
    tokens: Family<KindInQueue, Counter>,
    workers: Gauge<f64, AtomicU64>,
    oldest: Gauge<f64, AtomicU64>,
    is_reached: Gauge,
}

impl Counts {
    fn clear(&self) {
        self.jobs.clear();
        self.queues.clear();
        self.costs.clear();
        self.turns.clear();
        self.tokens.clear();
    }

    fn count(&self, turns: Vec<TurnCount>) {
        for TurnCount { queue, outcome, count, usage } in turns {
            for (kind, tokens) in by_kind(&usage) {
                self.tokens.get_or_create(&KindInQueue { queue: queue.clone(), kind }).inc_by(tokens);
            }
            self.turns.get_or_create(&EndedInQueue { queue, outcome }).inc_by(count);
        }
    }
}

/// What this server counts, and what its fleet does.
pub(crate) struct FleetFigures {
    pub(crate) own: Arc<Figures>,
    counts: Counts,
}

impl FleetFigures {
    pub(crate) fn new() -> Self {
        let (mut own, counts) = (Figures::of_requests(), Counts::default());
        let registry = own.registry();
        registry.register("fleet_jobs", "Jobs of all owners, by how they stand", counts.jobs.clone());
        let queues = "Jobs that wait or run, by their queue";
        registry.register("fleet_queue_jobs", queues, counts.queues.clone());
        let costs = "What jobs have cost in US dollars, as far as prices are known";
        registry.register("fleet_cost_usd", costs, counts.costs.clone());
        registry.register("fleet_turns", "Turns of jobs that ended", counts.turns.clone());
        registry.register("fleet_tokens", "Tokens of the turns that ended", counts.tokens.clone());
        registry.register(
            "fleet_workers",
            "Workers that were heard of in the last minute",
            counts.workers.clone(),
        );
        let oldest = "How long the oldest job waits that could begin";
        registry.register_with_unit("fleet_oldest_waits", oldest, Unit::Seconds, counts.oldest.clone());
        registry.register(
            "fleet_database_up",
            "Whether the database answered this request",
            counts.is_reached.clone(),
        );
        Self { own: Arc::new(own), counts }
    }

    /// While the database does not answer, the figures of jobs are left out, and the others are no numbers.
    async fn look(&self, database: &Database) {
        let Counts { jobs, queues, costs, workers, oldest, is_reached, .. } = &self.counts;
        let look = async {
            tokio::try_join!(
                haft_fleet::status(database),
                haft_fleet::costs(database),
                haft_fleet::turns(database)
            )
        };
        let status = tokio::time::timeout(QUERY_TIMEOUT, look).await.ok().and_then(Result::ok);
        is_reached.set(i64::from(status.is_some()));
        self.counts.clear();
        // Not known, so no alert compares them.
        workers.set(f64::NAN);
        oldest.set(f64::NAN);
        let Some((status, spent, turns)) = status else { return };
        self.counts.count(turns);
        for (queue, usd) in spent {
            costs.get_or_create(&OfQueue { queue }).inc_by(usd);
        }
        for word in ["pending", "running", "waiting", "completed", "failed", "cancelled", "dead"] {
            let counts = status.counts.iter().filter(|count| count.status == word);
            let stands = Stands { status: word.to_owned() };
            jobs.get_or_create(&stands).set(counts.map(|count| count.count).sum());
        }
        let is_open = |count: &&JobCount| ["pending", "running", "waiting"].contains(&count.status.as_str());
        for JobCount { queue, status, count, .. } in status.counts.iter().filter(is_open) {
            let stands = StandsInQueue { queue: queue.clone(), status: status.clone() };
            queues.get_or_create(&stands).inc_by(*count);
        }
        let heard_of = status.workers.iter().filter(|worker| !worker.is_gone()).count();
        workers.set(heard_of as f64);
        oldest.set(status.oldest_waits.unwrap_or_default());
    }
}

/// Figures, in the text format of Prometheus
///
/// Only for the server's own token: they are of all owners.
#[utoipa::path(get, path = "/metrics", tag = "server",
    responses((status = OK, body = String, content_type = "text/plain"), (status = "4XX", body = crate::error::ErrorBody)))]
pub(super) async fn metrics(
    State(context): State<Context>,
    Extension(asker): Extension<Asker>,
) -> Result<Response, ApiError> {
    asker.administers()?;
    context.figures.look(&context.fleet.database).await;
    Ok((&*context.figures.own).into_response())
}
