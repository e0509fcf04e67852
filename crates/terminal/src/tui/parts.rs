//! [`Parts`]: the parts of a proposal, of which the user ticks those to accept.
use crate::offers::{self, Offer};
use haft_core::Accepted;

/// The parts with their ticks, and the cursor.
pub(super) struct Parts {
    pub(super) parts: Vec<(Offer, bool)>,
    pub(super) at: usize,
}

impl Parts {
    pub(super) fn new(offers: Vec<Offer>) -> Self {
        Self { parts: offers.into_iter().map(|offer| (offer, false)).collect(), at: 0 }
    }

    /// Moves the cursor, from the last part to the first one.
    pub(super) fn step(&mut self, is_down: bool) {
        let count = self.parts.len().max(1);
        self.at = (self.at + if is_down { 1 } else { count - 1 }) % count;
    }

    pub(super) fn tick(&mut self) {
        if let Some((_, is_ticked)) = self.parts.get_mut(self.at) {
            *is_ticked = !*is_ticked;
        }
    }

    /// Ticks all parts; if all are ticked, unticks them.
    pub(super) fn tick_all(&mut self) {
        let must_tick = self.ticked() < self.parts.len();
        self.parts.iter_mut().for_each(|(_, is_ticked)| *is_ticked = must_tick);
    }

    pub(super) fn ticked(&self) -> usize {
        self.parts.iter().filter(|(_, is_ticked)| *is_ticked).count()
    }

    /// Accepts the ticked parts.
    pub(super) fn accepted(&self) -> Accepted {
        offers::accepted(self.parts.iter().filter(|(_, is_ticked)| *is_ticked).map(|(offer, _)| offer))
    }
}
