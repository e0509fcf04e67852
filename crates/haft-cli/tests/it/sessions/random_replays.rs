//! Random sessions are verified and replayed without a difference, and one that was put in is found where it is.
#![expect(clippy::print_stderr, reason = "figures are for the person who runs the tests")]
use crate::kit::Place;
use fastrand::Rng;
use serde_json::{Value, json};
use std::{
    fs,
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Instant,
};

const NAMES: [&str; 5] = ["a.txt", "b.txt", "d/c.txt", "d/e f.txt", "new/g.txt"];

/// Nothing in it depends on the time, on where it runs, or on the order of a folder.
fn command(random: &mut Rng) -> String {
    let [one, other] = [(); 2].map(|()| NAMES[random.usize(..NAMES.len())]);
    let number = random.u32(..100);
    match random.u32(..13) {
        0 => format!("echo {number} >>'{one}'"),
        1 => format!("cp '{one}' '{other}'"),
        2 => format!("mv '{one}' '{other}'"),
        3 => format!("rm '{one}'"),
        4 => format!("sed -i 's/1/one/' '{one}' && cat '{one}'"),
        5 => format!("mkdir -p new && echo {number} >'{one}'"),
        6 => "find . -type f -not -path './.git/*' -not -name kept | sort | xargs -d '\\n' md5sum".into(),
        7 => format!("pwd; exit {number}"),
        8 => format!("ln -sf '{one}' link; cat link"),
        9 => format!("chmod {} '{one}'", ["755", "600"][random.usize(..2)]),
        10 => format!("seq {} | tail -3", number * 100),
        11 => "git ls-files --others | sort".into(),
        _ => format!("grep -rn {} --include='*.txt' . | sort", number % 10),
    }
}

fn call(random: &mut Rng) -> Value {
    let name = NAMES[random.usize(..NAMES.len())];
    let number = random.u32(..10);
    let (tool, arguments) = match random.u32(..10) {
        0 | 1 => ("read", json!({"path": name})),
        2 => ("edit", json!({"path": name, "old_text": number.to_string(), "new_text": "changed"})),
        3 => ("write", json!({"path": name, "content": format!("{number}\nwritten\n")})),
        4 => ("grep", json!({"pattern": number.to_string()})),
        5 => ("glob", json!({"pattern": "**/*.txt"})),
        6 => ("read", json!({"path": 7, "nothing": name})),
        _ => ("bash", json!({"command": command(random)})),
    };
    json!({"name": tool, "arguments": arguments})
}

/// What a model says in one turn: some rounds with one to three calls.
fn turn(random: &mut Rng) -> Vec<Value> {
    let rounds = random.usize(2..7);
    let round = |_| json!({"calls": (0..random.usize(1..4)).map(|_| call(random)).collect::<Vec<_>>()});
    (0..rounds).map(round).chain([json!({"say": "Done."})]).collect()
}

/// A session with a file that one of its calls reads and none changes.
struct Recorded {
    place: Place,
    id: String,
    /// How long its turns took, in milliseconds.
    took: u64,
}

impl Recorded {
    fn new(random: &mut Rng) -> Self {
        let place = Place::new();
        assert!(
            Command::new("git").args(["init", "-q"]).current_dir(place.work()).status().unwrap().success()
        );
        for name in &NAMES[..4] {
            place.write(name, (0..random.u32(..30)).map(|line| format!("{line}\n")).collect::<String>());
        }
        place.write("kept", "as it was\n");
        let turns = [(); 2].map(|()| turn(random));
        let mut steps: Vec<Value> = turns[..random.usize(1..3)].concat();
        let look = json!({"calls": [{"name": "bash", "arguments": {"command": "cat kept"}}]});
        steps.insert(random.usize(..steps.iter().position(|step| !step["say"].is_null()).unwrap()), look);
        let model = place.script("m", &steps);
        let options = ["--permission", "accept-edits", "--json", "--model", &model];
        let begun = Instant::now();
        let ran = place.run(&[&["run"], &options[..], &["go"]].concat());
        let id = ran.events()[0]["session"].as_str().unwrap_or_else(|| panic!("{ran:?}")).to_owned();
        if steps.iter().filter(|step| !step["say"].is_null()).count() > 1 {
            place.run(&[&["run", "--session", &id], &options[..], &["more"]].concat());
        }
        Self { place, id, took: begun.elapsed().as_millis() as u64 }
    }

