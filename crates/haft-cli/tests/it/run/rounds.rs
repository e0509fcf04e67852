//! What happens when a turn has had all its rounds. The real binary, scripted models, a real terminal.
use crate::kit::{Place, terminal::Terminal};
use serde_json::{Value, json};

fn look(number: usize) -> Value {
    json!({"calls": [{"name": "glob", "arguments": {"pattern": format!("*.{number}")}}]})
}

fn plan() -> Value {
    let item = |text: &str, status: &str| json!({"text": text, "status": status});
    let items = [item("find the fault", "done"), item("mend it", "in_progress"), item("test it", "pending")];
    json!({"calls": [{"name": "todo", "arguments": {"items": items}}]})
}

#[test]
fn a_turn_without_rounds_says_what_is_left() {
    let place = Place::new();
    let model = place.script("m", &[plan(), look(1), look(2), json!({"say": "done"})]);
    let turn = |more: &[&str]| {
        place.run(
            &[&["run", "--model", &model, "--permission", "full", "--max-rounds", "2"], more, &["go"]]
                .concat(),
        )
    };
    let expected = "2 rounds are used up; left to do: mend it; test it";
    let text = turn(&[]);
    assert!(text.code == 3 && text.err.contains(&format!("({expected})")), "{text:?}");
    let object: Value = serde_json::from_str(&turn(&["--output", "json"]).out).unwrap();
    assert_eq!((&object["outcome"], &object["error"]), (&json!("round_limit"), &json!(expected)));
    let events = turn(&["--json"]).events();
    let reached = events.iter().find(|event| event["type"] == "rounds_reached").cloned().unwrap_or_default();
    assert_eq!((&reached["limit"], &reached["steps"]), (&json!(2), &json!(["mend it", "test it"])));
    // Without a list the last words stand for it.
    let talks = place.script("t", &[json!({"say": "I look at the parser.", "calls": look(1)["calls"]})]);
    let ran = place.run(&["run", "--model", &talks, "--max-rounds", "1", "go"]);
    assert!(ran.err.contains("(1 round is used up; last of all: I look at the parser.)"), "{ran:?}");
    // It can be taken up.
    let id = object["session"].as_str().unwrap();
    let resumed = place.run(&["sessions", "resume", id, "--model", &model]);
    assert_eq!((resumed.code, resumed.out.as_str()), (0, "done\n"), "{resumed:?}");
}

// P-48
#[test]
fn what_is_typed_stands_in_place_of_the_profiles_200_rounds_and_0_means_those() {
    let place = Place::new();
    let lines: Vec<Value> = (0..205).map(look).chain([json!({"say": "done"})]).collect();
    let model = place.script("m", &lines);
    for (rounds, code) in [("0", 3), ("210", 0)] {
        let ran = place.run(&["run", "--model", &model, "--max-rounds", rounds, "go"]);
        assert_eq!(ran.code, code, "{rounds}: {ran:?}");
    }
    // What the person's own file or the project's allows is the most that there is.
    let ends_after_4 = || {
        let ran = place.run(&["run", "--model", &model, "--max-rounds", "210", "go"]);
        assert!(ran.code == 3 && ran.err.contains("(4 rounds are used up"), "{ran:?}");
    };
    place.configure("max_rounds = 4");
    ends_after_4();
    place.configure("");
    place.write(".haft/config.toml", "max_rounds = 4");
    ends_after_4();
}

// T-54: this profile has 20 rounds.
#[test]
fn what_is_typed_stands_in_place_of_the_20_rounds_of_picoclaw() {
    let place = Place::new();
    let write = |number: usize| {
        let arguments = json!({"path": format!("{number}.txt"), "content": "x"});
        json!({"calls": [{"name": "write_file", "arguments": arguments}]})
    };
    let lines: Vec<Value> = (0..25).map(write).chain([json!({"say": "done"})]).collect();
    let model = place.script("m", &lines);
    let run = |rounds: &str| {
        let words = ["run", "--profile", "picoclaw", "--permission", "full", "--model", &model];
        place.run(&[&words[..], &["--max-rounds", rounds, "go"]].concat())
    };
    for (rounds, code, last) in [("0", 3, "19.txt"), ("30", 0, "24.txt")] {
        let ran = run(rounds);
        assert_eq!(ran.code, code, "{rounds}: {ran:?}");
        assert!(place.read(last).is_some(), "{rounds}: {ran:?}");
    }
}

