//! What holds under each of the five profiles as under the default one: commands are confined and staged, what they change
//! is asked about and can be undone, calls run side by side where the document lets them, and the files of the documents'
//! own examples, which lie outside of the workspace, are read once a person has allowed it.

use crate::kit::{Place, Ran, terminal::Terminal};
use serde_json::{Value, json};

const PROFILES: [&str; 5] = ["alfred", "pedro", "ally", "opencode", "picoclaw"];

/// A reply with calls, as a model of the profile writes them.
fn calls(profile: &str, all: &[(&str, Value)]) -> Value {
    if profile != "pedro" {
        let all = all.iter().map(|(name, arguments)| json!({"name": name, "arguments": arguments}));
        return json!({"calls": all.collect::<Vec<_>>()});
    }
    let line = |(name, arguments): &(&str, Value)| match *name {
        "bash" => format!("bash {}", arguments["command"].as_str().unwrap()),
        name => format!("{name} {}", arguments["path"].as_str().unwrap()),
    };
    let lines: Vec<String> = all.iter().map(line).collect();
    json!({"say": format!("```bash\n{}\n```", lines.join("\n"))})
}

const DONE: &str = "Task complete.";

fn run(place: &Place, profile: &str, all: &[(&str, Value)], options: &[&str]) -> Ran {
    let model = place.script("m", &[calls(profile, all), json!({"say": DONE})]);
    place.run(&[&["run", "--profile", profile, "--model", &model, "go", "--json"], options].concat())
}

fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({"command": command}))
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

#[test]
fn commands_are_confined_staged_asked_about_and_undone_under_every_profile() {
    let make = bash("echo new > made.txt");
    for profile in PROFILES {
        let place = Place::new();
        place.write("kept.txt", "old\n");
        // Without a person to ask, nothing is changed, and the one option is named that would have allowed it.
        let ran = run(&place, profile, std::slice::from_ref(&make), &[]);
        assert_eq!((ran.code, place.read("made.txt")), (4, None), "{profile}: {ran:?}");
        assert_eq!(ran.err, "hint: `--permission accept-edits` allows it\n", "{profile}");
        // What changes nothing is not asked about.
        let ran = run(&place, profile, &[bash("cat kept.txt")], &[]);
        let events = ran.events();
        let told = of(&events, "tool_ended")[0]["content"].as_str().unwrap();
        assert!(ran.code == 0 && told.contains("old"), "{profile}: {ran:?}");
        let change = bash("echo new > kept.txt && echo new > made.txt");
        for permission in ["accept-edits", "full"] {
            let ran = run(&place, profile, std::slice::from_ref(&change), &["--permission", permission]);
            let events = ran.events();
            let staged = of(&events, "staged");
            let mut paths: Vec<&str> = staged
                .iter()
                .flat_map(|event| event["changes"].as_array().unwrap())
                .map(|change| change["path"].as_str().unwrap())
                .collect();
            paths.sort_unstable();
            assert_eq!(paths, ["kept.txt", "made.txt"], "{profile} {permission}: {ran:?}");
            assert_eq!(of(&events, "tool_started")[0]["how"], "staged", "{profile}: {ran:?}");
            assert_eq!(place.read("kept.txt").as_deref(), Some("new\n"), "{profile} {permission}");
            let undone = place.run(&["undo"]);
            let now = (place.read("kept.txt"), place.read("made.txt"));
            assert_eq!(now, (Some("old\n".to_owned()), None), "{profile} {permission}: {undone:?}");
        }
        // Outside of the workspace nothing is written, whatever is permitted.
        let outside = place.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        let write = bash(&format!("echo x > {}/file", outside.display()));
        let ran = run(&place, profile, &[write], &["--permission", "full"]);
        assert!(!outside.join("file").exists(), "{profile}: {ran:?}");
        // Where the person says so, commands run as their own do.
        let ran = run(
            &place,
            profile,
            &[bash("echo new > made.txt")],
            &["--permission", "full", "--sandbox", "off"],
        );
        assert_eq!(of(&ran.events(), "tool_started")[0]["how"], "untracked", "{profile}: {ran:?}");
        assert_eq!(place.read("made.txt").as_deref(), Some("new\n"), "{profile}: {ran:?}");
    }
}

