//! What a person and a project bring along: hooks, notes, skills, commands. The real binary, a scripted model.
use crate::kit::{Place, Ran, Server, bash, openai_text};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink, path::Path};

fn says(text: &str) -> Value {
    json!({"say": text})
}

/// Writes a file of the person's configuration.
fn own(place: &Place, name: &str, text: &str) {
    let file = place.path().join("person/.config/haft").join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

#[test]
fn hooks_of_the_person_guard_and_a_project_has_none() {
    let place = Place::new();
    let guard = "#!/bin/sh\nif grep -q 'rm '; then echo 'ask me before you remove' >&2; exit 2; fi\n";
    let script = place.write("guard.sh", guard);
    own(
        &place,
        "config.toml",
        &format!(
            "[[hooks]]\nevent = \"before_tool\"\ntool = \"bash\"\ncommand = \"sh {}\"\n\n[[hooks]]\nevent = \"turn_start\"\n\
             command = \"if grep -q secret; then echo 'not that' >&2; exit 2; fi\"\n",
            script.display()
        ),
    );
    let model = place.script("m", &[bash("rm guard.sh"), bash("echo one"), says("Done.")]);
    let ran = place.run(&["run", "--model", &model, "--permission", "full", "go"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Done.\n"), "{ran:?}");
    assert!(ran.err.contains("a hook denied `bash`: ask me before you remove"), "{}", ran.err);
    assert!(ran.err.contains("✓ one") && place.read("guard.sh").is_some(), "{}", ran.err);
    let refused = place.run(&["run", "--model", &model, "the secret is 7"]);
    assert_eq!(
        (refused.code, refused.err.as_str()),
        (4, "error: the prompt was refused: a hook denied it: not that\n")
    );
    // A repository starts nothing.
    place.write(".haft/config.toml", "[[hooks]]\nevent = \"turn_end\"\ncommand = \"touch started\"\n");
    let ran = place.run(&["run", "--model", &model, "go"]);
    assert!(ran.code == 2 && ran.err.contains("a project may not define hooks"), "{ran:?}");
    assert_eq!(place.read("started"), None);
}

/// What a model is told first in the folder `work`, and what the person reads aside.
fn system(place: &Place, work: &Path) -> (String, String) {
    let server = Server::start(vec![openai_text("Done.")]);
    let mut command = place.haft(&["run", "--model", "openai/any", "go"]);
    command.env("OPENAI_BASE_URL", format!("{}/v1", server.address)).env("OPENAI_API_KEY", "sk-x");
    let ran = Ran::from(command.current_dir(work).output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    (server.asked()[0]["messages"][0]["content"].as_str().unwrap().to_owned(), ran.err)
}

#[test]
fn notes_are_told_from_far_to_near() {
    let place = Place::new();
    let part = place.work().join("part");
    fs::create_dir_all(&part).unwrap();
    fs::create_dir_all(place.work().join(".git")).unwrap();
    assert!(!system(&place, &part).0.contains("# Notes"));
    // Above the repository, and beside a file that goes first.
    fs::write(place.path().join("AGENTS.md"), "Not loaded.").unwrap();
    place.write("AGENTS.md", "Ours.");
    place.write("CLAUDE.md", "For another one.");
    place.write("part/CLAUDE.md", "Nearest.");
    own(&place, "AGENTS.md", "Mine.");
    let own_file = place.path().join("person/.config/haft/AGENTS.md");
    let expected = format!(
        "\n<note file=\"{}\">\nMine.\n</note>\n\n<note file=\"../AGENTS.md\">\nOurs.\n</note>\n\n\
         <note file=\"CLAUDE.md\">\nNearest.\n</note>\n",
        own_file.display()
    );
    let (told, _) = system(&place, &part);
    assert!(told.ends_with(&expected), "{told}");
}

/// The names of the notes that a model is told, and their texts.
fn notes(told: &str) -> Vec<(&str, &str)> {
    let all = told.split("<note file=\"").skip(1).filter_map(|note| note.split_once("\">\n"));
    all.map(|(name, text)| (name, text.split("\n</note>").next().unwrap())).collect()
}

// H-146
#[test]
fn notes_that_claude_code_reads_are_told_with_what_they_import() {
    let place = Place::new();
    fs::create_dir_all(place.work().join(".git")).unwrap();
    let person = place.path().join("person");
    fs::create_dir_all(person.join(".claude")).unwrap();
    fs::write(person.join(".claude/CLAUDE.md"), "Mine. @more.md").unwrap();
    fs::write(person.join(".claude/more.md"), "More of mine.").unwrap();
    let body = "Ours: @docs/style.md, @package.json @nothing.md\nNot `@docs/code.md`\n```\n@docs/code.md\n```\n@AGENTS.md";
    place.write("part/CLAUDE.md", body);
    place.write("part/docs/style.md", "Tabs. @deeper.txt @style.md");
    place.write("part/docs/deeper.txt", "Deeper.");
    place.write("part/docs/code.md", "unwanted");
    place.write("part/package.json", "unwanted");
    place.write("part/.claude/CLAUDE.md", "Of the folder. @../../../private.md @~/.claude/more.md");
    place.write(
        "part/.claude/rules/api/errors.md",
        "---\npaths:\n  - \"src/**/*.ts\"\n  - lib/*\n---\nNo throw.",
    );
    place.write("part/.claude/rules/all.md", "For all.");
    place.write("part/CLAUDE.local.md", "Only here.");
    fs::write(place.path().join("private.md"), "unwanted").unwrap();
    let (told, aside) = system(&place, &place.work().join("part"));
    let mine = |name: &str| person.join(".claude").join(name).display().to_string();
    let (first, second) = (mine("CLAUDE.md"), mine("more.md"));
    let expected = [
        (first.as_str(), "Mine. @more.md"),
        (second.as_str(), "More of mine."),
        ("CLAUDE.md", body),
        ("docs/style.md", "Tabs. @deeper.txt @style.md"),
        ("docs/deeper.txt", "Deeper."),
        (".claude/CLAUDE.md", "Of the folder. @../../../private.md @~/.claude/more.md"),
        ("CLAUDE.local.md", "Only here."),
        (".claude/rules/all.md", "For all."),
        (".claude/rules/api/errors.md (for src/**/*.ts, lib/*)", "No throw."),
    ];
    assert_eq!(notes(&told), expected);
    assert!(aside.contains("private.md` was ignored: it points outside `"), "{aside}");
    assert!(!told.contains("unwanted"), "{told}");
    // Haft's own file goes first, and `AGENTS.md` imports nothing.
    own(&place, "AGENTS.md", "Mine.");
    place.write("part/AGENTS.md", "Ours. @docs/style.md");
    let (told, _) = system(&place, &place.work().join("part"));
    let names: Vec<&str> = notes(&told).into_iter().map(|(name, _)| name).collect();
    let haft = person.join(".config/haft/AGENTS.md").display().to_string();
    let rest = [".claude/CLAUDE.md", "CLAUDE.local.md", ".claude/rules/all.md"];
    let rules = ".claude/rules/api/errors.md (for src/**/*.ts, lib/*)";
    assert_eq!(names, [&[haft.as_str(), "AGENTS.md"], rest.as_slice(), &[rules]].concat());
}

// H-149
#[test]
fn notes_of_a_folder_are_told_once_with_the_first_file_that_is_used_there() {
    let place = Place::in_sight();
    fs::create_dir_all(place.work().join(".git")).unwrap();
    place.write("AGENTS.md", "At the root.");
    place.write("part/AGENTS.md", "Of the part.");
    place.write("part/deep/CLAUDE.md", "Deep down. @more.md");
    place.write("part/deep/more.md", "And more.");
    place.write("part/deep/a.txt", "a\n");
    place.write("other/AGENTS.md", "Of the other.");
    symlink(place.path(), place.work().join("out")).unwrap();
    let read = |path: &str| json!({"calls": [{"name": "read", "arguments": {"path": path}}]});
    let write =
        |path: &str| json!({"calls": [{"name": "write", "arguments": {"path": path, "content": "x\n"}}]});
    let script = [
        read("part/deep/a.txt"),
        read("part/deep/more.md"),
        read("part/none.txt"),
        json!({"calls": [{"name": "list", "arguments": {"path": "other"}}]}),
        write("made/AGENTS.md"),
        read("made/AGENTS.md"),
        says("Done."),
    ];
    let model = place.script("m", &script);
    let through_link = place.script("link", &[read("out/work/other/AGENTS.md"), says("Done.")]);
    let results = |model: &str, profile: &[&str]| -> Vec<String> {
        let options = ["run", "--json", "-q", "--permission", "full", "--model", model];
        let ran = place.run(&[options.as_slice(), profile, &["go"]].concat());
        let events = ran.events();
        let ended = events.iter().filter(|event| event["type"] == "tool_ended");
        ended.map(|event| event["content"].as_str().unwrap().to_owned()).collect()
    };
    let told = results(&model, &[]);
    let part = "\n[notes on this folder, from `part/AGENTS.md`:\nOf the part.]";
    let deep = "\n[notes on this folder, from `part/deep/CLAUDE.md`:\nDeep down. @more.md]";
    let more = "\n[notes on this folder, from `part/deep/more.md`:\nAnd more.]";
    assert_eq!(told[0], format!("     1\ta{part}{deep}{more}"));
    assert!(
        told[3].ends_with("\n[notes on this folder, from `other/AGENTS.md`:\nOf the other.]"),
        "{told:?}"
    );
    assert_eq!(told.iter().filter(|result| result.contains("[notes on")).count(), 2, "{told:?}");
    // What is made again is compared without them.
    let id = place.journal().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let verified = place.run(&["verify", &id]);
    assert_eq!(verified.code, 0, "{verified:?}");
    // Notes that are read are not told as well.
    assert_eq!(results(&through_link, &[]), ["     1\tOf the other."]);
    let called = place.run(&["tools", "call", "read", r#"{"path": "part/deep/a.txt"}"#]);
    assert!(called.code == 0 && !called.out.contains("[notes on"), "{called:?}");
    let quiet = results(&model, &["--profile", "ally"]);
    assert!(!quiet.is_empty() && quiet.iter().all(|result| !result.contains("[notes on")), "{quiet:?}");
}

// D14
#[test]
fn a_repository_does_not_make_other_files_a_part_of_the_prompt() {
    let place = Place::new();
    fs::write(place.path().join("private.txt"), "---\nname: x\ndescription: 7421\n---\n7421").unwrap();
    for name in [".haft/commands", ".haft/skills/x"] {
        fs::create_dir_all(place.work().join(name)).unwrap();
    }
    let links = ["AGENTS.md", ".haft/commands/x.md", ".haft/skills/x/SKILL.md", ".haft/skills/y"];
    for link in links {
        let to = if link.ends_with('y') { place.path() } else { place.path().join("private.txt") };
        symlink(to, place.work().join(link)).unwrap();
    }
    let (told, aside) = system(&place, &place.work());
    assert!(!told.contains("7421"), "{told}");
    assert!(aside.contains("/AGENTS.md` was ignored: it points outside `"), "{aside}");
    let ran = place.run(&["run", "/x"]);
    assert!(ran.err.contains("error: there is no command `/x`"), "{ran:?}");
}

// The half of Alfred's second requirement that is about skills
#[test]
fn skills_of_the_person_and_the_project_are_found() {
    let place = Place::new();
    own(&place, "skills/release/SKILL.md", "---\nname: release\ndescription: Mine.\n---\nAsk first.\n");
    own(&place, "skills/release/list.txt", "1. Tag it.\n");
    place
        .write(".haft/skills/theirs/SKILL.md", "---\nname: theirs\ndescription: Ours.\nlicense: MIT\n---\nx");
    place.write(".haft/skills/again/SKILL.md", "---\nname: release\ndescription: Not this.\n---\nx");
    place.write(".haft/skills/broken/SKILL.md", "x");
    let (told, aside) = system(&place, &place.work());
    assert!(told.ends_with("\n\n- release: Mine.\n- theirs: Ours."), "{told}");
    let left_out =
        ["/again` was ignored: another one", "/broken` was ignored: it does not begin with a header"];
    assert!(left_out.iter().all(|why| aside.contains(why)), "{aside}");
    // Without an approval, though it lies outside the workspace.
    let list = place.path().join("person/.config/haft/skills/release/list.txt");
    let script = [
        json!({"calls": [{"name": "skill", "arguments": {"name": "release"}}]}),
        json!({"calls": [{"name": "read", "arguments": {"path": list}}]}),
        says("Done."),
    ];
    let model = place.script("m", &script);
    let ran = place.run(&["run", "--json", "-q", "--agent", "reviewer", "--model", &model, "go"]);
    let ended: Vec<String> = ran
        .events()
        .iter()
        .filter(|event| event["type"] == "tool_ended")
        .map(|event| event["content"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        ended[0].starts_with("Ask first.\n\nFiles of this skill:\n- ") && ended[0].ends_with("/list.txt"),
        "{ended:?}"
    );
    assert_eq!(ended[1], "     1\t1. Tag it.");
}

// H-147
#[test]
fn a_skill_is_also_a_command_of_the_user() {
    let place = Place::new();
    own(
        &place,
        "skills/release/SKILL.md",
        "---\nname: release\ndescription: Mine.\n---\nRun `awk '{print $1}'`.\n",
    );
    place.write(
        ".claude/skills/deploy/SKILL.md",
        "---\ndisable-model-invocation: true\ndescription: Only I.\n---\nTo $ARGUMENTS.",
    );
    place.write(
        ".claude/skills/style/SKILL.md",
        "---\nuser-invocable: false\ndescription: Only models.\n---\nTabs.",
    );
    place.write(".haft/commands/lint.md", "Lint it.");
    place.write(".claude/skills/lint/SKILL.md", "---\ndescription: Not used as a command.\n---\nx");
    let folder = |name: &str| place.work().join(".claude/skills").join(name).display().to_string();
    let release = place.path().join("person/.config/haft/skills/release").display().to_string();
    let intro =
        |name: &str, folder: &str| format!("Follow the skill `{name}`. Its files are in `{folder}`.\n\n");
    for (prompt, expected) in [
        ("/release 1.0", intro("release", &release) + "Run `awk '{print $1}'`.\n\n1.0"),
        ("/deploy the test system", intro("deploy", &folder("deploy")) + "To the test system."),
        ("/lint", "Lint it.".to_owned()),
    ] {
        let server = Server::start(vec![openai_text("Done.")]);
        let mut command = place.haft(&["run", "--model", "openai/any", prompt]);
        command.env("OPENAI_BASE_URL", format!("{}/v1", server.address)).env("OPENAI_API_KEY", "sk-x");
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.code, 0, "{ran:?}");
        let asked = server.asked();
        let messages = asked[0]["messages"].as_array().unwrap();
        assert_eq!(messages.last().unwrap()["content"], expected, "{prompt}");
        let system = messages[0]["content"].as_str().unwrap();
        assert!(system.contains("- style: Only models.") && !system.contains("deploy"), "{system}");
    }
    let refused = place.run(&["run", "/style"]);
    assert!(refused.err.contains("there is no command `/style`"), "{refused:?}");
    let listed = place.run(&["commands", "list"]).out;
    assert!(
        listed.contains("/deploy") && listed.contains("Only I.") && !listed.contains("/style"),
        "{listed}"
    );
}

// H-135: what comes with a repository, or what a call broke, does not keep a person from working or from undoing.
#[test]
fn files_of_a_project_that_cannot_be_used_stop_nothing() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    own(&place, "agents/mine.md", "---\nname: mine\ndescription: x\n---\nx");
    let header = |name: &str| format!("---\nname: {name}\ndescription: x\n---\nx");
    for (file, text, why) in [
        ("README.md", "How agents are written here.\n".to_owned(), "does not begin with a header"),
        ("odd.md", "---\nname: odd\nzzz: 1\n---\nx".to_owned(), "zzz"),
        (
            "dear.md",
            "---\nname: dear\ndescription: x\nmodel: openai/dear\n---\nx".to_owned(),
            "may not select the model",
        ),
        ("taken.md", header("haft"), "the name `haft` is taken"),
        ("builder.md", header("builder"), "already exists: built in"),
        ("mine.md", header("mine"), "already exists: "),
    ] {
        place.write(&format!(".haft/agents/{file}"), &text);
        let model = place.script("m", &[says("Done.")]);
        let ran = place.run(&["run", "--model", &model, "go"]);
        let told = format!(".haft/agents/{file}` was ignored: ");
        assert!(ran.code == 0 && ran.err.contains(&told) && ran.err.contains(why), "{file}: {ran:?}");
    }
    let writes = json!({"calls": [{"name": "write", "arguments": {"path": "b.txt", "content": "b\n"}}]});
    let model = place.script("m", &[writes, says("Done.")]);
    let ran = place.run(&["run", "--model", &model, "--permission", "full", "go"]);
    assert!(ran.code == 0 && place.work().join("b.txt").exists(), "{ran:?}");
    place.write(".haft/config.toml", "foo = 1\n");
    assert_eq!(place.run(&["run", "--model", &model, "go"]).code, 2);
    let undone = place.run(&["undo"]);
    assert!(
        undone.code == 0 && undone.err.contains("going on without the project's configuration"),
        "{undone:?}"
    );
    assert!(!place.work().join("b.txt").exists());
}

#[test]
fn a_prompt_in_a_file_is_said_by_its_name() {
    let place = Place::new();
    let header = "---\ndescription: Fix one thing\nagent: reviewer\n---\n";
    own(&place, "commands/fix.md", &format!("{header}Fix $1 in $ARGUMENTS.\n"));
    place.write(".haft/commands/fix.md", "Not this.");
    place.write(".haft/commands/hi.md", "Say hi.");
    place.write(".haft/commands/dear.md", "---\nmodel: openai/dear\n---\nx");
    let model = place.script("m", &[says("Done.")]);
    let said = |prompt: &[&str]| {
        let ran = place.run(&[&["run", "--json", "--model", &model], prompt].concat());
        let events = ran.events();
        let prompted = events.iter().find(|event| event["type"] == "prompted");
        let text = prompted.map(|event| event["parts"][0]["text"].as_str().unwrap().to_owned());
        (text.unwrap_or_default(), events.first().map(|event| event["agent"].clone()), ran.err)
    };
    let table: [(&[&str], &str, &str); 5] = [
        (&["/fix", "a", "b"], "Fix a in a b.", "reviewer"),
        (&["/fix a b", "--agent", "haft"], "Fix a in a b.", "haft"),
        (&["/hi"], "Say hi.", "haft"),
        (&["/hi", "twice"], "Say hi.\n\ntwice", "haft"),
        (&["/etc/hosts looks odd"], "/etc/hosts looks odd", "haft"),
    ];
    for (prompt, expected, agent) in table {
        let (text, by, err) = said(prompt);
        assert_eq!((text.as_str(), by), (expected, Some(json!(agent))), "{prompt:?} {err}");
    }
    let unknown = said(&["/fxi a"]).2;
    assert!(
        unknown.starts_with("error: there is no command `/fxi`\nhint: did you mean `/fix`? "),
        "{unknown}"
    );
    assert!(said(&["/dear"]).2.contains("a project may not select the model `openai/dear`"));
    // What comes on standard input may be anything.
    let piped = place.run_with_input(&["run", "-q", "--model", &model, "-"], b"/fxi");
    assert_eq!(piped.out, "Done.\n", "{piped:?}");
    let list = place.run(&["commands", "list"]).out;
    assert_eq!(
        list,
        "COMMAND  SOURCE                          DESCRIPTION\n\
         /dear    .haft/commands/dear.md\n\
         /fix     ~/.config/haft/commands/fix.md  Fix one thing\n\
         /hi      .haft/commands/hi.md\n"
    );
}

#[test]
fn a_conversation_knows_commands_too() {
    let place = Place::new();
    place.write(".haft/commands/hi.md", "Say hi to $ARGUMENTS.");
    own(&place, "commands/look.md", "---\nagent: reviewer\n---\nLook.");
    let model = place.script("m", &[says("Hi.")]);
    let ran = place.run_with_input(&["chat", "--model", &model], b"/hi Ann\n/look\n/hx\nexit\n");
    assert_eq!((ran.code, ran.out.matches("Hi.").count()), (0, 1), "{ran:?}");
    assert!(ran.err.contains("error: `/look` names an agent or a model"), "{ran:?}");
    assert!(ran.err.contains("error: there is no command `/hx`\nhint: did you mean `/hi`?"), "{ran:?}");
    let journal = fs::read_to_string(place.journal()).unwrap();
    assert!(journal.contains("Say hi to Ann.") && journal.matches("\"prompted\"").count() == 1, "{journal}");
}
