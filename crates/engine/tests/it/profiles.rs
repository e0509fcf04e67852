//! What each profile promises, through the whole engine with a scripted model: `cargo test profile_NAME`.
use crate::kit::{Place, calls, content, prompt, says, scripted, tell};
use haft_core::{Outcome, Shown, ToolSpec};
use haft_dialects::dialect;
use haft_engine::{Engine, Profile, Session};
use haft_providers::Scripted;
use haft_text_calls::TextToolCalls;
use serde_json::{Value, json};
use std::sync::Arc;

/// A session in a profile, and the model that it asks.
struct Scene {
    place: Place,
    session: Session,
    model: Arc<Scripted>,
}

impl Scene {
    async fn play(profile: &str, files: &[(&str, &str)], script: &str) -> Self {
        let place = Place::new();
        files.iter().for_each(|(name, content)| place.write(name, content));
        let model = scripted(script);
        let mut setup = place.setup(model.clone());
        setup.profile = Profile::named(profile).unwrap();
        if let Some(name) = &setup.profile.dialect {
            let speak = if setup.profile.native_first { TextToolCalls::fallback } else { TextToolCalls::new };
            setup.model.provider = Arc::new(speak(model.clone(), dialect(name).unwrap()));
        }
        setup.tools = haft_tools::builtin(&setup.profile.tools.clone().try_into().unwrap());
        let session = Engine::new(setup).create("haft").unwrap();
        tell(&session, prompt("go"), 1, None).await;
        Self { place, session, model }
    }

    /// What the model read of a call, as JSON.
    fn json(&self, call: &str) -> Value {
        let content = content(&self.session, call);
        serde_json::from_str(&content).unwrap_or_else(|_| panic!("{content}"))
    }

    fn told(&self) -> Arc<[ToolSpec]> {
        self.model.requests()[0].tools.clone()
    }

    fn parameters(&self, tool: &str) -> Vec<String> {
        let told = self.told();
        let tool = told.iter().find(|spec| spec.name == tool).unwrap();
        tool.parameters["properties"].as_object().unwrap().keys().cloned().collect()
    }

    fn names(&self) -> Vec<String> {
        self.told().iter().map(|spec| spec.name.clone()).collect()
    }

    fn outcome(&self) -> Outcome {
        let ended = self.session.entries().into_iter().rev().find_map(|entry| match &entry.fact {
            haft_core::Fact::TurnEnded { outcome, .. } => Some(*outcome),
            _ => None,
        });
        ended.unwrap()
    }
}

// A-52, A-53, A-60, A-63 to A-65
#[tokio::test]
async fn profile_alfred_tells_four_tools_twice_and_sets_its_sampling() {
    let scene = Scene::play("alfred", &[], &says("done")).await;
    assert_eq!(scene.names(), ["read", "write", "edit", "bash"]);
    let request = &scene.model.requests()[0];
    assert_eq!((request.max_output, &request.options["temperature"]), (4000, &json!(0.7)));
    assert!(
        request.system.contains("## Available Tools") && request.system.contains("\n- read(path: string")
    );
}

// A-48, A-73, A-74, A-75, A-76, A-77, A-81, X-12, X-35
#[tokio::test]
async fn profile_alfred_answers_in_json() {
    let script = calls(&[
        ("write", json!({"path": "new/ü", "content": "ü"})),
        ("edit", json!({"path": "a", "old_text": "x", "new_text": "ü"})),
        ("edit", json!({"path": "a", "old_text": "nowhere", "new_text": ""})),
        ("bash", json!({"command": "echo out; echo err >&2; exit 3"})),
    ]) + &says("done");
    let scene = Scene::play("alfred", &[("a", "x x")], &script).await;
    assert_eq!(scene.json("write-0"), json!({"path": "new/ü", "bytes_written": 2, "status": "written"}));
    let edited = scene.json("edit-1");
    assert_eq!((&edited["edited"], &edited["bytes_changed"]), (&json!(true), &json!(1)));
    assert_eq!(scene.place.read("a").as_deref(), Some("ü x"));
    let missed = scene.json("edit-2");
    assert_eq!((&missed["edited"], &missed["error"]), (&json!(false), &json!("old_text not found in file")));
    let ran = scene.json("bash-3");
    let expected = [json!("out\n"), json!("err\n"), json!(3), json!(false)];
    assert_eq!(["stdout", "stderr", "exit_code", "truncated"].map(|field| ran[field].clone()), expected);
}

