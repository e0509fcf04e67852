//! What Haft promises about commands: nothing without consent, everything once, through the binary. The ways out of
//! confinement stand in `sandbox/escape.rs`.
use crate::kit::{
    Place, Ran, call,
    project::{begin_repository, git},
    serving::Serving,
    terminal::poll,
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    os::unix::fs::{MetadataExt, symlink},
    path::Path,
    process::Command,
    sync::mpsc,
    thread,
};

/// Makes more files in an ignored folder than are recorded.
const MANY: &str = "mkdir -p node_modules/pkg; for i in $(seq 600); do echo $i >node_modules/pkg/$i; done";

fn run(place: &Place, options: &[&str], commands: &[&str]) -> Ran {
    let reply = |command: &&str| json!({"calls": [{"name": "bash", "arguments": {"command": command}}]});
    let replies: Vec<Value> = commands.iter().map(reply).chain([json!({"say": "done"})]).collect();
    let model = place.script("model.jsonl", &replies);
    place.run(&[&["run", "--json", "--model", &model], options, &["go"]].concat())
}

fn told(ran: &Ran) -> Vec<String> {
    let events = ran.events();
    let ended = events.iter().filter(|event| event["type"] == "tool_ended");
    ended.map(|event| event["content"].as_str().unwrap().to_owned()).collect()
}

fn facts(ran: &Ran, kind: &str) -> Vec<Value> {
    ran.events().into_iter().filter(|event| event["type"] == kind).collect()
}

const REQUIRE: [&str; 2] = ["--sandbox", "require"];

