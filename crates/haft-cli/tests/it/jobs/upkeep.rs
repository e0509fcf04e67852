//! Jobs as a person looks after them: stopped, tried again, removed, and read by programs.
use crate::kit::{
    call, exists,
    project::{Project, git},
};
use serde_json::{Value, json};
use std::{io::Write, process::Stdio, thread::sleep, time::Duration};

fn write() -> Value {
    call("write", json!({"path": "new.txt", "content": "x\n"}))
}

/// Statuses of all jobs, the newest first.
fn statuses(project: &Project) -> Vec<String> {
    project.jobs().iter().map(|job| job["status"].as_str().unwrap().to_owned()).collect()
}

fn add(project: &Project) -> String {
    let added = project.run(&["jobs", "add", "--description", "Write new.txt", "--json"]);
    let added: Value = serde_json::from_str(&added.out).unwrap_or_else(|_| panic!("{added:?}"));
    added["job"].as_str().unwrap().to_owned()
}

#[test]
fn a_server_of_jobs_that_is_stopped_leaves_its_job_for_the_next_one() {
    let project = Project::new();
    let hangs = project.place.script("hangs", &[write(), json!({"hang": true})]);
    // A signal may come before the file is written, or in the middle of it: then the first or the second line writes it.
    let says = json!({"say": "Done."});
    let done = project.place.script("done", &[write(), write(), says.clone(), says]);
    add(&project);
    for signal in ["TERM", "INT"] {
        let mut serve = project.haft(&["jobs", "serve", "--permission", "full", "--model", &hangs]);
        let mut serve = serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while statuses(&project) != ["running"] {
            sleep(Duration::from_millis(50));
        }
        let kill = ["-s", signal, &serve.id().to_string()];
        assert!(std::process::Command::new("kill").args(kill).status().unwrap().success());
        assert_eq!(serve.wait().unwrap().code(), Some(130));
        assert_eq!(statuses(&project), ["waiting"], "{signal}");
    }
    let served = project.run(&["jobs", "serve", "--once", "--permission", "full", "--model", &done]);
    assert_eq!((served.code, statuses(&project)), (0, vec!["completed".to_owned()]), "{served:?}");
}

#[test]
fn a_program_reads_one_object_that_says_how_the_job_ended() {
    let project = Project::new();
    let idle = project.place.script("idle", &vec![json!({"say": "There is nothing to do."}); 4]);
    let works = project.place.script("works", &[write(), json!({"say": "Done."})]);
    let build = |model: &str, output: &str| {
        project.run(&["build", "x", "--output", output, "--permission", "full", "--model", model])
    };
    let failed = build(&idle, "json");
    let object: Value =
        serde_json::from_str(&failed.out).unwrap_or_else(|_| panic!("one object: {failed:?}"));
    assert_eq!((failed.code, &object["status"], &object["kind"]), (5, &json!("failed"), &json!("builder")));
    assert_eq!(object["error"], object["output"]["reason"]);
    assert!(object["session"] == object["job"] && object["error"].is_string(), "{object}");

    let object: Value = serde_json::from_str(&build(&works, "json").out).unwrap();
    assert_eq!((&object["status"], &object["outcome"]), (&json!("completed"), &json!("finished")));
    assert_eq!(object["output"]["evidence"][0]["files"], json!(["new.txt"]));
    assert_eq!((&object["error"], &object["changes"][0]["kind"]), (&Value::Null, &json!("created")));

    let last = build(&works, "stream-json").events().pop().unwrap();
    assert_eq!((&last["type"], &last["status"]), (&json!("concluded"), &json!("completed")));
}

#[test]
fn a_retry_publishes_what_an_earlier_attempt_was_not_allowed_to() {
    let project = Project::new();
    let model = project.place.script("works", &[write(), json!({"say": "Done."}), json!({"say": "Done."})]);
    // A script goes on behind the replies that the session has.
    let done = project.place.script("done", &vec![json!({"say": "Done."}); 6]);
    let built = project.run(&["build", "x", "--permission", "accept-edits", "--model", &model]);
    assert!(built.code != 0 && statuses(&project) == ["failed"], "{built:?}");
    let job = project.jobs()[0]["job"].as_str().unwrap().to_owned();
    let retried = project.run(&["jobs", "retry", &job, "--permission", "full", "--model", &done]);
    assert_eq!((retried.code, statuses(&project)), (0, vec!["completed".to_owned()]), "{retried:?}");
    assert_eq!(project.opened.lock().unwrap().len(), 1);
}

