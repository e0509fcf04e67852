//! What the library promises: defaults, errors that say what to do, no wait without an end.
use futures::{FutureExt, future::BoxFuture, stream::BoxStream};
use haft::{
    Builder, Conversation, Hooked, Hooks, ModelFault, Moment, Price, Rule, Ruling, Seq, SessionId,
    SharedRegistry, StopReason, ToolLoop, ToolSource, Usage, prelude::*, providers::Scripted, run_tool_loop,
    text_of,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::json;
use std::{fs, path::Path, sync::Arc, time::Duration};

/// How long a test waits for what does not come.
const LONG: Duration = Duration::from_secs(60);

/// Writes a text to a file.
#[tool(writes = "path")]
fn write_text(path: String, text: String, context: &ToolContext) -> Result<(), std::io::Error> {
    fs::write(context.path(path), text)
}

/// Joins words.
#[tool]
async fn join(words: Vec<String>, #[default("-")] with: String) -> String {
    words.join(&with)
}

/// Fails.
#[tool]
fn fail() -> Result<String, String> {
    Err("it is broken".into())
}

fn not_a_tool(x: i64) -> i64 {
    x
}

fn scripted() -> Scripted {
    Scripted::new([])
}

/// Appends a line to a file.
#[tool(reads = "path", writes = "path")]
fn append(path: String, line: String, context: &ToolContext) -> Result<String, std::io::Error> {
    let path = context.path(path);
    let text = fs::read_to_string(&path).unwrap_or_default();
    fs::write(path, text + &line + "\n").map(|()| "appended".into())
}

#[tokio::test]
async fn a_tool_that_reads_what_it_writes_goes_on_with_what_another_program_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let call = |line: &str| [("append", json!({"path": "a.txt", "line": line}))];
    let model = scripted().calls(call("one")).says("1").calls(call("three")).says("2");
    let builder = Haft::builder().provider(model).tool(append).workspace(folder.path());
    let session = build(builder.mode(Mode::AcceptEdits)).await.unwrap().session().unwrap();
    session.prompt("go").await.unwrap();
    fs::write(folder.path().join("a.txt"), "one\ntwo\n").unwrap();
    let report = session.prompt("go on").await.unwrap();
    assert_eq!(report.calls[0].result().content, "appended");
    assert_eq!(fs::read_to_string(folder.path().join("a.txt")).unwrap(), "one\ntwo\nthree\n");
}

fn writes(path: &str) -> (&'static str, serde_json::Value) {
    ("write_text", json!({"path": path, "text": "hello"}))
}

fn named(name: &str) -> Agent {
    Agent { name: name.into(), ..Agent::default() }
}

fn with_tool(tool: &str) -> Agent {
    Agent { tools: Some(vec![tool.into()]), ..named("a") }
}

fn costs() -> Limits {
    let mut limits = Limits::default();
    limits.budget.usd = Some(1.0);
    limits
}

#[test]
fn a_session_without_a_runtime_is_an_error() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let agent = runtime.block_on(build(Haft::builder().provider(scripted()))).unwrap();
    let error = agent.session().err().unwrap();
    assert!(error.to_string().contains("there is no Tokio runtime") && error.hint().is_some(), "{error:?}");
}

fn price(input: f64) -> Price {
    Price { input, output: 1.0, cache_read: None, cache_write: None }
}

/// Has a name that providers refuse.
#[tool]
fn größe() {}

/// Takes no object.
struct List;

impl Tool for List {
    const NAME: &'static str = "list";
    type Args = Vec<String>;

    fn effects(&self, _: &Vec<String>, _: &Path) -> Vec<Effect> {
        Vec::new()
    }

    async fn run(&self, _: Vec<String>, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("none"))
    }
}

async fn build(builder: Builder) -> haft::Result<Haft> {
    builder.in_memory().build().await
}