// X-17: Alfred's, PedroCLI's and the Go package's calls run one after the other
#[test]
fn commands_of_one_reply_run_side_by_side_where_the_document_lets_them() {
    for profile in PROFILES {
        let place = Place::new();
        let is_parallel = ["ally", "opencode"].contains(&profile);
        // Commands that may change something follow one another under every profile; PedroCLI's list has no `date`.
        let wait = |n: u8| match is_parallel {
            true => bash(&format!("echo {n}; date +%s.%N; sleep 1; date +%s.%N")),
            false => bash(&format!(
                "python3 -c 'import time; print({n}, time.time()); time.sleep(1); print(time.time())'"
            )),
        };
        let ran = run(&place, profile, &[wait(1), wait(2)], &["--permission", "full"]);
        let events = ran.events();
        let times = of(&events, "tool_ended").into_iter().map(|event| {
            let said = event["details"]["stdout"].as_str().unwrap_or_else(|| panic!("{event}"));
            let numbers: Vec<f64> = said.split_whitespace().map(|word| word.parse().unwrap()).collect();
            (numbers[0], numbers[1], numbers[2])
        });
        let mut times: Vec<(f64, f64, f64)> = times.collect();
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let overlap = times[1].1 < times[0].2;
        assert_eq!(overlap, is_parallel, "{profile}: {times:?}");
    }
}

/// The call of a document's example, and where its file lies.
fn example(profile: &str, path: &str) -> (&'static str, Value) {
    match profile {
        "alfred" => ("read", json!({"path": path})),
        "pedro" => ("file", json!({"path": path})),
        "ally" => ("read", json!({"file_paths": [path]})),
        "opencode" => ("read", json!({"filePath": path})),
        _ => ("read_file", json!({"path": path})),
    }
}

// "Read the file /tmp/test.txt and tell me what it says", `{"path": "/tmp/foo"}`
#[test]
fn a_file_of_an_example_is_asked_for_and_read() {
    let outside = tempfile::tempdir_in("/tmp").unwrap();
    let file = outside.path().join("test.txt");
    std::fs::write(&file, "Hello World\n").unwrap();
    let path = file.to_str().unwrap();
    for profile in PROFILES {
        let place = Place::new();
        let read = example(profile, path);
        // Without a terminal the refusal names what allows it, and that does.
        let ran = run(&place, profile, std::slice::from_ref(&read), &[]);
        assert_eq!(ran.code, 4, "{profile}: {ran:?}");
        assert!(!ran.out.contains("Hello World") && ran.err.contains("`--permission full`"), "{ran:?}");
        let ran = run(&place, profile, std::slice::from_ref(&read), &["--permission", "full"]);
        let events = ran.events();
        let told = of(&events, "tool_ended")[0]["content"].as_str().unwrap();
        assert!(ran.code == 0 && told.contains("Hello World"), "{profile}: {ran:?}");
        // In a terminal the question is asked.
        let place = Place::new();
        place.script("m.jsonl", &[calls(profile, &[read]), json!({"say": DONE})]);
        let Some(terminal) = Terminal::open(&place, (100, 30)) else { return };
        let prompt = format!("Read the file {path} and tell me what it says");
        terminal.haft(&place, &format!("prompt --profile {profile} --model script/../m.jsonl '{prompt}'"));
        let screen = terminal.see("allow?");
        assert!(screen.contains("test.txt"), "{profile}: {screen}");
        terminal.say("y");
        let screen = terminal.see("left 0");
        assert!(screen.contains(DONE), "{profile}: {screen}");
        let journal = std::fs::read_to_string(place.journal()).unwrap();
        assert!(journal.contains("Hello World"), "{profile}: {journal}");
    }
}

/// A command sees a `/tmp` of its own, and the model is told so, with the way to ask for the machine's.
#[test]
fn a_command_that_misses_a_file_of_an_example_is_told_how_to_ask_for_it() {
    let outside = tempfile::tempdir_in("/tmp").unwrap();
    let file = outside.path().join("foo");
    std::fs::write(&file, "Hello from /tmp/foo\n").unwrap();
    let line = format!("cat {}", file.display());
    for profile in ["default", "alfred", "ally", "opencode", "picoclaw"] {
        let place = Place::new();
        let ran = run(&place, profile, &[bash(&line)], &["--permission", "full"]);
        let events = ran.events();
        let told = &of(&events, "tool_ended")[0].to_string();
        assert!(!told.contains("Hello from"), "{profile}: {told}");
        let live = ("bash", json!({"command": line, "needs": ["live"]}));
        let ran = run(&place, profile, std::slice::from_ref(&live), &[]);
        assert_eq!(ran.code, 4, "{profile}: {ran:?}");
        let ran = run(&place, profile, &[live], &["--permission", "full"]);
        let told = &of(&ran.events(), "tool_ended")[0].to_string();
        assert!(told.contains("Hello from /tmp/foo"), "{profile}: {told}");
    }
    let ran = run(&Place::new(), "default", &[bash(&line)], &["--permission", "full"]);
    let told = &of(&ran.events(), "tool_ended")[0].to_string();
    assert!(told.contains("commands have a `/tmp` of their own"), "{told}");
}
