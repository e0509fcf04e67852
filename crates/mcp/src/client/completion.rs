//! [`complete`]: completes the end of a prompt that is being typed: the name of a server's prompt, the value of an
//! argument, or the URI of a resource.
use super::{
    link::Link,
    mentions::{answer, assigned, link, named},
    server::{self, Server},
};
use haft_core::Completions;
use rmcp::model::{ArgumentInfo, CompleteRequestParams, CompletionContext, Prompt, Reference};
use std::{collections::HashMap, sync::Arc};

/// The completions of `typed`; `None` if it names no server, or the server does not answer.
pub(super) async fn complete(servers: &[Arc<Server>], typed: &str) -> Option<Completions> {
    if let Some(rest) = typed.strip_prefix('/') {
        let (server, rest) = rest.split_once(':')?;
        let server = named(servers, server)?;
        return match rest.split_once(char::is_whitespace) {
            None => name(server, rest, typed).await,
            Some((prompt, arguments)) => argument(server, prompt, arguments, typed).await,
        };
    }
    let word = typed.rsplit(char::is_whitespace).next()?.trim_start_matches(['(', '"']);
    let (server, uri) = word.strip_prefix('@')?.split_once(':')?;
    resource(named(servers, server)?, uri, typed).await
}

/// Names of prompts that begin with `begun`, at the end of `typed`.
async fn name(server: &Server, begun: &str, typed: &str) -> Option<Completions> {
    let link = link(server).await.ok()?;
    let prompts = answer(server, &link, "prompts", server::prompts(&link)).await.ok()?;
    let values = prompts.into_iter().map(|prompt| prompt.name).filter(|name| name.starts_with(begun));
    Some(Completions { start: typed.len() - begun.len(), values: values.collect() })
}

/// Values of the argument at the end of `arguments`, which is the end of `typed`.
async fn argument(server: &Server, prompt: &str, arguments: &str, typed: &str) -> Option<Completions> {
    let link = link(server).await.ok()?;
    let prompts = answer(server, &link, "prompts", server::prompts(&link)).await.ok()?;
    let prompt = prompts.iter().find(|known| known.name == prompt)?;
    let (open, start) = open_argument(prompt, arguments)?;
    let others = assigned(prompt, arguments).into_iter().filter(|(name, _)| *name != open);
    let others: HashMap<String, String> =
        others.map(|(name, at)| (name.to_owned(), arguments[at].to_owned())).collect();
    let value = ArgumentInfo::new(open, &arguments[start..]);
    let request = CompleteRequestParams::new(Reference::for_prompt(&prompt.name), value)
        .with_context(CompletionContext::with_arguments(others));
    let values = values(server, &link, request).await?;
    Some(Completions { start: typed.len() - arguments.len() + start, values })
}

/// The argument that is being typed, and the start of its value.
fn open_argument<'a>(prompt: &'a Prompt, typed: &str) -> Option<(&'a str, usize)> {
    let given = assigned(prompt, typed);
    let mut arguments = prompt.arguments.iter().flatten();
    let next = arguments.find(|known| given.iter().all(|(name, _)| *name != known.name));
    match (given.last(), next) {
        (Some((name, at)), _) if at.end == typed.len() => Some((name, at.start)),
        (_, Some(next)) => Some((&next.name, typed.len())),
        // The last argument takes the rest of the text.
        (Some((name, at)), None) => Some((name, at.start)),
        (None, None) => None,
    }
}

/// URIs of resources that begin with `begun`, and values of the first variable of a template, at the end of `typed`.
async fn resource(server: &Server, begun: &str, typed: &str) -> Option<Completions> {
    let link = link(server).await.ok()?;
    let resources = answer(server, &link, "resources", server::resources(&link)).await.ok()?;
    let uris = resources.into_iter().map(|resource| resource.uri);
    let mut found: Vec<String> = uris.filter(|uri| uri.starts_with(begun)).collect();
    let templates = answer(server, &link, "templates", server::resource_templates(&link)).await;
    for template in templates.unwrap_or_default() {
        found.extend(filled_in(server, &link, &template.uri_template, begun).await);
    }
    Some(Completions { start: typed.len() - begun.len(), values: found })
}

/// The URIs of a template that begin with `begun`: up to its first variable, or with each value of that variable.
async fn filled_in(server: &Server, link: &Link, template: &str, begun: &str) -> Vec<String> {
    let Some((before, rest)) = template.split_once('{') else { return Vec::new() };
    let Some((variable, after)) = rest.split_once('}') else { return Vec::new() };
    let Some(value) = begun.strip_prefix(before) else {
        return before.starts_with(begun).then(|| before.to_owned()).into_iter().collect();
    };
    let request =
        CompleteRequestParams::new(Reference::for_resource(template), ArgumentInfo::new(variable, value));
    let values = values(server, link, request).await.unwrap_or_default();
    let after = after.split('{').next().unwrap_or_default();
    values.into_iter().map(|value| format!("{before}{value}{after}")).collect()
}

/// The values that the server offers; `None` if it does not support completion.
async fn values(server: &Server, link: &Link, request: CompleteRequestParams) -> Option<Vec<String>> {
    let peer = link.service.peer();
    peer.peer_info()?.capabilities.completions.as_ref()?;
    let found = answer(server, link, "completions", peer.complete(request)).await.ok()?;
    Some(found.completion.values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::PromptArgument;

    #[test]
    fn the_argument_at_the_cursor_is_known() {
        let wanted = vec![PromptArgument::new("who"), PromptArgument::new("style")];
        let prompt = Prompt::new("greet", None::<String>, Some(wanted));
        let table = [
            ("", Some(("who", ""))),
            ("Ad", Some(("who", "Ad"))),
            ("Ada ", Some(("style", ""))),
            ("Ada very wa", Some(("style", "very wa"))),
            ("Ada very ", Some(("style", "very "))),
            ("style=ol", Some(("style", "ol"))),
            ("style=", Some(("style", ""))),
            ("style=old ", Some(("who", ""))),
        ];
        for (typed, expected) in table {
            let found = open_argument(&prompt, typed).map(|(name, start)| (name, &typed[start..]));
            assert_eq!(found, expected, "{typed:?}");
        }
        let none = Prompt::new("plain", None::<String>, None);
        assert_eq!(open_argument(&none, "and"), None);
    }
}
