//! `#[tool]`: a plain function becomes a tool.
use proc_macro::TokenStream;

/// Placeholder until the macro lands.
#[proc_macro_attribute]
pub fn tool(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}
