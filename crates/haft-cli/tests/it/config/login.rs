//! Keys that `haft login` keeps: tried, found, never shown. The real binary, a vendor's server on loopback.
use crate::kit::{
    Place, Ran, Reply, openai_text,
    terminal::Terminal,
    vendor::{Asked, VendorServer},
};
use serde_json::{Value, json};
use std::{fs, io::Write, os::unix::fs::PermissionsExt, process::Stdio};

const KEY: &str = "sk-test-key-0123456789";
/// Nothing listens there.
const NOWHERE: &str = "http://127.0.0.1:1/v1";

/// OpenAI as far as it takes one key, lists a model and says hello.
fn openai() -> VendorServer {
    VendorServer::start(|asked: &Asked| match (asked.key.as_deref(), asked.line.as_str()) {
        (Some(KEY), "GET /v1/models") => {
            Reply(200, "application/json", json!({"data": [{"id": "gpt-5"}]}).to_string())
        }
        (Some(KEY), "POST /v1/responses") => Reply(400, "application/json", "{}".into()),
        (Some(KEY), _) => openai_text("hello"),
        (key, _) => {
            let message = format!("Incorrect API key provided: {}", key.unwrap_or_default());
            Reply(401, "application/json", json!({"error": {"message": message}}).to_string())
        }
    })
}

fn run(place: &Place, arguments: &[&str], variables: &[(&str, &str)], input: &str) -> Ran {
    let mut command = place.haft(arguments);
    command.envs(variables.iter().copied()).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _it_may_not_read = child.stdin.take().unwrap().write_all(input.as_bytes());
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert!(!format!("{ran:?}").contains(KEY), "the key was printed: {ran:?}");
    ran
}

fn keys_file(place: &Place) -> std::path::PathBuf {
    place.path().join("person/.config/haft/keys.toml")
}

