//! [`usage`] (`haft usage`): prints tokens and costs by day, model and project, over all sessions.
use crate::{
    CliContext,
    args::{By, UsageArgs},
};
use haft_app::{
    Failure,
    usage::{Row, Sums},
};
use haft_core::dollars;
use haft_terminal::{
    Exit,
    bars::{Bar, Bars, columns, tokens},
    table::short,
};
use jiff::{Span, Zoned, civil::Date};
use serde_json::{Map, json};
use std::io::{self, IsTerminal, Write, stdout};

/// Sums the usage of all requests in the journals.
pub(crate) fn usage(cli: &CliContext, args: &UsageArgs) -> Result<Exit, Failure> {
    let today = Zoned::now();
    let days = i64::try_from(args.days - 1).ok().filter(|days| *days < MAX_DAYS);
    let first = days.and_then(|days| today.date().checked_sub(Span::new().days(days)).ok());
    let first = first.ok_or_else(|| Failure::usage(format!("`--days` must be at most {MAX_DAYS}")))?;
    let since = first.to_zoned(today.time_zone().clone()).map_err(anyhow::Error::from)?;
    let sums = cli.usage(&since)?;
    match args.json {
        true => print_json(&sums, first, today.date(), args.by),
        false => print(cli, args, &sums, first, today.date()),
    }
}

/// One hundred years.
const MAX_DAYS: i64 = 36_525;

fn print_json(sums: &Sums, first: Date, last: Date, by: Option<By>) -> Result<Exit, Failure> {
    let mut object = Map::new();
    object.insert("from".into(), json!(first));
    object.insert("to".into(), json!(last));
    object.insert("total".into(), json!(sums.total));
    let lists = [
        (By::Day, "days", "day", &sums.days),
        (By::Model, "models", "model", &sums.models),
        (By::Project, "projects", "project", &sums.projects),
    ];
    for (kind, name, key, rows) in lists {
        if by.is_none_or(|by| by == kind) {
            object.insert(name.into(), rows.iter().map(|row| row.json(key)).collect());
        }
    }
    writeln!(stdout(), "{}", serde_json::Value::Object(object))?;
    Ok(Exit::Success)
}

fn print(cli: &CliContext, args: &UsageArgs, sums: &Sums, first: Date, last: Date) -> Result<Exit, Failure> {
    let get = |name: &str| cli.environment.get(name);
    if sums.total.requests == 0 {
        writeln!(stdout(), "No model requests since {first}.")?;
        return Ok(Exit::Success);
    }
    let color = stdout().is_terminal() && !cli.global.no_color && get("NO_COLOR").is_none();
    let bars = Bars { columns: columns(get("COLUMNS")), color };
    let person = get("HOME").map(str::to_owned);
    let named = |row: &Row| {
        let mut named = row.clone();
        named.key = short(row.key.as_ref(), person.as_deref());
        named
    };
    let lists = [
        (By::Day, "By day", sums.every_day(first, last)),
        (By::Model, "By model", sums.models.clone()),
        (By::Project, "By project", sums.projects.iter().map(named).collect()),
    ];
    for (_, title, rows) in lists.iter().filter(|(kind, ..)| args.by.is_none_or(|wanted| wanted == *kind)) {
        bars.print(title, &rows.iter().map(bar).collect::<Vec<_>>())?;
    }
    print_total(&sums.total, first, last)?;
    Ok(Exit::Success)
}

/// A bar whose length shows the tokens; the part that was read from a cache is pale.
fn bar(row: &Row) -> Bar {
    let used = if row.requests == 0 { String::new() } else { tokens(row.tokens) };
    Bar { name: row.key.clone(), all: row.tokens, pale: row.usage.cache_read, numbers: [used, money(row)] }
}

fn print_total(total: &Row, first: Date, last: Date) -> io::Result<()> {
    let Row { sessions, requests, usage, unpriced_tokens, .. } = total;
    let mut stdout = stdout().lock();
    writeln!(
        stdout,
        "{} tokens ({} read, {} from cache, {} written), {}",
        tokens(total.tokens),
        tokens(usage.input + usage.cache_write),
        tokens(usage.cache_read),
        tokens(usage.output),
        if total.cost_usd.is_some() { money(total) } else { "cost unknown".into() },
    )?;
    let of_requests = if *requests == 1 { "" } else { "s" };
    let of_sessions = if *sessions == 1 { "" } else { "s" };
    writeln!(
        stdout,
        "{requests} request{of_requests} in {sessions} session{of_sessions}, {first} to {last}"
    )?;
    if *unpriced_tokens > 0 && total.cost_usd.is_some() {
        writeln!(stdout, "price unknown for {} tokens", tokens(*unpriced_tokens))?;
    }
    Ok(())
}

/// `$?` if no price is known; empty without usage.
fn money(row: &Row) -> String {
    match row.cost_usd {
        _ if row.requests == 0 => String::new(),
        cost => cost.map_or_else(|| "$?".into(), dollars),
    }
}
