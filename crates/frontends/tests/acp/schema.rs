//! Everything that the agent says is held against the protocol's own schema, where that lies beside the repository.
use super::kit::Side;
use serde_json::{Value, json};
use std::{collections::HashMap, fs, path::Path, sync::OnceLock};

/// Method, what its parameters are called in the schema, and its result.
const METHODS: [(&str, &str, &str); 13] = [
    ("initialize", "InitializeRequest", "InitializeResponse"),
    ("session/new", "NewSessionRequest", "NewSessionResponse"),
    ("session/load", "LoadSessionRequest", "LoadSessionResponse"),
    ("session/resume", "ResumeSessionRequest", "ResumeSessionResponse"),
    ("session/close", "CloseSessionRequest", "CloseSessionResponse"),
    ("session/list", "ListSessionsRequest", "ListSessionsResponse"),
    ("session/prompt", "PromptRequest", "PromptResponse"),
    ("session/set_mode", "SetSessionModeRequest", "SetSessionModeResponse"),
    ("session/update", "SessionNotification", ""),
    ("session/request_permission", "RequestPermissionRequest", ""),
    ("fs/read_text_file", "ReadTextFileRequest", ""),
    ("fs/write_text_file", "WriteTextFileRequest", ""),
    ("$/cancel_request", "CancelRequestNotification", ""),
];

fn schema() -> Option<&'static Value> {
    static SCHEMA: OnceLock<Option<Value>> = OnceLock::new();
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance/schemas/acp-v1.schema.json");
    let read = || fs::read_to_string(file).ok().and_then(|text| serde_json::from_str(&text).ok());
    SCHEMA.get_or_init(read).as_ref()
}

/// Panics with the first line that does not fit.
pub(crate) fn check(lines: &[(Side, Value)]) {
    let Some(schema) = schema() else {
        return eprintln!("note: the schema of the protocol is not here; messages are not held against it");
    };
    let mut validators = HashMap::new();
    let mut asked: HashMap<String, &str> = HashMap::new();
    for (side, line) in lines {
        assert_eq!(line["jsonrpc"], "2.0", "{line}");
        let method = line["method"].as_str().unwrap_or_default();
        if *side == Side::Editor {
            asked.insert(line["id"].to_string(), method);
            continue;
        }
        let (name, value) = match (method, line.get("result")) {
            ("", None) => ("Error", &line["error"]),
            ("", Some(result)) => (of(asked[&line["id"].to_string()]).2, result),
            (method, _) => (of(method).1, &line["params"]),
        };
        let validator = validators.entry(name).or_insert_with(|| {
            let one = json!({"$schema": schema["$schema"], "$defs": schema["$defs"], "$ref": format!("#/$defs/{name}")});
            jsonschema::validator_for(&one).unwrap()
        });
        let problems: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{name} {problems:?}: {line}");
    }
}

fn of(method: &str) -> (&'static str, &'static str, &'static str) {
    *METHODS.iter().find(|(known, ..)| *known == method).unwrap_or_else(|| panic!("what is `{method}`?"))
}
