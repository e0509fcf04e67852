//! The description of the API.
use crate::kit::Server;
use haft_core::Mode;
use serde_json::json;

#[tokio::test]
async fn closed_sets_are_enums() {
    let server = Server::start(Mode::Ask, &[]).await;
    let description = server.ask("GET /openapi.json", "").await.json();
    let table = [
        ("FileChangeKind", json!(["created", "modified", "deleted"])),
        ("PermissionMode", json!(["read-only", "plan", "ask", "accept-edits", "full"])),
        ("SessionState", json!(["working", "asking", "idle", "elsewhere"])),
        ("JobState", json!(["pending", "running", "waiting", "completed", "failed", "cancelled"])),
        ("ApprovalDecision", json!(["once", "always", "no"])),
    ];
    for (name, values) in table {
        assert_eq!(description["components"]["schemas"][name]["enum"], values, "{name}");
    }
}

#[tokio::test]
async fn each_schema_that_is_named_is_described() {
    let server = Server::start(Mode::Ask, &[]).await;
    let description = server.ask("GET /openapi.json", "").await;
    let schemas = &description.json()["components"]["schemas"];
    let named = description.text.split("#/components/schemas/").skip(1);
    for name in named.map(|rest| rest.split('"').next().unwrap()) {
        assert!(schemas[name].is_object(), "{name}");
    }
}