    /// Verifies it; returns how long that took, in milliseconds.
    fn verified(&self, seed: u64) -> u64 {
        let begun = Instant::now();
        let ran = self.place.run(&["verify", &self.id]);
        assert_eq!(ran.code, 0, "seed {seed}: {ran:?}");
        begun.elapsed().as_millis() as u64
    }

    fn replayed(&self) -> Value {
        let ran = self.place.run(&["sessions", "replay", &self.id, "--json"]);
        ran.events().pop().unwrap_or_else(|| panic!("{ran:?}"))
    }

    /// The entries about the ends of calls.
    fn ends(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.place.journal()).unwrap();
        let entries = text.lines().map(|line| serde_json::from_str(line).unwrap());
        entries.filter(|entry: &Value| entry["type"] == "tool_ended").collect()
    }

    /// Records another result of one call; returns where it stands.
    fn with_another_result(&self, random: &mut Rng) -> Value {
        let ends = self.ends();
        let seq = ends[random.usize(..ends.len())]["seq"].clone();
        let change = |line: &str| {
            let mut entry: Value = serde_json::from_str(line).unwrap();
            if entry["seq"] == seq {
                entry["content"] = json!(format!("{} and more", entry["content"].as_str().unwrap()));
            }
            format!("{entry}\n")
        };
        let journal = self.place.journal();
        let changed: String = fs::read_to_string(&journal).unwrap().lines().map(change).collect();
        fs::write(journal, changed).unwrap();
        seq
    }

    /// Changes what the session began with; returns where that was read.
    fn with_another_beginning(&self) -> Value {
        let read = self.ends().into_iter().find(|end| end["content"] == "as it was").unwrap();
        self.place.write("kept", "as it was not\n");
        read["seq"].clone()
    }
}

/// How long the turns of all sessions took, and verifying them, in milliseconds.
#[derive(Default)]
struct Times {
    recorded: AtomicU64,
    verified: AtomicU64,
}

fn check(seed: u64, times: &Times) {
    let mut random = Rng::with_seed(seed);
    let recorded = Recorded::new(&mut random);
    times.recorded.fetch_add(recorded.took, Ordering::Relaxed);
    times.verified.fetch_add(recorded.verified(seed), Ordering::Relaxed);
    let replayed = recorded.replayed();
    let expected = (Some(recorded.ends().len() as u64), &Value::Null);
    assert_eq!((replayed["calls"].as_u64(), &replayed["difference"]), expected, "seed {seed}: {replayed:#}");
    let put_in = match seed % 10 {
        0 => recorded.with_another_result(&mut random),
        1 => recorded.with_another_beginning(),
        _ => return,
    };
    assert_eq!(recorded.replayed()["difference"]["seq"], put_in, "seed {seed}");
}

#[test]
fn random_sessions_replay_without_a_difference_and_one_that_was_put_in_is_found_at_its_step() {
    let (next, times) = (AtomicU64::new(0), Times::default());
    let tries = haft_testing::tries(20);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= tries {
                break;
            }
            check(seed, &times);
        }
    };
    // They mostly wait, for processes and the disk.
    thread::scope(|scope| {
        for _ in 0..2 * thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let [recorded, verified] = [times.recorded, times.verified].map(|time| time.into_inner() as f64 / 1e3);
    eprintln!("{tries} sessions took {recorded:.1} s, and to verify them {verified:.1} s");
}