fn under(permission: &'static str) -> Vec<&'static str> {
    [&REQUIRE[..], &["--permission", permission]].concat()
}

#[test]
fn what_git_ignores_is_asked_about_however_much_it_is() {
    let large = "mkdir -p node_modules/pkg; head -c 9M /dev/zero >node_modules/pkg/big";
    let replaced = "rm -rf node_modules/old; mkdir node_modules/old; for i in $(seq 600); do echo $i >node_modules/old/$i; done";
    for (what, number) in [(MANY, 600), (large, 1), (replaced, 600)] {
        let place = Place::new();
        place.write(".gitignore", "node_modules\n");
        place.write("node_modules/old/kept", "kept\n");
        let asked = run(&place, &under("ask"), &[what]);
        assert_eq!(asked.code, 4, "{asked:?}");
        let bulk = facts(&asked, "approval_asked")[0]["bulk"].clone();
        assert_eq!(
            (&bulk[0]["path"], &bulk[0]["written"]),
            (&json!("node_modules"), &json!(number)),
            "{bulk}"
        );
        assert!(!place.work().join("node_modules/pkg").exists(), "{asked:?}");
        assert_eq!(place.read("node_modules/old/kept").as_deref(), Some("kept\n"));
        let read_only = run(&place, &under("read-only"), &[what]);
        assert!(!place.work().join("node_modules/pkg").exists(), "{read_only:?}");
        let accepted = run(&place, &under("accept-edits"), &[what]);
        assert_eq!((accepted.code, facts(&accepted, "approval_asked").len()), (0, 0), "{accepted:?}");
        assert!(place.work().join("node_modules").read_dir().unwrap().count() >= 1);
    }
}

#[test]
fn rules_hold_for_each_path_that_git_ignores() {
    let table = [
        ("deny = [\"write:node_modules/pkg/300\"]", "accept-edits", Some("denied by the rule")),
        ("deny = [\"write:node_modules/**\"]", "full", Some("denied by the rule")),
        ("ask = [\"write:**/5\"]", "accept-edits", Some("must be asked for by the rule")),
        ("allow = [\"write:node_modules\", \"write:node_modules/**\"]", "ask", None),
        ("deny = [\"write:src/**\"]", "accept-edits", None),
    ];
    for (rule, permission, refused) in table {
        let place = Place::new();
        place.write(".gitignore", "node_modules\n");
        place.configure(&format!("[rules]\n{rule}\n"));
        let ran = run(&place, &under(permission), &[MANY]);
        let is_there = place.work().join("node_modules/pkg/1").exists();
        assert_eq!(is_there, refused.is_none(), "{rule}: {ran:?}");
        assert!(refused.is_none_or(|why| told(&ran)[0].contains(why)), "{rule}: {ran:?}");
    }
}

#[test]
fn a_rule_holds_for_each_command_that_a_line_runs() {
    let place = Place::new();
    let runs = [
        "touch x",
        "true; touch x",
        "(touch x)",
        "env touch x",
        "env -i /usr/bin/touch x",
        "echo x | xargs touch",
        "sh -c 'touch x'",
        "bash -c \"t=touch; \\$t x\"",
        "find . -maxdepth 0 -exec touch x \\;",
        "t=touch; $t x",
        "echo touch x | sh",
        "eval 'tou''ch x'",
        "if true; then timeout 5 touch x; fi",
        "echo $(touch x)",
        "sh <<E\ntouch x\nE",
        "python3 -c 'open(\"x\", \"w\")'",
        "awk 'BEGIN { system(\"touch x\") }'",
        "\\touch x",
        "git -c alias.t='!touch x' t",
    ];
    for (rule, code) in [("deny", 0), ("ask", 4)] {
        place.configure(&format!("[rules]\n{rule} = [\"execute:touch *\"]\n"));
        let ran = run(&place, &under("full"), &runs);
        assert_eq!((ran.code, facts(&ran, "tool_started").len()), (code, 0), "{rule}: {ran:?}");
        assert!(told(&ran).iter().all(|told| told.contains("by the rule `execute:touch *`")), "{ran:?}");
        let other =
            run(&place, &under("full"), &["echo 'touch x'; grep -c touch /dev/null; ls | xargs echo"]);
        assert_eq!((other.code, facts(&other, "tool_started").len()), (0, 1), "{rule}: {other:?}");
    }
    assert!(!place.work().join("x").exists());
}

#[test]
fn what_git_would_run_is_shown_as_a_change_also_below_ignored_folders() {
    let place = Place::new();
    place.write(".gitignore", "node_modules\n*.log\n.git\n");
    let git = |folder: &str| {
        let mut git = Command::new("git");
        assert!(git.args(["init", "-q", folder]).current_dir(place.work()).status().unwrap().success());
    };
    git(".");
    git("node_modules/dep");
    for path in [".git/config", "node_modules/dep/.git/config"] {
        let what = format!("{MANY}; echo '[core]' >>{path}");
        let asked = run(&place, &under("accept-edits"), &[&what]);
        assert_eq!(asked.code, 4, "{asked:?}");
        let fact = &facts(&asked, "approval_asked")[0];
        assert_eq!(fact["changes"][0]["path"], path, "{fact}");
        assert!(!place.work().join("node_modules/pkg").exists());
    }
}

#[test]
fn a_file_that_runs_with_the_rights_of_its_owner_is_asked_about() {
    let table = [
        ("cp /bin/true prog; chmod u+s prog", "accept-edits", false),
        ("cp /bin/true prog; chmod g+s prog", "accept-edits", false),
        ("chmod 4755 own", "accept-edits", false),
        ("cp /bin/true prog; chmod 755 prog", "accept-edits", true),
        ("mkdir prog; chmod g+s prog", "accept-edits", true),
        ("cp /bin/true prog; chmod u+s prog", "full", true),
    ];
    for (what, permission, is_applied) in table {
        let place = Place::new();
        place.write("own", "#!/bin/sh\n");
        place.configure("[rules]\nallow = [\"write:**\"]\n");
        let ran = run(&place, &under(permission), &[what]);
        let is_there = place.work().join("prog").exists()
            || fs::metadata(place.work().join("own")).unwrap().mode() & 0o6_000 != 0;
        assert_eq!((is_there, ran.code), (is_applied, if is_applied { 0 } else { 4 }), "{what}: {ran:?}");
    }
}

#[test]
fn a_file_of_any_length_ends_the_call_soon() {
    let table = [
        "truncate -s 1T big",
        "mkdir d; truncate -s 900G d/a; ln d/a d/b",
        "head -c 1M /dev/zero >a; truncate -s 9G a",
    ];
    for what in table {
        let place = Place::new();
        let ran = run(&place, &under("full"), &[what, "echo well"]);
        let told = told(&ran);
        assert!(told[0].contains("nothing of it was kept") && told[1] == "well", "{what}: {told:?}");
        assert_eq!(fs::read_dir(place.work()).unwrap().count(), 0);
    }
    // Each is short enough; whether comparing all of them takes longer than the call may depends on the machine.
    let place = Place::new();
    let many = json!({"command": "for i in 1 2 3 4 5 6 7; do truncate -s 1100M f$i; done", "timeout": 1});
    let call = json!({"calls": [{"name": "bash", "arguments": many}]});
    let model = place.script("many.jsonl", &[call, json!({"say": "done"})]);
    let ran = place.run(&[&["run", "--json", "--model", &model], &under("full")[..], &["go"]].concat());
    let is_cut_off = told(&ran)[0]
        .contains("took longer than the call may take; nothing that the command changed was kept");
    let lengths: Vec<u64> =
        fs::read_dir(place.work()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).collect();
    let expected = if is_cut_off { vec![] } else { vec![1100 << 20; 7] };
    assert_eq!(lengths, expected, "{ran:?}");
    let place = Place::new();
    let sparse = run(&place, &under("full"), &["truncate -s 256M hole; echo end >>hole"]);
    let found = fs::metadata(place.work().join("hole")).unwrap();
    assert!(
        sparse.code == 0 && found.len() == (256 << 20) + 4 && found.blocks() < 1_000,
        "{sparse:?} {found:?}"
    );
}

#[test]
fn commands_stay_confined_where_a_secret_is_a_link() {
    let place = Place::in_sight();
    let (person, vault) = (place.path().join("person"), place.path().join("vault"));
    fs::create_dir_all(vault.join("ssh")).unwrap();
    fs::create_dir_all(&person).unwrap();
    fs::write(vault.join("ssh/id"), "canary\n").unwrap();
    fs::write(vault.join("npmrc"), "canary\n").unwrap();
    symlink(vault.join("ssh"), person.join(".ssh")).unwrap();
    symlink("../vault/npmrc", person.join(".npmrc")).unwrap();
    symlink("/nothing/there", person.join(".aws")).unwrap();
    let look = format!(
        "cat {0}/ssh/id {0}/npmrc {1}/.npmrc {1}/.ssh/id; ls {0}/ssh",
        vault.display(),
        person.display()
    );
    for sandbox in ["auto", "require"] {
        let ran = run(&place, &["--sandbox", sandbox, "--permission", "full"], &[&look]);
        assert_eq!(facts(&ran, "tool_started")[0]["how"], "staged", "{ran:?}");
        assert!(!ran.out.contains("canary") && facts(&ran, "unconfined").is_empty(), "{ran:?}");
    }
}

#[test]
fn a_hidden_file_of_the_workspace_keeps_its_name() {
    for rename in ["mv sub away", "mkdir d; mv sub d/", "cp -al sub away; rm -rf sub; exit 0"] {
        let place = Place::new();
        place.write("sub/key", "canary\n");
        place.write("sub/other", "other\n");
        place.configure(&format!("[commands]\nhidden = [\"{}/sub/key\"]\n", place.work().display()));
        let ran = run(&place, &under("full"), &[rename, "cat */key */*/key; true"]);
        assert!(!ran.out.contains("canary"), "{rename}: {ran:?}");
        assert_eq!(place.read("sub/key").as_deref(), Some("canary\n"), "{rename}: {ran:?}");
    }
}

#[test]
fn what_a_killed_command_did_in_tmp_goes_with_it_and_other_things_there_stay() {
    let place = Place::new();
    let ran = run(
        &place,
        &under("full"),
        &[
            "echo one >/tmp/a; ln -s a /tmp/link; mkdir /var/tmp/d",
            "cat /tmp/link; echo two >>/tmp/a; ls /tmp; rm /tmp/link",
            "cat /tmp/a; ls /tmp; rm -r /tmp/d",
            "ls /tmp",
        ],
    );
    let own = |text: &str| -> Vec<String> {
        let is_own = |name: &&str| !name.starts_with(".tmp");
        text.lines().filter(is_own).map(str::to_owned).collect()
    };
    let told: Vec<_> = told(&ran).iter().map(|text| own(text)).collect();
    assert_eq!(
        told[1..],
        [vec!["one", "a", "d", "link"], vec!["one", "two", "a", "d"], vec!["a"]],
        "{ran:?}"
    );
    let late = json!({"command": "mkdir /tmp/late; echo x >/tmp/a; sleep 60", "timeout": 1});
    let replies = [
        json!({"calls": [{"name": "bash", "arguments": {"command": "echo one >/tmp/a"}}]}),
        json!({"calls": [{"name": "bash", "arguments": late}]}),
        json!({"calls": [{"name": "bash", "arguments": {"command": "cat /tmp/a; test ! -e /tmp/late && echo gone"}}]}),
        json!({"say": "done"}),
    ];
    let model = place.script("model.jsonl", &replies);
    let options = [
        "--sandbox",
        "require",
        "--permission",
        "full",
        "--profile",
        "opencode",
        "--json",
        "--model",
        &model,
    ];
    let ran = place.run(&[&["run"], &options[..], &["go"]].concat());
    assert!(ran.out.contains("one\\ngone"), "{ran:?}");
}

#[test]
fn a_command_that_can_write_elsewhere_is_not_repeated_after_a_crash() {
    let place = Place::in_sight();
    let shared = place.path().join("shared");
    fs::create_dir(&shared).unwrap();
    place.configure(&format!("[commands]\nwritable = [\"{}\"]\n", shared.display()));
    let command = format!("echo once >>{}/log; sleep 60", shared.display());
    let call = json!({"calls": [{"name": "bash", "arguments": {"command": command}}]});
    let model = place.script("model.jsonl", &[call, json!({"say": "done"})]);
    let options = ["--sandbox", "require", "--permission", "full", "--model", &model];
    let mut child = place.haft(&[&["run"], &options[..], &["go"]].concat()).spawn().unwrap();
    let is_begun = || fs::read_to_string(shared.join("log")).is_ok_and(|text| text == "once\n");
    poll(is_begun, || "the beginning of the command".into());
    child.kill().unwrap();
    child.wait().unwrap();
    let session = place.journal().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let resumed = place.run(&[&["sessions", "resume", &session], &options[..]].concat());
    assert_eq!(fs::read_to_string(shared.join("log")).unwrap(), "once\n", "{resumed:?}");
    assert!(fs::read_to_string(place.journal()).unwrap().contains("what it did is unknown"), "{resumed:?}");
}

// What a rule denies, or does not allow, is not fetched behind an address that it allows.
#[test]
fn a_redirect_is_followed_only_to_what_may_be_fetched() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let (asked, heard) = mpsc::channel();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).is_ok_and(|count| count == 1) {
                head.push(byte[0]);
            }
            let path = String::from_utf8_lossy(&head).split(' ').nth(1).unwrap_or_default().to_owned();
            let target =
                path.strip_prefix("/open/to").map(|target| format!("302 Found\r\nLocation: {target}"));
            let status = target.unwrap_or_else(|| "200 OK".to_owned());
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: 4\r\nConnection: close\r\n\r\nPAGE");
            let _client_is_gone = client.write_all(head.as_bytes());
            asked.send(path).unwrap();
        }
    });
    place.configure(&format!(
        "[tools.fetch]\nallow_private = true\n[rules]\nallow = [\"network:{server}/open*\"]\ndeny = [\"network:{server}/closed*\"]\n"
    ));
    let fetch = |path: &str, permission: &str| {
        let arguments = json!({"url": format!("{server}{path}")}).to_string();
        let ran = place.run(&["tools", "call", "fetch", &arguments, "--permission", permission]);
        (format!("{}{}", ran.out, ran.err), heard.try_iter().collect::<Vec<_>>())
    };
    let first = |path: &str| vec![path.to_owned()];
    for permission in ["ask", "full"] {
        let (told, asked) = fetch("/open/to/closed/x", permission);
        assert!(told.contains(&format!("redirects to `{server}/closed/x`")), "{permission}: {told}");
        assert_eq!(asked, first("/open/to/closed/x"), "{permission}");
        let (told, asked) = fetch("/open/to/open/x", permission);
        assert!(told.contains("PAGE") && asked.len() == 2, "{permission}: {told}");
    }
    let (told, asked) = fetch("/open/to/other", "ask");
    assert!(told.contains(&format!("redirects to `{server}/other`")), "{told}");
    assert_eq!(asked, first("/open/to/other"));
    assert!(fetch("/open/to/other", "full").0.contains("PAGE"));
}

