//! [`limit`] (`haft fleet limit`): shows and sets the limits of owners and queues.
use crate::args::LimitArgs;
use haft_app::Failure;
use haft_core::dollars;
use haft_fleet::{self, Database, LimitUsage, Limited, Limits, Owner};
use haft_serve::FleetLimit;
use haft_terminal::table::Table;
use serde_json::json;
use std::io::{Write, stdout};

/// Changes the limits that are given, and shows those of the owner or the queue; if none is named, shows all limits.
pub(super) async fn limit(database: &Database, args: &LimitArgs) -> Result<(), Failure> {
    let of = match (&args.owner, &args.queue) {
        (Some(name), _) => Some(Limited::Owner(Owner(name.clone()))),
        (None, Some(name)) => Some(Limited::Queue(name.clone())),
        (None, None) => None,
    };
    let is_change = args.running.is_some() || args.pending.is_some() || args.budget.is_some();
    match &of {
        Some(of) if is_change => {
            let known = haft_fleet::limits(database).await?;
            let before = known.iter().find(|usage| usage.of == *of).map(|usage| usage.limits);
            haft_fleet::set_limits(database, of, &changed(before.unwrap_or_default(), args)).await?;
        }
        None if is_change => {
            return Err(Failure::usage("cannot set a limit: no owner and no queue is named").hint(
                "`haft fleet limit NAME …` limits an owner, `haft fleet limit --queue NAME …` a queue",
            ));
        }
        _ => {}
    }
    let all = haft_fleet::limits(database).await?;
    let shown: Vec<_> = all.iter().filter(|usage| of.as_ref().is_none_or(|of| usage.of == *of)).collect();
    match args.json {
        true => writeln!(
            stdout(),
            "{}",
            json!(shown.iter().map(|usage| FleetLimit::from(*usage)).collect::<Vec<_>>())
        )?,
        false => print(&shown)?,
    }
    Ok(())
}

fn changed(before: Limits, args: &LimitArgs) -> Limits {
    let period = args.per.or(before.budget.map(|(_, period)| period)).unwrap_or_default();
    Limits {
        running: args.running.map_or(before.running, |set| set.0),
        pending: args.pending.map_or(before.pending, |set| set.0),
        budget: args.budget.map_or(before.budget, |set| set.0.map(|usd| (usd, period))),
    }
}

fn print(all: &[&LimitUsage]) -> Result<(), Failure> {
    let mut table = Table::new(["LIMIT OF", "RUNNING", "PENDING", "BUDGET"]);
    for LimitUsage { of, limits, running, pending, spent_usd } in all {
        let used = |used: &i64, most: Option<i32>| most.map(|most| format!("{used} of {most}"));
        let budget = limits
            .budget
            .map(|(usd, period)| format!("{} of {} a {}", dollars(*spent_usd), dollars(usd), period.word()));
        let cells = [used(running, limits.running), used(pending, limits.pending), budget];
        let [running, pending, budget] = cells.map(|cell| cell.unwrap_or_else(|| "no limit".to_owned()));
        table.row([of.to_string(), running, pending, budget]);
    }
    table.print("no limits")?;
    Ok(())
}
