//! [`language_tools`]: the tools that ask a language server: `definition`, `references`, `rename`, `diagnostics`,
//! `symbols`.
//!
//! If no server responds, the tools that find something fall back to Haft's own grammars and text search.
mod definition;
mod diagnostics;
mod references;
mod rename;
mod symbols;

use crate::{FindSettings, report::Page};
use haft_core::{Registry, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use haft_lsp::{LanguageServers, LspError, Occurrence, Place};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Names of the tools that ask a language server.
pub const LANGUAGE_TOOLS: [&str; 5] = [
    definition::Definition::NAME,
    references::References::NAME,
    rename::Rename::NAME,
    diagnostics::Diagnostics::NAME,
    symbols::Symbols::NAME,
];

/// Returns the tools that ask `servers`.
pub fn language_tools(servers: &Arc<LanguageServers>, settings: &FindSettings) -> Registry {
    let asked = || Asked { servers: servers.clone(), settings: settings.clone() };
    Registry::default()
        .with(definition::Definition(asked()))
        .with(references::References(asked()))
        .with(rename::Rename(asked()))
        .with(diagnostics::Diagnostics(asked()))
        .with(symbols::Symbols(asked()))
}

/// The servers to ask, and limits on how much of their responses a model reads.
struct Asked {
    servers: Arc<LanguageServers>,
    settings: FindSettings,
}

/// Aliases of the parameters `symbol` and `line`.
const SYMBOL: (&str, &[&str]) = ("symbol", &["name", "identifier", "symbol_name", "query"]);
const LINE: (&str, &[&str]) = ("line", &["line_number", "lineNumber"]);

fn occurrence(ctx: &ToolContext, path: &Path, symbol: String, line: Option<usize>) -> Occurrence {
    Occurrence { path: real(ctx, path), symbol, line }
}

/// The real path of the file, which is not its copy in the view.
fn real(ctx: &ToolContext, path: &Path) -> PathBuf {
    let path = ctx.live.join(path.strip_prefix(&ctx.workspace).unwrap_or(path));
    path.canonicalize().unwrap_or(path)
}

/// `src/a.py:3: def area(r):` for each place that the call may read.
fn listed(ctx: &ToolContext, found: &[Place], what: &str, asked: &Asked) -> ToolOutput {
    let readable = found.iter().filter(|place| ctx.readable.holds(&place.path));
    let lines: Vec<String> = readable
        .map(|place| format!("{}:{}: {}\n", relative(ctx, &place.path), place.line, place.text))
        .collect();
    let page = Page::new(None, None, &asked.settings);
    let count = lines.len() as u64;
    let (text, shown) = page.fill(lines.into_iter());
    let note = page.note(shown, count, &format!("{what}s"));
    let shown = format!("Found {}", crate::report::counted(count, what));
    ToolOutput::text((text + &note).trim_end()).show(shown)
}

fn relative(ctx: &ToolContext, path: &Path) -> String {
    path.strip_prefix(&ctx.live).unwrap_or(path).display().to_string()
}

/// The result found without a server, and why the server did not respond.
fn without(error: &LspError, how: &str, found: ToolOutput) -> ToolOutput {
    let for_model = format!("[{error}; {how}]\n{}", found.for_model);
    ToolOutput { for_model, ..found }
}

fn failed(tried: &str, error: &LspError) -> ToolError {
    let kind = if error.is_about_call() { ToolErrorKind::User } else { ToolErrorKind::System };
    let told = ToolError::new(kind, format!("cannot {tried}: {error}"));
    match error {
        LspError::NoSymbol { .. } => told.hint("read the file, and give the line on which the symbol stands"),
        _ => told,
    }
}
