//! Calls as text: formats in which models write them where their server has no words for calls.

pub mod pythonic;