#[tokio::test]
async fn what_cannot_be_built_says_why_and_what_to_do() {
    let given = || Haft::builder().provider(scripted());
    let file = tempfile::NamedTempFile::new().unwrap();
    let table = [
        (Haft::builder(), "there is no model to ask", "`provider`"),
        (Haft::builder().model("gpt-5"), "`gpt-5`: it is not of the form PROVIDER/MODEL", "openai/"),
        (Haft::builder().model("opneai/gpt-5"), "there is no provider `opneai`", "did you mean `openai`?"),
        (Haft::builder().model("openai/x").base_url("host:1"), "cannot use the base URL `host:1`", "http://"),
        (given().dialect("hremes"), "there is no dialect `hremes`", "did you mean `hermes`?"),
        (given().tool(not_a_tool), "not_a_tool` is not a tool", "`#[tool]`"),
        (given().workspace("/nowhere/at/all"), "cannot work in `/nowhere/at/all`", "`workspace`"),
        (given().workspace(file.path()), "it is not a folder", "`workspace`"),
        (given().limits(costs()), "the price of `own/provider` is not known", "`price`"),
        (given().window(0), "a window of 0 tokens", "leave `window` out"),
        (given().limits(costs()).price(price(f64::NAN)), "the amount NaN", "finite numbers"),
        (given().price(price(-1.0)), "the amount -1", "finite numbers"),
        (given().tool(größe), "cannot add the tool `größe`: providers would refuse its name", "ASCII"),
        (given().tool(List), "cannot add the tool `list`: its arguments are not an object", "struct"),
        (given().agent(named("a")).agent(named("a")), "cannot add the agent `a`", "another name"),
        (given().agent(named("haft")), "cannot add the agent `haft`", "another name"),
        (given().agent(named("")), "cannot add an agent without a name", "`name`"),
        (
            given().tool(join).agent(with_tool("jion")),
            "cannot add the agent `a`: there is no tool `jion`",
            "did you mean `join`?",
        ),
        (Haft::builder().model("openai/gpt-5").key(" "), "the key is empty", "OPENAI_API_KEY"),
        (given().workspace("/"), "cannot keep sessions in memory", "`workspace`"),
    ];
    for (builder, message, hint) in table {
        let error = build(builder).await.err().unwrap_or_else(|| panic!("{message}"));
        assert!(error.to_string().contains(message), "{error}");
        assert!(error.hint().unwrap().contains(hint), "{error:?}");
        assert!(format!("{error:?}").contains("\nhint: "), "a `main` prints it so");
    }
}

#[tokio::test]
async fn a_place_for_sessions_in_the_workspace_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let builder =
        Haft::builder().provider(scripted()).workspace(folder.path()).home(folder.path().join("home"));
    let error = builder.build().await.err().unwrap();
    assert!(error.to_string().contains("is inside the workspace") && error.hint().is_some(), "{error:?}");
}

#[tokio::test]
async fn in_memory_sessions_work_in_the_folder_for_temporary_files() {
    let builder = Haft::builder().provider(scripted().says("hi")).workspace(std::env::temp_dir());
    let session = build(builder).await.unwrap().session().unwrap();
    assert_eq!(session.prompt("go").await.unwrap().text, "hi");
}

#[tokio::test]
async fn a_closed_agent_opens_no_session() {
    let (work, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let builder = Haft::builder().provider(scripted().says("hi")).workspace(work.path()).home(home.path());
    let agent = builder.build().await.unwrap();
    let id = agent.session().unwrap().id().0.clone();
    agent.close().await;
    let refused = [agent.session(), agent.resume(&id).await, agent.fork(&id, None).await];
    for error in refused.map(|opened| opened.err().unwrap()) {
        assert!(error.to_string().contains("shut down"), "{error}");
        assert!(error.hint().unwrap().contains("build another `Haft`"), "{error:?}");
    }
    assert_eq!(fs::read_dir(home.path().join("sessions")).unwrap().count(), 1);
}

#[tokio::test]
async fn in_memory_nothing_is_left() {
    let agent = build(Haft::builder().provider(scripted().says("hi"))).await.unwrap();
    let session = agent.session().unwrap();
    let journal = session.journal().path().to_owned();
    session.prompt("go").await.unwrap();
    assert!(journal.exists());
    agent.close().await;
    drop((agent, session));
    let home = journal.ancestors().nth(3).unwrap();
    assert!(!home.exists(), "{}", home.display());
}

#[tokio::test]
async fn functions_of_every_kind_are_tools_and_a_later_one_replaces_an_earlier_one() {
    /// Fails no more.
    #[tool]
    fn fail() -> &'static str {
        "it works"
    }
    /// Has the name of its parameter.
    #[tool]
    fn tree(tree: String, #[default(2)] context: usize) -> String {
        tree.repeat(context)
    }
    /// Returns nothing.
    #[tool]
    fn nothing() {}
    /// Returns a text, perhaps.
    #[tool]
    fn perhaps(really: bool) -> Option<String> {
        really.then(|| "yes".into())
    }
    let calls = [
        ("nothing", json!({})),
        ("perhaps", json!({"really": true})),
        ("perhaps", json!({"really": false})),
        ("join", json!({"words": ["a", "b"]})),
        ("fail", json!({})),
        ("tree", json!({"tree": "oak"})),
    ];
    let builder = Haft::builder().provider(scripted().calls(calls).says("ok"));
    let agent =
        build(builder.tool(self::fail).tool(join {}).tool(fail).tool(tree).tool(nothing).tool(perhaps))
            .await
            .unwrap();
    let report = agent.session().unwrap().prompt("go").await.unwrap();
    let results: Vec<&str> = report.calls.iter().map(|call| call.result().content.as_str()).collect();
    assert_eq!(results, ["(no output)", "yes", "null", "a-b", "it works", "oakoak"]);
}

