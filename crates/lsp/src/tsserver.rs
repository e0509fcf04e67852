//! [`requests`] and [`diagnostics`]: diagnostics of typescript-language-server, in the words of the program behind it.
//!
//! It publishes diagnostics and cannot be asked for them as LSP has it; and it publishes nothing where a file without any gets
//! none, so that waiting for it does not tell an answer from a late one. It hands requests on, though
//! (github.com/typescript-language-server/typescript-language-server docs/configuration.md, *TSServer request*, 2026-11).
use lsp_types::{Diagnostic, DiagnosticSeverity, Position, Range};
use serde_json::{Value, json};
use std::path::Path;

const COMMAND: &str = "typescript.tsserverRequest";

/// Wrong syntax, then wrong types.
const REQUESTS: [&str; 2] = ["syntacticDiagnosticsSync", "semanticDiagnosticsSync"];

/// Whether a server with these capabilities hands requests on.
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
