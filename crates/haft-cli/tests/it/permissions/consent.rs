//! Nothing is done that was not allowed: permissions and rules through the real binary.

use crate::kit::{
    Place, Ran, call, other_user,
    terminal::{Terminal, poll},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::{fs::symlink, net::UnixStream},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

fn bash(command: &str, folder: &str) -> Value {
    call("bash", json!({"command": command, "working_dir": folder}))
}

/// One turn in which the model makes these calls, one in each round.
fn turn(place: &Place, options: &[&str], calls: &[Value]) -> Ran {
    let script: Vec<Value> = calls.iter().cloned().chain([json!({"say": "done"})]).collect();
    let model = place.script("model.jsonl", &script);
    let arguments = [&["run", "--json", "--model", &model], options, &["go"]].concat();
    place.run(&arguments)
}

/// What came of each call: `ok`, or the type of its error.
fn ends(ran: &Ran) -> Vec<String> {
    let events = ran.events();
    let ended = events.iter().filter(|event| event["type"] == "tool_ended");
    ended.map(|event| event["error"]["type"].as_str().unwrap_or("ok").to_owned()).collect()
}

/// What the model reads of each call.
fn read(ran: &Ran) -> Vec<String> {
    let events = ran.events();
    let ended = events.iter().filter(|event| event["type"] == "tool_ended");
    ended.map(|event| event["content"].as_str().unwrap().to_owned()).collect()
}

/// A workspace with a Makefile in it, in `sub` and beside it, each of which leaves a file.
fn makefiles(place: &Place) {
    for folder in ["", "sub", "../elsewhere"] {
        let folder = place.work().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("run.sh"), "touch made\n").unwrap();
    }
    symlink("../elsewhere", place.work().join("link")).unwrap();
}

#[test]
fn a_rule_about_a_command_holds_in_its_folder() {
    let (denied, allowed) = ("permission_error", "ok");
    // The folder of a call, and whether it runs by a rule without a folder, for `sub`, and for all of them.
    let table = [
        ("", [allowed, denied, allowed]),
        (".", [allowed, denied, allowed]),
        ("sub/..", [allowed, denied, allowed]),
        ("sub", [denied, allowed, allowed]),
        ("../elsewhere", [denied, denied, denied]),
        ("link", [denied, denied, denied]),
    ];
    let rules = ["execute:sh run.sh", "execute@sub:sh run.sh", "execute@**:sh *"];
    for (folder, expected) in table {
        for (rule, expected) in rules.into_iter().zip(expected) {
            let place = Place::unconfined();
            makefiles(&place);
            place.configure(&format!("[rules]\nallow = [\"{rule}\"]\n"));
            let ran = turn(&place, &[], &[bash("sh run.sh", folder)]);
            assert_eq!(ends(&ran), [expected], "{rule} in {folder:?}: {ran:?}");
            assert_eq!(ran.code, if expected == allowed { 0 } else { 4 }, "{rule} in {folder:?}");
            let made = place.work().join(folder).join("made");
            assert_eq!(made.exists(), expected == allowed, "{rule} in {folder:?}");
        }
    }
}

// A rule that denies is not passed by going elsewhere.
#[test]
fn a_rule_that_denies_a_command_holds_in_every_folder() {
    for folder in ["", "sub", "../elsewhere", "link"] {
        let place = Place::new();
        makefiles(&place);
        place.configure("[rules]\ndeny = [\"execute:sh *\"]\n");
        let ran = turn(&place, &["--permission", "full"], &[bash("sh run.sh", folder)]);
        assert_eq!(ends(&ran), ["permission_error"], "{folder:?}");
        assert!(read(&ran)[0].contains("is denied by the rule `execute:sh *`"), "{:?}", read(&ran));
    }
}

