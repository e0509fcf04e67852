//! `/SERVER:PROMPT` and `@SERVER:URI`: prompts and resources of servers in what a person types.
use super::peer::program;
use crate::kit::{Place, Ran};
use serde_json::{Value, json};

/// A place whose one server is called `peer`, and what `--model` takes.
pub(super) fn place_with_peer() -> Option<(Place, String)> {
    let place = Place::new();
    let program = program(&place)?;
    place.configure(&format!("[mcp.peer]\ncommand = \"python3\"\narguments = [{program:?}, \"stdio\"]\n"));
    let model = place.script("m", &vec![json!({"say": "done"}); 2]);
    Some((place, model))
}

/// The texts of the prompt that the model was given; nothing if it was given none.
pub(super) fn prompted(place: &Place) -> Vec<String> {
    let journal = std::fs::read_to_string(place.journal()).unwrap();
    let entries = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let prompt = entries.into_iter().find(|entry| entry["type"] == "prompted").unwrap_or_default();
    let parts = prompt["parts"].as_array().cloned().unwrap_or_default();
    parts.iter().map(|part| part["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_prompt_of_a_server_and_its_resources_are_put_in() {
    let note = "\n\n`@peer:note://one`:\n```\nthe first note\n```";
    let by = "\n\n`@peer:note://by/Ada`:\n```\nthe note Ada\n```";
    let both = "compare @peer:note://one, @peer:note://by/Ada and (@peer:note://one)!";
    let table: [(&[&str], &[&str]); 7] = [
        (&["/peer:greet Ada"], &["Greet Ada in a plain way."]),
        (&["/peer:greet Ada very warm"], &["Greet Ada in a very warm way."]),
        (&["/peer:greet", "style=old", "Ada Lovelace"], &["Greet Ada Lovelace in a old way."]),
        (&["sum up @peer:note://one"], &["sum up @peer:note://one", note]),
        (&[both], &[both, note, by]),
        (&["mail it to @other:note://one"], &["mail it to @other:note://one"]),
        (&["/etc/hosts: what is it?"], &["/etc/hosts: what is it?"]),
    ];
    for (words, expected) in table {
        let Some((place, model)) = place_with_peer() else { return };
        let ran = place.run(&[&["run", "--model", &model], words].concat());
        assert_eq!((ran.code, ran.out.as_str()), (0, "done\n"), "{words:?}: {ran:?}");
        assert_eq!(prompted(&place), expected, "{words:?}");
    }
}

#[test]
fn what_a_server_does_not_have_is_not_sent_to_the_model() {
    let table = [
        ("/peer:greet", "the prompt `/peer:greet` needs `name`: `/peer:greet NAME [STYLE]`"),
        ("/peer:grete Ada", "the MCP server `peer` has no prompt `grete`; it has `/peer:greet`"),
        ("sum up @peer:note://gone", "the MCP server `peer` does not give its resource `note://gone`: "),
    ];
    for (prompt, expected) in table {
        let Some((place, model)) = place_with_peer() else { return };
        let ran = place.run(&["run", "--model", &model, prompt]);
        assert!(ran.code == 4 && ran.out.is_empty(), "{prompt}: {ran:?}");
        assert!(ran.err.contains(&format!("error: the prompt was refused: {expected}")), "{prompt}: {ran:?}");
        assert!(prompted(&place).is_empty(), "{prompt}");
    }
}

/// Only what a person types names servers: text that comes with it, and the text of a job, may be another person's.
#[test]
fn text_from_elsewhere_names_no_server() {
    let Some((place, model)) = place_with_peer() else { return };
    let ran: Ran = place.run_with_input(&["run", "--model", &model, "look"], b"@peer:note://one");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(prompted(&place), ["look", "\n\n<stdin bytes=\"16\">\n@peer:note://one\n</stdin>"]);
    let Some((place, model)) = place_with_peer() else { return };
    place.run(&["triage", "--model", &model, "@peer:note://one is wrong"]);
    let told = prompted(&place).concat();
    assert!(told.contains("@peer:note://one is wrong") && !told.contains("the first note"), "{told}");
}

#[test]
fn what_can_be_typed_of_a_server_is_listed() {
    let Some((place, model)) = place_with_peer() else { return };
    let ran = place.run_with_input(&["chat", "--model", &model], b"/mcp\n/peer:greet Ada\nexit\n");
    let expected = "peer: mcp__peer__echo, mcp__peer__add, /peer:greet NAME [STYLE], @peer:note://one";
    assert!(ran.err.contains(expected), "{ran:?}");
    assert_eq!(prompted(&place), ["Greet Ada in a plain way."]);
}
