//! What a turn promises, told as facts. Real engine, real tools, scripted model.
use crate::kit::{Place, bash, calls, content, in_a_word, prompt, says, scripted, tell};
use futures::StreamExt;
use haft_core::{
    Answer, Command, Effect, Event, Fact, Message, Mode, Part, Policy, Rule, Ruling, Seq, Tool, ToolContext,
    ToolError, ToolOutput, Transcript, Update,
};
use haft_engine::{Engine, Home, Profile, Unread};
use serde_json::json;
use std::{path::Path, time::Duration};

// A-01, A-03, A-96, O-02, O-04, O-06, O-10, O-33, O-43, P-01, P-05, T-02, T-50
// A-93, C-01, C-02, C-03, C-11, C-15, O-46, T-42, T-47, T-48, T-51: defined tools are executed, and their results reach the model
#[tokio::test]
async fn a_defined_tool_is_executed_and_the_model_hears_of_it() {
    let place = Place::new();
    let script = scripted(&(bash("echo $((5 * 2))") + &says("Result is 10")));
    let setup = place.setup(script.clone());
    let session = Engine::new(setup).create("haft").unwrap();
    let told = tell(&session, prompt("Double 5"), 1, None).await;
    assert_eq!(
        told,
        "prompted\nreplied\ntool_started bash-0\ntool_ended bash-0=ok\nreplied\nturn_ended=finished"
    );
    assert_eq!(content(&session, "bash-0").trim(), "10");
    // Exactly two requests; the second holds the result. (A-30, A-32, A-93)
    let requests = script.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].system, "Be brief."); // A-26
    let roles: Vec<&str> = requests[1]
        .messages
        .iter()
        .map(|message| match message.as_ref() {
            Message::User { .. } => "user",
            Message::Assistant { .. } => "assistant",
            Message::Tool { result, .. } => result.content.trim(),
        })
        .collect();
    assert_eq!(roles, ["user", "assistant", "10"]);
    assert_eq!(requests[1].tools.len(), crate::kit::tools().len()); // A-28, T-35
}

// A-28, T-53
#[tokio::test]
async fn an_agent_without_tools_answers() {
    let place = Place::new();
    let mut setup = place.setup(scripted(&says("hi")));
    setup.tools = haft_core::Registry::default();
    let session = Engine::new(setup).create("haft").unwrap();
    assert_eq!(tell(&session, prompt("hi"), 1, None).await, "prompted\nreplied\nturn_ended=finished");
}

// P-18, P-19, P-25, X-07: a model that writes its calls as text is told what could not be read
#[tokio::test]
async fn calls_written_as_text_are_run_or_reported() {
    let place = Place::new();
    let script =
        scripted(&(says("So:\n```bash\nbash -c 'echo $((5 * 2))'\nlook a b\n```") + &says("Result is 10")));
    let dialect = haft_dialects::dialect("fenced_shell").unwrap();
    let spoken = haft_text_calls::TextToolCalls::new(script.clone(), dialect);
    let session = Engine::new(place.setup(std::sync::Arc::new(spoken))).create("haft").unwrap();
    let told = tell(&session, prompt("Double 5"), 1, None).await;
    assert_eq!(
        told,
        "prompted\nreplied\ntool_started call_0\ntool_ended call_0=ok\ntool_ended call_1=validation_error\nreplied\n\
         turn_ended=finished"
    );
    let why = content(&session, "call_1");
    assert!(why.contains("`look a b`: `look` is not a tool. A call is written like this:\n```bash"), "{why}");
    let haft_core::Message::User { parts } = &*script.requests()[1].messages[2] else { panic!() };
    let results = haft_core::text_of(parts);
    assert!(results.starts_with("Tool results:\n\nTool 1 (bash) output:\n10"), "{results}");
    assert!(results.contains("Tool 2 (unreadable_call) failed: "), "{results}");
}

// C-19, O-18, O-20, A-31, A-46, A-50, O-21, T-28: errors go back to the model, in call order, and the loop goes on
#[tokio::test]
async fn errors_are_results_and_the_loop_goes_on() {
    let place = Place::new();
    let script = calls(&[
        ("no_such_tool", json!({})),
        ("read", json!({})),
        ("read", json!({"path": "nope.txt"})),
        ("bash", json!({"command": "echo fine"})),
    ]) + &says("done");
    let session = place.session(&script);
    let told = tell(&session, prompt("go"), 1, None).await;
    assert_eq!(
        told,
        "prompted\nreplied\ntool_ended no_such_tool-0=validation_error\ntool_ended read-1=validation_error\n\
         tool_started read-2\ntool_ended read-2=user_error\ntool_started bash-3\ntool_ended bash-3=ok\n\
         replied\nturn_ended=finished"
    );
    assert!(content(&session, "no_such_tool-0").contains("available tools: "));
    assert!(content(&session, "read-1").contains("`path` is required"));
}

