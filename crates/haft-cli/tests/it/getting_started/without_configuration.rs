//! The first minutes of a person with neither a key nor a configuration. The real binary in a real terminal, servers on
//! loopback.
use crate::kit::{
    Place, Reply, openai_text,
    terminal::Terminal,
    vendor::{Asked, VendorServer},
};
use serde_json::{Value, json};
use std::fs;

/// Where nothing listens.
const NOWHERE: &str = "http://127.0.0.1:1/v1";
const KEY: &str = "sk-test-key-0123456789";
const LOCAL: [&str; 4] = ["OLLAMA_BASE_URL", "LLAMACPP_BASE_URL", "VLLM_BASE_URL", "LMSTUDIO_BASE_URL"];

fn json_reply(value: &Value) -> Reply {
    Reply(200, "application/json", value.to_string())
}

/// As Ollama's own documents describe it (docs/api.md, docs/openai.md, 2026-11): three models, the largest of which calls
/// no tools.
fn ollama() -> VendorServer {
    let model = |name: &str, size: u64| json!({"name": name, "model": name, "size": size});
    VendorServer::start(move |asked: &Asked| match asked.line.as_str() {
        "GET /api/tags" => json_reply(&json!({"models": [
            model("qwen3:8b", 5_200_000_000), model("gemma3:27b", 17_000_000_000), model("qwen3:30b", 18_600_000_000),
            model("nomic-embed-text:latest", 274_000_000), model("llava:70b", 40_000_000_000),
        ]})),
        "POST /api/show" => {
            let name = asked.body["model"].as_str().unwrap();
            let all: &[&str] = match name {
                "llava:70b" => &["completion", "vision"],
                _ => &["completion", "tools", "thinking"],
            };
            json_reply(&json!({"capabilities": all}))
        }
        "GET /v1/models" => json_reply(&json!({"data": [{"id": "qwen3:30b"}]})),
        "POST /v1/chat/completions" => openai_text("Hello, newcomer."),
        _ => Reply(404, "text/plain", "404 page not found".into()),
    })
}

/// A terminal in which no server answers but those that are named.
fn terminal(place: &Place, variables: &[(&str, &str)]) -> Option<Terminal> {
    sized_terminal(place, (120, 30), variables)
}

fn sized_terminal(place: &Place, size: (u16, u16), variables: &[(&str, &str)]) -> Option<Terminal> {
    let terminal = Terminal::open(place, size)?;
    let nowhere = LOCAL.iter().map(|name| (*name, NOWHERE));
    let exports: Vec<String> = nowhere
        .chain(variables.iter().copied())
        .map(|(name, value)| format!("export {name}={value}"))
        .collect();
    terminal.say(&exports.join("; "));
    Some(terminal)
}

fn configured(place: &Place) -> String {
    fs::read_to_string(place.path().join("person/.config/haft/config.toml")).unwrap()
}

fn says_hello(terminal: &Terminal, expected: &str) {
    terminal.see("what to do?");
    terminal.keys(&["-l", "Say hello."]);
    terminal.keys(&["Enter"]);
    terminal.see(expected);
}

/// People name a server of their own as its documentation does, without the path.
#[test]
fn an_address_that_lacks_its_path_is_told() {
    let (place, server) = (Place::new(), ollama());
    let address = server.base_url.trim_end_matches('/').trim_end_matches("/v1");
    let ran = place.run(&["run", "--model", "ollama/qwen3:30b", "--base-url", address, "hi"]);
    assert!(ran.code == 1 && ran.err.contains("`--base-url` has to end with that"), "{ran:?}");
}

#[test]
fn a_server_on_this_machine_is_chosen_with_one_key_and_kept() {
    let (place, server) = (Place::new(), ollama());
    let Some(terminal) = terminal(&place, &[("OLLAMA_BASE_URL", &server.base_url)]) else { return };
    terminal.haft(&place, "");
    let screen = terminal.see("Haft needs a model. Which one?");
    assert!(!screen.contains("is listed while it runs"), "{screen}");
    for line in
        ["❯ Ollama on this machine", "qwen3:30b at http://127.0.0.1:", "Anthropic", "enter an API key"]
    {
        assert!(screen.contains(line), "{line}: {screen}");
    }
    terminal.keys(&["Enter"]);
    says_hello(&terminal, "Hello, newcomer.");
    assert_eq!(configured(&place), "model = \"ollama/qwen3:30b\"\n");
    assert_eq!(server.prompts().last().unwrap()["model"], "qwen3:30b");
    terminal.keys(&["C-d"]);
    terminal.see("left 0");
    terminal.haft(&place, "");
    assert!(!terminal.see("what to do?").contains("Which one?"));
}

