//! What a `haft` that was killed had started: none of it goes on, and none of it is alive when its session does.
#![cfg(target_os = "linux")]
use crate::kit::{Place, Ran, Reply, Server, openai_call, openai_text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, atomic::AtomicU64, atomic::Ordering::Relaxed},
    thread::sleep,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// How long a test waits for what does not come.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts one process of each kind that gets away from who started it. Each removes a file once it is late.
const STRAYS: &str = r#"
    exec > /dev/null 2>&1
    stray() { (until [ -e late ] || [ ! -e log ]; do sleep 0.05; done; rm -f victim-$1) & echo begun > begun-$1; while [ ! -e late ] && [ -e log ]; do sleep 0.02; done; }
    export -f stray
    echo began >> began
    (stray subshell) &
    bash -c 'stray child' &
    setsid bash -c 'stray session' &
    (setsid bash -c '(stray daemon) & exit' &)
    env -i bash -c "$(declare -f stray); stray clean" &
    setsid env -i bash -c "$(declare -f stray); stray gone" &
"#;
const KINDS: [&str; 6] = ["subshell", "child", "session", "daemon", "clean", "gone"];

const LOOP: &str = "while [ -e log ]; do sleep 0.02; done";

/// A server of MCP that offers nothing.
const SERVER: &str = r#"
    while read -r line; do
        [[ $line =~ \"id\":([0-9]+) ]] || continue
        case $line in
            *\"initialize\"*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"own","version":"1"}}' ;;
            *) result='{"tools":[]}' ;;
        esac
        echo "{\"jsonrpc\":\"2.0\",\"id\":${BASH_REMATCH[1]},\"result\":$result}"
    done
"#;

/// A place with files that must not be removed, and a hook that starts processes of its own.
fn place() -> Place {
    let place = Place::unconfined();
    place.write("log", "end\n");
    KINDS.iter().for_each(|kind| drop(place.write(&format!("victim-{kind}"), "")));
    place.write("victim-hook", "");
    let hook = format!(
        "(until [ -e late ] || [ ! -e log ]; do sleep 0.05; done; rm -f victim-hook) >&- 2>&- & ({LOOP}) >&- 2>&- & sleep 0.02"
    );
    place.configure_also(&format!("[[hooks]]\nevent = \"before_tool\"\ncommand = {}\n", json!(hook)));
    place
}

/// The same with a server that starts a process of its own.
fn place_with_server() -> Place {
    let place = place();
    let script = place.path().join("server");
    fs::write(&script, SERVER).unwrap();
    let server = json!(format!("({LOOP}) & exec bash {}", script.display()));
    place.configure_also(&format!("[mcp.own]\ncommand = \"bash\"\nargs = [\"-c\", {server}]\n"));
    place
}

/// When a process was started, in ticks since the machine was; none where it has ended.
fn started(process: &Path) -> Option<u64> {
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    if matches!(fields[0], "Z" | "X") { None } else { fields[19].parse().ok() }
}

/// This moment, in the same ticks.
fn now() -> u64 {
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    let seconds: f64 = uptime.split_ascii_whitespace().next().unwrap().parse().unwrap();
    (seconds * 100.0) as u64
}

/// The command lines of processes that work in `folder` and were started no later than `then`.
fn alive(folder: &Path, then: u64) -> Vec<String> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path()) {
        let is_here = fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
        if is_here && started(&process).is_some_and(|started| started <= then) {
            let line = fs::read(process.join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&line).replace('\0', " "));
        }
    }
    found
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "it never came true that {what}");
        sleep(Duration::from_millis(2));
    }
}

/// How many replies of the model a request holds.
fn replies(request: &Value) -> usize {
    let messages = request["messages"].as_array().map_or(&[][..], Vec::as_slice);
    messages.iter().filter(|message| message["role"] == "assistant").count()
}

fn append(line: &str) -> Reply {
    openai_call("edit", &json!({"path": "log", "old_text": "end", "new_text": format!("{line}\nend")}))
}

/// The model as it is named by who goes on.
const AGAIN: &str = "again";

