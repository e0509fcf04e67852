//! [`outline`]: the symbols of a file, as a server lists them.
use crate::{error::LspError, taken::Taken};
use lsp_types::{DocumentSymbol, DocumentSymbolResponse, Range, SymbolInformation};
use serde_json::json;
use std::path::Path;
use tokio::time::Instant;

/// A symbol of a file, and the number of symbols that enclose it.
pub(crate) struct Symbol {
    pub(crate) name: String,
    pub(crate) depth: usize,
    /// The range of the whole symbol.
    pub(crate) range: Range,
    /// The line of its name, counted from 0.
    pub(crate) line: u32,
}

/// The symbols of `path`, whose text the server has, in the order of the file.
pub(crate) async fn outline(
    taken: &Taken<'_>,
    path: &Path,
    deadline: Instant,
) -> Result<Vec<Symbol>, LspError> {
    let params = json!({"textDocument": {"uri": crate::documents::address(path)}});
    let found: Option<DocumentSymbolResponse> =
        taken.ask_for("textDocument/documentSymbol", &params, deadline).await?;
    let mut symbols = Vec::new();
    match found {
        None => {}
        Some(DocumentSymbolResponse::Flat(all)) => symbols.extend(all.into_iter().map(flat)),
        Some(DocumentSymbolResponse::Nested(all)) => nested(all, 0, &mut symbols),
    }
    symbols.sort_by_key(|symbol| (symbol.range.start, std::cmp::Reverse(symbol.range.end)));
    Ok(symbols)
}

fn flat(found: SymbolInformation) -> Symbol {
    let range = found.location.range;
    Symbol { name: found.name, depth: 0, range, line: range.start.line }
}

fn nested(found: Vec<DocumentSymbol>, depth: usize, symbols: &mut Vec<Symbol>) {
    for symbol in found {
        let DocumentSymbol { name, range, selection_range, children, .. } = symbol;
        symbols.push(Symbol { name, depth, range, line: selection_range.start.line });
        nested(children.unwrap_or_default(), depth + 1, symbols);
    }
}
