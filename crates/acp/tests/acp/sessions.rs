//! Sessions over time: modes, loading, leaving, and an editor that does not listen.
use super::kit::{Ide, Person, Place, Saves, call, edit, scripted};
use agent_client_protocol::{
    ErrorCode,
    v1::schema::{
        CloseSessionRequest, ListSessionsRequest, LoadSessionRequest, NewSessionRequest,
        ResumeSessionRequest, SetSessionConfigOptionRequest, SetSessionModeRequest, StopReason,
    },
};
use haft_acp::over_streams;
use haft_core::{Fact, Mode, Outcome};
use serde_json::{Value, json};
use std::path::PathBuf;

fn written() -> Value {
    call("write", json!({"path": "a.txt", "content": "one\n"}))
}

//
#[tokio::test]
async fn a_mode_is_chosen_below_the_ceiling_and_kept() {
    let place = Place { mode: Mode::AcceptEdits, ..Place::new() };
    let script = [json!({"calls": [written()["calls"][0].clone()]}), json!({"say": "Written."})];
    let ide = Ide::new(&place, Person::Waits, Saves::Nothing);
    let mut name = String::new();
    let ide = edit(&place, scripted(&script), ide, async |ide| {
        let made = ide.agent().send_request(NewSessionRequest::new(&ide.work)).block_task().await.unwrap();
        let modes = serde_json::to_value(made.modes).unwrap();
        assert_eq!(modes["currentModeId"], "ask");
        let ids: Vec<&Value> =
            modes["availableModes"].as_array().unwrap().iter().map(|mode| &mode["id"]).collect();
        assert_eq!(ids, ["read-only", "plan", "ask", "accept-edits"]);
        name = made.session_id.to_string();
        let set = async |mode: &str| {
            let request = SetSessionModeRequest::new(name.clone(), mode.to_owned());
            ide.agent().send_request(request).block_task().await
        };
        for (mode, expected) in [("full", "the mode `full` is wider"), ("yolo", "there is no mode `yolo`")] {
            let error = set(mode).await.unwrap_err();
            assert!(error.message.starts_with(expected), "{error:?}");
        }
        set("accept-edits").await.unwrap();
        assert_eq!(ide.prompt(&name, "Write").await.unwrap(), StopReason::EndTurn);
    })
    .await;
    assert_eq!((ide.told("current_mode_update").len(), place.read("a.txt").as_deref()), (1, Some("one\n")));
    let again = Ide::new(&place, Person::Waits, Saves::Nothing);
    edit(&place, scripted(&[]), again, async |ide| {
        let load = ResumeSessionRequest::new(name.clone(), &ide.work);
        let loaded = ide.agent().send_request(load).block_task().await.unwrap();
        assert_eq!(loaded.modes.unwrap().current_mode_id.to_string(), "accept-edits");
    })
    .await;
    assert!(
        place
            .home()
            .peek(&name)
            .unwrap()
            .iter()
            .any(|entry| entry.fact == Fact::ModeSet { mode: Mode::AcceptEdits })
    );
}