/// A model that appends a line, runs `command`, and appends another one. Asked by who goes on, it looks whether something
/// is alive that was started before the moment `resumed`.
fn model(place: &Place, command: String, resumed: Arc<AtomicU64>, seen: Arc<Mutex<Vec<String>>>) -> Server {
    let work = place.work();
    Server::answering(move |_, request| {
        // What the killed run asked may be read after its end.
        if request["model"] == AGAIN {
            let then = resumed.load(Relaxed);
            seen.lock().unwrap().extend(alive(&work, then));
        }
        match replies(request) {
            0 => append("one"),
            1 => openai_call("bash", &json!({"command": command})),
            2 => append("two"),
            _ => openai_text("done"),
        }
    })
}

fn haft(place: &Place, server: &Server, arguments: &[&str]) -> Command {
    let mut command = place.haft(arguments);
    command.env("OPENAI_BASE_URL", format!("{}/v1", server.address)).env("OPENAI_API_KEY", "sk-x");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A `haft` that does not outlive the test.
struct Run(Child);

impl Run {
    fn start(mut command: Command) -> Self {
        Self(command.spawn().unwrap())
    }

    /// Kills it, and gives the moment: what is started from now on was started later.
    fn kill(&mut self) -> u64 {
        self.0.kill().unwrap();
        let then = now();
        wait_until("the clock goes on", || now() > then);
        then
    }

    /// The process beside it that outlives it.
    fn supervisor(&self) -> Option<Pid> {
        supervisors().into_iter().find(|pid| parent(*pid) == Some(self.0.id())).and_then(Pid::from_raw)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _it_has_ended = self.0.kill();
        let _nobody_asks = self.0.wait();
    }
}

const RUN: [&str; 6] = ["run", "--model", "openai/any", "--permission", "full", "go"];

fn session(place: &Place) -> Option<String> {
    let mut sessions = fs::read_dir(place.path().join("home/sessions")).ok()?;
    let name = sessions.next()?.ok()?.file_name().into_string().ok()?;
    let journal =
        fs::read_to_string(place.path().join("home/sessions").join(&name).join("journal.jsonl")).ok()?;
    journal.contains("\"prompted\"").then_some(name)
}

fn resume(place: &Place, server: &Server, id: &str) -> Ran {
    let model = format!("openai/{AGAIN}");
    let resume = ["sessions", "resume", id, "--model", &model, "--permission", "full"];
    Ran::from(haft(place, server, &resume).output().unwrap())
}

/// Processes that supervise others.
fn supervisors() -> Vec<i32> {
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap());
    let is_one = |process: &fs::DirEntry| {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("--end-what-is-left-of=")
    };
    let pids = processes.filter(is_one).filter_map(|process| process.file_name().to_str()?.parse().ok());
    pids.collect()
}

