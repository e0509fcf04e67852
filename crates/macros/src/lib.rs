//! [`tool`]: makes a tool from a plain function.

mod declaration;
mod documentation;
mod expansion;

use proc_macro::TokenStream;
use syn::parse_quote;

/// Makes a tool from a function, and registers it for `Registry::declared()`. The function itself stays unchanged.
///
/// ```ignore
/// /// Search the notes.
/// ///
/// /// Args:
/// ///     query: Words to look for.
/// ///     limit: How many notes at most.
/// #[tool]
/// async fn search(query: String, #[default(5)] limit: u32) -> Result<Vec<Note>, NotesError> { … }
///
/// let registry = Registry::default().with_any(search::tool());
/// ```
///
/// | part of the function | becomes |
/// | --- | --- |
/// | its name | the name of the tool |
/// | the first line of its doc comment | the description |
/// | `Args:` or `# Arguments` in it, or doc comments on the parameters | their descriptions |
/// | the types of its parameters (`Deserialize` and `JsonSchema`) | the schema |
/// | `Option<T>`, or `#[default(value)]` | a parameter that may be left out |
/// | a parameter of type `&ToolContext` | nothing: the context of the call |
/// | `String`, `&str`, `ToolOutput` | the result as it is |
/// | any other type that is `Serialize` | the result as JSON |
/// | `Result<T, E>` with `E: Display` | the result or an error |
///
/// The macro also generates a type with the name of the function: `search {}` implements `Tool`, and `search::tool()`
/// returns it in the form that a registry stores. A function that is not `async` runs on a thread for blocking work. It
/// continues even if the call is stopped, which `ToolContext::cancel` tells it.
///
/// The tool states no effects, so it runs without approval. `#[tool(reads = "path")]` and `#[tool(writes = "path")]`
/// name parameters whose values are paths that the tool reads or writes; access these files through
/// `ToolContext::path`. `#[tool(crate = path)]` sets the path of `haft_core` if it has another name.
#[proc_macro_attribute]
pub fn tool(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expansion::expand(arguments.into(), item.into(), parse_quote!(::haft_core)).into()
}

/// Like [`tool`], for crates that depend only on `haft`, which exports it as `tool`; its hidden `kernel` is
/// `haft_core`.
#[proc_macro_attribute]
pub fn tool_in_haft(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expansion::expand(arguments.into(), item.into(), parse_quote!(::haft::kernel)).into()
}
