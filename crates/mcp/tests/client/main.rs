//! Tools of MCP servers: a real one (`server.rs`), and what one can do to us.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#[path = "../../../tools/tests/it/kit/mod.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the kit of the tools' tests, of which these use a part")]
mod kit;
mod service;
use haft_core::{Effect, Registry, SessionId, ToolSource};
use haft_mcp::client::{Mcp, McpServer, McpSettings, ServerRoots, Transport};
use kit::Kit;
use serde_json::{Value, json};
use service::Service;
use std::{
    path::Path,
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

struct Place {
    kit: Kit,
    mcp: Mcp,
    notes: Arc<Mutex<Vec<String>>>,
}

fn server(name: &str, arguments: &[&str]) -> McpServer {
    let arguments = arguments.iter().map(ToString::to_string).collect();
    McpServer {
        name: name.into(),
        transport: Transport::Program {
            program: env!("CARGO_BIN_EXE_haft-mcp-test-server").into(),
            arguments,
            environment: Vec::new(),
        },
        oauth: None,
        tools: None,
        trust_hints: false,
        roots: ServerRoots::default(),
        sampling: false,
        start_timeout: Duration::from_secs(20),
        call_timeout: Duration::from_secs(20),
    }
}

impl Place {
    fn new(servers: Vec<McpServer>) -> Self {
        Self::with_budget(servers, usize::MAX)
    }

    fn with_budget(servers: Vec<McpServer>, budget: usize) -> Self {
        let (kit, notes) = (Kit::new(), Arc::new(Mutex::new(Vec::new())));
        let told = notes.clone();
        let mcp = Mcp::new(McpSettings {
            servers,
            workspace: kit.workspace.clone(),
            environment: kit.environment.clone().into(),
            budget,
            on_note: Arc::new(move |note| told.lock().unwrap().push(note)),
        });
        Self { kit, mcp, notes }
    }

    /// As a round of the session `s` would.
    async fn refresh(&mut self) -> Arc<Registry> {
        let tools = self.mcp.tools(&SessionId("s".into())).await;
        self.kit.tools = Registry::clone(&tools);
        tools
    }

    async fn text(&mut self, tool: &str, arguments: Value) -> String {
        self.refresh().await;
        let result = self.kit.told(tool, arguments).await;
        result.content
    }
}

fn names(tools: &Registry) -> Vec<String> {
    tools.names().map(str::to_owned).collect()
}

fn runs(pid: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    // A process that ended and was not waited for yet is a zombie.
    !status.is_empty() && !status.contains(") Z ")
}

async fn until(is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), waiting).await.is_ok(), "it never came true");
}

// P-51, X-24
#[tokio::test]
async fn tools_of_a_server_are_called_like_ours() {
    let mut place = Place::new(vec![McpServer {
        tools: Some(vec!["echo".into(), "where".into()]),
        ..server("mill", &[])
    }]);
    let tools = place.refresh().await;
    assert_eq!(names(&tools), ["mcp__mill__echo", "mcp__mill__where"]);
    assert_eq!(tools.specs()[0].definition()["function"]["description"], "Does echo (0).");
    assert_eq!(place.text("mcp__mill__echo", json!({"text": "hi"})).await, "hi");
    let wrong = place.text("mcp__mill__echo", json!({"text": {}})).await;
    assert!(wrong.contains("`text` must be a string"), "{wrong}");
    let root = place.text("mcp__mill__where", json!({})).await;
    assert_eq!(root, format!("file://{}/", place.kit.workspace.display()));
    // The list did not change, so it is the same one.
    assert!(Arc::ptr_eq(&tools, &place.refresh().await));
}

#[tokio::test]
async fn no_call_comes_before_the_server_knows_the_workspace() {
    for _ in 0..5 {
        let mut place = Place::new(vec![server("mill", &["roots"])]);
        assert_eq!(place.text("mcp__mill__echo", json!({"text": "hi"})).await, "hi");
    }
}