#[test]
fn tests_run_by_a_rule_in_the_folder_that_it_means() {
    let table = [
        ("execute:pytest *", "test_a.py", "ok"),
        ("execute:pytest *", "sub", "permission_error"),
        ("execute@sub:pytest *", "sub/test_a.py", "ok"),
        ("execute@**:pytest *", "../elsewhere", "permission_error"),
        ("execute@**:pytest *", "link", "permission_error"),
    ];
    for (rule, path, expected) in table {
        let place = Place::unconfined();
        makefiles(&place);
        for folder in ["", "sub", "../elsewhere"] {
            fs::write(place.work().join(folder).join("test_a.py"), "def test_a(): pass\n").unwrap();
        }
        place.configure(&format!("[rules]\nallow = [\"{rule}\"]\n"));
        let ran = turn(&place, &[], &[call("test", json!({"path": path, "framework": "pytest"}))]);
        let is_permitted = ends(&ran) != ["permission_error"];
        assert_eq!(is_permitted, expected == "ok", "{rule} for {path}: {:?}", read(&ran));
    }
}

#[test]
fn gits_own_files_are_not_written_unasked() {
    let place = Place::new();
    let git = |arguments: &[&str]| {
        let done =
            Command::new("git").args(arguments).current_dir(place.work()).stdout(Stdio::null()).status();
        assert!(done.unwrap().success(), "{arguments:?}");
    };
    git(&["init", "--quiet", "."]);
    git(&["init", "--quiet", "--bare", "store"]);
    git(&["init", "--quiet", "sub"]);
    symlink(".git", place.work().join("link")).unwrap();
    let write = |path: &str| call("write", json!({"path": path, "content": "x"}));
    let kept = [
        ".git/commondir",
        ".git/modules/evil/config",
        ".git/hooks/post-checkout",
        ".GIT/commondir",
        "sub/.git/commondir",
        "other/.git",
        "store/commondir",
        "store/hooks/post-receive",
        "fresh/HEAD",
        "link/commondir",
    ];
    let calls: Vec<Value> = kept.into_iter().map(write).collect();
    let ran = turn(&place, &["--permission", "accept-edits"], &calls);
    assert_eq!(ran.code, 4, "{ran:?}");
    for (path, end) in kept.into_iter().zip(ends(&ran)) {
        assert_eq!(end, "permission_error", "{path}");
        assert!(!place.work().join(path).exists(), "{path}");
    }
    let free = [".gitignore", ".github/workflows/x.yml", "src/config", "store.txt"];
    let calls: Vec<Value> = free.into_iter().map(write).collect();
    let ran = turn(&place, &["--permission", "accept-edits"], &calls);
    assert_eq!((ran.code, ends(&ran)), (0, vec!["ok".to_owned(); free.len()]), "{ran:?}");
    let ran = turn(&place, &["--permission", "full"], &[write(".git/notes")]);
    assert_eq!((ran.code, ends(&ran)), (0, vec!["ok".to_owned()]), "{ran:?}");
}

/// All that lies below a folder.
fn below(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        found.push(entry.path());
        found.extend(below(&entry.path()));
    }
    found
}

// What is denied is neither opened nor copied: a pipe in its place would show a read.
#[test]
fn a_denied_call_touches_nothing_before_the_verdict() {
    let place = Place::new();
    place.configure("[rules]\ndeny = [\"write:**/kept\", \"read:**/secret\"]\n");
    for name in ["kept", "secret"] {
        fs::create_dir(place.work().join(name)).unwrap();
    }
    let calls = [
        call("write", json!({"path": "kept", "content": "x"})),
        call("edit", json!({"path": "secret", "old": "a", "new": "b"})),
    ];
    let ran = turn(&place, &["--permission", "full"], &calls);
    assert_eq!(ends(&ran), ["permission_error"; 2], "{:?}", read(&ran));
    let blobs = place.journal().with_file_name("blobs");
    assert_eq!(below(&blobs), [""; 0].map(std::path::PathBuf::from), "nothing was copied");
}

#[test]
fn a_file_that_is_too_large_to_keep_is_not_copied() {
    let place = Place::new();
    let large = place.write("large", "begin");
    fs::File::options().write(true).open(&large).unwrap().set_len(300 << 20).unwrap();
    let calls = [
        call("read", json!({"path": "large", "limit": 1})),
        call("edit", json!({"path": "large", "old": "begin", "new": "end"})),
        call("file", json!({"path": "large", "action": "append", "content": "end"})),
    ];
    let ran = turn(&place, &["--permission", "full"], &calls);
    assert_eq!(ends(&ran)[1..], ["user_error"; 2], "{:?}", &read(&ran)[1..]);
    for told in &read(&ran)[1..] {
        assert!(
            told.contains("cannot prepare") && told.contains("300.0 MB") && told.contains("command"),
            "{told}"
        );
    }
    assert_eq!(fs::metadata(&large).unwrap().len(), 300 << 20);
}

