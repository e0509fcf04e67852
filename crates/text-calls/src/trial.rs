//! [`calls`]: finds the calls of a whole reply, whatever their dialect.
use haft_dialects::{Call, Dialect, Said, Setting, THINK_TAGS, by_delimiters, guess, read};

/// Maximum bytes of a reply that is searched; a longer call would not be meant as one.
pub(super) const LONGEST: usize = 1 << 18;

/// Calls that were found in a reply.
pub(super) struct Found {
    pub(super) dialect: &'static Dialect,
    pub(super) calls: Vec<Call>,
    /// Whether they have delimiters that no other dialect has.
    pub(super) is_announced: bool,
}

/// The calls of a reply, if all parsed calls are of known tools. Calls of a dialect that is identified by its
/// delimiters may follow text; those of any other dialect count only if the reply contains nothing else except blanks,
/// thoughts and one fence.
pub(super) fn calls(reply: &str, setting: &Setting) -> Option<Found> {
    if reply.len() > LONGEST {
        return None;
    }
    let announced = announced(reply, setting);
    let found = |(dialect, calls), is_announced| Found { dialect, calls, is_announced };
    announced
        .map(|calls| found(calls, true))
        .or_else(|| whole(reply, setting).map(|calls| found(calls, false)))
}

type Calls = (&'static Dialect, Vec<Call>);

fn announced(reply: &str, setting: &Setting) -> Option<Calls> {
    let dialect = by_delimiters(reply)?;
    // Bare JSON may occur anywhere in prose, so it counts only if the whole reply is JSON.
    if dialect.writes_bare_json() && !reply.trim_start().starts_with(['{', '<']) {
        return None;
    }
    let (prose, calls) = known(dialect, reply, setting)?;
    (prose.matches("```").count() % 2 == 0).then_some((dialect, calls))
}

fn whole(reply: &str, setting: &Setting) -> Option<Calls> {
    let thoughts =
        reply.trim_start().strip_prefix(THINK_TAGS[0]).and_then(|text| text.split_once(THINK_TAGS[1]));
    let text = thoughts.map_or(reply, |(_, text)| text).trim();
    let may_be_call = text.starts_with(['{', '[', '<', '`']) || text.starts_with("functools[");
    if !may_be_call || is_shell(text) {
        return None;
    }
    [Some(text), in_fence(text)].into_iter().flatten().find_map(|text| {
        let dialect = guess(setting, text)?;
        let (prose, calls) = known(dialect, text, setting)?;
        prose.trim().is_empty().then_some((dialect, calls))
    })
}

/// The text before the calls, and the calls, if all of them are of known tools and no text follows: text after a call
/// means that it is only quoted.
fn known(dialect: &Dialect, text: &str, setting: &Setting) -> Option<(String, Vec<Call>)> {
    let (mut calls, mut prose) = (Vec::new(), String::new());
    for said in read(dialect, setting, [text]) {
        match said {
            Said::Call(call) if setting.tool(&call.name).is_some() => calls.push(call),
            Said::Call(_) | Said::Problem(_) => return None,
            Said::Text(text) if !calls.is_empty() && !text.trim().is_empty() => return None,
            Said::Text(text) => prose.push_str(&text),
            Said::Thinking(_) | Said::ThinkingEnd => {}
        }
    }
    (!calls.is_empty()).then_some((prose, calls))
}

/// Whether the text is a fence with shell commands: an answer that shows commands is not a call, although a dialect
/// parses it as one.
fn is_shell(text: &str) -> bool {
    let info = text.strip_prefix("```").and_then(|text| text.lines().next()).unwrap_or_default();
    ["bash", "sh", "shell"].contains(&info.trim())
}

/// The content of a fence, if the text is nothing else.
fn in_fence(text: &str) -> Option<&str> {
    let (info, body) = text.strip_prefix("```")?.strip_suffix("```")?.split_once('\n')?;
    (info.split_whitespace().count() < 2).then_some(body)
}
