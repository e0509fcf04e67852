//! A server that asks for answers of a model (sampling): what the person reads, what is recorded, what is refused.
use super::peer::program;
use crate::kit::{
    Place, call,
    terminal::{Terminal, poll},
};
use serde_json::{Value, json};

/// A place whose one server is `sampler.py`, and what `--model` takes. Its call sums up `what`.
///
/// A script counts the replies that a request tells of: that of the server tells of two, and gets the third step.
fn place(setting: &str, what: &str) -> Option<(Place, String)> {
    let place = Place::new();
    program(&place)?;
    let server = place.write("sampler.py", include_str!("sampler.py"));
    place.configure(&format!("[mcp.notes]\ncommand = \"python3\"\narguments = [{server:?}]\n{setting}\n"));
    let mut first = call("mcp__notes__sum_up", json!({"what": what}));
    first["usage"] = json!({"input": 50_000, "output": 10});
    let answer =
        json!({"say": "All in all.", "usage": {"input": 30, "output": 7}, "expect": "Sum up the notes."});
    let model = place.script("m", &[first, json!({"say": "done"}), answer]);
    Some((place, model))
}

/// The entries of these types, in their order.
fn entries(place: &Place, types: &[&str]) -> Vec<Value> {
    let journal = std::fs::read_to_string(place.journal()).unwrap();
    let entries = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.filter(|entry| types.contains(&entry["type"].as_str().unwrap())).collect()
}

/// What the model was told by the call.
fn result(place: &Place) -> String {
    entries(place, &["tool_ended"])[0]["content"].as_str().unwrap().to_owned()
}

/// A conversation in which the person says `answer` to the question; returns the question.
fn asked(place: &Place, model: &str, options: &str, answer: &str) -> Option<String> {
    let terminal = Terminal::open(place, (120, 40))?;
    terminal.haft(place, &format!("chat --permission full --model {model} {options}"));
    terminal.see("`exit` to leave.");
    terminal.say("go");
    let question = terminal.see("answer to the server?");
    terminal.say(answer);
    poll(|| !entries(place, &["turn_ended"]).is_empty(), || "the end of the turn".into());
    terminal.say("exit");
    terminal.see("left ");
    Some(question)
}

// H-60
#[test]
fn a_server_gets_an_answer_that_the_person_agreed_to_and_pays_for() {
    let Some((place, model)) = place("sampling = true", "the notes") else { return };
    let Some(question) = asked(&place, &model, "", "yes") else { return };
    for part in [
        "The MCP server `notes` wants to ask `script/",
        "at most 500 tokens",
        "system: Be brief.",
        "user: Sum up the notes.",
    ] {
        assert!(question.contains(part), "{part}: {question}");
    }
    let types = ["question_asked", "question_answered", "sampled", "tool_ended", "turn_ended"];
    let entries = entries(&place, &types);
    let found: Vec<&str> = entries.iter().map(|entry| entry["type"].as_str().unwrap()).collect();
    assert_eq!(found, types);
    assert_eq!((&entries[2]["server"], &entries[2]["text"]), (&json!("notes"), &json!("All in all.")));
    assert_eq!(entries[3]["content"], "endTurn: All in all.");
    assert_eq!((&entries[4]["usage"]["input"], &entries[4]["usage"]["output"]), (&json!(50_030), &json!(17)));
}

// H-60
#[test]
fn a_replay_needs_no_model_for_what_was_answered() {
    let Some((place, model)) = place("sampling = true", "the notes") else { return };
    if asked(&place, &model, "", "yes").is_none() {
        return;
    }
    std::fs::remove_file(place.path().join("m")).unwrap();
    let id = place.journal().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let replayed = place.run(&["sessions", "replay", &id, "--permission", "full"]);
    assert!(replayed.code == 0 && replayed.out.contains("no difference: 1 call"), "{replayed:?}");
}

// H-60
#[test]
fn what_the_person_does_not_want_or_the_budget_does_not_allow_is_not_asked() {
    let table = [
        ("", "no", "refused: the request was rejected: the person declined"),
        (
            "--max-tokens 50100",
            "yes",
            "refused: the model gave no answer: the budget of 50100 tokens is used up: 50010 spent, which leaves too little for the next request",
        ),
    ];
    for (options, answer, expected) in table {
        let Some((place, model)) = place("sampling = true", "the notes") else { return };
        if asked(&place, &model, options, answer).is_none() {
            return;
        }
        assert_eq!(result(&place), expected);
        assert!(entries(&place, &["sampled"]).is_empty());
    }
}

// H-61
#[test]
fn without_a_person_or_a_prompt_that_one_can_read_no_model_is_asked() {
    let long =
        "refused: cannot ask a model: a person must read the prompt, and it has 30019 bytes; at most 20000";
    let table = [
        ("", "the notes", "this client has no model"),
        (
            "sampling = true",
            "the notes",
            "refused: the request was rejected: there is no person who could agree",
        ),
        (
            "sampling = true",
            "a picture",
            "refused: cannot ask a model: the prompt has something other than text",
        ),
        ("sampling = true", "too much", long),
    ];
    for (setting, what, expected) in table {
        for options in [&["--permission", "full"][..], &["--permission", "full", "--outbox"]] {
            // What only reads is not queued.
            let setting = format!("{setting}\ntrust_hints = true");
            let Some((place, model)) = place(&setting, what) else { return };
            let ran = place.run(&[&["run", "--model", &model], options, &["go"]].concat());
            assert_eq!((ran.code, ran.out.as_str()), (0, "done\n"), "{options:?} {what}: {ran:?}");
            assert_eq!(result(&place), expected, "{options:?} {what}");
            assert!(entries(&place, &["sampled"]).is_empty());
        }
    }
}

/// A program that makes one call in place of a model has none.
// H-61
#[test]
fn a_call_without_a_conversation_has_no_model() {
    let Some((place, _)) = place("sampling = true", "the notes") else { return };
    let arguments = json!({"what": "the notes"}).to_string();
    let called = place.run(&["tools", "call", "mcp__notes__sum_up", &arguments, "--permission", "full"]);
    assert!(called.out.contains("refused: the request was rejected: there is no model to ask"), "{called:?}");
}