const SECRET: &str = "hunter2-hunter2";

/// A repository with a secret in a file that must not be read: committed, moved without it, changed since, in folders.
fn with_secret(place: &Place) {
    let around = "one\ntwo\nthree\nfour\nfive\nsix\n";
    for (name, text) in [
        (".env", format!("{around}{SECRET}\n")),
        ("deep/.env", SECRET.into()),
        ("private/notes.txt", SECRET.into()),
        ("a.txt", "public\n".into()),
        ("code.py", "def public(): pass\n".into()),
        ("private/code.py", "def hunter2_secret(): pass\n".into()),
    ] {
        place.write(name, text);
    }
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Ada", "-c", "user.email=a@b.c"]).args(arguments).current_dir(place.work());
        assert!(git.stdout(Stdio::null()).status().unwrap().success(), "{arguments:?}");
    };
    git(&["init", "--quiet", "."]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message=Begin"]);
    git(&["mv", ".env", "open.txt"]);
    place.write("open.txt", around);
    git(&["commit", "--quiet", "--all", "--message=Move it, without the secret"]);
    git(&["rm", "--quiet", "open.txt"]);
    place.write(".env", format!("{around}{SECRET}\n"));
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message=Back"]);
    place.write(".env", format!("{SECRET} changed\n"));
    place.write("a.txt", "public changed\n");
}

#[test]
fn what_may_not_be_read_is_not_read_by_looking_around() {
    for ruling in ["deny", "ask"] {
        let place = Place::new();
        with_secret(&place);
        symlink("deep", place.work().join("linked")).unwrap();
        symlink("deep/.env", place.work().join("to_env")).unwrap();
        place.configure(&format!("[rules]\n{ruling} = [\"read:**/.env\", \"read:private\"]\n"));
        let git = |action: &str, revision: Value, paths: Value| {
            call("git", json!({"action": action, "ref": revision, "paths": paths}))
        };
        let calls = [
            call("grep", json!({"pattern": "hunter2", "all": true})),
            call("grep", json!({"pattern": "hunter2", "path": ".env"})),
            call("grep", json!({"pattern": "hunter2", "path": "private"})),
            call("grep", json!({"pattern": "hunter2", "glob": ".env"})),
            call("search", json!({"query": "hunter2"})),
            call("search", json!({"type": "definitions", "query": "hunter2_secret"})),
            call("glob", json!({"pattern": "**/{.env,notes.txt}", "all": true})),
            call("list", json!({"recursive": true, "all": true})),
            call("navigate", json!({"action": "outline", "path": "private/code.py"})),
            call("read", json!({"path": ["a.txt", ".env"]})),
            git("show", json!("HEAD:.env"), json!([])),
            git("show", json!("HEAD:./deep/.env"), json!([])),
            git("show", json!("HEAD"), json!([])),
            git("show", json!("HEAD~2"), json!([])),
            git("show", json!("HEAD~1:private/notes.txt"), json!([])),
            git("diff", Value::Null, json!([])),
            git("diff", json!("HEAD~2"), json!([])),
            git("diff", json!("HEAD~2:.env..HEAD:a.txt"), json!([])),
            git("diff", json!("HEAD~1:private"), json!([])),
            git("diff", Value::Null, json!(".env")),
            git("blame", Value::Null, json!("private/notes.txt")),
            git("log", Value::Null, json!([])),
            call("grep", json!({"pattern": "hunter2", "path": "linked", "all": true})),
            call("read", json!({"path": "to_env"})),
        ];
        let ran = turn(&place, &[], &calls);
        let told = read(&ran);
        assert_eq!(told.len(), calls.len(), "{ran:?}");
        for (call, told) in calls.iter().zip(&told) {
            assert!(!told.contains("hunter2-") && !told.contains("def hunter2"), "{ruling} {call}: {told}");
        }
        assert!(told[0].contains("left out"), "{}", told[0]);
        assert!(told[7].contains("a.txt") && told[7].contains("left out"), "{}", told[7]);
        let names = |name: &str| told[7].lines().any(|line| line.trim().starts_with(name));
        assert!(!names(".env") && !names("private") && !names("notes.txt"), "{}", told[7]);
        assert!(told[15].contains("public changed") && told[15].contains("left out"), "{}", told[15]);
    }
}