#[tokio::test]
async fn where_nobody_answers_an_effect_is_refused_and_nothing_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let ask = || scripted().calls([writes("a.txt")]).says("It was refused.");
    let builder = |model| Haft::builder().provider(model).tool(write_text).workspace(folder.path());
    let agent = build(builder(ask())).await.unwrap();
    for by_report in [true, false] {
        let turn = agent.session().unwrap().prompt("write");
        let report = async { if by_report { turn.report().await } else { turn.await.unwrap() } };
        let report = tokio::time::timeout(LONG, report).await.unwrap();
        assert_eq!(report.outcome, Some(Outcome::Refused));
        assert!(report.changes.is_empty() && report.error.is_some() && !folder.path().join("a.txt").exists());
    }
    // A mode, or a function of the program, allows it.
    for builder in [builder(ask()).mode(Mode::AcceptEdits), builder(ask()).approve(|_| Answer::Once)] {
        let report = build(builder).await.unwrap().session().unwrap().prompt("write").await.unwrap();
        assert_eq!((report.outcome, report.changes.len()), (Some(Outcome::Finished), 1));
        fs::remove_file(folder.path().join("a.txt")).unwrap();
    }
}

/// Lets the job of `bake` end.
static DONE: std::sync::LazyLock<tokio::sync::Notify> = std::sync::LazyLock::new(tokio::sync::Notify::new);

/// Starts a job that ends as `how` says.
#[tool]
async fn bake(how: String, context: &ToolContext) -> ToolOutput {
    let work = async move {
        assert_ne!(how, "badly", "it burned");
        DONE.notified().await;
        Ok(ToolOutput::text("baked"))
    };
    let job = context.jobs.start("bake".into(), Box::pin(work), Default::default());
    ToolOutput::running(job)
}

// H-124. The end of the job opens a turn of its own, which no handle follows.
#[tokio::test]
async fn the_function_of_the_program_answers_in_every_turn() {
    let folder = tempfile::tempdir().unwrap();
    let model = scripted().calls([("bake", json!({"how": "well"}))]).says("started");
    let model = model.calls([writes("a.txt")]).says("written").says("next");
    let builder = Haft::builder().provider(model).tool(bake).tool(write_text).workspace(folder.path());
    let agent = build(builder.approve(|_| Answer::Once)).await.unwrap();
    let session = agent.session().unwrap();
    session.prompt("bake").await.unwrap();
    DONE.notify_one();
    let is_end = |event: &Event| match event {
        Event::Recorded(entry) => matches!(entry.fact, Fact::TurnEnded { .. }),
        Event::Live(_) => false,
    };
    let mut ends = Box::pin(session.events(Seq(0)).filter(|event| std::future::ready(is_end(event))).skip(1));
    tokio::time::timeout(LONG, ends.next()).await.expect("the approval is given");
    assert!(folder.path().join("a.txt").exists());
    let report = tokio::time::timeout(LONG, session.prompt("and then?")).await.unwrap().unwrap();
    assert_eq!(report.text, "next");
}

// H-124
#[tokio::test]
async fn an_approval_that_was_left_open_does_not_hold_up_the_next_turn() {
    let folder = tempfile::tempdir().unwrap();
    for how in ["dropped", "awaited", "panics"] {
        let model = scripted().calls([writes("a.txt")]).says("one").says("two");
        let builder = Haft::builder().provider(model).tool(write_text).workspace(folder.path());
        let builder = match how {
            "panics" => builder.approve(|_| panic!("as a test does")),
            _ => builder,
        };
        let session = build(builder).await.unwrap().session().unwrap();
        let mut turn = session.prompt("write");
        while let Some(event) = turn.next().await {
            let Event::Recorded(entry) = event else { continue };
            if matches!(entry.fact, Fact::ApprovalAsked { .. }) {
                break;
            }
        }
        match how {
            "dropped" => drop(turn),
            _ => {
                let report = tokio::time::timeout(LONG, turn).await.expect(how).unwrap();
                assert_eq!(report.outcome, Some(Outcome::Refused), "{how}");
            }
        }
        let report = tokio::time::timeout(LONG, session.prompt("go on")).await.expect(how).unwrap();
        assert!(!report.text.is_empty() && !folder.path().join("a.txt").exists(), "{how}: {report:?}");
    }
}

