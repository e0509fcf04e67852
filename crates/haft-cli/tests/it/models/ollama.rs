//! Ollama both ways, as its documents describe it: its HTTP API, and the program `ollama run`.
use crate::kit::{Ran, fenced::fence, project::Project};
use axum::{
    Json, Router,
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::Command,
    sync::{Arc, Mutex},
};

const MODEL: &str = "qwen3-coder:30b";
const BUILD: [&str; 7] = ["build", "-description", "Add notes", "--permission", "full", "--profile", "pedro"];

/// A server that answers as Ollama does (github.com/ollama/ollama, docs/openai.md and docs/api.md, 2026-11).
struct Ollama {
    address: String,
    asked: Arc<Mutex<Vec<Value>>>,
    _runtime: tokio::runtime::Runtime,
}

struct Said {
    replies: Vec<String>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Ollama {
    fn saying(replies: Vec<String>) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
        let model = json!({"name": MODEL, "model": MODEL, "details": {"family": "qwen3moe"}});
        let app = Router::new()
            .route("/", get(|| async { "Ollama is running" }))
            .route("/api/version", get(|| async { Json(json!({"version": "0.12.6"})) }))
            .route("/api/tags", get(|| async move { Json(json!({"models": [model]})) }))
            .route("/v1/models", get(models))
            .route("/v1/chat/completions", post(complete))
            .with_state(Arc::new(Said { replies, asked: asked.clone() }));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { address, asked, _runtime: runtime }
    }

    fn run(&self, mut command: Command) -> Ran {
        command.args(["--model", &format!("ollama/{MODEL}")]).env("OLLAMA_BASE_URL", &self.address);
        Ran::from(command.output().unwrap())
    }
}

async fn models() -> Json<Value> {
    Json(
        json!({"object": "list", "data": [{"id": MODEL, "object": "model", "created": 1_763_856_000, "owned_by": "library"}]}),
    )
}

/// One chunk for each few letters, one that ends the choice, and where it is asked for one that counts.
async fn complete(State(said): State<Arc<Said>>, Json(request): Json<Value>) -> Response {
    let number = {
        let mut asked = said.asked.lock().unwrap();
        asked.push(request.clone());
        asked.len() - 1
    };
    if request["model"] != MODEL {
        let message = format!("model '{}' not found", request["model"].as_str().unwrap_or_default());
        let error = json!({"error": {"message": message, "type": "api_error", "param": null, "code": null}});
        return (axum::http::StatusCode::NOT_FOUND, Json(error)).into_response();
    }
    let reply = &said.replies[number.min(said.replies.len() - 1)];
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({"id": "chatcmpl-417", "object": "chat.completion.chunk", "created": 1_763_856_000, "model": MODEL,
            "system_fingerprint": "fp_ollama", "choices": choices, "usage": usage});
        format!("data: {chunk}\n\n")
    };
    let choice = |content: &str, finish: Value| json!([{"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": finish}]);
    let letters: Vec<char> = reply.chars().collect();
    let mut body: String = letters
        .chunks(5)
        .map(|piece| chunk(choice(&String::from_iter(piece), Value::Null), Value::Null))
        .collect();
    body += &chunk(choice("", json!("stop")), Value::Null);
    if request["stream_options"]["include_usage"] == true {
        body += &chunk(json!([]), json!({"prompt_tokens": 26, "completion_tokens": 8, "total_tokens": 34}));
    }
    body += "data: [DONE]\n\n";
    ([("content-type", "text/event-stream")], Body::from(body)).into_response()
}

/// `ollama run MODEL PROMPT`: a spinner on standard error, the reply and an empty line on standard output. It says the
/// reply whose number is that of its start, and writes down what it was given.
struct Program {
    folder: PathBuf,
}

