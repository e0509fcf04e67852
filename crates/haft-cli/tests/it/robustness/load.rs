//! A lot of it, and little room: jobs, readers, connections, limits (faults of group E). The real binary.
#![cfg(target_os = "linux")]
use crate::kit::{Place, Ran, drip::Drip, other_user, serving::Serving, terminal::poll};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{Read, Write},
    ops::Range,
    os::unix::fs::symlink,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};

const WORKERS: usize = 16;

/// Jobs of this agent need nothing of a repository.
const KEEPER: &str = "---\nname: keeper\ndescription: Keeps a log\ntools: [bash]\n---\nYou keep a log.\n";

fn all_jobs(server: &Serving) -> Vec<Value> {
    let (mut all, mut next) = (Vec::new(), String::new());
    loop {
        let page = server.ask(&format!("GET /v1/jobs?limit=500{next}"), "").json();
        all.extend(page["jobs"].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(last) => next = format!("&after={last}"),
            None => return all,
        }
    }
}

/// Waits until all have ended; longer than the others of this file do.
fn ended(server: &Serving, count: usize) -> Vec<Value> {
    let patience = Duration::from_secs(60 + count as u64);
    let begun = Instant::now();
    loop {
        let all = all_jobs(server);
        let open = all
            .iter()
            .filter(|job| ["pending", "running", "waiting"].contains(&job["status"].as_str().unwrap()));
        match open.count() {
            0 => return all,
            open => assert!(begun.elapsed() < patience, "{open} of {} jobs are still there", all.len()),
        }
        thread::sleep(Duration::from_millis(if count > 1_000 { 2_000 } else { 100 }));
    }
}