/// What Haft itself said to the model belongs to the turn before it.
#[test]
fn an_undo_of_a_job_that_was_reminded_takes_all_of_it_back() {
    let project = Project::new();
    let model = project.place.script("works", &[write(), json!({"say": "Done."}), json!({"say": "Done."})]);
    let built = project.run(&["build", "make it", "--permission", "accept-edits", "--model", &model]);
    assert!(built.code != 0 && statuses(&project) == ["failed"], "{built:?}");
    let job = project.jobs()[0]["job"].as_str().unwrap().to_owned();
    let undone = project.run(&["undo", &job]);
    assert!(undone.code == 0 && undone.out.contains("- new.txt removed"), "{undone:?}");
    assert!(undone.out.contains("the conversation is back before your prompt: "), "{undone:?}");
    assert!(!undone.out.contains("The job is not done"), "{undone:?}");
    assert_eq!(statuses(&project), ["cancelled"]);
}

#[test]
fn a_job_that_is_undone_is_not_taken_up_by_itself() {
    let project = Project::new();
    let model = project.place.script("works", &[write(), json!({"say": "Done."})]);
    assert_eq!(project.build(&model).code, 0);
    let job = project.jobs()[0]["job"].as_str().unwrap().to_owned();
    let retried = project.run(&["jobs", "retry", &job, "--model", &model]);
    assert!(retried.code == 2 && retried.err.contains("its commits are on the branch `haft/"), "{retried:?}");
    let undone = project.run(&["undo", &job]);
    assert_eq!((undone.code, statuses(&project)), (0, vec!["cancelled".to_owned()]), "{undone:?}");
    assert!(undone.out.contains("its work is the branch `haft/"), "{undone:?}");
    let shown = project.run(&["jobs", "show", &job]).out;
    assert!(shown.contains("undone by a person; `haft jobs retry` begins again"), "{shown}");
    let served = project.run(&["jobs", "serve", "--once", "--permission", "full", "--model", &model]);
    assert_eq!((served.code, statuses(&project)), (0, vec!["cancelled".to_owned()]), "{served:?}");
    let redone = project.run(&["redo", &job]);
    assert_eq!(statuses(&project), ["completed"], "{redone:?}");
    // Also one that was killed is as it was before the undo.
    let hangs = project.place.script("hangs", &[write(), json!({"hang": true})]);
    add(&project);
    let mut serve = project.haft(&["jobs", "serve", "--permission", "full", "--model", &hangs]);
    let mut serve = serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while project.jobs()[0]["rounds"] != 1 {
        sleep(Duration::from_millis(50));
    }
    serve.kill().unwrap();
    serve.wait().unwrap();
    let killed = project.jobs()[0]["job"].as_str().unwrap().to_owned();
    for (command, status) in [("undo", "cancelled"), ("redo", "waiting")] {
        let ran = project.run(&[command, &killed]);
        assert_eq!(statuses(&project)[0], status, "{ran:?}");
    }
}

#[test]
fn a_queue_that_is_worked_on_once_says_whether_all_of_it_succeeded() {
    let project = Project::new();
    add(&project);
    let without = project.run(&["jobs", "serve", "--once"]);
    assert_eq!((without.code, statuses(&project)), (2, vec!["pending".to_owned()]), "{without:?}");
    assert!(without.err.contains("no model configured") && without.err.contains("hint: "), "{without:?}");
    let idle = project.place.script("idle", &vec![json!({"say": "There is nothing to do."}); 4]);
    let failed = project.run(&["jobs", "serve", "--once", "--permission", "full", "--model", &idle]);
    assert_eq!((failed.code, statuses(&project)), (5, vec!["failed".to_owned()]), "{failed:?}");
    // What it changed is there to be looked at.
    let job = project.jobs()[0]["job"].as_str().unwrap().to_owned();
    let shown = project.run(&["jobs", "show", &job, "--json"]).events().remove(0);
    let folder = shown["folder"].as_str().unwrap();
    assert!(exists(std::path::Path::new(folder)) && folder.contains("worktrees"), "{shown}");
}

