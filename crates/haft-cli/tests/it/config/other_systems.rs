//! Skills, commands and agents that were written for other agent systems. The real binary, a scripted model.
use crate::kit::{Place, Ran, call};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, os::unix::fs::symlink};

/// Writes a file of the person.
fn own(place: &Place, name: &str, text: &str) {
    let file = place.path().join("person").join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// By name, what a list says of each.
fn listed(place: &Place, what: &str) -> BTreeMap<String, Value> {
    let ran = place.run(&[what, "list", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.events().into_iter().map(|row| (row["name"].as_str().unwrap().to_owned(), row)).collect()
}

/// The prompt that a model is sent for these words, and what the person reads aside.
fn sent(place: &Place, words: &[&str]) -> (String, Ran) {
    let model = place.script("m", &[json!({"say": "Done."})]);
    let ran = place.run(&[&["run", "--json", "--model", &model], words].concat());
    let events = ran.events();
    let prompted = events.iter().find(|event| event["type"] == "prompted");
    let text = prompted.map(|event| event["parts"][0]["text"].as_str().unwrap().to_owned());
    (text.unwrap_or_default(), ran)
}

type Names = &'static [&'static str];

/// The folder of a system, and in it those of skills, commands and agents.
const FOLDERS: [(&str, Names, Names, Names); 5] = [
    (".agents", &["skills"], &["commands"], &["agents"]),
    (".claude", &["skills"], &["commands"], &["agents"]),
    (".codex", &["skills"], &["prompts"], &[]),
    (".gemini", &["skills"], &["commands"], &["agents"]),
    (".opencode", &["skills", "skill"], &["commands", "command"], &["agents", "agent"]),
];

// H-38
#[test]
fn skills_commands_and_agents_of_every_system_are_found_for_the_project_and_the_person() {
    let place = Place::new();
    let (mut skills, mut commands, mut agents) = (Vec::new(), Vec::new(), Vec::new());
    for (system, of_skills, of_commands, of_agents) in FOLDERS {
        let of_person = if system == ".opencode" { ".config/opencode" } else { system };
        for (who, base) in [("p", system), ("u", of_person)] {
            let write = |name: String, text: &str| match who {
                "p" => drop(place.write(&name, text)),
                _ => own(&place, &name, text),
            };
            for folder in of_skills {
                let name = format!("{who}-{}-{folder}", &system[1..]);
                write(format!("{base}/{folder}/{name}/SKILL.md"), "---\ndescription: Does it\n---\nDo it.");
                skills.push(name);
            }
            for folder in of_commands {
                let name = format!("{who}-{}-{folder}", &system[1..]);
                match system {
                    ".gemini" => write(format!("{base}/{folder}/{name}.toml"), "prompt = \"Do it.\""),
                    _ => write(format!("{base}/{folder}/{name}.md"), "Do it."),
                }
                commands.push(name);
            }
            for folder in of_agents {
                let name = format!("{who}-{}-{folder}", &system[1..]);
                write(format!("{base}/{folder}/{name}.md"), "---\ndescription: Does it\n---\nYou do it.");
                agents.push(name);
            }
        }
    }
    for (what, names) in [("skills", skills), ("commands", commands), ("agents", agents)] {
        let found = listed(&place, what);
        let missing: Vec<_> = names.iter().filter(|name| !found.contains_key(*name)).collect();
        assert!(missing.is_empty(), "{what}: {missing:?} of {found:?}");
        let sources = names.iter().map(|name| found[name]["source"].as_str().unwrap());
        assert!(
            sources.clone().all(|source| source.starts_with(place.path().to_str().unwrap())),
            "{found:?}"
        );
    }
}

// H-38
#[test]
fn the_first_of_a_name_is_used_and_the_others_are_named() {
    let place = Place::new();
    let skill = |description: &str| format!("---\nname: mend\ndescription: {description}\n---\nx");
    for (file, description) in
        [(".agents/skills/mend", "agents"), (".claude/skills/a", "claude"), (".haft/skills/mend", "haft")]
    {
        place.write(&format!("{file}/SKILL.md"), skill(description));
    }
    assert_eq!(listed(&place, "skills")["mend"]["description"], "haft");
    own(&place, ".codex/skills/mend/SKILL.md", &skill("mine"));
    assert_eq!(listed(&place, "skills")["mend"]["description"], "mine", "a project takes no place of mine");
    // The same folder by another name is not another one.
    symlink("../../.agents/skills/mend", place.work().join(".claude/skills/mend")).unwrap();
    place.write(".claude/commands/fix.md", "Fix it so.");
    place.write(".opencode/command/fix.md", "Not so.");
    place.write(".claude/agents/reviewer.md", "---\nname: reviewer\n---\nNot me.");
    let shown = place.run(&["config", "show"]);
    let at = shown.out.find("\n# Skills, commands and agents\n").unwrap();
    assert_eq!(
        &shown.out[at..],
        "\n# Skills, commands and agents\n\
         # skill `mend`: `~/.codex/skills/mend/SKILL.md`\n\
         #   not used, because the name is taken: `.haft/skills/mend/SKILL.md`\n\
         #   not used, because the name is taken: `.agents/skills/mend/SKILL.md`\n\
         #   not used, because the name is taken: `.claude/skills/a/SKILL.md`\n\
         # command `fix`: `.claude/commands/fix.md`\n\
         #   not used, because the name is taken: `.opencode/command/fix.md`\n\
         # agent `reviewer`: built in\n\
         #   not used, because the name is taken: `.claude/agents/reviewer.md`\n"
    );
}

#[test]
fn commands_are_filled_in_as_the_system_does_that_they_were_written_for() {
    let place = Place::new();
    place.write(".claude/commands/git/fix.md", "---\nargument-hint: [issue]\nmodel: sonnet\n---\nFix $1.");
    place.write(".codex/prompts/look.md", "Look at $FILE.");
    place.write(
        ".gemini/commands/plan.toml",
        "description = \"Plans\"\nprompt = \"Plan {{args}}, cheaply.\"\n",
    );
    place.write(".opencode/command/all.md", "---\nagent: build\nsubtask: true\n---\nDo $ARGUMENTS.");
    place.write(".haft/commands/crlf.md", "---\r\ndescription: Ends\r\n---\r\nEnd it.\r\n");
    let table: [(&[&str], &str, &[&str]); 5] = [
        (&["/crlf"], "End it.", &[]),
        (
            &["/git:fix 'a b' c"],
            "Fix a b.",
            &["`/git:fix`: `model: sonnet` is ignored: `--model` chooses it"],
        ),
        (&["/look", "FILE=src/a.rs"], "Look at src/a.rs.", &[]),
        (&["/plan", "a", "trip"], "Plan a trip, cheaply.", &[]),
        (
            &["/all", "of", "it"],
            "Do of it.",
            &[
                "`agent: build` is ignored: `--agent` chooses it",
                "`subtask` is ignored: Haft has nothing like it",
            ],
        ),
    ];
    for (words, expected, notes) in table {
        let (text, ran) = sent(&place, words);
        assert_eq!(text, expected, "{ran:?}");
        for note in notes {
            assert_eq!(ran.err.matches(note).count(), 1, "{words:?}: {}", ran.err);
        }
    }
}

// D14, H-39
#[test]
fn what_a_repository_brings_for_another_system_starts_nothing_and_chooses_no_model() {
    let place = Place::new();
    place.write(
        ".claude/commands/go.md",
        "---\nallowed-tools: Bash(touch:*)\nmodel: anthropic/dear\nhooks: {Stop: []}\n---\nGo !`touch started` on.",
    );
    place.write(
        ".claude/agents/helper.md",
        "---\nname: Helper\ndescription: Helps: always\ntools: Read, Bash(touch:*), WebSearch\nmodel: openai/dear\n\
         permissionMode: bypassPermissions\n---\nYou help.",
    );
    let (text, ran) = sent(&place, &["/go"]);
    assert!(text.starts_with("Go !`touch started` on.\n\nIn this prompt, "), "{text}");
    assert_eq!(place.read("started"), None, "commands in a prompt are calls of the model, or nothing");
    for note in [
        "`allowed-tools` is ignored: a file grants no permission",
        "`model: anthropic/dear` is ignored",
        "`hooks` is ignored: hooks are set up in your configuration",
    ] {
        assert!(ran.err.contains(note), "{note}: {}", ran.err);
    }
    let (_, ran) = sent(&place, &["--agent", "helper", "hi"]);
    let opened = ran.events().remove(0);
    assert_eq!((ran.code, opened["agent"].as_str()), (0, Some("helper")), "{ran:?}");
    assert!(opened["model"].as_str().unwrap().starts_with("script/"), "{opened}");
    for note in [
        "`model: openai/dear` is ignored: only a file of your own selects a model",
        "`permissionMode: bypassPermissions` is ignored: a file grants no permission",
        "`tools`: Haft has no tool `WebSearch`",
        "`tools`: what stands in brackets of `Bash(touch:*)` is ignored",
    ] {
        assert!(ran.err.contains(note), "{note}: {}", ran.err);
    }
}

#[test]
fn agents_of_other_systems_have_the_tools_that_their_files_name() {
    let place = Place::new();
    own(
        &place,
        ".config/opencode/agent/careful.md",
        "---\ndescription: Careful\nmode: subagent\ntools:\n  write: false\n  bash: false\n---\nYou look.",
    );
    own(&place, ".claude/agents/off.md", "---\ndescription: Off\ndisallowedTools: Edit\n---\nYou look.");
    place.write("a.txt", "one\n");
    let edit =
        json!({"calls": [{"name": "edit", "arguments": {"path": "a.txt", "old": "one", "new": "two"}}]});
    for agent in ["careful", "off"] {
        let model = place.script("m", &[edit.clone(), json!({"say": "Done."})]);
        let ran = place.run(&["run", "--agent", agent, "--permission", "full", "--model", &model, "go"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(place.read("a.txt").as_deref(), Some("one\n"), "{agent}: {ran:?}");
    }
    let model = place.script("m", &[edit, json!({"say": "Done."})]);
    place.run(&["run", "--permission", "full", "--model", &model, "go"]);
    assert_eq!(place.read("a.txt").as_deref(), Some("two\n"), "the script does what it says where it may");
}

#[test]
fn a_tool_of_an_agent_that_nothing_has_is_named() {
    let place = Place::new();
    let listed = "tools: [read, reed, skill, web_search, mcp__x__y]";
    place.write(".haft/agents/mine.md", format!("---\nname: mine\n{listed}\n---\nYou look.\n"));
    let model = place.script("m", &[json!({"say": "Done."})]);
    let ran = place.run(&["run", "--agent", "mine", "--model", &model, "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("the agent `mine`: there is no tool `reed`"), "{ran:?}");
    assert_eq!(ran.err.matches("there is no tool").count(), 1, "{ran:?}");
}

#[test]
fn files_of_another_system_are_changed_with_an_approval_only() {
    for folder in [".agents", ".claude", ".codex", ".gemini", ".opencode"] {
        let place = Place::new();
        let path = format!("{folder}/skills/x/SKILL.md");
        let write = json!({"calls": [{"name": "write", "arguments": {"path": path, "content": "x"}}]});
        let model = place.script("m", &[write, json!({"say": "Done."})]);
        let ran = place.run(&["run", "--permission", "accept-edits", "--model", &model, "go"]);
        assert_eq!(ran.code, 4, "{folder}: {ran:?}");
        assert_eq!(place.read(&path), None);
    }
}

#[test]
fn what_cannot_be_read_is_named_and_stops_nothing() {
    let place = Place::new();
    fs::write(place.path().join("private.txt"), "---\nname: x\ndescription: 7421\n---\n7421").unwrap();
    for folder in [".claude/agents", ".claude/commands", ".claude/skills"] {
        fs::create_dir_all(place.work().join(folder)).unwrap();
    }
    for link in [".claude/agents/x.md", ".claude/commands/x.md"] {
        symlink(place.path().join("private.txt"), place.work().join(link)).unwrap();
    }
    symlink(place.path(), place.work().join(".claude/commands/all")).unwrap();
    place.write(".claude/agents/bad.md", "---\n[\n---\nx");
    place.write(".claude/agents/odd.md", "---\nname: o/d\n---\nx");
    place.write(".gemini/commands/bad.toml", "prompt = 7");
    place.write(".haft/commands/a\u{202e}b.md", "x");
    place.write(".haft/commands/none.md", "---\ndescription: nothing\n---\n\n");
    place.write(".claude/skills/long name/SKILL.md", "---\ndescription: x\n---\nx");
    let (text, ran) = sent(&place, &["hello"]);
    assert_eq!((ran.code, text.as_str()), (0, "hello"), "{ran:?}");
    for (what, why) in [
        ("agents", "/agents/x.md` was ignored: it points outside"),
        ("agents", "/agents/bad.md` was ignored: its header cannot be read"),
        ("agents", "/agents/odd.md` was ignored: it cannot be called `o/d`"),
        ("commands", "/commands/x.md` was ignored: it points outside"),
        ("commands", "/commands/bad.toml` was ignored: invalid type"),
        ("commands", "/commands/none.md` was ignored: it has no text"),
        ("commands", "`/a\\u{202e}b`"),
        ("skills", "/skills/long name` was ignored: its `name` may contain only"),
    ] {
        let ran = place.run(&[what, "list"]);
        assert!(ran.code == 0 && ran.err.contains(why), "{why}: {ran:?}");
        assert!(!ran.out.contains("7421"), "{ran:?}");
    }
}

#[test]
fn commands_do_not_see_the_logins_of_other_systems() {
    let place = Place::in_sight();
    let logins = [
        ".claude.json",
        ".claude/.credentials.json",
        ".codex/auth.json",
        ".gemini/oauth_creds.json",
        ".local/share/opencode/auth.json",
    ];
    logins.iter().for_each(|name| own(&place, name, "s3cret"));
    own(&place, ".claude/CLAUDE.md", "seen");
    let command = format!("cd; cat {} .claude/CLAUDE.md", logins.join(" "));
    let model = place.script("m", &[crate::kit::bash(&command), json!({"say": "Done."})]);
    let ran = place.run(&["run", "--json", "--permission", "accept-edits", "--model", &model, "go"]);
    let events = ran.events();
    let ended = events.iter().find(|event| event["type"] == "tool_ended").unwrap();
    let told = ended["content"].as_str().unwrap();
    assert!(told.contains("seen") && !told.contains("s3cret"), "{ran:?}");
}

#[test]
fn settings_and_servers_of_other_systems_are_named_with_what_takes_their_place() {
    let place = Place::new();
    let marker = place.path().join("started");
    let start = json!({"command": "touch", "args": [marker], "env": {"TOKEN": "s3cret"}});
    let hooks = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": format!("touch {}", marker.display())}]}]}});
    own(
        &place,
        ".claude/settings.json",
        &json!({"permissions": {"allow": ["Bash(npm test:*)"], "defaultMode": "acceptEdits"}, "model": "opus"}).to_string(),
    );
    place.write(".claude/settings.json", hooks.to_string());
    place.write(".mcp.json", json!({"mcpServers": {"docs": start, "mine": start}}).to_string());
    place.configure("[mcp.mine]\ncommand = \"true\"\n");
    sent(&place, &["hello"]);
    assert!(!marker.exists(), "nothing of it starts");
    let shown = place.run(&["config", "show"]).out;
    let at = shown.find("\n# Settings of other systems\n").unwrap();
    let (path, user) = (place.path(), place.path().join("person/.config/haft/config.toml"));
    let (path, user) = (path.display(), user.display());
    let expected = format!(
        "\n# Settings of other systems\n\
         # `permissions` of `{path}/person/.claude/settings.json`: what they allow has no effect; this in `{user}` allows it:\n\
         #   [rules]\n\
         #   allow = [\"execute:npm test *\"]\n\
         # `defaultMode: acceptEdits` of `{path}/person/.claude/settings.json` has no effect: `permission = \"accept-edits\"` in `{user}` takes its place\n\
         # hooks of `{path}/work/.claude/settings.json` do not run; this in `{user}` lets them, confined:\n\
         #   [[claude_hooks]]\n\
         #   event = \"turn_end\"\n\
         #   command = \"touch {path}/started\"\n\
         #   timeout = 60\n\
         # the MCP server `docs` of `{path}/work/.mcp.json` does not start; this in `{user}` allows it:\n\
         #   [mcp.docs]\n\
         #   command = \"touch\"\n\
         #   arguments = [\"{path}/started\"]\n\
         #   \n\
         #   [mcp.docs.environment]\n\
         #   TOKEN = \"${{TOKEN}}\"\n"
    );
    assert_eq!(&shown[at..], expected);
}

/// A rule that is lost without a word is one that a person believes in.
#[test]
fn what_is_no_list_of_permissions_is_told() {
    let place = Place::new();
    for (written, told) in [
        (r#"{"permissions": {"deny": "Read(.env)"}}"#, "`deny Read(.env)` of "),
        (r#"{"permissions": {"deny": ["Read(a)", 5]}}"#, "`deny 5` of "),
        (r#"{"permissions": {"additionalDirectories": ["../b"]}}"#, "`additionalDirectories` of "),
        (r#"{"permissions": []}"#, "`permissions []` of "),
        ("[]", "`[]` of "),
    ] {
        place.write(".claude/settings.json", written);
        let shown = place.run(&["config", "show"]).out;
        assert!(shown.contains(told) && shown.contains("has no effect"), "{written}: {shown}");
    }
}

// H-39
#[test]
fn what_permissions_of_claude_code_deny_holds_and_what_they_allow_is_shown() {
    let place = Place::new();
    own(&place, ".claude/settings.json", &json!({"permissions": {"deny": ["Bash(git push:*)"]}}).to_string());
    let project = json!({"permissions": {
        "deny": ["Read(./.env)", "Read(secrets/**)", "Bash(git * main)"],
        "ask": ["Edit(//etc/**)", "Write(docs/**)"],
        "allow": ["Bash(make:*)", "Edit"],
    }});
    place.write(".claude/settings.json", project.to_string());
    place.configure("permission = \"full\"\n[rules]\nallow = [\"execute:git push *\"]\n");
    let table = [
        ("git push origin", "deny"),
        ("git status", "allow"),
        ("read:.env", "deny"),
        ("read:secrets/key", "deny"),
        ("read:other/.env", "allow"),
        ("write:docs/a.md", "ask"),
        ("write:a.md", "allow"),
    ];
    for (effect, expected) in table {
        let ran = place.run(&["policy", "check", "--json", effect]);
        let verdict: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(verdict["verdict"], expected, "{effect}: {verdict}");
        let by = verdict["decided_by"].as_str().unwrap();
        assert_eq!(by.contains(".claude/settings.json"), expected != "allow", "{effect}: {by}");
    }
    // What a repository allows itself grants nothing.
    place.configure("");
    for effect in ["write:a.md", "execute@..:make"] {
        let ran = place.run(&["policy", "check", "--json", effect]);
        assert!(ran.out.contains("\"ask\""), "{ran:?}");
    }
    let shown = place.run(&["config", "show"]).out;
    for expected in [
        "#   deny = [\"execute:git push *\"]",
        "#   ask = [\"write:/etc/**\", \"write:docs/**\"]",
        "#   allow = [\"execute:make *\", \"write:**\"]",
        "# `deny Bash(git * main)` of ",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}

#[test]
fn a_guard_written_for_claude_code_guards_once_its_lines_are_copied() {
    let place = Place::new();
    let command = "grep -q 'echo deploy' && { echo 'not here' >&2; exit 2; }; touch left-behind";
    let hooks = json!({"hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}],
        "SessionStart": [{"hooks": [{"type": "command", "command": "true"}]}],
    }});
    own(&place, ".claude/settings.json", &hooks.to_string());
    let shown = place.run(&["config", "show"]).out;
    assert!(shown.contains("hooks of `SessionStart` have no effect"), "{shown}");
    let (_, lines) = shown.split_once("lets them, confined:\n").unwrap();
    let lines: Vec<&str> = lines.lines().map_while(|line| line.strip_prefix("#   ")).collect();
    place.configure(&lines.join("\n"));
    let calls = [json!({"calls": [
        {"name": "bash", "arguments": {"command": "echo deploy"}},
        {"name": "bash", "arguments": {"command": "echo a > a"}},
    ]})];
    let model = place.script("m", &[calls[0].clone(), json!({"say": "Done."})]);
    let ran = place.run(&["run", "--json", "--permission", "accept-edits", "--model", &model, "go"]);
    let results = ran.events().into_iter().filter(|event| event["type"] == "tool_ended").collect::<Vec<_>>();
    assert!(results[0].to_string().contains("not here"), "{results:?}");
    assert_eq!(results[1]["ok"], true, "{results:?}");
    assert!(place.work().join("a").exists());
    assert!(!place.work().join("left-behind").exists(), "what a hook writes is dropped");
    assert!(!place.run(&["config", "show"]).out.contains("lets them, confined"), "they are set up");
}

#[test]
fn a_rule_of_claude_code_that_does_not_hold_is_told_at_the_start() {
    let look = call("read", json!({"path": ".env"}));
    let table = [
        (
            r#"{"permissions": {"deny": ["Read(.env)",]}}"#,
            Some("was ignored, with its rules: trailing comma"),
        ),
        (r#"{"permissions": {"deny": "Read(.env)"}}"#, Some("`deny Read(.env)` of ")),
        (
            r#"{"permissions": {"deny": ["Bash(git * main)", "NotebookEdit"]}}"#,
            Some("`deny Bash(git * main)` of "),
        ),
        ("\u{feff}{\"permissions\": {\"deny\": [\"Read(.env)\"]}}", None),
    ];
    for (settings, told) in table {
        let place = Place::new();
        place.write(".env", "KEY=1\n");
        place.write(".claude/settings.json", settings);
        let write = call("write", json!({"path": "a.txt", "content": "x"}));
        let model = place.script("m", &[look.clone(), write, json!({"say": "Done."})]);
        let ran = place.run(&["run", "--permission", "full", "--model", &model, "go"]);
        match told {
            Some(told) => assert!(ran.err.contains(told), "{settings}: {ran:?}"),
            None => assert!(ran.err.contains("is denied by the rule"), "{settings}: {ran:?}"),
        }
        assert_eq!(place.read("a.txt").as_deref(), Some("x"), "a rule about notebooks is about them alone");
    }
}
