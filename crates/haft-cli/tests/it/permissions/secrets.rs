//! What commands get of a person's secrets, and what is left of them where they are printed. The real binary.
use crate::kit::{Place, Ran, bash, call, openai_call, openai_text, serving::Serving};
use serde_json::json;
use std::{fs, path::Path};

const KEY: &str = "sk-proj-0123456789abcdef";

/// A turn in which the model runs `command`, in an environment with these variables besides; the result that the model
/// reads.
fn result_of(place: &Place, command: &str, variables: &[(&str, &str)]) -> (Ran, String) {
    let model = place.script("m", &[bash(command), json!({"say": "done"})]);
    let mut haft = place.haft(&["run", "--model", &model, "--permission", "full", "--json", "go"]);
    let ran = Ran::from(haft.envs(variables.iter().copied()).output().unwrap());
    let ended = ran.events().into_iter().find(|event| event["type"] == "tool_ended");
    let result = ended.unwrap_or_else(|| panic!("{ran:?}"))["content"].as_str().unwrap().to_owned();
    (ran, result)
}

// D06
#[test]
fn commands_get_no_secrets() {
    let secret = [
        ("OPENAI_API_KEY", "sk-1"),
        ("OPENAI_API_KEYS", "sk-1,sk-2"),
        ("PGPASSWORD", "p"),
        ("MYSQL_PWD", "p"),
        ("GH_PAT", "p"),
        ("GPG_PASSPHRASE", "p"),
        ("PASSPHRASE", "p"),
        ("DATABASE_URL", "postgres://me:p@localhost/x"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("SLACK_WEBHOOK", "https://hooks.slack.com/services/T0/B0/x"),
        ("INNOCENT", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
        ("DSN", "host=db password=hunter2"),
    ];
    let public = [("CI", "true"), ("MAX_TOKENS", "4096"), ("no_proxy", "localhost")];
    let proxy = [("https_proxy", "http://me:hunter2@proxy:3128")];
    let place = Place::new();
    let all: Vec<(&str, &str)> = [&secret[..], &public, &proxy].concat();
    let (ran, printed) = result_of(&place, "env", &all);
    for (name, _) in secret {
        assert!(!printed.contains(&format!("{name}=")), "{name}: {printed}");
    }
    for (name, value) in public {
        assert!(printed.contains(&format!("{name}={value}")), "{name}: {printed}");
    }
    assert!(printed.contains("https_proxy=http://proxy:3128") && !printed.contains("hunter2"), "{printed}");
    assert!(
        ran.err.contains("note: commands get https_proxy without the user name and password"),
        "{}",
        ran.err
    );
    // A person hands on what they like; a project takes away what it likes, and gives nothing.
    place.configure("[environment]\npass = [\"SSH_AUTH_SOCK\", \"PG*\"]\nhide = [\"CI\"]");
    place.write(".haft/config.toml", "[environment]\nhide = [\"pgpassword\"]");
    let (_, printed) = result_of(&place, "env", &all);
    assert!(printed.contains("SSH_AUTH_SOCK=/tmp/agent"), "{printed}");
    assert!(!printed.contains("PGPASSWORD=") && !printed.contains("CI="), "{printed}");
    place.write(".haft/config.toml", "[environment]\npass = [\"*\"]");
    let refused = place.run(&["run", "--model", "script/m", "go"]);
    assert!(refused.code == 2 && refused.err.contains("unknown field `pass`"), "{refused:?}");
}

// A push goes to a server in the person's name, with the person's keys.
#[test]
fn a_push_reaches_the_agent_that_holds_the_keys_and_commands_do_not() {
    let place = Place::unconfined();
    let seen = place.path().join("seen");
    let ssh = format!("sh -c 'env >{}; exit 1' ssh", seen.display());
    let variables = [("SSH_AUTH_SOCK", "/tmp/agent"), ("GIT_SSH_COMMAND", ssh.as_str())];
    let run = |words: &[&str]| Ran::from(place.haft(words).envs(variables).output().unwrap());
    let set_up = "git init -q . && git remote add origin ssh://me@127.0.0.1/x && git -c user.name=a -c user.email=b \
                  commit -q --allow-empty -m x && git push -q origin HEAD";
    run(&["tools", "call", "bash", &json!({"command": set_up}).to_string(), "--permission", "full"]);
    let of_a_command = fs::read_to_string(&seen).unwrap();
    assert!(!of_a_command.contains("SSH_AUTH_SOCK"), "{of_a_command}");
    run(&["tools", "call", "git", r#"{"action":"push"}"#, "--permission", "full"]);
    let of_the_tool = fs::read_to_string(&seen).unwrap();
    assert!(of_the_tool.contains("SSH_AUTH_SOCK=/tmp/agent"), "{of_the_tool}");
}

// D06, D10, D66: neither by what the system shows of a process nor by its memory, also as root
#[test]
#[cfg(target_os = "linux")]
fn a_command_cannot_look_into_the_process_that_runs_it() {
    let place = Place::new();
    let look = "(exec 3</proc/$PPID/mem) 2>/dev/null && echo its memory is open
                sleep 100 & (exec 3</proc/$!/mem) && echo its own child is open to it
                kill $!; grep -c sk-proj /proc/$PPID/environ 2>/dev/null; echo looked";
    let (_, printed) = result_of(&place, look, &[("OPENAI_API_KEY", KEY)]);
    // Root may look at the variables with which it began, and finds no key among them.
    let printed = printed.replace("0\n", "");
    assert!(
        printed.starts_with("its own child is open to it\nlooked\n[programs in the background"),
        "{printed}"
    );
}

/// Every file below `folder` that holds `text`.
fn holding(folder: &Path, text: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match entry.file_type().unwrap().is_dir() {
            true => holding(&path, text, found),
            false if String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).contains(text) => {
                found.push(path.display().to_string());
            }
            false => {}
        }
    }
}

// D17: whatever prints a key of ours, it stands in no result, no event and no file
#[test]
fn keys_are_hidden_in_whatever_prints_them() {
    let place = Place::new();
    place.write("notes.txt", format!("the key is {KEY}, they say\n"));
    place.configure("[vendors.groq]\nkey = \"gsk-of-the-file-123\"");
    let commands = [
        format!("echo {}''{}", &KEY[..9], &KEY[9..]),
        format!("printf %s {}; sleep 0.3; echo {}", &KEY[..9], &KEY[9..]),
        format!("echo {}''{} >&2; exit 3", &KEY[..9], &KEY[9..]),
        "cat notes.txt".to_owned(),
        "yes \"$(cat notes.txt)\" | head -c 3000000".to_owned(),
        "echo gsk-of-the-file''-123".to_owned(),
    ];
    for command in commands {
        let (ran, printed) = result_of(&place, &command, &[("OPENAI_API_KEY", KEY)]);
        assert!(printed.contains("[key]"), "{command}: {printed}");
        let all = format!("{}{}", ran.out, ran.err);
        let half = &KEY[..KEY.len() - 2];
        assert!(!all.contains(half) && !all.contains("gsk-of-the-file-123"), "{command}: {all}");
    }
    let (mut found, home) = (Vec::new(), place.path().join("home"));
    holding(&home, KEY, &mut found);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn keys_are_hidden_in_what_tools_read_and_models_say() {
    let place = Place::new();
    place.write("notes.txt", format!("the key is {KEY}\n"));
    let replies = vec![
        openai_call("read", &json!({"path": "notes.txt"})),
        openai_call("grep", &json!({"pattern": "key is", "output_mode": "content"})),
        openai_text(&format!("It is {KEY}.")),
    ];
    let server = crate::kit::Server::start(replies);
    let mut command = place.haft(&["run", "--model", "openai/m", "--permission", "full", "--json", "go"]);
    command.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", format!("{}/v1", server.address));
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.out.contains(KEY) && ran.out.contains("the key is [key]"), "{ran:?}");
    assert!(server.asked().iter().all(|asked| !asked.to_string().contains(KEY)), "no model reads it either");
    let mut found = Vec::new();
    holding(&place.path().join("home"), KEY, &mut found);
    assert_eq!(found, Vec::<String>::new());
    // What a person says themselves is theirs.
    let model = place.script("m", &[json!({"say": "no"})]);
    let mut command = place.haft(&["run", "--model", &model, &format!("Is it {KEY}?")]);
    assert_eq!(Ran::from(command.env("OPENAI_API_KEY", KEY).output().unwrap()).out, "no\n");
}

// H-144
#[test]
fn a_call_whose_arguments_hold_a_key_is_refused_and_writes_nothing_else() {
    let quoted = r#"sk-proj-"01\23456789abcdef"#;
    for (key, made) in [
        (KEY, call("write", json!({"path": "a.txt", "content": format!("token={KEY}\n")}))),
        (KEY, call("write", json!({"path": format!("n-{KEY}.txt"), "content": "1\n"}))),
        (KEY, call("edit", json!({"path": "notes.txt", "old_string": "one", "new_string": KEY}))),
        (KEY, bash(&format!("touch b-{KEY}; echo {KEY} > c.txt"))),
        (quoted, call("write", json!({"path": "a.txt", "content": format!("token={quoted}\n")}))),
    ] {
        let place = Place::new();
        place.write("notes.txt", "one\n");
        let model = place.script("m", &[made, json!({"say": "done"})]);
        let before = fs::read_dir(place.work()).unwrap().count();
        let mut command = place.haft(&["run", "--model", &model, "--permission", "full", "--json", "go"]);
        let ran = Ran::from(command.env("OPENAI_API_KEY", key).output().unwrap());
        let ended = ran.events().into_iter().find(|event| event["type"] == "tool_ended").unwrap();
        let told = ended["error"]["message"].as_str().unwrap();
        assert!(
            ended["ok"] == false && told.contains("its arguments hold a value that is kept secret"),
            "{ended}"
        );
        let mut found = Vec::new();
        holding(&place.path().join("home"), "23456789abcdef", &mut found);
        assert!(!ran.out.contains("23456789abcdef") && found.is_empty(), "{found:?} {ran:?}");
        let after = fs::read_dir(place.work()).unwrap().count();
        assert_eq!((after, place.read("notes.txt").as_deref()), (before, Some("one\n")));
    }
}

/// The files hold the key, and whatever shows what was changed in them does not: the line is there without it.
#[test]
fn keys_are_hidden_in_what_shows_changes() {
    let place = Place::new();
    place.write(".env", format!("KEY={KEY}\n"));
    let run = |words: &[&str]| Ran::from(place.haft(words).env("OPENAI_API_KEY", KEY).output().unwrap());
    let copy = "sed s/KEY/COPY/ .env >copy.txt; ln -s \"x-$(sed s/KEY=// .env)\" link";
    let model = place.script("m", &[bash(copy), json!({"say": "done"})]);
    let ran = run(&["run", "--model", &model, "--permission", "accept-edits", "--json", "go"]);
    assert_eq!((ran.code, place.read("copy.txt")), (0, Some(format!("COPY={KEY}\n"))), "{ran:?}");
    let events = ran.events();
    let staged = events.iter().find(|event| event["type"] == "staged").unwrap()["seq"].clone();
    let id = events[0]["session"].as_str().unwrap();
    for words in
        [&["sessions", "export", id, "--format", "html"][..], &["undo", "--list"], &["undo", "--dry-run"]]
    {
        let shown = run(words);
        assert!(shown.out.contains("COPY=[key]") && shown.out.contains("x-[key]"), "{words:?}: {shown:?}");
        assert!(!shown.out.contains(KEY), "{words:?}: {shown:?}");
    }
    let mut serve = place.haft(&["serve", "--listen", "127.0.0.1:0", "--model", &model]);
    serve.env("OPENAI_API_KEY", KEY);
    let server = Serving::begin(&place, serve);
    for path in ["changes", &format!("diff?seq={staged}"), "export?format=html"] {
        let shown = server.ask(&format!("GET /v1/sessions/{id}/{path}"), "");
        assert!(shown.body.contains("COPY=[key]") && !shown.body.contains(KEY), "{path}: {shown:?}");
    }
}

/// The name would stand in the journal, and a name that is hidden there is no name that an undo finds.
#[test]
fn no_file_is_named_after_a_key() {
    let place = Place::new();
    place.write(".env", KEY);
    place.write("data/a", "1\n");
    for command in ["touch \"n-$(cat .env)\"", "mv data \"data-$(cat .env)\""] {
        let (ran, told) = result_of(&place, command, &[("OPENAI_API_KEY", KEY)]);
        assert!(
            told.contains("nothing was changed: the name `") && told.contains("-[key]"),
            "{command}: {ran:?}"
        );
        let names: Vec<_> =
            fs::read_dir(place.work()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.len() == 2 && place.read("data/a").is_some(), "{command}: {names:?}");
    }
}
