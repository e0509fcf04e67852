//! Single calls of random sessions are undone: the files are as if the calls had not been made, or it is refused by name.
use crate::kit::Place;
use fastrand::Rng;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

pub(super) const NAMES: [&str; 5] = ["a.txt", "b.txt", "d/c.txt", "d/e f.txt", "new/g.txt"];
/// Lines of a file at the beginning.
const LINES: u32 = 24;

fn command(random: &mut Rng) -> String {
    let [one, other] = [(); 2].map(|()| NAMES[random.usize(..NAMES.len())]);
    let (number, line) = (random.u32(100..999), random.u32(..LINES));
    match random.u32(..13) {
        0 | 1 => format!("echo {number} >>'{one}'"),
        2 => format!("cp '{one}' '{other}'"),
        3 => format!("mv '{one}' '{other}'"),
        4 => format!("rm '{one}'"),
        5 | 6 => format!("sed -i 's/^line {line} .*/line {line} by sed {number}/' '{one}'"),
        7 => format!("mkdir -p new && echo {number} >'{one}'"),
        8 => format!("ln -sf '{one}' link"),
        9 => format!("chmod {} '{one}'", ["755", "600"][random.usize(..2)]),
        10 => format!("wc -l <'{one}' >>'{other}'"),
        11 => format!("cat '{one}'; exit {}", number % 3),
        _ => format!("grep -c line '{one}' >count; cat count"),
    }
}

fn call(random: &mut Rng) -> Value {
    let name = NAMES[random.usize(..NAMES.len())];
    let (number, line) = (random.u32(100..999), random.u32(..LINES));
    let (tool, arguments) = match random.u32(..12) {
        0 => ("read", json!({"path": name})),
        1..=5 => {
            let old = format!("line {line} ");
            (
                "edit",
                json!({"path": name, "old_text": old, "new_text": format!("line {line} edit {number} ")}),
            )
        }
        6 => ("edit", json!({"path": name, "old_text": format!("line {line} "), "new_text": ""})),
        7 => ("write", json!({"path": name, "content": text(number)})),
        _ => ("bash", json!({"command": command(random)})),
    };
    json!({"name": tool, "arguments": arguments})
}

fn text(number: u32) -> String {
    (0..LINES).map(|line| format!("line {line} of {number}\n")).collect()
}

/// What a person does between two turns.
#[derive(Clone)]
pub(super) struct Edit {
    name: &'static str,
    line: u32,
    number: u32,
}

impl Edit {
    fn new(random: &mut Rng) -> Self {
        let name = NAMES[random.usize(..NAMES.len())];
        Self { name, line: random.u32(..LINES), number: random.u32(100..999) }
    }

    /// Returns whether there was something to change.
    fn make(&self, place: &Place) -> bool {
        let (Some(text), Self { line, number, .. }) = (place.read(self.name), self) else { return false };
        let changed = text.replace(&format!("line {line} "), &format!("line {line} by hand {number} "));
        fs::write(place.work().join(self.name), &changed).unwrap();
        changed != text
    }
}

/// A turn: the calls of each round, and what a person does afterwards.
#[derive(Clone)]
pub(super) struct Turn {
    pub(super) rounds: Vec<Vec<Value>>,
    pub(super) edit: Option<Edit>,
}

impl Turn {
    pub(super) fn new(random: &mut Rng) -> Self {
        let round = |random: &mut Rng| (0..random.usize(1..3)).map(|_| call(random)).collect();
        let rounds = (0..random.usize(1..4)).map(|_| round(random)).collect();
        Self { rounds, edit: random.bool().then(|| Edit::new(random)) }
    }
}