fn parent(pid: i32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn all_have_begun(place: &Place) -> bool {
    KINDS.iter().all(|kind| place.read(&format!("begun-{kind}")).is_some())
}

/// It has become late in these places: who waited for that has done what it wanted.
fn be_late(places: &[Place]) {
    places.iter().for_each(|place| drop(place.write("late", "")));
    sleep(Duration::from_millis(500));
}

fn victims(place: &Place) -> BTreeSet<String> {
    let names =
        fs::read_dir(place.work()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("victim-")).collect()
}

fn all_victims() -> BTreeSet<String> {
    KINDS.iter().chain(&["hook"]).map(|kind| format!("victim-{kind}")).collect()
}

#[test]
fn a_killed_run_leaves_nothing_alive_and_nothing_undone_later() {
    let place = place_with_server();
    let (resumed, seen) = (Arc::default(), Arc::default());
    let server = model(&place, format!("{STRAYS} sleep 1000"), resumed, seen);
    let run = Run::start(haft(&place, &server, &RUN));
    wait_until("all have begun", || all_have_begun(&place));
    assert!(!alive(&place.work(), u64::MAX).is_empty());
    drop(run);
    wait_until("nothing is alive", || alive(&place.work(), u64::MAX).is_empty());
    be_late(std::slice::from_ref(&place));
    assert_eq!(victims(&place), all_victims());
}

/// Who starts the processes that get away.
#[derive(Clone, Copy, Debug)]
enum By {
    Command,
    BackgroundJob,
    Subagent,
    Hook,
    McpServer,
    Model,
}

const ALL: [By; 6] = [By::Command, By::BackgroundJob, By::Subagent, By::Hook, By::McpServer, By::Model];

impl By {
    /// A place in which they are started by whatever this is, once.
    fn place(self) -> Place {
        let place = place();
        fs::remove_file(place.path().join("person/.config/haft/config.toml")).unwrap();
        let script = place.path().join("strays");
        let there =
            format!("cd {}; [ -e once ] || {{ touch once; {STRAYS} sleep 1000; }}", place.work().display());
        fs::write(&script, there).unwrap();
        let once = format!("bash {}", script.display());
        match self {
            Self::Command | Self::BackgroundJob | Self::Subagent => {}
            Self::Hook => {
                let hook = json!(once);
                place.configure_also(&format!("[[hooks]]\nevent = \"before_tool\"\ncommand = {hook}\n"));
            }
            Self::McpServer => {
                let server = json!(format!("({once}) >&- 2>&- <&- & {SERVER}"));
                place.configure_also(&format!("[mcp.own]\ncommand = \"bash\"\nargs = [\"-c\", {server}]\n"));
            }
            Self::Model => {
                let model = json!(once);
                place.configure_also(&format!(
                    "[exec.own]\nprogram = \"bash\"\narguments = [\"-c\", {model}]\n"
                ));
            }
        }
        place
    }

    /// What the model answers before the run is killed.
    fn reply(self, request: &Value) -> Reply {
        let command = json!({"command": format!("{STRAYS} sleep 1000")});
        let is_below = request["messages"].to_string().contains("the task");
        match self {
            Self::Command => openai_call("bash", &command),
            Self::BackgroundJob => {
                openai_call("bash", &json!({"command": command["command"], "background": true}))
            }
            Self::Subagent if is_below => openai_call("bash", &command),
            Self::Subagent => openai_call("delegate", &json!({"task": "the task"})),
            Self::Hook | Self::McpServer | Self::Model => openai_call("bash", &json!({"command": "true"})),
        }
    }

    /// Whether the run goes on to its next request while they run.
    fn goes_on(self) -> bool {
        matches!(self, Self::BackgroundJob | Self::McpServer)
    }

    fn model(self) -> &'static str {
        if matches!(self, Self::Model) { "exec/own" } else { "openai/any" }
    }
}

/// Kills it while they run, without anybody beside it that could end them, and takes it up.
fn killed_and_taken_up(by: By) {
    let place = by.place();
    let (resumed, seen): (Arc<AtomicU64>, Arc<Mutex<Vec<String>>>) = Default::default();
    let (then, found, work) = (resumed.clone(), seen.clone(), place.work());
    let asked = Arc::new(AtomicU64::new(0));
    let asking = asked.clone();
    let server = Server::answering(move |number, request| {
        asking.fetch_add(1, Relaxed);
        if number > 0 && then.load(Relaxed) == 0 && !matches!(by, By::Subagent) {
            // It has begun what it is to be killed over.
            wait_until("the run is killed", || then.load(Relaxed) > 0);
            return openai_text("not read by any client");
        }
        if then.load(Relaxed) == 0 {
            return by.reply(request);
        }
        found.lock().unwrap().extend(alive(&work, then.load(Relaxed)));
        openai_text("done")
    });
    let words = ["run", "--model", by.model(), "--permission", "full", "go"];
    let mut run = Run::start(haft(&place, &server, &words));
    wait_until(&format!("all of {by:?} have begun"), || all_have_begun(&place));
    // A request of the run that is killed must not come in behind it, and be taken for one of the run that goes on.
    wait_until(&format!("{by:?} asks again"), || !by.goes_on() || asked.load(Relaxed) > 1);
    // A process has no command line for a moment while it starts.
    let mut supervisor = None;
    wait_until(&format!("{by:?} has a supervisor"), || {
        supervisor = run.supervisor();
        supervisor.is_some()
    });
    kill_process(supervisor.unwrap(), Signal::KILL).unwrap();
    resumed.store(run.kill(), Relaxed);
    let ran = resume(&place, &server, &session(&place).unwrap());
    assert_eq!(ran.code, 0, "{by:?}: {ran:?}");
    assert_eq!(*seen.lock().unwrap(), Vec::<String>::new(), "{by:?}");
    assert_eq!(place.read("began").as_deref(), Some("began\n"), "{by:?}");
    be_late(std::slice::from_ref(&place));
    assert_eq!(victims(&place), all_victims(), "{by:?}");
}