// P-44
#[test]
fn pedro_says_it_in_its_own_words() {
    let place = Place::new();
    let steps: Vec<Value> = (0..30)
        .map(
            |number| json!({"calls": [{"name": "bash", "arguments": {"command": format!("echo {number}")}}]}),
        )
        .collect();
    let model = place.script("m", &steps);
    let ran = place.run(&["run", "--profile", "pedro", "--model", &model, "--permission", "full", "go"]);
    assert!(ran.code == 3 && ran.err.contains("(max rounds (20) exceeded)\n"), "{ran:?}");
}

#[test]
fn a_job_goes_on_to_a_limit_of_its_own() {
    let place = Place::new();
    place.write(
        ".haft/agents/worker.md",
        "---\nname: worker\ndescription: Works\ntools: [glob, todo]\n---\nYou work.\n",
    );
    let mut steps: Vec<Value> = vec![plan()];
    steps.extend((0..220).map(look));
    steps.push(json!({"say": "done"}));
    let model = place.script("m", &steps);
    let job = |more: &[&str]| {
        let id =
            place.run(&["jobs", "add", "--kind", "worker", "--description", "Do it."]).out.trim().to_owned();
        let ran = place.run(&[&["jobs", "retry", &id, "--quiet", "--model", &model], more].concat());
        let shown: Value = serde_json::from_str(&place.run(&["jobs", "show", &id, "--json"]).out).unwrap();
        (ran, shown)
    };
    let (ran, shown) = job(&[]);
    assert_eq!(
        (ran.code, &shown["status"], &shown["rounds"]),
        (0, &json!("completed"), &json!(222)),
        "{ran:?}"
    );
    let (ran, shown) = job(&["--max-rounds", "30"]);
    let reason = shown["output"]["reason"].as_str().unwrap();
    assert_eq!((ran.code, &shown["rounds"]), (3, &json!(30)), "{ran:?}");
    assert_eq!(reason, "too many rounds without an end; left to do: mend it; test it");
}

#[test]
fn a_person_is_asked_whether_a_turn_goes_on() {
    let place = Place::new();
    let steps: Vec<Value> = (0..6).map(look).chain([json!({"say": "All seen."})]).collect();
    place.script("m", &steps);
    let Some(terminal) = Terminal::open(&place, (80, 40)) else { return };
    let model = "--model script/../m --max-rounds 3";
    terminal.haft(&place, &format!("run {model} go"));
    terminal.see("3 rounds used. Continue? [y/N]");
    terminal.say("y");
    terminal.see("3 rounds used. Continue? [y/N]");
    terminal.say("yes");
    terminal.see("All seen.");
    terminal.see("left 0");
    terminal.haft(&place, &format!("run {model} go"));
    terminal.see("3 rounds used. Continue? [y/N]");
    terminal.say("");
    terminal.see("left 3");
    terminal.haft(&place, &format!("chat {model}"));
    terminal.see("exit` to leave");
    terminal.say("go");
    terminal.see("3 rounds used. Continue? [y/N]");
    terminal.say("n");
    terminal.see(">");
    terminal.say("exit");
    terminal.see("left 0");
}

#[test]
fn the_screen_asks_whether_a_turn_goes_on() {
    let place = Place::new();
    let steps: Vec<Value> = (0..6).map(look).chain([json!({"say": "All seen."})]).collect();
    place.script("m", &steps);
    let Some(terminal) = Terminal::open(&place, (80, 40)) else { return };
    terminal.haft(&place, "--model script/../m --max-rounds 3");
    terminal.see("what to do?");
    terminal.say("go");
    terminal.see("stop here; 3 rounds used");
    terminal.keys(&["Down", "Enter"]);
    // Asked again after three more.
    terminal.see("*.5");
    terminal.see("stop here; 3 rounds used");
    terminal.keys(&["Enter"]);
    terminal.no_longer_see("stop here");
    terminal.say("/continue");
    terminal.see("All seen.");
    terminal.keys(&["C-d"]);
    terminal.see("left 0");
}
