//! Your own provider: one method that streams a reply.
use futures::stream::{self, BoxStream, StreamExt};
use haft::{StopReason, prelude::*, text_of};

/// Says everything backwards.
struct Mirror;

impl Provider for Mirror {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let said = match request.messages.last().map(|message| &**message) {
            Some(Message::User { parts }) => text_of(parts),
            _ => String::new(),
        };
        let reply = said.chars().rev().collect();
        // A stream that ends without `Stop` was cut off.
        stream::iter([Ok(Delta::Text(reply)), Ok(Delta::Stop(StopReason::EndTurn))]).boxed()
    }
}

#[tokio::main]
async fn main() -> haft::Result<()> {
    let agent = Haft::builder().provider(Mirror).in_memory().build().await?;
    let report = agent.session()?.prompt("stressed").await?;
    assert_eq!(report.text, "desserts");
    Ok(())
}
