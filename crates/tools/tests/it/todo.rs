//! `todo`, as models of several systems call it.
use crate::kit::Kit;
use serde_json::json;

// X-10, C-67
#[tokio::test]
async fn the_list_is_kept_whole_and_shown_with_marks() {
    let expected = "1 of 3 done\n[x] Read\n[>] Write\n[ ] Test";
    let ours = json!({"items": [
        {"text": "Read", "status": "done"},
        {"text": "Write", "status": "in_progress"},
        {"text": "Test", "status": "pending"},
    ]});
    let claude = json!({"todos": [
        {"content": "Read", "status": "completed", "activeForm": "Reading"},
        {"content": "Write", "status": "in_progress", "activeForm": "Writing"},
        {"content": "Test", "status": "pending", "activeForm": "Testing"},
    ]});
    let codex = json!({"explanation": "Started", "plan": [
        {"step": "Read", "status": "completed"},
        {"step": "Write", "status": "in_progress"},
        {"step": "Test", "status": "pending"},
    ]});
    let opencode = json!({"todos": [
        {"id": "1", "content": "Read", "status": "completed", "priority": "high"},
        {"id": 2, "content": "Write", "status": "in_progress", "priority": "low"},
        {"content": "Test", "status": "pending"},
    ]});
    let gemini = json!({"todos": [
        {"description": "Read", "status": "cancelled"},
        {"description": "Write", "status": "in_progress"},
        {"description": "Test", "status": "pending"},
    ]});
    let calls = [
        ("todo", ours.clone()),
        ("TodoWrite", claude),
        ("update_plan", codex),
        ("todowrite", opencode),
        ("write_todos", gemini),
    ];
    for (name, arguments) in calls {
        let told = Kit::new().told(name, arguments).await;
        assert_eq!(told.content, expected, "{name}");
        assert_eq!(told.shown, haft_core::Shown::Text(expected.into()));
        assert_eq!(told.details, ours);
    }
}

#[tokio::test]
async fn a_list_may_be_empty_and_a_step_may_not() {
    let table = [
        (json!({"items": []}), "The list is empty."),
        (
            json!({"items": [{"text": " ", "status": "done"}]}),
            "error: cannot keep the list: `items[0].text` is empty\nhint: say what is to be done",
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(Kit::new().told("todo", arguments).await.content, expected);
    }
}

#[test]
fn it_asks_for_nothing() {
    assert_eq!(Kit::new().effects("todo", &json!({"items": []})).map_err(|error| error.message), Ok(vec![]));
}
