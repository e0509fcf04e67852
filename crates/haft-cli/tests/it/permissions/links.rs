//! Rules about files that have several names, and ways around what a mode asks about.
use crate::kit::{Place, Ran, Server, bash, call, openai_text, project::git};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink};

/// What each of `calls` came to, one behind the other.
fn told(place: &Place, permission: &str, calls: &[Value]) -> Vec<String> {
    let mut replies = calls.to_vec();
    replies.push(json!({"say": "done"}));
    let model = place.script("m", &replies);
    let ran = place.run(&["run", "--model", &model, "--permission", permission, "--json", "go"]);
    let events = ran.events();
    let ended = events.iter().filter(|event| event["type"] == "tool_ended");
    ended.map(|event| event["content"].as_str().unwrap().to_owned()).collect()
}

// H-123
#[test]
fn a_rule_holds_for_what_a_link_is_called_and_for_what_it_leads_to() {
    let place = Place::new();
    place.configure(
        "[rules]\ndeny = [\"read:**/.env*\", \"read:priv/**\", \"write:cfg/**\", \"write:locked.txt\"]\n",
    );
    for (name, content) in [("c.txt", "SECRET"), ("rp/k", "SECRET"), ("real/old", "o"), ("l", "l")] {
        place.write(name, content);
    }
    for (name, target) in [(".env", "c.txt"), ("priv", "rp"), ("cfg", "real"), ("locked.txt", "l")] {
        symlink(target, place.work().join(name)).unwrap();
    }
    let calls = [
        call("read", json!({"path": ".env"})),
        call("grep", json!({"pattern": "SEC", "path": ".env"})),
        call("read", json!({"path": "priv/k"})),
        call("read", json!({"path": "rp/k"})),
        call("write", json!({"path": "cfg/new", "content": "x"})),
        call("write", json!({"path": "real/new", "content": "x"})),
        call("write", json!({"path": "locked.txt", "content": "x"})),
        bash("echo x >cfg/new"),
        bash("echo x >l"),
    ];
    for (what, told) in calls.iter().zip(told(&place, "full", &calls)) {
        assert!(told.contains("denied by the rule") && !told.contains("SECRET"), "{what}: {told}");
    }
    assert_eq!((place.read("real/new"), place.read("l").as_deref()), (None, Some("l")));
    for (effect, verdict) in
        [("read:.env", "deny"), ("read:rp/k", "deny"), ("read:c.txt", "allow"), ("write:real/x", "deny")]
    {
        let checked = place.run(&["policy", "check", effect]);
        assert!(checked.out.starts_with(verdict), "{effect}: {checked:?}");
    }
    let readable = told(&place, "full", &[call("read", json!({"path": "c.txt"}))]);
    assert!(readable[0].contains("SECRET"), "no rule is about this name: {readable:?}");
}

/// Hooks, settings and skills are often kept elsewhere in the workspace, with links where programs look for them.
// H-123
#[test]
fn a_rule_about_a_folder_holds_for_what_links_in_it_lead_to() {
    let place = Place::new();
    place.configure("[rules]\ndeny = [\"write:priv/**\", \"read:./hid/*\", \"write:odd/*.txt\"]\n");
    git(&place.work(), &["init", "-q"]);
    let links = [
        (".git/hooks/pre-commit", "../../scripts/pre-commit", "scripts/pre-commit"),
        (".haft/config.toml", "../haft.toml", "haft.toml"),
        (".claude/skills", "../skills", "skills/mine/SKILL.md"),
        ("skills/other", "../more", "more/SKILL.md"),
        ("priv/x", "../y", "y"),
        ("priv/deep/down", "../../below", "below/z"),
        ("odd/a.txt", "../named", "named"),
        ("odd/b", "../other", "other"),
        ("hid/z", "../z", "z"),
    ];
    for (link, target, file) in links {
        place.write(file, "# old\n");
        let link = place.work().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, link).unwrap();
    }
    for (_, _, file) in links {
        let expected = match file {
            "y" | "below/z" | "named" => "denied by the rule",
            "other" | "z" => "",
            _ => "must be asked for by the rule",
        };
        let calls = [
            bash(&format!("echo '# new' >{file}")),
            call("edit", json!({"path": file, "old_text": "old", "new_text": "new"})),
        ];
        for call in &calls[..if expected.is_empty() { 1 } else { 2 }] {
            let told = told(&place, "accept-edits", std::slice::from_ref(call)).remove(0);
            let is_new = place.read(file).is_some_and(|text| text == "# new\n");
            assert_eq!(is_new, expected.is_empty(), "{call}: {told}");
            assert!(told.contains(expected), "{call}: {told}");
        }
    }
    // On the way to what a link leads to, nothing is replaced, and what it leads to may not be there yet.
    for (link, target) in [
        (".git/hooks/commit-msg", "../../hop"),
        ("hop", "scripts/end"),
        (".git/hooks/post-merge", "../../later/hook"),
        (".gemini", "later-settings"),
        ("priv/up", "../.."),
        ("priv/self", ".."),
    ] {
        symlink(target, place.work().join(link)).unwrap();
    }
    for command in [
        "rm hop; echo x >hop",
        "mkdir -p later; echo x >later/hook",
        "mkdir later-settings; echo {} >later-settings/settings.json",
        "echo x >scripts/end",
    ] {
        let refused = told(&place, "accept-edits", &[bash(command)]).remove(0);
        assert!(refused.contains("must be asked for by the rule"), "{command}: {refused}");
    }
    // A link to what the folder lies in says nothing about the rest of that.
    let free = told(&place, "accept-edits", &[bash("echo x >free")]).remove(0);
    assert!(place.read("free").is_some(), "{free}");
    let read = told(&place, "full", &[call("read", json!({"path": "z"}))]).remove(0);
    assert!(read.contains("denied by the rule"), "{read}");
    for (effect, verdict) in [("write:y", "deny"), ("read:z", "deny"), ("write:more/SKILL.md", "ask")] {
        let checked = place.run(&["policy", "check", effect]);
        assert!(checked.out.starts_with(verdict), "{effect}: {checked:?}");
    }
}

