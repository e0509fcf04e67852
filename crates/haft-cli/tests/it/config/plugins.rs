//! Plugins in the format of Claude Code: installed after they are shown, pinned, updated with a diff, removed whole. The real
//! binary, folders and a bare Git repository.
use crate::kit::{
    Place, Ran,
    project::{begin_repository, git},
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

/// Writes a file of a source of plugins, beside the workspace.
fn source(place: &Place, name: &str, text: &str) -> PathBuf {
    let file = place.path().join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
    file
}

/// A plugin with one of each, below `folder`.
fn write_plugin(place: &Place, folder: &str, name: &str) -> String {
    let manifest = json!({"name": name, "description": "Mends things", "commands": "./more/extra.md"});
    source(place, &format!("{folder}/.claude-plugin/plugin.json"), &manifest.to_string());
    source(
        place,
        &format!("{folder}/skills/mend/SKILL.md"),
        "---\nname: mend\ndescription: Mends\n---\nRun ${CLAUDE_PLUGIN_ROOT}/a.sh.",
    );
    source(place, &format!("{folder}/commands/fix.md"), "Fix $1.");
    source(place, &format!("{folder}/more/extra.md"), "---\nmodel: openai/dear\n---\nMore.");
    source(
        place,
        &format!("{folder}/agents/helper.md"),
        "---\nname: helper\ndescription: Helps\nmodel: openai/dear\n---\nYou help.",
    );
    let own = env!("CARGO_BIN_EXE_haft");
    let server = json!({"command": own, "args": ["mcp", "--no-agents", "--expose", "read", "--model", "script/x"], "env": {"A": "b"}});
    source(place, &format!("{folder}/.mcp.json"), &json!({"mcpServers": {"own": server}}).to_string());
    place.path().join(folder).to_str().unwrap().to_owned()
}

fn names(ran: &Ran) -> Vec<String> {
    ran.events().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

fn installed(place: &Place) -> Vec<Value> {
    let ran = place.run(&["plugins", "list", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.events()
}

/// Files and folders that plugins have left.
fn left(place: &Place) -> usize {
    fs::read_dir(place.path().join("home-plugins")).map_or(0, Iterator::count)
}

// H-29
#[test]
fn a_plugin_of_a_folder_is_shown_installed_used_and_removed() {
    let place = Place::new();
    let folder = write_plugin(&place, "demo", "demo");
    let refused = place.run(&["plugins", "add", &folder]);
    assert_eq!((refused.code, left(&place)), (4, 0), "{refused:?}");
    let own = env!("CARGO_BIN_EXE_haft");
    let shown = format!(
        "demo from {folder}\nMends things\n  skills: demo:mend\n  commands: /demo:extra, /demo:fix\n  agents: demo:helper\n  \
         MCP server demo-own, not confined: {own} mcp --no-agents --expose read --model script/x (with A=b)\n"
    );
    assert_eq!(refused.out, shown, "it is shown before anything is asked");
    assert!(refused.err.contains("hint: `--yes` installs it as shown"), "{refused:?}");
    let added = place.run(&["plugins", "add", &folder, "--yes"]);
    assert_eq!((added.code, added.out.as_str()), (0, shown.as_str()), "{added:?}");
    let brings = json!({
        "skills": ["demo:mend"], "commands": ["/demo:extra", "/demo:fix"], "agents": ["demo:helper"], "hooks": [],
        "servers": ["demo-own"],
    });
    assert_eq!(
        installed(&place),
        [json!({
            "name": "demo", "commit": null, "source": folder, "description": "Mends things", "starts_servers": false,
            "brings": brings,
        })]
    );
    assert_eq!(names(&place.run(&["skills", "list", "--json"])), ["demo:mend"]);
    assert_eq!(names(&place.run(&["commands", "list", "--json"])), ["demo:extra", "demo:fix", "demo:mend"]);
    assert!(names(&place.run(&["agents", "list", "--json"])).contains(&"demo:helper".to_owned()));
    // What was installed does not follow its source.
    fs::remove_dir_all(place.path().join("demo")).unwrap();
    let script =
        [json!({"calls": [{"name": "skill", "arguments": {"name": "demo:mend"}}]}), json!({"say": "Done."})];
    let model = place.script("m", &script);
    let ran = place.run(&["run", "--json", "--model", &model, "/demo:fix it"]);
    let events = ran.events();
    let of =
        |kind: &str| events.iter().find(|event| event["type"] == kind).unwrap_or_else(|| panic!("{ran:?}"));
    assert_eq!(of("prompted")["parts"][0]["text"], "Fix it.");
    let script = place.path().join("home-plugins/demo/files/a.sh");
    assert_eq!(of("tool_ended")["content"], format!("Run {}.", script.display()));
    let ran = place.run(&["run", "--json", "--model", &model, "--agent", "demo:helper", "hi"]);
    let opened = ran.events().remove(0);
    assert_eq!(
        (opened["agent"].as_str(), opened["model"].as_str()),
        (Some("demo:helper"), Some(model.as_str())),
        "{ran:?}"
    );
    assert!(
        ran.err.contains("`model: openai/dear` is ignored: only a file of your own selects a model"),
        "{ran:?}"
    );
    assert_eq!(place.run(&["plugins", "remove", "demo"]).code, 0);
    assert_eq!((installed(&place), left(&place)), (vec![], 0));
    assert_eq!(place.run(&["skills", "list", "--json"]).out, "");
    let again = place.run(&["plugins", "remove", "demo"]);
    assert_eq!(again.code, 2);
    assert!(
        again.err.starts_with("error: the plugin `demo` is not installed\nhint: `haft plugins add SOURCE`"),
        "{again:?}"
    );
}

// H-31
#[test]
fn a_server_of_a_plugin_starts_with_a_yes_of_its_own() {
    let place = Place::new();
    place.script("work/x", &[json!({"say": "unheard"})]);
    let folder = write_plugin(&place, "demo", "demo");
    let has_server = || place.run(&["tools", "list"]).out.contains("mcp__demo-own__read");
    assert_eq!(place.run(&["plugins", "add", &folder, "--yes"]).code, 0);
    assert!(!has_server());
    place.run(&["plugins", "remove", "demo"]);
    assert_eq!(place.run(&["plugins", "add", &folder, "--yes", "--servers"]).code, 0);
    assert!(has_server());
    // A project may leave it out.
    place.write(".haft/config.toml", "mcp = []\n");
    assert!(!has_server());
    fs::remove_dir_all(place.work().join(".haft")).unwrap();
    // Another program than the one that was allowed asks again.
    source(&place, "demo/.mcp.json", r#"{"own": {"command": "other-program"}}"#);
    let updated = place.run(&["plugins", "update", "demo", "--yes"]);
    assert!(updated.out.contains("MCP server demo-own, not confined: other-program\n"), "{updated:?}");
    assert_eq!(installed(&place)[0]["starts_servers"], false);
    // So does the same program after a change of any file, which may be what it runs.
    assert_eq!(place.run(&["plugins", "update", "demo", "--yes", "--servers"]).code, 0);
    assert_eq!(installed(&place)[0]["starts_servers"], true, "without a change of its files");
    for (options, starts) in [(&["--yes", "--servers"][..], true), (&["--yes"], false)] {
        source(&place, "demo/server.py", &format!("print({starts})\n"));
        let ran = place.run(&[&["plugins", "update", "demo"], options].concat());
        assert_eq!((ran.code, &installed(&place)[0]["starts_servers"]), (0, &json!(starts)), "{ran:?}");
        let listed = place.run(&["mcp", "list", "--json"]).events();
        let names: Vec<_> = listed.iter().map(|server| &server["name"]).collect();
        assert_eq!(names, if starts { vec!["demo-own"] } else { vec![] });
    }
}

#[test]
fn a_file_of_a_plugin_runs_as_the_user_who_starts_it() {
    let place = Place::new();
    let folder = write_plugin(&place, "demo", "demo");
    let program = Path::new(&folder).join("program");
    fs::write(&program, "").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o6755)).unwrap();
    assert_eq!(place.run(&["plugins", "add", &folder, "--yes"]).code, 0);
    let installed = place.path().join("home-plugins/demo/files/program");
    assert_eq!(fs::metadata(installed).unwrap().permissions().mode() & 0o7777, 0o755);
}

// H-29
#[test]
fn a_marketplace_behind_git_is_pinned_and_updated_with_a_diff() {
    let place = Place::new();
    write_plugin(&place, "market/plugins/one", "one");
    source(
        &place,
        "market/plugins/two/skills/look/SKILL.md",
        "---\nname: look\ndescription: Looks\n---\nLook.",
    );
    let all = json!({"name": "m", "owner": {"name": "A"}, "plugins": [
        {"name": "one", "source": "./plugins/one"},
        {"name": "two", "source": "./plugins/two", "description": "Looks"},
    ]});
    source(&place, "market/.claude-plugin/marketplace.json", &all.to_string());
    let market = place.path().join("market");
    begin_repository(&market);
    let bare = place.path().join("bare.git");
    git(&place.path(), &["clone", "--quiet", "--bare", "market", "bare.git"]);
    let address = format!("file://{}", bare.display());
    let unnamed = place.run(&["plugins", "add", &address, "--yes"]);
    assert_eq!((unnamed.code, left(&place)), (2, 0), "{unnamed:?}");
    assert!(
        unnamed.err.ends_with(&format!("hint: `haft plugins add {address} NAME`; there are one, two\n")),
        "{unnamed:?}"
    );
    let added = place.run(&["plugins", "add", &address, "two", "--yes"]);
    let commit = git(&market, &["rev-parse", "HEAD"]);
    assert!(added.out.starts_with(&format!("two from {address} at {commit}\nLooks\n")), "{added:?}");
    assert_eq!(installed(&place)[0]["commit"], commit);
    assert!(place.run(&["plugins", "update"]).err.contains("The plugin `two` is up to date."));
    source(
        &place,
        "market/plugins/two/skills/look/SKILL.md",
        "---\nname: look\ndescription: Looks\n---\nLook twice.",
    );
    source(&place, "market/plugins/two/commands/new.md", "New.");
    git(&market, &["add", "."]);
    git(&market, &["commit", "--quiet", "-m", "More"]);
    git(&market, &["push", "--quiet", bare.to_str().unwrap(), "main"]);
    let asked = place.run(&["plugins", "update", "two"]);
    assert_eq!(asked.code, 4, "{asked:?}");
    assert!(
        asked.out.ends_with(
            "  commands: /two:new\n+ commands/new.md\n    + New.\n~ skills/look/SKILL.md\n    - Look.\n    + Look twice.\n"
        ),
        "{asked:?}"
    );
    assert_eq!(installed(&place)[0]["commit"], commit, "nothing changes without a yes");
    let updated = place.run(&["plugins", "update", "two", "--yes"]);
    assert_eq!((updated.code, left(&place)), (0, 1), "{updated:?}");
    assert_eq!(installed(&place)[0]["commit"], git(&market, &["rev-parse", "HEAD"]));
    assert_eq!(names(&place.run(&["commands", "list", "--json"])), ["two:look", "two:new"]);
    let twice = place.run(&["plugins", "add", &address, "two", "--yes"]);
    assert!(twice.code == 2 && twice.err.contains("already installed"), "{twice:?}");
}

#[test]
fn a_marketplace_with_a_faulty_entry_still_has_the_others() {
    let place = Place::new();
    write_plugin(&place, "market/plugins/one", "one");
    let all = json!({"name": "m", "metadata": {"pluginRoot": "./plugins"}, "plugins": [
        {"name": "faulty"},
        {"name": "odd", "source": {"source": 7}},
        {"name": "one", "source": "one"},
    ]});
    source(&place, "market/.claude-plugin/marketplace.json", &all.to_string());
    let market = place.path().join("market").display().to_string();
    for name in ["faulty", "odd"] {
        let refused = place.run(&["plugins", "add", &market, name, "--yes"]);
        let expected = format!(
            "error: cannot install the plugin `{name}`: its entry in `.claude-plugin/marketplace.json` has no `source`"
        );
        assert!(refused.code == 1 && refused.err.starts_with(&expected), "{refused:?}");
    }
    let added = place.run(&["plugins", "add", &market, "one", "--yes"]);
    assert_eq!((added.code, left(&place)), (0, 1), "{added:?}");
}

#[test]
fn a_plugin_in_a_repository_of_its_own_is_fetched_and_one_that_is_gone_holds_up_no_other() {
    let place = Place::new();
    let (mut all, mut addresses) = (Vec::new(), Vec::new());
    for name in ["one", "two"] {
        write_plugin(&place, name, name);
        begin_repository(&place.path().join(name));
        addresses.push(format!("file://{}", place.path().join(name).display()));
        all.push(json!({"name": name, "source": {"source": "url", "url": addresses.last()}}));
    }
    let all = json!({"name": "m", "owner": {"name": "A"}, "plugins": all});
    source(&place, "market/.claude-plugin/marketplace.json", &all.to_string());
    let market = place.path().join("market").display().to_string();
    for name in ["one", "two"] {
        let added = place.run(&["plugins", "add", &market, name, "--yes"]);
        assert_eq!(added.code, 0, "{added:?}");
    }
    assert_eq!(left(&place), 2);
    std::fs::rename(place.path().join("one"), place.path().join("gone")).unwrap();
    source(&place, "two/commands/new.md", "New.");
    git(&place.path().join("two"), &["add", "-A"]);
    git(&place.path().join("two"), &["commit", "-qm", "New"]);
    let updated = place.run(&["plugins", "update", "--yes"]);
    assert_eq!(updated.code, 1, "{updated:?}");
    assert!(updated.err.contains("error: cannot update the plugin `one`: "), "{updated:?}");
    assert!(updated.err.contains("Updated the plugin `two`"), "{updated:?}");
}

// H-136
#[test]
fn what_a_plugins_server_gets_is_shown() {
    let place = Place::new();
    let servers = json!({
        "far": {"url": "https://far.example/mcp", "headers": {"X-A": "${OPENAI_API_KEY}"}},
        "own": {"command": "server", "args": ["x y"], "env": {"K": "${A:-b}", "R": "${CLAUDE_PLUGIN_ROOT}", "T": "${env:GITHUB_TOKEN}"}},
    });
    source(&place, "demo/.mcp.json", &servers.to_string());
    let shown = place.run(&["plugins", "add", &place.path().join("demo").display().to_string()]);
    for line in [
        "not confined: https://far.example/mcp (with X-A: ${OPENAI_API_KEY}); it gets your OPENAI_API_KEY",
        "not confined: server 'x y' (with K=${A:-b}, R=${CLAUDE_PLUGIN_ROOT}, T=${env:GITHUB_TOKEN}); it gets your A, GITHUB_TOKEN",
    ] {
        assert!(shown.out.lines().any(|shown| shown.ends_with(line)), "{line}: {shown:?}");
    }
}

#[test]
fn what_a_plugin_runs_is_shown_on_one_line_with_its_quotes() {
    let place = Place::new();
    let servers = json!({"own": {"command": "sh", "args": ["-c", "server # start it\ntouch made"]}});
    source(&place, "demo/.mcp.json", &servers.to_string());
    let hooks = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true # nothing\ntouch made"}]}]}});
    source(&place, "demo/hooks/hooks.json", &hooks.to_string());
    let shown = place.run(&["plugins", "add", &place.path().join("demo").display().to_string()]);
    for line in
        [r"not confined: sh -c 'server # start it\ntouch made'", r"confined: true # nothing\ntouch made"]
    {
        assert!(shown.out.lines().any(|shown| shown.ends_with(line)), "{line}: {shown:?}");
    }
}

// H-30
#[test]
fn a_hostile_plugin_is_refused_and_leaves_nothing() {
    type Make = fn(&Path);
    let place = Place::new();
    fs::write(place.path().join("private.txt"), "7421").unwrap();
    let manifest = |folder: &Path, value: Value| {
        fs::create_dir_all(folder.join(".claude-plugin")).unwrap();
        fs::write(folder.join(".claude-plugin/plugin.json"), value.to_string()).unwrap();
    };
    let named =
        |folder: &Path, field: &str, path: &str| manifest(folder, json!({"name": "bad", field: path}));
    manifest(&place.path().join("list"), json!([]));
    named(&place.path().join("up"), "commands", "../");
    named(&place.path().join("root"), "skills", "/etc");
    named(&place.path().join("gone"), "agents", "./gone");
    manifest(&place.path().join("name"), json!({"name": "a\u{1b}[2J/../b", "skills": "./.claude-plugin"}));
    let table: [(&str, Make, &str); 12] = [
        ("list", |_| (), "cannot read `.claude-plugin/plugin.json` of the plugin: invalid type: sequence"),
        (
            "hooks",
            |folder| {
                fs::create_dir(folder.join("hooks")).unwrap();
                fs::write(folder.join("hooks/hooks.json"), "[]").unwrap();
            },
            "cannot read `hooks/hooks.json` of the plugin: invalid type: sequence",
        ),
        ("up", |_| (), "its path `../` leads out of its folder"),
        ("root", |_| (), "its path `/etc` leads out of its folder"),
        ("gone", |_| (), "its path `./gone` cannot be found"),
        ("name", |_| (), "its name `a\\u{1b}[2J/../b` may contain only"),
        (
            "link",
            |folder| symlink("../../private.txt", folder.join("skills/x.md")).unwrap(),
            "`skills/x.md` is a link that leads out",
        ),
        (
            "absolute",
            |folder| symlink("/etc", folder.join("skills/etc")).unwrap(),
            "`skills/etc` is a link that leads out",
        ),
        (
            "control",
            |folder| fs::write(folder.join("skills/a\nb"), "x").unwrap(),
            "`skills/a\\nb` has a name that is no plain text",
        ),
        (
            "huge",
            |folder| fs::File::create(folder.join("skills/big")).unwrap().set_len(17 << 20).unwrap(),
            "`skills/big` is larger than 16 MB",
        ),
        (
            "pipe",
            |folder| {
                let path = folder.join("skills/pipe");
                assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
            },
            "`skills/pipe` is neither a file nor a folder",
        ),
        ("empty", |folder| fs::remove_dir(folder.join("skills")).unwrap(), "this is no plugin"),
    ];
    for (name, make, why) in table {
        let folder = place.path().join(name);
        fs::create_dir_all(folder.join("skills")).unwrap();
        make(&folder);
        let ran = place.run(&["plugins", "add", folder.to_str().unwrap(), "--yes", "--servers"]);
        assert_eq!(ran.code, 1, "{name}: {ran:?}");
        assert!(ran.err.contains(why) && !ran.err.contains('\u{1b}'), "{name}: {ran:?}");
        assert_eq!((installed(&place), left(&place)), (vec![], 0), "{name}");
    }
}

// H-30
#[test]
fn git_runs_no_hook_and_follows_no_submodule() {
    let place = Place::new();
    let marker = place.path().join("started");
    let inner = place.path().join("inner");
    source(&place, "inner/skills/x/SKILL.md", "---\nname: inner\ndescription: x\n---\nx");
    begin_repository(&inner);
    source(&place, "outer/skills/mend/SKILL.md", "---\nname: mend\ndescription: x\n---\nx");
    let outer = place.path().join("outer");
    begin_repository(&outer);
    git(
        &outer,
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            inner.to_str().unwrap(),
            "skills/sub",
        ],
    );
    git(&outer, &["commit", "--quiet", "-m", "Sub"]);
    // The person's own Git would run this after each checkout.
    let hook =
        source(&place, "template/hooks/post-checkout", &format!("#!/bin/sh\ntouch {}\n", marker.display()));
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let template = place.path().join("template");
    source(&place, "person/.gitconfig", &format!("[init]\n\ttemplateDir = {}\n", template.display()));
    let address = format!("file://{}", outer.display());
    let added = place.run(&["plugins", "add", &address, "--yes"]);
    assert_eq!(added.code, 0, "{added:?}");
    assert_eq!(names(&place.run(&["skills", "list", "--json"])), ["outer:mend"]);
    assert!(!marker.exists());
    for address in ["ext::sh -c touch% started", "http://127.0.0.1:9/x", "file:///nowhere/x.git", "-x"] {
        let ran = place.run(&["plugins", "add", "--yes", "--", address]);
        assert!([1, 2].contains(&ran.code) && ran.err.starts_with("error: cannot "), "{address}: {ran:?}");
    }
    assert_eq!(left(&place), 1);
}

// H-31
#[test]
fn a_script_of_a_skill_runs_as_confined_as_every_command() {
    let place = Place::in_sight();
    source(&place, "tools/skills/count/SKILL.md", "---\nname: count\ndescription: Counts\n---\nRun it.");
    source(
        &place,
        "tools/skills/count/run.sh",
        "touch \"$(dirname \"$0\")/left\" 2>/dev/null; echo counted >counted\n",
    );
    assert_eq!(place.run(&["plugins", "add", place.path().join("tools").to_str().unwrap(), "--yes"]).code, 0);
    let script = place.path().join("home-plugins/tools/files/skills/count/run.sh");
    let command = format!("sh {}", script.display());
    let model = place.script("m", &[crate::kit::bash(&command), json!({"say": "Done."})]);
    let ran = place.run(&["run", "--permission", "accept-edits", "--model", &model, "go"]);
    assert_eq!((ran.code, place.read("counted").as_deref()), (0, Some("counted\n")), "{ran:?}");
    assert!(!script.with_file_name("left").exists(), "it changes nothing outside of the workspace");
}

/// A guard that refuses one command, reports each call, and tries to write where it may not.
const GUARD: &str = r#"#!/bin/sh
told=$(cat)
touch written; touch "$CLAUDE_PROJECT_DIR/written"; touch "$CLAUDE_PLUGIN_ROOT/written" 2>/dev/null
case "$told" in
*'"tool_name":"Bash"'*forbidden*) echo 'not with this plugin' >&2; exit 2;;
*PreToolUse*) echo '{"hookSpecificOutput":{"permissionDecision":"allow","additionalContext":"the guard has looked"}}';;
esac
"#;

