//! Dialects that only the profiles of other products speak: calls in fenced blocks, in objects with thoughts, and in elements
//! ([`FENCED_SHELL`], [`THOUGHTS_JSON`], [`ALFRED`], [`TOOL_USE_XML`]).
mod fences;
mod shell;
mod thoughts;
mod tool_use;

pub(crate) use shell::FENCED_SHELL;
pub(crate) use thoughts::{ALFRED, SENTINEL, THOUGHTS_JSON};
pub(crate) use tool_use::TOOL_USE_XML;