/// A call that is told to wait ends after one that is not.
#[derive(Default)]
struct Relay(tokio::sync::Notify);

/// Waits for another call, or lets it go on.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Leg {
    /// Whether it waits.
    waits: bool,
}

impl Tool for Relay {
    const NAME: &'static str = "relay";
    type Args = Leg;
    fn effects(&self, _: &Leg, workspace: &Path) -> Vec<Effect> {
        vec![Effect::Read(workspace.to_owned())]
    }
    async fn run(&self, leg: Leg, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        if !leg.waits {
            self.0.notify_one();
            return Ok(ToolOutput::text("let go"));
        }
        let waited = tokio::time::timeout(Duration::from_secs(20), self.0.notified()).await;
        Ok(ToolOutput::text(if waited.is_ok() { "went on" } else { "the other call did not run meanwhile" }))
    }
}

// A-94, O-07, O-36, O-38
// X-17: neighbors that only read run together, and results are filed in call order (trap 2)
#[tokio::test]
async fn results_are_filed_in_call_order() {
    let place = Place::new();
    let legs = [("relay", json!({"waits": true})), ("relay", json!({"waits": false}))];
    let mut setup = place.setup(scripted(&(calls(&legs) + &says("done"))));
    setup.tools = haft_core::Registry::default().with(Relay::default());
    let session = Engine::new(setup).create("haft").unwrap();
    tell(&session, prompt("go"), 1, None).await;
    let transcript = Transcript::replay(&session.entries());
    let results: Vec<(String, String)> = transcript
        .messages()
        .iter()
        .filter_map(|message| match message.as_ref() {
            Message::Tool { call, result, .. } => Some((call.0.clone(), result.content.clone())),
            _ => None,
        })
        .collect();
    let expected = [("relay-0", "went on"), ("relay-1", "let go")];
    assert_eq!(results, expected.map(|(call, content)| (call.to_owned(), content.to_owned())));
}

// A-34, C-31, C-04, C-27, C-28, C-29, C-63, trap 1: live output comes between the start and the end of its call
#[tokio::test]
async fn progress_is_seen_in_the_order_it_happened() {
    let place = Place::new();
    let session = place.session(&(bash("echo one") + &says("done")));
    let mut events = Box::pin(session.events(Seq(0)));
    session.send(prompt("go")).unwrap();
    let mut told = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Event::Recorded(entry) => told.push(in_a_word(&entry)),
            Event::Live(Update::ToolOutput { chunk, .. }) => told.push(format!("live {}", chunk.trim())),
            Event::Live(_) => {}
        }
        if told.last().is_some_and(|last| last.starts_with("turn_ended")) {
            break;
        }
    }
    let place_of = |wanted: &str| told.iter().position(|line| line == wanted).unwrap();
    assert!(place_of("tool_started bash-0") < place_of("live one"), "{told:?}");
    assert!(place_of("live one") < place_of("tool_ended bash-0=ok"), "{told:?}");
}

// C-09, C-72, O-40
#[tokio::test]
async fn an_approved_command_runs_and_a_refused_one_does_not_start() {
    let asks = Policy { rules: vec![], mode: Mode::Ask };
    let table = [
        (
            Some(Answer::Once),
            "approval_asked bash-0\napproval_answered bash-0=once\ntool_started bash-0\ntool_ended bash-0=ok",
            "finished",
            true,
        ),
        (
            Some(Answer::No),
            "approval_asked bash-0\napproval_answered bash-0=no\ntool_ended bash-0=permission_error",
            "finished",
            false,
        ),
        (
            Some(Answer::Unanswered),
            "approval_asked bash-0\napproval_answered bash-0=nobody\ntool_ended bash-0=permission_error",
            "refused",
            false,
        ),
    ];
    for (answer, expected, outcome, runs) in table {
        let place = Place::new();
        let mut setup = place.setup(scripted(&(bash("touch x") + &says("ok"))));
        setup.policy = asks.clone();
        let session = Engine::new(setup).create("haft").unwrap();
        let told = tell(&session, prompt("go"), 1, answer).await;
        assert_eq!(told, format!("prompted\nreplied\n{expected}\nreplied\nturn_ended={outcome}"));
        assert_eq!(place.read("x").is_some(), runs);
    }
}

