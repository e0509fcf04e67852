//! Both wires against a real llama-server with a real small model.
//!
//! `HAFT_LLAMA_SERVER` names the program, `HAFT_MODELS` the folder of the model; `make test` sets both. Where one is
//! missing, this says so and passes. What the model says is not judged: it has 135 million parameters.
use crate::kit::{Place, Ran};
use serde_json::{Value, json};
use std::{
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const MODEL: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";

const LEFT_OUT: &str =
    "a real llama-server: `HAFT_LLAMA_SERVER`, or the demo model in `HAFT_MODELS`, is missing";

struct LlamaServer {
    child: Child,
    port: u16,
}

impl LlamaServer {
    /// `None` where it cannot be had.
    fn start() -> Option<Self> {
        let program = std::env::var("HAFT_LLAMA_SERVER").ok()?;
        let model = PathBuf::from(std::env::var("HAFT_MODELS").ok()?).join(MODEL);
        if !crate::kit::exists(&model) {
            return None;
        }
        let port = haft_testing::free_port();
        let child = Command::new(program)
            .args([
                "--host",
                "127.0.0.1",
                "--port",
                &port.to_string(),
                "-c",
                "4096",
                "-np",
                "1",
                "-t",
                "1",
                "--jinja",
                "-m",
            ])
            .arg(model)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, port };
        server.wait();
        Some(server)
    }

    /// Until it has loaded the model.
    fn wait(&self) {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            if self.is_ready() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("llama-server did not start");
    }

    fn is_ready(&self) -> bool {
        use std::io::{Read, Write};
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut answer = String::new();
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n").is_ok()
            && stream.read_to_string(&mut answer).is_ok()
            && answer.contains(" 200 ")
    }
}

impl Drop for LlamaServer {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _already_gone = self.child.wait();
    }
}

#[test]
fn a_real_server_answers_on_both_wires() {
    let Some(server) = LlamaServer::start() else {
        return haft_testing::left_out(LEFT_OUT);
    };
    let table = [
        ("OPENAI_BASE_URL", format!("http://127.0.0.1:{}/v1", server.port), "openai/smollm2"),
        ("LLAMACPP_BASE_URL", format!("http://127.0.0.1:{}/v1", server.port), "llamacpp/smollm2"),
        ("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{}", server.port), "anthropic/smollm2"),
    ];
    for (variable, url, model) in table {
        let place = Place::new();
        // No tools: this model would only be confused by them, and the wire is what is tested.
        let profile = place.write(
            "short.toml",
            "name = \"short\"\ntitle = \"short answers\"\nsystem = \"You are helpful.\"\nmax_output = 24\n[options]\ntemperature = 0.0\n",
        );
        let arguments = [
            "run",
            "--model",
            model,
            "--profile",
            profile.to_str().unwrap(),
            "--json",
            "What is the capital of France?",
        ];
        let key = variable.replace("BASE_URL", "API_KEY");
        let ran = Ran::from(place.haft(&arguments).env(variable, &url).env(key, "x").output().unwrap());
        assert_eq!(ran.code, 0, "{model}: {ran:?}");
        let events = ran.events();
        let live: String = events
            .iter()
            .filter(|event| event["type"] == "text")
            .filter_map(|event| event["text"].as_str())
            .collect();
        let replied = events.iter().find(|event| event["type"] == "replied").unwrap();
        assert_eq!(replied["parts"], json!([{"type": "text", "text": live}]), "{model}");
        assert!(!live.is_empty() && replied["usage"]["output"].as_u64() > Some(0), "{model}: {replied}");
        let turn: &Value = events.last().unwrap();
        assert_eq!(turn["outcome"], "finished", "{model}");
    }
}

/// The server holds the model to the grammar of the dialect: it may call the wrong tool, but never in a way that
/// cannot be read.
#[test]
fn a_real_server_holds_a_model_to_the_form_of_its_calls() {
    let Some(server) = LlamaServer::start() else {
        return haft_testing::left_out(LEFT_OUT);
    };
    for dialect in ["hermes", "qwen3_coder", "llama3_json", "thoughts_json"] {
        let place = Place::new();
        let profile = format!(
            "name = \"held\"\ntitle = \"held\"\nsystem = \"Answer with a call of a tool.\"\nmax_output = 200\n\
             dialect = \"{dialect}\"\n[limits]\nmax_rounds = 1\n[options]\ntemperature = 0.0\n"
        );
        let profile = place.write("held.toml", profile);
        let arguments = ["run", "--model", "llamacpp/smollm2", "--profile", profile.to_str().unwrap()];
        let rest = ["--tools", "read,list", "--json", "Read the file notes.txt."];
        let mut command = place.haft(&[&arguments[..], &rest[..]].concat());
        let url = format!("http://127.0.0.1:{}/v1", server.port);
        let ran = Ran::from(command.env("LLAMACPP_BASE_URL", &url).output().unwrap());
        let events = ran.events();
        let replied = events.iter().find(|event| event["type"] == "replied");
        let replied = replied.unwrap_or_else(|| panic!("{dialect}: {ran:?}"));
        // A reply that ran into the limit has no whole call.
        if replied["stop"] == "length" {
            continue;
        }
        let invalid = |event: &&Value| event["error"]["type"] == "validation_error";
        assert_eq!(events.iter().filter(invalid).count(), 0, "{dialect}: {replied}");
    }
}
