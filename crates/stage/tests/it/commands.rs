//! What a command does in its view is what it would have done in the workspace, once it is settled; and can be undone.
#![cfg(target_os = "linux")]
use crate::kit::Place;
use haft_core::{Change, Effect, Stage, Tracking, View};
use haft_process::{Exit, Shell};
use haft_stage::{CommandAccess, LocalStage};
use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// What lies under a name: its mode, its content or where it leads and its attributes, and when its content was changed.
type Found = (u32, Vec<u8>, (i64, i64));

/// The [`NOTES`] of a file, as lines.
fn attributes(path: &Path) -> Vec<u8> {
    let names = NOTES.iter().filter_map(|name| {
        let mut value = [0; 100];
        let length = rustix::fs::lgetxattr(path, *name, &mut value[..]).ok()?;
        Some(format!("\n{name}={}", value[..length].escape_ascii()))
    });
    names.collect::<String>().into_bytes()
}

fn tree(folder: &Path) -> BTreeMap<PathBuf, Found> {
    let mut all = BTreeMap::new();
    let mut ahead = vec![folder.to_owned()];
    while let Some(next) = ahead.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let mut content = match found.file_type() {
                kind if kind.is_dir() => {
                    ahead.push(path.clone());
                    Vec::new()
                }
                kind if kind.is_symlink() => {
                    fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
                }
                _ => fs::read(&path).unwrap(),
            };
            content.extend(attributes(&path));
            let name = path.strip_prefix(folder).unwrap().to_owned();
            // When files were changed, and where they lie on the disk, stands in the one; templates in the other.
            if name.ends_with(".git/index") || name.ends_with(".git/hooks") {
                ahead.retain(|folder| *folder != path);
                continue;
            }
            all.insert(name, (found.mode(), content, (found.mtime(), found.mtime_nsec())));
        }
    }
    all
}

/// What is not the same in the other one, without times.
fn differing(one: &BTreeMap<PathBuf, Found>, other: &BTreeMap<PathBuf, Found>) -> Vec<String> {
    let (one, other) = (plain(one), plain(other));
    let differs = one.iter().filter(|(name, found)| other.get(*name) != Some(*found));
    let said = differs.map(|(name, (mode, content))| {
        format!("{} {mode:o} {:?}", name.display(), String::from_utf8_lossy(content))
    });
    said.collect()
}

/// Without times.
fn plain(tree: &BTreeMap<PathBuf, Found>) -> BTreeMap<&Path, (u32, &[u8])> {
    tree.iter().map(|(name, (mode, content, _))| (name.as_path(), (*mode, &**content))).collect()
}

fn with_views() -> Place {
    let mut place = Place::new(&[]);
    let blobs = place.folder.path().join("blobs");
    place.stage = LocalStage::new(blobs).with_command_views(CommandAccess::default());
    place.stage.command_views(&place.workspace).unwrap();
    place
}

fn view(place: &Place) -> Box<dyn View> {
    let effects = [Effect::execute("anything").confined()];
    assert_eq!(place.stage.how(&place.workspace, &effects), Tracking::Staged);
    place.open(&effects)
}

async fn run(command: &str, folder: &Path, view: Option<&dyn View>) -> (String, Exit) {
    let variable = |name: &str| (name.to_owned(), env::var(name).unwrap_or_default());
    let shell = Shell {
        command: command.into(),
        folder: folder.to_owned(),
        environment: [variable("PATH"), ("HOME".into(), "/nonexistent".into())].into(),
        timeout: Some(Duration::from_secs(60)),
        capture: 100_000,
        spill: None,
        hidden: Arc::default(),
        confinement: view.and_then(View::confinement),
    };
    let finished = shell.run(|_| ()).await.unwrap();
    (finished.stdout.text + &finished.stderr.text, finished.exit)
}

/// Attributes that commands set.
const NOTES: [&str; 3] = ["user.note", "user.empty", "system.posix_acl_access"];

/// For the user who runs this, besides the owner, and for no other (acl(5), `posix_acl_xattr.h` of Linux).
fn access_list() -> String {
    let number = rustix::process::getuid().as_raw().swap_bytes();
    format!(
        "0x02000000_01000700ffffffff_02000500{number:08x}_04000500ffffffff_10000500ffffffff_20000000ffffffff"
    )
    .replace('_', "")
}

const NAMES: [&str; 9] = ["a", "b", "c", "d", "d/a", "d/b", "d/e", "d/e/a", "new name"];

