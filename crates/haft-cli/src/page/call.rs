//! [`html`]: one call: a line that folds open.
use super::{
    diff::{self, Contents},
    story::Call,
    text::{duration, escaped, named},
};
use haft::{
    kernel::{Answer, How, ToolResult},
    present::words,
};
use serde_json::Value;

/// Changes are shown without being folded open: they are what people look for.
pub(super) fn html(call: &Call, contents: Contents<'_>) -> String {
    let (class, sign, word) = match &call.result {
        Some((result, _)) if result.went_well() => ("well", "✓", "went well"),
        Some(_) => ("failed", "✗", "failed"),
        None => ("open", "…", "has no result"),
    };
    let time = call.result.as_ref().map(|(_, ms)| format!("<span class=\"quiet\">{}</span>", duration(*ms)));
    let summary = format!(
        "<summary><span class=\"mark\" aria-hidden=\"true\">{sign}</span><span class=\"spoken\">{word}:</span> <span class=\"name\">{}</span> <span class=\"about\">{}</span> {}</summary>",
        named(&call.name),
        escaped(&words::summary(&call.arguments)),
        time.unwrap_or_default()
    );
    let parts = [arguments(&call.arguments), approvals(call), questions(call), result(call), place(call)];
    format!(
        "<details class=\"call {class}\">{summary}<div class=\"inside\">{}</div></details>{}",
        parts.concat(),
        diffs(call, contents)
    )
}

fn arguments(arguments: &Value) -> String {
    let Some(fields) = arguments.as_object() else {
        return section("Arguments", &block(&arguments.to_string()));
    };
    if fields.is_empty() {
        return String::new();
    }
    let row = |(name, value): (&String, &Value)| {
        let text = value.as_str().map_or_else(|| format!("{value:#}"), str::to_owned);
        let shown = if text.contains('\n') || text.len() > 80 { block(&text) } else { code(&text) };
        format!("<dt>{}</dt><dd>{shown}</dd>", escaped(name))
    };
    section("Arguments", &format!("<dl>{}</dl>", fields.iter().map(row).collect::<String>()))
}

fn approvals(call: &Call) -> String {
    let told = call.approvals.iter().map(|(reason, answer)| {
        let answer = match answer {
            Some(Answer::Once) => "allowed, this time",
            Some(Answer::Always) => "allowed, from here on",
            Some(Answer::No) => "denied by a person",
            Some(Answer::Unanswered) => "denied: no person could be asked",
            None => "not answered",
        };
        format!("<p>{}: <strong>{answer}</strong></p>", escaped(reason))
    });
    let told: String = told.collect();
    if told.is_empty() { told } else { section("Approval", &told) }
}

fn questions(call: &Call) -> String {
    let told = call.questions.iter().map(|(question, answer)| {
        let answer = answer.as_deref().map_or("<em>no answer</em>".to_owned(), escaped);
        format!("<p>{}</p><p><strong>{answer}</strong></p>", escaped(question))
    });
    let told: String = told.collect();
    if told.is_empty() { told } else { section("Question", &told) }
}

fn result(call: &Call) -> String {
    let Some((ToolResult { content, images, .. }, _)) = &call.result else { return String::new() };
    let pictures: String = images.iter().map(super::picture).collect();
    let text = if content.is_empty() { "<p class=\"quiet\">nothing</p>".into() } else { block(content) };
    section("Result", &(text + &pictures))
}

/// Where it stands in the journal, and how much of it can be undone.
fn place(call: &Call) -> String {
    let how = match call.how {
        Some(How::Untracked) => "; what it did to files was not recorded, and is not undone",
        Some(How::Staged | How::Declared) | None => "",
    };
    format!("<p class=\"quiet\">Entry {}, call <code>{}</code>{how}.</p>", call.seq, escaped(&call.id.0))
}

fn diffs(call: &Call, contents: Contents<'_>) -> String {
    let is_settled = |path: &std::path::Path| !call.unsettled.iter().any(|left| left == path);
    let done = call.changes.iter().filter(|change| is_settled(&change.path));
    let left = call.unsettled.iter().map(|path| {
        let path = named(&path.to_string_lossy());
        format!("<p class=\"note\">left as it was: <code>{path}</code></p>")
    });
    done.map(|change| diff::html(change, contents)).chain(left).collect()
}

fn section(title: &str, body: &str) -> String {
    format!("<section><h3>{title}</h3>{body}</section>")
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}

fn block(text: &str) -> String {
    format!("<pre><code>{}</code></pre>", escaped(text))
}
