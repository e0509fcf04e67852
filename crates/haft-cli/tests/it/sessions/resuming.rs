//! Whether a session can go on, told alike by `haft resume`, the screen and the page.

use crate::kit::{Place, project::begin_repository, serving::Serving, terminal::Terminal};
use serde_json::{Value, json};

fn facts(place: &Place) -> Vec<String> {
    let journal = std::fs::read_to_string(place.journal()).unwrap();
    let entries = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.map(|entry| entry["type"].as_str().unwrap().to_owned()).collect()
}

/// What the page reads of the only session.
fn is_unfinished(place: &Place, model: &str) -> Value {
    let folder = place.journal().parent().unwrap().to_owned();
    let id = folder.file_name().unwrap().to_str().unwrap();
    let server = Serving::start(place, &["--model", model]);
    server.ask(&format!("GET /v1/sessions/{id}"), "").json()["is_unfinished"].clone()
}

/// A person stopped it: what they do before they leave does not start it again.
#[test]
fn a_turn_that_a_person_stopped_is_not_taken_up() {
    for modes in [&[][..], &["accept-edits"], &["accept-edits", "read-only"]] {
        let place = Place::new();
        let model = place.script(
            "model.jsonl",
            &[
                json!({"say": "Working on it", "hang": true}),
                json!({"say": "unheard"}),
                json!({"say": "It went on.", "expect": "Your reply was cut off"}),
            ],
        );
        let Some(terminal) = Terminal::open(&place, (90, 30)) else { return };
        terminal.haft(&place, &format!("--model {model}"));
        terminal.see("what to do?");
        terminal.say("begin");
        terminal.see("Working on it");
        terminal.keys(&["Escape"]);
        terminal.see("interrupted");
        for mode in modes {
            terminal.keys(&["BTab"]);
            terminal.see(&format!("· {mode}"));
        }
        terminal.keys(&["C-d"]);
        terminal.see("left 0");
        assert_eq!(facts(&place).iter().filter(|fact| *fact == "mode_set").count(), modes.len());
        let ran = place.run(&["resume"]);
        assert!(ran.code == 0 && !ran.out.contains("It went on."), "{modes:?}: {ran:?}");
        assert_eq!(is_unfinished(&place, &model), true, "{modes:?}");
        assert!(!facts(&place).contains(&"continued".to_owned()), "{modes:?}");
        terminal.haft(&place, "resume");
        let screen = terminal.see("what to do?");
        assert!(!screen.contains("It went on.") && !screen.contains("takes it up"), "{modes:?}: {screen}");
        terminal.say("/continue");
        terminal.see("It went on.");
    }
}

/// A summary between two turns is no turn, also where its process ends in the middle of it.
#[test]
fn a_summary_leaves_a_finished_session_finished() {
    for is_killed in [false, true] {
        let place = Place::new();
        let long = "some words ".repeat(2_000);
        let model = place.script(
            "model.jsonl",
            &[
                json!({"say": long}),
                json!({"say": "Second."}),
                json!({"say": "The summary."}),
                json!({"say": "It went on."}),
            ],
        );
        let typed = b"one\ntwo\n/compact\nexit\n";
        assert_eq!(place.run_with_input(&["chat", "--model", &model], typed).code, 0);
        let journal = std::fs::read_to_string(place.journal()).unwrap();
        let all = facts(&place);
        assert!(all.ends_with(&["compacted".into(), "turn_ended".into()]), "{all:?}");
        if is_killed {
            let end = journal.trim_end().rfind('\n').unwrap() + 1;
            std::fs::write(place.journal(), &journal[..end]).unwrap();
        }
        let before = facts(&place);
        let ran = place.run(&["resume"]);
        assert!(ran.code == 0 && !ran.out.contains("It went on."), "{is_killed}: {ran:?}");
        assert_eq!(facts(&place), before, "{is_killed}");
        assert_eq!(is_unfinished(&place, &model), false, "{is_killed}");
        let Some(terminal) = Terminal::open(&place, (90, 30)) else { return };
        terminal.haft(&place, "resume");
        let screen = terminal.see("what to do?");
        assert!(!screen.contains("cut off") && !screen.contains("It went on."), "{is_killed}: {screen}");
    }
}

/// The agents and models that the journal of the only session names, in order.
fn chosen(place: &Place) -> Vec<(String, String)> {
    let journal = std::fs::read_to_string(place.journal()).unwrap();
    let entries = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let named = entries.filter(|entry| entry["type"] == "session_opened" || entry["type"] == "setup_changed");
    let text = |value: &Value| value.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    named.map(|entry| (text(&entry["agent"]), text(&entry["model"]))).collect()
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(agent, model)| ((*agent).to_owned(), (*model).to_owned())).collect()
}

