//! Facts: the entries of a journal, the changes that they record, and what is folded from them.
mod active_path;
pub(crate) mod activity;
mod asking;
pub mod change;
pub mod changed;
pub mod event;
mod evidence;
pub mod fork;
pub mod job;
mod last_turn;
pub mod line;
mod place;
mod remaining;
mod running;
mod standing;
pub mod undo;
pub(crate) mod update;
mod waiting;

pub use active_path::active_path;
pub use asking::Asking;
pub use evidence::{Evidence, NoEvidence};
pub use last_turn::{LastTurn, go_on};
pub use place::{Forked, Seq, SessionId};
pub use remaining::RemainingWork;
pub use running::Running;
pub use standing::Standing;
pub use waiting::waiting_prompts;