impl Program {
    fn saying(project: &Project, replies: &[String]) -> Self {
        let folder = project.place.path().join("ollama");
        fs::create_dir(&folder).unwrap();
        for (number, reply) in replies.iter().enumerate() {
            fs::write(folder.join(format!("reply-{number}")), reply).unwrap();
        }
        let script = format!(
            "#!/bin/sh\ncd {folder} || exit 1\n\
             [ $# = 3 ] && [ \"$1\" = run ] || {{ echo 'Error: accepts 2 arg(s)' >&2; exit 1; }}\n\
             [ \"$2\" = {MODEL} ] || {{ echo 'Error: pull model manifest: file does not exist' >&2; exit 1; }}\n\
             n=0; while [ -e prompt-$n ]; do n=$((n + 1)); done\n\
             printf %s \"$3\" >prompt-$n\n\
             printf '\\033[?2026h\\033[?25l\\033[1G\\342\\240\\231 \\033[K\\033[?25h\\033[?2026l' >&2\n\
             [ -e reply-$n ] || n=$(($(ls reply-* | wc -l) - 1))\n\
             cat reply-$n; printf '\\n\\n'\n",
            folder = folder.display()
        );
        let program = folder.join("ollama");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let arguments = format!("arguments = [\"run\", \"{MODEL}\", \"{{prompt}}\"]");
        project
            .place
            .configure(&format!("[exec.ollama]\nprogram = \"{}\"\n{arguments}\n", program.display()));
        Self { folder }
    }

    fn run(mut command: Command) -> Ran {
        Ran::from(command.args(["--model", "exec/ollama"]).output().unwrap())
    }

    fn prompts(&self) -> Vec<String> {
        (0..)
            .map_while(|number| fs::read_to_string(self.folder.join(format!("prompt-{number}"))).ok())
            .collect()
    }
}

fn flow() -> Vec<String> {
    vec![
        "I'll start by reading the file:\n```bash\nfile instances.go\n```".to_owned(),
        "Now I'll create the notes:\n```bash\ncode_edit -f notes.md -a \"It counts from 1.\"\n```".to_owned(),
        "Task complete. There are notes now.".to_owned(),
    ]
}

fn check_flow(project: &Project, ran: &Ran) {
    assert_eq!(ran.code, 0, "{ran:?}");
    let job = project.jobs().remove(0);
    assert_eq!((&job["status"], &job["rounds"]), (&json!("completed"), &json!(3)));
    assert_eq!(job["output"]["evidence"][0]["files"], json!(["notes.md"]));
    assert_eq!(project.opened.lock().unwrap().len(), 1);
}

// P-15, P-57
#[test]
fn a_job_is_done_through_ollamas_http_api() {
    let project = Project::new();
    let ollama = Ollama::saying(flow());
    let ran = ollama.run(project.haft(&BUILD));
    check_flow(&project, &ran);
    let asked = ollama.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 3);
    for request in &asked {
        assert_eq!((&request["stream"], &request["max_tokens"]), (&json!(true), &json!(4096)));
        assert!(request["tools"].is_null(), "the model is told of its tools in words");
    }
    let last = asked[1]["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    assert!(
        last.starts_with("Tool results:\n\nTool 1 (file) output:\n     1\t// Package instances"),
        "{last}"
    );
    let listed = project.haft(&["models", "list", "ollama"]).env("OLLAMA_BASE_URL", &ollama.address).output();
    assert!(Ran::from(listed.unwrap()).out.contains(&format!("ollama/{MODEL}")));
}

// P-03, P-14, P-15, P-16, P-57
#[test]
fn a_job_is_done_through_the_program_ollama_run() {
    let project = Project::new();
    let ollama = Program::saying(&project, &flow());
    let ran = Program::run(project.haft(&BUILD));
    check_flow(&project, &ran);
    assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{2819}'), "{ran:?}");
    let prompts = ollama.prompts();
    assert_eq!(prompts.len(), 3);
    assert!(
        prompts[0]
            .starts_with("System: You are an autonomous coding agent. You can execute tools to interact")
    );
    let end = "\n\nUser: Task: Build new feature\nDescription: Add notes\n\nAssistant: ";
    assert!(prompts[0].ends_with(end), "{}", prompts[0]);
    assert!(prompts[1].contains("\n\nAssistant: I'll start by reading the file:\n```bash\nfile instances.go\n```\n\nUser: Tool results:"));
    assert!(prompts[1].ends_with("\n\nContinue with next steps.\n\nAssistant: "), "{}", prompts[1]);
}

