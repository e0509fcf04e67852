//! [`log`] (`haft fleet audit`): the audit log of a fleet; [`begin`] and [`end`] append what a command changes.
use crate::{CliContext, args::Fleet, commands::serve::print_audit};
use haft_app::Failure;
use haft_fleet::{Database, FleetError};
use haft_serve::audit::{Asked, AuditLog};
use haft_terminal::Exit;
use serde_json::json;

/// The role in the log of an operator who works on the database, without a server.
const ROLE: &str = "command line";

/// `haft fleet audit`
pub(super) async fn log(
    cli: &CliContext,
    database: &Database,
    owner: Option<&str>,
    json: bool,
) -> Result<Exit, Failure> {
    let read = AuditLog::of(haft_fleet::audit_log(database).await?.as_bytes());
    print_audit(cli, &read, owner, json, "the audit log of the fleet")
}

/// Appends `command` to the log before it is carried out, if it changes something.
pub(super) async fn begin(
    cli: &CliContext,
    database: &Database,
    command: &Fleet,
) -> Result<Option<Asked>, Failure> {
    let Some(what) = change(command) else { return Ok(None) };
    let user = cli.environment.get("USER").unwrap_or("unknown").to_owned();
    let asked = Asked::new(Some((user, ROLE.to_owned())), "haft fleet", what.trim_end());
    append(database, &asked).await?;
    Ok(Some(asked))
}

/// Appends how the command ended: its exit code.
pub(super) async fn end(database: &Database, asked: Option<Asked>, done: &Result<Exit, Failure>) {
    let Some(asked) = asked else { return };
    let exit = done.as_ref().map_or_else(|failure| failure.exit, |exit| *exit);
    if let Err(error) = append(database, &asked.ended(exit as u16)).await {
        tracing::error!(%error, "the end of the command is not in the audit log");
    }
}

async fn append(database: &Database, asked: &Asked) -> Result<(), FleetError> {
    haft_fleet::append_to_audit(database, &json!(asked).to_string()).await
}

/// Describes what a command changes, in the form of its command line; `None` for one that only reads.
fn change(command: &Fleet) -> Option<String> {
    let of_queue = |queue: &Option<String>| queue.as_ref().map(|queue| format!("--queue {queue}"));
    let whose = |owner: &Option<String>, queue| owner.clone().or(of_queue(queue)).unwrap_or_default();
    Some(match command {
        Fleet::Status { .. }
        | Fleet::Top { .. }
        | Fleet::List { .. }
        | Fleet::Show { .. }
        | Fleet::Logs { .. } => {
            return None;
        }
        // The tables may not exist yet.
        Fleet::Audit { .. } | Fleet::Migrate { .. } => return None,
        Fleet::Cancel { id, .. } => format!("cancel {id}"),
        Fleet::Retry { id, .. } => format!("retry {id}"),
        Fleet::Pause { owner, queue, .. } => format!("pause {}", whose(owner, queue)),
        Fleet::Resume { owner, queue, .. } => format!("resume {}", whose(owner, queue)),
        Fleet::Limit(args) if args.running.is_some() || args.pending.is_some() || args.budget.is_some() => {
            format!("limit {}", whose(&args.owner, &args.queue))
        }
        Fleet::Drain(args) => {
            let undo = if args.undo { " --undo" } else { "" };
            format!("drain {}{undo}", args.worker.as_deref().unwrap_or("all"))
        }
        Fleet::Access(args) if args.all || !args.owner.is_empty() => {
            let owners = if args.all { "--all".to_owned() } else { args.owner.join(" ") };
            format!("access {} {owners}", whose(&None, &args.queue))
        }
        Fleet::Prune(args) if !args.dry_run => format!("prune --days {}", args.days),
        Fleet::Storage { address: Some(address), .. } => format!("storage {address}"),
        Fleet::Storage { database: true, .. } => "storage --database".to_owned(),
        Fleet::Setup { remove: true, queue, .. } => format!("setup --remove --queue {queue}"),
        Fleet::Setup { commands, file, queue, .. } if commands.is_some() || file.is_some() => {
            format!("setup --queue {queue}")
        }
        Fleet::Secret { name: Some(name), remove, queue, .. } => {
            let remove = if *remove { " --remove" } else { "" };
            format!("secret {name}{remove} --queue {queue}")
        }
        Fleet::Owner { name: Some(name), log_out, remove, .. } => {
            let option = match (log_out, remove) {
                (true, _) => " --log-out",
                (_, true) => " --remove",
                _ => "",
            };
            format!("owner {name}{option}")
        }
        Fleet::Add { kind, owner, queue, .. } => {
            format!("add {kind} --owner {owner} --queue {queue}")
        }
        Fleet::Limit(_)
        | Fleet::Access(_)
        | Fleet::Prune(_)
        | Fleet::Storage { .. }
        | Fleet::Setup { .. }
        | Fleet::Secret { .. }
        | Fleet::Owner { .. } => return None,
    })
}
