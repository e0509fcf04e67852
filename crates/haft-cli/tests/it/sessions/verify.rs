//! `haft verify`: a session that is not what was recorded is found, by its chain or by its calls.
#![expect(clippy::print_stderr, reason = "figures are for the person who runs the tests")]
use crate::kit::{
    Place, Ran, Server, bash, call, openai_call, openai_text,
    project::{begin_repository, git},
};
use fastrand::Rng;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader},
    process::Stdio,
};

/// A session with a read, an edit and a command, and its ID.
pub(super) fn recorded(place: &Place) -> String {
    place.write("notes.txt", "one\n");
    begin_repository(&place.work());
    let steps = [
        call("read", json!({"path": "notes.txt"})),
        call("edit", json!({"path": "notes.txt", "old_text": "one", "new_text": "two"})),
        bash("cat notes.txt >copy.txt"),
        json!({"say": "Done."}),
    ];
    let model = place.script("m", &steps);
    let ran = place.run(&["run", "--json", "--permission", "accept-edits", "--model", &model, "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.events()[0]["session"].as_str().unwrap().to_owned()
}

pub(super) fn verify(place: &Place, arguments: &[&str]) -> Ran {
    place.run(&[&["verify"], arguments].concat())
}

/// Of a verification that fails: what it says is different.
pub(super) fn difference(place: &Place, arguments: &[&str]) -> String {
    let ran = verify(place, &[arguments, &["--json"]].concat());
    assert_eq!(ran.code, 5, "{ran:?}");
    let object = &ran.events()[0];
    assert_eq!(object["verified"], false, "{ran:?}");
    object["difference"].as_str().unwrap().to_owned()
}

/// As far as the files that it changed lie in the repository as they were: an export has no contents.
#[test]
fn an_export_is_verified_in_a_clone() {
    let place = Place::new();
    let id = recorded(&place);
    let export = place.path().join("session.jsonl");
    std::fs::write(&export, place.run(&["sessions", "export", &id, "--format", "json"]).out).unwrap();
    let (other, export) = (Place::new(), export.display().to_string());
    let work = other.work().display().to_string();
    git(&other.path(), &["clone", "--quiet", &place.work().display().to_string(), &work]);
    let ran = verify(&other, &[&export]);
    assert!(ran.code == 0 && ran.out.contains("3 calls made again"), "{ran:?}");
}

#[test]
fn a_session_that_went_on_after_a_crash_is_verified() {
    let place = Place::in_sight();
    let model = place.script("m", &[bash("sleep 1000; echo x > k.txt"), json!({"say": "Done."})]);
    let words = ["run", "--json", "--permission", "full", "--model", &model, "go"];
    let mut child = place.haft(&words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let opened: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
    lines.find(|line| line.contains("tool_started")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let went_on = place.run(&["run", "-c", "--model", &model, "And now?"]);
    assert_eq!(went_on.code, 0, "{went_on:?}");
    let journal = fs::read_to_string(place.journal()).unwrap();
    assert!(
        journal.contains("interrupted: its process ended before it did; nothing that it changed was kept")
    );
    let ran = verify(&place, &[opened["session"].as_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn what_names_several_sessions_or_no_commit_is_not_verified() {
    let place = Place::new();
    place.write("notes.txt", "one\n");
    begin_repository(&place.work());
    let model = place.script("m", &[json!({"say": "Done."})]);
    for _ in 0..2 {
        assert_eq!(place.run(&["run", "--model", &model, "go"]).code, 0);
    }
    for (target, expected) in [
        ("20", "the ID `20` is ambiguous"),
        ("HEAD..HEAD", "holds no commits"),
        ("nowhere", "it is no session"),
    ] {
        let ran = verify(&place, &[target]);
        assert!(ran.code == 2 && ran.err.contains(expected), "{target}: {ran:?}");
    }
}

#[test]
fn a_session_that_committed_is_verified_by_its_files() {
    let place = Place::in_sight();
    place.write("notes.txt", "one\n");
    begin_repository(&place.work());
    let commit = bash("echo two >>notes.txt; git add notes.txt; git commit -qm two");
    let model = place.script("m", &[commit, json!({"say": "Done."})]);
    let ran = place.run(&["run", "--json", "--permission", "accept-edits", "--model", &model, "go"]);
    let id = ran.events()[0]["session"].as_str().unwrap().to_owned();
    assert_eq!(git(&place.work(), &["log", "--format=%s"]), "two\nBegin", "{ran:?}");
    let ran = verify(&place, &[&id]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn what_was_denied_or_not_offered_does_not_run_in_a_verification() {
    let rule = "[rules]\ndeny = [\"write:notes.txt\", \"execute:touch *\"]\n";
    for (options, configuration) in [
        (&["--permission", "read-only"][..], ""),
        (&["--permission", "accept-edits", "--tools", "read"], ""),
        (&["--plan"], ""),
        (&["--permission", "accept-edits"], rule),
    ] {
        let place = Place::new();
        place.configure(configuration);
        place.write("notes.txt", "one\n");
        begin_repository(&place.work());
        let edit = call("edit", json!({"path": "notes.txt", "old_text": "one", "new_text": "two"}));
        let read = call("read", json!({"path": "notes.txt"}));
        let steps = [read.clone(), edit, bash("touch made"), read, json!({"say": "Done."})];
        let model = place.script("m", &steps);
        let ran = place.run(&[&["run", "--json", "--model", &model], options, &["go"]].concat());
        assert_eq!(place.read("notes.txt").as_deref(), Some("one\n"), "{options:?}");
        // The rule that denied it is not there any more.
        place.configure("");
        let verified = verify(&place, &[ran.events()[0]["session"].as_str().unwrap()]);
        assert_eq!(verified.code, 0, "{options:?}: {verified:?}");
    }
}

#[test]
fn an_interrupted_call_is_not_made_again() {
    let place = Place::new();
    place.write("notes.txt", "one\n");
    begin_repository(&place.work());
    let model = place.script("m", &[bash("echo begun; sleep 600"), json!({"say": "Done."})]);
    let mut run = place.haft(&["run", "--json", "--permission", "accept-edits", "--model", &model, "go"]);
    let mut run = run.stdout(std::process::Stdio::null()).spawn().unwrap();
    let sessions = place.path().join("home/sessions");
    let has_session = || fs::read_dir(&sessions).is_ok_and(|mut folders| folders.next().is_some());
    let has_begun = || fs::read_to_string(place.journal()).is_ok_and(|text| text.contains("tool_started"));
    while !has_session() || !has_begun() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let kill = std::process::Command::new("kill").args(["-s", "INT", &run.id().to_string()]).status();
    assert!(kill.unwrap().success() && run.wait().unwrap().code() == Some(130));
    let id = place.journal().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let verified = verify(&place, &[&id]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

#[test]
fn a_job_is_verified_and_what_it_published_is_not_published_again() {
    let project = crate::kit::project::Project::new();
    let write = call("write", json!({"path": "new.txt", "content": "x\n"}));
    let publish = call("publish", json!({"title": "New"}));
    // By the program, and by the model.
    for steps in [&[write.clone(), json!({"say": "Done."})][..], &[write, publish, json!({"say": "Done."})]] {
        let built = project.build(&project.place.script("steps", steps));
        assert_eq!(built.code, 0, "{built:?}");
        let opened = project.opened.lock().unwrap().len();
        let job = project.jobs()[0]["job"].as_str().unwrap().to_owned();
        let bundle = project.place.path().join(format!("{job}.zip")).display().to_string();
        assert_eq!(project.run(&["bundle", &job, "--out", &bundle]).code, 0);
        for words in [&[job.as_str()][..], &[&job, "--permission", "full"], &[&bundle]] {
            let verified = project.run(&[&["verify"], words].concat());
            assert_eq!(verified.code, 0, "{words:?}: {verified:?}");
        }
        assert_eq!(project.opened.lock().unwrap().len(), opened);
    }
}

#[test]
fn a_session_is_verified_whatever_came_of_its_files_since() {
    let place = Place::new();
    let id = recorded(&place);
    let ran = verify(&place, &[&id]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("3 calls made again, with the same results"), "{ran:?}");
    // What is committed later does not count: the session began at a commit.
    place.write("notes.txt", "changed since\n");
    git(&place.work(), &["commit", "--quiet", "--all", "-m", "Later"]);
    let object = &verify(&place, &[&id, "--json"]).events()[0];
    let lines = fs::read_to_string(place.journal()).unwrap().lines().count();
    let found = (&object["verified"], &object["entries"], &object["difference"], &object["calls"]);
    assert_eq!(found, (&json!(true), &json!(lines), &Value::Null, &json!(3)));
    // The journal by its path, in the repository.
    let path = place.journal();
    let ran = verify(&place, &[&path.display().to_string()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = verify(&place, &["nothing-of-this-name"]);
    assert_eq!(ran.code, 2, "{ran:?}");
}

#[test]
fn a_session_outside_of_a_repository_begins_in_the_files_that_are_there() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let edit = json!({"path": "a.txt", "old_text": "one", "new_text": "two"});
    let model = place
        .script("m", &[call("read", json!({"path": "a.txt"})), call("edit", edit), json!({"say": "Done."})]);
    let ran = place.run(&["run", "--json", "--permission", "accept-edits", "--model", &model, "go"]);
    let id = ran.events()[0]["session"].as_str().unwrap().to_owned();
    let ran = verify(&place, &[&id]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_changed_byte_anywhere_in_a_journal_is_found() {
    let place = Place::new();
    let id = recorded(&place);
    let whole = fs::read(place.journal()).unwrap();
    let mut random = Rng::with_seed(7);
    let rounds = std::env::var("HAFT_SOAK").map_or(24, |rounds| rounds.parse().unwrap());
    let places: Vec<usize> = match rounds >= whole.len() {
        true => (0..whole.len()).collect(),
        false => (0..rounds).map(|_| random.usize(..whole.len())).collect(),
    };
    for at in &places {
        let mut changed = whole.clone();
        changed[*at] ^= 1 << random.u32(..8);
        fs::write(place.journal(), &changed).unwrap();
        let ran = verify(&place, &[&id, "--chain-only"]);
        assert_eq!(ran.code, 5, "byte {at}: {ran:?}");
    }
    eprintln!("{} of {} changed bytes were found", places.len(), whole.len());
    fs::write(place.journal(), &whole).unwrap();
    assert_eq!(verify(&place, &[&id, "--chain-only"]).code, 0);
}

#[test]
fn the_first_difference_of_a_journal_is_named() {
    let place = Place::new();
    let id = recorded(&place);
    let whole = fs::read_to_string(place.journal()).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let bare: String =
        lines.iter().map(|line| line[..line.rfind(",\"chain\"").unwrap()].to_owned() + "}\n").collect();
    let moved = [&[lines[0], lines[2], lines[1]], &lines[3..]].concat().concat();
    let table = [
        ("torn", whole[..whole.len() - 5].to_owned(), "bytes are half an entry"),
        (
            "a changed word",
            whole.replacen("\"go\"", "\"no\"", 1),
            "line 2: it, or a line before it, was changed",
        ),
        ("another order", moved, "line 2: it, or a line before it"),
        ("a line less", [&lines[..3], &lines[4..]].concat().concat(), "line 4: it, or a line before it"),
        ("a line more", whole.clone() + &bare[..bare.find('\n').unwrap() + 1], "it has no chain value"),
        ("without a chain", bare, "no entry has a chain value"),
    ];
    for (what, journal, expected) in table {
        fs::write(place.journal(), journal).unwrap();
        let found = difference(&place, &[&id]);
        assert!(found.contains(expected), "{what}: {found}");
    }
}

#[test]
fn calls_that_give_other_changes_are_found_behind_a_chain_that_holds() {
    let place = Place::new();
    let id = recorded(&place);
    let whole = fs::read_to_string(place.journal()).unwrap();
    let forged = whole.replace("\"new_text\":\"two\"", "\"new_text\":\"six\"");
    assert_ne!(forged, whole);
    fs::write(place.journal(), haft_core::chain::rechained(&forged)).unwrap();
    assert_eq!(verify(&place, &[&id, "--chain-only"]).code, 0);
    let found = difference(&place, &[&id]);
    assert!(
        found.contains("`edit` left other files") || found.contains("`edit` gave something else"),
        "{found}"
    );
}

// H-132
#[test]
fn what_no_call_did_or_gave_is_found_behind_a_chain_that_holds() {
    let place = Place::new();
    place.write("run.sh", "#!/bin/sh\n");
    begin_repository(&place.work());
    let steps =
        [bash("cat run.sh"), bash("chmod 755 run.sh"), bash("ln -s run.sh link"), json!({"say": "Done."})];
    let model = place.script("m", &steps);
    let ran = place.run(&["run", "--json", "--permission", "accept-edits", "--model", &model, "go"]);
    let id = ran.events()[0]["session"].as_str().unwrap().to_owned();
    let whole = fs::read_to_string(place.journal()).unwrap();
    let lines: Vec<Value> = whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_type = |kind: &str| lines.iter().position(|line| line["type"] == kind).unwrap();
    let (started, ended, staged) = (of_type("tool_started"), of_type("tool_ended"), of_type("staged"));
    let link = lines.iter().rposition(|line| line["type"] == "staged").unwrap();
    let with = |place: usize, change: &dyn Fn(&mut Value)| {
        let mut lines = lines.clone();
        change(&mut lines[place]);
        lines
    };
    let and = |mut line: Value, changes: Value| {
        line.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        line
    };
    let beside = |changes: Value| {
        let mut lines = lines.clone();
        lines.insert(ended + 1, and(lines[ended].clone(), changes));
        lines
    };
    let table = [
        ("honest", lines.clone(), ""),
        (
            "a result of no call",
            beside(json!({"call": "zz", "name": "test", "content": "8 passed"})),
            "the call `zz`, which no entry before it made",
        ),
        ("a second result", beside(json!({"content": "8 passed"})), "which had ended"),
        ("no result", with(ended, &|line| line["type"] = json!("continued")), "has no result"),
        (
            "a text for people",
            with(ended, &|line| line["shown"] = json!({"text": "812 passed"})),
            "showed something else",
        ),
        (
            "nothing for people",
            with(ended, &|line| line["shown"] = json!("nothing")),
            "showed something else",
        ),
        (
            "changes of no call",
            {
                let mut lines = lines.clone();
                lines.insert(staged, and(lines[staged].clone(), json!({"call": "zz"})));
                lines
            },
            "the call `zz`, which no entry before it made",
        ),
        (
            "a check of no goal",
            beside(json!({"call": "check_999", "name": "test", "content": "8 passed"})),
            "the call `check_999`",
        ),
        ("another name", with(started, &|line| line["name"] = json!("test")), "ran with other arguments"),
        (
            "other arguments",
            with(started, &|line| line["arguments"]["command"] = json!("make")),
            "ran with other arguments",
        ),
        (
            "other permissions",
            with(staged, &|line| line["changes"][0]["after_mode"] = json!(0o644)),
            "left other files",
        ),
        (
            "rights of the owner",
            with(staged, &|line| line["changes"][0]["after_mode"] = json!(0o4755)),
            "left other files",
        ),
        (
            "a file in place of a link",
            with(link, &|line| line["changes"][0]["after_mode"] = json!(0o644)),
            "left other files",
        ),
    ];
    for (what, lines, expected) in table {
        let mut forged = String::new();
        for (seq, mut line) in lines.into_iter().enumerate() {
            line.as_object_mut().unwrap().remove("chain");
            forged += &format!("{}\n", and(line, json!({"seq": seq})));
        }
        fs::write(place.journal(), haft_core::chain::rechained(&forged)).unwrap();
        match expected {
            "" => assert_eq!(verify(&place, &[&id]).code, 0),
            expected => {
                let found = difference(&place, &[&id]);
                assert!(found.contains(expected), "{what}: {found}");
            }
        }
    }
}

#[test]
fn a_session_that_went_on_behind_an_undo_inside_a_turn_is_verified() {
    let place = Place::new();
    place.write("notes.txt", "one\n");
    begin_repository(&place.work());
    let write = |name: &str| call("write", json!({"path": name, "content": "x\n"}));
    let steps =
        [write("a.txt"), write("b.txt"), json!({"say": "Done."}), write("c.txt"), json!({"say": "Done."})];
    let model = place.script("m", &steps);
    let options = ["--permission", "accept-edits", "--model", &model];
    let ran = place.run(&[&["run", "--json"], &options[..], &["go"]].concat());
    let id = ran.events()[0]["session"].as_str().unwrap().to_owned();
    assert_eq!(place.run(&["undo", "--calls", "1"]).code, 0);
    let ran = place.run(&[&["run", "-c"], &options[..], &["and now"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        verify(&place, &[&id, "--chain-only"]).code,
        0,
        "{:?}",
        verify(&place, &[&id, "--chain-only"])
    );
    let trailer = place.run(&["bundle", &id, "--trailer"]);
    assert_eq!(trailer.code, 0, "{trailer:?}");
}

/// How long its model took decides what a subagent leaves running, and a replay waits for no model.
#[test]
fn a_subagent_that_a_slow_model_drove_is_verified() {
    let place = Place::new();
    place.write("notes.txt", "one\n");
    begin_repository(&place.work());
    let server = Server::answering(|_, request| {
        let messages = request["messages"].as_array().unwrap();
        let first = messages.iter().find(|message| message["role"] == "user").unwrap().to_string();
        let replies = messages.iter().filter(|message| message["role"] == "assistant").count();
        match (first.contains("the part"), replies) {
            (false, 0) => openai_call("delegate", &json!({"task": "Do the part."})),
            (true, 0) => openai_call("bash", &json!({"command": "sleep 0.5", "background": true})),
            (true, 1) => {
                std::thread::sleep(std::time::Duration::from_secs(2));
                openai_text("Done.")
            }
            _ => openai_text("Done."),
        }
    });
    let url = format!("{}/v1", server.address);
    let words =
        ["run", "--json", "--permission", "full", "--base-url", &url, "--model", "openai/gpt-5", "go"];
    let ran = Ran::from(place.haft(&words).env("OPENAI_API_KEY", "k").output().unwrap());
    assert!(ran.code == 0 && !ran.out.contains("ended with the subagent"), "{ran:?}");
    let ran = verify(&place, &[ran.events()[0]["session"].as_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

// H-132
#[test]
fn a_commit_holds_the_permissions_and_links_that_its_session_left() {
    for (shell, expected) in [
        ("true", ""),
        ("chmod 755 made.txt", "`made.txt` is not as any call"),
        ("rm link; printf run.sh >link", "`link` is not as any call"),
    ] {
        let place = Place::new();
        place.write("run.sh", "#!/bin/sh\n");
        begin_repository(&place.work());
        let step = bash("chmod 755 run.sh; echo x >made.txt; ln -s run.sh link");
        let model = place.script("m", &[step, json!({"say": "Done."})]);
        let ran = place.run(&["run", "--json", "--permission", "accept-edits", "--model", &model, "go"]);
        let id = ran.events()[0]["session"].as_str().unwrap().to_owned();
        let trailer = place.run(&["bundle", &id, "--trailer"]).out;
        let ran = std::process::Command::new("sh").args(["-c", shell]).current_dir(place.work()).status();
        assert!(ran.unwrap().success());
        git(&place.work(), &["add", "--all"]);
        git(&place.work(), &["commit", "--quiet", "--message", "More", "--message", trailer.trim()]);
        match expected {
            "" => assert_eq!(verify(&place, &["HEAD"]).code, 0),
            expected => {
                let found = difference(&place, &["HEAD"]);
                assert!(found.contains(expected), "{shell}: {found}");
            }
        }
    }
}

#[test]
fn a_branch_is_no_beginning_of_a_session() {
    let place = Place::new();
    let id = recorded(&place);
    let commit = git(&place.work(), &["rev-parse", "HEAD"]);
    let branch = git(&place.work(), &["rev-parse", "--abbrev-ref", "HEAD"]);
    let whole = fs::read_to_string(place.journal()).unwrap();
    let forged = whole.replace(&format!("\"commit\":\"{commit}\""), &format!("\"commit\":\"{branch}\""));
    assert_ne!(forged, whole);
    fs::write(place.journal(), haft_core::chain::rechained(&forged)).unwrap();
    let ran = verify(&place, &[&id]);
    assert!(ran.code == 1 && ran.err.contains("which is not the hash of a commit"), "{ran:?}");
}

// A session of another person may name a profile that lies in the clone.
#[test]
fn a_profile_that_a_session_names_does_not_turn_the_sandbox_off() {
    let place = Place::in_sight();
    let profile = place.run(&["profiles", "show", "default"]).out;
    let profile: String =
        profile.lines().filter(|line| !line.starts_with("sandbox")).map(|line| format!("{line}\n")).collect();
    place.write("own.toml", format!("sandbox = \"off\"\n{profile}"));
    begin_repository(&place.work());
    let marker = place.path().join("marker");
    let steps = [bash(&format!("touch {}; echo made", marker.display())), json!({"say": "Done."})];
    let model = place.script("m", &steps);
    let own = place.work().join("own.toml").display().to_string();
    let options = ["run", "--json", "--permission", "full", "--profile", &own, "--model", &model, "go"];
    let ran = place.run(&options);
    assert!(ran.code == 0 && marker.exists(), "{ran:?}");
    fs::remove_file(&marker).unwrap();
    let id = ran.events()[0]["session"].as_str().unwrap().to_owned();
    verify(&place, &[&id, "--permission", "full"]);
    assert!(!marker.exists());
    place.configure("sandbox = \"off\"\n");
    verify(&place, &[&id, "--permission", "full"]);
    assert!(marker.exists(), "the user decides");
}

#[test]
fn a_journal_that_began_without_a_chain_says_so() {
    let place = Place::new();
    let id = recorded(&place);
    let whole = fs::read_to_string(place.journal()).unwrap();
    let bare: String =
        whole.lines().map(|line| line[..line.rfind(",\"chain\"").unwrap()].to_owned() + "}\n").collect();
    fs::write(place.journal(), &bare).unwrap();
    let model = place.script("more", &vec![json!({"say": "Done."}); 5]);
    let ran = place.run(&["run", "--session", &id, "--model", &model, "more"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = verify(&place, &[&id]);
    let older = format!("{} entries are older than the chain", bare.lines().count());
    assert!(ran.code == 0 && ran.out.contains(&older), "{ran:?}");
}

/// Commits all, with the trailer of `session` in the message; the commit.
pub(super) fn commit_for(place: &Place, session: &str, title: &str) -> String {
    let file = place.path().join("session.zip").display().to_string();
    let ran = place.run(&["bundle", session, "--out", &file, "--trailer", "--json"]);
    let trailer = ran.out.lines().find(|line| line.starts_with("Haft-Session: ")).unwrap();
    git(&place.work(), &["add", "--all"]);
    git(&place.work(), &["commit", "--quiet", "--message", title, "--message", trailer]);
    git(&place.work(), &["rev-parse", "HEAD"]).trim().to_owned()
}

#[test]
fn the_commits_of_a_range_hold_what_their_sessions_left() {
    let place = Place::new();
    let id = recorded(&place);
    git(&place.work(), &["branch", "begin"]);
    let commit = commit_for(&place, &id, "Two");
    for target in ["begin..HEAD", "HEAD", &commit] {
        let ran = verify(&place, &[target]);
        assert_eq!(ran.code, 0, "{target}: {ran:?}");
        assert!(ran.out.contains("1 commit holds what the sessions left that they name"), "{ran:?}");
        assert!(ran.out.contains("3 calls made again, with the same results"), "{ran:?}");
    }
    // A note in place of the trailer.
    git(&place.work(), &["commit", "--quiet", "--amend", "--message", "Two"]);
    let unnamed = difference(&place, &["begin..HEAD"]);
    assert!(unnamed.contains("names no session"), "{unnamed}");
    let trailer = place.run(&["bundle", &id, "--trailer"]).out;
    git(&place.work(), &["notes", "--ref=haft", "add", "--message", &trailer]);
    let object = &verify(&place, &["begin..HEAD", "--json", "--chain-only"]).events()[0];
    assert_eq!((&object["verified"], &object["commits"]), (&json!(true), &json!(1)));
}

#[test]
fn a_commit_that_its_session_did_not_make_is_found() {
    let table = [
        ("notes.txt", "two, and more\n", "`notes.txt` is not as any call of its session left it"),
        ("stray.txt", "mine\n", "changes `stray.txt`, which no call of its session changed"),
    ];
    for (file, text, expected) in table {
        let place = Place::new();
        let id = recorded(&place);
        place.write(file, text);
        commit_for(&place, &id, "More");
        let found = difference(&place, &["HEAD"]);
        assert!(found.contains(expected), "{found}");
    }
    let place = Place::new();
    let id = recorded(&place);
    commit_for(&place, &id, "Two");
    let message = git(&place.work(), &["log", "-1", "--format=%B"]);
    let head = message.trim().rsplit_once(':').unwrap().1.to_owned();
    let other = message.replace(&head, &"0".repeat(64));
    git(&place.work(), &["commit", "--quiet", "--amend", "--message", &other]);
    let found = difference(&place, &["HEAD"]);
    assert!(found.contains("which no entry of the session"), "{found}");
    let other = message.replace(&id, "20200101-000000-aaaaaaaaaaaaaaaa");
    git(&place.work(), &["commit", "--quiet", "--amend", "--message", &other]);
    let ran = verify(&place, &["HEAD"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("is not on this machine"), "{ran:?}");
}

#[test]
fn what_a_merge_adds_by_itself_is_found() {
    let place = Place::new();
    let id = recorded(&place);
    git(&place.work(), &["branch", "begin"]);
    commit_for(&place, &id, "Two");
    git(&place.work(), &["checkout", "--quiet", "-b", "side", "begin"]);
    git(&place.work(), &["commit", "--quiet", "--allow-empty", "--message", "Nothing"]);
    git(&place.work(), &["merge", "--quiet", "--no-ff", "--no-edit", "-"]);
    assert_eq!(verify(&place, &["begin..HEAD", "--chain-only"]).code, 0);
    place.write("stray.txt", "mine\n");
    git(&place.work(), &["add", "stray.txt"]);
    git(&place.work(), &["commit", "--quiet", "--amend", "--no-edit"]);
    let found = difference(&place, &["begin..HEAD", "--chain-only"]);
    assert!(found.contains("names no session"), "{found}");
}

/// In the copy, no file has another name.
#[test]
fn a_session_that_cut_a_hard_link_is_verified() {
    let place = Place::new();
    let file = place.write("notes.txt", "one\n");
    fs::hard_link(&file, place.work().join("other.txt")).unwrap();
    let edit = call("edit", json!({"path": "notes.txt", "old_text": "one", "new_text": "two"}));
    let model =
        place.script("m", &[call("read", json!({"path": "notes.txt"})), edit, json!({"say": "Done."})]);
    let ran = place.run(&["run", "--json", "--permission", "full", "--model", &model, "go"]);
    assert_eq!((ran.code, place.read("other.txt").as_deref()), (0, Some("one\n")), "{ran:?}");
    let verified = verify(&place, &[ran.events()[0]["session"].as_str().unwrap()]);
    assert_eq!(verified.code, 0, "{verified:?}");
}