/// The replies of [`flow`] behind thoughts, between these delimiters, in which a call and the end of the task stand.
fn thoughtful(open: &str, close: &str) -> Vec<String> {
    let thoughts =
        "Maybe this?\n```bash\nfile --path no.txt --action write --content x\n```\nTask complete? No.";
    flow().iter().map(|reply| format!("{open}{thoughts}\n{close}\n\n{reply}")).collect()
}

fn check_thoughtful(project: &Project, ran: &Ran) {
    check_flow(project, ran);
    let shown = [&ran.out, &ran.err].map(|text| text.replace("[thinking]", ""));
    assert!(shown.iter().all(|text| !text.contains("think") && !text.contains("Thinking...")), "{ran:?}");
}

// P-16, P-37, P-57, H-121
#[test]
fn thoughts_of_both_are_neither_calls_nor_the_end() {
    let project = Project::new();
    let ollama = Ollama::saying(thoughtful("<think>\n", "</think>"));
    check_thoughtful(&project, &ollama.run(project.haft(&BUILD)));
    for (open, close) in [("<think>\n", "</think>"), ("Thinking...\n", "...done thinking.")] {
        let project = Project::new();
        let ollama = Program::saying(&project, &thoughtful(open, close));
        check_thoughtful(&project, &Program::run(project.haft(&BUILD)));
        assert!(!ollama.prompts()[1].contains("Maybe this?"));
    }
}

// P-44, P-57
#[test]
fn the_rounds_of_both_are_limited() {
    let endless: Vec<String> = (0..5).map(|number| fence(&format!("bash echo {number}"))).collect();
    let words = [&BUILD[..], &["--max-rounds", "4"]].concat();
    let (with_server, with_program) = (Project::new(), Project::new());
    let server = Ollama::saying(endless.clone());
    let program = Program::saying(&with_program, &endless);
    let by_server = server.run(with_server.haft(&words));
    let by_program = Program::run(with_program.haft(&words));
    for (project, ran) in [(&with_server, by_server), (&with_program, by_program)] {
        assert_eq!(
            (ran.code, &project.jobs()[0]["output"]["reason"]),
            (3, &json!("max rounds (4) exceeded")),
            "{ran:?}"
        );
    }
    assert_eq!((server.asked.lock().unwrap().len(), program.prompts().len()), (4, 4));
}

// P-34, P-57: what is wrong is told in Ollama's own words.
#[test]
fn a_model_that_ollama_does_not_have_is_the_reason() {
    let project = Project::new();
    let server = Ollama::saying(flow());
    let mut command = project.haft(&["run", "hi", "--profile", "pedro", "--model", "ollama/nope"]);
    let ran = Ran::from(command.env("OLLAMA_BASE_URL", &server.address).output().unwrap());
    assert!(
        ran.code == 1 && ran.err.contains("inference round 0 failed: ") && ran.err.contains("nope"),
        "{ran:?}"
    );
    let program = Program::saying(&project, &flow());
    let file = fs::read_to_string(program.folder.join("ollama")).unwrap();
    fs::write(program.folder.join("ollama"), file.replace(MODEL, "another")).unwrap();
    let ran = Program::run(project.haft(&["run", "hi", "--profile", "pedro"]));
    let expected = "Error: pull model manifest: file does not exist";
    assert!(
        ran.code == 1 && ran.err.contains("inference round 0 failed: ") && ran.err.contains(expected),
        "{ran:?}"
    );
}
