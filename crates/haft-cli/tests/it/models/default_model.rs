//! Which model is taken if none is named. The real binary, servers on loopback.
use crate::kit::{Place, Ran, Server, openai_text, terminal::Terminal};
use serde_json::json;
use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
};

/// Answers every request as a server does that has one model; what was asked for.
fn ollama_with(model: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = asked.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
            heard.lock().unwrap().push(line.split(" HTTP").next().unwrap().to_owned());
            let body = format!("{{\"data\":[{{\"id\":\"{model}\"}}]}}");
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}",
                body.len()
            );
            let _the_client_has_left = write!(stream, "{head}\r\nconnection: close\r\n\r\n{body}");
        }
    });
    (address, asked)
}

#[test]
fn a_server_that_nobody_named_is_offered_and_not_taken() {
    let place = Place::new();
    let (ollama, asked) = ollama_with("qwen3:8b");
    let run = |arguments: &[&str]| {
        let mut command = place.haft(arguments);
        command.env("OLLAMA_BASE_URL", &ollama).env("LLAMACPP_BASE_URL", "http://127.0.0.1:1/v1");
        command
            .env("VLLM_BASE_URL", "http://127.0.0.1:1/v1")
            .env("LMSTUDIO_BASE_URL", "http://127.0.0.1:1/v1");
        Ran::from(command.output().unwrap())
    };
    for arguments in [&["run", "the secret is 7"][..], &["the secret is 7"], &["chat"], &["mcp"]] {
        let ran = run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {ran:?}");
        for words in [
            "error: no model configured",
            "OPENAI_API_KEY",
            "`--model PROVIDER/MODEL`",
            "config.toml",
            &format!("the server at {ollama}: `--model ollama/qwen3:8b`"),
        ] {
            assert!(ran.err.contains(words), "{words}: {ran:?}");
        }
    }
    let asked = asked.lock().unwrap().clone();
    let lists = ["GET /v1/models", "GET /api/tags"];
    assert!(
        asked.iter().all(|line| lists.contains(&line.as_str())),
        "it heard nothing of the prompt: {asked:?}"
    );
    assert!(!place.path().join("home/sessions").exists(), "nothing was started");
}

#[test]
fn a_key_takes_its_vendor_and_says_so() {
    let place = Place::new();
    let server = Server::start(vec![openai_text("hello")]);
    let run = |variable: Option<&str>| {
        let mut command = place.haft(&["run", "go"]);
        command
            .env("GROQ_BASE_URL", format!("{}/v1", server.address))
            .envs(variable.map(|name| (name, "key-1")));
        Ran::from(command.output().unwrap())
    };
    let ran = run(Some("GROQ_API_KEY"));
    assert_eq!((ran.code, ran.out.as_str()), (0, "hello\n"), "{ran:?}");
    assert!(ran.err.contains("using `groq/openai/gpt-oss-120b`, since GROQ_API_KEY is set"), "{ran:?}");
    assert_eq!(run(None).code, 2);
    place.configure("[vendors.groq]\nkey = \"key-of-the-file\"");
    let ran = run(None);
    assert!(ran.code == 0 && ran.err.contains("since the configuration has a key for Groq"), "{ran:?}");
}

/// A session goes on with its own model, whatever is configured meanwhile, unless another one is named.
#[test]
fn a_session_that_goes_on_keeps_its_model() {
    let place = Place::new();
    let script = |name: &str, steps: usize| {
        let steps: Vec<_> = (0..steps).map(|_| json!({"say": format!("I am {name}.")})).collect();
        place.script(&format!("{name}.jsonl"), &steps)
    };
    let (own, other) = (script("own", 20), script("other", 20));
    assert_eq!(place.run(&["--model", &own, "begin"]).code, 0);
    let id = place.run(&["sessions", "list", "--json"]).events()[0]["session"].as_str().unwrap().to_owned();
    let ways: &[&[&str]] = &[
        &["-c", "more"],
        &["--continue", "more"],
        &["run", "-c", "more"],
        &["--session", &id, "more"],
        &["run", "--session", &id, "more"],
    ];
    for configured in ["", &format!("model = {other:?}\n")] {
        place.configure(configured);
        for way in ways {
            let ran = place.run(way);
            assert_eq!((ran.code, ran.out.as_str()), (0, "I am own.\n"), "{configured:?} {way:?}: {ran:?}");
        }
        let ran = place.run_with_input(&["chat", "-c"], b"more\nexit\n");
        assert!(ran.code == 0 && ran.out.contains("I am own."), "{configured:?}: {ran:?}");
    }
    let ran = place.run(&["-c", "--model", &other, "more"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "I am other.\n"), "{ran:?}");
    place.configure("");
    let Some(terminal) = Terminal::open(&place, (90, 24)) else { return };
    terminal.haft(&place, "-c");
    terminal.see("what to do?");
    terminal.say("more");
    terminal.see("I am own.");
}

#[test]
fn where_no_session_goes_on_nothing_is_asked_for() {
    let place = Place::new();
    for way in [&["-c", "more"][..], &["run", "-c", "more"], &["chat", "-c"]] {
        let ran = place.run(way);
        assert!(ran.code == 2 && ran.err.contains("there is no session in `"), "{way:?}: {ran:?}");
    }
}
