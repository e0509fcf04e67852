//! The loop alone: your own messages in, the same messages with what was added out. No session, no journal.
use haft::{Channel, Conversation, ToolLoop, prelude::*, providers::Scripted, run_tool_loop};
use serde_json::json;

/// Says where the conversation takes place.
#[tool]
fn whereabouts(context: &ToolContext) -> String {
    context.channel.as_ref().map_or("nowhere".into(), |channel| format!("{}/{}", channel.kind, channel.chat))
}

#[tokio::main]
async fn main() -> haft::Result<()> {
    let model = Scripted::new([]).calls([("whereabouts", json!({}))]).says("In a chat.").says("Still there.");
    let config = ToolLoop {
        tools: Registry::default().with(whereabouts {}).into(),
        max_iterations: 10,
        options: serde_json::Map::from_iter([("temperature".to_owned(), json!(0.7))]),
        ..ToolLoop::new(model, "gpt-4o")
    };
    let messages = Conversation::new("Be brief.").user("Where are we?");
    let result = run_tool_loop(&config, messages, Channel::new("telegram", "4711")).await?;
    assert_eq!((result.content.as_str(), result.iterations), ("In a chat.", 2));
    let Message::Tool { result: told, .. } = &result.messages[2] else { panic!("a result follows the call") };
    assert_eq!(told.content, "telegram/4711");

    // The same configuration serves any number of runs; the conversation goes on from what came out.
    let messages = Conversation { messages: result.messages, ..Conversation::new("Be brief.") };
    let again = run_tool_loop(&config, messages.user("And now?"), None).await?;
    assert_eq!((again.content.as_str(), again.iterations), ("Still there.", 1));
    Ok(())
}
