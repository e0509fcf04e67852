//! What a request contains, and what gives way so that it fits.
use crate::{Agent, JournalError, Setup, compact::compact, knowledge, session::Log, turn::Means};
use haft_core::{
    Evicted, Fact, Message, Registry, Request, ToolResult, ToolSpec, Transcript, Window, tokens,
    window::{self, Cut, Room},
};
use serde_json::Value;
use std::{fs, io, path::PathBuf, sync::Arc};
use tokio_util::sync::CancellationToken;

/// Where nobody knows a model's window: most have at least that (2025-10).
const USUAL_WINDOW: u64 = 128_000;

/// The part of every request that does not change while the tools stay the same, made once: what is the same byte for
/// byte is read from the vendor's cache.
pub(crate) struct Wire {
    system: String,
    tools: Arc<[ToolSpec]>,
    /// About how many tokens both take.
    tokens: u64,
}

impl Wire {
    pub(crate) fn new(setup: &Setup, agent: &Agent, tools: &Registry) -> Self {
        let list = setup.profile.tool_list.as_ref().filter(|_| !tools.is_empty());
        let specs = tools.specs();
        let list = list.map(|template| template.replace("{tools}", &tool_list(&specs)));
        let notes =
            if setup.profile.notes { knowledge::notes(&setup.knowledge.notes) } else { String::new() };
        let skills = knowledge::skills(&setup.knowledge, tools);
        let system = agent.system.clone() + &list.unwrap_or_default() + &notes + &skills;
        Self { tokens: tokens::of_text(&system) + tokens::of_tools(&specs), system, tools: specs }
    }
}

/// The window of the session's model.
pub(crate) fn window(means: &Means) -> Window {
    let setup = &means.shared.setup;
    let tokens = means.model.window.unwrap_or(USUAL_WINDOW);
    let reply = match setup.profile.max_output {
        0 => tokens,
        limit => u64::from(limit),
    };
    Window::new(tokens, reply, means.toolbox.kit().wire.tokens)
}

/// Lets give way what does not fit `window`. Whether anything did.
pub(crate) async fn make_room(
    log: &mut Log,
    means: &Means,
    window: &Window,
    cancel: &CancellationToken,
) -> Result<bool, JournalError> {
    let begin = log.transcript.size(window.fixed);
    let mut size = begin;
    while !cancel.is_cancelled() {
        match window::room(&log.transcript, window) {
            Room::Fits => break,
            Room::Evict(cuts) => evict(log, means, &cuts)?,
            Room::Compact { kept } => compact(log, means, window, kept, cancel).await?,
        }
        let before = std::mem::replace(&mut size, log.transcript.size(window.fixed));
        // Where the words that name a file are longer than what they stand for, nothing is gained.
        if size >= before && !log.transcript.is_compacted() {
            break;
        }
    }
    Ok(size < begin)
}

/// The results stay readable in the session's own folder.
fn evict(log: &mut Log, means: &Means, cuts: &[Cut]) -> Result<(), JournalError> {
    let next = log.journal.entries().last().map_or(0, |last| last.seq.0 + 1);
    let results = cuts.iter().filter_map(|cut| match &*log.transcript.messages()[cut.message] {
        Message::Tool { name, result, .. } => {
            let file = means.artifacts.join(format!("result-{next}-{}.txt", cut.message));
            let kept = keep(&file, &result.content);
            Some(Evicted {
                message: cut.message,
                text: in_place_of(name, result, cut.keep, kept.ok().as_ref()),
            })
        }
        Message::User { .. } | Message::Assistant { .. } => None,
    });
    let results = results.collect();
    // A result that is no longer told cannot be referred to.
    means.repeats.clear();
    log.record(Fact::Evicted { results })
}

fn keep(file: &PathBuf, content: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(file.parent().unwrap_or(file))?;
    fs::write(file, content)?;
    Ok(file.clone())
}

/// The line that a model reads where a result stood, or the ends of it.
fn in_place_of(name: &str, result: &ToolResult, keep: u64, file: Option<&PathBuf>) -> String {
    let how = match file {
        Some(file) => format!("read `{}` to see it again", file.display()),
        None => "call it again to see it".to_owned(),
    };
    let content = &result.content;
    if keep > 0 {
        return tokens::fit(content, keep, &how);
    }
    let failed = if result.is_ok() { "" } else { " failed" };
    format!(
        "[`{name}`{failed}: {} bytes, {} lines, put aside to save room; {how}]",
        content.len(),
        content.lines().count()
    )
}

/// The whole conversation; sharing its messages costs one pointer each.
pub(crate) fn request(means: &Means, transcript: &Transcript) -> Request {
    let (setup, kit) = (&means.shared.setup, means.toolbox.kit());
    let wire = &kit.wire;
    Request {
        model: means.model.name.clone(),
        system: wire.system.clone(),
        messages: transcript.messages().to_vec(),
        tools: wire.tools.clone(),
        max_output: room_for_reply(means, transcript),
        form: None,
        options: setup.profile.options.clone(),
    }
}

/// As the profile has it, but what the window leaves: some servers refuse a request that could outgrow it.
fn room_for_reply(means: &Means, transcript: &Transcript) -> u32 {
    let wanted = means.shared.setup.profile.max_output;
    if means.model.window.is_none() {
        return wanted;
    }
    let window = window(means);
    let left = window.tokens.saturating_sub(transcript.size(window.fixed)).max(window.reply.min(256));
    wanted.min(u32::try_from(left).unwrap_or(u32::MAX))
}

/// `- name(param: type, …): description`, a line for each tool.
fn tool_list(specs: &[ToolSpec]) -> String {
    let lines = specs.iter().map(|spec| {
        let parameters = spec.parameters.get("properties").and_then(Value::as_object);
        let parameters = parameters.into_iter().flatten().map(|(name, schema)| {
            format!("{name}: {}", schema.get("type").and_then(Value::as_str).unwrap_or("any"))
        });
        format!("- {}({}): {}", spec.name, parameters.collect::<Vec<_>>().join(", "), spec.description)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    //
    #[test]
    fn the_tool_list_has_a_line_for_each_tool() {
        let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}, "limit": {}}});
        let spec = ToolSpec {
            name: "read".into(),
            description: "Read a file.".into(),
            parameters,
            examples: vec![].into(),
        };
        assert_eq!(tool_list(&[spec]), "- read(path: string, limit: any): Read a file.");
    }
}
