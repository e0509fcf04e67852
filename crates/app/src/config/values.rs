//! [`wrong_value`]: finds values in the user's file that have the right type but cannot be used.
use super::{FEWEST_PROCESSES, UserFile, files::CommandsFile, origin::at_line_of};
use haft_core::schema::nearest;
use haft_providers::vendors;
use haft_tools::search_engines;

/// Describes the first value of `user` that cannot be used: the value, what was expected, and the line of `text` if it
/// is known.
pub(super) fn wrong_value(user: &UserFile, text: &str) -> Option<String> {
    wrong_command_limit(&user.commands, text)
        .or_else(|| wrong_server(user, text))
        .or_else(|| wrong_address(user, text))
        .or_else(|| wrong_engine(user, text))
        .or_else(|| wrong_vendor(user, text))
        .or_else(|| wrong_timeout(user, text))
}

/// Searches for the text with its quotes: without them, it could match a part of something else.
fn at_line_of_text(value: &str, text: &str, message: &str) -> String {
    at_line_of(&format!("\"{value}\""), text, message)
}

fn wrong_command_limit(commands: &CommandsFile, text: &str) -> Option<String> {
    let CommandsFile { processes, file_size, memory, .. } = commands;
    let least =
        [("processes", *processes, FEWEST_PROCESSES), ("file_size", *file_size, 1), ("memory", *memory, 1)];
    let below = least
        .into_iter()
        .find_map(|(key, value, least)| Some((key, value.filter(|value| *value < least)?, least)));
    if let Some((key, value, least)) = below {
        let message = format!("`commands.{key}` is {value}; it must be at least {least}");
        return Some(at_line_of(&format!("{key} = {value}"), text, &message));
    }
    let folders = [("writable", &commands.writable), ("caches", &commands.caches)];
    folders.into_iter().find_map(|(key, folders)| {
        let relative = folders.iter().find(|folder| !folder.starts_with('/') && !folder.starts_with("~/"))?;
        let message =
            format!("`commands.{key}` has `{relative}`; it must be an absolute path, or begin with `~/`");
        Some(at_line_of_text(relative, text, &message))
    })
}

fn wrong_server(user: &UserFile, text: &str) -> Option<String> {
    user.mcp.iter().find_map(|(name, server)| {
        let wrong = match (server.command.as_deref(), &server.url) {
            (Some(""), None) => "has an empty `command`",
            (Some(_), Some(_)) => "has both `command` and `url`; a server needs exactly one",
            (None, None) => "has neither `command` nor `url`; a server needs one of them",
            _ => return None,
        };
        let table = format!("[mcp.{name}]");
        Some(at_line_of(&table, text, &format!("`{table}` {wrong}")))
    })
}

fn wrong_address(user: &UserFile, text: &str) -> Option<String> {
    let servers = user.mcp.iter().map(|(name, server)| (format!("mcp.{name}.url"), &server.url));
    let vendors =
        user.vendors.iter().map(|(name, vendor)| (format!("vendors.{name}.base_url"), &vendor.base_url));
    servers.chain(vendors).find_map(|(key, address)| {
        let address = address.as_ref().filter(|address| !is_address(address))?;
        let message = format!("`{key}` is `{address}`; it must begin with `http://` or `https://`");
        Some(at_line_of_text(address, text, &message))
    })
}

/// Whether `text` is an address, or begins with an environment variable, which may contain one.
fn is_address(text: &str) -> bool {
    ["http://", "https://", "${"].iter().any(|begins| text.starts_with(begins))
}

fn wrong_engine(user: &UserFile, text: &str) -> Option<String> {
    let engine = user.tools.get("web_search")?.get("engine")?.as_str()?;
    let known: Vec<&str> = search_engines().map(|(name, _)| name).collect();
    let message = unknown("search engine", engine, &known)?;
    Some(at_line_of_text(engine, text, &message))
}

fn wrong_vendor(user: &UserFile, text: &str) -> Option<String> {
    let known = provider_names();
    let meant = |name: &str| vendors().iter().find(|vendor| vendor.aliases.contains(&name));
    let wrong = |name: &str| match meant(name) {
        Some(vendor) => Some(format!("`vendors.{name}` is named `vendors.{}`", vendor.name)),
        None => unknown("provider", name, &known),
    };
    let (name, message) = user.vendors.keys().find_map(|name| Some((name, wrong(name)?)))?;
    Some(at_line_of(&format!("[vendors.{name}"), text, &message))
}

/// The names of all providers: vendors, and providers without a network connection.
pub(crate) fn provider_names() -> Vec<&'static str> {
    vendors().iter().map(|vendor| vendor.name).chain(["exec", "local", "script"]).collect()
}

fn wrong_timeout(user: &UserFile, text: &str) -> Option<String> {
    let bash = user.tools.get("bash")?;
    let is_zero = |key: &&str| bash.get(key).and_then(|value| value.as_integer()) == Some(0);
    let key = ["timeout_default", "timeout_max"].into_iter().find(is_zero)?;
    let message = format!("`tools.bash.{key}` is 0; it must be at least 1");
    Some(at_line_of(&format!("{key} = 0"), text, &message))
}

/// Says that `name` is unknown, and which known name is near; `None` if it is known.
fn unknown(what: &str, name: &str, known: &[&str]) -> Option<String> {
    let hint = match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are `{}`", known.join("`, `")),
    };
    (!known.contains(&name)).then(|| format!("there is no {what} `{name}`; {hint}"))
}