// C-20, C-22, C-48, C-53, C-54, C-55, C-56, C-57, C-58
#[tokio::test]
async fn profile_ally_says_success_or_what_is_wrong_and_how_to_do_better() {
    let script = calls(&[("read", json!({})), ("read", json!({"file_paths": ["nope"]}))]) + &says("done");
    let scene = Scene::play("ally", &[], &script).await;
    let wrong = scene.json("read-0");
    assert_eq!((&wrong["success"], &wrong["error_type"]), (&json!(false), &json!("validation_error")));
    assert_eq!(wrong["error"], "read(): cannot call read: file_paths is required");
    assert_eq!(wrong["suggestion"], r#"Example: read(file_paths=["diary.txt"])"#);
    let missing = scene.json("read-1");
    let error = "read(file_paths=[\"nope\"]): cannot read nope: no such file";
    assert_eq!((&missing["error"], &missing["error_type"]), (&json!(error), &json!("user_error")));
}

// C-35, C-37, C-38, C-39, C-40, C-42, C-45, C-46
#[tokio::test]
async fn profile_ally_has_its_own_parameters_and_fields() {
    let script = calls(&[
        ("read", json!({"file_paths": ["a", "b"], "limit": 0})),
        ("bash", json!({"command": "echo hi; exit 4", "description": "Say hi", "timeout": 61})),
    ]) + &says("done");
    let scene = Scene::play("ally", &[("a", "one\n"), ("b", "two\n")], &script).await;
    let read = scene.json("read-0");
    let text = "=== a ===\n     1\tone\n\n=== b ===\n     1\ttwo";
    assert_eq!(
        (&read["success"], &read["content"], &read["files_read"]),
        (&json!(true), &json!(text), &json!(2))
    );
    let ran = scene.json("bash-1");
    let fields = ["success", "error", "output", "return_code"].map(|field| ran[field].clone());
    assert_eq!(fields, [json!(false), json!("exit code 4"), json!("hi\n"), json!(4)]);
    assert_eq!(ran["note"], "[a timeout of 61 s is too long: it was cut to 60 s]");
    assert_eq!(scene.parameters("bash"), ["command", "description", "timeout", "working_dir"]);
    assert_eq!(scene.parameters("read"), ["file_paths", "limit", "offset"]);
    let read = scene.told().iter().find(|spec| spec.name == "read").unwrap().parameters.clone();
    assert_eq!(read["required"], json!(["file_paths"]));
}

// C-16, C-17
#[tokio::test]
async fn profile_ally_edits_only_what_was_read_and_reads_once() {
    let edit = ("edit", json!({"path": "a", "old_text": "one", "new_text": "two"}));
    let read = ("read", json!({"file_paths": ["a"]}));
    let script = calls(&[edit.clone(), read.clone(), read.clone(), edit.clone()]) + &says("done");
    let scene = Scene::play("ally", &[("a", "one\n")], &script).await;
    assert_eq!(scene.json("edit-0")["success"], false);
    assert_eq!(scene.json("read-2")["same_as"], "read-1");
    assert_eq!(scene.json("edit-3")["success"], true);
    assert_eq!(scene.place.read("a").as_deref(), Some("two\n"));
}

// O-03, O-26, O-28
#[tokio::test]
async fn profile_opencode_gives_a_title_and_the_output() {
    let script = calls(&[
        ("read", json!({"filePath": "a"})),
        ("edit", json!({"filePath": "a", "oldString": "x", "newString": "y", "replaceAll": true})),
        ("read", json!({"filePath": "nope"})),
    ]) + &says("done");
    let scene = Scene::play("opencode", &[("a", "x x\n")], &script).await;
    assert_eq!(scene.json("read-0"), json!({"title": "Read file", "output": "x x\n"}));
    assert_eq!(scene.place.read("a").as_deref(), Some("y y\n"));
    assert_eq!(
        scene.json("read-2")["output"],
        "Error: cannot read `nope`: no such file\nhint: the folder holds a"
    );
    assert_eq!(scene.names(), ["read", "write", "edit", "bash", "glob", "grep"]);
    assert_eq!(scene.parameters("edit"), ["filePath", "oldString", "newString", "replaceAll"]);
}

// O-01, X-02: until the task is done; what goes round in circles is stopped
#[tokio::test]
async fn profile_opencode_has_no_cap_on_rounds() {
    let round = |number: usize| calls(&[("bash", json!({"command": format!("echo {number}")}))]);
    let script: String = (0..210).map(round).chain([says("done")]).collect();
    assert_eq!(Scene::play("opencode", &[], &script).await.outcome(), Outcome::Finished);
}

// T-08, T-10, T-11, T-28, T-40, T-42, T-45, T-55
#[tokio::test]
async fn profile_picoclaw_has_a_result_for_the_model_and_one_for_people() {
    let script = calls(&[
        ("read_file", json!({"path": "a"})),
        ("message", json!({"text": "Half done."})),
        ("read_file", json!({"path": 7})),
        ("no_such", json!({})),
    ]) + &says("done");
    let scene = Scene::play("picoclaw", &[("a", "x\n")], &script).await;
    assert_eq!(content(&scene.session, "read_file-0"), "x\n");
    assert_eq!(content(&scene.session, "message-1"), "Sent.");
    let shown = scene.session.entries().into_iter().find_map(|entry| match &entry.fact {
        haft_core::Fact::ToolEnded { call, result, .. } if call.0 == "message-1" => {
            Some(result.shown.clone())
        }
        _ => None,
    });
    assert_eq!(shown, Some(Shown::Message("Half done.".into())));
    assert!(content(&scene.session, "read_file-2").starts_with("cannot use the arguments: "));
    assert!(content(&scene.session, "no_such-3").starts_with("there is no tool `no_such`"));
    let request = &scene.model.requests()[0];
    assert_eq!((request.max_output, &request.options["temperature"]), (4096, &json!(0.7)));
    assert_eq!(scene.names()[..3], ["read_file", "write_file", "edit_file"]);
}

// T-49, T-54, X-02
#[tokio::test]
async fn profile_picoclaw_stops_after_twenty_rounds() {
    let round = |number: usize| calls(&[("exec", json!({"command": format!("echo {number}")}))]);
    let script: String = (0..30).map(round).collect();
    let scene = Scene::play("picoclaw", &[], &script).await;
    assert_eq!((scene.outcome(), scene.model.requests().len()), (Outcome::RoundLimit, 20));
}

// P-02, P-06, P-48, X-02
#[tokio::test]
async fn profile_pedro_has_seven_tools_and_twenty_rounds() {
    let round = |number: usize| calls(&[("bash", json!({"command": format!("echo {number}")}))]);
    let script: String = (0..30).map(round).collect();
    let scene = Scene::play("pedro", &[], &script).await;
    let told = &scene.model.requests()[0].system;
    let names = ["file", "code_edit", "search", "navigate", "git", "bash", "test"];
    assert!(names.iter().all(|name| told.contains(&format!("{{\"name\":\"{name}\""))), "{told}");
    assert_eq!((scene.outcome(), scene.model.requests().len()), (Outcome::RoundLimit, 20));
    let system = Profile::named("pedro").unwrap().system;
    assert_eq!(
        system,
        "You are an autonomous coding agent. You can execute tools to interact with code, run tests, and make changes."
    );
}

// P-36, P-37, P-38, X-04, X-05
#[tokio::test]
async fn profile_pedro_goes_on_until_the_phrase_or_two_idle_rounds() {
    let call = || calls(&[("bash", json!({"command": "true"}))]);
    let table = [
        (says("Thinking.") + &call() + &says("All good: Task Complete."), 3),
        (says("Thinking.") + &says("Thinking more.") + &says("never said"), 2),
        (says("One.") + &call() + &says("Two.") + &says("Three.") + &says("never said"), 4),
    ];
    for (script, rounds) in table {
        let scene = Scene::play("pedro", &[], &script).await;
        assert_eq!((scene.outcome(), scene.model.requests().len()), (Outcome::Finished, rounds), "{script}");
    }
}

// P-54, P-55, P-65, P-18, P-19, P-20, P-24, P-27, P-29, P-39, P-40, P-41, P-43, P-64, X-07
#[tokio::test]
async fn profile_pedro_calls_tools_in_fenced_lines_and_reads_their_results() {
    let script = says(
        "Let me look.\n```bash\nfile a.txt\nfile nope.txt\n```\nand a sample:\n```bash\nnpm install\n```",
    ) + &says("```bash\ncode_edit -f a.txt -l 1:1 -r \"two\"\n```")
        + &says("Task complete.");
    let scene = Scene::play("pedro", &[("a.txt", "one\n")], &script).await;
    assert_eq!((scene.outcome(), scene.place.read("a.txt").as_deref()), (Outcome::Finished, Some("two\n")));
    let second = &scene.model.requests()[1];
    assert!(second.tools.is_empty() && second.system.contains("code_edit"));
    let haft_core::Message::User { parts } = &**second.messages.last().unwrap() else { panic!("{second:?}") };
    assert_eq!(
        haft_core::text_of(parts),
        "Tool results:\n\nTool 1 (file) output:\n     1\tone\n\n\
         Tool 2 (file) error: cannot read `nope.txt`: no such file\n\nContinue with next steps."
    );
}