#[tokio::test]
async fn a_job_that_panics_has_ended_with_an_error() {
    let model = scripted().calls([("bake", json!({"how": "badly"}))]).says("started").says("a pity");
    let agent = build(Haft::builder().provider(model).tool(bake)).await.unwrap();
    let session = agent.session().unwrap();
    session.prompt("bake").await.unwrap();
    let mut events = Box::pin(session.events(Seq(0)));
    let ended = async {
        loop {
            let Event::Recorded(entry) = events.next().await.unwrap() else { continue };
            if let Fact::TaskEnded { result, .. } = &entry.fact {
                return result.content.clone();
            }
        }
    };
    let content = tokio::time::timeout(LONG, ended).await.unwrap();
    assert!(content.contains("the tool panicked") && content.contains("it burned"), "{content}");
}

/// What is not `2` is a fault of the program.
#[derive(JsonSchema)]
struct Two(#[expect(dead_code, reason = "only its reading counts")] u8);

impl<'de> Deserialize<'de> for Two {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = u8::deserialize(from)?;
        assert_eq!(number, 2, "odd");
        Ok(Self(number))
    }
}

/// Takes a two.
#[tool]
fn take_two(two: Two) -> &'static str {
    let _ = two;
    "taken"
}

/// Panics before and after a call, or when a turn begins.
struct Odd(&'static str);

impl Hooks for Odd {
    fn hear<'a>(&'a self, _: &'a SessionId, moment: Moment<'a>) -> BoxFuture<'a, Hooked> {
        let now = match moment {
            Moment::BeforeCall { .. } => "before",
            Moment::AfterCall { .. } => "after",
            Moment::TurnStarts { .. } => "start",
            Moment::TurnEnds { .. } => "end",
        };
        assert_ne!(now, self.0, "odd");
        std::future::ready(Hooked::default()).boxed()
    }
}

/// Panics in place of naming tools.
struct OddSource;

impl ToolSource for OddSource {
    fn tools<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Arc<Registry>> {
        panic!("odd")
    }
}

// H-150
#[tokio::test]
async fn code_of_the_program_that_panics_ends_no_session() {
    let calls =
        || scripted().calls([("take_two", json!({"two": 1}))]).calls([("take_two", json!({"two": 2}))]);
    let given = || Haft::builder().provider(calls().says("done").says("again")).tool(take_two);
    for (builder, expected) in [
        (given(), ["the tool panicked: ", "taken"]),
        (
            given().hooks(Odd("before")),
            ["the tool panicked: ", "a hook denied `take_two`: a hook panicked: "],
        ),
        (given().hooks(Odd("after")), ["the tool panicked: ", "taken\n[a hook says: a hook panicked: "]),
        (given().hooks(Odd("end")), ["the tool panicked: ", "taken"]),
        (given().tool_source(OddSource), ["the tool panicked: ", "taken"]),
    ] {
        let session = build(builder.mode(Mode::Full)).await.unwrap().session().unwrap();
        let report = session.prompt("go").await.unwrap();
        let results: Vec<&str> = report.calls.iter().map(|call| call.result().content.as_str()).collect();
        for (result, expected) in results.iter().zip(expected) {
            assert!(result.contains(expected), "{expected}: {results:?}");
        }
        assert_eq!((results.len(), report.text.as_str()), (2, "done"));
        assert_eq!(session.prompt("go on").await.unwrap().text, "again");
    }
    let session = build(given().hooks(Odd("start"))).await.unwrap().session().unwrap();
    let refused = session.prompt("go").await.unwrap();
    assert!(refused.error.as_ref().is_some_and(|why| why.contains("a hook panicked: ")), "{refused:?}");
    let shared = SharedRegistry::new();
    shared.register(take_two {}).unwrap();
    let result = shared.execute("take_two", json!({"two": 1})).await;
    assert!(result.content.contains("the tool panicked: "), "{result:?}");
}

#[tokio::test]
async fn a_turn_whose_beginning_was_waited_for_yields_all_of_its_events() {
    let agent = build(Haft::builder().provider(scripted().says("hi"))).await.unwrap();
    let mut turn = agent.session().unwrap().prompt("go");
    turn.recorded().await;
    let first = turn.next().await;
    assert!(
        matches!(&first, Some(Event::Recorded(entry)) if matches!(entry.fact, Fact::Prompted { .. })),
        "{first:?}"
    );
}

#[tokio::test]
async fn nothing_is_written_where_the_workspace_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("work");
    fs::create_dir(&path).unwrap();
    let model = scripted().calls([writes("a.txt")]).says("a pity");
    let agent =
        build(Haft::builder().provider(model).tool(write_text).workspace(&path).mode(Mode::AcceptEdits));
    let session = agent.await.unwrap().session().unwrap();
    fs::remove_dir(&path).unwrap();
    let report = session.prompt("go").await.unwrap();
    assert!(report.calls[0].result().content.contains("no longer exists"), "{report:?}");
    assert!(!path.exists());
}