// The objects of another repository are outside of the workspace, as its files are.
#[test]
fn git_reads_no_other_repository_by_its_objects_unasked() {
    let place = Place::in_sight();
    let (work, other) = (place.work(), place.path().join("other"));
    let begin = |folder: &Path| {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("secret.txt"), "SECRET\n").unwrap();
        begin_repository(folder);
        git(folder, &["rev-parse", "HEAD"]).trim().to_owned()
    };
    place.write("a.txt", "one\n");
    begin_repository(&work);
    let (outside, inside) = (begin(&other), begin(&work.join("parts/one")));
    let objects = other.join(".git/objects").display().to_string();
    let list = work.join(".git/objects/info/alternates");
    let show = |commit: &str, permission: &str| {
        let arguments = json!({"action": "show", "ref": commit}).to_string();
        let ran = place.run(&["tools", "call", "git", &arguments, "--permission", permission]);
        format!("{}{}", ran.out, ran.err)
    };
    // The second way leads over a repository inside.
    let within = work.join("parts/one/.git/objects/info/alternates");
    for (list, names) in
        [(&list, objects.clone()), (&list, format!("\"{objects}\"")), (&within, objects.clone())]
    {
        fs::create_dir_all(list.parent().unwrap()).unwrap();
        fs::write(work.join(".git/objects/info/alternates"), "../../parts/one/.git/objects\n").unwrap();
        fs::write(list, names + "\n").unwrap();
        for permission in ["read-only", "ask"] {
            let told = show(&outside, permission);
            assert!(!told.contains("SECRET"), "{list:?} {permission}: {told}");
        }
    }
    assert!(show(&outside, "full").contains("SECRET"));
    fs::remove_file(&within).unwrap();
    assert!(show(&inside, "read-only").contains("SECRET"));
    fs::remove_file(&list).unwrap();
    fs::remove_dir(work.join(".git/objects/pack")).unwrap();
    symlink(other.join(".git/objects/pack"), work.join(".git/objects/pack")).unwrap();
    git(&other, &["gc", "--quiet"]);
    assert!(!show(&outside, "full").contains("SECRET"));
}

