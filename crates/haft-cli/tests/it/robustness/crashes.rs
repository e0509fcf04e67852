//! What a death, a damaged file or a full disk leaves of a session, row by row (faults of group C). The real binary.
#![cfg(target_os = "linux")]
use crate::kit::{
    Place, Ran, Server, openai_call, openai_text, other_user, terminal::Terminal, terminal::poll,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

/// What the person said before the process died.
const PROMPT: &str = "the first thing that was said";

/// What the two tools of a session do: a tick that shows when it is done twice, and a file.
fn tick(more: &str) -> Value {
    json!({"command": format!("echo tick >>ticks{more}")})
}

/// The shell makes the file a moment before.
fn has_ticked(place: &Place) -> bool {
    place.read("ticks").as_deref() == Some("tick\n")
}

fn file() -> Value {
    json!({"path": "made", "content": "made\n"})
}

/// `haft` with the model behind `server`.
fn haft(place: &Place, server: &Server, arguments: &[&str]) -> Command {
    let mut command = place.haft(arguments);
    command.env("OPENAI_BASE_URL", format!("{}/v1", server.address)).env("OPENAI_API_KEY", "sk-x");
    command.args(["--model", "openai/any", "--permission", "full"]);
    command
}

/// A process that does not outlive the test.
struct Run(Child);

impl Run {
    fn start(mut command: Command) -> Self {
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _it_has_ended = self.0.kill();
        let _nobody_asks = self.0.wait();
    }
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    poll(is_so, || what.to_owned());
}

fn id(place: &Place) -> String {
    place.journal().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
}

fn entries(place: &Place, kind: &str) -> Vec<Value> {
    let text = fs::read_to_string(place.journal()).unwrap();
    let entries = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    entries.filter(|entry| entry["type"] == kind).collect()
}

/// Each call of a request is answered exactly once, right behind it; returns the answers.
fn results(request: &Value) -> Vec<String> {
    let (mut open, mut results) = (Vec::new(), Vec::new());
    for message in request["messages"].as_array().unwrap() {
        if message["role"] == "tool" {
            let call: &str = message["tool_call_id"].as_str().unwrap();
            assert_eq!(open.first().map(String::as_str), Some(call), "{request:#}");
            open.remove(0);
            results.push(message["content"].to_string());
            continue;
        }
        assert!(open.is_empty(), "without an answer: {request:#}");
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open.extend(calls.map(|call| call["id"].as_str().unwrap().to_owned()));
    }
    assert!(open.is_empty(), "without an answer: {request:#}");
    results
}

/// Ways to go on, and whether they say something more.
fn ways(id: &str) -> Vec<(Vec<&str>, bool)> {
    vec![
        (vec!["resume", "--last"], false),
        (vec!["sessions", "resume", id], false),
        (vec!["run", "--continue", "and more"], true),
        (vec!["run", "--session", id, "and more"], true),
    ]
}

/// Where a process is killed: with this request in the hands of the server, or in this command.
enum When {
    Asked(usize),
    Command,
}

// C01, C03, C04: before the first byte of an answer, while a tool runs, and when its result was sent
#[test]
fn a_session_that_was_killed_goes_on_and_nothing_is_lost_or_done_twice() {
    let table = [
        ("C01", When::Asked(0), "", 0),
        ("C03", When::Command, "; sleep 1000", 1),
        ("C04", When::Asked(1), "", 1),
    ];
    for (row, when, more, ticks) in table {
        for way in 0..4 {
            let place = Place::unconfined();
            let (dead, command) = (Arc::new(AtomicBool::new(false)), tick(more));
            let is_dead = dead.clone();
            let stops = if let When::Asked(number) = when { number } else { usize::MAX };
            let server = Server::answering(move |number, _| {
                if number == stops {
                    wait_until("the first process is killed", || is_dead.load(SeqCst));
                }
                match (number, is_dead.load(SeqCst)) {
                    (0, false) => openai_call("bash", &command),
                    _ => openai_text("It went on."),
                }
            });
            let mut run = Run::start(haft(&place, &server, &["run", PROMPT]));
            wait_until(row, || match when {
                When::Asked(number) => server.asked().len() > number,
                When::Command => has_ticked(&place),
            });
            run.kill();
            dead.store(true, SeqCst);
            let id = id(&place);
            let (words, says_more) = ways(&id).swap_remove(way);
            let ran = Ran::from(haft(&place, &server, &words).output().unwrap());
            assert_eq!((ran.code, ran.out.contains("It went on.")), (0, true), "{row} {words:?}: {ran:?}");
            let told = server.asked().pop().unwrap();
            let said = told.to_string();
            assert_eq!(said.matches(PROMPT).count(), 1, "{row} {words:?}: {said}");
            assert_eq!(said.contains("and more"), says_more, "{row} {words:?}: {said}");
            let results = results(&told);
            assert_eq!(results.len(), ticks, "{row} {words:?}: {results:?}");
            if row == "C03" {
                assert!(results[0].contains("what it did is unknown"), "{words:?}: {results:?}");
            }
            let left = place.read("ticks").map_or(0, |ticks| ticks.lines().count());
            assert_eq!(left, ticks, "{row} {words:?}");
        }
    }
}

// C02
#[test]
fn half_an_answer_is_not_taken_for_a_whole_one() {
    let place = Place::new();
    let text = "One. ".repeat(50);
    let model = place.script("m", &[json!({"say": text, "pieces": 50, "delay_ms": 3000})]);
    let out = place.path().join("out");
    let mut command = place.haft(&["run", "--model", &model, PROMPT]);
    let mut run = Run(command.stdout(fs::File::create(&out).unwrap()).spawn().unwrap());
    wait_until("half of it", || fs::read_to_string(&out).unwrap().len() > 20);
    run.kill();
    assert!(entries(&place, "replied").is_empty());
    let model = place.script("m", &[json!({"say": text, "expect": PROMPT})]);
    let ran = place.run(&["resume", "--last", "--model", &model]);
    assert_eq!((ran.code, ran.out.trim()), (0, text.trim()), "{ran:?}");
    let replied = entries(&place, "replied");
    assert_eq!(replied.len(), 1);
    assert_eq!(replied[0]["parts"], json!([{"type": "text", "text": text}]));
}

/// A session with two finished tool rounds, killed while the model is asked for the third reply.
fn two_rounds(place: &Place) {
    let (dead, is_waiting) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (is_dead, waits) = (dead.clone(), is_waiting.clone());
    let server = Server::answering(move |number, _| match number {
        0 => openai_call("bash", &tick("")),
        1 => openai_call("write", &file()),
        _ => {
            waits.store(true, SeqCst);
            wait_until("the process is killed", || is_dead.load(SeqCst));
            openai_text("not read by any client")
        }
    });
    let mut run = Run::start(haft(place, &server, &["run", PROMPT]));
    wait_until("two rounds", || is_waiting.load(SeqCst));
    run.kill();
    dead.store(true, SeqCst);
}

// C05 to C10: C05, C06, C07, C08, C09, C10
#[test]
fn a_damaged_journal_is_read_as_far_as_it_is_whole() {
    let place = Place::unconfined();
    two_rounds(&place);
    let journal = place.journal();
    let whole = fs::read(&journal).unwrap();
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let cut = |bytes: usize| whole[..whole.len() - bytes].to_vec();
    let and = |more: &[u8]| [whole.as_slice(), more].concat();
    let mut table = vec![
        ("C05", cut(7), "and were cut off", 1),
        ("C06", cut(300), "and were cut off", 1),
        ("C07", and(&[0; 4096]), "and were cut off", 1),
        ("C08", and(&lines[3][..40]), "and were cut off", 1),
        ("C10", and(lines[lines.len() - 1]), "stands there twice and was left out", 1),
    ];
    for line in 1..lines.len() {
        let mut flipped = whole.clone();
        let place = lines[..line].concat().len() + lines[line].len() / 2;
        flipped[place] ^= 0x80;
        // The first prompt is what the second line holds.
        table.push(("C09", flipped, "cannot be read and was left out", usize::from(line != 1)));
    }
    let folder = journal.parent().unwrap();
    let blobs: Vec<_> =
        fs::read_dir(folder.join("blobs")).unwrap().map(|blob| blob.unwrap().path()).collect();
    for (number, (row, bytes, note, prompts)) in table.into_iter().enumerate() {
        fs::write(&journal, &bytes).unwrap();
        assert!(blobs.iter().all(|blob| blob.exists()));
        let server = Server::start(vec![openai_text("It went on.")]);
        let id = id(&place);
        let (words, _) = ways(&id).swap_remove(number % 4);
        let ran = Ran::from(haft(&place, &server, &words).output().unwrap());
        let what = format!("{row} ({number}) {words:?}: {ran:?}");
        assert_eq!((ran.code, ran.out.contains("It went on.")), (0, true), "{what}");
        assert!(ran.err.contains(note), "{what}");
        let told = server.asked().pop().unwrap();
        results(&told);
        assert_eq!(told.to_string().matches(PROMPT).count(), prompts, "{what}");
        assert_eq!(place.read("ticks").as_deref(), Some("tick\n"), "{what}");
        // What was added later is not glued to the damage.
        let shown = place.run(&["sessions", "show", &id]);
        assert!(shown.code == 0 && shown.out.contains("It went on."), "{shown:?}");
    }
}

// C12: through a pipe and on a terminal; a command that hears no signal ends as well
#[test]
fn a_signal_ends_the_command_and_the_session_can_be_resumed() {
    let name = format!("36.{}", std::process::id());
    let deaf = format!("; trap '' TERM INT HUP; while :; do sleep {name}; done");
    for terminal in [false, true] {
        let place = Place::unconfined();
        let model = place.script(
            "m",
            &[json!({"calls": [{"name": "bash", "arguments": tick(&deaf)}]}), json!({"say": "It went on."})],
        );
        let options = format!("--model {model} --permission full");
        let begun = || has_ticked(&place);
        if terminal {
            let Some(terminal) = Terminal::open(&place, (80, 24)) else { return };
            terminal.haft(&place, &format!("run {options} go"));
            wait_until("the command", begun);
            let then = Instant::now();
            terminal.signal("TERM");
            terminal.see("left 130");
            assert!(then.elapsed() < Duration::from_secs(30), "{:?}", then.elapsed());
        } else {
            let words: Vec<&str> = ["run"].into_iter().chain(options.split(' ')).chain(["go"]).collect();
            let mut run = Run::start(place.haft(&words));
            wait_until("the command", begun);
            let then = Instant::now();
            kill_process(Pid::from_raw(run.0.id().cast_signed()).unwrap(), Signal::TERM).unwrap();
            assert_eq!(run.0.wait().unwrap().code(), Some(130));
            assert!(then.elapsed() < Duration::from_secs(30), "{:?}", then.elapsed());
        }
        wait_until("the tree is gone", || !runs(&name));
        // It was the person who ended the turn: it goes on when they say so.
        let options: Vec<&str> = options.split(' ').collect();
        let shown = place.run(&[&["resume", "--last"], &options[..]].concat());
        assert_eq!((shown.code, shown.out.contains("It went on.")), (0, false), "{shown:?}");
        let ran = place.run(&[&["run", "--continue", "go on"], &options[..]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (0, "It went on.\n"), "{ran:?}");
        assert_eq!(place.read("ticks").as_deref(), Some("tick\n"));
    }
}

/// Whether some process has this argument.
fn runs(argument: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes()))
}

