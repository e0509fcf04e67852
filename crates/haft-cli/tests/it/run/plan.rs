//! Plan mode: nothing is changed until a person accepts the plan, as it is or as they edited it.
use crate::kit::{Place, bash, call, drip::Drip, terminal::Terminal};
use serde_json::{Value, json};
use std::fs;

fn say(text: &str) -> Value {
    json!({"say": text})
}

fn edit() -> Value {
    call("edit", json!({"path": "a.txt", "old_text": "one", "new_text": "two"}))
}

fn expecting(mut line: Value, text: &str) -> Value {
    line["expect"] = json!(text);
    line
}

const PLAN: &str = "1. Write two into a.txt.";

// H-05
#[test]
fn a_plan_is_printed_and_nothing_is_changed() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    // What rules allow is for the work, not for its plan.
    place.configure("[rules]\nallow = [\"write:**\"]\n");
    let lines = [
        expecting(edit(), "[Plan mode] "),
        expecting(bash("cat a.txt; echo three >a.txt; echo new >b.txt"), "denied: permission is `plan`"),
        expecting(bash("cat a.txt"), "the files that this command changed were dropped"),
        expecting(say(PLAN), "one"),
    ];
    let model = place.script("m", &lines);
    let ran = place.run(&["run", "--plan", "--model", &model, "make it two"]);
    assert_eq!((ran.code, ran.out.trim()), (0, PLAN), "{ran:?}");
    assert_eq!((place.read("a.txt").as_deref(), place.read("b.txt")), (Some("one\n"), None), "{ran:?}");
}

/// Where commands cannot be confined they could change something, and are denied.
#[test]
fn a_command_without_a_view_does_not_run() {
    let place = Place::unconfined();
    place.configure("[rules]\nallow = [\"execute:touch *\"]\n");
    let lines = [bash("touch made"), expecting(say(PLAN), "denied: permission is `plan`")];
    let model = place.script("m", &lines);
    let ran = place.run(&["run", "--permission", "plan", "--model", &model, "make it"]);
    assert_eq!((ran.code, place.read("made")), (0, None), "{ran:?}");
}

/// Whatever folders commands may change otherwise, and whatever hosts they reach without a question.
#[test]
fn a_command_for_a_plan_has_no_network_and_changes_no_other_folder() {
    let place = Place::in_sight();
    let (server, log) = (Drip::start(|_| None), place.path().join("shared/log"));
    let host = server.address.strip_prefix("http://").unwrap();
    fs::create_dir(log.parent().unwrap()).unwrap();
    let command = format!("echo once >>{}; curl -sm 9 -d x http://{host}/; echo done", log.display());
    let asks = json!({"command": command, "needs": [format!("network:{host}")]});
    let run = |network: &str, permission: &str, line: Value, told: &str| {
        place.configure(&format!(
            "network = {network:?}\n[commands]\nprivate_hosts = true\nwritable = [{:?}]\n\
             [rules]\nallow = [\"network:{host}\", \"execute:echo *\"]\n",
            log.parent().unwrap()
        ));
        let model = place.script("m", &[line, expecting(say(PLAN), told)]);
        let ran = place.run(&["run", "--permission", permission, "--model", &model, "make it"]);
        assert_eq!(ran.code, 0, "{network} {permission}: {ran:?}");
    };
    run(host, "plan", bash(&command), "done");
    run("on", "plan", bash(&command), "done");
    run("ask", "plan", call("bash", asks), "denied: permission is `plan`");
    let done = || (server.requests(), fs::read_to_string(&log).unwrap_or_default());
    assert_eq!(done(), (0, String::new()));
    run(host, "accept-edits", bash(&command), "done");
    assert_eq!(done(), (1, "once\n".to_owned()));
}

#[test]
fn without_a_person_a_plan_ends_its_turn() {
    let place = Place::new();
    let lines = [say(PLAN), expecting(say("Done."), "[Plan mode is over]")];
    let model = place.script("m", &lines);
    let input = b"/plan make it two\n/mode ask\ngo on\nEXIT\n";
    let ran = place.run_with_input(&["chat", "--model", &model], input);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains(PLAN) && ran.out.contains("Done."), "{ran:?}");
}

