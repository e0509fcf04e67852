//! [`plugins`] (`haft plugins`): installs, lists, updates and removes plugins.
use super::{interruptible::interruptible, login::is_terminal, look::of_questions};
use crate::{
    CliContext,
    args::{Answers, Plugins},
};
use haft_app::{
    Failure,
    plugins::{Brings, Candidate, Plugin},
};
use haft_present::safe;
use haft_terminal::{Exit, table::List, tui::menu};
use serde_json::{Value, json};
use std::io::{Write, stderr, stdout};

/// `haft plugins …`
pub(crate) async fn plugins(cli: &CliContext, command: Plugins) -> Result<Exit, Failure> {
    match command {
        Plugins::Add { source, name, answers } => {
            let candidate = interruptible(cli.fetch_plugin(&source, name.as_deref())).await??;
            install(cli, candidate, answers).await
        }
        Plugins::List { json } => list(cli, json),
        Plugins::Update { name, answers } => {
            if let Some(name) = name {
                return update(cli, &cli.plugin(&name)?, answers).await.map(|()| Exit::Success);
            }
            let mut exit = Exit::Success;
            for plugin in cli.plugins() {
                match update(cli, &plugin, answers).await {
                    Err(failure) if failure.exit != Exit::Interrupted => {
                        let message =
                            format!("cannot update the plugin `{}`: {}", plugin.name, failure.message);
                        exit = failure.exit;
                        crate::print(&Failure { message, ..failure });
                    }
                    updated => updated?,
                }
            }
            Ok(exit)
        }
        Plugins::Remove { name, json } => {
            cli.remove_plugin(&name)?;
            if json {
                writeln!(stdout(), "{}", json!({"name": name, "removed": true}))?;
            }
            writeln!(stderr(), "Removed the plugin `{}`.", safe::name(&name))?;
            Ok(Exit::Success)
        }
    }
}

fn list(cli: &CliContext, json: bool) -> Result<Exit, Failure> {
    let mut list = List::new(["PLUGIN", "SOURCE", "COMMIT", "BRINGS"], json);
    for plugin in cli.plugins() {
        let brings = cli.brings(&plugin);
        let commit = plugin.commit.as_deref().unwrap_or_default();
        let short = commit.get(..12).unwrap_or(commit);
        list.row([&plugin.name, &plugin.source, short, &in_short(&brings)], || object(&plugin, &brings));
    }
    Ok(list.print("There are no plugins yet: `haft plugins add SOURCE` installs one.")?)
}

fn object(plugin: &Plugin, brings: &Brings) -> Value {
    json!({
        "name": plugin.name, "commit": plugin.commit, "source": plugin.source,
        "description": plugin.description, "starts_servers": plugin.starts_servers,
        "brings": {
            "skills": brings.skills, "commands": brings.commands, "agents": brings.agents,
            "hooks": brings.hooks.iter().map(|(event, _)| event).collect::<Vec<_>>(),
            "servers": brings.servers.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        },
    })
}

/// `2 skills, 1 command`
fn in_short(brings: &Brings) -> String {
    let Brings { skills, commands, agents, servers, hooks } = brings;
    let counts = [
        (skills.len(), "skill"),
        (commands.len(), "command"),
        (agents.len(), "agent"),
        (hooks.len(), "hook"),
        (servers.len(), "MCP server"),
    ];
    let some = counts.iter().filter(|(count, _)| *count > 0);
    let words = some.map(|(count, what)| format!("{count} {what}{}", if *count == 1 { "" } else { "s" }));
    words.collect::<Vec<_>>().join(", ")
}

async fn update(cli: &CliContext, plugin: &Plugin, answers: Answers) -> Result<(), Failure> {
    let candidate = interruptible(cli.fetch_update(plugin)).await??;
    let allows_servers = answers.servers && !plugin.starts_servers && !candidate.brings.servers.is_empty();
    if candidate.is_installed() && !allows_servers {
        writeln!(stderr(), "The plugin `{}` is up to date.", plugin.name)?;
        return Ok(());
    }
    install(cli, candidate, answers).await.map(|_| ())
}

