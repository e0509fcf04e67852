//! Models behind commands, with scripts of a few lines in place of models.
use futures::StreamExt;
use haft_core::{Delta, Message, Part, Provider, ProviderError, Reply, Request, StopReason, ToolSpec, Usage};
use haft_dialects::dialect;
use haft_providers::Exec;
use haft_text_calls::TextToolCalls;
use serde_json::json;
use std::{fs::File, io::Read, sync::Arc, time::Duration};

fn sh(script: &str, more: &[&str]) -> Exec {
    let arguments = ["-c", script, "sh"].iter().chain(more).map(|argument| (*argument).to_owned()).collect();
    Exec::new("sh", "sh", arguments)
}

fn request() -> Request {
    let messages = vec![Arc::new(Message::User { parts: vec![Part::text("hello")] })];
    Request { model: "m".into(), system: "Be kind.".into(), messages, ..Request::default() }
}

async fn reply(provider: &dyn Provider, request: Request) -> Result<Reply, ProviderError> {
    let mut reply = Reply::default();
    let mut deltas = provider.stream(request);
    while let Some(delta) = deltas.next().await {
        reply.push(delta?);
    }
    Ok(reply)
}

// P-03, P-14, P-16, P-17
#[tokio::test]
async fn what_a_command_prints_is_the_reply() {
    let prompt = "System: Be kind.\n\nUser: hello\n\nAssistant:";
    let table = [
        ("the prompt as input", sh("cat", &[]), prompt),
        ("the prompt as an argument", sh(r#"printf %s "$1""#, &["{prompt}"]), prompt),
        ("the model's name", sh(r#"echo "$1"; cat >/dev/null"#, &["{model}"]), "m"),
        ("colors and white space", sh(r"printf '\n\033[1mhi\033[0m\r\n\n'", &[]), "hi"),
        ("words on the standard error", sh("echo loading >&2; echo hi", &[]), "hi"),
        ("no input where the prompt is an argument", sh(r"cat; echo end", &["{prompt}"]), "end"),
        ("a process stays behind", sh("sleep 1000 & echo hi", &[]), "hi"),
        ("nothing", sh("true", &[]), ""),
    ];
    for (what, exec, expected) in table {
        let reply = reply(&exec, request()).await.unwrap();
        let tokens = expected.len().div_ceil(4) as u64;
        let usage = Usage { input: 11, output: tokens, ..Usage::default() };
        assert_eq!((reply.usage(), reply.stop()), (usage, StopReason::EndTurn), "{what}");
        assert_eq!(haft_core::text_of(&reply.into_parts()), expected, "{what}");
    }
}

// A29
#[tokio::test]
async fn a_command_that_prints_for_ever_is_ended() {
    let drip = |script| Exec {
        repeating: Duration::from_millis(500),
        reply: Duration::from_secs(2),
        ..sh(script, &[])
    };
    let table = [
        (drip("while :; do echo tok; sleep 0.02; done"), StopReason::Repeating),
        (drip("while :; do head -c 30 /dev/urandom | base64; sleep 0.02; done"), StopReason::Endless),
    ];
    for (exec, expected) in table {
        let reply = reply(&exec, request()).await.unwrap();
        assert_eq!(reply.stop(), expected, "{:?}", exec.arguments);
    }
    let white =
        Exec { patience: Duration::from_millis(500), ..sh("while :; do echo; sleep 0.02; done", &[]) };
    let error = reply(&white, request()).await.unwrap_err();
    assert!(error.to_string().contains("produced no output for 0.5 s"), "{error}");
}

#[tokio::test]
async fn long_prompts_and_long_answers_do_not_block_each_other() {
    let long = "x".repeat(1 << 20);
    let request = Request { system: long, ..request() };
    let reply = reply(&sh("cat", &[]), request).await.unwrap();
    assert!(haft_core::text_of(&reply.into_parts()).len() > 1 << 20);
}

// P-16
#[tokio::test]
async fn a_command_that_fails_says_why() {
    let impatient = Exec { patience: Duration::from_millis(50), ..sh("sleep 1000", &[]) };
    let nowhere = Exec::new("x", "no-such-program-anywhere", Vec::new());
    let table = [
        (
            sh(r"printf '\033[31mno model\033[0m\n' >&2; exit 3", &[]),
            "exec/sh rejected the request: `sh` ended with exit code 3: no model",
        ),
        (sh("exit 3", &[]), "exec/sh rejected the request: `sh` ended with exit code 3"),
        (sh("kill -9 $$", &[]), "exec/sh rejected the request: `sh` ended with signal 9"),
        (impatient, "the connection to exec/sh failed: `sh` produced no output for 0.05 s"),
        (nowhere, "exec/x rejected the request: cannot start `no-such-program-anywhere`: No such file"),
    ];
    for (exec, expected) in table {
        let error = reply(&exec, request()).await.err().unwrap().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let long = Request { system: "x".repeat(1 << 20), ..request() };
    let error = reply(&sh("true", &["{prompt}"]), long).await.err().unwrap();
    assert!(matches!(error, ProviderError::ContextTooLong { .. }), "{error}");
}

#[tokio::test]
async fn a_reply_that_is_dropped_ends_the_command_and_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    // A process that lives on holds the pipe open.
    let script = r#"mkfifo "$1"; echo ready; exec 3>"$1"; sleep 1000 & sleep 1000"#;
    let mut deltas = sh(script, &[pipe.to_str().unwrap(), "{prompt}"]).stream(request());
    assert_eq!(deltas.next().await.unwrap().unwrap(), Delta::Text("ready".into()));
    let mut open = tokio::task::spawn_blocking(move || File::open(pipe)).await.unwrap().unwrap();
    drop(deltas);
    let end = tokio::task::spawn_blocking(move || open.read_to_end(&mut Vec::new()));
    assert_eq!(end.await.unwrap().unwrap(), 0);
}

// P-18
#[tokio::test]
async fn with_a_dialect_a_command_calls_tools() {
    let tool = ToolSpec {
        name: "read".into(),
        description: "Read a file".into(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        examples: Vec::new().into(),
    };
    let script =
        r#"grep -q '"read"' && echo '<tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call>'"#;
    let spoken = TextToolCalls::new(Arc::new(sh(script, &[])), dialect("hermes").unwrap());
    let reply = reply(&spoken, Request { tools: vec![tool].into(), ..request() }).await.unwrap();
    assert_eq!(reply.stop(), StopReason::ToolUse);
    let parts = reply.into_parts();
    let call = parts[0].as_call().unwrap();
    assert_eq!((call.name.as_str(), &call.arguments), ("read", &json!({"path": "a"})));
}
