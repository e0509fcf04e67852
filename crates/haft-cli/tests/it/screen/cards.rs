//! What a person sees of calls, of what they run themselves, and of what goes on.

use crate::kit::{Place, Server, openai_text, terminal::Terminal};
use serde_json::{Value, json};

fn opened(place: &Place, how: &str, script: &[Value]) -> Option<Terminal> {
    place.script("model.jsonl", script);
    let terminal = Terminal::open(place, (90, 40))?;
    terminal.haft(place, &format!("{how} --model script/../model.jsonl"));
    terminal.see(if how.starts_with("chat") { "to leave." } else { "what to do?" });
    Some(terminal)
}

fn bash(command: &str) -> Value {
    json!({"name": "bash", "arguments": {"command": command}})
}

fn todo(states: [&str; 3]) -> Value {
    let steps = ["find it", "mend it", "test it"].into_iter().zip(states);
    let items: Vec<Value> = steps.map(|(text, status)| json!({"text": text, "status": status})).collect();
    json!({"calls": [{"name": "todo", "arguments": {"items": items}}]})
}

/// C-51: the mark tells what came of a command, in numbers.
#[test]
fn a_command_that_failed_says_so_in_numbers() {
    for how in ["--permission full", "chat --permission full"] {
        let place = Place::unconfined();
        let script = [
            json!({"calls": [bash("echo '2 failed, 14 passed in 0.1s'; exit 1")]}),
            json!({"calls": [bash("exit 7")]}),
            json!({"calls": [bash("seq 9; echo fine")]}),
            json!({"say": "Two of three failed."}),
        ];
        let Some(terminal) = opened(&place, how, &script) else { return };
        terminal.say("run them");
        let screen = terminal.see("Two of three failed.");
        let expected = match how.starts_with("chat") {
            false => [
                "✗ bash echo '2 failed, 14 passed in 0.1s'; exit 1  2 failed, 14 passed",
                "✗ bash exit 7  exit code 7",
                "✓ bash seq 9; echo fine\n  … 7 earlier lines (Ctrl+O shows all)\n  8\n  9\n  fine\n",
            ],
            true => ["  ✗ 2 failed, 14 passed", "  ✗ exit code 7", "    fine\n"],
        };
        for line in expected {
            assert!(screen.contains(line), "{how}: {line} in {screen}");
        }
    }
}

/// However little of it the result holds, its lines are counted, and Ctrl+O shows all of them.
#[test]
fn of_a_long_output_all_lines_are_counted_and_shown() {
    let table = [
        ("seq 1 3000", "2997", 3000),
        ("seq 1 9 && seq 10 2000 >&2", "1997", 2000),
        ("seq 1 90000; exit 3", "89997", 90_000),
        ("seq 1 5", "2", 5),
    ];
    for (command, earlier, last) in table {
        let place = Place::new();
        let script = [json!({"calls": [bash(command)]}), json!({"say": "Counted."})];
        let Some(terminal) = opened(&place, "--permission full", &script) else { return };
        terminal.say("count");
        let screen = terminal.see("Counted.");
        let expected = format!("  … {earlier} earlier lines (Ctrl+O shows all)\n");
        assert!(screen.contains(&expected), "{command}: {screen}");
        terminal.keys(&["C-o"]);
        terminal.see("q to close");
        terminal.keys(&["g"]);
        let mut rows = terminal.see("q to close");
        for _ in 0..6 {
            terminal.keys(&["NPage"]);
            rows += &terminal.see("q to close");
        }
        terminal.keys(&["G"]);
        let end = terminal.see("q to close");
        assert!(end.contains(&format!("    {last}\n")), "{command}: {end}");
        let seen = rows + &end;
        // All of it is there: nothing is said to be left out, and the page has as many rows.
        assert!(!seen.contains("left out"), "{command}: {seen}");
        for number in 1..last.min(200) {
            assert!(seen.contains(&format!("    {number}\n")), "{command}: {number} in {seen}");
        }
        let rows =
            end.lines().last().and_then(|foot| foot.split(" of ").nth(1)?.split(' ').next()?.parse().ok());
        assert!(rows >= Some(last) && rows < Some(last + 40), "{command}: {rows:?} in {end}");
    }
}