// H-05
#[test]
fn a_plan_is_sent_back_edited_and_accepted_in_a_chat() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    place.write("editor.sh", "sed -i 's/three/two/' \"$1\"\n");
    let better = "1. Write three into a.txt.";
    let accepted = "Carry out this plan:\n\n1. Write two into a.txt.";
    let lines = [
        expecting(say(PLAN), "[Plan mode] "),
        expecting(say(better), "The user says of your plan:\n\nrather three"),
        expecting(edit(), accepted),
        say("It is done."),
    ];
    place.script("m", &lines);
    let Some(terminal) = Terminal::open(&place, (100, 30)) else { return };
    terminal.say("export VISUAL='sh editor.sh'");
    terminal.haft(&place, "--plain --model script/../m");
    terminal.see("`exit` to leave.");
    terminal.say("/plan make it two");
    terminal.see("Carry out this plan?");
    terminal.see("1. yes, in the mode `ask`");
    terminal.see("2. yes, and edit files without asking");
    terminal.say("rather three");
    terminal.see(better);
    terminal.say("e");
    terminal.say("2");
    let screen = terminal.see("It is done.");
    assert!(screen.contains("(the plan is accepted)"), "{screen}");
    assert_eq!(place.read("a.txt").as_deref(), Some("two\n"));
}

// H-05
#[test]
fn a_plan_is_edited_and_accepted_on_the_screen() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    place.write("editor.sh", "test ! -e once || exit 1\ntouch once\nsed -i 's/two/the number two/' \"$1\"\n");
    let lines = [
        say(PLAN),
        expecting(edit(), "Carry out this plan:\n\n1. Write the number two into a.txt."),
        say("It is done."),
    ];
    place.script("m", &lines);
    let Some(terminal) = Terminal::open(&place, (100, 30)) else { return };
    terminal.say("export VISUAL='sh editor.sh'");
    terminal.haft(&place, "--model script/../m");
    terminal.see("script/");
    terminal.say("/plan make it two");
    terminal.see("type e to edit it first · Esc to skip");
    terminal.see(" · plan");
    terminal.say("e");
    terminal.see("edited; choose how it goes on");
    // What was edited stays, also where the editor fails the next time.
    terminal.say("e");
    terminal.see("the question is still open");
    terminal.keys(&["Down", "Enter"]);
    let screen = terminal.see("It is done.");
    assert!(screen.contains("accept-edits"), "{screen}");
    let told = ["· answered: yes, and edit files without asking", "1. Write the number two into a.txt."];
    assert!(told.iter().all(|line| screen.contains(line)), "{screen}");
    assert_eq!(place.read("a.txt").as_deref(), Some("two\n"));
}

/// The question is not in the hands of the process that asked it.
// H-06
#[test]
fn a_session_that_was_killed_while_it_asked_asks_again_and_is_replayed() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let lines =
        [bash("cat a.txt"), say(PLAN), expecting(edit(), "The user accepted your plan."), say("It is done.")];
    place.script("m", &lines);
    let Some(terminal) = Terminal::open(&place, (100, 30)) else { return };
    terminal.haft(&place, "--plain --model script/../m");
    terminal.see("`exit` to leave.");
    terminal.say("/plan make it two");
    terminal.see("Carry out this plan?");
    terminal.signal("KILL");
    terminal.see("left 137");
    terminal.haft(&place, "resume --last --plain --model script/../m");
    terminal.see("Carry out this plan?");
    terminal.say("1");
    terminal.see("allow? y, a, n");
    terminal.say("y");
    terminal.see("It is done.");
    terminal.see("left 0");
    assert_eq!(place.read("a.txt").as_deref(), Some("two\n"));
    let id = place.journal().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let replayed = place.run(&["sessions", "replay", &id]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
}
