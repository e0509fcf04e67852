//! Parts of a proposal are accepted, and refusals explained, in an editor.
use crate::kit::{Ide, Person, Place, Saves, call, edit, scripted};
use agent_client_protocol::v1::schema::StopReason;
use haft_core::Fact;
use serde_json::{Value, json};

/// Asks about a call once `a.txt` is read: the options, the result that the model reads, and why the turn ended.
async fn asked_about(place: &Place, call: Value, person: Person) -> (Vec<String>, String, StopReason) {
    let ide = Ide::new(place, person, Saves::Nothing);
    let mut stop = None;
    let script = [crate::kit::call("read", json!({"path": "a.txt"})), call, json!({"say": "As you like."})];
    let ide = edit(place, scripted(&script), ide, async |ide| {
        let session = ide.session().await;
        stop = Some(ide.prompt(&session, "Write").await.unwrap());
    })
    .await;
    let asked = ide.asked.lock().unwrap()[0].clone();
    let names =
        asked["options"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned());
    let home = place.home();
    let entries = home.peek(&home.list()[0].id.0).unwrap();
    let result = entries.iter().rev().find_map(|entry| match &entry.fact {
        Fact::ToolEnded { result, .. } => Some(format!("{}{:?}", result.content, result.error)),
        _ => None,
    });
    (names.collect(), result.unwrap(), stop.unwrap())
}

// H-26
#[tokio::test]
async fn a_part_of_a_proposal_is_accepted_and_the_model_reads_what_was_not() {
    let lines = |first: &str, last: &str| {
        let middle: String = (2..20).map(|number| format!("line {number}\n")).collect();
        format!("{first}\n{middle}{last}\n")
    };
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n line 2\n@@\n line 19\n-twenty\n+20\n\
                 *** Add File: d/b.txt\n+new\n*** End Patch";
    let options = [
        "Allow",
        "Always allow in this session",
        "Allow only a.txt",
        "Allow only d/b.txt",
        "Allow only line 1 of a.txt",
        "Allow only line 20 of a.txt",
        "Reject",
        "Reject and say why in the next prompt",
    ];
    let table = [
        ("part-0", lines("1", "20"), None, &["Changed: a.txt", "+new"][..]),
        ("part-1", lines("one", "twenty"), Some("new\n"), &["Changed: d/b.txt", "-twenty"]),
        ("part-2", lines("1", "twenty"), None, &["Changed: a.txt", "+20", "+new"]),
        ("part-3", lines("one", "20"), None, &["Changed: a.txt", "+1", "+new"]),
    ];
    for (option, a, b, said) in table {
        let place = Place::new();
        place.write("a.txt", &lines("one", "twenty"));
        let apply = call("apply_patch", json!({"patch": patch}));
        let (names, result, stop) = asked_about(&place, apply, Person::Picks(option)).await;
        assert_eq!((names, stop), (options.map(str::to_owned).to_vec(), StopReason::EndTurn), "{option}");
        assert_eq!((place.read("a.txt"), place.read("d/b.txt").as_deref()), (Some(a), b), "{option}");
        for words in ["accepted only a part"].iter().chain(said) {
            assert!(result.contains(words), "{option}: {words}: {result}");
        }
    }
}

#[tokio::test]
async fn many_hunks_are_offered_by_their_files_only() {
    let lines =
        |sign: &str| (0..20).map(|part| format!("{sign}{part}\n{}", "same\n".repeat(9))).collect::<String>();
    let (one, many) = (json!({"path": "a.txt", "content": lines("+")}), place_with(&lines("-")));
    let (names, _, _) = asked_about(&many, call("write", one), Person::Picks("no")).await;
    assert_eq!(names.len(), 4, "{names:?}");
}

fn place_with(text: &str) -> Place {
    let place = Place::new();
    place.write("a.txt", text);
    place
}

// H-28
#[tokio::test]
async fn a_reason_is_said_with_the_next_prompt() {
    let place = Place::new();
    let ide = Ide::new(&place, Person::Picks("no-because"), Saves::Nothing);
    let write = call("write", json!({"path": "a.txt", "content": "one\n"}));
    let script = [write, json!({"expect": "name it b.txt", "say": "I will."})];
    let ide = edit(&place, scripted(&script), ide, async |ide| {
        let session = ide.session().await;
        assert_eq!(ide.prompt(&session, "Write").await.unwrap(), StopReason::EndTurn);
        ide.hears("your next prompt says what to do instead").await;
        assert_eq!(ide.prompt(&session, "name it b.txt").await.unwrap(), StopReason::EndTurn);
        ide.hears("I will.").await;
    })
    .await;
    assert_eq!((place.read("a.txt"), ide.call("write")["status"].as_str()), (None, Some("failed")));
}
