//! [`access`] (`haft fleet access`): shows and sets which owners may use a queue.
use crate::args::AccessArgs;
use haft_app::Failure;
use haft_fleet::{self, Database, Owner, QueueAccess};
use haft_terminal::table::Table;
use serde_json::json;
use std::io::{Write, stdout};

/// Changes who may use the queue if owners are given, and shows it. Without a queue, shows all queues that not all
/// owners may use.
pub(super) async fn access(database: &Database, args: AccessArgs) -> Result<(), Failure> {
    let AccessArgs { queue, owner: owners, all, json, .. } = args;
    if let Some(queue) = queue.as_deref().filter(|_| all || !owners.is_empty()) {
        let owners: Vec<_> = owners.into_iter().map(Owner).collect();
        haft_fleet::set_access(database, queue, &owners).await?;
    }
    let known = haft_fleet::access(database).await?;
    let shown = known.into_iter().filter(|access| queue.as_ref().is_none_or(|queue| access.queue == *queue));
    let names = |owners: &[Owner]| owners.iter().map(|owner| owner.0.clone()).collect::<Vec<_>>();
    if json {
        let object = |access: QueueAccess| json!({"queue": access.queue, "owners": names(&access.owners)});
        writeln!(stdout(), "{}", json!(shown.map(object).collect::<Vec<_>>()))?;
        return Ok(());
    }
    let mut table = Table::new(["QUEUE", "OWNERS"]);
    for QueueAccess { queue, owners } in shown {
        table.row([queue, names(&owners).join(", ")]);
    }
    table.print(&match queue {
        Some(queue) => format!("all owners may use the queue `{}`", queue.escape_debug()),
        None => "all owners may use all queues".to_owned(),
    })?;
    Ok(())
}
