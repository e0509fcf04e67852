//! Devices, pipes and huge files in the place of what a person or a project wrote. The real binary.
use crate::kit::{Place, Ran};
use serde_json::json;
use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// Who takes longer waits for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// What comes of a command that may hang.
fn ended(place: &Place, arguments: &[&str]) -> Option<Ran> {
    let mut haft = place.haft(arguments);
    let child = haft.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id().to_string();
    let (sender, output) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output().unwrap()));
    let output = output.recv_timeout(PATIENCE);
    if output.is_err() {
        Command::new("kill").args(["-KILL", &id]).status().unwrap();
    }
    output.ok().map(Ran::from)
}

const KINDS: [(&str, &str); 3] =
    [("a device", "not a regular file"), ("a pipe", "not a regular file"), ("a huge file", "more than 1 MB")];

fn put(kind: &str, path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match kind {
        "a device" => symlink("/dev/zero", path).unwrap(),
        "a pipe" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        _ => fs::write(path, "x = 1 # \n".repeat(200_000)).unwrap(),
    }
}

#[test]
fn configurations_and_agents_are_files_of_a_usual_size() {
    for (kind, why) in KINDS {
        for name in [
            "work/.haft/config.toml",
            "work/.haft/agents/x.md",
            "person/.config/haft/config.toml",
            "person/.config/haft/agents/x.md",
        ] {
            let place = Place::new();
            let model = place.script("m", &[json!({"say": "hello"})]);
            let file = place.path().join(name);
            put(kind, &file);
            // An agent that came with the repository is ignored.
            let code = if name == "work/.haft/agents/x.md" { 0 } else { 2 };
            let other = if name.contains("agents") { vec!["agents", "list"] } else { vec!["config", "show"] };
            for command in [vec!["run", "--model", &model, "go"], other] {
                let ran =
                    ended(&place, &command).unwrap_or_else(|| panic!("{kind} at {name}: {command:?} hangs"));
                let told = ran.err.replace("points outside", "not a regular file");
                assert!(
                    ran.code == code && told.contains(why) && told.contains(&file.display().to_string()),
                    "{kind} at {name}: {ran:?}"
                );
            }
        }
    }
}

#[test]
fn notes_skills_and_commands_that_are_no_files_are_left_out() {
    for (kind, why) in KINDS {
        for name in [
            "work/AGENTS.md",
            "work/.haft/skills/x/SKILL.md",
            "work/.haft/commands/x.md",
            "person/.config/haft/AGENTS.md",
            "person/.config/haft/skills/x/SKILL.md",
            "person/.config/haft/commands/x.md",
        ] {
            let place = Place::new();
            let model = place.script("m", &[json!({"say": "hello"})]);
            let file = place.path().join(name);
            put(kind, &file);
            let is_command = name.contains("commands");
            let command =
                if is_command { vec!["commands", "list"] } else { vec!["run", "--model", &model, "go"] };
            let ran = ended(&place, &command);
            let ran = ran.unwrap_or_else(|| panic!("{kind} at {name} hangs"));
            let told = ran.err.replace("points outside", "not a regular file");
            assert!(
                told.contains(&file.display().to_string()) && told.contains(why),
                "{kind} at {name}: {ran:?}"
            );
        }
    }
}

#[test]
fn other_files_that_a_person_names_are_looked_at_first() {
    let place = Place::new();
    let model = place.script("m", &[json!({"say": "hello"})]);
    for (kind, why) in KINDS {
        let profile = place.path().join(format!("{}.toml", kind.replace(' ', "-")));
        put(kind, &profile);
        let ran = ended(&place, &["run", "--model", &model, "--profile", profile.to_str().unwrap(), "go"]);
        let ran = ran.unwrap_or_else(|| panic!("{kind} as a profile hangs"));
        assert!(ran.code == 2 && ran.err.contains(why), "{kind}: {ran:?}");
    }
    let picture = place.path().join("zero.png");
    put("a pipe", &picture);
    let ran = ended(&place, &["run", "--model", &model, "--image", picture.to_str().unwrap(), "go"]);
    assert!(ran.is_some_and(|ran| ran.code == 2 && ran.err.contains("not a regular file")));
}

// A pipe in the place of what tools and jobs look at by themselves
#[test]
fn a_project_made_of_pipes_holds_nobody_up() {
    let place = Place::new();
    let git = |words: &[&str]| {
        assert!(Command::new("git").args(words).current_dir(place.work()).output().unwrap().status.success());
    };
    git(&["init", "--quiet"]);
    put("a pipe", &place.work().join("package.json"));
    put("a pipe", &place.work().join("notes.txt"));
    let review = r#"{"verdict":"comment","summary":"s","comments":[{"path":"notes.txt","line":1,"comment":"c","severity":"minor"}]}"#;
    for call in [
        ["test", "{}"],
        ["review", review],
        ["grep", r#"{"pattern":"x"}"#],
        ["git", r#"{"action":"status"}"#],
    ] {
        let ran = ended(&place, &["tools", "call", call[0], call[1], "--permission", "full"]);
        assert!(ran.is_some(), "{call:?} hangs");
    }
    fs::remove_file(place.work().join(".git/config")).unwrap();
    put("a pipe", &place.work().join(".git/config"));
    let model = place.script("m", &[json!({"say": "hello"})]);
    let ran = ended(&place, &["build", "--model", &model, "--description", "Do it."]);
    let ran = ran.expect("a job hangs");
    assert!(ran.code == 2 && ran.err.contains(".git/config` is not a regular file"), "{ran:?}");
}
