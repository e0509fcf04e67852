//! Killed at whatever instant, a session goes on, and what it did to files happened once or not at all. The real binary.
#![cfg(target_os = "linux")]
#![expect(clippy::print_stderr, reason = "figures are for the person who runs the tests")]
use crate::kit::{Place, terminal::poll};
use fastrand::Rng;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

const AT_ONCE: u64 = 4;

/// So many files of one command are settled together, and some more.
const MANY: usize = 100;

fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// Edits, commands in views, and one that works on the files themselves.
fn steps() -> Vec<Value> {
    let edit = |line: &str| {
        call("edit", json!({"path": "log", "old_text": "end", "new_text": format!("{line}\nend")}))
    };
    let bash = |command: &str| call("bash", json!({"command": command}));
    let make = format!(
        "mkdir many; for n in $(seq {MANY}); do echo $n >many/$n; done; echo one >>seen; mv old new; rm gone; ln -s new link"
    );
    let change = "for f in many/*; do echo more >>$f; done; echo two >>seen; mv many lots; chmod 700 new";
    [
        json!([edit("one")]),
        json!([bash(&make)]),
        json!([call("bash", json!({"command": "echo live >>live", "needs": ["live"]}))]),
        json!([edit("two"), call("write", json!({"path": "made/file", "content": "made\n"}))]),
        json!([bash(change), bash("echo beside >>beside")]),
    ]
    .map(|calls| json!({"calls": calls}))
    .into_iter()
    // The last one for a prompt after all of it.
    .chain([json!({"say": "done"}), json!({"say": "done"})])
    .collect()
}

/// What is there when a call was left out that had begun: others that came later may have found nothing to do.
fn is_each_once_or_not_at_all(found: &BTreeMap<PathBuf, String>) -> bool {
    let alike = |names: [&str; 2]| {
        let files = found.iter().filter(|(name, _)| names.iter().any(|folder| name.starts_with(folder)));
        let lines: Vec<usize> = files.map(|(_, content)| content.lines().count()).collect();
        lines.is_empty()
            || (lines.len() == MANY && lines.iter().all(|count| *count == lines[0] && *count <= 2))
    };
    let once = |name: &str| {
        let mut lines: Vec<&str> =
            found.get(Path::new(name)).into_iter().flat_map(|text| text.lines()).collect();
        lines.sort_unstable();
        lines.windows(2).all(|two| two[0] != two[1])
    };
    let own = ["log", "seen", "made", "new", "old", "gone", "link", "beside", "many", "lots"];
    let is_known = |name: &PathBuf| own.iter().any(|known| name.starts_with(known));
    alike(["many", "lots"]) && ["log", "seen", "beside"].into_iter().all(once) && found.keys().all(is_known)
}

/// All that is in the workspace: where links lead, and what files hold.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let name = path.strip_prefix(folder).unwrap().to_owned();
        if kind.is_dir() {
            found.extend(files(&path).into_iter().map(|(below, content)| (name.join(below), content)));
        } else if kind.is_symlink() {
            found.insert(name, format!("-> {}", fs::read_link(path).unwrap().display()));
        } else {
            found.insert(name, fs::read_to_string(path).unwrap());
        }
    }
    found
}

/// What there is when everything was done once, but for the file of the command that was not in a view.
fn expected() -> BTreeMap<PathBuf, String> {
    let many = (1..=MANY).map(|number| (format!("lots/{number}"), format!("{number}\nmore\n")));
    let rest = [
        ("log", "one\ntwo\nend\n"),
        ("seen", "one\ntwo\n"),
        ("made/file", "made\n"),
        ("new", "old\n"),
        ("link", "-> new"),
        ("beside", "beside\n"),
    ];
    let rest = rest.map(|(name, content)| (name.to_owned(), content.to_owned()));
    many.chain(rest).map(|(name, content)| (name.into(), content)).collect()
}

fn journal(place: &Place) -> Option<String> {
    let folders = fs::read_dir(place.path().join("home/sessions")).ok()?;
    let mut journals = folders.flatten().map(|folder| folder.path().join("journal.jsonl"));
    fs::read_to_string(journals.next()?).ok()
}

/// Lines that are whole.
fn whole(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').filter(|line| line.ends_with('\n')).collect()
}

/// Whether a process works in `folder`, wherever it believes to be.
fn works_in(folder: &Path) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.into_iter().any(|process| {
        let state = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let is_dead =
            state.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']));
        !is_dead && fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
    })
}

