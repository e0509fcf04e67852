//! Commands in a view of the workspace: what people see of them through the binary.
mod background;
mod ignored;
mod shut;
use crate::kit::{Place, Ran, UNTIL_GO, terminal::poll};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// A model that runs one command, and then is done.
fn model(place: &Place, arguments: Value) -> String {
    let call = json!({"calls": [{"name": "bash", "arguments": arguments}]});
    place.script("model.jsonl", &[call, json!({"say": "done"})])
}

fn run(place: &Place, permission: &str, arguments: Value) -> Ran {
    let model = model(place, arguments);
    place.run(&["run", "--sandbox", "require", "--permission", permission, "--json", "--model", &model, "go"])
}

fn command(place: &Place, permission: &str, command: &str) -> Ran {
    run(place, permission, json!({"command": command}))
}

/// What the model read of its call.
fn told(ran: &Ran) -> String {
    let ended = ran.events().into_iter().find(|event| event["type"] == "tool_ended");
    ended.unwrap_or_else(|| panic!("{ran:?}"))["content"].as_str().unwrap().to_owned()
}

/// The paths that the call changed.
fn changed(ran: &Ran) -> Vec<String> {
    let events = ran.events();
    let staged = events.iter().filter(|event| event["type"] == "staged");
    let changes = staged.flat_map(|event| event["changes"].as_array().unwrap().clone());
    changes.map(|change| change["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_command_that_changes_nothing_runs_unasked_and_one_that_does_is_judged_by_its_changes() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let looked = command(&place, "ask", "cat a.txt; echo tried >/tmp/x");
    assert_eq!((looked.code, told(&looked).as_str()), (0, "one"), "{looked:?}");
    let refused = command(&place, "ask", "echo two >>a.txt; rm -f b.txt");
    assert_eq!((refused.code, place.read("a.txt").as_deref()), (4, Some("one\n")), "{refused:?}");
    assert!(told(&refused).contains("`write:a.txt` needs approval"), "{refused:?}");
    let accepted = command(&place, "accept-edits", "echo two >>a.txt; mkdir d; ln -s ../a.txt d/link");
    assert_eq!((accepted.code, changed(&accepted)), (0, vec!["a.txt".into(), "d".into(), "d/link".into()]));
    assert_eq!(place.read("d/link").as_deref(), Some("one\ntwo\n"));
    let undone = place.run(&["undo"]);
    assert!(undone.code == 0 && !place.work().join("d").exists(), "{undone:?}");
    assert_eq!(place.read("a.txt").as_deref(), Some("one\n"));
    assert_eq!(place.run(&["redo"]).code, 0);
    assert_eq!(place.read("d/link").as_deref(), Some("one\ntwo\n"));
}

#[test]
fn a_command_sees_no_keys_and_reaches_nobody_unless_somebody_allows_it() {
    let place = Place::new();
    fs::create_dir_all(place.path().join("person/.ssh")).unwrap();
    fs::write(place.path().join("person/.ssh/id"), "a key\n").unwrap();
    let home = place.path();
    let home = home.display();
    let looked = command(&place, "accept-edits", &format!("ls -A {home}/person/.ssh {home}/home; echo $?"));
    assert!(!told(&looked).contains("id\n") && !told(&looked).contains("sessions"), "{looked:?}");
    let lost = command(&place, "accept-edits", "curl -sS http://unknown.example.org");
    assert!(told(&lost).contains("call again with `needs: [\"network:unknown.example.org\"]`"), "{lost:?}");
    let asked = run(&place, "accept-edits", json!({"command": "echo x >y", "needs": ["network"]}));
    assert_eq!((asked.code, place.read("y")), (4, None), "{asked:?}");
    assert!(told(&asked).contains("`execute:echo x >y` needs approval"), "{asked:?}");
    let allowed = run(&place, "full", json!({"command": "echo x >y", "needs": ["live"]}));
    assert_eq!((allowed.code, place.read("y").as_deref()), (0, Some("x\n")), "{allowed:?}");
}

#[test]
fn git_works_in_a_view_and_what_it_would_run_is_asked_about() {
    let place = Place::new();
    let git = |arguments: &[&str]| {
        let ran = Command::new("git").args(arguments).current_dir(place.work()).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    };
    git(&["init", "-q"]);
    git(&["config", "user.email", "a@example.org"]);
    git(&["config", "user.name", "A"]);
    place.write("a.txt", "one\n");
    let commit = "git add -A && git commit -qm first && git checkout -qb other && git log --oneline | wc -l";
    let ran = command(&place, "accept-edits", commit);
    assert_eq!((ran.code, told(&ran).trim()), (0, "1"), "{ran:?}");
    assert_eq!(
        (git(&["log", "--format=%s"]), git(&["branch", "--show-current"])),
        ("first\n".into(), "other\n".into())
    );
    assert_eq!(git(&["status", "--short"]), "");
    git(&["fsck", "--strict"]);
    let session = ran.events()[0]["session"].as_str().unwrap().to_owned();
    for what in [
        "echo 'touch x' >.git/hooks/pre-commit",
        "git config core.fsmonitor ./x",
        "ln -sf /etc .git/refs/x",
        "echo '* filter=x' >.git/info/attributes",
        "ln -s /etc/passwd .git/info/refs",
    ] {
        let asked = command(&place, "accept-edits", what);
        assert_eq!(asked.code, 4, "{what}: {asked:?}");
    }
    assert_eq!(place.run(&["undo", &session]).code, 0);
    let log = Command::new("git").arg("log").current_dir(place.work()).output().unwrap();
    assert!(!log.status.success(), "the commit is gone: {log:?}");
}

#[test]
fn what_the_tool_git_does_is_recorded_and_undone() {
    let place = Place::new();
    let git = |arguments: &[&str]| {
        let ran = Command::new("git").args(arguments).current_dir(place.work()).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["config", "user.email", "a@example.org"]);
    git(&["config", "user.name", "A"]);
    place.write("a.txt", "one\n");
    git(&["add", "-A"]);
    git(&["commit", "-qm", "first"]);
    place.write("a.txt", "longer\n");
    let call = |arguments: Value| json!({"calls": [{"name": "git", "arguments": arguments}]});
    let lines = [
        call(json!({"action": "add", "paths": ["a.txt"]})),
        call(json!({"action": "commit", "message": "second"})),
        call(json!({"action": "branch", "ref": "other"})),
        call(json!({"action": "checkout", "ref": "other"})),
        json!({"say": "done"}),
    ];
    let model = place.script("model.jsonl", &lines);
    let options = ["--sandbox", "require", "--permission", "accept-edits", "--json", "--model", &model];
    let ran = place.run(&[&["run"], &options[..], &["go"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let started = ran.events().into_iter().filter(|event| event["type"] == "tool_started");
    assert!(started.map(|event| event["how"].clone()).all(|how| how == "staged"), "{ran:?}");
    let state =
        || (git(&["log", "--format=%s"]), git(&["branch", "--show-current"]), git(&["status", "--short"]));
    assert_eq!(state(), ("second\nfirst\n".into(), "other\n".into(), String::new()));
    assert_eq!(place.run(&["undo"]).code, 0);
    assert_eq!(state(), ("first\n".into(), "main\n".into(), " M a.txt\n".into()));
    git(&["fsck", "--strict"]);
}

/// Haft as another program starts it.
fn run_below(place: &Place, program: &[&str], arguments: &[&str]) -> Ran {
    let haft = place.haft(arguments);
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).arg(haft.get_program()).args(haft.get_args());
    command.current_dir(haft.get_current_dir().unwrap()).env_clear();
    command.envs(haft.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ran::from(command.env("PATH", std::env::var_os("PATH").unwrap()).output().unwrap())
}

// The folder of the sessions lies in an overlay, as in many containers, so that it can hold no other one.
#[test]
fn where_no_overlay_can_be_had_commands_work_on_a_copy() {
    let place = Place::new();
    for name in ["lower", "upper", "work-of-it", "home"] {
        fs::create_dir_all(place.path().join(name)).unwrap();
    }
    for name in ["a.txt", "gone.txt", "d/b.txt", "old/c.txt", "mode", "same"] {
        place.write(name, "old\n");
    }
    std::os::unix::fs::symlink("a.txt", place.work().join("link")).unwrap();
    let model = model(
        &place,
        json!({"command": "echo two >>a.txt; rm -r gone.txt d; mv old new; chmod 755 mode; \
        ln -sf same link; mkdir -p e/f; echo x >e/f/g; touch same; echo x >/var/lib/haft-outside || echo kept out"}),
    );
    let script = "cd \"$0\" && mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work-of-it,userxattr home && \
                  cd work && exec \"$@\"";
    let folder = place.path().display().to_string();
    let below = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, &folder];
    let options = ["--sandbox", "require", "--permission", "accept-edits", "--json", "--model", &model];
    let run = |command: &str, rest: &[&str]| run_below(&place, &below, &[&[command], rest].concat());
    let ran = run("run", &[&options[..], &["go"]].concat());
    let mut all = changed(&ran);
    all.sort_unstable();
    let expected = [
        "a.txt",
        "d",
        "d/b.txt",
        "e",
        "e/f",
        "e/f/g",
        "gone.txt",
        "link",
        "mode",
        "new",
        "new/c.txt",
        "old",
        "old/c.txt",
    ];
    assert_eq!(
        (ran.code, told(&ran).contains("kept out"), all),
        (0, true, expected.map(str::to_owned).to_vec()),
        "{ran:?}"
    );
    assert_eq!(
        (place.read("new/c.txt").as_deref(), place.read("link").as_deref()),
        (Some("old\n"), Some("old\n"))
    );
    assert_eq!(run("undo", &[]).code, 0);
    let files = ["a.txt", "gone.txt", "d/b.txt", "old/c.txt"].map(|name| place.read(name));
    assert!(files.iter().all(|text| text.as_deref() == Some("old\n")), "{files:?}");
    let doctor = run("doctor", &[]).out;
    let on_copies = "can be confined here, on a copy of the workspace made for each command, since no overlay can be mounted (";
    assert!(in_one_line(&doctor).contains(on_copies), "{doctor}");
    // More than is copied.
    fs::File::create(place.work().join("large")).unwrap().set_len(65 << 20).unwrap();
    let refused = run("run", &[&options[..], &["go"]].concat());
    assert!(refused.code == 2 && refused.err.contains("has more than 20000 files or 64 MB"), "{refused:?}");
    let doctor = run("doctor", &[]).out;
    let doctor = in_one_line(&doctor);
    let (_, unconfined) = doctor.split_once("commands: run unconfined").unwrap();
    assert!(unconfined.contains("has more than 20000 files or 64 MB"), "{doctor}");
}

/// What the doctor says, without the ends of its lines.
fn in_one_line(doctor: &str) -> String {
    doctor.split_whitespace().collect::<Vec<_>>().join(" ")
}

// In memory, where every system that mounts overlays mounts them.
#[test]
fn the_doctor_says_that_commands_work_in_an_overlay() {
    let place = Place::new();
    fs::create_dir_all(place.path().join("memory")).unwrap();
    let script = "mount -t tmpfs tmpfs \"$0/memory\" && mkdir \"$0/memory/work\" && exec env HAFT_HOME=\"$0/memory/home\" \"$@\"";
    let folder = place.path().display().to_string();
    let below = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, &folder];
    let work = format!("{folder}/memory/work");
    let doctor = run_below(&place, &below, &["doctor", "--cwd", &work]);
    assert!(doctor.out.contains("can be confined here, in an overlay of the workspace\n"), "{doctor:?}");
}

// As where a system lets only root make namespaces.
#[test]
fn whoever_refuses_confinement_is_named_and_how_that_is_changed() {
    let place = Place::new();
    let script = "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\"";
    let below = ["unshare", "--map-root-user", "sh", "-c", script, "sh"];
    let doctor = run_below(&place, &below, &["doctor"]);
    let why = "the system does not let a command be confined: no user namespaces are allowed here: \
               `sudo sysctl user.max_user_namespaces=15000` allows them";
    assert!(
        in_one_line(&doctor.out).contains(&format!(
            "commands: run unconfined, without a question under `full` they cannot be undone: {why}"
        )),
        "{doctor:?}"
    );
    let model = model(&place, json!({"command": "echo ran"}));
    let ran = run_below(&place, &below, &["run", "--sandbox", "require", "--model", &model, "go"]);
    assert!(ran.code == 2 && ran.err.contains(why), "{ran:?}");
}

// As in a container without root: root of a user namespace, who is no root of the machine.
#[test]
fn commands_are_confined_for_root_of_a_user_namespace() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    place.write("d/b.txt", "one\n");
    let model = model(&place, json!({"command": "echo two >>a.txt; rm -r d; mkdir e; id -u"}));
    let options = ["--sandbox", "require", "--permission", "accept-edits", "--json", "--model", &model];
    let run = |arguments: &[&str]| run_below(&place, &["unshare", "--map-root-user", "--"], arguments);
    let ran = run(&[&["run"], &options[..], &["go"]].concat());
    assert_eq!(
        (ran.code, changed(&ran)),
        (0, vec!["a.txt".into(), "d/b.txt".into(), "d".into(), "e".into()]),
        "{ran:?}"
    );
    assert_eq!(run(&["undo"]).code, 0);
    assert_eq!(
        (place.read("a.txt").as_deref(), place.read("d/b.txt").as_deref()),
        (Some("one\n"), Some("one\n"))
    );
}

// A view holds no repository that lies elsewhere: it is read, and a command that would write there says how to ask.
#[test]
fn commands_work_in_a_folder_of_a_repository_and_in_a_work_tree_of_one() {
    // Of `/tmp`, commands see their own.
    let place = Place::in_sight();
    let git = |arguments: &[&str]| {
        let ran = Command::new("git").args(arguments).current_dir(place.work()).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["config", "user.email", "a@example.org"]);
    git(&["config", "user.name", "A"]);
    place.write("sub/a.txt", "one\n");
    git(&["add", "-A"]);
    git(&["commit", "-qm", "first"]);
    git(&["worktree", "add", "-q", "../tree"]);
    let commit = "echo two >a.txt; git status --short .; git commit -qam second; exit $?";
    for folder in [place.work().join("sub"), place.path().join("tree/sub"), place.path().join("tree")] {
        let model = model(&place, json!({"command": commit}));
        let cwd = folder.display().to_string();
        let options = ["--sandbox", "require", "--permission", "accept-edits", "--json", "--model", &model];
        let ran = place.run(&[&["run", "--cwd", &cwd], &options[..], &["go"]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(told(&ran).contains(" a.txt\n") && told(&ran).contains("`needs: [\"live\"]`"), "{ran:?}");
        assert_eq!(fs::read_to_string(folder.join("a.txt")).unwrap(), "two\n");
    }
}

#[test]
fn a_dry_undo_shows_all_that_a_command_did_and_what_stays() {
    let place = Place::new();
    for name in ["changed", "gone", "mode", "mine"] {
        place.write(name, "old\n");
    }
    let what = "echo new >changed; rm gone; chmod 755 mode; ln -s changed link; mkdir -p d/e; echo x >d/e/f; echo x >mine";
    assert_eq!(command(&place, "accept-edits", what).code, 0);
    place.write("mine", "mine\n");
    let dry = place.run(&["undo", "--dry-run"]);
    assert_eq!(dry.code, 1, "{dry:?}");
    for line in [
        "~ changed would be put back",
        "+ gone would be brought back",
        "- link would be removed",
        "! mine would be skipped: modified since",
        "-new\n+old",
        "mode: mode 755 becomes 644",
        "- link (link to changed)",
        "- d/e (folder)",
        "-x",
    ] {
        assert!(dry.out.contains(line), "{line}: {}", dry.out);
    }
    assert_eq!(place.read("changed").as_deref(), Some("new\n"));
}

/// The attribute of a file, by the program that shows them.
fn attribute(place: &Place, name: &str, path: &str) -> Option<String> {
    let options = ["--only-values", "-n", name, path];
    let told = Command::new("getfattr").args(options).current_dir(place.work()).output().unwrap();
    told.status.success().then(|| String::from_utf8(told.stdout).unwrap())
}

#[test]
fn attributes_that_a_command_sets_are_settled_undone_and_redone() {
    let place = Place::new();
    for (name, value) in [("file", "kept"), ("gone", "mine")] {
        place.write(name, "old\n");
        let set = ["-n", "user.old", "-v", value, name];
        assert!(Command::new("setfattr").args(set).current_dir(place.work()).status().unwrap().success());
    }
    place.write("folder/a", "a\n");
    let seen = || {
        let names =
            [("user.old", "file"), ("user.new", "file"), ("user.old", "gone"), ("user.new", "folder")];
        names.map(|(name, path)| attribute(&place, name, path))
    };
    let some = |text: &str| Some(text.to_owned());
    let before = [some("kept"), None, some("mine"), None];
    assert_eq!(seen(), before);
    let what = "setfattr -n user.new -v 1 file; setfattr -x user.old file; rm gone; setfattr -n user.new -v 2 folder; \
                cp -a file copy; echo more >>copy";
    assert_eq!(command(&place, "accept-edits", what).code, 0);
    let after = [None, some("1"), None, some("2")];
    assert_eq!((seen(), attribute(&place, "user.new", "copy")), (after.clone(), some("1")));
    let dry = place.run(&["undo", "--dry-run"]);
    for line in [
        "file: attribute user.old set, attribute user.new removed",
        "~ folder (attribute user.new removed)",
        "gone: attribute user.old set",
    ] {
        assert!(dry.out.contains(line), "{line}: {dry:?}");
    }
    assert_eq!((place.run(&["undo"]).code, seen()), (0, before));
    assert_eq!(place.read("copy"), None);
    assert_eq!((place.run(&["redo"]).code, seen()), (0, after));
    // An edit keeps them.
    let edit = json!({"path": "file", "old_text": "old", "new_text": "new"});
    let model =
        place.script("m", &[json!({"calls": [{"name": "edit", "arguments": edit}]}), json!({"say": "done"})]);
    assert_eq!(place.run(&["run", "--permission", "accept-edits", "--model", &model, "go"]).code, 0);
    assert_eq!(
        (place.read("file").as_deref(), attribute(&place, "user.new", "file")),
        (Some("new\n"), some("1"))
    );
}

#[test]
fn what_goes_is_named_first_and_what_git_keeps_in_one_line() {
    let place = Place::new();
    assert!(Command::new("git").args(["init", "-q"]).current_dir(place.work()).status().unwrap().success());
    place.write("z.txt", "z\n");
    let both = "mkdir d; ln -s a.txt link; echo a >a.txt; rm z.txt; \
                git -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m one; exit 0";
    let model = model(&place, json!({"command": both}));
    let ran =
        place.run(&["run", "--sandbox", "require", "--permission", "accept-edits", "--model", &model, "go"]);
    let told: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("  ")).map(str::trim).collect();
    let (git, rest): (Vec<&str>, Vec<&str>) = told.iter().partition(|line| line.contains(".git"));
    assert_eq!(rest[..4], ["- z.txt", "+ a.txt", "+ d", "+ link"], "{ran:?}");
    assert!(
        matches!(git[..], [git] if git.starts_with("~ .git (") && git.ends_with("files of git's own data)")),
        "{git:?}"
    );
}

#[test]
fn what_a_build_leaves_is_there_afterwards_and_not_kept_for_an_undo() {
    let place = Place::new();
    place.write(".gitignore", "/target\n.env\n");
    place.write("target/old/a", "old\n");
    place.write("target/gone", "old\n");
    place.write(".env", "mine\n");
    let build = "rm target/gone; mkdir target/new; for i in $(seq 600); do echo $i >target/new/$i; done; \
                 mv target/old target/moved; echo key >.env; echo made >made.txt; chmod +x target/new/1";
    let ran = command(&place, "accept-edits", build);
    assert_eq!((ran.code, changed(&ran)), (0, vec!["made.txt".to_owned(), ".env".to_owned()]), "{ran:?}");
    let staged = ran.events().into_iter().find(|event| event["type"] == "staged").unwrap();
    assert_eq!(staged["unkept"], json!(["target"]), "a small file is kept beside the output of a build");
    assert_eq!(
        (place.read("target/new/600").as_deref(), place.read("target/moved/a").as_deref()),
        (Some("600\n"), Some("old\n"))
    );
    assert!(!place.work().join("target/gone").exists() && !place.work().join("target/old").exists());
    let permissions = fs::metadata(place.work().join("target/new/1")).unwrap().permissions();
    assert_eq!(permissions.mode() & 0o111, 0o111);
    // A little of it is kept as anything else is.
    let little = command(&place, "accept-edits", "echo other >.env");
    assert_eq!(changed(&little), [".env"], "{little:?}");
    assert_eq!(place.run(&["undo"]).code, 0);
    assert_eq!(place.read(".env").as_deref(), Some("key\n"));
    let undone = place.run(&["undo", ran.events()[0]["session"].as_str().unwrap()]);
    assert!(undone.out.contains("1 untracked command: changes that are not recorded remain"), "{undone:?}");
    assert_eq!(place.read(".env").as_deref(), Some("mine\n"));
    assert_eq!(place.read("target/new/600").as_deref(), Some("600\n"));
}

#[test]
fn a_command_that_was_killed_in_the_middle_runs_again_and_counts_once() {
    let place = Place::new();
    let model = model(
        &place,
        json!({"command": "mkdir /tmp/made || exit 7; echo once >>log; test -e resumed || sleep 60"}),
    );
    let arguments = ["run", "--sandbox", "require", "--permission", "accept-edits", "--model", &model, "go"];
    let mut child = place.haft(&arguments).spawn().unwrap();
    poll(|| place.has_made("made"), || "the beginning of the command".into());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(place.read("log"), None);
    place.write("resumed", "");
    let session = place.journal().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let options = ["--sandbox", "require", "--permission", "accept-edits", "--model", &model];
    let resumed = place.run(&[&["sessions", "resume", &session], &options[..]].concat());
    assert_eq!((resumed.code, place.read("log").as_deref()), (0, Some("once\n")), "{resumed:?}");
}

#[test]
fn where_commands_cannot_be_confined_nothing_starts_that_has_to_be() {
    let place = Place::new();
    let model = model(&place, json!({"command": "true"}));
    let refused = place.run(&["run", "--cwd", "/", "--sandbox", "require", "--model", &model, "go"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.err.contains("cannot confine commands") && refused.err.contains("root of the file system"),
        "{refused:?}"
    );
    let doctor = place.run(&["doctor", "--cwd", "/"]);
    assert!(
        in_one_line(&doctor.out).contains("cannot be undone: the workspace is the root of the file system"),
        "{doctor:?}"
    );
}

/// Whether a process of this machine has this word in its command line.
fn is_running(word: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.into_iter().any(|line| String::from_utf8_lossy(&line).contains(word))
}

#[test]
fn a_command_that_outlasts_its_time_is_ended_with_all_its_processes_and_nothing_of_it_is_kept() {
    // The number tells our own processes from those of others on this machine.
    let long = format!("601.{}", std::process::id());
    let command = format!(
        "echo new >old.txt; mkdir out; echo early >out/a; echo said; trap '' TERM; setsid sleep {long} & sleep {long}"
    );
    for permission in ["ask", "accept-edits", "full"] {
        let place = Place::new();
        place.write("old.txt", "old\n");
        let calls = [json!({"command": command, "timeout": 1}), json!({"command": "cat old.txt; ls"})];
        let [long, next] =
            calls.map(|arguments| json!({"calls": [{"name": "bash", "arguments": arguments}]}));
        let model = place.script("model.jsonl", &[long, next, json!({"say": "done"})]);
        let options = ["--sandbox", "require", "--permission", permission, "--json", "--model", &model];
        let ran = place.run(&[&["run"], &options[..], &["go"]].concat());
        let ends: Vec<Value> =
            ran.events().into_iter().filter(|event| event["type"] == "tool_ended").collect();
        let told = ends[0]["content"].as_str().unwrap();
        assert!(
            told.starts_with(
                "error: timed out after 1 s; the command was killed. Its output so far:\nsaid\n"
            )
        );
        assert!(told.contains("nothing that it changed was kept"), "{told}");
        assert_eq!((ran.code, ends[1]["content"].as_str()), (0, Some("old\nold.txt")), "{ran:?}");
        assert!(!is_running(&format!("601.{}", std::process::id())), "{permission}: {ran:?}");
        assert_eq!((place.read("old.txt").as_deref(), place.read("out/a")), (Some("old\n"), None));
        assert_eq!(place.run(&["undo", "--calls", "1"]).out, "nothing to undo\n");
    }
}

// B03
#[test]
fn a_command_that_forks_for_ever_or_takes_all_memory_or_disk_ends_and_the_next_one_runs() {
    let place = Place::new();
    place.configure("[commands]\nprocesses = 301\nfile_size = 1\nmemory = 128\n");
    let begun = Instant::now();
    let bomb = "python3 - <<'E'\nimport os, time\nmade = 0\ntry:\n    while made < 2000:\n        if os.fork() == 0: time.sleep(30); os._exit(0)\n        made += 1\nexcept OSError as error: print(error.errno, made < 301)\nE";
    let ran = command(&place, "accept-edits", bomb);
    assert_eq!(told(&ran), "11 True", "{ran:?}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    let full = command(&place, "accept-edits", "head -c 2M /dev/zero >big");
    assert!(told(&full).contains("file_size"), "{full:?}");
    let greedy = command(&place, "accept-edits", "python3 -c 'x = bytearray(512 << 20)'; exit $?");
    assert!(told(&greedy).contains("128 MB of memory (`[commands] memory`)"), "{greedy:?}");
    assert_eq!(told(&command(&place, "accept-edits", "echo well")), "well");
}

#[test]
fn calls_of_one_reply_run_side_by_side_and_end_as_one_after_the_other() {
    let place = Place::new();
    place.hold();
    let start = |commands: &[&str]| {
        let calls = commands.iter().map(|command| json!({"name": "bash", "arguments": {"command": command}}));
        let lines = [json!({"calls": calls.collect::<Vec<_>>()}), json!({"say": "done"})];
        let model = place.script("model.jsonl", &lines);
        let options = ["--sandbox", "require", "--permission", "accept-edits", "--json"];
        let mut command = place.haft(&[&["run", "--model", &model], &options[..], &["go"]].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let told = |child: Child| {
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, 0, "{ran:?}");
        let events = ran.events();
        let ended = events.iter().filter(|event| event["type"] == "tool_ended");
        ended.map(|event| event["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mark = |own: &str| format!("{own}{}", std::process::id());
    let wait = |own: &str| format!("{UNTIL_GO}; echo {own}; : {}", mark(own));
    let both = start(&[&wait("reads"), &wait("looks"), "echo late >late"]);
    poll(|| is_running(&mark("reads")) && is_running(&mark("looks")), || "both of them".into());
    place.let_go();
    assert_eq!(
        (told(both), place.read("late").as_deref()),
        (vec!["reads".into(), "looks".into(), "(no output)".into()], Some("late\n"))
    );
    [".go", "late"].iter().for_each(|name| fs::remove_file(place.work().join(name)).unwrap());
    place.write("log", "0\n");
    let told = told(start(&[
        "cat log",
        "echo 1 >>log",
        "echo 2 >>log; cat log",
        "sleep 0.2; cat log",
        "rm log; ls -A",
        "ls -A",
    ]));
    assert_eq!(told, ["0", "(no output)", "0\n1\n2", "0\n1\n2", "(no output)", "(no output)"]);
}

#[test]
fn commands_that_may_change_something_follow_one_another_and_none_runs_twice() {
    let place = Place::new();
    let time = format!("0.3{}", std::process::id());
    let call = |number| json!({"name": "bash", "arguments": {"command": format!("sleep {time}; echo {number} >f{number}; echo {number} >>/tmp/log")}});
    let calls: Vec<_> = (0..4).map(call).collect();
    let look = json!({"name": "bash", "arguments": {"command": "cat /tmp/log"}});
    let model = place
        .script("model.jsonl", &[json!({"calls": calls}), json!({"calls": [look]}), json!({"say": "done"})]);
    let options = ["--sandbox", "require", "--permission", "accept-edits", "--json"];
    let mut command = place.haft(&[&["run", "--model", &model], &options[..], &["go"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let wanted = format!("sleep\0{time}\0").into_bytes();
    let mut sleepers = BTreeSet::new();
    while child.try_wait().unwrap().is_none() {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let found = processes
            .filter(|process| fs::read(process.path().join("cmdline")).is_ok_and(|line| line == wanted));
        sleepers.extend(found.map(|process| process.file_name()));
        thread::sleep(Duration::from_millis(10));
    }
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, sleepers.len()), (0, 4), "{ran:?}");
    let log = ran.events().into_iter().rfind(|event| event["type"] == "tool_ended").unwrap();
    assert_eq!(log["content"], "0\n1\n2\n3", "{ran:?}");
    assert!((0..4).all(|number| place.read(&format!("f{number}")) == Some(format!("{number}\n"))), "{ran:?}");
}

#[test]
fn the_other_names_of_a_file_that_a_command_changed_are_named() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    fs::hard_link(place.work().join("a.txt"), place.work().join("b.txt")).unwrap();
    let ran = command(&place, "accept-edits", "echo two >>a.txt");
    assert_eq!(
        (place.read("a.txt").as_deref(), place.read("b.txt").as_deref()),
        (Some("one\ntwo\n"), Some("one\n"))
    );
    assert!(
        told(&ran)
            .ends_with("[`a.txt`: now a file of its own; its other names (hard links) are as they were]"),
        "{ran:?}"
    );
    assert!(!told(&command(&place, "accept-edits", "echo three >>a.txt")).contains("hard links"));
}

// What was read anew is what the model has seen.
#[test]
fn a_file_that_was_read_beside_a_command_can_be_edited() {
    let place = Place::new();
    place.write("seen", "0\n");
    let calls = [
        json!({"name": "bash", "arguments": {"command": "sleep 0.1; echo 1 >seen"}}),
        json!({"name": "read", "arguments": {"path": "seen"}}),
    ];
    let edit = json!({"name": "edit", "arguments": {"path": "seen", "old_text": "1", "new_text": "2"}});
    let lines = [json!({"calls": calls}), json!({"calls": [edit]}), json!({"say": "done"})];
    let model = place.script("seen.jsonl", &lines);
    let ran =
        place.run(&["run", "--sandbox", "require", "--permission", "accept-edits", "--model", &model, "go"]);
    assert_eq!((ran.code, place.read("seen").as_deref()), (0, Some("2\n")), "{ran:?}");
}

// D03: a link that one call makes does not carry the next one of the reply out of the workspace
#[test]
fn a_link_that_a_command_makes_leads_no_call_beside_it_out_of_the_workspace() {
    for next in [
        json!({"name": "read", "arguments": {"path": "link/key"}}),
        json!({"name": "write", "arguments": {"path": "link/new", "content": "x"}}),
    ] {
        let place = Place::new();
        let outside = place.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("key"), "hidden key\n").unwrap();
        let link = json!({"name": "bash", "arguments": {"command": format!("sleep 0.1; ln -s {} link", outside.display())}});
        let model = place.script("model.jsonl", &[json!({"calls": [link, next]}), json!({"say": "done"})]);
        let options = ["--sandbox", "require", "--permission", "accept-edits", "--json"];
        let ran = place.run(&[&["run", "--model", &model], &options[..], &["go"]].concat());
        assert!(!ran.out.contains("hidden key") && !outside.join("new").exists(), "{ran:?}");
        assert!(ran.out.contains("permission_error"), "{ran:?}");
    }
}