// C24, E02: all are on disk when that is said, a kill in the middle loses none, and none begins twice
#[test]
fn queued_jobs_end_once_whatever_happens_to_the_server() {
    let place = Place::unconfined();
    let agents = place.path().join("person/.config/haft/agents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("keeper.md"), KEEPER).unwrap();
    // The name of the job's session, as its commands know it.
    let tick =
        json!({"calls": [{"name": "bash", "arguments": {"command": "echo ${HAFT_CALL%% *} >>ticks"}}]});
    let model = place.script("m", &[tick, json!({"say": "It is kept."})]);
    let words = ["--model", &model, "--permission", "full", "--workers", &WORKERS.to_string()];
    let count = haft_testing::tries(120) as usize;
    let server = Serving::start(&place, &words);
    let begun = Instant::now();
    // It is killed when half of them are accepted; what it has not answered by then may be there or not.
    let accepted = AtomicUsize::new(0);
    let add = |number: usize, server: &Serving| {
        let body = json!({"kind": "keeper", "description": format!("job {number}")}).to_string();
        let made = server.ask("POST /v1/jobs", &body);
        let job: Value = serde_json::from_str(&made.body).ok().filter(|_| made.status == 201)?;
        accepted.fetch_add(1, SeqCst);
        Some(job["job"].as_str()?.to_owned())
    };
    let add = &add;
    let all_of = |part: Range<usize>, server: &Serving| -> Vec<String> {
        thread::scope(|scope| {
            let parts: Vec<_> = (0..4)
                .map(|offset| part.clone().skip(offset).step_by(4))
                .map(|own| scope.spawn(|| own.filter_map(|number| add(number, server)).collect::<Vec<_>>()))
                .collect();
            parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
        })
    };
    let mut added = thread::scope(|scope| {
        let adding = scope.spawn(|| all_of(0..count, &server));
        while accepted.load(SeqCst) < count / 2 {
            thread::sleep(Duration::from_millis(1));
        }
        kill_process(Pid::from_raw(server.id().cast_signed()).unwrap(), Signal::KILL).unwrap();
        adding.join().unwrap()
    });
    drop(server);
    let ticks = || place.read("ticks").unwrap_or_default();
    let before = ticks().lines().count();
    let server = Serving::start(&place, &words);
    added.extend(all_of(added.len()..count, &server));
    let accepted = begun.elapsed();
    let all = ended(&server, count);
    added.sort();
    let mut listed: Vec<&str> = all.iter().map(|job| job["job"].as_str().unwrap()).collect();
    assert!(listed.is_sorted_by(|a, b| a > b), "the newest first");
    listed.reverse();
    assert!(
        added.iter().all(|id| listed.binary_search(&id.as_str()).is_ok()),
        "one that was accepted is lost"
    );
    assert!(listed.len() <= count + 4, "{} of {count}", listed.len());
    let not_done: Vec<&Value> = all.iter().filter(|job| job["status"] != "completed").collect();
    assert!(not_done.is_empty(), "{not_done:#?}");
    let ticks = ticks();
    let once: BTreeSet<&str> = ticks.lines().collect();
    assert_eq!(once.len(), ticks.lines().count(), "a command ran twice");
    let mut facts: BTreeMap<&str, usize> = BTreeMap::new();
    for id in &listed {
        let journal =
            fs::read_to_string(place.path().join(format!("home/sessions/{id}/journal.jsonl"))).unwrap();
        assert_eq!(journal.matches("\"type\":\"concluded\"").count(), 1, "{journal}");
        // What was running at the kill is unknown, and is not run again.
        let is_unknown = journal.contains("what it did is unknown");
        assert!(once.contains(id) || is_unknown, "{journal}");
        *facts.entry(if is_unknown { "unknown" } else { "known" }).or_default() += 1;
    }
    assert!(facts.get("unknown").copied().unwrap_or_default() <= WORKERS, "{facts:?}");
    // The oldest first: of those that began, no more than those at work were before its turn.
    let places: BTreeMap<&str, usize> = listed.iter().enumerate().map(|(place, id)| (*id, place)).collect();
    let late =
        ticks.lines().skip(before).enumerate().map(|(at, id)| (before + at).abs_diff(places[id])).max();
    assert!(late.unwrap_or_default() <= 4 * WORKERS, "{late:?}");
    let mut told = std::io::stderr();
    writeln!(
        told,
        "{count} jobs: accepted in {accepted:.1?}, ended in {:.1?}, {before} before the kill, {facts:?}",
        begun.elapsed()
    )
    .unwrap();
}

/// What a process has taken of memory at most, in kB.
fn peak(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

// D50, E06, A29: 100 MB for readers that never read
#[test]
fn a_flood_that_nobody_reads_stays_out_of_memory_and_others_are_served() {
    let place = Place::new();
    let mut random = fastrand::Rng::with_seed(7);
    let flood: Vec<String> = (0..40)
        .map(|_| {
            let text: String =
                (0..250_000).map(|_| if random.u8(..6) == 0 { ' ' } else { random.lowercase() }).collect();
            format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": text}}]}))
        })
        .collect();
    let model = Drip::start(move |number| (number < 400).then(|| flood[number % 40].clone()));
    let url = format!("{}/v1", model.address);
    place.configure("[vendors.openai]\nkey = \"sk-x-0123456789\"\n");
    let server = Serving::start(&place, &["--model", "openai/m", "--base-url", &url]);
    let id = server.session("{}");
    let base = peak(server.id());
    let _never_read: Vec<_> = (0..10).map(|_| server.follow(&id, "")).collect();
    let mut reads = server.follow(&id, "");
    server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go"}"#);
    let mut slowest = Duration::ZERO;
    let mut is_over = || {
        let asked = Instant::now();
        assert_eq!(server.ask("GET /v1/sessions", "").status, 200);
        server.session("{}");
        slowest = slowest.max(asked.elapsed());
        server.ask(&format!("GET /v1/sessions/{id}"), "").json()["state"] == "idle"
    };
    poll(&mut is_over, || "the end of it".into());
    // Where it is told as it comes, a reply of 8 MB is the most there is.
    let last = reads.until("turn_ended");
    assert!(last.iter().map(|event| event.to_string().len()).sum::<usize>() < 64 << 20);
    let most = peak(server.id());
    assert!(most < base + (96 << 10), "{most} kB, {base} kB before");
    assert!(slowest < Duration::from_secs(20), "{slowest:?}");
}

// D50: a request that never becomes whole
#[test]
fn who_says_a_letter_at_a_time_is_sent_away() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "Hello."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let mut slow = server.connect();
    slow.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let begun = Instant::now();
    let is_sent_away = (0..).any(|number| {
        assert!(begun.elapsed() < Duration::from_secs(60), "it is still listened to");
        let letter = if number == 0 { &b"GET /v1/sessions HTTP/1.1\r\nx: "[..] } else { b"x" };
        let gone = slow.write_all(letter).is_err();
        gone || matches!(slow.read(&mut [0; 512]), Ok(0)) || matches!(slow.read(&mut [0; 512]), Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset)
    });
    assert!(is_sent_away);
    assert_eq!(server.ask("GET /v1/sessions", "").status, 200);
}

// D50, E10: more connections than the process may have files
#[test]
fn a_server_with_few_files_goes_on() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "Hello."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let few = Rlimit { current: Some(128), maximum: Some(128) };
    prlimit(Pid::from_raw(server.id().cast_signed()), Resource::Nofile, few).unwrap();
    let id = server.session("{}");
    let idle: Vec<_> = (0..400).map(|_| server.connect()).collect();
    assert_eq!(server.ask("GET /v1/sessions", "").status, 200);
    // Those that waited are let in yet, and have no file left for a journal.
    let session = server.ask(&format!("GET /v1/sessions/{id}"), "");
    assert_ne!(session.status, 404, "{session:?}");
    drop(idle);
    let has_files = || server.ask(&format!("GET /v1/sessions/{id}"), "").status == 200;
    poll(has_files, || "files for a journal".into());
    let said = server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go","wait":true}"#);
    assert_eq!((said.status, &said.json()["text"]), (200, &json!("Hello.")), "{said:?}");
}