#[tokio::test]
async fn a_tool_is_a_command_unless_the_person_trusts_the_server() {
    let trusted = McpServer { trust_hints: true, ..server("good", &[]) };
    let mut place = Place::new(vec![server("mill", &[]), trusted]);
    place.refresh().await;
    let effects = |tool: &str| {
        let effects = place.kit.effects(tool, &json!({})).unwrap();
        effects
            .iter()
            .map(|effect| effect.to_string().rsplit_once(' ').unwrap().0.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(effects("mcp__mill__echo"), ["execute:mcp:mill echo"]);
    assert_eq!(effects("mcp__good__slow"), ["execute:mcp:good slow"]);
    assert_eq!(effects("mcp__good__echo"), ["execute:mcp:good echo"]);
    let is_trusted = |tool: &str| {
        let effects = place.kit.effects(tool, &json!({})).unwrap();
        effects.iter().all(|effect| matches!(effect, Effect::Execute(run) if run.read_only))
    };
    assert_eq!(
        ["mcp__good__echo", "mcp__good__slow", "mcp__mill__echo"].map(is_trusted),
        [true, false, false]
    );
}

// D44: what was allowed holds for what was described
#[tokio::test]
async fn a_tool_that_is_described_anew_is_another_one() {
    let mut place = Place::new(vec![server("mill", &[])]);
    let before = place.refresh().await;
    let effects = place.kit.effects("mcp__mill__echo", &json!({})).unwrap();
    assert_eq!(place.text("mcp__mill__change", json!({})).await, "changed");
    // The server said so before it answered the call.
    let after = place.refresh().await;
    assert!(!Arc::ptr_eq(&before, &after));
    assert_eq!(after.specs()[0].description, "Does echo (1).");
    assert_ne!(place.kit.effects("mcp__mill__echo", &json!({})).unwrap(), effects);
    let notes = place.notes.lock().unwrap().join("\n");
    let expected = "mill: the MCP server changed `echo`, `pid`, `where` and 9 more tools; what you allowed of them before \
                    needs your approval again";
    assert_eq!(notes, expected);
}

// D44, X-21: it dies, it answers with nonsense, with too much, or not at all
#[tokio::test]
async fn a_server_that_misbehaves_is_an_error_that_says_what_to_do() {
    let hasty = McpServer { call_timeout: Duration::from_millis(300), ..server("hasty", &[]) };
    let mut place = Place::new(vec![server("mill", &[]), hasty]);
    let first = place.text("mcp__mill__pid", json!({})).await;
    let died = place.text("mcp__mill__die", json!({})).await;
    let expected =
        ["lost the MCP server `mill` in the middle of `die`", "the mill is on fire", "started again"];
    assert!(expected.iter().all(|part| died.contains(part)), "{died}");
    let second = place.text("mcp__mill__pid", json!({})).await;
    assert!(second.parse::<u32>().is_ok() && second != first, "{second}");
    let table = [
        ("mcp__mill__wrong", "the MCP server `mill` refused `wrong`: there is no grain"),
        ("mcp__hasty__slow", "the MCP server `hasty` was silent for 0 seconds; `slow` was cancelled"),
        // A line of 17 MB is not read, and not waited for.
        (
            "mcp__mill__flood",
            "lost the MCP server `mill` in the middle of `flood`: it sent a message of more than 16 MB",
        ),
    ];
    for (tool, expected) in table {
        let told = place.text(tool, json!({})).await;
        assert!(told.contains(expected), "{told}");
    }
    assert_eq!(place.text("mcp__mill__echo", json!({"text": "here again"})).await, "here again");
}

#[tokio::test]
async fn a_server_that_has_folders_of_its_own_is_not_told_of_the_workspace() {
    let own = tempfile::tempdir().unwrap();
    let folder = own.path().display().to_string();
    for (arguments, is_told) in [
        (vec!["0", "no/folder"], true),
        (vec!["0", "word"], true),
        (vec!["0", "./word"], false),
        (vec!["0", "."], false),
        (vec!["0", "~"], false),
        (vec!["0", "~/no/such/folder"], true),
        (vec!["0", "/no/such/folder"], true),
        (vec!["0", folder.as_str()], false),
        (vec!["0", &format!("--root={folder}")], false),
    ] {
        let mut mill = server("mill", &arguments);
        if let Transport::Program { environment, .. } = &mut mill.transport {
            environment.push(("HOME".into(), folder.clone()));
        }
        let mut place = Place::new(vec![mill]);
        std::fs::create_dir(place.kit.workspace.join("word")).unwrap();
        let told = place.text("mcp__mill__where", json!({})).await;
        assert_eq!(told.contains("file://"), is_told, "{arguments:?}: {told}");
    }
}

// X-21: the answer begins and does not end; the next one would be read as the rest of it
#[tokio::test]
async fn a_server_that_stops_in_the_middle_of_a_message_is_given_up_at_the_deadline() {
    let hasty = McpServer { call_timeout: Duration::from_millis(500), ..server("hasty", &[]) };
    let mut place = Place::new(vec![hasty]);
    let mut first = place.text("mcp__hasty__pid", json!({})).await;
    let long = format!(r#"{{"jsonrpc":"2.0","method":"{}"#, "x".repeat(100_000));
    for half in ["{", r#"{"jsonrpc":"2.0","id":"#, " ", "Content-Length: 12\r", &long] {
        let told = place.text("mcp__hasty__half", json!({"text": half})).await;
        let expected = [
            "the MCP server `hasty` sent the beginning of a message",
            "`half` was given up",
            "started again",
        ];
        assert!(expected.iter().all(|part| told.contains(part)), "{half:.30}: {told}");
        let next = place.text("mcp__hasty__pid", json!({})).await;
        assert!(next.parse::<u32>().is_ok() && next != first, "{half:.30}: {next}");
        until(|| !runs(&first)).await;
        first = next;
    }
    // A whole line that is no answer is no reason to begin anew.
    let told = place.text("mcp__hasty__half", json!({"text": "nothing\n"})).await;
    assert!(told.contains("was silent for 0 seconds"), "{told}");
    assert_eq!(place.text("mcp__hasty__pid", json!({})).await, first);
}

#[tokio::test]
async fn a_server_that_does_not_start_is_told_once_in_a_session() {
    let transport =
        Transport::Program { program: "no-such-program".into(), arguments: vec![], environment: vec![] };
    let mute = Transport::Program { program: "false".into(), arguments: vec![], environment: vec![] };
    let nowhere = Transport::Url { url: "http://127.0.0.1:1/mcp".into(), headers: vec![] };
    let servers = vec![
        McpServer { transport, ..server("gone", &[]) },
        McpServer { transport: mute, ..server("mute", &[]) },
        McpServer { transport: nowhere, ..server("nowhere", &[]) },
        server("mill", &[]),
    ];
    let mut place = Place::new(servers);
    let tools = place.refresh().await;
    assert_eq!(names(&tools)[0], "mcp__mill__echo");
    place.refresh().await;
    let mut notes = place.notes.lock().unwrap().clone();
    notes.sort();
    let expected = [
        "gone: cannot start the MCP server: cannot start `no-such-program`",
        "mute: cannot start the MCP server: ",
        "nowhere: cannot start the MCP server: error sending request for url (http://127.0.0.1:1/mcp)",
    ];
    assert_eq!(notes.len(), expected.len(), "{notes:?}");
    for (note, expected) in notes.iter().zip(expected) {
        assert!(note.starts_with(expected), "{note}");
    }
    place.mcp.tools(&SessionId("another".into())).await;
    assert_eq!(place.notes.lock().unwrap().len(), 6);
}

/// What a person reads of servers that start and are none.
#[tokio::test]
async fn a_server_that_is_none_is_told_without_names_of_the_program_that_we_are() {
    let shell = |script: &str| Transport::Program {
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: Vec::new(),
    };
    let answers = |answer: &str| format!("while read -r line; do echo '{answer}'; done");
    let table = [
        ("exit 3".to_owned(), "exit status: 3"),
        ("echo hello".to_owned(), "cannot start the MCP server: "),
        ("echo no licence >&2; exit 1".to_owned(), "it said: no licence"),
        (answers(r#"{"jsonrpc":"2.0","id":0,"result":{"tools":3}}"#), "is not one of MCP"),
        (answers(r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32000,"message":"no seat"}}"#), "no seat"),
        (answers(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#), "cannot start the MCP server: "),
    ];
    for (script, expected) in table {
        let one = McpServer {
            transport: shell(&script),
            start_timeout: Duration::from_secs(2),
            ..server("one", &[])
        };
        let mut place = Place::new(vec![one]);
        place.refresh().await;
        let notes = place.notes.lock().unwrap().clone();
        assert!(notes.len() == 1 && notes[0].contains(expected), "{script}: {notes:?}");
        for name in ["::", "rmcp", "Some(", "Custom", "Transport [", "Object {", "RoleClient"] {
            assert!(!notes[0].contains(name), "{script}: {notes:?}");
        }
    }
}

// C-28, C-62
#[tokio::test]
async fn progress_is_shown_questions_reach_the_person_and_a_dropped_call_is_cancelled() {
    let mut place = Place::new(vec![server("mill", &[])]);
    place.refresh().await;
    place.kit.answer("Ada");
    let asked = place.text("mcp__mill__ask", json!({})).await;
    let answer: Value = serde_json::from_str(&asked).unwrap();
    let name = "Ada to The MCP server `mill` asks: Who are you?\nname";
    assert_eq!(answer, json!({"action": "accept", "content": {"name": name}}));
    assert_eq!(place.text("mcp__mill__ask", json!({})).await, r#"{"action":"cancel"}"#);
    let call = place.kit.call("mcp__mill__slow", json!({}));
    let shown = async {
        while place.kit.shown().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = call => panic!("it never ends by itself"),
        () = shown => {}
    }
    assert_eq!(place.kit.shown(), "1/3 grinding\n");
    // The server answers the next call after it has heard of the cancellation.
    assert_eq!(place.text("mcp__mill__echo", json!({"text": "next"})).await, "next");
    assert!(place.kit.workspace.join("cancelled").exists());
}

// C-28
#[tokio::test]
async fn a_question_ends_with_the_call_it_belongs_to() {
    let table =
        [(json!({}), None), (json!({"text": "done"}), Some("done")), (json!({"text": "die"}), Some("lost"))];
    for (arguments, expected) in table {
        let mut place = Place::new(vec![server("mill", &[])]);
        place.refresh().await;
        place.kit.person.thinks.store(true, Ordering::Relaxed);
        let asked = async {
            until(|| place.kit.person.asked.load(Ordering::Relaxed) == 1).await;
            place.kit.put("arrived", "");
        };
        let told = place.kit.told("mcp__mill__ask", arguments.clone());
        match expected {
            None => tokio::select! {
                told = told => panic!("no answer: {told:?}"),
                () = asked => {}
            },
            Some(expected) => {
                let (told, ()) = tokio::join!(told, asked);
                assert!(told.content.contains(expected), "{told:?}");
            }
        }
        until(|| Arc::strong_count(&place.kit.person) == 1).await;
    }
}

#[tokio::test]
async fn tools_that_are_too_many_are_found_by_search() {
    let mut place = Place::with_budget(vec![server("small", &[]), server("big", &["300"])], 2_000);
    let tools = place.refresh().await;
    let offered = names(&tools);
    assert_eq!(offered[0], "tool_search");
    assert!(
        offered[1..].iter().all(|name| name.starts_with("mcp__small__")) && offered.len() == 13,
        "{offered:?}"
    );
    assert!(tools.specs()[0].description.ends_with("There are tools of: big (312)."));
    let found = place.text("tool_search", json!({"query": "wheel 217 mill", "limit": 1})).await;
    assert_eq!(
        found,
        "mcp__big__more_217: Turns wheel 217 of the mill.\n\
         parameters: {\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}"
    );
    // From then on the model is told of it, behind all others; what was not found can be called all the same.
    let more = place.refresh().await;
    assert_eq!(names(&more)[..offered.len()], offered);
    assert_eq!(names(&more)[offered.len()..], ["mcp__big__more_217"]);
    assert!(Arc::ptr_eq(&more, &place.refresh().await));
    assert_eq!(place.text("mcp__big__more_3", json!({})).await, "more.3 turned");
    let nothing = place.text("tool_search", json!({"query": "zzz"})).await;
    assert!(nothing.contains("no tool fits `zzz`") && nothing.contains("try other words"), "{nothing}");
    let other = place.mcp.tools(&SessionId("another".into())).await;
    assert_eq!(names(&other), offered);
}

#[tokio::test]
async fn nothing_is_left_running() {
    let mut place = Place::new(vec![server("mill", &[])]);
    let server = place.text("mcp__mill__pid", json!({})).await;
    let child = place.text("mcp__mill__child", json!({})).await;
    assert!(runs(&server) && runs(&child));
    drop(place);
    // A killed process takes a moment to go.
    until(|| !runs(&server) && !runs(&child)).await;
}

#[tokio::test]
async fn a_service_is_reached_with_its_headers_and_found_again() {
    let service = Service::start(([127, 0, 0, 1], 0).into(), "first").await;
    let at = |name: &str, path: &str, key: &str| {
        let headers = vec![("Authorization".to_owned(), format!("Bearer {key}"))];
        let url = format!("http://{}/{path}", service.address);
        McpServer { transport: Transport::Url { url, headers }, ..server(name, &[]) }
    };
    // A redirect to another place is not followed: the key is for this one.
    let servers = vec![
        at("good", "mcp", "s3cret"),
        at("moved", "moved", "s3cret"),
        at("wrong", "mcp", "guess"),
        at("away", "away", "s3cret"),
    ];
    let mut place = Place::new(servers);
    let tools = place.refresh().await;
    assert_eq!(names(&tools), ["mcp__good__which", "mcp__moved__which"]);
    let notes = place.notes.lock().unwrap().join("\n");
    let refused = "wrong: the MCP server wants to know who asks (401): put another token into its `headers`";
    assert!(notes.contains(refused) && notes.contains("away: cannot start the MCP server: "), "{notes}");
    assert!(!notes.contains("guess") && !notes.contains("s3cret"), "{notes}");
    assert_eq!(place.text("mcp__moved__which", json!({})).await, "first");
    // Calls of a service wait for no folders, so it is asked nothing else.
    assert!(!service.asked.lock().unwrap().contains(&"ping".to_owned()), "{:?}", service.asked);
    let address = service.address;
    drop(service);
    let gone = place.text("mcp__good__which", json!({})).await;
    assert!(gone.contains("`good`") && gone.contains("started again with the next call"), "{gone}");
    let _again = Service::start(address, "second").await;
    assert_eq!(place.text("mcp__good__which", json!({})).await, "second");
}
