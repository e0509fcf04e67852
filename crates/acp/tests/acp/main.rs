//! Haft in an editor: the client side of the official library, a real engine, a scripted model.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod files;
mod kit;
mod parts;
mod schema;
mod sessions;
mod undo;

use agent_client_protocol::{
    ErrorCode,
    v1::schema::{
        AudioContent, ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent, ResourceLink,
        StopReason, TextContent, TextResourceContents,
    },
};
use haft_core::{Message, Mode, Part};
use kit::{Ide, Person, Place, Saves, call, edit, scripted};
use serde_json::{Value, json};

fn writing() -> Vec<Value> {
    let first = call("write", json!({"path": "a.txt", "content": "one\n"}));
    let second = call("write", json!({"path": "a.txt", "content": "two\n"}));
    vec![first, second, json!({"say": "Written."})]
}

// A-34, O-08
#[tokio::test]
async fn a_reply_is_streamed_and_its_calls_are_shown() {
    let place = Place::new();
    place.write("a.txt", "hello\n");
    let script = [
        json!({"think": "Hm.", "say": "I will look.", "pieces": 3,
               "calls": [{"id": "x", "name": "read", "arguments": {"file_path": "a.txt", "offset": 1}}]}),
        json!({"expect": "hello", "say": "It says \u{1b}[2Jhello.",
               "calls": [{"id": "x", "name": "read", "arguments": {"path": "b.txt"}}]}),
        json!({"say": "No more."}),
    ];
    let ide = Ide::new(&place, Person::Waits, Saves::Nothing);
    let ide = edit(&place, scripted(&script), ide, async |ide| {
        let session = ide.session().await;
        assert_eq!(ide.prompt(&session, "Look").await.unwrap(), StopReason::EndTurn);
    })
    .await;
    // D15
    assert_eq!(ide.text("agent_message_chunk"), "I will look.It says [2Jhello.No more.");
    assert_eq!(ide.text("agent_thought_chunk"), "Hm.");
    let ids: Vec<Value> = ide.told("tool_call").iter().map(|call| call["toolCallId"].clone()).collect();
    assert_eq!(ids, ["0-x", "1-x"], "names of calls come again, names of the editor do not");
    let updates = ide.updates.lock().unwrap().clone();
    let last = |id: &str, key: &str| {
        let mut of_it = updates.iter().filter(|update| update["toolCallId"] == id && !update[key].is_null());
        of_it.next_back().unwrap()[key].clone()
    };
    assert_eq!(last("0-x", "kind"), "read");
    assert_eq!(last("0-x", "title"), "read a.txt");
    assert_eq!(last("0-x", "locations"), json!([{"path": place.work().join("a.txt"), "line": 1}]));
    assert_eq!(last("0-x", "rawInput"), json!({"path": "a.txt", "offset": 1}));
    assert_eq!((last("0-x", "status"), last("1-x", "status")), (json!("completed"), json!("failed")));
    assert!(last("0-x", "rawOutput").to_string().contains("hello"));
    assert!(last("1-x", "content")[0]["content"]["text"].as_str().unwrap().contains("cannot read `b.txt`"));
}

