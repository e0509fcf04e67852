//! Random commands as calls of one reply, which run side by side, and the same ones in a reply each: the same results, the
//! same tree.
use crate::kit::{Place, Ran};
use fastrand::Rng;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread,
};

/// At the same time.
const AT_ONCE: u64 = 4;

const NAMES: [&str; 7] = ["a", "b", "d", "d/a", "d/b", "d/e", "new name"];

/// What it prints and does depends on what it finds, and on nothing else.
fn command(random: &mut Rng, number: usize) -> String {
    let [one, other] = [(); 2].map(|()| NAMES[random.usize(..NAMES.len())]);
    let line = match random.u32(0..24) {
        0 => format!("echo {number} >'{one}'"),
        1 => format!("echo {number} >>'{one}'"),
        2 => format!("cat '{one}'"),
        3 => format!("mv -T '{one}' '{other}'"),
        4 => format!("rm -rf '{one}'"),
        5 => format!("mkdir -p '{one}'"),
        6 => "ls -1R".to_owned(),
        7 => format!("test -d '{one}' || cp -a '{one}' '{other}'"),
        8 => format!("sed -i s/1/one/ '{one}'"),
        9 => format!("chmod {} '{one}'", ["711", "755", "700"][random.usize(..3)]),
        10 => format!("ln -s '{one}' '{other}'"),
        11 => format!("truncate -s {number} '{one}'"),
        12 => format!("touch -d 2001-02-03 '{one}'"),
        13 => "git init -q . && git status --short".to_owned(),
        14 => {
            format!("git add '{one}' && git -c user.name=x -c user.email=x commit -qm {number}; git ls-files")
        }
        15 => "git checkout -q -- . ; git status --short".to_owned(),
        16 => format!("setfattr -n user.note -v {number} '{one}' && getfattr -d '{one}'"),
        17 => format!("echo {number} >>'/tmp/{}'", one.replace('/', "-")),
        18 => format!("mv -T '/tmp/{}' '{other}'", one.replace('/', "-")),
        19 => format!("cat '/tmp/{}'; ls -1A /tmp | grep -v ^.tmp", one.replace('/', "-")),
        20 => format!("echo {number} >>$SHARED/log"),
        21 => "cat $SHARED/log".to_owned(),
        22 => format!("ln '{one}' '{other}' && cat '{other}'"),
        _ => format!("rmdir '{one}'; test -e '{other}'; echo $?"),
    };
    // None is the same as another one: repeated calls are told so.
    format!("{line} # {number}")
}

/// The mode of each file, its content or where it leads, and its attribute.
type Tree = BTreeMap<PathBuf, (u32, Vec<u8>, Option<Vec<u8>>)>;

/// What is left at the end in what else a command may write in.
const LOOK: &str = "cat $SHARED/log; cd /tmp && grep -r . .";

/// The exit code (some changes are asked about, without an answer), what was answered to each call, and the tree after
/// them.
fn done(replies: &[Vec<String>], is_shared: bool) -> (i32, Vec<String>, Tree) {
    let place = Place::in_sight();
    let shared = place.path().join("shared");
    fs::create_dir(&shared).unwrap();
    if is_shared {
        place.configure(&format!("[commands]\nwritable = [\"{}\"]\n", shared.display()));
    }
    place.write("a", "1\n");
    place.write("d/a", "2\n");
    let call = |command: &String| json!({"name": "bash", "arguments": {"command": command}});
    let calls = |reply: &Vec<String>| json!({"calls": reply.iter().map(call).collect::<Value>()});
    let look = vec![LOOK.to_owned()];
    let lines: Vec<Value> =
        replies.iter().chain([&look]).map(calls).chain([json!({"say": "done"})]).collect();
    let model = place.script("model.jsonl", &lines);
    let options = ["--sandbox", "require", "--permission", "full", "--json"];
    let mut haft = place.haft(&[&["run", "--model", &model], &options[..], &["go"]].concat());
    let ran = Ran::from(haft.env("SHARED", "../shared").output().unwrap());
    assert!([0, 4].contains(&ran.code), "{ran:?}");
    let events = ran.events();
    let ended = events.iter().filter(|event| event["type"] == "tool_ended");
    let told = ended.map(|event| event["content"].as_str().unwrap().to_owned()).collect();
    let mut tree = BTreeMap::new();
    take(&place.work(), Path::new(""), &mut tree);
    (ran.code, told, tree)
}

fn take(root: &Path, folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let path = folder.join(entry.unwrap().file_name());
        // What git keeps there has the time in it.
        if path == Path::new(".git") {
            continue;
        }
        let (real, found) = (root.join(&path), fs::symlink_metadata(root.join(&path)).unwrap());
        let content = match () {
            () if found.is_symlink() => fs::read_link(&real).unwrap().into_os_string().into_encoded_bytes(),
            () if found.is_file() => fs::read(&real).unwrap(),
            () => Vec::new(),
        };
        let mut note = [0; 9];
        let length = rustix::fs::lgetxattr(&real, "user.note", &mut note[..]).ok();
        tree.insert(path.clone(), (found.mode(), content, length.map(|length| note[..length].to_vec())));
        if found.is_dir() {
            take(root, &path, tree);
        }
    }
}

#[test]
fn random_calls_of_one_reply_end_as_one_after_the_other() {
    let seed =
        env::var("HAFT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    thread::scope(|scope| {
        for part in 0..AT_ONCE {
            scope.spawn(move || {
                for number in (part..haft_testing::tries(12)).step_by(AT_ONCE as usize) {
                    let mut random = Rng::with_seed(seed.wrapping_add(number));
                    let calls = 2 + random.usize(..6);
                    let commands: Vec<String> = (0..calls).map(|place| command(&mut random, place)).collect();
                    let each: Vec<Vec<String>> =
                        commands.iter().map(|command| vec![command.clone()]).collect();
                    // Commands that can write elsewhere run alone.
                    let is_shared = number % 3 == 0;
                    let together = done(std::slice::from_ref(&commands), is_shared);
                    let apart = done(&each, is_shared);
                    assert_eq!(together, apart, "HAFT_SEED={seed}, reply {number}: {commands:#?}");
                }
            });
        }
    });
}