#[test]
fn a_job_that_was_canceled_before_it_began_can_be_tried_again() {
    let project = Project::new();
    let job = add(&project);
    assert_eq!(project.run(&["jobs", "cancel", &job]).out, format!("{job} canceled\n"));
    let model = project.place.script("works", &[write(), json!({"say": "Done."})]);
    let retried = project.run(&["jobs", "retry", &job, "--permission", "full", "--model", &model]);
    assert_eq!((retried.code, statuses(&project)), (0, vec!["completed".to_owned()]), "{retried:?}");
}

#[test]
fn a_job_is_removed_with_its_work_tree_and_a_branch_without_commits() {
    let project = Project::new();
    let idle = project.place.script("idle", &vec![json!({"say": "There is nothing to do."}); 4]);
    let works = project.place.script("works", &[write(), json!({"say": "Done."})]);
    let trees = project.place.path().join("home/worktrees");
    let branches =
        || git(&project.place.work(), &["branch", "--list", "haft/*", "--format=%(refname:short)"]);
    let waiting = add(&project);
    let refused = project.run(&["jobs", "rm", &waiting]);
    assert!(refused.code == 2 && refused.err.contains("cannot remove the job"), "{refused:?}");
    project.run(&["jobs", "cancel", &waiting]);
    assert_eq!(project.run(&["jobs", "rm", &waiting]).out, format!("removed {waiting}\n"));
    assert_eq!(branches(), "");

    assert_eq!(project.build(&idle).code, 5);
    let failed = project.jobs()[0]["job"].as_str().unwrap().to_owned();
    assert_eq!(std::fs::read_dir(&trees).unwrap().count(), 1);
    let kept = project.run(&["sessions", "rm", &failed]);
    assert!(kept.code != 0 && kept.err.contains("`haft jobs rm` removes it"), "{kept:?}");
    assert_eq!(project.run(&["jobs", "rm", &failed]).code, 0);
    assert_eq!((std::fs::read_dir(&trees).unwrap().count(), branches()), (0, String::new()));

    assert_eq!(project.build(&works).code, 0);
    let (completed, branch) = (project.jobs()[0]["job"].as_str().unwrap().to_owned(), branches());
    let removed = project.run(&["jobs", "rm", &completed]);
    assert_eq!(removed.out, format!("removed {completed}; the branch `{branch}` stays\n"));
    assert_eq!((branches(), project.jobs().len()), (branch, 0));
    assert!(!exists(&project.place.path().join("home/sessions").join(&completed)));
}

#[test]
fn what_is_piped_in_belongs_to_the_task() {
    let project = Project::new();
    let arguments = json!({"kind": "bug", "severity": "low", "reason": "So.", "files": []});
    let lines = [call("triage", arguments), json!({"say": "A bug."})];
    let model = project.place.script("triage", &lines);
    for (words, expected) in
        [(&["It fails:"][..], "It fails:\n\n<stdin bytes=\"6\">\npanic!\n</stdin>"), (&[], "panic!")]
    {
        let words = [&["triage"][..], words, &["--model", &model]].concat();
        let mut command = project.haft(&words);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = piped.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"panic!").unwrap();
        assert!(child.wait().unwrap().success(), "{words:?}");
        assert_eq!(project.jobs()[0]["description"], expected);
    }
}

#[test]
fn an_empty_task_or_a_pattern_with_seconds_is_refused() {
    let project = Project::new();
    for (words, said) in [
        (&["--description", "  "][..], "missing 'description' in input"),
        (&["--description", "x", "--cron", "*/2 * * * * *"], "it has 6 fields"),
        (&["--description", "x", "--cron", "@reboot"], "there is no such name"),
    ] {
        let refused = project.run(&[&["jobs", "add"], words].concat());
        assert!(refused.code == 2 && refused.err.contains(said), "{words:?}: {refused:?}");
    }
    assert_eq!(project.jobs().len(), 0);
}
