//! Haft as an MCP server: a real client of the SDK, a real engine, a scripted model.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
use futures::StreamExt;
use haft_core::{Access, Answer, Command, Event, Fact, Mode, Outcome, Policy, Provider, Seq, Stage};
use haft_engine::{Agent, Engine, Home, Model, Profile, Session, Setup};
use haft_mcp::server::{AgentTool, HaftServer, Offer, Open, OwnTool, listen, over_http};
use haft_providers::{Scripted, Step, direct::Direct};
use haft_stage::LocalStage;
use rmcp::{
    ClientHandler, RoleClient, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResult, ClientCapabilities, ElicitRequestParams, ElicitResult,
        ElicitationAction, ErrorData, Implementation, InitializeRequestParams, ProgressNotificationParam,
    },
    service::{NotificationContext, RequestContext, RunningService},
};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};
use tempfile::TempDir;

/// A program that calls us: asks its person or not, and writes down what it hears.
#[derive(Clone, Default)]
struct Caller {
    /// What the person answers; none where there is none.
    answer: Option<&'static str>,
    heard: Arc<Mutex<Vec<String>>>,
}

impl ClientHandler for Caller {
    fn get_info(&self) -> InitializeRequestParams {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = self.answer.map(|_| Default::default());
        InitializeRequestParams::new(capabilities, Implementation::new("caller", "1"))
    }
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = request else { panic!() };
        self.heard.lock().unwrap().push(message);
        if self.answer == Some("never") {
            std::future::pending::<()>().await;
        }
        let content = json!({"answer": self.answer.unwrap()});
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content))
    }
    async fn on_progress(&self, said: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.heard.lock().unwrap().push(format!("{} {}", said.progress, said.message.unwrap_or_default()));
    }
}

struct Place {
    folder: TempDir,
    sessions: Arc<Mutex<Vec<Session>>>,
}

type Connection = (RunningService<RoleClient, Caller>, RunningService<rmcp::RoleServer, HaftServer>);

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("w")).unwrap();
        fs::write(folder.path().join("w/a.txt"), "hello").unwrap();
        Self { folder, sessions: Arc::default() }
    }

    fn open(&self, provider: Arc<dyn Provider>) -> Open {
        let engine = Engine::new(Setup {
            model: Model::plain("script/test", provider),
            tools: haft_tools::builtin(&haft_tools::Settings::default()),
            sources: Vec::new(),
            agents: vec![Agent { name: "haft".into(), system: String::new(), ..Agent::default() }],
            policy: Policy { rules: vec![], mode: Mode::Ask },
            ceiling: None,
            stages: Arc::new(|blobs: &Path| Arc::new(LocalStage::new(blobs.to_owned())) as Arc<dyn Stage>),
            workspace: self.folder.path().join("w").canonicalize().unwrap(),
            home: Home(self.folder.path().join("home")),
            profile: Profile::standard(),
            knowledge: Default::default(),
            hooks: Arc::new(haft_core::NoHooks),
            diagnostics: None,
            evidence: Arc::new(haft_core::NoEvidence),
            models: None,
            sampler: None,
            replicas: None,
            observer: None,
            access: Access {
                environment: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
                ..Access::default()
            },
        });
        let sessions = self.sessions.clone();
        Arc::new(move || {
            let session = engine.create("haft")?;
            sessions.lock().unwrap().push(session.clone());
            Ok(session)
        })
    }

    /// An agent that does what the script says.
    fn agent(&self, script: &[Value]) -> Arc<dyn Offer> {
        let lines: String = script.iter().map(|line| format!("{line}\n")).collect();
        let model = Arc::new(Scripted::new(Step::parse_all(&lines).unwrap()));
        Arc::new(AgentTool { name: "agent".into(), description: "Works.".into(), open: self.open(model) })
    }

    fn own(&self, tool: &str) -> Arc<dyn Offer> {
        let tools = haft_tools::builtin(&haft_tools::Settings::default());
        let spec = tools.find(tool).unwrap().tool.spec().clone();
        Arc::new(OwnTool { spec, open: self.open(Arc::new(Direct)) })
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join("w").join(name)).unwrap_or_default()
    }
}

async fn connect(caller: Caller, offers: Vec<Arc<dyn Offer>>) -> Connection {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (client, server) = tokio::join!(caller.serve(ours), HaftServer::new(offers).serve(theirs));
    (client.unwrap(), server.unwrap())
}

async fn call(connection: &Connection, tool: &'static str, arguments: Value) -> CallToolResult {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    connection.0.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await.unwrap()
}

fn said(result: &CallToolResult) -> String {
    result.content.iter().filter_map(|block| Some(block.as_text()?.text.clone())).collect()
}