#[test]
fn people_are_told_once_that_commands_run_unconfined_and_why() {
    let place = Place::new();
    let call = |command: &str| json!({"calls": [{"name": "bash", "arguments": {"command": command}}]});
    let model =
        place.script("model.jsonl", &[call("echo one >a"), call("echo two >b"), json!({"say": "done"})]);
    let script = "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\"";
    let below = |words: &[&str]| {
        let plain = place.haft(words);
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "sh", "-c", script, "sh"]).arg(plain.get_program()).args(words);
        command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Ran::from(command.current_dir(place.work()).output().unwrap())
    };
    for permission in ["full", "accept-edits"] {
        let rules = ["--sandbox", "auto", "--permission", permission, "--model", &model];
        let ran = below(&[&["run"], &rules[..], &["go"]].concat());
        let is_told = ran.err.matches("commands run unconfined").count();
        // Under `accept-edits` a command is asked about, and no person can answer.
        assert_eq!(
            (is_told, ran.err.contains("max_user_namespaces=15000")),
            (usize::from(permission == "full"), permission == "full"),
            "{ran:?}"
        );
    }
    assert!(below(&["doctor"]).out.contains("run unconfined, without a question under `full`"));
}

#[test]
fn a_link_that_a_command_leaves_in_tmp_leads_haft_nowhere() {
    let place = Place::new();
    let outside = place.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let name = place.path().file_name().unwrap().to_str().unwrap().to_owned();
    let plant = format!("mv /tmp/{name} /tmp/moved; ln -s {} /tmp/{name}; exit 0", outside.display());
    let ran = run(&place, &under("full"), &[&plant, "pwd; echo x >made"]);
    assert_eq!((fs::read_dir(&outside).unwrap().count(), ran.code), (0, 0), "{ran:?}");
    assert_eq!(place.read("made").as_deref(), Some("x\n"), "{ran:?}");
}

