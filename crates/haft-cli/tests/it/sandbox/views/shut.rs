//! Files and folders that their owner may not read or write: a command may change their modes, and what it did is applied and
//! undone. As a user who is not root.
use super::{command, model};
use crate::kit::{Place, Ran, other_user::run_as_nobody};
use serde_json::json;
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::Command,
};

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Runs `script` in the workspace, outside of Haft.
fn prepare(place: &Place, script: &str) {
    let ran = Command::new("bash").args(["-ec", script]).current_dir(place.work()).status().unwrap();
    assert!(ran.success(), "{script}");
}

/// Each name in a folder with its mode and, of a file, its content. Modes are changed for a moment to look.
fn tree(folder: &Path) -> BTreeMap<String, (u32, String)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        let mode = fs::symlink_metadata(&path).unwrap().mode();
        if path.is_symlink() {
            found.insert(name, (mode, fs::read_link(&path).unwrap().display().to_string()));
            continue;
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(mode | 0o700)).unwrap();
        let content = if path.is_dir() { String::new() } else { fs::read_to_string(&path).unwrap() };
        if path.is_dir() {
            let below = tree(&path).into_iter();
            found.extend(below.map(|(inside, state)| (format!("{name}/{inside}"), state)));
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        found.insert(name, (mode, content));
    }
    found
}

/// So that the folder can be removed.
fn open_all(place: &Place) {
    prepare(place, "chmod -R u+rwx .");
}

fn ran(place: &Place, arguments: &[&str]) -> Ran {
    let ran = place.run(arguments);
    assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}\n{:?}", tree(&place.work()));
    ran
}

/// What a command does in the folder itself, it does through Haft; an undo gives back all, and a redo does it again.
fn round_trip(setup: &str, script: &str) {
    let (place, direct) = (Place::in_sight(), Place::in_sight());
    for place in [&place, &direct] {
        prepare(place, setup);
    }
    let before = tree(&place.work());
    prepare(&direct, script);
    let after = tree(&direct.work());
    let applied = command(&place, "accept-edits", script);
    assert_eq!((applied.code, tree(&place.work())), (0, after.clone()), "{script}: {applied:?}");
    for (way, expected) in [("undo", &before), ("redo", &after), ("undo", &before)] {
        let done = ran(&place, &[way]);
        assert_eq!(&tree(&place.work()), expected, "{way} of {script}: {done:?}");
    }
    open_all(&place);
    open_all(&direct);
}

#[test]
fn what_a_command_leaves_read_only_is_undone() {
    if is_root() {
        return run_as_nobody(module_path!(), "what_a_command_leaves_read_only_is_undone");
    }
    for script in [
        "mkdir p; echo 1 >p/1; chmod 555 p",
        "echo 1 >p; chmod 222 p",
        "mkdir p; echo 1 >p/1; chmod 111 p",
        "mkdir -p v/mod/s; echo 1 >v/mod/a; echo 2 >v/mod/s/b; chmod -R a-w v/mod",
    ] {
        round_trip("echo x >x", script);
    }
}

#[test]
fn what_a_command_changes_in_read_only_folders_is_applied() {
    if is_root() {
        return run_as_nobody(module_path!(), "what_a_command_changes_in_read_only_folders_is_applied");
    }
    let folder = "mkdir -p r/s; echo x >r/x; echo y >r/s/y; echo b >b;";
    for (setup, script) in [
        ("chmod 555 r", "chmod 755 r; echo y >r/y; rm -f r/x; chmod 555 r"),
        ("chmod 555 r", "chmod 755 r; rm r/x; chmod 500 r"),
        ("chmod 555 r/s r", "chmod -R u+w r; rm -r r; echo c >>b"),
        ("chmod 555 r", "echo new >r/x; echo c >>b"),
        ("chmod 000 b", "chmod 644 b; echo c >>b"),
    ] {
        round_trip(&format!("{folder} {setup}"), script);
    }
}

/// Runs `script` in the workspace with mounts of its own; `$0` is Haft, and `$1` a model that runs `command`. Returns what
/// it printed, and nothing where nothing can be mounted here.
fn with_mounts(command: &str, script: &str) -> Option<String> {
    let place = Place::in_sight();
    let model = model(&place, json!({"command": command}));
    let base = place.haft(&[]);
    let script = format!(
        "mount -t tmpfs -o size=2800k none . || exit 9; cd \"$PWD\"; mkdir w; cd w; go() {{ \"$0\" run --sandbox require --permission accept-edits --model \"$1\" go; }}; {script}"
    );
    let mut shell = Command::new("unshare");
    shell.args(["-Urm", "sh", "-c", &script]).arg(base.get_program()).arg(model).current_dir(place.work());
    shell.env_clear().envs(base.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = shell.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(9) || err.contains("unshare") {
        haft_testing::left_out(&format!("a small disk: nothing can be mounted here: {err}"));
        return None;
    }
    Some(format!("{out}{err}"))
}

#[test]
fn an_undo_says_why_it_cannot_remove_a_file() {
    let script =
        "go \"$1\" >&2; mount --bind p p && mount -o remount,bind,ro p; \"$0\" undo; echo \"code $?\"";
    let Some(told) = with_mounts("mkdir p; echo 1 >p/1", script) else { return };
    let why = "! p/1 skipped: cannot remove `p/1`: Read-only file system";
    assert!(told.contains(why) && told.contains("code 1") && !told.contains("modified since"), "{told}");
}

#[test]
fn an_error_takes_back_what_replaced_files_links_and_folders() {
    let setup =
        "echo precious >A; ln -s A L; mkdir D; echo 1 >D/1; chmod 750 D; head -c 1000000 /dev/zero >pad;";
    let look = "find . -printf '%P %y %m %l\\n' | sort; cat A D/1 2>&1;";
    let script = format!("{setup} {look} echo --; told=$(go \"$1\" 2>&1); {look} echo --; echo \"$told\"");
    let replaced = "rm A L; mkdir A L; echo 2 >L/2; rm -r D;";
    for filled in
        ["head -c 3000000 /dev/urandom >A/big; echo f >D", "echo 1 >A/1; head -c 3000000 /dev/urandom >D"]
    {
        let Some(told) = with_mounts(&format!("{replaced} {filled}"), &script) else { return };
        let parts: Vec<&str> = told.split("--\n").collect();
        assert!(parts.len() == 3 && parts[0] == parts[1], "{filled}: {told}");
        assert!(
            parts[2].contains("nothing was changed") && parts[2].contains("No space left"),
            "{filled}: {told}"
        );
    }
}