// The question about a file shows what would be written, after the call ran in private
#[tokio::test]
async fn a_file_is_asked_about_with_its_changes() {
    let place = Place::new();
    let write = calls(&[("write", json!({"path": "a.txt", "content": "new"}))]);
    for (answer, written) in [(Answer::Once, Some("new")), (Answer::No, None)] {
        let mut setup = place.setup(scripted(&(write.clone() + &says("ok"))));
        setup.policy = Policy { rules: vec![], mode: Mode::Ask };
        let session = Engine::new(setup).create("haft").unwrap();
        let told = tell(&session, prompt("go"), 1, Some(answer)).await;
        let order = if written.is_some() {
            "staged write-0\ntool_ended write-0=ok"
        } else {
            "tool_ended write-0=permission_error"
        };
        assert!(
            told.contains(&format!(
                "tool_started write-0\napproval_asked write-0\napproval_answered write-0={}\n{order}",
                if written.is_some() { "once" } else { "no" }
            )),
            "{told}"
        );
        assert_eq!(place.read("a.txt").as_deref(), written);
        let asked = session.entries().iter().find_map(|entry| match &entry.fact {
            Fact::ApprovalAsked { changes, .. } => Some(changes.clone()),
            _ => None,
        });
        let change = &asked.unwrap()[0];
        assert_eq!(session.content(&change.after.as_ref().unwrap().hash).unwrap(), b"new");
        let _gone = std::fs::remove_file(place.work().join("a.txt"));
    }
}

#[tokio::test]
async fn always_holds_for_the_same_effect_and_after_a_restart() {
    let place = Place::new();
    let script = bash("touch x") + &bash("touch x") + &bash("touch y") + &says("ok");
    let asks = Policy { rules: vec![], mode: Mode::Ask };
    let mut setup = place.setup(scripted(&script));
    setup.policy = asks.clone();
    let session = Engine::new(setup).create("haft").unwrap();
    let told = tell(&session, prompt("go"), 1, Some(Answer::Always)).await;
    assert_eq!(told.matches("approval_asked").count(), 2, "{told}");
    let id = session.id().0.clone();
    drop(session);
    let mut setup = place.setup(scripted(&("{\"say\":\"-\"}\n".repeat(4) + &bash("touch y") + &says("ok"))));
    setup.policy = asks;
    let session = resume_when_free(&Engine::new(setup), &id).await;
    let told = tell(&session, prompt("again"), 1, None).await;
    assert!(told.ends_with("tool_ended bash-0=ok\nreplied\nturn_ended=finished"), "{told}");
}

// What goes wrong is no longer in the journal than what goes well.
#[tokio::test]
async fn a_long_error_is_clipped_in_the_journal() {
    let place = Place::new();
    let read = calls(&[("read", json!({"path": "x".repeat(120_000)}))]);
    let session = place.session(&(read + &says("ok")));
    tell(&session, prompt("go"), 1, None).await;
    let error = session.entries().iter().find_map(|entry| match &entry.fact {
        Fact::ToolEnded { result, .. } => result.error.clone(),
        _ => None,
    });
    let message = error.unwrap().message;
    let clip = Profile::standard().clip.bytes;
    assert!(message.len() < clip + 200 && message.contains("left out"), "{} bytes", message.len());
}

