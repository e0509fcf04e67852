//! What another person's session or repository cannot do where it is verified or replayed, nor one's own a second time.
use super::verify::{commit_for, recorded, verify};
use crate::kit::{
    Place, bash, call,
    drip::Drip,
    project::{begin_repository, git},
};
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt};

// A command that gives the same without what it could reach is made again.
#[test]
fn what_a_session_sent_or_wrote_elsewhere_is_not_done_again() {
    let place = Place::in_sight();
    let (server, log) = (Drip::start(|_| None), place.path().join("shared/log"));
    let host = server.address.strip_prefix("http://").unwrap();
    let reaching = format!(
        "network = \"{host}\"\n[commands]\nprivate_hosts = true\nwritable = [{:?}]\n",
        log.parent().unwrap()
    );
    fs::create_dir(log.parent().unwrap()).unwrap();
    place.write("notes.txt", "one\n");
    begin_repository(&place.work());
    let steps = [
        bash(&format!(
            "(echo once >>{}; curl -sm 9 -d x http://{host}/) 2>/dev/null; echo made >made.txt",
            log.display()
        )),
        call("edit", json!({"path": "notes.txt", "old_text": "one", "new_text": "two"})),
        call("read", json!({"path": "made.txt"})),
        json!({"say": "Done."}),
    ];
    let model = place.script("m", &steps);
    let run = || {
        place.write("notes.txt", "one\n");
        let ran = place.run(&["run", "--json", "--permission", "accept-edits", "--model", &model, "go"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.events()[0]["session"].as_str().unwrap().to_owned()
    };
    // What could do nothing of this when it was recorded has no more rights today.
    let harmless = run();
    place.configure(&reaching);
    let done = || (server.requests(), fs::read_to_string(&log).unwrap_or_default());
    assert_eq!(done(), (0, String::new()));
    let reached = run();
    assert_eq!(done(), (1, "once\n".to_owned()));
    for id in [&harmless, &reached] {
        made_again(&place, id, "3 calls made again", None);
    }
    assert_eq!(done(), (1, "once\n".to_owned()));
}

/// Verifies and replays the session in each mode.
fn made_again(place: &Place, id: &str, made: &str, not_again: Option<&str>) {
    for mode in ["read-only", "ask", "full"] {
        let verified = verify(place, &[id, "--permission", mode]);
        let says = |what: &str| verified.out.contains(what);
        assert!(verified.code == 0 && says(made), "{mode}: {verified:?}");
        assert_eq!(says("not made again"), not_again.is_some_and(says), "{mode}: {verified:?}");
        let replayed = place.run(&["sessions", "replay", id, "--permission", mode]);
        assert_eq!(replayed.code, 0, "{mode}: {replayed:?}");
    }
}

/// What it left when it was recorded is there for the calls behind it, and nothing else that it leaves without a network.
#[test]
fn a_command_that_needs_the_network_is_not_compared() {
    let place = Place::in_sight();
    let server = Drip::start(|piece| (piece == 0).then(|| "page\n".to_owned()));
    let host = server.address.strip_prefix("http://").unwrap();
    place.configure(&format!("network = \"{host}\"\n[commands]\nprivate_hosts = true\n"));
    place.write("notes.txt", "one\n");
    begin_repository(&place.work());
    let ask = format!(
        "curl -sm 9 http://{host}/ -o page.txt && rm notes.txt || {{ echo no >failed.txt; exit 1; }}"
    );
    let steps = [
        bash(&ask),
        bash("ls"),
        call("write", json!({"path": "notes.txt", "content": "two\n"})),
        bash("cat notes.txt; echo more >>page.txt; wc -l <page.txt"),
        json!({"say": "Done."}),
    ];
    let model = place.script("m", &steps);
    let ran = place.run(&["run", "--json", "--permission", "accept-edits", "--model", &model, "go"]);
    assert_eq!((ran.code, server.requests()), (0, 1), "{ran:?}");
    let id = ran.events()[0]["session"].as_str().unwrap().to_owned();
    place.write("notes.txt", "one\n");
    made_again(&place, &id, "3 calls made again", Some("1 call was not made again"));
    assert_eq!(server.requests(), 1);
}

/// Below the top of a repository, and in a linked work tree.
#[test]
fn a_command_that_needs_a_repository_outside_of_the_workspace_is_not_compared() {
    let place = Place::in_sight();
    place.write("sub/notes.txt", "one\n");
    begin_repository(&place.work());
    let linked = place.path().join("linked");
    git(&place.work(), &["worktree", "add", "-q", linked.to_str().unwrap()]);
    let steps = [
        bash("git log --format=%s; git add -A && git commit -qm Two; echo made >made.txt"),
        bash("cat made.txt; ls"),
        call("write", json!({"path": "made.txt", "content": "two\n"})),
        json!({"say": "Done."}),
    ];
    let model = place.script("m", &steps);
    for folder in [place.work().join("sub"), linked] {
        let folder = folder.to_str().unwrap();
        let words =
            ["run", "--json", "--permission", "accept-edits", "--model", &model, "--cwd", folder, "go"];
        let ran = place.run(&words);
        assert_eq!(ran.code, 0, "{ran:?}");
        let id = ran.events()[0]["session"].as_str().unwrap().to_owned();
        made_again(&place, &id, "2 calls made again", Some("1 call was not made again"));
    }
}

/// A name in `.gitignore` may be that of one of Git's own folders.
#[test]
fn what_git_ignores_does_not_apply_to_its_own_folder() {
    let place = Place::in_sight();
    place.write(".gitignore", "logs\nobjects\nHEAD\n");
    place.write("notes.txt", "one\n");
    begin_repository(&place.work());
    let model =
        place.script("m", &[bash("git log -g --format=%gs; git status --short"), json!({"say": "Done."})]);
    let ran = place.run(&["run", "--json", "--permission", "accept-edits", "--model", &model, "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = ran.events()[0]["session"].as_str().unwrap().to_owned();
    made_again(&place, &id, "1 call made again", None);
}

#[test]
fn a_program_that_checks_signatures_is_not_run_for_commits() {
    let place = Place::new();
    let id = recorded(&place);
    commit_for(&place, &id, "Two");
    let (work, ran) = (place.work(), place.path().join("ran"));
    let plain = git(&work, &["cat-file", "commit", "HEAD"]);
    let (header, message) = plain.split_once("\n\n").unwrap();
    let (begin, end) = ("-----BEGIN PGP SIGNATURE-----", "-----END PGP SIGNATURE-----");
    let signed = place.path().join("signed");
    fs::write(&signed, format!("{header}\ngpgsig {begin}\n \n eA==\n {end}\n\n{message}")).unwrap();
    let signed = git(&work, &["hash-object", "-t", "commit", "-w", &signed.display().to_string()]);
    git(&work, &["update-ref", "HEAD", signed.trim()]);
    let gpg = place.path().join("gpg.sh");
    fs::write(&gpg, format!("#!/bin/sh\necho >>'{}'\n", ran.display())).unwrap();
    fs::set_permissions(&gpg, fs::Permissions::from_mode(0o755)).unwrap();
    git(&work, &["config", "log.showSignature", "true"]);
    git(&work, &["config", "gpg.program", &gpg.display().to_string()]);
    let verified = verify(&place, &["--chain-only", "HEAD"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(!ran.exists(), "{verified:?}");
}

#[test]
fn an_undo_says_why_a_command_with_other_folders_is_not_made_again() {
    let place = Place::in_sight();
    let shared = place.path().join("shared");
    fs::create_dir(&shared).unwrap();
    place.configure(&format!("[commands]\nwritable = [{shared:?}]\n"));
    place.write("a.txt", "one\n");
    let edit = call("edit", json!({"path": "a.txt", "old_text": "one", "new_text": "two"}));
    let model = place.script("m", &[edit, bash("cp a.txt b.txt"), json!({"say": "Done."})]);
    let ran = place.run(&["run", "--permission", "accept-edits", "--model", &model, "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let undone = place.run(&["undo", "--call", "1"]);
    let said = format!("{}{}", undone.out, undone.err);
    let expected = "it could reach the network or change folders outside of the workspace";
    assert!(undone.code == 1 && said.contains(expected), "{undone:?}");
}