// H-119
#[tokio::test]
async fn a_model_and_its_effort_are_chosen_and_kept() {
    let place = Place::new();
    let script = ["One.", "Two.", "Three."].map(|text| json!({"say": text}));
    let ide = Ide::new(&place, Person::Waits, Saves::Nothing);
    // Each option by its name, with its value and its choices.
    let shown = |options: Value| -> Vec<(String, String, Vec<String>)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let choices = |option: &Value| {
            option["options"].as_array().unwrap().iter().map(|choice| text(&choice["value"])).collect()
        };
        let option = |option: &Value| (text(&option["id"]), text(&option["currentValue"]), choices(option));
        options.as_array().unwrap().iter().map(option).collect()
    };
    let option = |id: &str, value: &str, choices: &[&str]| {
        (id.to_owned(), value.to_owned(), choices.iter().map(|&choice| choice.to_owned()).collect::<Vec<_>>())
    };
    let models = ["script/test", "script/other"];
    let efforts = ["default", "low", "high"];
    let mut name = String::new();
    let ide = edit(&place, scripted(&script), ide, async |ide| {
        let made = ide.agent().send_request(NewSessionRequest::new(&ide.work)).block_task().await.unwrap();
        let options = shown(serde_json::to_value(made.config_options).unwrap());
        assert_eq!(options, [option("model", "script/test", &models)]);
        name = made.session_id.to_string();
        let set = async |id: &str, value: &str| {
            let request = SetSessionConfigOptionRequest::new(name.clone(), id.to_owned(), value);
            let answer = ide.agent().send_request(request).block_task().await;
            answer.map(|answer| shown(serde_json::to_value(answer.config_options).unwrap()))
        };
        assert_eq!(ide.prompt(&name, "First").await.unwrap(), StopReason::EndTurn);
        let options = set("model", "script/other").await.unwrap();
        assert_eq!(
            options,
            [option("model", "script/other", &models), option("effort", "default", &efforts)]
        );
        assert_eq!(set("effort", "high").await.unwrap()[1].1, "high");
        assert_eq!(ide.prompt(&name, "Second").await.unwrap(), StopReason::EndTurn);
        for (id, value, says) in [
            ("model", "script/none", "there is no model `script/none`"),
            ("color", "red", "there is no option `color`; there are `model` and `effort`"),
        ] {
            let error = set(id, value).await.unwrap_err();
            assert_eq!(error.message, says);
        }
        // What cannot be used has changed nothing.
        assert_eq!(ide.prompt(&name, "Third").await.unwrap(), StopReason::EndTurn);
    })
    .await;
    let said = ide.told("agent_message_chunk");
    let said: Vec<_> = said.iter().map(|chunk| chunk["content"]["text"].as_str().unwrap().trim()).collect();
    let note = "(the session goes on with the agent `haft` and the model `script/other`";
    assert_eq!(said, ["One.", &format!("{note})"), &format!("{note}, effort high)"), "Two.", "Three."]);
    let entries = place.home().peek(&name).unwrap();
    let setup = haft_core::SessionSetup::of(&entries).unwrap();
    assert_eq!((setup.model.as_str(), setup.effort.as_deref()), ("script/other", Some("high")));
    let again = Ide::new(&place, Person::Waits, Saves::Nothing);
    edit(&place, scripted(&[]), again, async |ide| {
        let load = ResumeSessionRequest::new(name.clone(), &ide.work);
        let loaded = ide.agent().send_request(load).block_task().await.unwrap();
        let options = shown(serde_json::to_value(loaded.config_options).unwrap());
        assert_eq!(options, [option("model", "script/other", &models), option("effort", "high", &efforts)]);
    })
    .await;
}

// X-23, D68: a session that began elsewhere, without a chosen mode
#[tokio::test]
async fn a_loaded_session_without_a_mode_begins_as_a_new_one_does() {
    let place = Place { mode: Mode::Full, ..Place::new() };
    let ide = Ide::new(&place, Person::Waits, Saves::Nothing);
    let mut name = String::new();
    edit(&place, scripted(&[json!({"say": "Hello."})]), ide, async |ide| {
        name = ide.session().await;
        ide.prompt(&name, "Hi").await.unwrap();
    })
    .await;
    let entries = place.home().peek(&name).unwrap();
    assert!(!entries.iter().any(|entry| matches!(entry.fact, Fact::ModeSet { .. })));
    let script =
        [json!({"say": "Hello."}), json!({"calls": written()["calls"]}), json!({"say": "Not done."})];
    let again = Ide::new(&place, Person::Picks("no"), Saves::Nothing);
    let again = edit(&place, scripted(&script), again, async |ide| {
        let load = LoadSessionRequest::new(name.clone(), &ide.work);
        let loaded = ide.agent().send_request(load).block_task().await.unwrap();
        assert_eq!(loaded.modes.unwrap().current_mode_id.to_string(), "ask");
        ide.prompt(&name, "Write it").await.unwrap();
    })
    .await;
    assert_eq!((again.asked.lock().unwrap().len(), place.read("a.txt")), (1, None));
}

