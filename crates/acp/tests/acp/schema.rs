//! Everything that the agent says is held against the protocol's own schema, where that lies beside the repository.
use super::kit::Side;
use haft_core::schema::Schema;
use serde_json::{Value, json};
use std::{collections::HashMap, fs, sync::OnceLock};

/// Method, what its parameters are called in the schema, and its result.
const METHODS: [(&str, &str, &str); 14] = [
    ("initialize", "InitializeRequest", "InitializeResponse"),
    ("session/new", "NewSessionRequest", "NewSessionResponse"),
    ("session/load", "LoadSessionRequest", "LoadSessionResponse"),
    ("session/resume", "ResumeSessionRequest", "ResumeSessionResponse"),
    ("session/close", "CloseSessionRequest", "CloseSessionResponse"),
    ("session/list", "ListSessionsRequest", "ListSessionsResponse"),
    ("session/prompt", "PromptRequest", "PromptResponse"),
    ("session/set_config_option", "SetSessionConfigOptionRequest", "SetSessionConfigOptionResponse"),
    ("session/set_mode", "SetSessionModeRequest", "SetSessionModeResponse"),
    ("session/update", "SessionNotification", ""),
    ("session/request_permission", "RequestPermissionRequest", ""),
    ("fs/read_text_file", "ReadTextFileRequest", ""),
    ("fs/write_text_file", "WriteTextFileRequest", ""),
    ("$/cancel_request", "CancelRequestNotification", ""),
];

fn schema() -> Option<&'static Value> {
    static SCHEMA: OnceLock<Option<Value>> = OnceLock::new();
    let read = || {
        let file = haft_testing::conformance("schemas/acp-v1.schema.json")?;
        Some(serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap())
    };
    SCHEMA.get_or_init(read).as_ref()
}

/// Panics with the first line that does not fit.
pub(crate) fn check(lines: &[(Side, Value)]) {
    let Some(schema) = schema() else { return };
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
            Schema::new(one)
        });
        let problems = validator.problems(value).unwrap();
        assert!(problems.is_empty(), "{name} {problems:?}: {line}");
    }
}

fn of(method: &str) -> (&'static str, &'static str, &'static str) {
    *METHODS.iter().find(|(known, ..)| *known == method).unwrap_or_else(|| panic!("what is `{method}`?"))
}