// What a tool does on another thread cannot be dropped.
#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled() {
    /// Works until it is cancelled.
    #[tool]
    async fn work(context: &ToolContext) -> Result<(), String> {
        let cancel = context.cancel.clone();
        let (sender, receiver) = (SEEN.get().unwrap().clone(), std::future::pending());
        std::thread::spawn(move || {
            while !cancel.is_cancelled() {
                std::thread::sleep(Duration::from_millis(5));
            }
            sender.send(()).ok();
        });
        receiver.await
    }
    static SEEN: std::sync::OnceLock<std::sync::mpsc::Sender<()>> = std::sync::OnceLock::new();
    let (sender, seen) = std::sync::mpsc::channel();
    SEEN.set(sender).unwrap();
    let limits = Limits { call_seconds: 1, ..Limits::default() };
    let model = scripted().calls([("work", json!({}))]).says("too long");
    let agent = build(Haft::builder().provider(model).tool(work).limits(limits)).await.unwrap();
    let report = agent.session().unwrap().prompt("go").await.unwrap();
    assert!(report.calls[0].result().content.contains("timed out"), "{report:?}");
    seen.recv_timeout(LONG).expect("the thread sees it");
}

// H-125. Each adds the same line to what it has read.
#[tokio::test]
async fn of_two_sessions_that_write_the_same_one_is_told() {
    /// Adds a line.
    #[tool(reads = "path", writes = "path")]
    async fn add_line(path: String, context: &ToolContext) -> Result<(), std::io::Error> {
        let file = context.path(path);
        let text = fs::read_to_string(&file).unwrap_or_default();
        BOTH.wait().await;
        fs::write(file, text + "x\n")
    }
    static BOTH: std::sync::LazyLock<tokio::sync::Barrier> =
        std::sync::LazyLock::new(|| tokio::sync::Barrier::new(2));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("n"), "").unwrap();
    let run = || async {
        let model = scripted().calls([("add_line", json!({"path": "n"}))]).says("done");
        let builder = Haft::builder().provider(model).tool(add_line).workspace(folder.path());
        let agent = build(builder.mode(Mode::AcceptEdits)).await.unwrap();
        let report = agent.session().unwrap().prompt("go").await.unwrap();
        report.calls[0].result().content.clone()
    };
    let (one, other) = tokio::join!(run(), run());
    let conflicts = [&one, &other].iter().filter(|told| told.contains("changed meanwhile")).count();
    assert_eq!(conflicts, 1, "{one} {other}");
    assert_eq!(fs::read_to_string(folder.path().join("n")).unwrap(), "x\n");
}

#[tokio::test]
async fn a_model_that_cannot_be_asked_is_an_error_with_what_came_before() {
    let model = Arc::new(scripted().calls([("join", json!({"words": []}))]));
    let agent = build(Haft::builder().provider(model.clone()).tool(join)).await.unwrap();
    let session = agent.session().unwrap();
    let error = session.prompt("go").await.unwrap_err();
    assert!(error.to_string().starts_with("the model could not be asked: "), "{error}");
    assert_eq!((error.report().calls.len(), error.report().fault), (1, None));
    assert_eq!(model.requests().len(), 2);
    agent.close().await;
    let error = session.prompt("too late").await.unwrap_err();
    assert!(error.to_string().contains("the session was closed"), "{error}");
    assert!(session.send(Command::Interrupt).is_err());
}

#[tokio::test]
async fn a_failed_turn_says_whose_fault_it_is() {
    for (kind, fault) in [("auth", ModelFault::AccessDenied), ("busy", ModelFault::Overloaded)] {
        let step = json!({"fail": "no", "kind": kind}).to_string();
        let model = Scripted::new(haft::providers::Step::parse_all(&step).unwrap());
        let session = build(Haft::builder().provider(model)).await.unwrap().session().unwrap();
        let error = session.prompt("go").await.unwrap_err();
        assert_eq!(error.report().fault, Some(fault), "{error}");
    }
}

#[tokio::test]
async fn a_session_is_resumed_by_the_beginning_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let agent = || async {
        let model = scripted().says("one").says("two");
        let builder = Haft::builder().provider(model).home(folder.path().join("home"));
        builder.workspace(Path::new(env!("CARGO_MANIFEST_DIR"))).build().await.unwrap()
    };
    let first = agent().await;
    let session = first.session().unwrap();
    session.prompt("a").await.unwrap();
    let name = session.id().0.clone();
    first.close().await;
    drop((first, session));
    let resumed = agent().await.resume(&name[..name.len() - 3]).await.unwrap();
    assert_eq!(resumed.prompt("b").await.unwrap().text, "two");
    let prompts =
        resumed.entries().iter().filter(|entry| matches!(entry.fact, Fact::Prompted { .. })).count();
    assert_eq!(prompts, 2);
    let missing = agent().await.resume("nothing").await.err().unwrap();
    assert!(missing.to_string().contains("there is no session `nothing`"), "{missing}");
}