// C01, C03, C04, C05, C12, C22, C23: the same by a user who may do nothing
#[test]
fn so_it_is_for_somebody_who_is_not_root() {
    other_user::run_as_nobody(
        module_path!(),
        "a_session_that_was_killed_goes_on_and_nothing_is_lost_or_done_twice",
    );
    other_user::run_as_nobody(module_path!(), "a_damaged_journal_is_read_as_far_as_it_is_whole");
    other_user::run_as_nobody(module_path!(), "a_signal_ends_the_command_and_the_session_can_be_resumed");
    other_user::run_as_nobody(module_path!(), "what_a_newer_version_wrote_is_left_as_it_is");
    other_user::run_as_nobody(
        module_path!(),
        "what_a_dead_process_held_is_taken_over_and_no_other_process_is_hurt",
    );
}

// C14: in the middle of a turn, and before the next one
#[test]
fn a_full_disk_is_said_and_no_tool_runs_unrecorded() {
    let place = Place::unconfined();
    let full = "head -c 3M /dev/zero >$HOME/filler 2>/dev/null; true";
    let bash = |command: &str| json!({"calls": [{"name": "bash", "arguments": {"command": command}}]});
    // What is left of a block of the disk does not take it.
    let long = format!("echo tock >>ticks # {}", "x".repeat(9_000));
    let steps = [bash("echo tick >>ticks"), bash(full), bash(&long), json!({"say": "done"})];
    let model = place.script("m", &steps);
    let script = r#"mount -t tmpfs -o size=2m none "$HOME" && mkdir "$HAFT_HOME" || exit 9
"$0" run --model "$1" --permission full go; echo "in the middle: $?"; cat ticks
"$0" run --model "$1" --permission full --continue "$(head -c 9000 /dev/zero | tr "\\0" x)"; echo "the next one: $?"
rm "$HOME/filler"; "$0" resume --last --model "$1" --permission full; echo "with room: $?"; cat ticks"#;
    let mut command = Command::new("unshare");
    command
        .args(["-Urm", "sh", "-c", script])
        .arg(other_user::program())
        .arg(&model)
        .current_dir(place.work());
    let base = place.haft(&[]);
    command.env_clear().envs(base.get_envs().filter_map(|(name, value)| Some((name, value?))));
    fs::create_dir(place.path().join("person")).unwrap();
    command.env("HAFT_HOME", place.path().join("person/home"));
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if err.contains("unshare:") || err.contains("mount:") {
        return haft_testing::left_out(&format!("C14: nothing can be mounted here: {err}"));
    }
    let told = format!("{out}\n{err}");
    let expected = "in the middle: 1\ntick\nthe next one: 1\ndone\nwith room: 0\ntick\ntock\n";
    assert_eq!(out, expected, "{told}");
    assert!(err.matches("No space left on device").count() >= 2 && !err.contains("panicked"), "{told}");
}

