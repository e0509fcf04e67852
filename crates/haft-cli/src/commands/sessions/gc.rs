//! [`gc`] (`haft sessions gc`): removes file contents that no session refers to any more.
use haft_app::Failure;
use haft_core::SessionId;
use haft_engine::{Home, Unnamed};
use haft_terminal::Exit;
use haft_terminal::table::Table;
use serde_json::json;
use std::io::{Write, stderr, stdout};

/// Prints what was removed, or, with `dry_run`, what would be removed.
pub(super) fn gc(home: &Home, dry_run: bool, json: bool) -> Result<Exit, Failure> {
    let garbage = home.collect(!dry_run).map_err(|error| {
        Failure::failed(format!("cannot remove contents in `{}`: {error}", home.0.display()))
            .hint("fix the permissions, then run it again; no session has lost anything")
    })?;
    match json {
        true => as_json(&garbage.unnamed, &garbage.left, !dry_run),
        false => as_text(&garbage.unnamed, &garbage.left, dry_run),
    }
}

fn as_json(unnamed: &[Unnamed], left: &[(SessionId, String)], removed: bool) -> Result<Exit, Failure> {
    let mut stdout = stdout().lock();
    for Unnamed { session, contents, bytes, .. } in unnamed {
        let line = json!({"session": session, "contents": contents, "bytes": bytes, "removed": removed});
        writeln!(stdout, "{line}")?;
    }
    for (session, why) in left {
        writeln!(stdout, "{}", json!({"session": session, "left": why}))?;
    }
    Ok(Exit::Success)
}

fn as_text(unnamed: &[Unnamed], left: &[(SessionId, String)], dry_run: bool) -> Result<Exit, Failure> {
    let mut table = Table::new(["SESSION", "CONTENTS", "SIZE"]);
    for Unnamed { session, contents, bytes, .. } in unnamed {
        table.row([session.to_string(), contents.to_string(), size(*bytes)]);
    }
    table.print("Nothing to remove: sessions need all saved contents.")?;
    let (contents, bytes) =
        unnamed.iter().fold((0, 0), |(contents, bytes), more| (contents + more.contents, bytes + more.bytes));
    if contents > 0 {
        let done = if dry_run { "would remove" } else { "removed" };
        writeln!(stdout(), "{done} {contents} contents, {}", size(bytes))?;
    }
    for (session, why) in left {
        writeln!(stderr(), "note: the session `{session}` was skipped: {why}")?;
    }
    Ok(Exit::Success)
}

/// The size in the largest fitting unit, with a decimal if that adds precision.
fn size(bytes: u64) -> String {
    const STEP: f64 = 1024.0;
    let mut value = bytes as f64;
    for unit in ["B", "KB", "MB", "GB"] {
        if value < STEP || unit == "GB" {
            let decimals = usize::from(unit != "B" && value < 10.0);
            return format!("{value:.decimals$} {unit}");
        }
        value /= STEP;
    }
    String::new()
}
