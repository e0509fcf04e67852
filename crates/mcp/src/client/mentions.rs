//! [`resolve`]: resolves the parts of a prompt that name servers: `/SERVER:PROMPT ARGUMENTS` is a prompt of a server,
//! and `@SERVER:URI` mentions a resource.
use super::{
    link::Link,
    result,
    server::{self, Server},
    words,
};
use haft_core::{Part, clip};
use rmcp::{
    model::{GetPromptRequestParams, JsonObject, Prompt, ReadResourceRequestParams, ResourceContents, Role},
    service::ServiceError,
};
use std::{ops::Range, sync::Arc};
use tokio::time::timeout;

/// Maximum bytes of a resource in a prompt.
const MAX_RESOURCE: usize = 100_000;
/// Punctuation that may follow a mention in a sentence, and does not belong to its URI.
const PUNCTUATION: [char; 8] = ['.', ',', ';', ':', '!', '?', ')', '"'];

/// The parts that replace the text of `prompt`; `None` if it names no server.
///
/// # Errors
///
/// If a server does not start, has no such prompt or resource, or the prompt lacks an argument.
pub(super) async fn resolve(servers: &[Arc<Server>], prompt: &str) -> Result<Option<Vec<Part>>, String> {
    if let Some((server, name, arguments)) = command(servers, prompt) {
        return filled(server, name, arguments).await.map(Some);
    }
    let mut parts = vec![Part::text(prompt)];
    for (server, uri) in mentions(servers, prompt) {
        parts.extend(resource(server, uri).await?);
    }
    Ok((parts.len() > 1).then_some(parts))
}

/// Texts about `server` that the user can type; empty if it does not answer.
pub(super) async fn of(server: &Server) -> Vec<String> {
    let name = &server.settings.name;
    let Ok(link) = link(server).await else { return Vec::new() };
    let Some(info) = link.service.peer().peer_info() else { return Vec::new() };
    let (prompts, resources) = (info.capabilities.prompts.is_some(), info.capabilities.resources.is_some());
    let mut found = Vec::new();
    if prompts && let Ok(prompts) = answer(server, &link, "prompts", server::prompts(&link)).await {
        found.extend(prompts.iter().map(|prompt| usage(name, prompt)));
    }
    if resources && let Ok(resources) = answer(server, &link, "resources", server::resources(&link)).await {
        found.extend(resources.iter().map(|resource| format!("@{name}:{}", resource.uri)));
    }
    found
}

/// The server, the name of its prompt, and the text after it.
fn command<'a>(servers: &'a [Arc<Server>], prompt: &'a str) -> Option<(&'a Server, &'a str, &'a str)> {
    let rest = prompt.trim_start().strip_prefix('/')?;
    let (word, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let (server, name) = word.split_once(':')?;
    Some((named(servers, server)?, name, arguments.trim()))
}

/// Each resource once, in the order of their mentions.
fn mentions<'a>(servers: &'a [Arc<Server>], prompt: &'a str) -> Vec<(&'a Server, &'a str)> {
    let mut found: Vec<(&Server, &str)> = Vec::new();
    for word in prompt.split_whitespace() {
        let word = word.trim_start_matches(['(', '"']);
        let Some((server, uri)) = word.strip_prefix('@').and_then(|word| word.split_once(':')) else {
            continue;
        };
        let Some(server) = named(servers, server) else { continue };
        let uri = uri.trim_end_matches(PUNCTUATION);
        let is_known = |(known, same): &(&Server, &str)| std::ptr::eq(*known, server) && *same == uri;
        if !uri.is_empty() && !found.iter().any(is_known) {
            found.push((server, uri));
        }
    }
    found
}

pub(super) fn named<'a>(servers: &'a [Arc<Server>], name: &str) -> Option<&'a Server> {
    servers.iter().find(|server| server.settings.name == name).map(|server| &**server)
}

async fn filled(server: &Server, name: &str, typed: &str) -> Result<Vec<Part>, String> {
    let own = &server.settings.name;
    let link = link(server).await?;
    let known = answer(server, &link, "prompts", server::prompts(&link)).await?;
    let Some(prompt) = known.iter().find(|prompt| prompt.name == name) else {
        let all: Vec<String> = known.iter().map(|prompt| format!("`/{own}:{}`", prompt.name)).collect();
        let all =
            if all.is_empty() { "it has none".to_owned() } else { format!("it has {}", all.join(", ")) };
        return Err(format!("the MCP server `{own}` has no prompt `{name}`; {all}"));
    };
    let arguments = arguments(prompt, typed).map_err(|missing| {
        format!("the prompt `/{own}:{name}` needs `{missing}`: `{}`", usage(own, prompt))
    })?;
    let request = GetPromptRequestParams::new(name.to_owned()).with_arguments(arguments);
    let what = format!("prompt `{name}`");
    let result = answer(server, &link, &what, link.service.get_prompt(request)).await?;
    let mut parts = Vec::new();
    for message in result.messages {
        let speaker = if message.role == Role::Assistant { "An answer: " } else { "" };
        parts.extend(match result::told(message.content) {
            result::Reported::Text(text) => [Part::text(format!("{speaker}{text}"))],
            result::Reported::Image(image) => [Part::Image(image)],
        });
    }
    match parts.is_empty() {
        true => Err(format!("the MCP server `{own}` filled in its prompt `{name}` with nothing")),
        false => Ok(parts),
    }
}

