//! A team of agents: one gives a part of its work to another, in a session of its own.
//!
//! The built-in tool `delegate` (feature `tools`) does this; here it is in five lines.
use haft::{prelude::*, providers::Scripted};
use serde_json::json;

/// Gives a task to another agent and returns its answer.
///
/// Args:
///     agent: Its name
///     task: All that it needs to know
#[tool]
async fn delegate(agent: String, task: String, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    context.subagents.run(task, Some(agent), Box::new(|_progress| {})).await
}

/// Looks up the height of a mountain in meters.
#[tool]
fn height(mountain: String) -> u32 {
    if mountain == "Eiger" { 3967 } else { 0 }
}

#[tokio::main]
async fn main() -> haft::Result<()> {
    // Each session counts its own replies, so both agents follow the same script: the lead's first call fits the lead,
    // and the researcher's model is another one.
    let lead = Scripted::new([])
        .calls([("delegate", json!({"agent": "researcher", "task": "How high is the Eiger?"}))])
        .says("The Eiger is 3967 m high.");
    let researcher = Scripted::new([]).calls([("height", json!({"mountain": "Eiger"}))]).says("3967 m");
    let agent = Haft::builder()
        .provider(Either { lead, researcher })
        .tool(delegate)
        .tool(height)
        .agent(Agent {
            name: "researcher".into(),
            description: "Knows mountains".into(),
            system: "You research.".into(),
            tools: Some(vec!["height".into()]),
            ..Agent::default()
        })
        .in_memory()
        .build()
        .await?;
    let report = agent.session()?.prompt("How high is the Eiger?").await?;
    assert_eq!(report.calls[0].result().content, "3967 m");
    assert_eq!(report.text, "The Eiger is 3967 m high.");
    Ok(())
}

/// Stands for two models: who researches is told so in the system prompt.
struct Either {
    lead: Scripted,
    researcher: Scripted,
}

impl Provider for Either {
    fn stream(&self, request: Request) -> futures::stream::BoxStream<'static, Result<Delta, ProviderError>> {
        let is_research = request.system.starts_with("You research.");
        if is_research { self.researcher.stream(request) } else { self.lead.stream(request) }
    }
}