// The process that goes on asks no other one whether something runs on.
#[test]
fn who_resumes_ends_what_a_killed_run_left_before_the_model_is_asked() {
    ALL.into_iter().for_each(killed_and_taken_up);
}

// The model is told, and what had begun is not begun again.
#[test]
fn a_command_that_was_killed_with_its_run_is_unknown_to_the_model() {
    let place = place();
    let (resumed, seen): (Arc<AtomicU64>, Arc<Mutex<Vec<String>>>) = Default::default();
    let server = model(&place, format!("{STRAYS} sleep 1000"), resumed.clone(), seen.clone());
    let mut run = Run::start(haft(&place, &server, &RUN));
    wait_until("all have begun", || all_have_begun(&place));
    resumed.store(run.kill(), Relaxed);
    let ran = resume(&place, &server, &session(&place).unwrap());
    assert_eq!((ran.code, &*seen.lock().unwrap()), (0, &Vec::new()), "{ran:?}");
    assert_eq!(
        (place.read("log").as_deref(), place.read("began").as_deref()),
        (Some("one\ntwo\nend\n"), Some("began\n"))
    );
    let asked = server.asked();
    let told = asked.last().unwrap()["messages"].to_string();
    assert!(told.contains("what it did is unknown"), "{told}");
}

/// Numbers that look random (Knuth's MMIX).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Killed after so many microseconds and taken up at once; what went wrong.
fn killed_after(delay: u64) -> Result<Place, String> {
    let place = place();
    let (resumed, seen): (Arc<AtomicU64>, Arc<Mutex<Vec<String>>>) = Default::default();
    let server = model(&place, format!("{STRAYS} sleep 0.2"), resumed.clone(), seen.clone());
    let mut run = Run::start(haft(&place, &server, &RUN));
    sleep(Duration::from_micros(delay));
    resumed.store(run.kill(), Relaxed);
    if let Some(id) = session(&place) {
        let ran = resume(&place, &server, &id);
        let journal = fs::read_to_string(place.journal()).unwrap();
        let (log, began) = (place.read("log"), place.read("began").unwrap_or_default());
        let has_turn = journal.contains("\"turn_ended\"");
        if ran.code != 0 || !has_turn || log.as_deref() != Some("one\ntwo\nend\n") || began.len() > 6 {
            return Err(format!("{log:?} {began:?} {ran:?}\n{journal}"));
        }
        let seen = seen.lock().unwrap();
        if !seen.is_empty() {
            return Err(format!("alive when the model was asked: {seen:?}\n{journal}"));
        }
    }
    Ok(place)
}

const INSTANTS: u64 = 50;
const AT_ONCE: usize = 4;

/// From before the first entry to after the last one.
const LONGEST: u64 = 700_000;

#[test]
fn a_run_that_is_killed_at_any_instant_is_taken_up_alone_and_once() {
    let given = std::env::var("HAFT_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed =
        given.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64);
    let mut chance = Chance(seed);
    let delays: Vec<u64> = (0..INSTANTS).map(|_| chance.below(LONGEST)).collect();
    let kill = |delay: &u64| {
        killed_after(*delay).unwrap_or_else(|why| panic!("seed {seed}, after {delay} µs: {why}"))
    };
    let places: Vec<Place> = std::thread::scope(|scope| {
        let parts = delays.chunks(delays.len().div_ceil(AT_ONCE));
        let parts: Vec<_> =
            parts.map(|part| scope.spawn(|| part.iter().map(kill).collect::<Vec<_>>())).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    be_late(&places);
    // After a run that ended by itself, processes that left its group and its environment are not searched.
    let gone = BTreeSet::from(["victim-gone".to_owned()]);
    for place in places {
        let expected = &all_victims() - &gone;
        assert_eq!(&victims(&place) - &gone, expected, "seed {seed}");
    }
}