#[test]
fn notes_are_links_only_to_files_with_the_same_ending() {
    let place = Place::new();
    place.write(".env", "PASSWORD=hunter2");
    place.write("docs/agents.md", "Write tests.");
    let asked = |target: &str| {
        let link = place.work().join("AGENTS.md");
        fs::remove_file(&link).ok();
        symlink(target, link).unwrap();
        let server = Server::start(vec![openai_text("done")]);
        place.configure(&format!("[vendors.openai]\nbase_url = \"{}/v1\"\nkey = \"k\"\n", server.address));
        let ran = place.run(&["run", "--model", "openai/gpt-4.1", "go"]);
        (server.asked()[0].to_string(), ran)
    };
    let (request, ran) = asked(".env");
    assert!(!request.contains("hunter2"), "{request}");
    assert!(ran.err.contains("AGENTS.md` was ignored: it is a link to `"), "{ran:?}");
    let (request, _) = asked("docs/agents.md");
    assert!(request.contains("Write tests."), "{request}");
}

// What later sessions are told, and what `git` would run.
#[test]
fn accepted_edits_plant_nothing_that_runs_later() {
    let nested = "d=.git/refs/heads/e; mkdir -p $d/objects $d/refs; echo 'ref: refs/heads/m' >$d/HEAD; \
                  echo '[core]' >$d/config";
    let table = [
        ("mkdir -p zz/skills/e; echo x >zz/skills/e/SKILL.md; ln -s zz .codex", ".codex"),
        ("mkdir zz; ln -s zz .haft", ".haft"),
        (nested, ".git/refs/heads/e/HEAD"),
        (
            "mkdir -p .git/refs/heads/hooks; echo x >.git/refs/heads/hooks/post-checkout",
            ".git/refs/heads/hooks/post-checkout",
        ),
        (
            "mkdir -p .git/objects/info; echo /tmp/other >.git/objects/info/alternates",
            ".git/objects/info/alternates",
        ),
    ];
    for (command, planted) in table {
        let place = Place::new();
        place.run(&["tools", "call", "bash", r#"{"command":"git init -q"}"#, "--permission", "full"]);
        let told = told(&place, "accept-edits", &[bash(command)]);
        assert!(told[0].contains("approval"), "{command}: {told:?}");
        assert!(fs::symlink_metadata(place.work().join(planted)).is_err(), "{command}");
    }
    let place = Place::new();
    place.run(&["tools", "call", "bash", r#"{"command":"git init -q"}"#, "--permission", "full"]);
    let commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git branch b && git gc -q && \
                  git rev-parse b";
    let told = told(&place, "accept-edits", &[bash(commit)]);
    assert!(!told[0].contains("approval"), "{told:?}");
}

#[test]
fn a_session_with_an_outbox_writes_nothing_outside_in_any_mode() {
    let place = Place::new();
    let outside = place.path().join("outside");
    let model =
        place.script("m", &[call("write", json!({"path": outside, "content": "x"})), json!({"say": "done"})]);
    for permission in ["accept-edits", "full"] {
        let ran = place.run(&["run", "--outbox", "--model", &model, "--permission", permission, "go"]);
        assert!(!outside.exists(), "{permission}: {ran:?}");
    }
}

#[test]
fn a_key_between_colors_is_masked() {
    let place = Place::new();
    place.write("k", "key: sk-proj-0123456789abcdef\n");
    let model = place.script("m", &[bash("grep --color=always sk- k"), json!({"say": "done"})]);
    let mut haft = place.haft(&["run", "--model", &model, "--permission", "full", "--json", "go"]);
    let ran = Ran::from(haft.env("OPENAI_API_KEY", "sk-proj-0123456789abcdef").output().unwrap());
    assert!(ran.out.contains("key: ") && ran.out.contains("[key]"), "{ran:?}");
    assert!(!ran.out.contains("0123456789abcdef"), "{ran:?}");
}