#[test]
fn a_key_is_entered_tried_and_kept_before_the_first_reply() {
    let place = Place::new();
    let server = VendorServer::start(|asked: &Asked| match (asked.key.as_deref(), asked.line.as_str()) {
        (Some(KEY), "GET /v1/models") => json_reply(&json!({"data": [{"id": "gpt-5"}]})),
        (Some(KEY), _) => openai_text("Hello, newcomer."),
        _ => Reply(401, "application/json", "{}".into()),
    });
    let Some(terminal) = terminal(&place, &[("OPENAI_BASE_URL", &server.base_url)]) else { return };
    terminal.haft(&place, "\"Say hello.\"");
    let screen = terminal.see("Which one?");
    assert!(
        screen.contains("❯ OpenAI") && screen.contains("Ollama (`ollama serve`) is listed while it runs"),
        "{screen}"
    );
    terminal.keys(&["Enter"]);
    terminal.see("Key of OpenAI:");
    terminal.see("Esc goes back to the list");
    terminal.keys(&["-l", "half of a ke"]);
    terminal.keys(&["Escape"]);
    terminal.see("❯ OpenAI");
    terminal.keys(&["Enter"]);
    terminal.see("Key of OpenAI:");
    // One that the vendor refuses leads back as well.
    terminal.paste(&place, "sk-mistyped");
    terminal.keys(&["Enter"]);
    terminal.see("the key was not saved");
    terminal.see("❯ OpenAI");
    terminal.keys(&["Enter"]);
    terminal.see("Key of OpenAI:");
    terminal.paste(&place, KEY);
    terminal.keys(&["Enter"]);
    let screen = terminal.see("left 0");
    assert!(screen.contains("Hello, newcomer.") && !screen.contains(KEY), "{screen}");
    assert!(screen.contains("Using `openai/gpt-5`, saved in your configuration"), "{screen}");
    assert_eq!(configured(&place), "model = \"openai/gpt-5\"\n");
}

/// In this order: servers with their models, keys in the environment, providers that want a key.
#[test]
fn the_shortest_ways_to_a_model_come_first_and_are_read_on_any_terminal() {
    let (place, server) = (
        Place::new(),
        VendorServer::start(|asked: &Asked| match asked.line.as_str() {
            "GET /v1/models" => json_reply(&json!({"data": [
                {"id": "old", "created": 1}, {"id": "text-embedding", "created": 3}, {"id": "new", "created": 2},
            ]})),
            _ => openai_text("Hello, newcomer."),
        }),
    );
    let variables = [
        ("LMSTUDIO_BASE_URL", server.base_url.as_str()),
        ("ANTHROPIC_API_KEY", KEY),
        ("GROQ_API_KEY", KEY),
        ("GROQ_BASE_URL", &server.base_url),
    ];
    let Some(terminal) = sized_terminal(&place, (80, 24), &variables) else { return };
    terminal.haft(&place, "\"Say hello.\"");
    let screen = terminal.see("Which one?");
    let expected = [
        "❯ LM Studio on this machine  new at http://127.0.0.1:",
        "  LM Studio on this machine  old at http://127.0.0.1:",
        "  Anthropic                  ANTHROPIC_API_KEY is set, uses claude-sonnet-4-5",
        "  Groq                       GROQ_API_KEY is set, uses openai/gpt-oss-120b",
        "  OpenAI                     enter an API key, uses gpt-5",
    ];
    let lines: Vec<&str> = screen.lines().skip_while(|line| !line.contains("Which one?")).skip(1).collect();
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{expected}: {screen}");
    }
    assert!(!screen.contains("embedding") && !screen.contains(KEY), "{screen}");
    // What has no room in its row is read below the list.
    terminal.resize(40, 24);
    terminal.keys(&["Down", "Down", "Down"]);
    let screen = terminal.see("GROQ_API_KEY is set, uses\nopenai/gpt-oss-120b");
    assert!(screen.contains("type to search"), "{screen}");
    terminal.keys(&["Enter"]);
    let screen = terminal.see("left 0");
    assert!(screen.contains("Hello, newcomer."), "{screen}");
    assert_eq!(configured(&place), "model = \"groq/openai/gpt-oss-120b\"\n");
}