/// Where in what strace wrote each of these stands, one behind the other.
fn in_order(trace: &str, steps: &[&str]) -> Result<(), String> {
    let mut rest = trace;
    for step in steps {
        let words: Vec<&str> = step.split(" … ").collect();
        let is_it = |line: &&str| words.iter().all(|word| line.contains(word)) && !line.contains(" = -1 ");
        let Some(line) = rest.lines().find(is_it) else { return Err(format!("no `{step}` in\n{rest}")) };
        rest = &rest[line.as_ptr() as usize - rest.as_ptr() as usize + line.len()..];
    }
    Ok(())
}

/// What strace writes of a command's way to the disk, to programs and to the network.
fn traced(place: &Place, command: &Command) -> Option<String> {
    let trace = place.path().join("trace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-s", "200", "-o"]).arg(&trace);
    strace.args([
        "-e",
        "trace=write,writev,sendto,sendmsg,fsync,fdatasync,execve,rename,renameat,renameat2,linkat",
    ]);
    strace.arg(command.get_program()).args(command.get_args()).current_dir(place.work()).env_clear();
    strace.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).stdin(Stdio::null());
    let Ok(output) = strace.output() else {
        haft_testing::left_out("the order of what is on disk: there is no `strace` here");
        return None;
    };
    assert!(output.status.success(), "{output:?}");
    Some(fs::read_to_string(trace).unwrap())
}