/// A list of steps is boxes, and the step at work is seen while the turn goes.
#[test]
fn a_plan_is_a_list_of_boxes_and_its_progress_is_seen() {
    let place = Place::unconfined();
    let script = [
        todo(["done", "in_progress", "pending"]),
        json!({"calls": [bash("until test -e go; do sleep 0.05; done")]}),
        json!({"say": "Done."}),
    ];
    let Some(terminal) = opened(&place, "--permission full", &script) else { return };
    terminal.say("plan it");
    let screen = terminal.see("running bash");
    let boxes = "✓ todo 1 of 3 done\n  ☑ find it\n  ◐ mend it\n  ☐ test it\n";
    assert!(screen.contains(boxes), "{screen}");
    assert!(screen.contains("1 of 3 done: mend it"), "{screen}");
    place.write("go", "");
    let screen = terminal.see("Done.");
    assert!(!screen.contains("1 of 3 done: mend it"), "{screen}");

    let script = [todo(["done", "done", "in_progress"]), json!({"say": "Done."})];
    let Some(terminal) = opened(&place, "chat", &script) else { return };
    terminal.say("plan it");
    let screen = terminal.see("Done.");
    for line in ["● todo 3 items\n", "☑ mend it\n", "◐ test it\n"] {
        assert!(screen.contains(line), "{line} in {screen}");
    }
}

/// Who types a command has allowed it, whatever the model may do; it is shown whole, and read with the next prompt.
#[test]
fn a_command_that_a_person_types_runs_unasked_and_is_read() {
    for how in ["--permission read-only", "chat --permission ask"] {
        let place = Place::unconfined();
        let server = Server::start(vec![openai_text("I read it.")]);
        let Some(terminal) = Terminal::open(&place, (90, 40)) else { return };
        let model = format!("--model llamacpp/any --base-url {}/v1", server.address);
        terminal.haft(&place, &format!("{how} {model}"));
        terminal.see(if how.starts_with("chat") { "to leave." } else { "what to do?" });
        terminal.say("!for row in $(seq 12); do echo row $row; done; touch made");
        let screen = terminal.see("row 12\n");
        assert!((1..=12).all(|row| screen.contains(&format!("row {row}\n"))), "{how}: {screen}");
        assert!(place.read("made").is_some());
        terminal.say("what does it say?");
        terminal.see("I read it.");
        let asked = server.asked().pop().unwrap_or_default()["messages"].to_string();
        assert!(asked.contains("row 11\\nrow 12"), "{how}: {asked}");
    }
}

/// What goes on is named as it is.
#[test]
fn the_status_tells_what_goes_on() {
    let hanging = [
        ("thinking", json!({"think": "Let me see", "hang": true})),
        ("responding", json!({"say": "I see", "hang": true})),
    ];
    for (status, line) in hanging {
        let place = Place::unconfined();
        let Some(terminal) = opened(&place, "", &[line]) else { return };
        terminal.say("begin");
        terminal.see(status);
    }
    let place = Place::unconfined();
    let script = [
        json!({"calls": [bash("until test -e go; do sleep 0.05; done")]}),
        json!({"calls": [{"name": "ask", "arguments": {"question": "Red?"}}]}),
        json!({"say": "Then red."}),
    ];
    let Some(terminal) = opened(&place, "--permission full", &script) else { return };
    terminal.say("go on");
    terminal.see("running bash");
    place.write("go", "");
    terminal.see("waiting for you");
    terminal.say("yes");
    terminal.see("Then red.");
    terminal.no_longer_see("Esc to interrupt");
    // A summary is what the first line says, which takes its time.
    let place = Place::unconfined();
    let slow = json!({"say": "one two three four five six", "pieces": 8, "delay_ms": 250});
    let Some(terminal) = opened(&place, "", &[slow, json!({"say": "And more."})]) else { return };
    for (say, answer) in [("begin", "five six"), ("go on", "And more.")] {
        terminal.say(say);
        terminal.see(answer);
        terminal.no_longer_see("Esc to interrupt");
    }
    terminal.say("/compact");
    terminal.see("summarizing");
    terminal.see("summarized to save room");
}