/// When a run is killed.
#[derive(Debug)]
enum When {
    /// After so many microseconds.
    At(u64),
    /// So many microseconds after so many lines of the journal.
    Lines(usize, u64),
    /// So many microseconds after it was recorded that the changes of a call with many files are going to be settled.
    Settling(usize, u64),
    /// As one of its threads is about to make one of these system calls for so many times.
    Step(&'static str, usize),
}

/// What is done to keep and to settle, step by step, by `haft` alone; how often a command does it in its stead; and how
/// many steps may be passed over from one that is tried to the next one, where there is no time for all.
const STEPS: [(&str, usize, usize); 4] = [
    ("fsync,fdatasync,syncfs", 0, 16),
    ("openat2", 0, 160),
    ("copy_file_range,fchmod", 0, 120),
    ("renameat2,unlinkat,mkdirat,symlinkat", 1, 80),
];

impl When {
    fn random(random: &mut Rng) -> Self {
        match random.u32(..4) {
            0 => Self::At(random.u64(..900_000)),
            1 | 2 => Self::Lines(random.usize(1..32), random.u64(..5_000)),
            _ => Self::Settling(random.usize(..2), random.u64(..40_000)),
        }
    }

    fn wait(&self, place: &Place, run: &mut Child) {
        let mut is_over = || run.try_wait().unwrap().is_some();
        let mut recorded = |is_so: &dyn Fn(&str) -> bool| {
            while !is_over() && !journal(place).is_some_and(|text| is_so(&text)) {
                thread::sleep(Duration::from_micros(200));
            }
        };
        let rest = match self {
            Self::At(rest) => *rest,
            Self::Lines(count, rest) => {
                recorded(&|text| whole(text).len() >= *count);
                *rest
            }
            Self::Step(..) => {
                run.wait().unwrap();
                return;
            }
            Self::Settling(number, rest) => {
                let is_large = |line: &&str| line.contains("\"staged\"") && line.contains("/100\"");
                recorded(&|text| text.lines().filter(is_large).count() > *number);
                *rest
            }
        };
        thread::sleep(Duration::from_micros(rest));
    }
}

impl When {
    /// How `command` is started, so that it can be killed then.
    fn prepared(&self, command: Command) -> Command {
        let Self::Step(calls, count) = self else { return command };
        let mut traced = Command::new("strace");
        traced.args(["--follow-forks", "--quiet=all", "--output=/dev/null"]);
        traced.arg(format!("--inject={calls}:signal=KILL:when={count}"));
        traced.arg(command.get_program()).args(command.get_args());
        traced.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        traced.current_dir(command.get_current_dir().unwrap());
        traced
    }
}

/// Killed once, and taken up; what went wrong, or whether it was killed before its end.
fn killed(when: &When, random: &mut Rng) -> Result<bool, String> {
    let place = Place::new();
    for name in ["log", "old", "gone"] {
        place.write(name, if name == "log" { "end\n" } else { "old\n" });
    }
    let model = place.script("m", &steps());
    let options = ["--model", &model, "--permission", "full", "--sandbox", "require"];
    let out = place.path().join("out");
    let command = place.haft(&[&["run", "--json", "go"], &options[..]].concat());
    let mut command = when.prepared(command);
    command.stdout(fs::File::create(&out).unwrap()).stderr(Stdio::null());
    let mut run = command.spawn().unwrap();
    when.wait(&place, &mut run);
    run.kill().unwrap();
    let is_killed = !run.wait().unwrap().success();
    let before = journal(&place).unwrap_or_default();
    let Some(_) = before.contains("\"prompted\"").then_some(()) else { return Ok(is_killed) };
    // What was cut off runs again when the turn goes on, and not where the person says something else.
    let goes_on = random.bool();
    let words: &[&str] = if goes_on { &["resume", "--last"] } else { &["run", "--continue", "go on"] };
    let ran = place.run(&[words, &options[..]].concat());
    let after = journal(&place).unwrap();
    let shown = fs::read_to_string(&out).unwrap();
    let found = files(&place.work());
    let say = |what: &str| Err(format!("{when:?} {words:?}: {what}\n{ran:?}\n{found:?}\n{after}"));
    if ran.code != 0 || !after.contains("\"outcome\":\"finished\"") {
        return say("it does not go on");
    }
    if !whole(&before).iter().all(|line| after.contains(line)) {
        return say("an entry is lost");
    }
    // What was told was on disk.
    let is_recorded =
        |line: &&str| serde_json::from_str::<Value>(line).is_ok_and(|event| !event["seq"].is_null());
    if !whole(&shown).iter().filter(|line| is_recorded(&line.trim_end())).all(|line| after.contains(line)) {
        return say("an event that was shown is lost");
    }
    let (live, rest): (BTreeMap<_, _>, BTreeMap<_, _>) =
        found.clone().into_iter().partition(|(name, _)| name == Path::new("live"));
    if if goes_on { rest != expected() } else { !is_each_once_or_not_at_all(&rest) } {
        return say("the files are not as they should be");
    }
    let is_unknown = after.contains("what it did is unknown") || !goes_on;
    let count = live.values().map(|text| text.lines().count()).sum::<usize>();
    if count > 1 || (count == 0 && !is_unknown) {
        return say("a command was not run once");
    }
    poll(|| !works_in(&place.work()), || format!("{when:?}: no process to work there any more"));
    Ok(is_killed)
}

/// Chance that a failed run can name.
fn seed() -> u64 {
    let seed = env::var("HAFT_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    seed.unwrap_or_else(|| fastrand::u64(..))
}

/// Does all of `parts` beside each other. None may go wrong.
fn all_go_on<F: FnOnce(&mut Rng) -> Vec<String> + Send>(seed: u64, parts: Vec<F>) {
    let wrong: Vec<String> = thread::scope(|scope| {
        let begin =
            |(part, run): (u64, F)| scope.spawn(move || run(&mut Rng::with_seed(seed.wrapping_add(part))));
        let parts: Vec<_> = (0..).zip(parts).map(begin).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "seed {seed}, {} times:\n{}", wrong.len(), wrong.join("\n\n"));
}

// C01, C02, C03, C04, C18: whatever it is in the middle of
#[test]
fn killed_at_any_instant_a_session_loses_nothing_and_does_nothing_twice() {
    let part = |_| {
        |random: &mut Rng| {
            let tries =
                (0..haft_testing::tries(16) / AT_ONCE).map(|_| killed(&When::random(random), random).err());
            tries.flatten().collect()
        }
    };
    all_go_on(seed(), (0..AT_ONCE).map(part).collect());
}

// C02, C18: at each step of settling; a few of them where there is no time for all
#[test]
fn killed_at_any_step_a_session_loses_nothing_and_does_nothing_twice() {
    if Command::new("strace").arg("-V").output().is_err() {
        return haft_testing::left_out("what is killed at each step: there is no `strace` here");
    }
    let is_long = env::var_os("HAFT_SOAK").is_some();
    let part = |(calls, passed, stride): (&'static str, usize, usize)| {
        move |random: &mut Rng| {
            let (mut wrong, mut count) = (Vec::new(), passed);
            // Where everything goes wrong, there is no end to it.
            while wrong.len() < 5 {
                count += if is_long { 1 } else { random.usize(1..stride) };
                match killed(&When::Step(calls, count), random) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => wrong.push(error),
                }
            }
            assert!(count > passed + stride / 4, "{calls}: there are only {count}");
            eprintln!("{calls}: killed up to the {count}th");
            wrong
        }
    };
    all_go_on(seed(), STEPS.map(part).into());
}

/// Everything in the workspace, folders too, with its mode.
fn tree(place: &Place) -> String {
    let find = "find . -printf '%P %y %m %l\\n' | sort; find . -type f | sort | xargs cat";
    let listed = Command::new("sh").args(["-c", find]).current_dir(place.work()).output().unwrap();
    String::from_utf8(listed.stdout).unwrap()
}

// C02, C18: one thing takes the place of another
#[test]
fn killed_while_files_become_folders_and_folders_files_a_session_finishes_the_call() {
    if Command::new("strace").arg("-V").output().is_err() {
        return haft_testing::left_out("what is killed at each step: there is no `strace` here");
    }
    let setup = "echo precious >A; mkdir b D e; echo b >b/1; ln -s b L; echo 1 >D/1; for n in 1 2 3; do echo $n >e/$n; done";
    let script = "rm A; mkdir A; echo in >A/in; rm L; mkdir L; echo in >L/in; chmod 750 L; rm -r D; echo f >D; rm -r e; mkdir e; echo z >e/z";
    let sh = |place: &Place, script: &str| {
        let ran = Command::new("sh").args(["-ec", script]).current_dir(place.work()).status().unwrap();
        assert!(ran.success(), "{script}");
    };
    let expected = Place::new();
    sh(&expected, setup);
    let before = tree(&expected);
    sh(&expected, script);
    let after = tree(&expected);
    // Those that only `haft` makes here, and every how many of them.
    for (calls, stride) in [("renameat2", 1), ("fchmod", 1), ("fsync,syncfs", 1), ("openat2", 5)] {
        let mut settled = 0;
        for count in (1..).step_by(stride) {
            let place = Place::new();
            sh(&place, setup);
            let model = place.script("m", &[call_of(script), json!({"say": "done"})]);
            let options = ["--model", &model, "--permission", "full", "--sandbox", "require"];
            let begun = place.haft(&[&["run", "go"], &options[..]].concat());
            let begun = When::Step(calls, count).prepared(begun).output().unwrap();
            if begun.status.success() {
                break;
            }
            // What was not recorded was not begun.
            if !journal(&place).is_some_and(|text| text.contains("\"staged\"")) {
                assert_eq!(tree(&place), before, "{calls} {count}");
                continue;
            }
            settled += 1;
            let resumed = place.run(&[&["resume", "--last"], &options[..]].concat());
            assert_eq!((resumed.code, tree(&place)), (0, after.clone()), "{calls} {count}: {resumed:?}");
            let undone = place.run(&["undo"]);
            assert_eq!((undone.code, tree(&place)), (0, before.clone()), "{calls} {count}: {undone:?}");
        }
        assert!(settled > 0, "{calls}");
    }
}

fn call_of(command: &str) -> Value {
    json!({"calls": [call("bash", json!({"command": command}))]})
}
