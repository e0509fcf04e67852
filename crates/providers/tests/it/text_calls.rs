//! [`TextToolCalls`]: what a model that knows no calls is told, and what is heard of it.
use futures::{StreamExt, stream, stream::BoxStream};
use haft_core::{
    CallId, Delta, Message, Part, Provider, ProviderError, Reply, Request, StopReason, ToolCall, ToolResult,
    ToolSpec,
};
use haft_dialects::{Call, DIALECTS, Dialect, Writing, dialect};
use haft_providers::{Scripted, Step, StepCall};
use haft_text_calls::TextToolCalls;
use serde_json::{Value, json};
use std::sync::Arc;

fn tool(name: &str, parameters: Value) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("Does {name}."),
        parameters,
        examples: Default::default(),
    }
}

fn tools() -> Arc<[ToolSpec]> {
    let path = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let look = json!({"type": "object", "properties": {
        "text": {"type": "string"}, "count": {"type": "integer"}, "deep": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "string"}},
    }, "required": ["text"]});
    Arc::new([tool("file", path), tool("look", look)])
}

fn request(messages: Vec<Message>) -> Request {
    let messages = messages.into_iter().map(Arc::new).collect();
    Request { system: "Be brief.".into(), messages, tools: tools(), ..Request::default() }
}

fn user(text: &str) -> Message {
    Message::User { parts: vec![Part::text(text)] }
}

/// What a model that says `step` is heard to say: the parts, and why it stopped.
async fn heard(dialect: &'static Dialect, step: Step) -> (Vec<Part>, StopReason) {
    let spoken = TextToolCalls::new(Arc::new(Scripted::new([step])), dialect);
    let mut deltas = spoken.stream(request(vec![user("go")]));
    let mut reply = Reply::default();
    while let Some(delta) = deltas.next().await {
        reply.push(delta.unwrap());
    }
    let stop = reply.stop();
    (reply.into_parts(), stop)
}

fn says(text: &str, pieces: Option<usize>, stop: Option<StopReason>) -> Step {
    Step { say: Some(text.into()), pieces, stop, ..Step::default() }
}

fn hermes() -> &'static Dialect {
    dialect("hermes").unwrap()
}

#[tokio::test(start_paused = true)]
async fn calls_and_thoughts_come_out_of_the_text_however_it_is_cut() {
    let text = "<think>hm</think>So.<tool_call>{\"name\":\"file\",\"arguments\":{\"path\":\"a\"}}</tool_call>\
                <tool_call>{\"name\":\"look\",\"arguments\":{}}</tool_call>";
    let expected = vec![
        Part::Thinking { text: "hm".into(), signature: None },
        Part::text("So."),
        Part::ToolCall(ToolCall::new("call_0", "file", json!({"path": "a"}))),
        Part::ToolCall(ToolCall::new("call_1", "look", json!({}))),
    ];
    for pieces in [None, Some(1), Some(7)] {
        let heard = heard(hermes(), says(text, pieces, None)).await;
        assert_eq!(heard, (expected.clone(), StopReason::ToolUse), "{pieces:?}");
    }
    let plain = heard(hermes(), says("a <tool", Some(1), None)).await;
    assert_eq!(plain, (vec![Part::text("a <tool")], StopReason::EndTurn));
}

// A-44, P-25, X-07
#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_a_call_that_says_why() {
    let text = "<tool_call>{\"arguments\":{}}</tool_call>";
    for pieces in [None, Some(1)] {
        let (parts, stop) = heard(hermes(), says(text, pieces, None)).await;
        assert_eq!((&parts[0], stop), (&Part::text(text), StopReason::ToolUse));
        let call = parts[1].as_call().unwrap();
        let problem = call.problem.clone().unwrap();
        assert_eq!(call.name, "unreadable_call");
        assert!(
            problem.starts_with(
                "failed to parse tool calls: it has no `name`. A call is written like this:\n<tool_call>"
            ),
            "{problem}"
        );
    }
}