/// A server that accepts connections and says nothing does not hold up the list; without a terminal the same ways are text.
#[test]
fn a_silent_server_is_not_waited_for_and_scripts_read_the_list_as_text() {
    let (place, server) = (Place::new(), ollama());
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = place.haft(&["run", "hello"]);
    command.envs(LOCAL.map(|name| (name, format!("http://{}/v1", silent.local_addr().unwrap()))));
    command.env("OLLAMA_BASE_URL", &server.base_url);
    let begun = std::time::Instant::now();
    let ran = crate::kit::Ran::from(command.output().unwrap());
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{ran:?}");
    assert_eq!(ran.code, 2, "{ran:?}");
    let places = [
        "error: no model configured and no API key found\nhint: ",
        "\n  use the server at http://127.0.0.1:",
        ": `--model ollama/qwen3:30b`\n",
        "\n  save a key: `haft login PROVIDER`",
        "`--model PROVIDER/MODEL` (`haft help models`)\n",
    ];
    let places: Vec<_> = places.iter().map(|text| ran.err.find(text)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {ran:?}");
}

#[test]
fn who_leaves_the_choice_has_chosen_nothing() {
    let place = Place::new();
    place.configure("# mine\ntheme = \"dark\" # at night\n");
    let Some(terminal) = terminal(&place, &[]) else { return };
    for (arguments, keys, typed) in [("", &["Escape"][..], ""), ("triage \"it is slow\"", &["C-c"], "Anth")] {
        terminal.haft(&place, arguments);
        terminal.see("Which one?");
        if !typed.is_empty() {
            terminal.keys(&["-l", typed]);
            assert!(!terminal.no_longer_see("OpenAI").contains("Gemini"));
        }
        terminal.keys(keys);
        let screen = terminal.see("left 130");
        assert!(
            screen.contains("No model was chosen. `haft` asks again; `haft --model PROVIDER/MODEL`"),
            "{screen}"
        );
        terminal.is_usable();
    }
    assert_eq!(configured(&place), "# mine\ntheme = \"dark\" # at night\n");
    assert!(!place.path().join("home/sessions").exists());
    // Lines to read aloud, or to parse, ask nothing.
    for arguments in ["--plain", "run --json hello"] {
        terminal.haft(&place, arguments);
        let screen = terminal.see("left 2");
        assert!(
            screen.contains("error: no model configured") && screen.contains("haft login PROVIDER"),
            "{screen}"
        );
    }
}

#[test]
#[cfg(feature = "local")]
fn the_demo_model_is_taken_by_name_and_says_that_it_is_one() {
    let folder = std::env::var("HAFT_MODELS").unwrap_or_default();
    if !crate::kit::exists(&std::path::Path::new(&folder).join("SmolLM2-135M-Instruct.Q4_1.gguf")) {
        haft_testing::left_out("the demo model: it is not in `HAFT_MODELS`");
        return;
    }
    let place = Place::new();
    place.write("notes.txt", "The launch code is 7421.\n");
    let Some(terminal) = terminal(&place, &[("HAFT_MODELS", &folder)]) else { return };
    terminal.haft(&place, "");
    assert!(terminal.see("Which one?").contains("for trying it out, not for real work"));
    terminal.keys(&["Up", "Enter"]);
    terminal.see("what to do?");
    terminal.keys(&["-l", "Read notes.txt and tell me the launch code."]);
    terminal.keys(&["Enter"]);
    assert!(terminal.see("rounds ·").contains("The launch code is 7421."));
    assert_eq!(configured(&place), "model = \"local/smollm2-135m\"\n");
}

#[test]
fn a_vendor_alone_is_its_best_model() {
    let (place, server) = (Place::new(), ollama());
    let run = |model: &str, variables: &[(&str, &str)]| {
        let mut command = place.haft(&["run", "--model", model, "hello"]);
        crate::kit::Ran::from(command.envs(variables.iter().copied()).output().unwrap())
    };
    let ran = run("ollama", &[("OLLAMA_BASE_URL", &server.base_url)]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Hello, newcomer.\n"), "{ran:?}");
    assert!(
        ran.err.contains("using `ollama/qwen3:30b`, the largest of 4 there that can call tools"),
        "{ran:?}"
    );
    let ran = run("openai", &[("OPENAI_BASE_URL", &server.base_url), ("OPENAI_API_KEY", KEY)]);
    assert!(
        ran.code == 0 && ran.err.contains("using `openai/gpt-5`, the default model of OpenAI"),
        "{ran:?}"
    );
    assert_eq!(server.prompts().last().unwrap()["model"], "gpt-5");
    let models = json!({"data": [{"id": "old", "created": 1}, {"id": "new", "created": 2}]});
    let other = VendorServer::start(move |asked: &Asked| match asked.line.as_str() {
        "GET /v1/models" => json_reply(&models),
        _ => openai_text("Hello, newcomer."),
    });
    let ran = run("lmstudio", &[("LMSTUDIO_BASE_URL", &other.base_url)]);
    assert!(ran.err.contains("using `lmstudio/new`, the newest of 2 there"), "{ran:?}");
    let empty = VendorServer::start(|_| json_reply(&json!({"models": [], "data": []})));
    let ran = run("ollama", &[("OLLAMA_BASE_URL", &empty.base_url)]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (
            2,
            "error: Ollama has no model installed\nhint: install one, e.g. with `ollama pull qwen3-coder:30b`\n"
        )
    );
    let ran = run("gpt-5", &[]);
    assert!(ran.code == 2 && ran.err.contains("it is not of the form PROVIDER/MODEL"), "{ran:?}");
}

/// A `curl` that brings half of the demo model and then loses the line, and a `python3` without packages.
#[cfg(feature = "local")]
fn half_a_download(place: &Place) -> String {
    use std::os::unix::fs::PermissionsExt;
    let folder = place.path().join("programs");
    fs::create_dir(&folder).unwrap();
    let curl = "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\ntruncate -s 49181216 \"$2\"\nsleep 2\necho 'curl: (56) lost' >&2; exit 56\n";
    for (name, script) in [("curl", curl), ("python3", "#!/bin/sh\necho 'No module named pip' >&2; exit 1\n")]
    {
        fs::write(folder.join(name), script).unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

#[test]
#[cfg(feature = "local")]
fn a_download_shows_how_far_it_is_on_a_terminal_and_nowhere_else() {
    let place = Place::new();
    let path = half_a_download(&place);
    let folder = place.path().join("models");
    let mut command = place.haft(&["models", "pull", "smollm2-135m"]);
    let ran = crate::kit::Ran::from(command.env("PATH", &path).env("HAFT_MODELS", &folder).output().unwrap());
    assert!(ran.code == 1 && ran.err.starts_with("error: cannot get the model"), "{ran:?}");
    assert!(!ran.err.contains('\r') && !ran.err.contains("[#"), "{ran:?}");
    let Some(terminal) = terminal(&place, &[("PATH", &path), ("HAFT_MODELS", &folder.to_string_lossy())])
    else {
        return;
    };
    terminal.haft(&place, "");
    assert!(terminal.see("Which one?").contains("download 98 MB, runs inside Haft; for trying it out"));
    terminal.keys(&["-l", "demo"]);
    terminal.no_longer_see("OpenAI");
    terminal.keys(&["Enter"]);
    terminal.see("[###############               ] 49 MB of 98 MB from huggingface.co");
    let screen = terminal.see("left 1");
    assert!(
        screen.contains("cannot get the model `smollm2-135m`") && screen.contains("(56) lost"),
        "{screen}"
    );
    assert!(!place.path().join("person/.config").exists(), "nothing was chosen");
}