// H-31
#[test]
fn hooks_of_a_plugin_guard_and_change_nothing() {
    let place = Place::in_sight();
    source(&place, "guard/scripts/guard.sh", GUARD);
    let command = json!({"type": "command", "command": "sh ${CLAUDE_PLUGIN_ROOT}/scripts/guard.sh"});
    let hooks = json!({"hooks": {
        "PreToolUse": [{"matcher": "Bash|Write", "hooks": [command]}],
        "SessionStart": [{"hooks": [command]}],
        "Stop": [{"hooks": [{"type": "prompt", "prompt": "Is it done?"}]}],
    }});
    source(&place, "guard/hooks/hooks.json", &hooks.to_string());
    let folder = place.path().join("guard");
    let added = place.run(&["plugins", "add", folder.to_str().unwrap(), "--yes"]);
    let shown = [
        "  hook of PreToolUse Bash|Write, confined: sh ${CLAUDE_PLUGIN_ROOT}/scripts/guard.sh\n",
        "  note: hooks of `SessionStart` have no effect: Haft has no such event\n",
        "  note: a hook of the type `prompt` has no effect: only commands are run\n",
    ];
    assert!(added.code == 0 && shown.iter().all(|line| added.out.contains(line)), "{added:?}");
    let bash = |command: &str| json!({"calls": [{"name": "bash", "arguments": {"command": command}}]});
    let model = place.script("m", &[bash("echo forbidden"), bash("echo fine"), json!({"say": "Done."})]);
    let ran = place.run(&["run", "--json", "--permission", "accept-edits", "--model", &model, "go"]);
    let events = ran.events();
    let ended = events.iter().filter(|event| event["type"] == "tool_ended");
    let ended: Vec<&str> = ended.map(|event| event["content"].as_str().unwrap()).collect();
    assert!(ended[0].contains("not with this plugin"), "{ran:?}");
    assert!(ended[1].starts_with("fine") && ended[1].contains("the guard has looked"), "{ran:?}");
    let plugin = place.path().join("home-plugins/guard/files/written");
    assert!(place.read("written").is_none() && !plugin.exists(), "a hook changes nothing");
    // It grants nothing either.
    let write = json!({"calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "x"}}]});
    let model = place.script("m", &[write, json!({"say": "Done."})]);
    assert_eq!(place.run(&["run", "--model", &model, "go"]).code, 4);
    // Where it cannot be confined, it does not run.
    let model = place.script("m", &[bash("echo forbidden"), json!({"say": "Done."})]);
    let open = ["run", "--sandbox", "off", "--permission", "full", "--model", &model, "go"];
    let ran = place.run(&open);
    assert!(
        ran.err.contains("hooks of the plugin `guard` do not run, because commands are not confined here"),
        "{ran:?}"
    );
    assert!(place.read("written").is_none());
}

#[test]
fn a_program_reads_what_was_installed_and_removed() {
    let place = Place::new();
    let folder = write_plugin(&place, "demo", "demo");
    let added = place.run(&["plugins", "add", &folder, "--yes", "--json"]);
    assert_eq!(added.events(), installed(&place), "{added:?}");
    assert!(added.err.contains("skills: demo:mend"), "what it brings is shown as well: {added:?}");
    let updated = place.run(&["plugins", "update", "--yes", "--json"]);
    assert_eq!((updated.code, updated.out.as_str()), (0, ""), "{updated:?}");
    let removed = place.run(&["plugins", "remove", "demo", "--json"]);
    assert_eq!(removed.events(), [json!({"name": "demo", "removed": true})]);
}