#[tokio::test]
async fn a_dropped_agent_does_not_end_its_session() {
    let session = build(Haft::builder().provider(scripted().says("hi"))).await.unwrap().session().unwrap();
    assert_eq!(session.prompt("go").await.unwrap().text, "hi");
    let turn = {
        let agent = build(Haft::builder().provider(scripted().says("hi"))).await.unwrap();
        agent.session().unwrap().prompt("go")
    };
    assert_eq!(tokio::time::timeout(LONG, turn.report()).await.unwrap().text, "hi");
}

#[tokio::test]
async fn events_of_the_session_tell_what_nobody_asked_for_here() {
    let agent = build(Haft::builder().provider(scripted().says("hi"))).await.unwrap();
    let session = agent.session().unwrap();
    let events = session.events(Seq(0));
    session.prompt("go").await.unwrap();
    agent.close().await;
    let recorded = events.filter(|event| std::future::ready(matches!(event, Event::Recorded(_))));
    assert_eq!(recorded.count().await, session.entries().len());
}

fn looping(model: impl Provider + 'static, folder: &Path) -> ToolLoop {
    let tools = Registry::default().with(write_text {}).with(join {}).with(fail {});
    ToolLoop { tools: tools.into(), workspace: folder.to_owned(), ..ToolLoop::new(model, "m") }
}

fn told(messages: &[Message]) -> Vec<String> {
    let told = messages.iter().map(|message| match message {
        Message::User { parts } => format!("user: {}", text_of(parts)),
        Message::Assistant { parts } => format!("assistant: {}", text_of(parts)),
        Message::Tool { call, result, .. } => format!("{call}: {}", result.content),
    });
    told.collect()
}

// T-47 T-48 T-49 T-50 T-51 T-52 T-53 T-54 T-55 T-56 T-57
#[tokio::test]
async fn the_loop_alone_asks_runs_and_asks_again() {
    let folder = tempfile::tempdir().unwrap();
    let call = |name: &'static str, arguments| [(name, arguments)];
    let model = Arc::new(
        scripted()
            .calls(call("join", json!({"words": ["a", "b"], "with": "+"})))
            .calls([("fail", json!({})), ("jion", json!({}))])
            .calls(call("join", json!({"words": 3})))
            .says("done"),
    );
    let config = looping(model.clone(), folder.path());
    let config = ToolLoop { max_output: 4096, ..config };
    let result = run_tool_loop(&config, Conversation::new("Be brief.").user("go"), None).await.unwrap();
    assert_eq!((result.content.as_str(), result.iterations), ("done", 4));
    assert!(!result.reached_limit);
    let told = told(&result.messages);
    assert_eq!((told[0].as_str(), told.len()), ("user: go", 9));
    assert!(told[2].ends_with(": a+b") && told[4].contains("it is broken"), "{told:?}");
    assert!(told[5].contains("did you mean `join`?") && told[7].contains("words"), "{told:?}");
    let requests = model.requests();
    assert_eq!(
        (requests[0].system.as_str(), requests[0].tools.len(), requests[0].max_output),
        ("Be brief.", 3, 4096)
    );
    // Each call has its result, in order, under its own name.
    let ids = result.messages.iter().filter_map(|message| match message {
        Message::Tool { call, .. } => Some(call.0.clone()),
        _ => None,
    });
    let ids: Vec<_> = ids.collect();
    assert_eq!(ids.len(), 4);
}

// T-41 T-49 T-53
#[tokio::test]
async fn the_loop_alone_ends_at_its_cap_and_without_tools() {
    let folder = tempfile::tempdir().unwrap();
    let again = || ("join", json!({"words": []}));
    let model = scripted().calls([again()]).calls([again()]).calls([again()]);
    let config = ToolLoop { max_iterations: 2, ..looping(model, folder.path()) };
    let result = run_tool_loop(&config, Conversation::default().user("go"), None).await.unwrap();
    assert_eq!((result.content.as_str(), result.iterations, result.messages.len()), ("", 2, 5));
    assert!(result.reached_limit);
    let bare = ToolLoop { workspace: folder.path().into(), ..ToolLoop::new(scripted().says("hi"), "m") };
    let messages = vec![Message::User { parts: vec![Part::text("go")] }];
    assert_eq!(run_tool_loop(&bare, messages, None).await.unwrap().content, "hi");
}

