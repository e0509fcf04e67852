//! Dialects that only the profiles of other products use: calls in fenced blocks, in objects with thoughts, and in
//! elements ([`FENCED_SHELL`], [`THOUGHTS_JSON`], [`ALFRED`], [`TOOL_USE_XML`]).
mod fences;
mod shell;
mod thoughts;
mod tool_use;

pub(crate) use shell::FENCED_SHELL;
pub use thoughts::SENTINEL;
pub(crate) use thoughts::{ALFRED, THOUGHTS_JSON};
pub(crate) use tool_use::TOOL_USE_XML;
