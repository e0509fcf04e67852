//! Sessions that are opened again, read by several handles, and closed.
use haft::{CallId, Entry, Seq, Update, prelude::*, providers::Scripted};
use serde_json::json;
use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

/// How long a test waits for what does not come.
const LONG: Duration = Duration::from_secs(60);

/// Writes a text to a file.
#[tool(writes = "path")]
fn write_text(path: String, text: String, context: &ToolContext) -> Result<(), std::io::Error> {
    fs::write(context.path(path), text)
}

/// Waits until the file `go` lies in the workspace.
#[tool]
async fn wait_for_go(context: &ToolContext) -> String {
    while !context.live.join("go").exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    "gone on".into()
}

fn writes(path: &str) -> (&'static str, serde_json::Value) {
    ("write_text", json!({"path": path, "text": "same"}))
}

/// Agents that work in `work` below `place`; `reader` is one that writes nothing.
async fn agent_in(place: &Path, work: &str, model: Scripted) -> Haft {
    let work = place.join(work);
    fs::create_dir_all(&work).unwrap();
    let reader = Agent { name: "reader".into(), tools: Some(vec!["wait_for_go".into()]), ..Agent::default() };
    let builder = Haft::builder().provider(model).tool(write_text).tool(wait_for_go).agent(reader);
    builder.workspace(work).home(place.join("home")).approve(|_| Answer::Once).build().await.unwrap()
}

fn model() -> Scripted {
    Scripted::new([])
}

async fn in_time<T>(work: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(LONG, work).await.unwrap()
}

async fn until_asked(turn: &mut Turn) -> CallId {
    until_asked_in(turn).await
}

async fn until_asked_in(events: &mut (impl futures::Stream<Item = Event> + Unpin)) -> CallId {
    while let Some(event) = events.next().await {
        if let Event::Recorded(entry) = event
            && let Fact::ApprovalAsked { call, .. } = &entry.fact
        {
            return call.clone();
        }
    }
    panic!("nothing was asked")
}

// H-140
#[tokio::test]
async fn a_session_goes_on_with_the_agent_that_it_had() {
    let place = tempfile::tempdir().unwrap();
    let first = agent_in(place.path(), "work", model().says("read")).await;
    let session = first.session_of("reader").unwrap();
    session.prompt("read").await.unwrap();
    let id = session.id().0.clone();
    first.close().await;
    drop((first, session));

    let script = model().says("read").calls([writes("a.txt")]).says("done");
    let second = agent_in(place.path(), "work", script).await;
    for session in [second.resume(&id).await.unwrap(), second.fork(&id, None).await.unwrap()] {
        let report = session.prompt("write").await.unwrap();
        assert!(report.calls[0].result().content.contains("there is no tool"), "{report:?}");
    }
    let files = fs::read_dir(place.path().join("work")).unwrap().count();
    assert_eq!(files, 0);

    let builder = Haft::builder().provider(model()).workspace(place.path().join("work"));
    let third = builder.home(place.path().join("home")).build().await.unwrap();
    let error = third.resume(&id).await.err().unwrap();
    assert!(error.to_string().contains("its agent `reader` is not one of this `Haft`"), "{error}");
    assert!(error.hint().unwrap().contains("resume_as"), "{error:?}");
}

// H-140
#[tokio::test]
async fn a_session_of_another_workspace_is_not_taken_up() {
    let place = tempfile::tempdir().unwrap();
    let first = agent_in(place.path(), "work", model().calls([writes("n.txt")]).says("done")).await;
    let session = first.session().unwrap();
    session.prompt("write").await.unwrap();
    let id = session.id().0.clone();
    first.close().await;
    drop((first, session));

    let second = agent_in(place.path(), "other", model()).await;
    for error in [second.resume(&id).await.err().unwrap(), second.fork(&id, None).await.err().unwrap()] {
        let text = error.to_string();
        assert!(text.contains("it works in `") && text.contains("/work`, and this agent in `"), "{text}");
        assert!(error.hint().unwrap().contains("`Builder::workspace`"), "{error:?}");
    }
    // A repository that was moved is the same workspace.
    fs::remove_dir_all(place.path().join("other")).unwrap();
    fs::rename(place.path().join("work"), place.path().join("other")).unwrap();
    let moved = agent_in(place.path(), "other", model()).await.resume(&id).await.unwrap();
    let report = moved.start(Command::Rewind { to: Seq(0) }).await.unwrap();
    assert!(!place.path().join("other/n.txt").exists());
    assert_eq!(report.changes[0].path, Path::new("n.txt"));
    // What was changed elsewhere meanwhile stays.
    fs::write(place.path().join("other/n.txt"), "own").unwrap();
    let report = moved.start(Command::Redo).await.unwrap();
    assert_eq!((report.changes.len(), &*report.conflicts), (0, &[Path::new("n.txt").to_owned()][..]));
}

