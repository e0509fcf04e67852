//! [`show`]: prints the content of the screen's panels line by line.
use super::note;
use crate::{Diffs, console::SlashAction, export, host::Surroundings, status::Status};
use haft_core::{Event, SessionSetup, active_path, changed::Changed};
use haft_engine::{Engine, Session};
use haft_present::{context::Filling, timeline::Timeline};
use std::io::{Write, stderr};

/// Prints what `action` asks for.
pub(super) async fn show(
    action: &SlashAction,
    around: &Surroundings,
    open: Option<&(Engine, Session)>,
    effort: Option<&str>,
    diffs: Diffs,
) -> anyhow::Result<()> {
    let Some((engine, session)) = open else { return note("no session is open; start one with `/new`") };
    match action {
        SlashAction::Export(name) => {
            let text = around.host.markdown(&session.entries());
            let folder = export::folder(session, &engine.setup().workspace, &around.workspace);
            let id = &session.id().0;
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
        SlashAction::Status => {
            let found = around.host.servers(&around.workspace).await;
            let view = &view_of(session);
            let status = Status { engine, session, effort, view, servers: Some(&found) };
            status.rows().into_iter().try_for_each(|(name, value)| note(&format!("  {name:<12} {value}")))
        }
        SlashAction::Diff => changes(session, diffs),
        _ => servers(around).await,
    }
}

pub(super) fn view_of(session: &Session) -> Timeline {
    let mut view = Timeline::default();
    session.entries().iter().for_each(|entry| drop(view.apply(&Event::Recorded(entry.clone()))));
    view
}

/// Prints the changes to each file since the session began.
fn changes(session: &Session, diffs: Diffs) -> anyhow::Result<()> {
    let entries = session.entries();
    let changes = Changed::of(active_path(&entries).iter().map(|entry| &entry.fact)).whole();
    if changes.is_empty() {
        return note("no file was changed in this session");
    }
    // Not printed with `note`, which would remove the colors.
    Ok(write!(stderr(), "{}", diffs.whole(session, &changes).shown)?)
}

fn filling(engine: &Engine, session: &Session) -> anyhow::Result<()> {
    let entries = session.entries();
    let agent = SessionSetup::of(&entries).map(|setup| setup.agent).unwrap_or_default();
    let filling = Filling::of(engine.setup(), &agent, &entries, view_of(session).context);
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
        Ok(offer) => note(&format!("  ✓ {name}: {}", [offer.tools, offer.mentions].concat().join(", "))),
        Err(why) => note(&format!("  ✗ {name}: {why}")),
    })
}
