//! Servers that people run themselves: the context window that they give a model, and how their errors are told.
use crate::kit::{Place, Ran, Reply, openai_text};
use axum::{
    Router,
    body::{Body, Bytes},
    http::{Method, StatusCode, Uri},
    response::Response,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// A server that answers by the method and the path of a request.
struct OwnServer {
    address: String,
    asked: Asked,
    _runtime: tokio::runtime::Runtime,
}

impl OwnServer {
    /// `answer` is given the method and the path, the body, and how many requests of this kind came before.
    fn answering(answer: impl Fn(&str, &Value, usize) -> Option<Reply> + Send + Sync + 'static) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let asked = Asked::default();
        let (kept, answer) = (asked.clone(), Arc::new(answer));
        let app = Router::new().fallback(move |method: Method, uri: Uri, body: Bytes| {
            let (kept, answer) = (kept.clone(), answer.clone());
            async move {
                let place = format!("{method} {}", uri.path());
                let body: Value = serde_json::from_slice(&body).unwrap_or_default();
                let before = {
                    let mut kept = kept.lock().unwrap();
                    kept.push((place.clone(), body.clone()));
                    kept.iter().filter(|(known, _)| *known == place).count() - 1
                };
                let missing = Reply(404, "application/json", json!({"error": "not found"}).to_string());
                let Reply(status, media, text) = answer(&place, &body, before).unwrap_or(missing);
                let response = Response::builder().status(StatusCode::from_u16(status).unwrap());
                response.header("content-type", media).body(Body::from(text)).unwrap()
            }
        });
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { address, asked, _runtime: runtime }
    }

    fn run(&self, place: &Place, model: &str) -> Ran {
        place.run(&["run", "--model", model, "--base-url", &self.address, "hi"])
    }

    /// The bodies of the requests to this place.
    fn bodies(&self, place: &str) -> Vec<Value> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(known, _)| known == place).map(|(_, body)| body.clone()).collect()
    }

    /// Tokens that each request allows the reply.
    fn limits(&self) -> Vec<u64> {
        let limit = |body: &Value| {
            let named = ["max_tokens", "max_completion_tokens"].map(|name| body[name].as_u64());
            named.into_iter().flatten().next().unwrap_or_default()
        };
        self.bodies(CHAT).iter().map(limit).collect()
    }
}

const CHAT: &str = "POST /v1/chat/completions";

fn json_reply(value: &Value) -> Option<Reply> {
    Some(Reply(200, "application/json", value.to_string()))
}

/// The reply fits into the window that the server tells, in the ways of LM Studio, vLLM and llama.cpp.
#[test]
fn a_servers_own_window_limits_the_reply() {
    let table = [
        (
            "lmstudio",
            "GET /api/v0/models",
            json!({"data": [{"id": "m", "state": "loaded", "loaded_context_length": 6_000, "max_context_length": 131_072}]}),
        ),
        ("vllm", "GET /v1/models", json!({"data": [{"id": "m", "max_model_len": 6_000}]})),
        ("llamacpp", "GET /props", json!({"default_generation_settings": {"n_ctx": 6_000}})),
    ];
    for (vendor, told_at, told) in table {
        let server = OwnServer::answering(move |place, _, _| match place {
            CHAT => Some(openai_text("Done.")),
            _ if place == told_at => json_reply(&told),
            "GET /v1/models" => {
                json_reply(&json!({"object": "list", "data": [{"id": "m", "object": "model"}]}))
            }
            _ => None,
        });
        let ran = server.run(&Place::new(), &format!("{vendor}/m"));
        assert_eq!(ran.code, 0, "{vendor}: {ran:?}");
        let limits = server.limits();
        assert!(limits.iter().all(|limit| (1_000..5_000).contains(limit)), "{vendor}: {limits:?}");
    }
}

/// Ollama tells the window of a model that is loaded, so a model that is not is loaded first.
#[test]
fn a_window_of_ollama_is_known_before_the_first_request() {
    for was_loaded in [true, false] {
        let is_loaded = Arc::new(Mutex::new(was_loaded));
        let state = is_loaded.clone();
        let server = OwnServer::answering(move |place, body, _| match place {
            CHAT => Some(openai_text("Done.")),
            "GET /api/ps" => {
                let model = json!({"name": "qwen3:latest", "model": "qwen3:latest", "context_length": 6_000});
                let models: Vec<Value> = state.lock().unwrap().then_some(model).into_iter().collect();
                json_reply(&json!({"models": models}))
            }
            "POST /api/generate" if body["model"] == "qwen3" => {
                *state.lock().unwrap() = true;
                json_reply(&json!({"model": "qwen3", "response": "", "done": true, "done_reason": "load"}))
            }
            _ => None,
        });
        let ran = server.run(&Place::new(), "ollama/qwen3");
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(server.bodies("POST /api/generate").len(), usize::from(!was_loaded));
        let limits = server.limits();
        assert!(limits.iter().all(|limit| (1_000..5_000).contains(limit)), "{limits:?}");
    }
}

