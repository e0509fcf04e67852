//! [`setup`] and [`set_secret`] (`haft fleet setup`, `haft fleet secret`): show and set what prepares the jobs of a
//! queue.
use super::say;
use haft_app::Failure;
use haft_fleet::{self, Database, FleetKey, QueueSetup, SecretLine};
use haft_terminal::table::Table;
use serde_json::json;
use std::{
    fs,
    io::{IsTerminal, Read, Write, stdin, stdout},
    path::Path,
};

/// A change of the setup commands of a queue.
pub(super) enum Change {
    /// No change: they are shown.
    None,
    Set(String),
    Remove,
}

/// The change that the options request.
pub(super) fn change(commands: Option<String>, file: Option<&Path>, remove: bool) -> Result<Change, Failure> {
    let read = |file: &Path| match file.to_str() {
        Some("-") => std::io::read_to_string(stdin()),
        _ => fs::read_to_string(file),
    };
    let cannot = |file: &Path, error| {
        Failure::usage(format!("cannot read setup commands from `{}`: {error}", file.display()))
    };
    Ok(match (commands, file) {
        _ if remove => Change::Remove,
        (Some(commands), _) => Change::Set(commands),
        (None, Some(file)) => Change::Set(read(file).map_err(|error| cannot(file, error))?),
        (None, None) => Change::None,
    })
}

/// Shows the setup commands of all queues, or changes those of `queue`.
pub(super) async fn setup(
    database: &Database,
    queue: &str,
    change: Change,
    json: bool,
) -> Result<(), Failure> {
    let commands = match &change {
        Change::None => return list(database, json).await,
        Change::Set(commands) => Some(commands.as_str()),
        Change::Remove => None,
    };
    haft_fleet::set_setup(database, queue, commands).await?;
    let text = match commands {
        Some(_) => {
            format!(
                "attempts at jobs of the queue `{queue}` that begin from now on are prepared by these commands"
            )
        }
        None => format!("removed the setup commands of the queue `{queue}`"),
    };
    say(json, &json!({"queue": queue, "commands": commands}), &text)
}

async fn list(database: &Database, json: bool) -> Result<(), Failure> {
    let all = haft_fleet::setups(database).await?;
    if json {
        let object =
            |QueueSetup { queue, commands }: &QueueSetup| json!({"queue": queue, "commands": commands});
        writeln!(stdout(), "{}", json!(all.iter().map(object).collect::<Vec<_>>()))?;
        return Ok(());
    }
    if all.is_empty() {
        writeln!(stdout(), "no setup commands")?;
    }
    for (place, QueueSetup { queue, commands }) in all.iter().enumerate() {
        let before = if place == 0 { "" } else { "\n" };
        writeln!(stdout(), "{before}queue {queue}")?;
        for line in commands.trim_end().lines() {
            writeln!(stdout(), "  {}", haft_present::safe::text(line))?;
        }
    }
    Ok(())
}

/// Sets a secret to the text of standard input, without a line break at its end.
pub(super) async fn set_secret(
    database: &Database,
    key: &FleetKey,
    (queue, name): (&str, &str),
    json: bool,
) -> Result<(), Failure> {
    if stdin().is_terminal() {
        return Err(Failure::usage("a secret is read from standard input, which is a terminal").hint(
            format!("`haft fleet secret {name} <FILE` keeps it off the screen and out of the history"),
        ));
    }
    let mut value = String::new();
    let read = stdin().read_to_string(&mut value);
    read.map_err(|error| Failure::usage(format!("cannot read the secret from standard input: {error}")))?;
    let value = value.strip_suffix('\n').unwrap_or(&value);
    let value = value.strip_suffix('\r').unwrap_or(value);
    if value.is_empty() || value.contains('\0') {
        return Err(Failure::usage("standard input has no secret: it is empty, or has a zero byte"));
    }
    haft_fleet::set_secret(database, key, (queue, name), value).await?;
    let text = format!("setup commands of the queue `{queue}` get the secret as `{name}`");
    say(json, &json!({"queue": queue, "name": name}), &text)
}

pub(super) async fn remove_secret(
    database: &Database,
    (queue, name): (&str, &str),
    json: bool,
) -> Result<(), Failure> {
    if !haft_fleet::remove_secret(database, queue, name).await? {
        let message = format!("the queue `{}` has no secret `{}`", queue.escape_debug(), name.escape_debug());
        return Err(Failure::usage(message).hint("`haft fleet secret` lists them"));
    }
    let text = format!("removed the secret `{name}` of the queue `{queue}`");
    say(json, &json!({"queue": queue, "name": name, "removed": true}), &text)
}

/// Lists the names of secrets, and when they were set.
pub(super) async fn list_secrets(database: &Database, json: bool) -> Result<(), Failure> {
    let all = haft_fleet::secrets(database).await?;
    if json {
        let object = |SecretLine { queue, name, set_at }: &SecretLine| json!({"queue": queue, "name": name, "set_at": set_at});
        writeln!(stdout(), "{}", json!(all.iter().map(object).collect::<Vec<_>>()))?;
        return Ok(());
    }
    let mut table = Table::new(["QUEUE", "SECRET", "SET"]);
    for SecretLine { queue, name, set_at } in all {
        table.row([queue, name, set_at]);
    }
    table.print("no secrets")?;
    Ok(())
}

pub(super) fn no_key() -> Failure {
    Failure::usage("cannot encrypt the secret: HAFT_FLEET_KEY is not set").hint(
        "`openssl rand -hex 32` makes a key; set it here and where workers are started, and keep a copy of it",
    )
}
