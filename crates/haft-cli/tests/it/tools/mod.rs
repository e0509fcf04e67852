//! Calls of tools and their results.
mod lsp;
mod parallel_calls;
pub(crate) mod pdf;
mod settling;
mod single_call;
mod stale_writes;
mod suggestions;
mod web_search;