#[tokio::test]
async fn a_loaded_session_is_told_again_and_goes_on() {
    let place = Place::with(Mode::Full);
    let script =
        [json!({"think": "Hm.", "say": "I write.", "calls": written()["calls"]}), json!({"say": "Written."})];
    let ide = Ide::new(&place, Person::Waits, Saves::Nothing);
    let mut name = String::new();
    let first = edit(&place, scripted(&script), ide, async |ide| {
        name = ide.session().await;
        ide.prompt(&name, "Write it").await.unwrap();
    })
    .await;
    let ide = Ide::new(&place, Person::Waits, Saves::Nothing);
    let more: Vec<Value> =
        script.into_iter().chain([json!({"expect": "And now?", "say": "Nothing."})]).collect();
    let second = edit(&place, scripted(&more), ide, async |ide| {
        let load = LoadSessionRequest::new(name.clone(), &ide.work);
        ide.agent().send_request(load).block_task().await.unwrap();
        assert_eq!(ide.text("user_message_chunk"), "Write it");
        assert_eq!(ide.text("agent_message_chunk"), "I write.Written.");
        assert_eq!(ide.prompt(&name, "And now?").await.unwrap(), StopReason::EndTurn);
        let listed = ide.agent().send_request(ListSessionsRequest::new()).block_task().await.unwrap();
        assert_eq!(listed.sessions[0].session_id.to_string(), name);
        assert_eq!(listed.sessions[0].title.as_deref(), Some("Write it"));
        ide.agent().send_request(CloseSessionRequest::new(name.clone())).block_task().await.unwrap();
        let closed = ide.prompt(&name, "Still there?").await.unwrap_err();
        assert_eq!(closed.code, ErrorCode::RESOURCE_NOT_FOUND);
    })
    .await;
    assert_eq!(second.text("agent_message_chunk"), "I write.Written.Nothing.");
    assert_eq!(second.text("agent_thought_chunk"), "Hm.");
    for key in ["toolCallId", "title", "kind", "status", "content", "locations"] {
        assert_eq!(second.call("write")[key], first.call("write")[key], "{key}");
    }
}

#[tokio::test]
async fn a_call_that_its_process_left_behind_is_not_in_progress() {
    let place = Place::new();
    let script = [written(), json!({"say": "Written."})];
    let ide = Ide::new(&place, Person::Waits, Saves::Nothing);
    let mut name = String::new();
    edit(&place, scripted(&script), ide, async |ide| {
        name = ide.session().await;
        tokio::select! {
            _ = ide.prompt(&name, "Write it") => panic!("it waits for an answer"),
            () = ide.hears("Always allow in this session") => {}
        }
    })
    .await;
    // As it was when the question was asked.
    let journal = place.home().0.join("sessions").join(&name).join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let end = text.find("approval_asked").unwrap();
    let end = end + text[end..].find('\n').unwrap() + 1;
    std::fs::write(&journal, &text[..end]).unwrap();
    let ide = Ide::new(&place, Person::Waits, Saves::Nothing);
    let ide = edit(&place, scripted(&script), ide, async |ide| {
        let load = LoadSessionRequest::new(name.clone(), &ide.work);
        ide.agent().send_request(load).block_task().await.unwrap();
    })
    .await;
    assert_eq!(ide.call("write")["status"], "failed");
}

// D68
#[tokio::test]
async fn a_name_is_never_a_path_and_a_folder_must_be_there() {
    let place = Place::new();
    let ide = Ide::new(&place, Person::Waits, Saves::Nothing);
    edit(&place, scripted(&[]), ide, async |ide| {
        let session = ide.session().await;
        let before = std::fs::read_dir(place.home().0.join("sessions")).unwrap().count();
        let names = ["../../etc/passwd", "/etc/passwd", "a\0b", "", ".", &session[..4], "no-such-session"];
        for name in names {
            let load = LoadSessionRequest::new(name.to_owned(), &ide.work);
            let error = ide.agent().send_request(load).block_task().await.unwrap_err();
            assert_eq!(error.code, ErrorCode::RESOURCE_NOT_FOUND, "{name:?}");
        }
        let folders = [
            (PathBuf::from("w"), "it is not an absolute path"),
            (ide.work.join("gone"), "No such file or directory"),
            (place.write("a.txt", ""), "it is not a folder"),
        ];
        for (folder, expected) in folders {
            let made =
                ide.agent().send_request(NewSessionRequest::new(&folder)).block_task().await.unwrap_err();
            assert!(made.message.contains(expected) && made.code == ErrorCode::INVALID_PARAMS, "{made:?}");
        }
        let elsewhere = LoadSessionRequest::new(session, "/");
        let error = ide.agent().send_request(elsewhere).block_task().await.unwrap_err();
        assert!(error.message.contains("not in `/`"), "{error:?}");
        assert_eq!(std::fs::read_dir(place.home().0.join("sessions")).unwrap().count(), before);
    })
    .await;
}

