//! What hooks may do: deny and add, at each moment, and never allow. Real engine, real tools, real little scripts.
use crate::kit::{Place, bash, calls, content, prompt, says, scripted, tell};
use haft_core::{Command, Fact, Message, Mode, Policy, Rule, Ruling, text_of};
use haft_engine::{Engine, Session};
use haft_providers::Scripted;
use haft_tools::{HookEvent, HookSettings, OnFailure, OwnHooks};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

fn hook(event: HookEvent, command: &str) -> HookSettings {
    let (tool, url, on_failure) = (None, None, OnFailure::Deny);
    let headers = Default::default();
    HookSettings { event, tool, command: Some(command.into()), url, headers, timeout: 20, on_failure }
}

/// A session with hooks, the model that it asks, and what was said aside.
struct Scene {
    place: Place,
    session: Session,
    model: Arc<Scripted>,
    notes: Arc<Mutex<Vec<String>>>,
}

impl Scene {
    fn new(hooks: &[HookSettings], script: &str) -> Self {
        let allow = Policy { rules: vec![], mode: Mode::Full };
        Self::with(hooks, script, allow)
    }

    fn with(hooks: &[HookSettings], script: &str, policy: Policy) -> Self {
        let (place, model) = (Place::new(), scripted(script));
        let mut setup = place.setup(model.clone());
        let notes: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = notes.clone();
        let note = move |note| heard.lock().unwrap().push(note);
        let environment = setup.access.environment.clone();
        let hooks = OwnHooks::new(hooks, place.work(), environment, Arc::new(note)).unwrap();
        (setup.hooks, setup.policy) = (Arc::new(hooks), policy);
        let session = Engine::new(setup).create("haft").unwrap();
        Self { place, session, model, notes }
    }

    async fn go(&self) -> String {
        tell(&self.session, prompt("go"), 1, None).await
    }

    /// The text of the prompts that the model read.
    fn prompts(&self) -> Vec<String> {
        let requests = self.model.requests();
        let messages = requests.last().map(|request| request.messages.clone()).unwrap_or_default();
        let texts = messages.iter().filter_map(|message| match &**message {
            Message::User { parts } => Some(text_of(parts)),
            Message::Assistant { .. } | Message::Tool { .. } => None,
        });
        texts.collect()
    }

