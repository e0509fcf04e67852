//! [`show`]: prints the screen's panels line by line.
use super::note;
use crate::{console::SlashAction, export, host::Surroundings};
use haft_core::{Event, SessionOpened};
use haft_engine::{Engine, Session};
use haft_present::{context::Filling, timeline::Timeline};

/// Shows what `action` asks for.
pub(super) async fn show(
    action: &SlashAction,
    around: &Surroundings,
    open: Option<&(Engine, Session)>,
) -> anyhow::Result<()> {
    let Some((engine, session)) = open else { return note("no session is open; start one with `/new`") };
    match action {
        SlashAction::Export(name) => {
            let text = around.host.markdown(&session.entries());
            let (folder, id) = (&engine.setup().workspace, &session.id().0);
            match export::write(folder, name.as_deref(), id, &text) {
                Ok(file) => note(&format!("written to {}", file.display())),
                Err(why) => note(&format!("error: {why}")),
            }
        }
        SlashAction::Context => filling(engine, session),
        SlashAction::Permissions => {
            note(&format!("mode {}; change it with `/mode NAME`", session.mode().name()))?;
            engine.setup().policy.rules.iter().try_for_each(|rule| note(&format!("  {rule}")))
        }
        _ => servers(around).await,
    }
}

fn filling(engine: &Engine, session: &Session) -> anyhow::Result<()> {
    let entries = session.entries();
    let agent = SessionOpened::of(&entries).map(|opened| opened.agent.clone()).unwrap_or_default();
    let mut view = Timeline::default();
    entries.iter().for_each(|entry| drop(view.apply(&Event::Recorded(entry.clone()))));
    let filling = Filling::of(engine.setup(), &agent, &entries, view.context);
    filling.parts.iter().try_for_each(|(name, size)| note(&format!("  {name:<14} {size:>9} tokens")))?;
    match filling.free() {
        Some(free) => note(&format!("  {:<14} {free:>9} tokens", "free")),
        None => note("  (context window size unknown)"),
    }
}

async fn servers(around: &Surroundings) -> anyhow::Result<()> {
    let servers = around.host.servers(&around.workspace).await;
    if servers.is_empty() {
        return note("no MCP server is configured");
    }
    servers.into_iter().try_for_each(|(name, found)| match found {
        Ok(tools) => note(&format!("  ✓ {name}: {}", tools.join(", "))),
        Err(why) => note(&format!("  ✗ {name}: {why}")),
    })
}