/// At a certain time, by another program.
const GIT: &str = "GIT_AUTHOR_DATE='@1700000000 +0000' GIT_COMMITTER_DATE='@1700000000 +0000' git -c user.name=x -c user.email=x";

/// A line of a script; nothing in it depends on the time or on where it runs.
fn line(random: &mut fastrand::Rng) -> String {
    let [one, other] = [(); 2].map(|()| NAMES[random.usize(..NAMES.len())]);
    let number = random.u32(0..1000);
    match random.u32(0..25) {
        0 => format!("echo {number} >'{one}'"),
        1 => format!("echo {number} >>'{one}'"),
        2 => format!("rm -f '{one}'"),
        3 => format!("mv '{one}' '{other}'"),
        4 => format!("mv -T '{one}' '{other}'"),
        5 => format!("chmod {} '{one}'", ["711", "755", "700", "775"][random.usize(..4)]),
        6 => format!("ln '{one}' '{other}'"),
        7 => format!("ln -s '{one}' '{other}'"),
        8 => format!("mkdir -p '{one}'"),
        9 => format!("rm -r '{one}'"),
        10 => format!("sed -i s/1/one/ '{one}'"),
        // What comes of a copy into itself depends on the order in which folders are read.
        11 if number < 500 => format!("cp -aT '{one}' copy-{}", number % 3),
        11 => format!("test -d '{one}' || cp -a '{one}' '{other}'"),
        12 => format!("touch -d 2001-02-03 '{one}'"),
        13 => format!("truncate -s {} '{one}'", number % 9),
        14 => format!("rmdir '{one}'"),
        15 => format!("ln -sfn '{one}' '{other}'"),
        16 => "git init -q -b main .".to_owned(),
        17 => "git add -A .".to_owned(),
        18 => format!("{GIT} commit -qm {number}"),
        19 => format!("git checkout -q -- '{one}'"),
        20 => format!("setfattr -n user.note -v {number} '{one}'"),
        21 => format!("setfattr -x user.note '{one}'"),
        22 => format!("setfattr -n user.empty '{one}'"),
        23 => format!("setfattr -n system.posix_acl_access -v {} '{one}'", access_list()),
        _ => format!("cat '{one}' >'{other}'"),
    }
}

fn script(random: &mut fastrand::Rng, lines: usize) -> String {
    (0..lines).map(|_| line(random) + " 2>/dev/null\n").collect()
}

#[tokio::test]
async fn random_scripts_leave_the_same_tree_in_a_view_as_without_and_are_undone_and_redone() {
    for seed in 0..haft_testing::tries(60) {
        let mut random = fastrand::Rng::with_seed(seed);
        let (beginning, then) = (script(&mut random, 14), script(&mut random, 10));
        // A second name of a file becomes a file of its own where one of them is changed (`docs/security.md`).
        let beginning = beginning.replace("ln '", "cp '");
        let place = with_views();
        let direct = place.folder.path().join("direct");
        fs::create_dir(&direct).unwrap();
        for folder in [&direct, &place.workspace] {
            run(&beginning, folder, None).await;
        }
        let before = tree(&place.workspace);
        let told = format!("seed {seed}:\n{beginning}--\n{then}");
        let view = view(&place);
        let in_view = run(&then, &place.workspace, Some(&*view)).await;
        assert_eq!(tree(&place.workspace), before, "{told}");
        assert_eq!(in_view, run(&then, &direct, None).await, "{told}");
        let changes = view.changes().unwrap_or_else(|error| panic!("{error}: {told}"));
        drop(view);
        assert_eq!(place.settle(&changes), Vec::<PathBuf>::new(), "{told}");
        let (after, expected) = (tree(&place.workspace), tree(&direct));
        let others = [(&after, &expected), (&expected, &after)].map(|(one, other)| differing(one, other));
        assert_eq!(others, [(); 2].map(|()| Vec::<String>::new()), "{told}");
        for (name, found) in
            before.iter().filter(|(name, _)| !changes.iter().any(|change| change.path == **name))
        {
            assert!(
                found.0 & 0o40_000 != 0 || after.get(name) == Some(found),
                "{} was touched: {told}",
                name.display()
            );
        }
        let back: Vec<Change> = changes.iter().rev().map(Change::inverse).collect();
        assert_eq!(place.settle(&back), Vec::<PathBuf>::new(), "{told}");
        assert_eq!(plain(&tree(&place.workspace)), plain(&before), "{told}");
        for _ in 0..2 {
            assert_eq!(place.settle(&changes), Vec::<PathBuf>::new(), "{told}");
        }
        assert_eq!(plain(&tree(&place.workspace)), plain(&after), "{told}");
    }
}