#[tokio::test]
async fn the_loop_alone_writes_only_what_its_policy_allows() {
    let folder = tempfile::tempdir().unwrap();
    let model = scripted().calls([writes("a.txt"), writes("b.txt")]).says("done");
    let rules = vec![Rule::parse(Ruling::Allow, "write:a.txt").unwrap()];
    let policy = Policy { rules, mode: Mode::Ask };
    let config = ToolLoop { policy, ..looping(model, folder.path()) };
    let result = run_tool_loop(&config, Conversation::default().user("go"), None).await.unwrap();
    assert!(told(&result.messages)[3].contains("may not run here"), "{:?}", told(&result.messages));
    assert_eq!(fs::read_to_string(folder.path().join("a.txt")).unwrap(), "hello");
    assert!(!folder.path().join("b.txt").exists());
}

#[cfg(feature = "tools")]
#[tokio::test]
async fn the_loop_alone_searches_only_what_its_policy_lets_it_read() {
    let folder = tempfile::tempdir().unwrap();
    for name in [".env", "sub/.env.local", "sub/open"] {
        fs::create_dir_all(folder.path().join("sub")).unwrap();
        fs::write(folder.path().join(name), "canary").unwrap();
    }
    let model = scripted().calls([("grep", json!({"pattern": "canary", "path": "."}))]).says("done");
    let rules = vec![Rule::parse(Ruling::Deny, "read:**/.env*").unwrap()];
    let config = ToolLoop {
        policy: Policy { rules, mode: Mode::Full },
        tools: haft::tools::builtin(&Default::default()).into(),
        ..looping(model, folder.path())
    };
    let result = run_tool_loop(&config, Conversation::default().user("go"), None).await.unwrap();
    let told = &told(&result.messages)[2];
    assert!(told.contains("sub/open") && !told.contains(".env:") && !told.contains(".env.local:"), "{told}");
}

/// Breaks off in the middle.
struct CutOff;

impl Provider for CutOff {
    fn stream(&self, _: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        futures::stream::iter([Ok(Delta::Text("half".into()))]).boxed()
    }
}

// T-57
#[tokio::test]
async fn the_loop_alone_says_that_a_model_failed_or_broke_off() {
    let folder = tempfile::tempdir().unwrap();
    let failing =
        Scripted::new(haft::providers::Step::parse_all("{\"fail\":\"no\",\"kind\":\"auth\"}").unwrap());
    for (config, why) in [
        (looping(failing, folder.path()), "cannot ask `m`: "),
        (looping(CutOff, folder.path()), "the reply of `m` broke off"),
        (looping(CutOff, Path::new("/nowhere")), "cannot work in `/nowhere`"),
    ] {
        let error = run_tool_loop(&config, Conversation::default().user("go"), None).await.unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

//
#[tokio::test]
async fn the_loop_alone_that_fails_has_what_was_done_and_goes_on_from_there() {
    let folder = tempfile::tempdir().unwrap();
    let steps = [
        json!({"calls": [{"name": "write_text", "arguments": {"path": "a.txt", "text": "hello"}}]}),
        json!({"fail": "overloaded", "kind": "busy"}),
    ];
    let steps = steps.map(|step| step.to_string()).join("\n");
    let failing = Scripted::new(haft::providers::Step::parse_all(&steps).unwrap());
    let config = ToolLoop {
        policy: Policy { rules: Vec::new(), mode: Mode::Full },
        ..looping(failing, folder.path())
    };
    let failed = run_tool_loop(&config, Conversation::default().user("go"), None).await.unwrap_err();
    assert!(failed.to_string().starts_with("cannot ask `m`: "), "{failed}");
    assert_eq!((failed.so_far.iterations, failed.so_far.messages.len()), (1, 3), "{failed:?}");
    assert!(folder.path().join("a.txt").exists());
    let config = ToolLoop { provider: Arc::new(scripted().says("before").says("done")), ..config };
    let result = run_tool_loop(&config, failed.so_far.messages, None).await.unwrap();
    assert_eq!((result.content.as_str(), result.messages.len()), ("done", 4));
}

struct Make;

impl Tool for Make {
    const NAME: &'static str = "make";
    type Args = std::collections::BTreeMap<String, String>;

    fn effects(&self, _: &Self::Args, _: &Path) -> Vec<Effect> {
        vec![Effect::execute_in("make", "in")]
    }

    async fn run(&self, _: Self::Args, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("made"))
    }
}

// A command is judged by where it starts, not by what that folder is called.
#[tokio::test]
async fn the_loop_alone_follows_a_link_before_it_judges() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let runs = async || {
        let rules = vec![Rule::parse(Ruling::Allow, "execute@in:make").unwrap()];
        let config = ToolLoop {
            policy: Policy { rules, mode: Mode::Ask },
            tools: Registry::default().with(Make).into(),
            ..looping(scripted().calls([("make", json!({}))]).says("done"), folder.path())
        };
        let result = run_tool_loop(&config, Conversation::default().user("go"), None).await.unwrap();
        told(&result.messages)[2].clone()
    };
    std::os::unix::fs::symlink(outside.path(), folder.path().join("in")).unwrap();
    assert!(runs().await.contains("may not run here"));
    fs::remove_file(folder.path().join("in")).unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    assert!(runs().await.ends_with("made"));
}

