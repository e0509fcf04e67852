//! Commands in a view of the workspace: what people see of them through the binary.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod kit;
use kit::{Place, Ran};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    process::Command,
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
    let lost = command(&place, "accept-edits", "curl -sS http://nobody.example.org");
    assert!(told(&lost).contains("call again with `needs: [\"network:nobody.example.org\"]`"), "{lost:?}");
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
    let build = "rm target/gone; mkdir target/new; for i in $(seq 600); do echo $i >target/new/$i; done; \
                 mv target/old target/moved; echo key >.env; echo made >made.txt; chmod +x target/new/1";
    let ran = command(&place, "accept-edits", build);
    assert_eq!((ran.code, changed(&ran)), (0, vec!["made.txt".to_owned()]), "{ran:?}");
    let staged = ran.events().into_iter().find(|event| event["type"] == "staged").unwrap();
    assert_eq!(staged["unkept"], json!([".env", "target"]));
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
}

#[test]
fn a_command_that_was_killed_in_the_middle_runs_again_and_counts_once() {
    let place = Place::new();
    let model = model(
        &place,
        json!({"command": "echo once >>log; test -e /tmp/begun || { touch /tmp/begun; sleep 60; }"}),
    );
    let arguments = ["run", "--sandbox", "require", "--permission", "accept-edits", "--model", &model, "go"];
    let mut child = place.haft(&arguments).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    let has_begun = || {
        let sessions = fs::read_dir(place.path().join("home/sessions")).into_iter().flatten().flatten();
        sessions.into_iter().any(|session| session.path().join("tmp/begun").exists())
    };
    while !has_begun() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(has_begun());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(place.read("log"), None);
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
        doctor.out.contains("cannot be undone: the workspace is the root of the file system"),
        "{doctor:?}"
    );
}

// B03
#[test]
fn a_command_that_forks_for_ever_or_fills_the_disk_ends_and_the_next_one_runs() {
    let place = Place::new();
    place.configure("[commands]\nprocesses = 301\nfile_size = 1\n");
    let begun = Instant::now();
    let bomb = "python3 - <<'E'\nimport os, time\nmade = 0\ntry:\n    while made < 2000:\n        if os.fork() == 0: time.sleep(30); os._exit(0)\n        made += 1\nexcept OSError as error: print(error.errno, made < 301)\nE";
    let ran = command(&place, "accept-edits", bomb);
    assert_eq!(told(&ran), "11 True", "{ran:?}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    let full = command(&place, "accept-edits", "head -c 2M /dev/zero >big");
    assert!(told(&full).contains("file_size"), "{full:?}");
    assert_eq!(told(&command(&place, "accept-edits", "echo well")), "well");
}

#[test]
fn calls_of_one_reply_run_side_by_side_and_end_as_one_after_the_other() {
    let place = Place::new();
    let reply = |commands: &[&str]| {
        let calls = commands.iter().map(|command| json!({"name": "bash", "arguments": {"command": command}}));
        let lines = [json!({"calls": calls.collect::<Vec<_>>()}), json!({"say": "done"})];
        let model = place.script("model.jsonl", &lines);
        let options = ["--sandbox", "require", "--permission", "accept-edits", "--json"];
        let ran = place.run(&[&["run", "--model", &model], &options[..], &["go"]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        let events = ran.events();
        let ended = events.iter().filter(|event| event["type"] == "tool_ended");
        ended.map(|event| event["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // Each waits for the other one.
    let wait = |own: &str, other: &str| {
        format!("touch /tmp/{own}; until test -e /tmp/{other}; do sleep 0.01; done; echo {own}")
    };
    assert_eq!(reply(&[&wait("a", "b"), &wait("b", "a")]), ["a", "b"]);
    place.write("log", "0\n");
    let told = reply(&[
        "cat log",
        "echo 1 >>log",
        "echo 2 >>log; cat log",
        "sleep 0.2; cat log",
        "rm log; ls -A",
        "ls -A",
    ]);
    assert_eq!(told, ["0", "(no output)", "0\n1\n2", "0\n1\n2", "(no output)", "(no output)"]);
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