#[tokio::test]
async fn what_nobody_may_look_into_is_recorded_and_settled() {
    let place = with_views();
    fs::create_dir(place.workspace.join("old")).unwrap();
    place.put("old/a", "1\n");
    let mode = |name: &str| fs::symlink_metadata(place.workspace.join(name)).unwrap().mode() & 0o777;
    let view = view(&place);
    let what = "echo 2 >old/a; chmod 0 old/a; chmod 300 old; mkdir -p new/below; echo 3 >new/below/b; chmod 100 new/below new";
    run(what, &place.workspace, Some(&*view)).await;
    let changes = view.changes().unwrap();
    drop(view);
    assert_eq!(place.settle(&changes), [""; 0].map(Path::new));
    assert_eq!(["old", "old/a", "new", "new/below"].map(mode), [0o300, 0, 0o100, 0o100]);
    assert_eq!(place.get("new/below/b").as_deref(), Some("3\n"));
    for name in ["old", "old/a", "new", "new/below"] {
        fs::set_permissions(place.workspace.join(name), fs::Permissions::from_mode(0o700)).unwrap();
    }
    assert_eq!(place.get("old/a").as_deref(), Some("2\n"));
}

#[tokio::test]
async fn what_somebody_else_changes_meanwhile_is_not_written_over() {
    let place = with_views();
    place.put("mine", "old\n");
    place.put("theirs", "old\n");
    let view = view(&place);
    run("echo new >mine; echo new >theirs", &place.workspace, Some(&*view)).await;
    place.put("theirs", "another program's\n");
    let told = view.changes().unwrap_err().to_string();
    assert!(told.starts_with("`theirs` was changed by another process while the command ran"), "{told}");
}

#[tokio::test]
async fn nothing_of_a_view_is_left_once_it_is_gone() {
    let place = with_views();
    let blobs = place.folder.path().join("blobs");
    let in_folder = |folder: &Path| {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let is_own = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with('.');
        names.partition::<Vec<_>, _>(is_own)
    };
    let view = view(&place);
    run("mkdir -p a/b; touch a/b/c; chmod 000 a/b/c a/b a", &place.workspace, Some(&*view)).await;
    let (own, _) = in_folder(&blobs);
    assert_eq!(own.len(), 1);
    let views = || in_folder(&own[0]).1;
    assert!(views().len() > 1);
    drop(view);
    // What it shares with other views is the mark of this process.
    while views() != [own[0].join("mark")] {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(place.stage);
    assert_eq!(in_folder(&blobs).0, [""; 0].map(PathBuf::from));
}

#[test]
fn commands_that_are_not_confined_have_no_view() {
    let place = with_views();
    let confined = Effect::execute("make").confined();
    let table = [
        (vec![confined.clone()], Tracking::Staged),
        (
            vec![confined.clone(), Effect::Write("a".into()), Effect::Read("/etc/passwd".into())],
            Tracking::Staged,
        ),
        (vec![Effect::execute("make")], Tracking::Untracked),
        (vec![Effect::execute("make"), Effect::Network("example.org".into())], Tracking::Untracked),
        (vec![confined.clone(), Effect::execute("make")], Tracking::Untracked),
        (vec![confined.clone(), Effect::Network("example.org".into())], Tracking::Staged),
        (vec![confined.clone(), Effect::Write("/etc/passwd".into())], Tracking::Untracked),
        (vec![Effect::Write("a".into())], Tracking::Declared),
    ];
    for (effects, expected) in table {
        assert_eq!(place.stage.how(&place.workspace, &effects), expected, "{effects:?}");
    }
    let without = LocalStage::new(place.folder.path().join("others"));
    assert_eq!(without.how(&place.workspace, &[confined]), Tracking::Untracked);
    assert!(place.stage.command_views(Path::new("/")).unwrap_err().contains("root of the file system"));
}

// Where the folder for what is changed lies in an overlay, it can hold no other one: a copy takes its place.
#[test]
fn random_scripts_leave_the_same_tree_in_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["lower", "upper", "work", "all"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let script = "cd \"$0\" && mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work,userxattr all && \
                  TMPDIR=\"$0/all\" exec \"$@\"";
    let mut again = std::process::Command::new("unshare");
    again.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(folder.path());
    again.arg(env::current_exe().unwrap()).arg("random_scripts_leave_the_same_tree_in_a_view");
    let ended = again.env("HAFT_SOAK", (haft_testing::tries(60) / 4).to_string()).output().unwrap();
    let told = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && told.contains("1 passed"), "{told}");
}