#[tokio::test]
async fn an_editor_that_leaves_takes_everything_along() {
    let place = Place::with(Mode::Full);
    let script = [call("bash", json!({"command": "echo begun; sleep 1000"}))];
    let ide = Ide::new(&place, Person::Waits, Saves::Nothing);
    let mut name = String::new();
    edit(&place, scripted(&script), ide, async |ide| {
        name = ide.session().await;
        tokio::select! {
            _ = ide.prompt(&name, "Wait") => panic!("it sleeps"),
            () = ide.hears("begun\\n") => {}
        }
    })
    .await;
    let entries = place.home().peek(&name).unwrap();
    let ended = entries
        .iter()
        .any(|entry| matches!(entry.fact, Fact::TurnEnded { outcome: Outcome::Interrupted, .. }));
    assert!(ended && !place.home().is_open(&haft_core::SessionId(name)));
}

// E06
#[tokio::test]
async fn a_message_that_is_too_long_is_passed_over() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let place = Place::new();
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(theirs);
    let serving = over_streams(input, output, || true, place.settings(scripted(&[])), std::future::pending());
    let editing = async {
        let (reads, mut writes) = tokio::io::split(ours);
        let mut lines = BufReader::new(reads).lines();
        for _ in 0..33 {
            writes.write_all(&vec![b'x'; 1 << 20]).await.unwrap();
        }
        let begin =
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}});
        writes.write_all(format!("\n{begin}\n").as_bytes()).await.unwrap();
        let error: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!((&error["id"], &error["error"]["code"]), (&Value::Null, &json!(-32600)), "{error}");
        assert_eq!(error["error"]["message"], "a message of more than 32 MB was passed over");
        let begun: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        assert!(begun["id"] == 1 && begun["result"].is_object(), "{begun}");
    };
    let (served, ()) = tokio::join!(serving, editing);
    served.unwrap();
}

// E06
#[tokio::test]
async fn an_editor_that_does_not_listen_holds_up_nothing_but_itself() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let place = Place::new();
    let text = "0123456789abcdef".repeat(1 << 14);
    let script = [json!({"say": text, "pieces": 64})];
    let (ours, theirs) = tokio::io::duplex(1 << 10);
    let (input, output) = tokio::io::split(theirs);
    let serving =
        over_streams(input, output, || true, place.settings(scripted(&script)), std::future::pending());
    let editing = async {
        let (reads, mut writes) = tokio::io::split(ours);
        let mut lines = BufReader::new(reads).lines();
        let mut ask = async |id: u64, method: &str, params: Value| {
            let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            writes.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        };
        ask(1, "initialize", json!({"protocolVersion": 1})).await;
        lines.next_line().await.unwrap();
        ask(2, "session/new", json!({"cwd": place.work(), "mcpServers": []})).await;
        let made: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        let name = made["result"]["sessionId"].as_str().unwrap().to_owned();
        let prompt = [json!({"type": "text", "text": "Talk"})];
        ask(3, "session/prompt", json!({"sessionId": name, "prompt": prompt})).await;
        let is_over = |entry: &std::sync::Arc<haft_core::Entry>| matches!(entry.fact, Fact::TurnEnded { .. });
        while !place.home().peek(&name).unwrap().iter().any(is_over) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        // Not a word has been read so far.
        let (mut heard, mut count) = (String::new(), 0);
        loop {
            let line: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
            if line["id"] == 3 {
                break;
            }
            heard += line["params"]["update"]["content"]["text"].as_str().unwrap_or_default();
            count += 1;
        }
        assert!(heard == text, "{} of {} bytes", heard.len(), text.len());
        assert!(count < 300, "4096 pieces were put together to {count}");
    };
    let (served, ()) = tokio::join!(serving, editing);
    served.unwrap();
}
