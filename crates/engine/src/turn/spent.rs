//! [`in_turn`]: computes what a turn that another process began has spent, from its journal and those of its subagents.
use crate::{
    session::{
        budget::spending,
        context::{Log, SessionContext},
        shared::Shared,
    },
    setup::Home,
};
use haft_core::{
    Entry, Fact, Price, SessionId, SessionOpened, Spending, Summarizer, TurnModels, Usage, active_path,
};
use std::sync::Arc;

impl SessionContext {
    /// Opens the budget of a turn that begins, or continues, where `log` ends.
    pub(crate) async fn open_budget(&self, log: &Log) {
        if self.owns_budget {
            self.budget.open(in_turn(self, log).await);
        }
    }
}

/// The spending of the turn in which `log` ends, with the sessions that it delegated to; zero if no turn is open.
pub(crate) async fn in_turn(session: &SessionContext, log: &Log) -> Spending {
    let entries = log.journal.entries();
    let turn = open_turn(&entries);
    let mut own = of_turn(session, &turn);
    let delegated = log.transcript.rounds() > 0 || !log.transcript.unanswered().is_empty();
    let Some(since) = turn.first().map(|entry| entry.at).filter(|_| delegated) else { return own };
    let (shared, id) = (session.shared.clone(), session.calls.session.clone());
    let below = tokio::task::spawn_blocking(move || below(&shared, &id, since));
    own += below.await.unwrap_or_default();
    own
}

/// The spending of the turn in which `log` ends, without the sessions that it delegated to.
pub(crate) fn own(session: &SessionContext, log: &Log) -> Spending {
    of_turn(session, &open_turn(&log.journal.entries()))
}

fn of_turn(session: &SessionContext, turn: &[&Arc<Entry>]) -> Spending {
    let mut own = of_entries(turn, session.model.price);
    own.is_unpriced |= session.model.price.is_none();
    own
}

/// The entries since the end of the last turn.
fn open_turn(entries: &[Arc<Entry>]) -> Vec<&Arc<Entry>> {
    let path = active_path(entries);
    let ended = path.iter().rposition(|entry| is_boundary(&entry.fact));
    path[ended.map_or(0, |ended| ended + 1)..].to_vec()
}

fn is_boundary(fact: &Fact) -> bool {
    matches!(fact, Fact::SessionOpened(_) | Fact::TurnEnded { .. } | Fact::Rewound { .. })
}

/// `first`: the price of the model that the session began with. The price of a model that took over is in the fact that
/// records it.
fn of_entries(entries: &[&Arc<Entry>], first: Option<Price>) -> Spending {
    let (mut all, mut models) = (Spending::default(), TurnModels::default());
    for entry in entries {
        models.apply(&entry.fact);
        let price = models.price(first);
        if let Some(usage) = asked_for(&entry.fact) {
            all += spending(price, usage);
        }
        // A repeated request counts once.
        if let Fact::Retried { usage, .. } = &entry.fact {
            all += Spending { requests: 0, ..spending(price, *usage) };
        }
    }
    all
}

/// The usage of the model request that the fact reports, if it reports one.
fn asked_for(fact: &Fact) -> Option<Usage> {
    match fact {
        Fact::Replied { usage, .. }
        | Fact::Compacted { by: Summarizer::Model, usage, .. }
        | Fact::Sampled { usage, .. } => Some(*usage),
        _ => None,
    }
}

/// The spending of the sessions that `parent` has begun `since`, in milliseconds since 1970-01-01 UTC, and of their own
/// subagents.
fn below(shared: &Shared, parent: &SessionId, since: u64) -> Spending {
    let home: &Home = &shared.setup.home;
    let mut all = Spending::default();
    for id in home.below(parent, since) {
        let Ok(entries) = home.peek(&id.0) else { continue };
        let price = SessionOpened::of(&entries).and_then(|opened| price(shared, &opened.model));
        all += of_entries(&active_path(&entries), price);
        all += below(shared, &id, since);
    }
    all
}

/// The price of the model that a session began with.
fn price(shared: &Shared, model: &str) -> Option<Price> {
    let setup = &shared.setup;
    if *model == setup.model.spec {
        return setup.model.price;
    }
    setup.models.as_ref().and_then(|open| open(model).ok())?.price
}
