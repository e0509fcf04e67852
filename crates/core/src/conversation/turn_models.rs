//! [`TurnModels`]: the model that a turn asks, the models that failed in it, and the end of its wait for a model.
//! Folded from facts.
use crate::{Fact, ModelFault, Price};
use std::mem;

/// The models of a turn. A turn begins with the model of its session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnModels {
    /// The price of the session's model, if the session began with another model.
    chosen: Option<Option<Price>>,
    in_use: Option<(String, Option<Price>)>,
    failed: Vec<FailedModel>,
    awaited_until: Option<u64>,
    waited_seconds: u64,
    waits_in_a_row: u32,
}

/// A model that could not answer in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedModel {
    /// The model, as `PROVIDER/MODEL`.
    pub model: String,
    /// Why.
    pub reason: ModelFault,
    /// When it can answer again, in milliseconds since 1970-01-01 UTC, if the vendor named a time.
    pub until: Option<u64>,
}

impl TurnModels {
    /// Folds one more fact.
    pub fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::ModelSwitched { from, to, reason, until, price, .. } => {
                self.failed.retain(|failed| failed.model != *from);
                self.failed.push(FailedModel { model: from.clone(), reason: *reason, until: *until });
                self.ask(to, *price);
            }
            Fact::ModelAwaited { model, until, seconds, price, .. } => {
                self.ask(model, *price);
                self.awaited_until = Some(*until);
                self.waited_seconds += seconds;
                self.waits_in_a_row += 1;
            }
            Fact::Replied { .. } => (self.awaited_until, self.waits_in_a_row) = (None, 0),
            Fact::SetupChanged { price, .. } => self.chosen = Some(*price),
            Fact::TurnEnded { .. } | Fact::Rewound { .. } => *self = mem::take(self).between_turns(),
            _ => {}
        }
    }

    /// Removes the state of a single turn.
    pub(super) fn between_turns(self) -> Self {
        Self { chosen: self.chosen, ..Self::default() }
    }

    fn ask(&mut self, model: &str, price: Option<Price>) {
        self.failed.retain(|failed| failed.model != model);
        self.in_use = Some((model.to_owned(), price));
        self.awaited_until = None;
    }

    /// The fallback model that is in use, as `PROVIDER/MODEL`, and its price; `None` if the session's model is in use.
    pub fn in_use(&self) -> Option<(&str, Option<Price>)> {
        self.in_use.as_ref().map(|(model, price)| (model.as_str(), *price))
    }

    /// The price of the model in use; `first` is the price of the model that the session began with.
    pub fn price(&self, first: Option<Price>) -> Option<Price> {
        self.in_use.as_ref().map_or(self.chosen.unwrap_or(first), |(_, price)| *price)
    }

    /// The models that failed and were not asked again since.
    pub fn failed(&self) -> &[FailedModel] {
        &self.failed
    }

    /// The time until which the next request waits, in milliseconds since 1970-01-01 UTC; `None` if it does not wait.
    pub fn awaited_until(&self) -> Option<u64> {
        self.awaited_until
    }

    /// How long this turn has waited for models in all.
    pub fn waited_seconds(&self) -> u64 {
        self.waited_seconds
    }

    /// How often it has waited since the last reply.
    pub fn waits_in_a_row(&self) -> u32 {
        self.waits_in_a_row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, StopReason, Usage};

    fn switched(from: &str, to: &str, until: Option<u64>) -> Fact {
        let (from, to, message) = (from.to_owned(), to.to_owned(), "full".to_owned());
        Fact::ModelSwitched { from, to, reason: ModelFault::Overloaded, message, until, price: None }
    }

    #[test]
    fn the_model_that_took_over_is_asked_until_the_turn_ends() {
        let mut models = TurnModels::default();
        assert_eq!(models.in_use(), None);
        models.apply(&switched("a/1", "b/2", Some(9_000)));
        models.apply(&switched("b/2", "c/3", None));
        assert_eq!(models.in_use(), Some(("c/3", None)));
        let failed: Vec<&str> = models.failed().iter().map(|failed| failed.model.as_str()).collect();
        assert_eq!(failed, ["a/1", "b/2"]);
        let (model, reason) = ("a/1".to_owned(), ModelFault::Overloaded);
        models.apply(&Fact::ModelAwaited { model, reason, until: 9_000, seconds: 7, price: None });
        assert_eq!((models.in_use(), models.awaited_until()), (Some(("a/1", None)), Some(9_000)));
        assert_eq!((models.failed().len(), models.waited_seconds(), models.waits_in_a_row()), (1, 7, 1));
        let (parts, usage) = (Vec::new(), Usage::default());
        models.apply(&Fact::Replied { parts, usage, stop: StopReason::EndTurn });
        assert_eq!((models.awaited_until(), models.waits_in_a_row()), (None, 0));
        assert_eq!((models.in_use(), models.waited_seconds()), (Some(("a/1", None)), 7));
        models.apply(&Fact::TurnEnded { outcome: Outcome::Finished, rounds: 1, usage, cost_usd: None });
        assert_eq!(models, TurnModels::default());
    }
}