// What is not denied is seen as before, at the side of what is.
#[test]
fn a_blob_that_no_path_names_is_not_shown_where_something_may_not_be_read() {
    let place = Place::new();
    with_secret(&place);
    let id = Command::new("git").args(["rev-parse", "HEAD:.env"]).current_dir(place.work()).output().unwrap();
    let id = String::from_utf8(id.stdout).unwrap().trim().to_owned();
    place.configure("[rules]\ndeny = [\"read:**/.env\"]\n");
    let show = |revision: &str| call("git", json!({"action": "show", "ref": revision}));
    let calls =
        [show(&id), show(&format!("{id}^{{blob}}")), show(":.env"), show("HEAD:a.txt"), show("HEAD:deep")];
    let ran = turn(&place, &[], &calls);
    let told = read(&ran);
    assert!(told[..3].iter().all(|told| !told.contains(SECRET)), "{told:?}");
    assert!(told[3].contains("public") && told[4].contains(".env"), "{told:?}");
}

/// A command that pushes what it does off the screen: blank lines, blanks, and something harmless at its end.
fn hiding() -> String {
    format!("touch owned\n{}{}echo \u{202e}ok\u{200b}", "\n".repeat(45), " ".repeat(3_000))
}

/// Whether a screen, whose lines are wrapped at blanks, shows the text.
fn shows(screen: &str, text: &str) -> bool {
    let without_blanks = |text: &str| text.split_whitespace().collect::<String>();
    without_blanks(screen).contains(&without_blanks(text))
}

// D15, D60
#[test]
fn a_question_on_a_plain_terminal_hides_nothing() {
    for how in ["chat", "run go"] {
        let place = Place::unconfined();
        let calls = call("bash", json!({"command": hiding(), "working_dir": "sub", "timeout": 7}));
        fs::create_dir(place.work().join("sub")).unwrap();
        place.script("model.jsonl", &[calls, json!({"say": "Then not."})]);
        let Some(terminal) = Terminal::open(&place, (80, 24)) else { return };
        terminal.haft(&place, &format!("{how} --model script/../model.jsonl"));
        if how == "chat" {
            terminal.see("to leave.");
            terminal.say("go");
        }
        let screen = terminal.see("allow? y, a, n, or n WHAT TO DO INSTEAD:");
        for expected in ["touch owned\\n\\n", "[3000 blanks]echo \\u{202e}ok\\u{200b}", "`sub`", "timeout: 7"]
        {
            assert!(shows(&screen, expected), "{how}: {expected} in {screen}");
        }
        let always = "do not ask again for this command in sub, whatever else it is called with";
        assert!(shows(&screen, always), "{screen}");
        terminal.say("n");
        terminal.see("Then not.");
        assert_eq!(place.read("sub/owned"), None);
    }
}

