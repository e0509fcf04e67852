//! Killed at whatever instant, a session goes on, and what it did to files happened once or not at all. The real binary.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod kit;
use fastrand::Rng;
use kit::{Place, terminal::poll};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread,
    time::Duration,
};

/// How many instants are tried. `make soak` tries more.
fn instants() -> u64 {
    env::var("HAFT_SOAK").ok().and_then(|number| number.parse().ok()).unwrap_or(16)
}

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
    // The last one for whoever says something more after all of it.
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
}

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
            Self::Settling(number, rest) => {
                let is_large = |line: &&str| line.contains("\"staged\"") && line.contains("/100\"");
                recorded(&|text| text.lines().filter(is_large).count() > *number);
                *rest
            }
        };
        thread::sleep(Duration::from_micros(rest));
    }
}

/// Killed once, and taken up; what went wrong.
fn killed(random: &mut Rng) -> Result<(), String> {
    let (place, when) = (Place::new(), When::random(random));
    for name in ["log", "old", "gone"] {
        place.write(name, if name == "log" { "end\n" } else { "old\n" });
    }
    let model = place.script("m", &steps());
    let options = ["--model", &model, "--permission", "full", "--sandbox", "require"];
    let out = place.path().join("out");
    let mut command = place.haft(&[&["run", "--json", "go"], &options[..]].concat());
    command.stdout(fs::File::create(&out).unwrap()).stderr(Stdio::null());
    let mut run = command.spawn().unwrap();
    when.wait(&place, &mut run);
    run.kill().unwrap();
    run.wait().unwrap();
    let before = journal(&place).unwrap_or_default();
    let Some(_) = before.contains("\"prompted\"").then_some(()) else { return Ok(()) };
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
    poll(|| !works_in(&place.work()), || format!("{when:?}: nobody to work there any more"));
    Ok(())
}

// C01, C02, C03, C04, C18: whatever it is in the middle of
#[test]
fn killed_at_any_instant_a_session_loses_nothing_and_does_nothing_twice() {
    let seed = env::var("HAFT_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| fastrand::u64(..));
    let wrong: Vec<String> = thread::scope(|scope| {
        let parts: Vec<_> = (0..AT_ONCE)
            .map(|part| {
                scope.spawn(move || {
                    let mut random = Rng::with_seed(seed.wrapping_add(part));
                    (0..instants() / AT_ONCE).filter_map(|_| killed(&mut random).err()).collect::<Vec<_>>()
                })
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "seed {seed}, {} of {}:\n{}", wrong.len(), instants(), wrong.join("\n\n"));
}