// H-109
#[test]
fn a_session_goes_on_with_the_agent_and_the_model_that_were_chosen_last() {
    let place = Place::new();
    let usage = json!({"input": 10, "output": 0});
    let says = |word: &str| json!({"say": word, "usage": usage});
    let first = place.script("first", &[says("1"), says("2"), says("3"), says("4")]);
    let second = place.script("second", &[says("one"), says("two"), says("three"), says("four")]);
    let run = |more: &[&str]| place.run(&[&["run"], more, &["go"]].concat()).out;
    assert_eq!(run(&["--agent", "reviewer", "--model", &first]), "1\n");
    assert_eq!(run(&["--continue"]), "2\n");
    assert_eq!(chosen(&place), pairs(&[("reviewer", "first")]), "nothing was chosen anew");
    assert_eq!(run(&["--continue", "--model", &second, "--agent", "haft"]), "three\n");
    assert_eq!(run(&["--continue"]), "four\n");
    assert_eq!(chosen(&place), pairs(&[("reviewer", "first"), ("haft", "second")]));
    let counted = place.run(&["usage", "--json"]).events().remove(0);
    let models = counted["models"].as_array().unwrap().iter();
    let models: Vec<_> = models.map(|row| (row["model"].clone(), row["tokens"].clone())).collect();
    assert_eq!(models, [(json!(first), json!(20)), (json!(second), json!(20))]);
    // Undone, it was chosen all the same; and the turn that follows says so again.
    for _ in 0..3 {
        assert_eq!(place.run(&["undo"]).code, 0);
    }
    assert_eq!(run(&["--continue"]), "two\n");
    assert_eq!(chosen(&place), pairs(&[("reviewer", "first"), ("haft", "second"), ("haft", "second")]));
}

// H-109
#[test]
fn a_session_whose_agent_is_gone_goes_on_with_the_usual_one() {
    let place = Place::new();
    let agents = place.work().join(".haft/agents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(agents.join("helper.md"), "---\nname: helper\ndescription: Helps\n---\nHelp.\n").unwrap();
    let model = place.script("model", &[json!({"say": "1"}), json!({"say": "2"})]);
    let ran = place.run(&["run", "--agent", "helper", "--model", &model, "go"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "1\n"), "{ran:?}");
    std::fs::remove_dir_all(&agents).unwrap();
    let ran = place.run(&["run", "--continue", "go"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "2\n"), "{ran:?}");
    assert!(ran.err.contains("the agent `helper` of this session no longer exists"), "{ran:?}");
    assert_eq!(chosen(&place), pairs(&[("helper", "model"), ("haft", "model")]));
}

// H-109
#[test]
fn what_the_page_chose_is_there_after_a_restart_and_is_verified() {
    let place = Place::new();
    place.write("notes.txt", "one\n");
    begin_repository(&place.work());
    let write =
        |name: &str| json!({"calls": [{"name": "write", "arguments": {"path": name, "content": "x"}}]});
    let done = || json!({"say": "Done."});
    let steps = [write("one"), done(), write("two"), done(), write("three"), done()];
    let first = place.script("first", &steps);
    let lines = steps.map(|step| format!("{step}\n"));
    place.write("second", lines.concat());
    let options = ["--model", &first, "--permission", "accept-edits"];
    let mut server = Serving::start(&place, &options);
    let id = server.session(r#"{"agent":"reviewer"}"#);
    let prompt = |server: &Serving| {
        let said = server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go","wait":true}"#);
        assert_eq!(said.status, 200, "{said:?}");
    };
    let choose = |server: &Serving, what: &str| {
        let chosen = server.ask(&format!("PATCH /v1/sessions/{id}"), what);
        assert_eq!(chosen.status, 200, "{chosen:?}");
    };
    let detail = |server: &Serving| {
        let detail = server.ask(&format!("GET /v1/sessions/{id}"), "").json();
        let model = detail["model"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        (detail["agent"].as_str().unwrap().to_owned(), model)
    };
    prompt(&server);
    assert_eq!(place.read("one"), None, "a reviewer writes nothing");
    choose(&server, r#"{"agent":"haft","permission":"accept-edits"}"#);
    prompt(&server);
    assert_eq!(place.read("two").as_deref(), Some("x"));
    choose(&server, r#"{"agent":"builder","model":"script/second"}"#);
    server.stop();
    let server = Serving::start(&place, &options);
    assert_eq!(detail(&server), ("builder".to_owned(), "second".to_owned()), "nothing was said since");
    prompt(&server);
    assert_eq!(place.read("three").as_deref(), Some("x"));
    assert_eq!(chosen(&place), pairs(&[("reviewer", "first"), ("haft", "first"), ("builder", "second")]));
    drop(server);
    let verified = place.run(&["verify", &id]);
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(verified.out.contains("3 calls made again"), "{verified:?}");
}