fn writing() -> [Value; 2] {
    let call = json!({"id": "w", "name": "write", "arguments": {"path": "b.txt", "content": "new\n"}});
    [json!({"calls": [call]}), json!({"say": "Written."})]
}

// P-51, P-52, P-53, X-24: an agent is a tool of other programs; its approvals are theirs to give
#[tokio::test]
async fn an_agent_works_for_another_program_and_asks_its_person() {
    let place = Place::new();
    let caller = Caller { answer: Some("yes"), ..Caller::default() };
    let connection = connect(caller.clone(), vec![place.agent(&writing())]).await;
    let tools = connection.0.list_all_tools().await.unwrap();
    assert_eq!((tools.len(), &*tools[0].name), (1, "agent"));
    let result = call(&connection, "agent", json!({"prompt": "Write b.txt"})).await;
    assert_eq!((said(&result).as_str(), result.is_error), ("Written.\ncreated: b.txt", Some(false)));
    let details = result.structured_content.unwrap();
    assert_eq!(details["outcome"], "finished");
    assert_eq!(details["changes"], json!([{"path": "b.txt", "kind": "created"}]));
    assert_eq!(place.text("b.txt"), "new\n");
    let heard = caller.heard.lock().unwrap().clone();
    let progress = |text: &String| text.starts_with(r#"1 write {"path":"b.txt""#);
    let question = |text: &String| text.contains("+new") && text.ends_with("needs approval. Allow it?");
    assert!(heard.iter().any(progress) && heard.iter().any(question), "{heard:?}");
}

#[tokio::test]
async fn where_nobody_can_be_asked_or_says_no_nothing_happens() {
    for answer in [None, Some("no")] {
        let place = Place::new();
        let connection = connect(Caller { answer, ..Caller::default() }, vec![place.agent(&writing())]).await;
        let result = call(&connection, "agent", json!({"prompt": "Write b.txt"})).await;
        assert_eq!(result.structured_content.unwrap()["changes"], json!([]), "{answer:?}");
        assert_eq!(place.text("b.txt"), "");
    }
}

#[tokio::test]
async fn our_own_tools_go_the_whole_way() {
    let place = Place::new();
    let caller = Caller { answer: Some("yes"), ..Caller::default() };
    let connection = connect(caller, vec![place.own("read"), place.own("write"), place.own("bash")]).await;
    let table = [
        ("read", json!({"path": "a.txt"}), false, "hello"),
        ("read", json!({"path": "gone.txt"}), true, "cannot read `gone.txt`"),
        ("read", json!({"pth": 1}), true, "`path` is required"),
        ("write", json!({"path": "c.txt", "content": "c"}), false, "c.txt"),
        ("bash", json!({"command": "echo $((6 * 7))"}), false, "42"),
    ];
    for (tool, arguments, is_error, expected) in table {
        let result = call(&connection, tool, arguments).await;
        assert!(said(&result).contains(expected), "{tool} {}", said(&result));
        assert_eq!(result.is_error, Some(is_error), "{tool}");
    }
    assert_eq!(place.text("c.txt"), "c");
    let unknown = connection.0.call_tool(CallToolRequestParams::new("nothing")).await;
    assert!(unknown.unwrap_err().to_string().contains("there is no tool `nothing`"));
    let wrong = connect(Caller::default(), vec![place.agent(&[])]).await;
    assert!(said(&call(&wrong, "agent", json!({})).await).contains("`prompt` is required"));
}

#[tokio::test]
async fn a_cancelled_call_is_interrupted() {
    let place = Place::new();
    let caller = Caller { answer: Some("yes"), ..Caller::default() };
    let connection = connect(caller.clone(), vec![place.own("bash")]).await;
    let request = json!({"command": "echo begun; sleep 1000"});
    let has_begun = async {
        while !caller.heard.lock().unwrap().iter().any(|text| text.ends_with("begun\n")) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = call(&connection, "bash", request) => panic!("it sleeps"),
        () = has_begun => {}
    }
    let session = place.sessions.lock().unwrap()[0].clone();
    let ended = session.events(Seq(0)).filter_map(|event| async move {
        match event {
            Event::Recorded(entry) => match entry.fact {
                Fact::TurnEnded { outcome, .. } => Some(outcome),
                _ => None,
            },
            Event::Live(_) => None,
        }
    });
    assert_eq!(Box::pin(ended).next().await, Some(Outcome::Interrupted));
}

/// The status of a request with this header, and what came with it.
async fn status(address: std::net::SocketAddr, header: &str) -> (u16, String) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let hello =
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
                       "capabilities": {}, "clientInfo": {"name": "caller", "version": "1"}}})
        .to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\n{header}content-type: application/json\r\nconnection: close\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{hello}",
        hello.len()
    );
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4_096];
    let read = stream.read(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
}