/// What a person wrote in place of a proposal is not lost if the file changes before the answer: the model reads it.
#[test]
fn the_persons_text_is_not_lost_where_the_file_was_changed_meanwhile() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let edit = call("edit", json!({"path": "a.txt", "old_text": "one", "new_text": "two"}));
    let model = place.script("m", &[call("read", json!({"path": "a.txt"})), edit, json!({"say": "Done."})]);
    let server = Serving::start(&place, &["--model", &model, "--permission", "ask"]);
    let id = server.session("{}");
    let mut events = server.follow(&id, "");
    server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go"}"#);
    let asks = events.until("approval_asked").pop().unwrap();
    place.write("a.txt", "one\nof mine\n");
    let approval = format!("POST /v1/sessions/{id}/approvals/{}", asks["call"].as_str().unwrap());
    let accepted = json!({"answer": "once", "accepted": [{"path": "a.txt", "text": "two by me\n"}]});
    let answered = server.ask(&approval, &accepted.to_string());
    assert_eq!(answered.status, 202, "{answered:?}");
    let ended = events.until("turn_ended").into_iter().rfind(|event| event["type"] == "tool_ended").unwrap();
    let content = ended["content"].as_str().unwrap();
    assert!(content.contains("changed meanwhile") && content.contains("-two\n+two by me\n"), "{content}");
    assert_eq!(place.read("a.txt").as_deref(), Some("one\nof mine\n"));
}