#[test]
fn a_key_is_tried_kept_for_its_owner_alone_and_used() {
    let (place, server) = (Place::new(), openai());
    let variables = [("OPENAI_BASE_URL", server.base_url.as_str())];
    let wrong = run(&place, &["login", "openai"], &variables, "sk-wrong-key-00000000\n");
    assert_eq!(wrong.code, 1, "{wrong:?}");
    assert!(
        wrong.err.contains("error: OpenAI refused the key") && wrong.err.contains("not saved"),
        "{wrong:?}"
    );
    assert!(!wrong.err.contains("sk-wrong") && !keys_file(&place).exists(), "{wrong:?}");

    let kept = run(&place, &["login", "openai"], &variables, &format!("{KEY}\n"));
    assert_eq!((kept.code, kept.out.as_str()), (0, ""), "{kept:?}");
    assert!(kept.err.contains("Saved the key of OpenAI in"), "{kept:?}");
    assert_eq!(fs::metadata(keys_file(&place)).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(server.asked().iter().all(|asked| asked.line == "GET /v1/models"), "{:?}", server.asked());

    let ran = run(&place, &["run", "go"], &variables, "");
    assert_eq!((ran.code, ran.out.as_str()), (0, "hello\n"), "{ran:?}");
    assert!(ran.err.contains("using `openai/gpt-5`, since you are logged in to OpenAI"), "{ran:?}");
    let other = run(&place, &["run", "--model", "openai-responses/gpt-5", "go"], &variables, "");
    assert_eq!(server.asked().last().unwrap().key.as_deref(), Some(KEY), "{other:?}");
    assert_eq!(server.asked().last().unwrap().line, "POST /v1/responses");
}

#[test]
fn a_key_that_cannot_be_tried_is_kept_only_on_request() {
    let place = Place::new();
    let variables = [("GROQ_BASE_URL", NOWHERE)];
    let ran = run(&place, &["login", "groq"], &variables, KEY);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.err.contains("could not be verified and was not saved") && ran.err.contains("--no-check"),
        "{ran:?}"
    );
    assert!(!keys_file(&place).exists());
    let ran = run(&place, &["login", "groq", "--no-check"], &variables, KEY);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(fs::read_to_string(keys_file(&place)).unwrap().contains(KEY));
    for (input, arguments, told) in [
        ("", &["login", "openai"][..], "there is no key of OpenAI on standard input"),
        ("two words", &["login", "openai"], "not a valid key"),
        (KEY, &["login", "opnai"], "there is no provider `opnai`"),
        (KEY, &["login", "ollama"], "Ollama needs no key"),
        (KEY, &["login"], "cannot ask for a provider without a terminal"),
        ("", &["logout", "openai"], "no key of OpenAI is saved"),
    ] {
        let ran = run(&place, arguments, &variables, input);
        assert!(ran.code == 2 && ran.err.contains(told), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn the_status_says_where_each_key_comes_from_and_the_nearest_counts() {
    let place = Place::new();
    let kept = run(&place, &["login", "openai", "--no-check"], &[], KEY);
    assert_eq!(kept.code, 0, "{kept:?}");
    let from = |variables: &[(&str, &str)]| {
        let ran = run(&place, &["login", "status", "--json"], variables, "");
        let rows: Vec<Value> = ran.events();
        assert!(rows.iter().all(|row| row["vendor"] != "ollama" && row["vendor"] != "openai-responses"));
        let row = rows.into_iter().find(|row| row["vendor"] == "openai").unwrap();
        (row["key"].clone(), row["from"].clone(), row["place"].clone())
    };
    let file = json!(keys_file(&place));
    assert_eq!(from(&[]), (json!(true), json!("login"), file));
    place.configure(&format!("[vendors.openai]\nkey = \"{KEY}\""));
    assert_eq!(from(&[]).1, "configuration");
    assert_eq!(from(&[("OPENAI_API_KEY", KEY)]), (json!(true), json!("variable"), json!("OPENAI_API_KEY")));
    let shown = run(&place, &["login", "status"], &[("OPENAI_API_KEY", KEY)], "").out;
    assert!(shown.starts_with("PROVIDER") && shown.contains("the variable OPENAI_API_KEY"), "{shown}");
    assert!(
        shown.contains("anthropic") && shown.contains("`haft login anthropic`, or set ANTHROPIC_API_KEY")
    );
    place.configure("");
    let gone = run(&place, &["logout"], &[("OPENAI_API_KEY", KEY)], "");
    assert!(
        gone.code == 0 && gone.err.contains("note: the variable OPENAI_API_KEY still provides a key"),
        "{gone:?}"
    );
    assert_eq!(from(&[]), (json!(false), Value::Null, Value::Null));
    assert!(!keys_file(&place).exists());
    assert_eq!(run(&place, &["logout"], &[], "").out, "No key is saved: `haft login PROVIDER` saves one.\n");
}

// D17
#[test]
fn no_command_and_no_tool_shows_the_key_to_a_model() {
    let place = Place::new();
    assert_eq!(run(&place, &["login", "openai", "--no-check"], &[], KEY).code, 0);
    let file = keys_file(&place).display().to_string();
    let call = |name: &str, arguments: Value| json!({"calls": [{"name": name, "arguments": arguments}]});
    let model = place.script(
        "m",
        &[
            call("bash", json!({"command": format!("env; cat {file}; echo read")})),
            call("read", json!({"path": file})),
            json!({"say": "done"}),
        ],
    );
    let ran = run(
        &place,
        &["run", "--model", &model, "--permission", "full", "--sandbox", "off", "--json", "go"],
        &[],
        "",
    );
    let ended: Vec<Value> = ran.events().into_iter().filter(|event| event["type"] == "tool_ended").collect();
    let content = |place: usize| ended[place]["content"].as_str().unwrap();
    assert!(content(0).contains("openai = \"[key]\"") && content(0).contains("read"), "{}", content(0));
    assert_eq!((&ended[1]["ok"], content(1).contains("keys.toml")), (&json!(false), true), "{}", content(1));
    assert!(!fs::read_to_string(place.journal()).unwrap().contains(KEY));
}

#[test]
fn on_a_terminal_a_vendor_is_chosen_and_the_key_is_not_echoed() {
    let (place, server) = (Place::new(), openai());
    let Some(terminal) = Terminal::open(&place, (100, 30)) else { return };
    terminal.say(&format!("export OPENAI_BASE_URL={}", server.base_url));
    terminal.haft(&place, "login");
    let screen = terminal.see("Log in to");
    assert!(screen.contains("❯ OpenAI") && screen.contains("Anthropic"), "{screen}");
    terminal.keys(&["Down", "Up", "Enter"]);
    terminal.see("Key of OpenAI:");
    terminal.keys(&["-l", "sk-wrong-key-00000000"]);
    terminal.keys(&["Enter"]);
    terminal.see("left 1");
    terminal.haft(&place, "login openai");
    terminal.see("Key of OpenAI:");
    terminal.paste(&place, KEY);
    terminal.see("•••");
    terminal.keys(&["Enter"]);
    let screen = terminal.see("left 0");
    assert!(screen.contains("Saved the key of") && !terminal.all().contains("sk-"), "{}", terminal.all());
    terminal.is_usable();
    // Esc leads back one step, where there is one, and the question says so.
    terminal.haft(&place, "login");
    terminal.see("❯ OpenAI");
    terminal.keys(&["Down", "Enter"]);
    terminal.see("Key of Anthropic:");
    terminal.see("Esc goes back to the list");
    terminal.keys(&["Escape"]);
    terminal.see("❯ OpenAI");
    terminal.keys(&["Enter"]);
    terminal.see("Key of OpenAI:");
    terminal.keys(&["C-c"]);
    terminal.see("left 130");
    terminal.haft(&place, "login mistral");
    terminal.see("Key of Mistral:");
    terminal.see("Esc leaves");
    terminal.keys(&["Escape"]);
    terminal.see("left 130");
    terminal.is_usable();
}

/// `/login` asks for a key as `haft login` does, and the models of the provider can be chosen at once.
#[test]
fn a_key_is_saved_in_the_middle_of_a_session() {
    let (place, server) = (Place::new(), openai());
    place.script("model.jsonl", &[json!({"say": "From the script."})]);
    for how in ["", "chat"] {
        let _none_yet = fs::remove_file(keys_file(&place));
        let Some(terminal) = Terminal::open(&place, (100, 40)) else { return };
        terminal.say(&format!("export OPENAI_BASE_URL={}", server.base_url));
        terminal.haft(&place, &format!("{how} --model script/../model.jsonl"));
        terminal.see(if how.is_empty() { "what to do?" } else { "to leave." });
        terminal.say("/login openai");
        terminal.see("Key of OpenAI:");
        terminal.keys(&["Escape"]);
        terminal.no_longer_see("Key of OpenAI:");
        terminal.say("/login openai");
        terminal.see("Key of OpenAI:");
        terminal.say(KEY);
        let screen = terminal.see("openai/gpt-5");
        assert!(!screen.contains(KEY) && keys_file(&place).exists(), "{screen}");
        if how.is_empty() {
            terminal.keys(&["Escape"]);
            terminal.see("what to do?");
        }
        terminal.say("/model openai/gpt-5");
        terminal.see(if how.is_empty() { "now using openai/gpt-5" } else { "model openai/gpt-5" });
        terminal.say("hi");
        terminal.see("hello");
        terminal.say("/quit");
        terminal.see("left 0");
    }
}
