//! Errors of models say whose fault it is and what to do. The real binary, servers on loopback.
use crate::kit::{Place, Ran, Reply, Server, openai_text};
use serde_json::json;

// A40
#[test]
fn a_fault_of_the_vendor_is_not_called_busy() {
    let place = Place::new();
    let table = [
        (
            500,
            r#"{"error":{"message":"The server had an error"}}"#,
            "OpenAI had an internal error: The server had an error (HTTP 500)",
        ),
        (502, "<html>", "OpenAI had an internal error: Bad Gateway (HTTP 502)"),
        (503, "<html>", "OpenAI is busy: Service Unavailable (HTTP 503)"),
        (429, r#"{"error":{"message":"slow down"}}"#, "OpenAI is busy: slow down (HTTP 429)"),
    ];
    for (status, body, expected) in table {
        let server = Server::start(vec![Reply(status, "application/json", body.into()), openai_text("well")]);
        let mut command = place.haft(&["run", "--json", "--model", "openai/m", "go"]);
        command.env("OPENAI_BASE_URL", format!("{}/v1", server.address)).env("OPENAI_API_KEY", "sk-x");
        let ran = Ran::from(command.output().unwrap());
        assert_eq!((ran.code, server.asked().len()), (0, 2), "{ran:?}");
        let retried = ran.events().into_iter().find(|event| event["type"] == "retrying").unwrap();
        assert_eq!(retried["reason"], expected);
    }
}

// A44
#[test]
fn a_server_on_this_machine_that_does_not_run_is_told_at_once() {
    let url = format!("http://127.0.0.1:{}/v1", haft_testing::free_port());
    let table = [
        ("ollama/qwen3", "OLLAMA_BASE_URL", "Ollama", "start it with `ollama serve`"),
        ("ollama", "OLLAMA_BASE_URL", "Ollama", "start it with `ollama serve`"),
        ("lmstudio/x", "LMSTUDIO_BASE_URL", "LM Studio", "start it with `lms server start`"),
        ("openai/gpt-5", "OPENAI_BASE_URL", "OpenAI", "start the server"),
    ];
    for (model, variable, title, start) in table {
        let place = Place::new();
        let mut command = place.haft(&["run", "--model", model, "go"]);
        let ran = Ran::from(command.env(variable, &url).output().unwrap());
        let expected = format!(
            "error: {title} cannot be reached: nothing listens at {url}\nhint: {start}, or set another address with `--base-url`\n"
        );
        assert_eq!((ran.code, ran.err.as_str()), (1, expected.as_str()), "{model}: {ran:?}");
    }
}

#[test]
fn what_only_a_person_can_do_is_not_told_to_the_model() {
    let place = Place::new();
    let fetch = json!({"calls": [{"name": "fetch", "arguments": {"url": "http://127.0.0.1:1/"}}]});
    let model = place.script("m", &[fetch, json!({"say": "done"})]);
    let ran = place.run(&["run", "--model", &model, "--permission", "full", "--json", "go"]);
    let ended = ran.events().into_iter().find(|event| event["type"] == "tool_ended").unwrap();
    let content = ended["content"].as_str().unwrap();
    assert!(content.contains("a private network") && !content.contains("allow_private"), "{content}");
    // What would have allowed a call is a person's to read.
    let write = json!({"calls": [{"name": "write", "arguments": {"path": "a", "content": "b"}}]});
    let model = place.script("n", &[write, json!({"say": "done"})]);
    let ran = place.run(&["run", "--model", &model, "go"]);
    assert!(ran.code == 4 && ran.err.contains("--permission accept-edits"), "{ran:?}");
    let ran = place.run(&["run", "--model", &model, "--json", "go"]);
    let ended = ran.events().into_iter().find(|event| event["type"] == "tool_ended").unwrap();
    assert!(!ended["content"].as_str().unwrap().contains("--permission"), "{ended}");
}

#[test]
fn a_server_without_tool_calls_is_told_of_with_the_way_around_it() {
    let table = [
        ("ollama/tiny", "OLLAMA_BASE_URL", r#"{"error":{"message":"registry/tiny does not support tools"}}"#),
        (
            "vllm/tiny",
            "VLLM_BASE_URL",
            r#"{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}}"#,
        ),
    ];
    for (model, variable, body) in table {
        let place = Place::new();
        let server = Server::start(vec![Reply(400, "application/json", body.into())]);
        let mut command = place.haft(&["run", "--model", model, "go"]);
        let ran = Ran::from(command.env(variable, format!("{}/v1", server.address)).output().unwrap());
        let hint = "hint: start the server with tool calls, or let the model write its calls as text: `--dialect auto`";
        assert!(ran.code == 1 && ran.err.contains(hint), "{model}: {ran:?}");
    }
}