// C18, E02: a job that is accepted is on disk
#[test]
fn a_job_is_on_disk_before_its_name_is_told() {
    let place = Place::new();
    let add = place.haft(&["jobs", "add", "--kind", "triager", "--description", "one"]);
    let Some(trace) = traced(&place, &add) else { return };
    let id = id(&place);
    let told = format!("write(1 … {id}");
    in_order(&trace, &["journal.jsonl … session_opened", "fdatasync( … journal.jsonl", &told]).unwrap();
}

// A11, C18: the order in which a run speaks to the disk, starts tools and asks the model
#[test]
fn intents_and_results_are_on_disk_before_what_follows_from_them() {
    let place = Place::unconfined();
    let server = Server::start(vec![
        openai_call("bash", &tick("")),
        openai_call("write", &file()),
        openai_text("done"),
    ]);
    let Some(trace) = traced(&place, &haft(&place, &server, &["run", "go"])) else { return };
    let ask = "POST /v1/chat/completions";
    let (sync, kept) = ("fdatasync( … journal.jsonl", "fsync( … /blobs/");
    let steps = [
        "journal.jsonl … prompted",
        sync,
        ask,
        "journal.jsonl … tool_started",
        sync,
        "execve( … echo tick",
        "journal.jsonl … tool_ended",
        sync,
        ask,
        kept,
        "journal.jsonl … staged",
        sync,
        "/work> … \"made\"",
        "journal.jsonl … tool_ended",
        sync,
        ask,
        "journal.jsonl … turn_ended",
        sync,
    ];
    in_order(&trace, &steps).unwrap();
    // Each of them once, so that nothing stood before what it has to follow.
    for (what, count) in [(ask, 3), ("execve(\"/usr/bin/bash\"", 1), ("RENAME_NOREPLACE", 1)] {
        let lines = trace.lines().filter(|line| line.contains(what) && !line.contains(" = -1 "));
        assert_eq!(lines.count(), count, "{what}: {trace}");
    }
}