    fn told(&self, file: &str) -> Vec<Value> {
        let text = self.place.read(file).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

const DENIES: &str = r#"cat >/dev/null; echo '{"decision":"deny","reason":"not on a Sunday"}'"#;

// O-37: hooks are owed
#[tokio::test]
async fn a_hook_denies_a_call_or_adds_to_its_result() {
    let adds = r#"echo '{"context":"Ask Ann about it."}'"#;
    let (before, after) = (HookEvent::BeforeTool, HookEvent::AfterTool);
    let denied = "error: a hook denied `bash`: ";
    let of = |tool: &str, hook: HookSettings| HookSettings { tool: Some(tool.into()), ..hook };
    let at_once = |hook: HookSettings| HookSettings { timeout: 1, ..hook };
    let lenient = |hook: HookSettings| HookSettings { on_failure: OnFailure::Ignore, ..hook };
    let table: [(HookSettings, String); 15] = [
        (hook(before, "true"), "one".into()),
        (hook(before, DENIES), format!("{denied}not on a Sunday")),
        (hook(before, "echo too late >&2; exit 2"), format!("{denied}too late")),
        (hook(before, adds), "one\n[a hook says: Ask Ann about it.]".into()),
        (hook(after, adds), "one\n[a hook says: Ask Ann about it.]".into()),
        // What cannot be asked denies where it guards.
        (
            hook(before, "echo oh >&2; exit 1"),
            format!("{denied}the hook `echo oh >&2; exit 1` failed with exit code 1: oh"),
        ),
        (
            hook(before, "no-such-hook 2>/dev/null"),
            format!("{denied}the hook `no-such-hook 2>/dev/null` failed with exit code 127"),
        ),
        (
            hook(before, "echo fine"),
            format!("{denied}the hook `echo fine` answered something else than a JSON object"),
        ),
        (
            at_once(hook(before, "sleep 1234")),
            format!("{denied}the hook `sleep 1234` did not answer within 1 s"),
        ),
        (lenient(hook(before, "exit 1")), "one".into()),
        (hook(after, "exit 1"), "one".into()),
        (hook(after, DENIES), "one".into()),
        // Only the tools that it is for, by their own names.
        (of("write", hook(before, DENIES)), "one".into()),
        (of("b*", hook(before, DENIES)), format!("{denied}not on a Sunday")),
        (of("{write,bash}", hook(before, DENIES)), format!("{denied}not on a Sunday")),
    ];
    for (hook, expected) in table {
        let what = format!("{hook:?}");
        // Called by a name that other systems give it.
        let script = calls(&[("Bash", json!({"command": "echo one | tee made"}))]) + &says("done");
        let scene = Scene::new(&[hook], &script);
        scene.go().await;
        let read = content(&scene.session, "Bash-0");
        assert!(read.starts_with(&expected), "{what}: {read}");
        assert_eq!(scene.place.read("made").is_none(), expected.starts_with(denied), "{what}");
    }
}

#[tokio::test]
async fn a_denied_call_is_a_security_error_and_the_turn_goes_on() {
    let scene = Scene::new(&[hook(HookEvent::BeforeTool, DENIES)], &(bash("touch made") + &says("done")));
    let told = scene.go().await;
    let expected = "prompted\nreplied\ntool_ended bash-0=security_error\nreplied\nturn_ended=finished";
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_hook_never_widens_what_is_allowed() {
    let rules = vec![Rule::parse(Ruling::Deny, "execute:*").unwrap()];
    let policy = Policy { rules, mode: Mode::Full };
    let allows = hook(HookEvent::BeforeTool, r#"echo '{"decision":"allow","context":"I allow it."}'"#);
    let scene = Scene::with(&[allows], &(bash("touch made") + &says("done")), policy);
    let told = scene.go().await;
    assert!(told.contains("tool_ended bash-0=permission_error"), "{told}");
    assert_eq!(scene.place.read("made"), None);
    // What it adds stands behind an error too.
    assert!(content(&scene.session, "bash-0").ends_with("[a hook says: I allow it.]"));
}

#[tokio::test]
async fn what_a_hook_adds_survives_a_crash_with_the_change() {
    let adds = hook(HookEvent::BeforeTool, r#"echo '{"context":"Ask Ann."}'"#);
    let script = calls(&[("write", json!({"path": "new", "content": "x\n"}))]) + &says("done");
    let scene = Scene::new(&[adds], &script);
    scene.go().await;
    let staged = scene.session.entries().iter().find_map(|entry| match &entry.fact {
        Fact::Staged { result, .. } => Some(result.content.clone()),
        _ => None,
    });
    assert!(staged.unwrap().ends_with("\n[a hook says: Ask Ann.]"));
}

#[tokio::test]
async fn the_first_hook_that_denies_is_the_last_one_asked() {
    let asked = |name: &str| hook(HookEvent::BeforeTool, &format!("touch {name}"));
    let hooks = [asked("first"), hook(HookEvent::BeforeTool, DENIES), asked("third")];
    let scene = Scene::new(&hooks, &(bash("true") + &says("done")));
    scene.go().await;
    let there = ["first", "third"].map(|name| scene.place.read(name).is_some());
    assert_eq!(there, [true, false]);
}

#[tokio::test]
async fn each_moment_is_told_with_what_belongs_to_it() {
    use HookEvent::{AfterTool, BeforeTool, TurnEnd, TurnStart};
    let hooks =
        [TurnStart, BeforeTool, AfterTool, TurnEnd].map(|event| hook(event, "cat >> told; echo >> told"));
    let script = calls(&[("Bash", json!({"cmd": "echo one"}))]) + &says("done");
    let scene = Scene::new(&hooks, &script);
    scene.go().await;
    let told = scene.told("told");
    let with = |more: Value| {
        let mut told = json!({"session": scene.session.id(), "workspace": scene.place.work()});
        told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        told
    };
    let arguments = json!({"command": "echo one"});
    let result = json!({"ok": true, "content": "one", "error": null});
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(told[0], with(json!({"event": "turn_start", "prompt": "go"})));
    assert_eq!(told[1], with(json!({"event": "before_tool", "tool": "bash", "arguments": arguments})));
    assert_eq!((&told[2]["tool"], &told[2]["arguments"]), (&json!("bash"), &arguments));
    for field in ["ok", "content", "error"] {
        assert_eq!(told[2]["result"][field], result[field], "{field}");
    }
    assert_eq!(told[3], with(json!({"event": "turn_end", "outcome": "finished"})));
}

#[tokio::test]
async fn context_stands_in_the_recorded_prompt() {
    let adds = hook(HookEvent::TurnStart, r#"echo '{"context":"It is Monday."}'"#);
    let scene = Scene::new(&[adds], &says("done"));
    scene.go().await;
    assert_eq!(scene.prompts(), ["go\n[a hook says: It is Monday.]"]);
    // The journal says the same, so no one is asked again.
    let entries = scene.session.entries();
    let recorded = entries.iter().find_map(|entry| match &entry.fact {
        Fact::Prompted { parts, .. } => Some(text_of(parts)),
        _ => None,
    });
    assert_eq!(recorded.as_deref(), Some("go\n[a hook says: It is Monday.]"));
}

#[tokio::test]
async fn a_denied_prompt_is_never_read_by_the_model() {
    let guard = r#"if grep -q secret; then echo "it names a secret" >&2; exit 2; fi"#;
    let scene = Scene::new(&[hook(HookEvent::TurnStart, guard)], &says("done"));
    let denied = tell(&scene.session, prompt("the secret is 7"), 1, None).await;
    assert_eq!(denied, "prompt_denied\nturn_ended=refused");
    assert!(scene.model.requests().is_empty());
    let reason = scene.session.entries().iter().find_map(|entry| match &entry.fact {
        Fact::PromptDenied { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    assert_eq!(reason.as_deref(), Some("a hook denied it: it names a secret"));
    // The next one goes through, alone.
    scene.go().await;
    assert_eq!(scene.prompts(), ["go"]);
}

#[tokio::test]
async fn what_steers_a_turn_is_guarded_too() {
    let guard = r#"if grep -q secret; then exit 2; fi"#;
    let wait = "echo >began; until test -e go; do sleep 0.02; done";
    let scene = Scene::new(&[hook(HookEvent::TurnStart, guard)], &(bash(wait) + &says("done")));
    let steering = async {
        while scene.place.read("began").is_none() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        scene.session.send(prompt("the secret is 7")).unwrap();
        scene.place.write("go", "");
    };
    let (told, ()) = tokio::join!(scene.go(), steering);
    assert!(told.contains("prompt_denied\nreplied\nturn_ended=finished"), "{told}");
    assert_eq!(scene.prompts(), ["go"]);
}

#[tokio::test]
async fn an_interrupted_prompt_that_nobody_has_checked_is_not_read_later() {
    let guard = "echo >asked; sleep 1234";
    let scene = Scene::new(&[hook(HookEvent::TurnStart, guard)], &says("done"));
    let stopping = async {
        while scene.place.read("asked").is_none() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        scene.session.send(Command::Interrupt).unwrap();
    };
    let (told, ()) = tokio::join!(scene.go(), stopping);
    assert_eq!(told, "prompt_denied\nturn_ended=interrupted");
}

#[tokio::test]
async fn a_hook_that_failed_without_denying_is_told_aside() {
    let scene = Scene::new(&[hook(HookEvent::TurnEnd, "exit 1")], &says("done"));
    assert!(scene.go().await.ends_with("turn_ended=finished"));
    assert_eq!(*scene.notes.lock().unwrap(), ["the hook `exit 1` failed with exit code 1"]);
}