/// A server that counts more tokens than the estimate, and refuses what could exceed its window, is asked for less.
#[test]
fn a_request_that_could_exceed_the_window_is_repeated_with_a_shorter_reply() {
    let server = OwnServer::answering(|place, body, _| match place {
        "GET /v1/models" => json_reply(&json!({"data": [{"id": "m", "max_model_len": 8_192}]})),
        CHAT if body["max_tokens"].as_u64() > Some(2_000) => {
            let message = "'max_tokens' is too large. This model's maximum context length is 8192 tokens";
            Some(Reply(
                400,
                "application/json",
                json!({"error": {"message": message, "code": 400}}).to_string(),
            ))
        }
        CHAT => Some(openai_text("Done.")),
        _ => None,
    });
    let ran = server.run(&Place::new(), "vllm/m");
    assert_eq!((ran.code, ran.out.trim()), (0, "Done."), "{ran:?}");
    assert_eq!(server.limits().len(), 2, "{:?}", server.limits());
}

#[test]
fn a_fault_that_stays_is_told_at_once_with_what_to_do() {
    let table = [
        (500, "tools param requires --jinja flag", "--dialect auto"),
        (500, "model requires more system memory (18.1 GiB) than is available (9.2 GiB)", "smaller model"),
        (500, "Conversation roles must alternate user/assistant/user/assistant/...", "chat template"),
        (200, "Unexpected endpoint or method. (POST /chat/completions)", "`/v1`"),
        (401, "Invalid API Key", "[vendors.llamacpp]"),
    ];
    for (status, message, expected) in table {
        let server = OwnServer::answering(move |place, _, _| {
            let body = json!({"error": message}).to_string();
            place.ends_with("/chat/completions").then_some(Reply(status, "application/json", body))
        });
        let address = server.address.trim_end_matches("/v1");
        let ran = Place::new().run(&["run", "--model", "llamacpp/m", "--base-url", address, "hi"]);
        assert_eq!(server.bodies("POST /chat/completions").len(), 1, "{message}: {ran:?}");
        assert!(ran.code != 0 && ran.err.contains(expected), "{message}: {ran:?}");
    }
}

#[test]
fn doctor_asks_the_server_of_the_model() {
    let place = Place::new();
    let doctor = |model: &str, address: &str| {
        let mut command = place.haft(&["doctor"]);
        command.env("HAFT_MODEL", model).env("OLLAMA_BASE_URL", address);
        Ran::from(command.output().unwrap()).out
    };
    let server = OwnServer::answering(|place, _, _| match place {
        "GET /v1/models" => json_reply(&json!({"object": "list", "data": [{"id": "qwen3:latest"}]})),
        "GET /api/ps" => json_reply(&json!({"models": []})),
        _ => None,
    });
    assert!(doctor("ollama/qwen3", &server.address).contains("model: ollama/qwen3"));
    assert!(server.bodies("POST /api/generate").is_empty(), "no model is loaded for that");
    let missing = doctor("ollama/gone", &server.address);
    assert!(missing.contains("does not list the model `gone`"), "{missing}");
    let down = doctor("ollama/qwen3", "http://127.0.0.1:1/v1");
    assert!(!down.contains("model: ollama/qwen3"), "{down}");
}

#[test]
fn the_list_of_models_has_the_names_of_the_server() {
    let place = Place::new();
    let list = |path: &'static str, value: Value, words: &[&str]| {
        let server =
            OwnServer::answering(move |place, _, _| if place == path { json_reply(&value) } else { None });
        let mut command = place.haft(words);
        command.env("VLLM_BASE_URL", &server.address).env("OLLAMA_BASE_URL", &server.address);
        Ran::from(command.output().unwrap())
    };
    let path = json!({"data": [{"id": "/srv/models/Qwen3-8B"}]});
    let listed = list("GET /v1/models", path.clone(), &["models", "list", "vllm"]);
    assert!(listed.out.contains("vllm//srv/models/Qwen3-8B"), "{listed:?}");
    let empty =
        list("GET /v1/models", json!({"object": "list", "data": null}), &["models", "list", "ollama"]);
    assert!(empty.code == 0 && empty.out.contains("has no models"), "{empty:?}");
    let all = list("GET /v1/models", path, &["models", "list"]);
    let ollama = all.out.lines().find(|line| line.starts_with("ollama/")).unwrap_or_default();
    assert!(ollama.contains("answers"), "{all:?}");
}
