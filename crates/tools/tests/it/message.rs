//! `message` in a conversation.
use crate::kit::Kit;
use haft_core::{Channel, Shown};
use serde_json::json;

// T-04, T-10, T-11, C-67
#[tokio::test]
async fn the_person_reads_the_text_and_the_model_that_it_was_sent() {
    let mut kit = Kit::new();
    let nowhere = kit.told("message", json!({"text": "Half done.\n"})).await;
    assert_eq!((nowhere.content.as_str(), nowhere.shown), ("Sent.", Shown::Message("Half done.".into())));
    kit.channel = Some(Channel { kind: "telegram".into(), chat: "42".into(), messages: vec![] });
    let told = kit.told("notify_user", json!({"message": "Half done."})).await;
    assert_eq!(
        (told.content.as_str(), told.shown),
        ("Sent to telegram.", Shown::Message("Half done.".into()))
    );
    assert_eq!(told.details, json!({"text": "Half done.", "channel": "telegram", "chat": "42"}));
    assert!(!kit.told("message", json!({"text": "\n"})).await.is_ok());
    assert_eq!(kit.effects("message", &json!({"text": "a"})).map_err(|error| error.message), Ok(vec![]));
}