/// The session before it may take a moment to let go of the journal.
async fn resume_when_free(engine: &Engine, id: &str) -> haft_engine::Session {
    for _ in 0..1000 {
        match engine.resume(id, "haft") {
            Ok(session) => return session,
            Err(haft_engine::EngineError::Journal(haft_engine::JournalError::Locked(_))) => {
                tokio::task::yield_now().await
            }
            Err(error) => panic!("{error}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    panic!("the journal is still locked");
}

// Structured cancellation: every open call gets its end, nothing stays alive
// O-11, P-33, T-58
#[tokio::test]
async fn an_interruption_ends_every_open_call() {
    let place = Place::new();
    let script = calls(&[
        ("bash", json!({"command": "touch begun; sleep 30; touch done"})),
        ("bash", json!({"command": "true"})),
    ]);
    let session = place.session(&script);
    let mut events = Box::pin(session.events(Seq(0)));
    session.send(prompt("go")).unwrap();
    let mut told = Vec::new();
    while let Some(event) = events.next().await {
        let Event::Recorded(entry) = event else { continue };
        told.push(in_a_word(&entry));
        match &entry.fact {
            Fact::ToolStarted { .. } => session.send(Command::Interrupt).unwrap(),
            Fact::TurnEnded { .. } => break,
            _ => {}
        }
    }
    assert_eq!(
        told[1..].join("\n"),
        "prompted\nreplied\ntool_started bash-0\ntool_ended bash-0=system_error\ntool_ended bash-1=system_error\ninterrupted\nturn_ended=interrupted"
    );
    assert!(place.read("done").is_none());
}

// Trap 3: what is said after an interruption opens the next turn
#[tokio::test]
async fn a_prompt_sent_after_an_interruption_is_answered() {
    let place = Place::new();
    let mut setup = place.setup(scripted(&(bash("true") + &says("hello again"))));
    setup.policy = Policy { rules: vec![], mode: Mode::Ask };
    let session = Engine::new(setup).create("haft").unwrap();
    let mut events = Box::pin(session.events(Seq(0)));
    session.send(prompt("go")).unwrap();
    loop {
        match events.next().await {
            Some(Event::Recorded(entry)) if matches!(entry.fact, Fact::ApprovalAsked { .. }) => break,
            Some(_) => {}
            None => panic!("closed"),
        }
    }
    session.send(Command::Interrupt).unwrap();
    let told = tell(&session, prompt("hello?"), 2, None).await;
    assert!(told.ends_with("turn_ended=interrupted\nprompted\nreplied\nturn_ended=finished"), "{told}");
}

// Steering: what is said in the middle of a turn reaches the model in the next round
#[tokio::test]
async fn a_prompt_in_the_middle_of_a_turn_steers_it() {
    let place = Place::new();
    let session = place.session(&(bash("sleep 0.2") + &says("as you wish")));
    let mut events = Box::pin(session.events(Seq(1)));
    session.send(prompt("go")).unwrap();
    let mut told = Vec::new();
    while let Some(event) = events.next().await {
        let Event::Recorded(entry) = event else { continue };
        told.push(in_a_word(&entry));
        match &entry.fact {
            Fact::ToolStarted { .. } => session.send(prompt("rather this")).unwrap(),
            Fact::TurnEnded { .. } => break,
            _ => {}
        }
    }
    assert_eq!(
        told.join("\n"),
        "prompted\nreplied\ntool_started bash-0\nprompt_queued\ntool_ended bash-0=ok\nprompted\nreplied\nturn_ended=finished"
    );
}

// A-55, P-34, A-33, A-41, T-49, T-54, O-41, A16
#[tokio::test]
async fn limits_and_failures_end_a_turn() {
    let far: String = (0..20).map(|n| bash(&format!("echo {n}"))).collect();
    let same = bash("echo same").repeat(20);
    let table = [
        (far, "round_limit"),
        (same, "repeating"),
        ("{\"fail\":\"no\",\"kind\":\"rejected\"}\n".into(), "failed"),
    ];
    for (script, outcome) in table {
        let place = Place::new();
        let mut setup = place.setup(scripted(&script));
        setup.profile.limits.max_rounds = Some(10);
        let session = Engine::new(setup).create("haft").unwrap();
        let told = tell(&session, prompt("go"), 1, None).await;
        assert!(told.ends_with(&format!("turn_ended={outcome}")), "{outcome}: {told}");
        if outcome == "repeating" {
            assert!(told.matches("tool_started").count() <= 8, "{told}");
            assert!(content(&session, "bash-0").contains("not run: the same calls"), "{told}");
        }
    }
}

// H-138: what a subagent began and did not wait for is told to the agent that it worked for.
#[tokio::test]
async fn background_commands_that_end_with_their_subagent_are_named() {
    let place = Place::new();
    let both = calls(&[
        ("delegate", json!({"task": "x"})),
        ("bash", json!({"command": "sleep 600", "background": true})),
    ]);
    let session = place.session(&(both + &says("done")));
    tell(&session, prompt("go"), 1, None).await;
    let told = content(&session, "delegate-0");
    assert!(told.contains("[ended with the subagent, unfinished: `sleep 600`]"), "{told}");
}

// O-41: a model that waits for a long command does not repeat itself.
#[tokio::test]
async fn rounds_that_wait_for_a_background_command_are_no_loop() {
    let place = Place::new();
    let begin = calls(&[("bash", json!({"command": "sleep 600", "background": true}))]);
    let waits = calls(&[("job", json!({"id": "1", "wait": 1}))]).repeat(8);
    let looks = calls(&[("job", json!({"id": "1"}))]).repeat(20);
    for (script, outcome) in
        [(format!("{begin}{waits}{}", says("done")), "finished"), (format!("{begin}{looks}"), "repeating")]
    {
        let session = place.session(&script);
        let told = tell(&session, prompt("go"), 1, None).await;
        assert!(told.contains(&format!("turn_ended={outcome}")), "{outcome}: {told}");
    }
}

// A-25, A-33, A-63 to A-65: ten rounds, then the apology, with the loop's log line beside it
#[tokio::test]
async fn alfred_apologizes_at_the_cap() {
    let place = Place::new();
    let script: String = (0..12).map(|n| bash(&format!("echo {n}"))).collect();
    let provider = scripted(&script);
    let mut setup = place.setup(provider.clone());
    setup.profile = Profile::named("alfred").unwrap();
    let session = Engine::new(setup).create("haft").unwrap();
    tell(&session, prompt("go"), 1, None).await;
    assert_eq!(provider.requests().len(), 10);
    assert!(
        provider.requests()[0]
            .system
            .contains("## Available Tools\n\nYou have access to the following tools:\n\n- read(path: string")
    );
    let last = Transcript::replay(&session.entries()).messages().last().cloned().unwrap();
    let apology =
        "I apologize, but I needed too many steps to complete this task. Please try breaking it down.";
    assert_eq!(*last, Message::Assistant { parts: vec![Part::text(apology)] });
}

#[tokio::test]
async fn a_failed_turn_can_be_continued() {
    let place = Place::new();
    let engine = place.engine("{\"fail\":\"down\",\"kind\":\"connection\"}\n");
    let session = engine.create("haft").unwrap();
    assert!(tell(&session, prompt("go"), 1, None).await.ends_with("model_failed\nturn_ended=failed"));
    let id = session.id().0.clone();
    drop(session);
    let session = resume_when_free(&place.engine(&says("here I am")), &id).await;
    assert_eq!(tell(&session, Command::Continue, 1, None).await, "continued\nreplied\nturn_ended=finished");
}

// T-05, T-06, T-18, trap 8, trap 9: a job ends on its own and opens a turn
#[tokio::test]
async fn a_job_speaks_up_when_it_ends() {
    let place = Place::new();
    let start = calls(&[("bash", json!({"command": "sleep 0.2; echo late > late", "background": true}))]);
    let session = place.session(&(start + &says("started") + &says("heard")));
    let told = tell(&session, prompt("go"), 2, None).await;
    assert!(told.ends_with("job_ended 1=ok\nreplied\nturn_ended=finished"), "{told}");
    assert!(told.contains("job_started 1"), "{told}");
    assert_eq!(place.read("late").as_deref(), Some("late\n"));
}

// Trap 8: a job does not keep its session alive, and ends with it
#[tokio::test]
async fn a_job_ends_with_its_session() {
    let place = Place::new();
    let start =
        calls(&[("bash", json!({"command": "touch begun; sleep 300; touch late", "background": true}))]);
    let engine = place.engine(&(start + &says("started")));
    let session = engine.create("haft").unwrap();
    tell(&session, prompt("go"), 1, None).await;
    drop(session);
    // Without a handle the session closes by itself; this would hang if the job kept it open.
    let closed = tokio::time::timeout(std::time::Duration::from_secs(10), engine.shut_down()).await;
    assert!(closed.is_ok() && place.read("late").is_none());
}

// O-31, T-25, T-26, T-27, T-04: a tool knows where the conversation takes place
#[tokio::test]
async fn a_tool_is_told_the_channel_of_the_prompt() {
    struct Where;
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct None {}
    impl haft_core::Tool for Where {
        const NAME: &'static str = "where";
        type Args = None;
        fn effects(&self, _: &None, _: &std::path::Path) -> Vec<haft_core::Effect> {
            vec![]
        }
        async fn run(
            &self,
            _: None,
            ctx: &haft_core::ToolContext,
        ) -> Result<haft_core::ToolOutput, haft_core::ToolError> {
            let chat = ctx.channel.as_ref().map_or("nowhere", |channel| &channel.chat);
            Ok(haft_core::ToolOutput::text(chat))
        }
    }
    let place = Place::new();
    let mut setup = place.setup(scripted(&(calls(&[("where", json!({}))]) + &says("ok"))));
    setup.tools = haft_core::Registry::default().with(Where);
    let session = Engine::new(setup).create("haft").unwrap();
    let channel = Some(haft_core::Channel { kind: "telegram".into(), chat: "4711".into(), messages: vec![] });
    tell(&session, Command::Prompt { parts: vec![Part::text("go")], channel }, 1, None).await;
    assert_eq!(content(&session, "where-0"), "4711");
}

// A-50, C-50, X-36: a tool that panics is an error for the model
#[tokio::test]
async fn a_panic_in_a_tool_is_an_error_for_the_model() {
    struct Bad;
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct None {}
    impl haft_core::Tool for Bad {
        const NAME: &'static str = "bad";
        type Args = None;
        fn effects(&self, _: &None, _: &std::path::Path) -> Vec<haft_core::Effect> {
            vec![]
        }
        async fn run(
            &self,
            _: None,
            _: &haft_core::ToolContext,
        ) -> Result<haft_core::ToolOutput, haft_core::ToolError> {
            panic!("oh no")
        }
    }
    let place = Place::new();
    let mut setup = place.setup(scripted(&(calls(&[("bad", json!({}))]) + &says("sorry"))));
    setup.tools = crate::kit::tools().with(Bad);
    let session = Engine::new(setup).create("haft").unwrap();
    tell(&session, prompt("go"), 1, None).await;
    assert_eq!(content(&session, "bad-0"), "error: the tool panicked: oh no");
}

// B16, B17
#[tokio::test]
async fn a_file_changed_since_it_was_read_is_not_overwritten() {
    let place = Place::new();
    place.write("a.txt", "mine\n");
    let script = calls(&[("read", json!({"path": "a.txt"}))])
        + &bash("echo theirs > a.txt")
        + &calls(&[("write", json!({"path": "a.txt", "content": "new\n"}))])
        + &says("done");
    let session = place.session(&script);
    tell(&session, prompt("go"), 1, None).await;
    assert_eq!(place.read("a.txt").as_deref(), Some("theirs\n"));
    assert!(content(&session, "write-0").contains("changed since it was last read"));
}

// C-17: what was never read is not replaced as a whole; an edit names the text that it replaces
#[tokio::test]
async fn a_file_that_was_not_read_is_not_overwritten() {
    let place = Place::new();
    for (unread, write, edit) in [
        (Unread::Allow, "Wrote", "Replaced"),
        (Unread::Edit, "error", "Replaced"),
        (Unread::Refuse, "error", "error"),
    ] {
        place.write("a", "one\n");
        place.write("b", "one\n");
        let arguments = [
            ("write", json!({"path": "a", "content": "new\n"})),
            ("write", json!({"path": "fresh/c", "content": "new\n"})),
            ("edit", json!({"path": "b", "old_text": "one", "new_text": "two"})),
        ];
        let mut setup = place.setup(scripted(&(calls(&arguments) + &says("done"))));
        setup.profile.unread = unread;
        let session = Engine::new(setup).create("haft").unwrap();
        tell(&session, prompt("go"), 1, None).await;
        let told = ["write-0", "write-1", "edit-2"].map(|call| content(&session, call));
        assert!(
            told[0].starts_with(write) && told[1].starts_with("Wrote") && told[2].starts_with(edit),
            "{told:?}"
        );
        assert_eq!(told[0].contains("has content that was not read yet"), write == "error");
        std::fs::remove_dir_all(place.work().join("fresh")).unwrap();
    }
}

// C-17, C-18: what was read is known after a restart too, unless it was changed meanwhile
#[tokio::test]
async fn what_was_read_is_known_after_a_restart() {
    let place = Place::new();
    place.write("a", "one\n");
    place.write("b", "one\n");
    let both = calls(&[("read", json!({"path": "a"})), ("read", json!({"path": "b"}))]);
    let first = both + &says("done");
    let session = place.session(&first);
    tell(&session, prompt("look"), 1, None).await;
    let id = session.id().0.clone();
    drop(session);
    // However old it says it is.
    place.write("b", "two\n");
    let file = std::fs::File::options().write(true).open(place.work().join("b")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let write = |path: &str| ("write", json!({"path": path, "content": "three\n"}));
    let engine = place.engine(&(first + &calls(&[write("a"), write("b")]) + &says("done")));
    let session = resume_when_free(&engine, &id).await;
    tell(&session, prompt("write"), 1, None).await;
    assert_eq!((place.read("a").as_deref(), place.read("b").as_deref()), (Some("three\n"), Some("two\n")));
    assert!(content(&session, "write-1").contains("changed since it was last read"));
}

// C-16, X-20: the same reading call again brings a reference, until the file or the turn is another
#[tokio::test]
async fn a_call_that_can_bring_nothing_new_is_not_made_again() {
    let place = Place::new();
    place.write("a", "one\n");
    let read = ("read", json!({"path": "a"}));
    let script = calls(&[read.clone(), read.clone()])
        + &bash("echo three >> a")
        + &calls(&[("bash", json!({"command": "true"})), read.clone()])
        + &says("done")
        + &calls(&[("bash", json!({"command": "true"})), ("bash", json!({"command": "true"})), read.clone()])
        + &says("done");
    let session = place.session(&script);
    tell(&session, prompt("go"), 1, None).await;
    let again =
        "[not called again: the same as `read-0` in this turn, and nothing has changed; its result is above]";
    assert_eq!(
        content(&session, "read-1"),
        "     1\tone\n     2\tthree",
        "the second `read-1`, of the third round"
    );
    let second = session.entries().iter().find_map(|entry| match &entry.fact {
        Fact::ToolEnded { call, result, .. } if call.0 == "read-1" => Some(result.content.clone()),
        _ => None,
    });
    assert_eq!(second.as_deref(), Some(again));
    tell(&session, prompt("again"), 1, None).await;
    assert_eq!(content(&session, "read-2"), "     1\tone\n     2\tthree");
    assert_eq!(content(&session, "bash-1"), "(no output)", "a command is never taken for the same");
}

// A question of a tool is recorded with its answer, and one without an answer is an error for the model
#[tokio::test]
async fn a_tool_asks_the_person() {
    let place = Place::new();
    let ask = calls(&[("ask", json!({"question": "Which?", "choices": ["red", "blue"]}))]);
    for (answer, expected) in
        [(Some("blue"), "The person answers: blue"), (None, "error: the question was not answered")]
    {
        let session = place.session(&(ask.clone() + &says("done")));
        session.send(prompt("go")).unwrap();
        let mut events = Box::pin(session.events(Seq(0)));
        while let Some(event) = events.next().await {
            let Event::Recorded(entry) = event else { continue };
            match &entry.fact {
                Fact::QuestionAsked { call, question } => {
                    assert_eq!((question.text.as_str(), question.choices.len()), ("Which?", 2));
                    let answer = answer.map(str::to_owned);
                    session.send(Command::reply(call.clone(), answer)).unwrap();
                }
                Fact::QuestionAnswered { answer: given, .. } => assert_eq!(given.as_deref(), answer),
                Fact::TurnEnded { .. } => break,
                _ => {}
            }
        }
        assert!(content(&session, "ask-0").starts_with(expected));
    }
}

// D60: what a question shows is what runs, whatever the model called it.
#[tokio::test]
async fn a_question_has_the_call_as_it_runs() {
    let table = [
        (("bash", json!({"command": "ls"})), None),
        (
            ("exec_command", json!({"cmd": "ls", "workdir": "sub", "timeout_secs": "7"})),
            Some(json!({"command": "ls", "working_dir": "sub", "timeout": 7})),
        ),
    ];
    for (call, expected) in table {
        let place = Place::new();
        let mut setup = place.setup(scripted(&(calls(&[call]) + &says("ok"))));
        setup.policy = Policy { rules: vec![], mode: Mode::Ask };
        let session = Engine::new(setup).create("haft").unwrap();
        tell(&session, prompt("go"), 1, Some(Answer::No)).await;
        let runs = session.entries().iter().find_map(|entry| match &entry.fact {
            Fact::ApprovalAsked { runs, .. } => Some(runs.clone()),
            _ => None,
        });
        let runs = runs.unwrap().map(|runs| (runs.name, runs.arguments));
        assert_eq!(runs, expected.map(|arguments| ("bash".to_owned(), arguments)));
    }
}

// D60: an answer holds for what was shown. What it names must not lead elsewhere when the answer comes.
#[tokio::test]
async fn what_is_swapped_while_a_person_is_asked_does_not_run() {
    let place = Place::new();
    for folder in ["good", "evil"] {
        std::fs::create_dir(place.work().join(folder)).unwrap();
    }
    let link = place.work().join("link");
    std::os::unix::fs::symlink("good", &link).unwrap();
    let call = calls(&[("bash", json!({"command": "touch here", "working_dir": "link"}))]);
    let mut setup = place.setup(scripted(&(call + &says("ok"))));
    setup.policy = Policy { rules: vec![], mode: Mode::Ask };
    let session = Engine::new(setup).create("haft").unwrap();
    let mut events = Box::pin(session.events(Seq(0)));
    session.send(prompt("go")).unwrap();
    while let Some(event) = events.next().await {
        let Event::Recorded(entry) = event else { continue };
        match &entry.fact {
            Fact::ApprovalAsked { call, effects, .. } => {
                assert_eq!(effects, &[haft_core::Effect::execute_in("touch here", "good")]);
                std::fs::remove_file(&link).unwrap();
                std::os::unix::fs::symlink("evil", &link).unwrap();
                session.send(Command::answer(call.clone(), Answer::Once)).unwrap();
            }
            Fact::TurnEnded { .. } => break,
            _ => {}
        }
    }
    assert!(content(&session, "bash-0").contains("leads elsewhere"), "{}", content(&session, "bash-0"));
    assert!(place.read("good/here").is_none() && place.read("evil/here").is_none());
}

// C-70: another agent works in a session of its own, under the same policy; a subagent does not delegate further
#[tokio::test]
async fn a_task_is_delegated() {
    let place = Place::new();
    // Both conversations begin with the first line: below, there is no such tool.
    let script = calls(&[
        ("delegate", json!({"task": "Make a note."})),
        ("bash", json!({"command": "echo hi > note"})),
    ]) + &says("made");
    let mut setup = place.setup(scripted(&script));
    setup.policy = Policy { rules: vec![Rule::parse(Ruling::Ask, "execute:*").unwrap()], mode: Mode::Full };
    let engine = Engine::new(setup);
    let session = engine.create("haft").unwrap();
    session.send(prompt("go")).unwrap();
    let mut events = Box::pin(session.events(Seq(0)));
    let mut asked = Vec::new();
    while let Some(event) = events.next().await {
        let Event::Recorded(entry) = event else { continue };
        match &entry.fact {
            Fact::ApprovalAsked { call, reason, runs, .. } => {
                let is_below = reason.starts_with("a subagent asks: ");
                let answer = if is_below { Answer::Once } else { Answer::No };
                if is_below {
                    let runs = runs.as_deref().unwrap();
                    assert_eq!(
                        (runs.name.as_str(), &runs.arguments["command"]),
                        ("bash", &json!("echo hi > note"))
                    );
                }
                asked.push(reason.clone());
                session.send(Command::answer(call.clone(), answer)).unwrap();
            }
            Fact::TurnEnded { .. } => break,
            _ => {}
        }
    }
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[0].starts_with("a subagent asks: `execute:echo hi > note`"), "{asked:?}");
    assert_eq!(
        (content(&session, "delegate-0").as_str(), place.read("note").as_deref()),
        ("made", Some("hi\n"))
    );
    let home = Home(place.home());
    let others = home.list().into_iter().filter(|summary| summary.id != *session.id());
    let below = home.peek(&others.map(|summary| summary.id.0).next().unwrap()).unwrap();
    let opened = serde_json::to_value(below[0].as_ref()).unwrap();
    assert_eq!(opened["delegated_by"], json!(session.id()));
    let told = below.iter().map(|entry| in_a_word(entry)).collect::<Vec<_>>().join("\n");
    assert!(told.contains("tool_ended delegate-0=validation_error"), "{told}");
}

// A job that is stopped ends like any other
#[tokio::test]
async fn a_job_is_watched_and_stopped_by_the_model() {
    let place = Place::new();
    let start = calls(&[("bash", json!({"command": "echo up; sleep 300", "background": true}))]);
    let script = start
        + &calls(&[("job", json!({"id": "1", "wait": 0})), ("job", json!({"id": "1", "stop": true}))])
        + &says("done");
    let session = place.session(&script);
    let told = tell(&session, prompt("go"), 1, None).await;
    assert!(told.contains("job_ended 1=system_error"), "{told}");
    assert!(content(&session, "job-1").starts_with("job 1 (ended): echo up; sleep 300"));
}

// D03: a link made by one call does not carry the next one out of the workspace
#[tokio::test]
async fn a_write_through_a_link_that_leads_out_is_asked_about() {
    let outside = tempfile::tempdir().unwrap();
    let link = format!("ln -s {} link", outside.path().display());
    for in_one_reply in [true, false] {
        let place = Place::new();
        let (bash, write) =
            (("bash", json!({"command": link})), ("write", json!({"path": "link/p", "content": "x"})));
        let script = match in_one_reply {
            true => calls(&[bash, write]),
            false => calls(&[bash]) + &calls(&[write]),
        };
        let mut setup = place.setup(scripted(&(script + &says("done"))));
        let rules = vec![Rule::parse(Ruling::Allow, "execute:ln *").unwrap()];
        setup.policy = Policy { rules, mode: Mode::AcceptEdits };
        let session = Engine::new(setup).create("haft").unwrap();
        let told = tell(&session, prompt("go"), 1, Some(Answer::Unanswered)).await;
        assert!(told.contains("tool_ended bash-0=ok") && told.contains("=permission_error"), "{told}");
        assert!(!outside.path().join("p").exists(), "{told}");
    }
}

// A13: a hundred calls in one reply, all run, in order; more than fit are answered
#[tokio::test]
async fn many_calls_in_one_reply_all_get_an_answer() {
    for (count, run) in [(100, 100), (300, 256)] {
        let place = Place::new();
        let all: Vec<_> =
            (0..count).map(|n| ("write", json!({"path": format!("f{n}"), "content": "x"}))).collect();
        let session = place.session(&(calls(&all) + &says("done")));
        let told = tell(&session, prompt("go"), 1, None).await;
        assert_eq!(told.matches("tool_ended").count(), count);
        assert_eq!(std::fs::read_dir(place.work()).unwrap().count(), run);
    }
}
