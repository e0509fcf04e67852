//! Text in colors, for the screen and for lines: styles, rows of a given width, code, diffs.
pub(crate) mod ansi;
pub(crate) mod diff;
pub(crate) mod highlight;
pub(crate) mod links;
pub(crate) mod look;
pub(crate) mod picture;
mod sixel;
pub(crate) mod wrap;
