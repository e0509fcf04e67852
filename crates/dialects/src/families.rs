//! The dialects by notation: JSON, a name and JSON, tags, Python, messages with headers.
pub(super) mod gemma;
pub(super) mod harmony;
pub(super) mod inkling;
pub(super) mod json;
pub(super) mod minimax_m3;
pub(super) mod muse;
pub(super) mod named;
pub(super) mod python;
pub(super) mod tags;