// E10
#[test]
fn a_session_whose_journal_cannot_be_opened_is_told_with_the_reason() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "Hello."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let id = server.session("{}");
    let journal = place.journal();
    fs::rename(&journal, journal.with_extension("away")).unwrap();
    symlink(&journal, &journal).unwrap();

    let said = server.ask(&format!("GET /v1/sessions/{id}"), "");

    let message = said.json()["error"]["message"].to_string();
    assert_eq!((said.status, message.contains("cannot open the journal")), (500, true), "{said:?}");
}

/// `haft` with so little of everything, as a user other than root.
fn limited(place: &Place, limits: &[&str], words: &[&str]) -> Command {
    let haft = place.haft(words);
    let mut command = Command::new("prlimit");
    command.args(limits).arg(haft.get_program()).args(haft.get_args());
    command.current_dir(place.work()).env_clear();
    command.envs(haft.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

// E10
#[test]
fn with_little_room_it_works_or_says_why_not() {
    other_user::run_as_nobody(module_path!(), "with_little_room");
}

// E10: does something only for a user whose processes can be limited
#[test]
fn with_little_room() {
    let is_root = fs::read_to_string("/proc/self/status").unwrap().contains("Uid:\t0\t");
    if is_root {
        return;
    }
    let calls = |count: usize| -> Vec<Value> {
        (0..count).map(|number| json!({"name": "bash", "arguments": {"command": format!("echo {number} >f{number}; sleep 0.05 | cat")}})).collect()
    };
    let steps = [
        json!({"calls": calls(20)}),
        json!({"calls": [{"name": "write", "arguments": {"path": "w", "content": "w\n"}}, {"name": "edit", "arguments": {"path": "w", "old_text": "w", "new_text": "v"}}]}),
        json!({"say": "done"}),
    ];
    let limits: [&[&str]; 3] =
        [&["--nofile=32"], &["--nproc=64"], &["--nofile=128", "--nproc=64", "--stack=67108864"]];

    for limits in limits {
        for sandbox in ["off", "auto"] {
            let place = Place::new();
            let model = place.script("m", &steps);
            let words =
                ["run", "--json", "--sandbox", sandbox, "--permission", "full", "--model", &model, "go"];
            let ran = Ran::from(limited(&place, limits, &words).output().unwrap());
            let what = format!("{limits:?} {sandbox}: {ran:?}");
            assert!(!ran.err.contains("panicked") && (0..=3).contains(&ran.code), "{what}");
            if ran.code == 2 {
                assert!(ran.err.starts_with("error: "), "{what}");
                continue;
            }
            let events = ran.events();
            let ends: Vec<&Value> = events.iter().filter(|event| event["type"] == "tool_ended").collect();
            assert_eq!(ends.len(), 22, "{what}");
            assert_eq!(events.last().unwrap()["type"], "turn_ended", "{what}");
            // What is told to have been done was done; what was not is told as an error.
            for (number, end) in ends[..20].iter().enumerate() {
                let call = end["call"].as_str().unwrap();
                let number = call.rsplit('_').next().and_then(|last| last.parse().ok()).unwrap_or(number);
                let is_there = place.read(&format!("f{number}")).is_some();
                assert!(is_there || end["ok"] == false, "{what}");
            }
            assert_eq!(place.read("w").as_deref(), Some("v\n"), "{what}");
            let recorded = fs::read_to_string(place.journal()).unwrap();
            assert_eq!(
                recorded.lines().count(),
                events.iter().filter(|event| !event["seq"].is_null()).count(),
                "{what}"
            );
        }
    }
}