/// Shows what would be installed, asks, and installs it.
async fn install(cli: &CliContext, candidate: Candidate, answers: Answers) -> Result<Exit, Failure> {
    let shown = shown(&candidate)?;
    match answers.json {
        true => write!(stderr(), "{shown}")?,
        false => write!(stdout(), "{shown}")?,
    }
    let Some(starts_servers) = answer(cli, &candidate, answers).await? else {
        writeln!(stderr(), "Nothing was installed.")?;
        return Ok(Exit::Refused);
    };
    let (is_new, has_servers) = (candidate.before.is_none(), !candidate.brings.servers.is_empty());
    let plugin = candidate.install(starts_servers)?;
    if answers.json {
        writeln!(stdout(), "{}", object(&plugin, &cli.brings(&plugin)))?;
    }
    let done = if is_new { "Installed" } else { "Updated" };
    writeln!(stderr(), "{done} the plugin `{0}`; `haft plugins remove {0}` removes it.", plugin.name)?;
    if has_servers && !plugin.starts_servers {
        let name = &plugin.name;
        writeln!(
            stderr(),
            "note: its MCP servers do not start; `haft plugins update {name} --servers` lets them"
        )?;
    }
    Ok(Exit::Success)
}

/// Describes its parts, and what they may do.
fn shown(candidate: &Candidate) -> Result<String, Failure> {
    let Candidate { plugin, brings, notes, .. } = candidate;
    let mut out = Vec::new();
    let commit = plugin.commit.as_ref().map(|commit| format!(" at {commit}")).unwrap_or_default();
    writeln!(out, "{} from {}{commit}", plugin.name, safe::name(&plugin.source))?;
    if !plugin.description.is_empty() {
        writeln!(out, "{}", safe::name(&plugin.description))?;
    }
    let Brings { skills, commands, agents, servers, hooks } = brings;
    for (what, names) in [("skills", skills), ("commands", commands), ("agents", agents)] {
        if !names.is_empty() {
            writeln!(out, "  {what}: {}", safe::name(&names.join(", ")))?;
        }
    }
    for (event, command) in hooks {
        writeln!(out, "  hook of {}, confined: {}", safe::name(event), safe::visible_line(command))?;
    }
    for (name, started) in servers {
        writeln!(out, "  MCP server {}, not confined: {}", safe::name(name), safe::visible_line(started))?;
    }
    for note in notes {
        writeln!(out, "  note: {}", safe::name(note))?;
    }
    write!(out, "{}", safe::text(&candidate.difference()?))?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Whether the plugin is installed, and whether its MCP servers may start; `None` if it is not installed.
async fn answer(cli: &CliContext, candidate: &Candidate, answers: Answers) -> Result<Option<bool>, Failure> {
    if answers.yes {
        return Ok(Some(answers.servers || candidate.keeps_servers()));
    }
    if !is_terminal() {
        let failure = Failure::usage(format!(
            "cannot ask whether to install `{}` without a terminal",
            candidate.plugin.name
        ));
        let failure = failure.hint("`--yes` installs it as shown, `--servers` lets its MCP servers start");
        return Err(Failure { exit: Exit::Refused, ..failure });
    }
    let mut lines = vec![("Install it", false), ("Do not install it", false)];
    if !candidate.brings.servers.is_empty() {
        lines[0] = ("Install it without its MCP servers", false);
        lines.insert(1, ("Install it, and let its MCP servers start", true));
    }
    let shown: Vec<_> = lines.iter().map(|(label, _)| ((*label).to_owned(), String::new())).collect();
    let place = menu::choose("Install this plugin?", &shown, None, of_questions(cli)).await?;
    Ok(place.filter(|place| place + 1 < lines.len()).map(|place| lines[place].1))
}
