//! Conversations: messages, replies as they stream in, the transcript that is folded from facts, and its reduction to a
//! model's context window.
pub mod answer;
mod call_tracker;
pub mod clip;
mod limits;
pub mod loops;
pub mod message;
pub mod picture;
mod prompt_history;
pub mod reply;
pub mod tokens;
pub mod transcript;
mod turn_models;
pub mod window;

pub use call_tracker::CallTracker;
pub use limits::{Completion, Limits, OnCap};
pub use prompt_history::replies_left_out;
pub use turn_models::{FailedModel, TurnModels};