#[cfg(feature = "tools")]
#[tokio::test]
async fn a_host_is_asked_about_once_in_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let call = |host: &str, command: &str| {
        ("bash", json!({"command": command, "needs": [format!("network:{host}")]}))
    };
    let calls = |command: &str| [call("a.example.org", command), call("b.example.org", command)];
    let model = scripted().calls(calls("true")).calls(calls("echo again")).says("done");
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = asked.clone();
    let answer = move |question: &haft::Approval| {
        let hosts = question.effects.iter().filter(|effect| matches!(effect, haft::Effect::Network(_)));
        heard.lock().unwrap().extend(hosts.map(ToString::to_string));
        Answer::Once
    };
    let tools = haft::tools::builtin(&Default::default());
    let builder = Haft::builder().provider(model).tools(tools).workspace(folder.path());
    let builder = builder.confine_commands(Default::default());
    let agent = build(builder.approve(answer)).await.unwrap();
    let report = agent.session().unwrap().prompt("go").await.unwrap();
    assert!(report.calls.iter().all(|call| call.result().error.is_none()), "{report:?}");
    assert_eq!(*asked.lock().unwrap(), ["network:a.example.org", "network:b.example.org"]);
}

/// Streams what the test says.
struct Streams(fn() -> BoxStream<'static, Result<Delta, ProviderError>>);

impl Provider for Streams {
    fn stream(&self, _: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        (self.0)()
    }
}

fn whole(deltas: Vec<Delta>) -> BoxStream<'static, Result<Delta, ProviderError>> {
    futures::stream::iter(deltas.into_iter().map(Ok)).boxed()
}

#[tokio::test]
async fn the_loop_and_a_session_read_a_provider_alike() {
    const STOP: Delta = Delta::Stop(StopReason::EndTurn);
    type Row =
        (fn() -> BoxStream<'static, Result<Delta, ProviderError>>, Result<(&'static str, u64), &'static str>);
    let usage_last: Row = (
        || {
            let usage = Usage { input: 5, output: 6, ..Usage::default() };
            whole(vec![Delta::Text("hi".into()), STOP, Delta::Usage(usage)])
        },
        Ok(("hi", 11)),
    );
    let table: [Row; 5] = [
        usage_last,
        (|| whole(vec![STOP]), Err("the model answered nothing")),
        (|| whole(vec![Delta::Text("half".into())]), Err("bro")),
        (|| panic!("at once"), Err("it panicked: at once")),
        (|| futures::stream::poll_fn(|_| panic!("later")).boxed(), Err("it panicked: later")),
    ];
    for (stream, expected) in table {
        let config = ToolLoop::new(Streams(stream), "m");
        let looped = run_tool_loop(&config, Conversation::new("").user("go"), None).await;
        let looped = looped.map(|result| (result.content, result.usage.total()));
        let looped = looped.map_err(|error| error.to_string());
        let session = build(Haft::builder().provider(Streams(stream))).await.unwrap().session().unwrap();
        let mut told = vec![looped];
        // A fault of the provider ends the turn, not the session.
        for _ in 0..2 {
            let report = session.prompt("go").await.map(|report| (report.text, report.usage.total()));
            told.push(report.map_err(|error| error.to_string()));
        }
        for told in told {
            match (&told, &expected) {
                (Ok((text, tokens)), Ok(expected)) => assert_eq!((text.as_str(), *tokens), *expected),
                (Err(why), Err(expected)) if *expected == "bro" => {
                    assert!(why.contains("broke off") || why.contains("ended before"), "{why}");
                }
                (Err(why), Err(expected)) => assert!(why.contains(expected), "{why}"),
                _ => panic!("{told:?}, not {expected:?}"),
            }
        }
    }
}

#[tokio::test]
async fn the_loop_gives_a_model_no_longer_results_than_a_session() {
    /// Says much.
    #[tool]
    fn much() -> String {
        "x".repeat(1_000_000)
    }
    let sent = async |limit: fn(ToolLoop) -> ToolLoop| {
        let model = Arc::new(scripted().calls([("much", json!({}))]).says("ok"));
        let tools = Registry::default().with(much {}).into();
        let config = limit(ToolLoop { tools, ..ToolLoop::new(model.clone(), "m") });
        run_tool_loop(&config, Conversation::new("").user("go"), None).await.unwrap();
        match &**model.requests()[1].messages.last().unwrap() {
            Message::Tool { result, .. } => result.content.len(),
            other => panic!("{other:?}"),
        }
    };
    assert!(sent(|config| config).await < 100_000);
    assert_eq!(sent(|config| ToolLoop { clip: None, ..config }).await, 1_000_000);
}