// C-72
#[tokio::test]
async fn a_call_that_asks_shows_its_diff_and_does_what_the_person_says() {
    let table = [
        (Person::Picks("once"), 2, Some("two\n"), "completed", StopReason::EndTurn),
        (Person::Picks("always"), 1, Some("two\n"), "completed", StopReason::EndTurn),
        (Person::Picks("no"), 2, None, "failed", StopReason::EndTurn),
        (Person::Closes, 1, None, "failed", StopReason::Cancelled),
    ];
    for (person, questions, file, status, stop) in table {
        let place = Place::new();
        let ide = Ide::new(&place, person, Saves::Nothing);
        let ide = edit(&place, scripted(&writing()), ide, async |ide| {
            let session = ide.session().await;
            assert_eq!(ide.prompt(&session, "Write").await.unwrap(), stop);
        })
        .await;
        let asked = ide.asked.lock().unwrap().clone();
        assert_eq!((asked.len(), place.read("a.txt").as_deref()), (questions, file), "{status}");
        let kinds: Vec<&Value> =
            asked[0]["options"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
        assert_eq!(kinds, ["allow_once", "allow_always", "reject_once", "reject_once"]);
        let diff = json!({"type": "diff", "path": place.work().join("a.txt"), "newText": "one\n"});
        assert_eq!(asked[0]["toolCall"]["content"][0], diff);
        let call = ide.call("write");
        assert_eq!(call["status"], status);
        if status == "completed" {
            assert_eq!(call["content"][0]["newText"], "two\n");
        }
    }
}

// D15, D60
#[tokio::test]
async fn a_question_about_a_command_hides_nothing() {
    let place = Place::new();
    let hiding = format!("touch owned\n{}echo <!-- \u{202e}ok", "\n".repeat(45));
    let arguments = json!({"command": hiding, "working_dir": "/", "timeout": 7});
    let script = [json!({"calls": [{"name": "bash", "arguments": arguments}]}), json!({"say": "Then not."})];
    let ide = Ide::new(&place, Person::Picks("no"), Saves::Nothing);
    let ide = edit(&place, scripted(&script), ide, async |ide| {
        let session = ide.session().await;
        ide.prompt(&session, "Run").await.unwrap();
    })
    .await;
    let asked = ide.asked.lock().unwrap()[0]["toolCall"].clone();
    let text = asked["content"][0]["content"]["text"].as_str().unwrap();
    let title = asked["title"].as_str().unwrap();
    for expected in ["touch owned\\n\\n", "echo <!-- \\u{202e}ok"] {
        assert!(text.contains(expected) && title.contains(expected), "{expected} in {asked}");
    }
    for expected in ["outside of the workspace, in `/`", "timeout: 7", "always: this command in this folder"]
    {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(
        text.starts_with("```\n") && text.ends_with("\n```"),
        "as it stands, where Markdown is shown: {text}"
    );
}

// O-11, C-72
#[tokio::test]
async fn cancelling_stops_a_call_that_waits_for_its_person() {
    let place = Place::new();
    let ide = Ide::new(&place, Person::Waits, Saves::Nothing);
    let ide = edit(&place, scripted(&writing()[..1]), ide, async |ide| {
        let session = ide.session().await;
        let stop = async {
            ide.hears("allow_once").await;
            ide.cancel(&session);
        };
        let (stopped, ()) = tokio::join!(ide.prompt(&session, "Write"), stop);
        assert_eq!(stopped.unwrap(), StopReason::Cancelled);
        // The session goes on, and there is no more script.
        assert_eq!(ide.prompt(&session, "And now?").await.unwrap_err().code, ErrorCode::INTERNAL_ERROR);
    })
    .await;
    assert_eq!((ide.call("write")["status"].clone(), place.read("a.txt")), (json!("failed"), None));
    let lines = ide.lines.lock().unwrap();
    assert!(lines.iter().any(|(_, line)| line["method"] == "$/cancel_request"));
}

// O-11, C-28
#[tokio::test]
async fn cancelling_stops_a_running_command() {
    let place = Place::with(Mode::Full);
    let script = [call("bash", json!({"command": "echo begun; sleep 1000"}))];
    let ide = Ide::new(&place, Person::Waits, Saves::Nothing);
    let ide = edit(&place, scripted(&script), ide, async |ide| {
        let session = ide.session().await;
        let stop = async {
            ide.hears("begun\\n").await;
            ide.cancel(&session);
        };
        let (stopped, ()) = tokio::join!(ide.prompt(&session, "Wait"), stop);
        assert_eq!(stopped.unwrap(), StopReason::Cancelled);
    })
    .await;
    let call = ide.call("bash");
    assert_eq!((&call["kind"], &call["status"]), (&json!("execute"), &json!("failed")));
    assert_eq!(call["title"], "`echo begun; sleep 1000`");
}

// A-68
/// The signature of a PNG in base64.
const DOT: &str = "iVBORw0KGgo=";

#[tokio::test]
async fn a_prompt_holds_text_pictures_and_files() {
    let place = Place::new();
    let model = scripted(&[json!({"say": "I see."}), json!({"say": "Mended."})]);
    let link = format!("file://{}/src/a%20b.rs", place.work().display());
    let blocks = vec![
        ContentBlock::Text(TextContent::new("Look at ")),
        ContentBlock::ResourceLink(ResourceLink::new("a b.rs", link.clone())),
        ContentBlock::Text(TextContent::new(" please")),
        ContentBlock::Image(ImageContent::new(DOT, "image/jpeg")),
        ContentBlock::Resource(EmbeddedResource::new(EmbeddedResourceResource::TextResourceContents(
            TextResourceContents::new("fn a() {}", link),
        ))),
    ];
    let ide = Ide::new(&place, Person::Waits, Saves::Nothing);
    let asks = model.clone();
    let ide = edit(&place, asks, ide, async |ide| {
        let session = ide.session().await;
        assert_eq!(ide.say(&session, blocks).await.unwrap(), StopReason::EndTurn);
        assert_eq!(ide.prompt(&session, "/fix the test").await.unwrap(), StopReason::EndTurn);
        let refused = [
            (vec![ContentBlock::Audio(AudioContent::new("aGk=", "audio/wav"))], "cannot hear"),
            (vec![ContentBlock::Image(ImageContent::new("aGk=", "image/png"))], "cannot show `image/png`"),
            (vec![ContentBlock::Image(ImageContent::new("a", "image/tiff"))], "cannot show `image/tiff`"),
            (vec![ContentBlock::Text(TextContent::new(" \n"))], "the prompt is empty"),
            (vec![ContentBlock::Text(TextContent::new("/fxi it"))], "there is no command `/fxi it`"),
        ];
        for (blocks, expected) in refused {
            let error = ide.say(&session, blocks).await.unwrap_err();
            assert!(
                error.message.starts_with(expected) && error.code == ErrorCode::INVALID_PARAMS,
                "{error:?}"
            );
        }
    })
    .await;
    let said = |request: usize| match model.requests()[request].messages.last().map(AsRef::as_ref) {
        Some(Message::User { parts }) => parts.clone(),
        other => panic!("{other:?}"),
    };
    let Part::Image(image) = said(0)[1].clone() else { panic!() };
    assert_eq!((image.mime.as_str(), image.data.as_str()), ("image/png", DOT));
    let text = "Look at [@a b.rs](src/a b.rs) please\n\n`src/a b.rs`:\n```\nfn a() {}\n```";
    assert_eq!(said(0)[0], Part::text(text));
    assert_eq!(said(1)[0], Part::text("Please mend the test."));
    let commands = ide.told("available_commands_update");
    let names = commands[0]["availableCommands"].as_array().unwrap().iter().map(|command| &command["name"]);
    assert_eq!(names.collect::<Vec<_>>(), ["plan", "goal", "memory", "undo", "redo", "outbox", "fix"]);
}

#[tokio::test]
async fn a_list_of_steps_is_the_plan_and_choices_are_options() {
    let place = Place::with(Mode::Full);
    let items = json!([
        {"text": "look", "status": "done"}, {"text": "mend", "status": "in_progress"}, {"text": "test", "status": "pending"},
    ]);
    let script = [
        call("todo", json!({"items": items})),
        call("ask", json!({"question": "Which?", "choices": ["red", "blue"]})),
        json!({"expect": "blue", "calls": [{"name": "ask", "arguments": {"question": "Why?"}}]}),
        json!({"say": "Fine."}),
    ];
    let ide = Ide::new(&place, Person::Picks("1"), Saves::Nothing);
    let ide = edit(&place, scripted(&script), ide, async |ide| {
        let session = ide.session().await;
        assert_eq!(ide.prompt(&session, "Plan").await.unwrap(), StopReason::EndTurn);
    })
    .await;
    let plan = ide.told("plan").remove(0);
    let told: Vec<_> = plan["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (&entry["content"], &entry["status"]))
        .collect();
    let entry = |text: &str, status: &str| (json!(text), json!(status));
    let expected = [entry("look", "completed"), entry("mend", "in_progress"), entry("test", "pending")];
    assert_eq!(told, expected.iter().map(|(text, status)| (text, status)).collect::<Vec<_>>());
    let asked = ide.asked.lock().unwrap();
    assert_eq!(asked.len(), 1, "a question without choices cannot be asked");
    assert_eq!(asked[0]["options"][1]["name"], "blue");
}

#[tokio::test]
async fn what_is_said_anew_is_shown_once_and_faults_are_errors() {
    let place = Place::new();
    let script =
        [json!({"say": "Hel", "fail": "the line broke", "kind": "rejected"}), json!({"say": "Hello."})];
    let ide = Ide::new(&place, Person::Waits, Saves::Nothing);
    let ide = edit(&place, scripted(&script), ide, async |ide| {
        let session = ide.session().await;
        let error = ide.prompt(&session, "Hi").await.unwrap_err();
        assert!(error.message.contains("the line broke"), "{error:?}");
        assert_eq!(ide.prompt(&session, "Hi").await.unwrap(), StopReason::EndTurn);
        let unknown = ide.prompt("no-such-session", "Hi").await.unwrap_err();
        assert_eq!(unknown.code, ErrorCode::RESOURCE_NOT_FOUND);
        assert!(unknown.message.contains("there is no session `no-such-session`"), "{unknown:?}");
    })
    .await;
    assert_eq!(ide.text("agent_message_chunk"), "HelHello.");
}

#[tokio::test]
async fn a_session_works_on_one_prompt_at_a_time() {
    let place = Place::new();
    let script = [json!({"say": "Slowly", "hang": true})];
    let ide = Ide::new(&place, Person::Waits, Saves::Nothing);
    edit(&place, scripted(&script), ide, async |ide| {
        let session = ide.session().await;
        let second = async {
            ide.hears("Slowly").await;
            let error = ide.prompt(&session, "And?").await.unwrap_err();
            assert!(error.message.starts_with("a prompt is being worked on"), "{error:?}");
            ide.cancel(&session);
        };
        let (stopped, ()) = tokio::join!(ide.prompt(&session, "Go"), second);
        assert_eq!(stopped.unwrap(), StopReason::Cancelled);
    })
    .await;
}
