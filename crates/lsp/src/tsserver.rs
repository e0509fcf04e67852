//! [`requests`] and [`diagnostics`]: get diagnostics of typescript-language-server through requests to tsserver.
//!
//! typescript-language-server publishes diagnostics, but does not support LSP's request for them. It publishes nothing
//! if a file without diagnostics still has none, so that a missing publication cannot be distinguished from a late one.
//! It can, however, forward requests to tsserver (github.com/typescript-language-server/typescript-language-server
//! docs/configuration.md, *TSServer request*, 2026-11).
use lsp_types::{Diagnostic, DiagnosticSeverity, Position, Range};
use serde_json::{Value, json};
use std::path::Path;

const COMMAND: &str = "typescript.tsserverRequest";

/// The requests for syntax errors, then for type errors.
const REQUESTS: [&str; 2] = ["syntacticDiagnosticsSync", "semanticDiagnosticsSync"];

/// Whether a server with these capabilities forwards requests to tsserver.
pub(crate) fn is_behind(capabilities: &Value) -> bool {
    let commands = capabilities["executeCommandProvider"]["commands"].as_array();
    commands.is_some_and(|commands| commands.iter().any(|command| command == COMMAND))
}

/// The parameters of `workspace/executeCommand` that ask for the diagnostics of `path`, one after the other.
pub(crate) fn requests(path: &Path) -> [Value; 2] {
    REQUESTS.map(|request| {
        json!({"command": COMMAND, "arguments": [request, {"file": path, "includeLinePosition": true}]})
    })
}

/// The diagnostics in an answer.
pub(crate) fn diagnostics(answer: &Value) -> Vec<Diagnostic> {
    answer["body"].as_array().into_iter().flatten().map(one).collect()
}

fn one(found: &Value) -> Diagnostic {
    // Both are counted from 1.
    let place = |place: &Value| {
        let number = |key: &str| place[key].as_u64().unwrap_or(1).saturating_sub(1);
        let number = |key: &str| number(key).try_into().unwrap_or(u32::MAX);
        Position::new(number("line"), number("offset"))
    };
    let severity = match found["category"].as_str() {
        Some("error") => DiagnosticSeverity::ERROR,
        Some("warning") => DiagnosticSeverity::WARNING,
        _ => DiagnosticSeverity::HINT,
    };
    Diagnostic {
        range: Range::new(place(&found["startLocation"]), place(&found["endLocation"])),
        severity: Some(severity),
        message: found["message"].as_str().unwrap_or_default().to_owned(),
        ..Diagnostic::default()
    }
}