/// Runs the turns without the calls that have these numbers, in a new place. A person's edit that was not made stays out, as it
/// would without the calls. Returns the place, the session, and the turns with the edits that were made.
pub(super) fn run(seed: u64, turns: &[Turn], without: &[u64]) -> (Place, String, Vec<Turn>) {
    let place = Place::new();
    for name in &NAMES[..4] {
        place.write(name, text(1));
    }
    // A script goes on where the last turn ended.
    let (mut number, mut id, mut steps, mut made) = (0, None::<String>, Vec::new(), Vec::new());
    for turn in turns {
        for round in &turn.rounds {
            let kept = round.iter().filter(|_| {
                number += 1;
                !without.contains(&number)
            });
            let kept: Vec<&Value> = kept.collect();
            if !kept.is_empty() {
                steps.push(json!({"calls": kept}));
            }
        }
        steps.push(json!({"say": "Done."}));
        let model = place.script("m", &steps);
        let mut arguments = vec!["run", "--permission", "accept-edits", "--json", "--model", &model];
        if let Some(id) = &id {
            arguments.extend(["--session", id]);
        }
        arguments.push("go");
        let ran = place.run(&arguments);
        let session = ran.events()[0]["session"].as_str().map(str::to_owned);
        id = Some(id.or(session).unwrap_or_else(|| panic!("seed {seed}: {ran:?}")));
        let edit = turn.edit.clone().filter(|edit| edit.make(&place));
        made.push(Turn { rounds: turn.rounds.clone(), edit });
    }
    (place, id.unwrap(), made)
}

/// All files and links: their content, or where they lead, and their permissions.
fn files(place: &Place) -> BTreeMap<String, (u32, String)> {
    fn walk(root: &Path, folder: &Path, all: &mut BTreeMap<String, (u32, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            if found.is_dir() {
                walk(root, &path, all);
                continue;
            }
            let content = match found.is_symlink() {
                true => format!("-> {}", fs::read_link(&path).unwrap().display()),
                false => fs::read_to_string(&path).unwrap(),
            };
            let name = path.strip_prefix(root).unwrap().display().to_string();
            all.insert(name, (found.permissions().mode(), content));
        }
    }
    let mut all = BTreeMap::new();
    walk(&place.work(), &place.work(), &mut all);
    all
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

#[derive(Default)]
struct Count {
    undone: AtomicU64,
    refused: AtomicU64,
}

fn check(seed: u64, count: &Count) {
    let mut random = Rng::with_seed(seed);
    let turns: Vec<Turn> = (0..random.usize(1..4)).map(|_| Turn::new(&mut random)).collect();
    let (place, id, turns) = run(seed, &turns, &[]);
    let list = place.run(&["undo", &id, "--list", "--json"]);
    let calls = list.events();
    if calls.is_empty() {
        return;
    }
    let number = calls[random.usize(..calls.len())]["call"].as_u64().unwrap();
    let (before, call) = (files(&place), number.to_string());
    let undo = ["undo", &id, "--call", &call, "--json"];
    let mut ran = place.run(&undo);
    if ran.code == 1 {
        let said = ran.events().pop().unwrap_or_else(|| panic!("seed {seed}, call {call}: {ran:?}"));
        let named =
            [&said["depends"], &said["left"]].iter().any(|named| !named.as_array().unwrap().is_empty());
        assert!(named && files(&place) == before, "seed {seed}, call {call}: {said}");
        count.refused.fetch_add(1, Ordering::Relaxed);
        ran = place.run(&[&undo[..], &["--with-dependents"]].concat());
        if ran.code == 1 {
            let said = ran.events().pop().unwrap_or_else(|| panic!("seed {seed}, call {call}: {ran:?}"));
            assert!(!said["left"].as_array().unwrap().is_empty(), "seed {seed}, call {call}: {said}");
            assert_eq!(files(&place), before, "seed {seed}, call {call}");
            return;
        }
    }
    assert_eq!(ran.code, 0, "seed {seed}, call {call}: {ran:?}");
    let undone = numbers(&ran.events().pop().unwrap()["undone"]);
    let (other, ..) = run(seed, &turns, &undone);
    assert_eq!(files(&place), files(&other), "seed {seed}, calls {undone:?}: {ran:?}");
    count.undone.fetch_add(1, Ordering::Relaxed);
    let redone = place.run(&["redo", &id]);
    assert_eq!((redone.code, files(&place)), (0, before), "seed {seed}, calls {undone:?}: {redone:?}");
}

#[test]
fn without_a_call_files_are_as_if_it_had_not_been_made_or_it_is_refused_by_name() {
    let (next, count) = (AtomicU64::new(0), Count::default());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= haft_testing::tries(20) {
                break;
            }
            check(seed, &count);
        }
    };
    // They mostly wait, for processes and the disk.
    thread::scope(|scope| {
        for _ in 0..2 * thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let [undone, refused] = [&count.undone, &count.refused].map(|count| count.load(Ordering::Relaxed));
    assert!(undone > 0 && refused > 0, "{undone} undone, {refused} refused");
}