#[tokio::test]
async fn a_schema_that_is_none_is_refused_before_the_model_is_asked() {
    let agent = Haft::builder().provider(model()).in_memory().build().await.unwrap();
    let session = agent.session().unwrap();
    let (parts, schema) = (vec![Part::text("How many?")], json!({"type": "nonsense"}));
    let error = session.start(Command::PromptWithSchema { parts, schema }).await.unwrap_err();
    assert!(error.to_string().contains("cannot ask for an answer by this schema"), "{error}");
    assert_eq!(session.entries().len(), 1);
}

#[tokio::test]
async fn a_rewind_into_the_middle_of_a_call_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let agent = agent_in(place.path(), "work", model().calls([writes("a.txt")]).says("done")).await;
    let session = agent.session().unwrap();
    session.prompt("write").await.unwrap();
    let is_staged = |entry: &Entry| matches!(entry.fact, Fact::Staged { .. });
    let middle = session.entries().iter().find(|entry| is_staged(entry)).unwrap().seq;
    for (to, why) in [(middle, "in the middle of a call"), (Seq(777), "entry 777: there is no such entry")] {
        let before = session.entries().len();
        let error = session.start(Command::Rewind { to }).await.unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(session.entries().len(), before);
    }
    assert!(place.path().join("work/a.txt").exists());
}

#[tokio::test]
async fn a_session_whose_last_handle_is_gone_is_reached_while_its_turn_runs() {
    let place = tempfile::tempdir().unwrap();
    let script = model().calls([("wait_for_go", json!({}))]).says("one").says("two");
    let agent = agent_in(place.path(), "work", script).await;
    let session = agent.session().unwrap();
    let mut turn = session.prompt("wait");
    while let Some(event) = turn.next().await {
        if matches!(&event, Event::Recorded(entry) if matches!(entry.fact, Fact::ToolStarted { .. })) {
            break;
        }
    }
    let id = session.id().0.clone();
    drop((turn, session));

    let again = in_time(agent.resume(&id)).await.unwrap();
    let joining = again.prompt("and then?");
    fs::write(place.path().join("work/go"), "").unwrap();
    assert_eq!(in_time(joining).await.unwrap().text, "one");
    assert_eq!(in_time(again.prompt("and then?")).await.unwrap().text, "two");
}

#[tokio::test]
async fn a_turn_whose_handler_was_cancelled_can_be_stopped() {
    struct Hangs;
    impl Provider for Hangs {
        fn stream(
            &self,
            _: haft::Request,
        ) -> futures::stream::BoxStream<'static, Result<haft::Delta, haft::ProviderError>> {
            futures::stream::pending().boxed()
        }
    }
    let place = tempfile::tempdir().unwrap();
    let builder = Haft::builder().provider(Hangs).workspace(place.path()).in_memory();
    let agent = builder.build().await.unwrap();
    let session = agent.session().unwrap();
    let id = session.id().0.clone();
    let handler = async move { session.prompt("go").await };
    tokio::time::timeout(Duration::from_millis(50), handler).await.unwrap_err();

    let again = in_time(agent.resume(&id)).await.unwrap();
    again.send(Command::Interrupt).unwrap();
    let is_end = |event: &Event| match event {
        Event::Recorded(entry) => matches!(entry.fact, Fact::TurnEnded { .. }),
        Event::Live(_) => false,
    };
    let ends = again.events(Seq(0)).filter(|event| std::future::ready(is_end(event)));
    assert!(in_time(std::pin::pin!(ends).next()).await.is_some());
}