/// All files below a folder with what they hold, but for locks.
fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(content(&entry.path()));
        } else if kind.is_file() {
            found.push((entry.path().display().to_string(), fs::read(entry.path()).unwrap()));
        }
    }
    found.sort();
    found
}

// C22
#[test]
fn what_a_newer_version_wrote_is_left_as_it_is() {
    let place = Place::new();
    let model = place.script("m", &[json!({"say": "hi"}), json!({"say": "more"})]);
    place.run(&["run", "--model", &model, "go"]);
    let journal = place.journal();
    let text = fs::read_to_string(&journal).unwrap();
    let (first, _) = text.split_once('\n').unwrap();
    let version = serde_json::from_str::<Value>(first).unwrap()["version"].clone();
    let newer = text.replacen(&format!("\"version\":{version}"), "\"version\":9999", 1);
    assert_ne!(newer, text);
    fs::write(&journal, newer).unwrap();
    let before = content(&place.path().join("home/sessions"));
    let id = id(&place);
    let own: [&[&str]; 6] = [
        &["resume", &id],
        &["sessions", "resume", &id],
        &["run", "--session", &id, "more"],
        &["sessions", "fork", &id],
        &["undo", &id],
        &["sessions", "show", &id],
    ];
    for words in own {
        let ran = place.run(words);
        assert!([1, 2].contains(&ran.code), "{words:?}: {ran:?}");
        assert!(ran.err.contains("newer") && ran.err.contains("9999"), "{words:?}: {ran:?}");
        assert_eq!(content(&place.path().join("home/sessions")), before, "{words:?}");
    }
}

// C23
#[test]
fn what_a_dead_process_held_is_taken_over_and_no_other_process_is_hurt() {
    let place = Place::unconfined();
    let mut innocent = Run::start({
        let mut sleep = Command::new("sleep");
        sleep.arg("600").current_dir(place.work());
        sleep
    });
    let begun = json!({"calls": [{"name": "bash", "arguments": tick("; sleep 1000")}]});
    let model = place.script("m", &[begun, json!({"say": "It went on."})]);
    let mut run = Run::start(place.haft(&["run", "--model", &model, "--permission", "full", "go"]));
    wait_until("the command", || has_ticked(&place));
    let folder = place.journal().parent().unwrap().to_owned();
    let held: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let owner = fs::read_to_string(folder.join("owner")).unwrap_or_else(|_| panic!("{held:?}"));
    let killed = run.0.id().to_string();
    run.kill();
    // Another process has its number by now.
    assert!(owner.contains(&killed), "{owner}");
    fs::write(folder.join("owner"), owner.replace(&killed, &innocent.0.id().to_string())).unwrap();
    assert!(folder.join("socket").exists(), "{held:?}");
    let ran = place.run(&["resume", "--last", "--permission", "full"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "It went on.\n"), "{ran:?}");
    assert!(innocent.0.try_wait().unwrap().is_none(), "another process was ended");
    assert_eq!(place.read("ticks").as_deref(), Some("tick\n"));
    assert!(!folder.join("owner").exists() && !folder.join("socket").exists());
}