/// The names of files are as hostile as their contents.
// H-26
#[test]
fn a_part_is_accepted_and_the_rest_does_not_happen() {
    let lines = |first: &str, last: &str| {
        let middle: String = (2..20).map(|number| format!("line {number}\n")).collect();
        format!("{first}\n{middle}{last}\n")
    };
    let files = "echo a >a.txt; echo b >\"$(printf 'b\\033[2Jc')\"; rm gone.txt; mkdir n; echo n >n/n.txt";
    let table = [
        (
            call("bash", json!({"command": files})),
            "b\\u{1b}[2Jc",
            "1 5",
            "+ a.txt",
            ("a\n", "old\n", "first"),
        ),
        (
            call("write", json!({"path": "text.txt", "content": lines("FIRST", "LAST")})),
            "~ text.txt, hunk 2",
            "1",
            "~ text.txt",
            ("", "old\n", "FIRST"),
        ),
    ];
    for (made, expected, number, restored, (a, gone, first)) in table {
        let place = Place::new();
        if !place.run(&["doctor"]).out.contains("commands: can be confined here") {
            return haft_testing::left_out("parts of changes: commands cannot be confined here");
        }
        place.write("gone.txt", "old\n");
        place.write("text.txt", lines("first", "last"));
        let script = [call("read", json!({"path": "text.txt"})), made, json!({"say": "Done."})];
        place.script("model.jsonl", &script);
        let Some(terminal) = Terminal::open(&place, (100, 40)) else { return };
        terminal.haft(&place, "run go --model script/../model.jsonl");
        terminal.see(", p accepts a part");
        terminal.say("p");
        let screen = terminal.see("accept which?");
        assert!(shows(&screen, expected), "{expected} in {screen}");
        terminal.say("9");
        terminal.see("there is no part `9`");
        terminal.say(number);
        terminal.see("Done.");
        let found = |name: &str| place.read(name).unwrap_or_default();
        assert_eq!((found("a.txt").as_str(), found("gone.txt").as_str()), (a, gone));
        assert_eq!(found("text.txt"), lines(first, "last"));
        assert_eq!(found("n/n.txt").is_empty(), a.is_empty());
        let undone = place.run(&["undo"]).out;
        assert!(undone.contains(&restored[2..]), "{undone}");
        assert_eq!((place.read("a.txt"), found("text.txt")), (None, lines("first", "last")));
        assert!(!place.work().join("n").exists());
        let journal = fs::read_to_string(place.journal()).unwrap();
        assert!(journal.contains("accepted only a part") && journal.contains("Not accepted"), "{journal}");
    }
}

/// What a person saves in the editor is written, line by line and on the screen, and the model reads their edit.
// H-27
#[test]
fn a_proposed_file_is_edited_before_it_is_written() {
    for (command, asks) in [("run go", "e edits it first"), ("", "e edits the file first")] {
        let place = Place::new();
        let write = call("write", json!({"path": "n/text.txt", "content": "proposed\nkept\n"}));
        place.script("model.jsonl", &[write, json!({"say": "Done."})]);
        place.write("../editor.sh", "test ! -e ../go || sed -i s/proposed/edited/ \"$1\"\n");
        let Some(terminal) = Terminal::open(&place, (100, 40)) else { return };
        terminal.say("export VISUAL='sh ../editor.sh'");
        terminal.haft(&place, &format!("{command} --model script/../model.jsonl"));
        if command.is_empty() {
            terminal.see("what to do?");
            terminal.say("go");
        }
        terminal.see(asks);
        let edit = || if command.is_empty() { terminal.keys(&["e"]) } else { terminal.say("e") };
        edit();
        terminal.see("the text is unchanged");
        assert_eq!(place.read("n/text.txt"), None, "{command}");
        place.write("../go", "");
        edit();
        terminal.see("Done.");
        assert_eq!(place.read("n/text.txt").as_deref(), Some("edited\nkept\n"), "{command}");
        let journal = fs::read_to_string(place.journal()).unwrap();
        assert!(journal.contains("[The person edited what this call does"), "{journal}");
        assert!(journal.contains("-proposed\\n+edited\\n"), "{journal}");
        let blamed = place.run(&["blame", "n/text.txt:1"]);
        assert!(blamed.out.contains("yes, as edited by the person who was asked"), "{blamed:?}");
        if command.is_empty() {
            terminal.keys(&["C-d"]);
            terminal.see("left 0");
        }
        let undone = place.run(&["undo"]);
        assert_eq!(place.read("n/text.txt"), None, "{command}: {undone:?}");
    }
}

// D15, D60
#[test]
fn a_question_on_the_screen_hides_nothing() {
    let place = Place::unconfined();
    let push = json!({"action": "push", "ref": "main", "remote": "upstream"});
    let script = [
        call("bash", json!({"command": hiding(), "timeout": 7})),
        json!({"say": "Then not."}),
        call("git", push),
        json!({"say": "Not pushed."}),
    ];
    place.script("model.jsonl", &script);
    let Some(terminal) = Terminal::open(&place, (80, 30)) else { return };
    terminal.haft(&place, "--model script/../model.jsonl");
    terminal.see("what to do?");
    terminal.say("go");
    let screen = terminal.see("1. Yes");
    for expected in [
        "touch owned\\n\\n",
        "\\u{202e}ok\\u{200b}",
        "timeout: 7",
        "do not ask again for this command, whatever else",
    ] {
        assert!(shows(&screen, expected), "{expected} in {screen}");
    }
    terminal.keys(&["Escape"]);
    terminal.see("Then not.");
    terminal.say("push");
    let screen = terminal.see("1. Yes");
    for expected in ["Run `git push upstream main` and reach `upstream`?", "ref: main"] {
        assert!(shows(&screen, expected), "{expected} in {screen}");
    }
    terminal.keys(&["Escape"]);
    terminal.see("Not pushed.");
}