#[tokio::test]
async fn what_is_asked_once_the_last_handle_is_gone_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let work = place.path().join("work");
    fs::create_dir_all(&work).unwrap();
    let script = model().calls([writes("a.txt")]).calls([writes("b.txt")]).says("one").says("two");
    let builder = Haft::builder().provider(script).tool(write_text).workspace(&work);
    let agent = builder.home(place.path().join("home")).build().await.unwrap();
    let session = agent.session().unwrap();
    let mut turn = session.prompt("write");
    until_asked(&mut turn).await;
    let id = session.id().0.clone();
    drop((turn, session));

    let again = in_time(agent.resume(&id)).await.unwrap();

    let report = in_time(again.prompt("and then?")).await.unwrap();
    // Whether the prompt joined the turn or opened one.
    assert_ne!(report.outcome, Some(Outcome::Interrupted));
    assert_eq!(fs::read_dir(&work).unwrap().count(), 0);
}

/// Waits for the outcome of the turn without listening.
async fn outcome(session: &Session) -> Outcome {
    loop {
        let entries = session.entries();
        if let Some(Fact::TurnEnded { outcome, .. }) = entries.last().map(|entry| &entry.fact) {
            return *outcome;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn what_no_code_listens_to_is_refused() {
    for how in ["the handle is dropped", "there is no handle", "another stream is dropped"] {
        let place = tempfile::tempdir().unwrap();
        let script = model().calls([writes("a.txt")]).says("one");
        let agent = Haft::builder().provider(script).tool(write_text).workspace(place.path()).in_memory();
        let session = agent.build().await.unwrap().session().unwrap();
        let prompt = Command::Prompt { parts: vec![Part::text("write")], channel: None };
        match how {
            "the handle is dropped" => drop(until_asked(&mut session.prompt("write")).await),
            "there is no handle" => session.send(prompt).unwrap(),
            _ => {
                let mut events = Box::pin(session.events(Seq(0)));
                session.send(prompt).unwrap();
                in_time(until_asked_in(&mut events)).await;
            }
        }
        assert_eq!(in_time(outcome(&session)).await, Outcome::Refused, "{how}");
        assert!(!place.path().join("a.txt").exists(), "{how}");
    }
}

#[tokio::test]
async fn a_question_waits_for_code_that_follows_the_session() {
    let place = tempfile::tempdir().unwrap();
    let script = model().calls([writes("a.txt")]).says("one");
    let agent = Haft::builder().provider(script).tool(write_text).workspace(place.path()).in_memory();
    let session = agent.build().await.unwrap().session().unwrap();
    let mut events = Box::pin(session.events(Seq(0)));
    drop(session.prompt("write"));
    let call = in_time(until_asked_in(&mut events)).await;
    session.send(Command::answer(call, Answer::Once)).unwrap();
    assert_eq!(in_time(outcome(&session)).await, Outcome::Finished);
    assert!(place.path().join("a.txt").exists());
}

#[tokio::test]
async fn a_handle_that_is_kept_after_it_was_recorded_holds_no_question_open() {
    let place = tempfile::tempdir().unwrap();
    let script = model().calls([writes("a.txt")]).says("one").says("two");
    let agent = Haft::builder().provider(script).tool(write_text).workspace(place.path()).in_memory();
    let session = agent.build().await.unwrap().session().unwrap();
    let mut kept = session.prompt("write");
    kept.recorded().await;
    assert!(in_time(session.prompt("by the way")).await.is_ok());
}

#[tokio::test]
async fn a_prompt_that_is_awaited_leaves_the_question_to_the_handle_that_is_read() {
    let place = tempfile::tempdir().unwrap();
    let work = place.path().join("work");
    fs::create_dir_all(&work).unwrap();
    for is_answered in [true, false] {
        let script = model().calls([writes("a.txt")]).says("one").says("two");
        let agent = Haft::builder().provider(script).tool(write_text).workspace(&work).in_memory();
        let session = agent.build().await.unwrap().session().unwrap();
        let mut read = session.prompt("write");
        let call = until_asked(&mut read).await;

        let steering = session.prompt("by the way");
        let answering = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            // Once the handle that is read is dropped, no code answers any more.
            if is_answered {
                read.answer(call, Answer::Once).unwrap();
                while read.next().await.is_some() {}
            }
            drop(read);
        };
        let (steered, ()) = in_time(async { tokio::join!(async { steering.await }, answering) }).await;

        assert!(steered.is_ok(), "{steered:?}");
        assert_eq!(work.join("a.txt").exists(), is_answered);
        let _there_or_not = fs::remove_file(work.join("a.txt"));
    }
}

#[tokio::test]
async fn nothing_of_a_closed_agent_is_alive() {
    struct Alive(Arc<AtomicBool>);
    impl Drop for Alive {
        fn drop(&mut self) {
            std::thread::sleep(Duration::from_millis(200));
            self.0.store(false, SeqCst);
        }
    }
    static ALIVE: std::sync::OnceLock<Arc<AtomicBool>> = std::sync::OnceLock::new();
    let alive = ALIVE.get_or_init(|| Arc::new(AtomicBool::new(true))).clone();
    /// Works for ever.
    #[tool]
    fn work(context: &ToolContext) -> ToolOutput {
        let alive = Alive(ALIVE.get().unwrap().clone());
        let work = async move {
            let _alive = alive;
            std::future::pending().await
        };
        ToolOutput::running(context.jobs.start("work".into(), Box::pin(work), Default::default()))
    }
    let agent = Haft::builder().provider(model().calls([("work", json!({}))]).says("works")).tool(work);
    let agent = agent.in_memory().build().await.unwrap();
    let session = agent.session().unwrap();
    session.prompt("work").await.unwrap();

    in_time(agent.close()).await;

    assert!(!alive.load(SeqCst), "the job is alive");
}

#[tokio::test]
async fn a_function_that_blocks_learns_that_its_call_was_given_up() {
    static SAW: AtomicBool = AtomicBool::new(false);
    /// Blocks until it is cancelled.
    #[tool]
    fn block(context: &ToolContext) -> String {
        context.progress("blocks");
        while !context.cancel.is_cancelled() {
            std::thread::sleep(Duration::from_millis(5));
        }
        SAW.store(true, SeqCst);
        "cancelled".into()
    }
    let agent = Haft::builder().provider(model().calls([("block", json!({}))]).says("no")).tool(block);
    let session = agent.in_memory().build().await.unwrap().session().unwrap();
    let mut turn = session.prompt("block");
    while let Some(event) = in_time(turn.next()).await {
        if matches!(event, Event::Live(Update::ToolOutput { .. })) {
            break;
        }
    }
    turn.interrupt().unwrap();
    let report = in_time(turn.report()).await;
    assert_eq!(report.outcome, Some(Outcome::Interrupted));
    let seen = async {
        while !SAW.load(SeqCst) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    in_time(seen).await;
}

/// Changes files without saying which.
struct Run;

impl Tool for Run {
    const NAME: &'static str = "run";
    type Args = serde_json::Map<String, serde_json::Value>;
    fn effects(&self, _: &Self::Args, _: &Path) -> Vec<haft::Effect> {
        vec![haft::Effect::execute("run")]
    }
    async fn run(&self, _: Self::Args, context: &ToolContext) -> Result<ToolOutput, haft::ToolError> {
        fs::write(context.live.join("b.txt"), "untracked").unwrap();
        Ok(ToolOutput::text("done"))
    }
}

#[tokio::test]
async fn the_report_of_an_undo_says_what_was_not_undone_and_what_was_merged() {
    let place = tempfile::tempdir().unwrap();
    let lines = |first: &str, last: &str| format!("{first}\n\n\n\n\n\n\n{last}\n");
    let write = |first: &str| ("write_text", json!({"path": "a.txt", "text": lines(first, "nine")}));
    let script = model().calls([write("one"), write("ONE"), ("run", json!({}))]).says("done");
    let builder = Haft::builder().provider(script).tool(write_text).tool(Run).workspace(place.path());
    let session = builder.mode(Mode::Full).in_memory().build().await.unwrap().session().unwrap();
    let report = session.prompt("go").await.unwrap();
    fs::write(place.path().join("a.txt"), lines("ONE", "NINE")).unwrap();

    let undo = haft::types::UndoCalls { calls: vec![2], merge: true, ..Default::default() };
    let undone = session.start(Command::UndoCalls(undo)).await.unwrap();
    assert_eq!(fs::read_to_string(place.path().join("a.txt")).unwrap(), lines("one", "NINE"));
    assert_eq!((undone.merged.as_slice(), undone.marked.len()), (&["a.txt".into()][..], 0), "{undone:?}");

    let undone = session.start(Command::Rewind { to: Seq(0) }).await.unwrap();
    assert_eq!(undone.untracked, [report.calls[2].id().clone()]);
    assert!(place.path().join("b.txt").exists());
}