// A03, A15
#[tokio::test(start_paused = true)]
async fn a_call_that_the_limit_cut_off_is_not_run() {
    let gemma = dialect("gemma4").unwrap();
    let text = "<|tool_call>call:file{path:<|\"|>a";
    let (parts, stop) = heard(gemma, says(text, Some(1), Some(StopReason::Length))).await;
    let call = parts[0].as_call().unwrap();
    assert_eq!((call.name.as_str(), stop), ("file", StopReason::Length));
    assert!(call.problem.as_deref().unwrap().contains("length limit"));
    // Nor is one whose end is missing though the model says that it is done.
    let (parts, _) = heard(gemma, says(text, None, None)).await;
    let problem = parts[0].as_call().unwrap().problem.clone().unwrap();
    assert_eq!(problem, "the reply ended before the end of the call of `file`");
}

/// A model that answers with these.
struct Deltas(Vec<Delta>);

impl Provider for Deltas {
    fn stream(&self, _: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        Box::pin(stream::iter(self.0.clone().into_iter().map(Ok)))
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_forgets_what_was_half_read() {
    let again = Delta::Retrying { reason: "reset".into(), after: Default::default(), charged: false };
    let deltas = vec![
        Delta::Text("a <tool_call>{".into()),
        again.clone(),
        Delta::Text("b".into()),
        Delta::Stop(StopReason::EndTurn),
    ];
    let spoken = TextToolCalls::new(Arc::new(Deltas(deltas)), hermes());
    let heard: Vec<Delta> = spoken.stream(request(vec![])).map(Result::unwrap).collect().await;
    let text = |text: &str| Delta::Text(text.into());
    assert_eq!(heard, [text("a "), again, text("b"), Delta::Stop(StopReason::EndTurn)]);
}

#[tokio::test(start_paused = true)]
async fn the_history_is_told_as_text() {
    let scripted = Arc::new(Scripted::new([says("x", None, None), says("y", None, None)]));
    let spoken = TextToolCalls::new(scripted.clone(), hermes());
    let call = |id: &str, name: &str, arguments: Value| Part::ToolCall(ToolCall::new(id, name, arguments));
    let answer = |id: &str, name: &str, text: &str| Message::Tool {
        call: CallId(id.into()),
        name: name.into(),
        result: ToolResult { content: text.into(), ..ToolResult::default() },
    };
    let parts = vec![
        Part::text("So."),
        call("1", "file", json!({"path": "a"})),
        call("2", "unreadable_call", json!("")),
    ];
    let messages = vec![
        user("go"),
        Message::Assistant { parts },
        answer("1", "file", "one"),
        answer("2", "unreadable_call", "why"),
        user("on"),
    ];
    let deltas: Vec<_> = spoken.stream(request(messages)).collect().await;
    assert!(deltas.iter().all(Result::is_ok));
    let asked = scripted.requests().remove(0);
    assert!(asked.tools.is_empty());
    let told: Vec<String> = asked
        .messages
        .iter()
        .map(|message| match &**message {
            Message::User { parts } => format!("user: {}", haft_core::text_of(parts)),
            Message::Assistant { parts } => format!("model: {}", haft_core::text_of(parts)),
            Message::Tool { .. } => "tool".into(),
        })
        .collect();
    insta::assert_snapshot!(format!("{}\n---\n{}", asked.system, told.join("\n---\n")), @r#"
    Be brief.

    # Tools

    You can call tools. A call is written exactly like this:

    <tool_call>
    {"name": "file", "arguments": {"path": "…"}}
    </tool_call>

    You may write several calls, one behind the other. Then stop: the results come in the next message. Call only these tools:

    {"name":"file","description":"Does file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}
    {"name":"look","description":"Does look.","parameters":{"type":"object","properties":{"text":{"type":"string"},"count":{"type":"integer"},"deep":{"type":"boolean"},"list":{"type":"array","items":{"type":"string"}}},"required":["text"]}}
    ---
    user: go
    ---
    model: So.
    <tool_call>
    {"name": "file", "arguments": {"path": "a"}}
    </tool_call>
    ---
    user: <tool_response>
    one
    </tool_response>

    <tool_response>
    why
    </tool_response>
    ---
    user: on
    "#);
}

#[tokio::test(start_paused = true)]
async fn what_is_written_is_read_again_however_it_is_cut() {
    let arguments =
        json!({"text": "a \"b\" <c> & \\d\n{e}, 'f' é", "count": -3, "deep": true, "list": ["x", "y, z"]});
    let calls = [
        ToolCall::new("call_0", "look", arguments),
        ToolCall::new("call_1", "file", json!({"path": "a b.txt"})),
    ];
    let expected = calls.clone().map(Part::ToolCall).to_vec();
    // There is nothing to write where nothing is read.
    for dialect in DIALECTS.iter().filter(|dialect| dialect.name != "plain") {
        assert!(!matches!(dialect.writing, Writing::Unknown), "{}", dialect.name);
        let call = |call: &ToolCall| Call {
            id: call.id.0.clone(),
            name: call.name.clone(),
            arguments: call.arguments.to_string(),
        };
        let text = calls.iter().map(|made| dialect.written(&call(made))).collect::<Vec<_>>().join("\n");
        for pieces in [None, Some(1)] {
            let (mut parts, stop) = heard(dialect, says(&text, pieces, None)).await;
            parts.retain(|part| !matches!(part, Part::Text { text } if text.trim().is_empty()));
            // Some dialects write ids of their own.
            for (part, call) in parts.iter_mut().zip(&calls) {
                if let Part::ToolCall(heard) = part {
                    heard.id = call.id.clone();
                }
            }
            assert_eq!((&parts, stop), (&expected, StopReason::ToolUse), "{}: {text}", dialect.name);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_model_may_speak_another_dialect() {
    let first = "I look.\n[TOOL_CALLS]file[ARGS]{\"path\": \"a\"}";
    let scripted = Arc::new(Scripted::new([says(first, Some(1), None), says("x", None, None)]));
    let spoken = TextToolCalls::auto(scripted.clone());
    let heard: Vec<_> = spoken.stream(request(vec![user("go")])).map(Result::unwrap).collect().await;
    assert!(heard.contains(&Delta::CallStart { index: 0, id: CallId("call_0".into()), name: "file".into() }));
    assert_eq!(heard.last(), Some(&Delta::Stop(StopReason::ToolUse)));
    let _second: Vec<_> = spoken.stream(request(vec![user("on")])).collect().await;
    let systems: Vec<String> = scripted.requests().into_iter().map(|request| request.system).collect();
    assert!(systems[0].contains("<tool_call>") && systems[1].contains("[TOOL_CALLS]"), "{systems:?}");
}

// A-36, A-42, A-43, A-44
#[tokio::test(start_paused = true)]
async fn calls_in_text_count_where_a_reply_has_no_native_ones() {
    let named = |deltas: &[Delta]| -> Vec<String> {
        let name = |delta: &Delta| match delta {
            Delta::CallStart { name, .. } => Some(name.clone()),
            _ => None,
        };
        deltas.iter().filter_map(name).collect()
    };
    let sentinel = r#"[TOOL_CALLS][{"id":"a","name":"file","arguments":{}}]"#;
    let fence =
        "Look:\n```json\n{\"tool_calls\":[{\"function\":{\"name\":\"file\",\"arguments\":\"{}\"}}]}\n```";
    let native = || vec![StepCall { id: None, name: "bash".into(), arguments: json!({}) }];
    let thoughtful = format!("<think>{fence}</think>");
    let with_both = format!("{thoughtful}{fence}");
    let broken = "I look.[TOOL_CALLS][{\"id\":\"a\",";
    let table: [(&str, Vec<StepCall>, &[&str], &str); 11] = [
        (sentinel, vec![], &["file"], ""),
        (fence, vec![], &["file"], "Look:\n"),
        ("No call.", vec![], &[], "No call."),
        ("I look.", native(), &["bash"], "I look."),
        (fence, native(), &["bash"], fence),
        (sentinel, native(), &["bash"], ""),
        (broken, vec![], &["unreadable_call"], "I look."),
        (broken, native(), &["bash"], "I look."),
        (&thoughtful, vec![], &[], ""),
        (&with_both, vec![], &["file"], "Look:\n"),
        (&with_both, native(), &["bash"], fence),
    ];
    for (text, calls, expected, shown) in table {
        let step = Step { calls, ..says(text, Some(3), None) };
        let scripted = Arc::new(Scripted::new([step]));
        let alfred = TextToolCalls::fallback(scripted.clone(), dialect("alfred").unwrap());
        let heard: Vec<_> = alfred.stream(request(vec![user("go")])).map(Result::unwrap).collect().await;
        assert_eq!(named(&heard), expected, "{text}");
        let said = heard.iter().filter_map(|delta| match delta {
            Delta::Text(text) => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(said.collect::<String>(), shown, "{text}");
        let asked = &scripted.requests()[0];
        assert!(!asked.tools.is_empty() && asked.form.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_in_a_fence_that_words_follow_is_a_quotation() {
    let call =
        |name: &str| format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {{}}}}\n</tool_call>");
    let (file, look) = (call("file"), call("look"));
    let fence = |inside: &str| format!("```\n{inside}\n```");
    let table: [(String, &[&str]); 12] = [
        (format!("A call is written like this:\n{}\nThat is the format.", fence(&file)), &[]),
        (format!("~~~xml\n{file} {look}\n~~~\n\nTwo calls."), &[]),
        (format!("```\n{file}\nand so on"), &[]),
        (format!("> {}\nQuoted.", fence(&file).replace('\n', "\n> ")), &[]),
        ("```\n<tool_call>\n{…}\n</tool_call>\n```\nThat is the form.".to_owned(), &[]),
        (fence(&file), &["file"]),
        (format!("I look.\n{}\n{}\n", fence(&file), fence(&look)), &["file", "look"]),
        (format!("```\n{file}"), &["file"]),
        (format!("```sh\nls\n```\n{file}\nDone."), &["file"]),
        (format!("{file}\n```\nx\n```\nDone."), &["file"]),
        (format!("Like this:\n{}\nNow I do it:\n{look}", fence(&file)), &["look"]),
        (format!("<think>Perhaps so: {file} or not: I do not know."), &[]),
    ];
    for (text, expected) in table {
        for pieces in [None, Some(1), Some(7)] {
            let (parts, stop) = heard(hermes(), says(&text, pieces, None)).await;
            let called: Vec<&str> =
                parts.iter().filter_map(Part::as_call).map(|call| call.name.as_str()).collect();
            let waits = if expected.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
            assert_eq!((called.as_slice(), stop), (expected, waits), "{text} {pieces:?}");
            let is_shown = |text: &str| parts.contains(&Part::text(text));
            assert!(!expected.is_empty() || text.starts_with("<think>") || is_shown(&text), "{parts:?}");
        }
    }
    let both = format!("Like this:\n{}\nNow I do it:\n", fence(&file));
    let (parts, _) = heard(hermes(), says(&format!("{both}{look}"), Some(3), None)).await;
    assert_eq!(haft_core::text_of(&parts), both);
}

#[tokio::test(start_paused = true)]
async fn the_form_of_calls_goes_along_for_who_can_hold_to_it() {
    let scripted = Arc::new(Scripted::new(["a", "b", "c"].map(|text| says(text, None, None))));
    let text = TextToolCalls::new(scripted.clone(), hermes());
    let native = TextToolCalls::listening(scripted.clone(), hermes());
    let unheld = TextToolCalls::new(scripted.clone(), hermes()).unheld();
    for spoken in [text, native, unheld] {
        let _reply: Vec<_> = spoken.stream(request(vec![user("go")])).collect().await;
    }
    let told: Vec<(bool, bool)> =
        scripted.requests().iter().map(|r| (r.form.is_some(), r.tools.is_empty())).collect();
    assert_eq!(told, [(true, true), (true, false), (false, true)]);
}