#[test]
fn always_holds_for_the_command_in_its_folder() {
    let place = Place::unconfined();
    makefiles(&place);
    let script =
        [bash("sh run.sh", ""), bash("sh run.sh", "."), bash("sh run.sh", "sub"), json!({"say": "Done."})];
    place.script("model.jsonl", &script);
    let Some(terminal) = Terminal::open(&place, (80, 30)) else { return };
    terminal.haft(&place, "--model script/../model.jsonl");
    terminal.see("what to do?");
    terminal.say("go");
    terminal.see("Run `sh run.sh`?");
    terminal.keys(&["a"]);
    terminal.see("Run `sh run.sh` in sub?");
    assert!(place.read("made").is_some() && place.read("sub/made").is_none());
    terminal.keys(&["Escape"]);
    terminal.see("Done.");
    assert_eq!(place.read("sub/made"), None);
}

// What is cut off in front of the choice can be seen before it is made.
#[test]
fn a_long_diff_can_be_seen_whole_on_a_plain_terminal() {
    let place = Place::new();
    let lines: String = (0..300).map(|number| format!("line {number}\n")).collect();
    let write = call("write", json!({"path": "a.txt", "content": lines + "the end\n"}));
    place.script("model.jsonl", &[write, json!({"say": "Then not."})]);
    let Some(terminal) = Terminal::open(&place, (80, 24)) else { return };
    terminal.haft(&place, "run go --model script/../model.jsonl");
    let screen = terminal.see("s shows all of it:");
    assert!(screen.contains("more lines") && !screen.contains("the end"), "{screen}");
    terminal.say("s");
    terminal.see("+ the end");
    terminal.say("n");
    terminal.see("Then not.");
}

/// Where an intruder finds what it is to do: it has no environment.
const ORDERS: &str = "intruder.orders";