/// Formats `/SERVER:PROMPT NAME [STYLE]`.
fn usage(server: &str, prompt: &Prompt) -> String {
    let arguments = prompt.arguments.iter().flatten().map(|argument| match argument.required {
        Some(true) => format!(" {}", argument.name.to_uppercase()),
        _ => format!(" [{}]", argument.name.to_uppercase()),
    });
    format!("/{server}:{}{}", prompt.name, arguments.collect::<String>())
}

/// Parses words in the order of the arguments, or as `NAME=VALUE`; the last argument takes the rest. The error is the
/// name of a missing one.
fn arguments(prompt: &Prompt, typed: &str) -> Result<JsonObject, String> {
    let given = assigned(prompt, typed);
    let given: JsonObject = given.into_iter().map(|(name, at)| (name.to_owned(), typed[at].into())).collect();
    let mut wanted = prompt.arguments.iter().flatten();
    let missing = wanted.find(|wanted| wanted.required == Some(true) && !given.contains_key(&wanted.name));
    missing.map_or(Ok(given), |missing| Err(missing.name.clone()))
}

/// The arguments in `typed`, with the ranges of their values.
pub(super) fn assigned<'a>(prompt: &'a Prompt, typed: &str) -> Vec<(&'a str, Range<usize>)> {
    let mut open: Vec<&str> =
        prompt.arguments.iter().flatten().map(|argument| argument.name.as_str()).collect();
    let (mut given, mut at) = (Vec::new(), 0);
    loop {
        let rest = &typed[at..];
        let begin = at + rest.len() - rest.trim_start().len();
        let word = typed[begin..].split(char::is_whitespace).next().unwrap_or_default();
        if word.is_empty() || open.is_empty() {
            return given;
        }
        let named = word.split_once('=').and_then(|(name, _)| open.iter().position(|open| *open == name));
        let (place, value) = match named {
            Some(place) => (place, begin + open[place].len() + 1..begin + word.len()),
            None if open.len() == 1 => (0, begin..typed.trim_end().len()),
            None => (0, begin..begin + word.len()),
        };
        at = value.end;
        given.push((open.remove(place), value));
    }
}

async fn resource(server: &Server, uri: &str) -> Result<Vec<Part>, String> {
    let link = link(server).await?;
    let request = ReadResourceRequestParams::new(uri.to_owned());
    let what = format!("resource `{uri}`");
    let read = answer(server, &link, &what, link.service.read_resource(request)).await?;
    let name = format!("@{}:{uri}", server.settings.name);
    let told = read.contents.into_iter().map(|content| match content {
        ResourceContents::TextResourceContents { text, .. } => Part::text(quoted(&name, &text)),
        ResourceContents::BlobResourceContents { blob, mime_type, .. } => {
            match result::picture(blob, mime_type.as_deref().unwrap_or("unknown type"), &name) {
                result::Reported::Text(text) => Part::text(format!("\n\n{text}")),
                result::Reported::Image(image) => Part::Image(image),
            }
        }
        _ => Part::text(format!("\n\n[`{name}` is of an unknown kind]")),
    });
    Ok(told.collect())
}

/// A fenced block below the prompt. Its fence is longer than any in the text, so that the text cannot close it.
fn quoted(name: &str, text: &str) -> String {
    let text = clip::head(text, MAX_RESOURCE);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("\n\n`{name}`:\n{fence}\n{text}{end}{fence}")
}

pub(super) async fn link(server: &Server) -> Result<Arc<Link>, String> {
    let name = &server.settings.name;
    server.link().await.map_err(|error| format!("the MCP server `{name}` cannot be started: {error}"))
}

/// The server's response, with the timeout of its start.
pub(super) async fn answer<T>(
    server: &Server,
    link: &Link,
    what: &str,
    asked: impl Future<Output = Result<T, ServiceError>>,
) -> Result<T, String> {
    let (name, limit) = (&server.settings.name, server.settings.start_timeout);
    let why = match timeout(limit, asked).await {
        Ok(Ok(answer)) => return Ok(answer),
        Ok(Err(error)) => words::of_request(&error) + &link.last_words(),
        Err(_) => format!("no answer within {} seconds", limit.as_secs()),
    };
    Err(format!("the MCP server `{name}` does not give its {what}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::PromptArgument;
    use serde_json::{Value, json};

    #[test]
    fn arguments_are_given_in_their_order_or_by_name() {
        let argument = |name: &str, required| PromptArgument::new(name).with_required(required);
        let wanted = vec![argument("who", true), argument("style", false), argument("more", false)];
        let prompt = Prompt::new("greet", None::<String>, Some(wanted));
        let table = [
            ("Ada", Ok(json!({"who": "Ada"}))),
            (" Ada  old  and so on ", Ok(json!({"who": "Ada", "style": "old", "more": "and so on"}))),
            ("style=old Ada x=y z", Ok(json!({"style": "old", "who": "Ada", "more": "x=y z"}))),
            ("style=old", Err("who".to_owned())),
            ("", Err("who".to_owned())),
        ];
        for (typed, expected) in table {
            assert_eq!(arguments(&prompt, typed).map(Value::Object), expected, "{typed}");
        }
        assert_eq!(usage("peer", &prompt), "/peer:greet WHO [STYLE] [MORE]");
        let none = Prompt::new("plain", None::<String>, None);
        assert_eq!(arguments(&none, "and more").map(Value::Object), Ok(json!({})));
    }
}
