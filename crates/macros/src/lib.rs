//! `#[tool]`: a plain function becomes a tool.

mod declaration;
mod documentation;
mod expansion;

use proc_macro::TokenStream;
use syn::parse_quote;

/// Makes a tool of a function and registers it for `Registry::declared()`. The function stays as it is.
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
/// | of the function | becomes |
/// | --- | --- |
/// | its name | the name of the tool |
/// | the first line of its doc comment | the description |
/// | `Args:` or `# Arguments` in it, or doc comments on the parameters | their descriptions |
/// | the types of its parameters (`Deserialize` and `JsonSchema`) | the schema |
/// | `Option<T>`, or `#[default(value)]` | a parameter that may be left out |
/// | a parameter of type `&ToolContext` | nothing: the context of the call |
/// | `String`, `&str`, `ToolOutput` | the result as it stands |
/// | anything else that is `Serialize` | the result as JSON |
/// | `Result<T, E>` with `E: Display` | the result or an error |
///
/// Beside the function stands a type of its name; `search {}` implements `Tool`, and `search::tool()` gives it as
/// a registry holds it. A function that is not `async` runs on a thread for work that blocks, which
/// goes on where the call is given up: `ToolContext::cancel` says so.
///
/// The tool states no effects, so it runs without approval. `#[tool(reads = "path")]` and
/// `#[tool(writes = "path")]` name parameters whose values are paths that it reads or writes; reach those files
/// through `ToolContext::path`. `#[tool(crate = path)]` says where `haft_core` is found under another name.
#[proc_macro_attribute]
pub fn tool(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expansion::expand(arguments.into(), item.into(), parse_quote!(::haft_core)).into()
}

/// Like [`tool`], for those who depend on `haft` alone: `haft` exports it as `tool`, and its hidden `kernel` is
/// `haft_core`.
#[proc_macro_attribute]
pub fn tool_in_haft(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expansion::expand(arguments.into(), item.into(), parse_quote!(::haft::kernel)).into()
}
