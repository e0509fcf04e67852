//! [`by_delimiters`]: which dialect a text is in, told by delimiters that no other one has ([`Dialect::signs`]).
//!
//! The same delimiters stand in a model's chat template and in what it writes, so both can be looked at.
use super::{DIALECTS, Dialect};

/// The dialect whose delimiters stand in `text`: a chat template (Jinja) or a reply.
pub fn by_delimiters(text: &str) -> Option<&'static Dialect> {
    let is_told = |dialect: &&&Dialect| {
        dialect.signs.iter().any(|signs| signs.iter().all(|delimiter| text.contains(delimiter)))
    };
    DIALECTS.iter().find(is_told).copied()
}