// The program that called waits for its person; another client answers in the session itself.
#[tokio::test]
async fn what_somebody_else_answers_is_not_waited_for() {
    let place = Place::new();
    let caller = Caller { answer: Some("never"), ..Caller::default() };
    let connection = connect(caller, vec![place.agent(&writing())]).await;
    let answering = async {
        let session = loop {
            let opened = place.sessions.lock().unwrap().first().cloned();
            if let Some(session) = opened {
                break session;
            }
            tokio::task::yield_now().await;
        };
        let mut events = Box::pin(session.events(Seq(0)));
        while let Some(event) = events.next().await {
            let Event::Recorded(entry) = event else { continue };
            if let Fact::ApprovalAsked { call, .. } = &entry.fact {
                session.send(Command::answer(call.clone(), Answer::Once)).unwrap();
                return;
            }
        }
    };
    let (result, ()) = tokio::join!(call(&connection, "agent", json!({"prompt": "write"})), answering);
    assert!(said(&result).contains("Written.") && place.text("b.txt") == "new\n", "{result:?}");
}

#[tokio::test]
async fn who_has_no_token_is_told_what_to_send() {
    let listener = listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = HaftServer::new(Vec::<Arc<dyn Offer>>::new());
    let serving = over_http(server, listener, Some("s3cret".into()), std::future::pending());
    let asking = async {
        for (header, expected) in [
            ("", 401),
            ("authorization: Bearer s3cre\r\n", 401),
            ("authorization: Basic s3cret\r\n", 401),
            ("authorization: Bearer s3cret\r\n", 200),
            ("authorization: bearer s3cret\r\n", 200),
        ] {
            let (status, answer) = status(address, header).await;
            assert_eq!(status, expected, "{header}: {answer}");
            assert_eq!(
                answer.contains("wants the header `Authorization: Bearer TOKEN`"),
                status == 401,
                "{answer}"
            );
        }
    };
    tokio::select! {
        served = serving => panic!("{served:?}"),
        () = asking => {}
    }
}

#[tokio::test]
async fn a_session_that_is_deleted_has_ended() {
    let listener = listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = HaftServer::new(Vec::<Arc<dyn Offer>>::new());
    let serving = over_http(server, listener, None, std::future::pending());
    let asking = async {
        let client = haft_http::builder().no_proxy().build().unwrap();
        let url = format!("http://{address}/mcp");
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
            "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
        let greeted = client.post(&url).header("accept", "application/json, text/event-stream").json(&hello);
        let greeted = greeted.send().await.unwrap();
        let id = greeted.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        for (what, id, expected) in [
            ("one that is not there", Some("missing"), 404),
            ("none", None, 400),
            ("the session", Some(id.as_str()), 200),
            ("one that has ended", Some(id.as_str()), 404),
        ] {
            let request = client.delete(&url);
            let request = id.into_iter().fold(request, |request, id| request.header("mcp-session-id", id));
            assert_eq!(request.send().await.unwrap().status(), expected, "{what}");
        }
    };
    tokio::select! {
        served = serving => panic!("{served:?}"),
        () = asking => {}
    }
}

// E06: half a request, from a client that sends no more
#[tokio::test]
async fn who_is_connected_and_says_nothing_does_not_keep_it_from_stopping() {
    use tokio::io::AsyncWriteExt;
    let listener = listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = HaftServer::new(Vec::<Arc<dyn Offer>>::new());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let stopped = async move { stopped.await.unwrap() };
    let serving = over_http(server, listener, Some("s3cret".into()), stopped);
    let asking = async {
        let mut half = tokio::net::TcpStream::connect(address).await.unwrap();
        half.write_all(b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n").await.unwrap();
        // By now the first connection was taken, too.
        assert_eq!(status(address, "").await.0, 401);
        stop.send(()).unwrap();
        half
    };
    let both = async { tokio::join!(serving, asking) };
    let (served, _half) = tokio::time::timeout(std::time::Duration::from_secs(60), both).await.unwrap();
    served.unwrap();
}

// What is said there is not encrypted, so no other host may listen
#[tokio::test]
async fn only_this_machine_is_listened_to() {
    let refused = listen(([0, 0, 0, 0], 0).into()).await.unwrap_err();
    assert_eq!(refused.to_string(), "`0.0.0.0:0` can be reached from outside; listen on 127.0.0.1");
    assert!(listen(([127, 0, 0, 1], 0).into()).await.is_ok());
}