/// Answers for a person who was not asked. Does something only in a process that a command of the next test has left
/// behind.
#[test]
fn an_intruder() {
    let Ok(folder) = fs::read_to_string(ORDERS) else { return };
    fs::write("intruder.here", "").unwrap();
    let journal = Path::new(&folder).join("journal.jsonl");
    let asked = || {
        let text = fs::read_to_string(&journal).unwrap_or_default();
        let mut entries = text.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        entries.find(|entry| entry["type"] == "approval_asked")
    };
    poll(|| asked().is_some(), || "a question".into());
    let mut stream = UnixStream::connect(Path::new(&folder).join("socket")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let answer = json!({"type": "answer", "call": asked().unwrap()["call"], "answer": "always"});
    let _sent_away = writeln!(stream, "{}\n{answer}", json!({"from": 0}));
    let told = BufReader::new(stream).lines().map_while(Result::ok);
    let last = told.into_iter().find(|line| line.contains("error") || line.contains("approval_answered"));
    fs::write("intruder.new", last.unwrap_or_else(|| "sent away".into())).unwrap();
    fs::rename("intruder.new", "intruder.told").unwrap();
}

// D60
#[test]
fn nobody_answers_for_the_person_whom_a_command_has_started() {
    let program = std::env::current_exe().unwrap();
    let name = other_user::full_name(module_path!(), "an_intruder");
    let intruder = format!("{} --exact {name} --nocapture", program.display());
    let table = [
        ("a second fork", format!("setsid {intruder} </dev/null >out 2>&1 &")),
        ("a cleaned environment", format!("env -i setsid {intruder} </dev/null >out 2>&1 &")),
        (
            "a terminal of its own",
            format!("env -i PATH=$PATH setsid script -qefc '{intruder}' /dev/null </dev/null >out 2>&1 &"),
        ),
    ];
    for (how, command) in table {
        let place = Place::unconfined();
        let orders = format!("echo \"$PWD/../home/sessions\"/* | tr -d '\\n' >{ORDERS}");
        let here = "until test -e intruder.here; do sleep 0.01; done";
        place.write("attack.sh", format!("{orders}\n{command}\n{here}\n"));
        place.configure("[rules]\nallow = [\"execute:sh attack.sh\"]\n");
        place.script(
            "model.jsonl",
            &[bash("sh attack.sh", ""), bash("touch owned", ""), json!({"say": "Then not."})],
        );
        let Some(terminal) = Terminal::open(&place, (100, 24)) else { return };
        terminal.haft(&place, "run go --model script/../model.jsonl");
        terminal.see("allow? y, a, n");
        if how != "a second fork" {
            poll(|| place.read("intruder.told").is_some(), || format!("{how}: {:?}", place.read("out")));
            let told = place.read("intruder.told").unwrap();
            assert!(!told.contains("approval_answered"), "{how}: {told}");
        }
        assert!(place.read("owned").is_none(), "{how}");
        terminal.say("n");
        terminal.see("Then not.");
        assert!(place.read("owned").is_none(), "{how}");
    }
}

// C-36
#[test]
fn a_command_is_refused_for_what_it_runs_and_not_for_what_it_says() {
    let place = Place::new();
    let table = [
        ("echo \"a; reboot now\"", "ok"),
        ("printf '%s\\n' 'rm -rf / | halt' > said.txt", "ok"),
        ("cat <<'E'\nmkfs\nE", "ok"),
        ("true && (env A=1 'mk''fs'.none --version)", "security_error"),
        ("bash -c \"true; reboot --help\"", "security_error"),
    ];
    let calls: Vec<Value> = table.iter().map(|(command, _)| bash(command, "")).collect();
    let ran = turn(&place, &["--permission", "full"], &calls);
    assert_eq!(ends(&ran), table.map(|(_, expected)| expected), "{:?}", read(&ran));
    assert_eq!(place.read("said.txt").as_deref(), Some("rm -rf / | halt\n"));
}

/// A disk image, which is text to UTF-8; and a script with one such byte in it, which a shell runs.
#[test]
fn a_file_of_zero_bytes_is_asked_about_at_once_and_a_script_is_shown() {
    let place = Place::new();
    let make = "truncate -s 64M image; printf 'echo one\\n\\0\\n' >script";
    let model = place.script("m", &[call("bash", json!({"command": make})), json!({"say": "Made."})]);
    let Some(terminal) = Terminal::open(&place, (100, 40)) else { return };
    terminal.haft(&place, &format!("chat --model {model}"));
    terminal.say("go");
    let screen = terminal.see("allow? y, a, n");
    assert!(screen.contains("Create image  (too long to show, 67108864 bytes)"), "{screen}");
    assert!(screen.contains("+ echo one") && screen.contains("+ \\u{0}"), "{screen}");
    terminal.say("y");
    terminal.see("Made.");
    let listed = place.run(&["undo", "--list"]);
    assert!(listed.code == 0 && listed.out.len() < 10_000, "{}", listed.out.len());
}

/// Who may write in it is a part of what one agrees to; and a name is one line, whatever is in it.
#[test]
fn the_bits_of_a_new_folder_and_a_line_break_in_a_name_are_shown() {
    let place = Place::new();
    let make = "mkdir plain; mkdir -m 2777 open; touch \"$(printf 'x\\n  ok 42 tests')\"";
    let model = place.script("m", &[call("bash", json!({"command": make})), json!({"say": "done"})]);
    let ran = place.run(&["run", "--model", &model, "--permission", "accept-edits", "go"]);
    assert!(ran.err.contains("  + x\\n  ok 42 tests\n"), "{ran:?}");
    let listed = place.run(&["undo", "--list"]).out;
    assert!(
        listed.contains("+ open (folder, mode 2777)\n") && listed.contains("+ plain (folder)\n"),
        "{listed}"
    );
}

#[test]
fn what_a_rule_is_asked_about_writes_nothing_to_the_terminal() {
    let place = Place::new();
    let ran = place.run(&["policy", "check", "execute:echo \u{1b}]0;title\u{7} \u{202e}x"]);
    assert!(ran.code == 0 && !ran.out.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{ran:?}");
}
