//! Jobs with the real binary: a scripted model, a real repository with a bare remote, and an API on loopback.
use crate::kit::{
    Ran,
    project::{EXAMPLES, Project, git},
};
use serde_json::{Value, json};
use std::{fs, process::Stdio};

// P-04, P-46, P-50, P-52, P-56, P-59, P-60, P-61, P-62, P-63
#[test]
fn a_description_becomes_a_branch_with_a_commit_and_a_pull_request() {
    let project = Project::new();
    let ran = project.build(&format!("script/{EXAMPLES}/builder.jsonl"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("✓ completed: GenerateInstances has tests"), "{}", ran.err);
    let jobs = project.jobs();
    let [job] = jobs.as_slice() else { panic!("{jobs:?}") };
    let branch = job["branch"].as_str().unwrap();
    assert_eq!(
        (&job["status"], &job["kind"], &job["rounds"]),
        (&json!("completed"), &json!("builder"), &json!(7))
    );
    let evidence = &job["output"]["evidence"][0];
    assert_eq!(evidence["files"], json!(["instances_test.go"]));
    assert_eq!(evidence["pull_request"], "https://example.org/octo/instances/pull/1");
    assert_eq!(project.commits(branch), "Test GenerateInstances");
    let asked = project.opened.lock().unwrap()[0].clone();
    assert_eq!(
        (&asked["title"], &asked["head"], &asked["base"]),
        (&json!("Test GenerateInstances"), &json!(branch), &json!("main"))
    );
    // The person's own files were not touched, and the work tree is gone.
    assert_eq!(git(&project.place.work(), &["status", "--porcelain"]), "");
    assert_eq!(git(&project.place.work(), &["worktree", "list"]).lines().count(), 1);
    let shown = project.run(&["jobs", "show", job["job"].as_str().unwrap()]);
    assert!(shown.out.contains("status       completed"), "{}", shown.out);
}

// P-49, X-32: a job is not done because the model says so.
#[test]
fn a_model_that_lies_or_only_talks_has_not_completed_its_job() {
    let say = |text: &str| json!({"say": text});
    let talks = vec![say("I would begin with the tests."); 4];
    let lies = vec![say("All tests are written, they pass, and the pull request is open."); 4];
    for (what, steps) in [("talks", talks), ("lies", lies)] {
        let project = Project::new();
        let script = project.place.script("steps.jsonl", &steps);
        let ran = project.build(&script);
        assert_eq!(ran.code, 5, "{what}: {ran:?}");
        let job = project.jobs().remove(0);
        let reason = job["output"]["reason"].as_str().unwrap();
        assert_eq!(job["status"], "failed", "{what}");
        assert!(
            reason.contains("no `publish` that succeeded: cannot publish: nothing was changed"),
            "{what}: {reason}"
        );
        assert!(project.opened.lock().unwrap().is_empty());
    }
}

// What the model forgot is done in its place.
#[test]
fn work_that_nobody_published_is_published() {
    let project = Project::new();
    let write = json!({"calls": [{"name": "write", "arguments": {"path": "notes.md", "content": "x\n"}}]});
    let script = project.place.script("steps.jsonl", &[write, json!({"say": "Done."})]);
    let ran = project.build(&script);
    assert_eq!(ran.code, 0, "{ran:?}");
    let job = project.jobs().remove(0);
    assert_eq!(project.commits(job["branch"].as_str().unwrap()), "Add tests for GenerateInstances");
}

// A commit on the branch of the job leaves nothing but its own work tree.
#[test]
fn without_a_remote_work_is_published_in_the_mode_that_edits() {
    let project = Project::new();
    git(&project.place.work(), &["remote", "remove", "origin"]);
    let write = json!({"calls": [{"name": "write", "arguments": {"path": "notes.md", "content": "x\n"}}]});
    let script = project.place.script("steps.jsonl", &[write, json!({"say": "Done."})]);
    let ran = project.run(&["build", "Write notes", "--permission", "accept-edits", "--model", &script]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let job = project.jobs().remove(0);
    assert!(job["output"]["reason"].to_string().contains("there is no remote `origin`"), "{job}");
    let branch = job["branch"].as_str().unwrap();
    assert_eq!(git(&project.place.work(), &["show", &format!("{branch}:notes.md")]), "x");
}

// No person watches: what the repository says of pushing must not lead the work elsewhere.
#[test]
fn a_repository_does_not_lead_a_job_to_another_branch() {
    let project = Project::new();
    git(&project.place.work(), &["config", "remote.origin.push", "refs/heads/*:refs/heads/elsewhere/*"]);
    let write = json!({"calls": [{"name": "write", "arguments": {"path": "notes.md", "content": "x\n"}}]});
    let script = project.place.script("steps.jsonl", &[write, json!({"say": "Done."})]);
    let ran = project.build(&script);
    assert_eq!(ran.code, 0, "{ran:?}");
    let job = project.jobs().remove(0);
    assert_eq!(project.commits(job["branch"].as_str().unwrap()), "Add tests for GenerateInstances");
    let bare = project.place.path().join("remote.git");
    assert_eq!(git(&bare, &["branch", "--list", "elsewhere/*"]), "");
}

// P-45
#[test]
fn a_job_without_a_description_does_not_begin() {
    let project = Project::new();
    let ran = project.run(&["build", "--model", "script/none.jsonl"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("missing 'description' in input"), "{}", ran.err);
    assert!(project.jobs().is_empty());
}

// C24, P-42, P-47: killed in the middle, a job is taken up where it stopped, and nothing happens twice.
#[test]
fn a_job_whose_process_is_killed_goes_on() {
    let project = Project::new();
    let append = |text: &str| {
        let command = format!("echo {text} >> log.txt");
        json!({"calls": [{"name": "bash", "arguments": {"command": command}}]})
    };
    let first = [append("one"), json!({"hang": true})];
    let script = project.place.script("first.jsonl", &first);
    let words = ["build", "--description", "Keep a log", "--permission", "full", "--model", &script];
    let mut child = project.haft(&words).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let job = wait_for(|| project.jobs().pop().filter(|job| job["rounds"] == 1));
    assert_eq!(job["status"], "running");
    // Killed in the middle of the command, its effects would be unknown.
    let logs = || project.run(&["jobs", "logs", job["job"].as_str().unwrap()]).out;
    wait_for(|| logs().contains("tool_ended").then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    let id = job["job"].as_str().unwrap();
    let killed = project.jobs().remove(0);
    assert_eq!(killed["status"], "waiting");
    assert_eq!(killed["progress"], "its process ended: `haft jobs retry`");
    // A script goes by how many replies there were.
    let second = [append("one"), append("two"), json!({"say": "The log has two lines."})];
    let script = project.place.script("second.jsonl", &second);
    // The mode is the one that it began with.
    let ran = project.run(&["jobs", "retry", id, "--model", &script]);

    assert_eq!(ran.code, 0, "{ran:?}");
    let job = project.jobs().remove(0);
    assert_eq!((&job["status"], project.jobs().len()), (&json!("completed"), 1));
    let branch = job["branch"].as_str().unwrap();
    assert_eq!(git(&project.place.work(), &["show", &format!("{branch}:log.txt")]), "one\ntwo");
}

#[test]
fn a_job_is_stopped_from_another_process() {
    let project = Project::new();
    let script = project.place.script("steps.jsonl", &[json!({"hang": true})]);
    let words = ["triage", "--description", "It crashes", "--model", &script];
    let mut child = project.haft(&words).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let job = wait_for(|| project.jobs().pop().filter(|job| job["status"] == "running"));
    let id = job["job"].as_str().unwrap();
    assert_eq!(project.run(&["jobs", "cancel", id]).code, 0);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(project.jobs().remove(0)["status"], "cancelled");
    let again = project.run(&["jobs", "cancel", id]);
    assert!(again.code == 2 && again.err.contains("is already cancelled"), "{again:?}");
}

#[test]
fn the_help_of_a_job_shows_what_a_job_takes() {
    let project = Project::new();
    for job in ["build", "debug", "review", "triage"] {
        let help = project.run(&[job, "--help"]).out;
        assert!(help.contains("--description") && help.contains("--max-rounds"), "{help}");
        let refused = ["--session", "--continue", "--image", "--agent"];
        assert!(
            !refused
                .iter()
                .any(|option| help.contains(&format!("{option} ")) || help.contains(&format!("{option}\n"))),
            "{help}"
        );
    }
}

// P-46: as the document of PedroCLI writes it.
#[test]
fn a_description_may_be_given_with_one_dash() {
    let project = Project::new();
    let script = project.place.script("steps.jsonl", &[json!({"say": "Nothing to do."})]);
    for words in [vec!["-description", "It crashes"], vec!["-description=It crashes"]] {
        project.run(&[vec!["triage", "--model", &script], words].concat());
        assert_eq!(project.jobs().remove(0)["description"], "It crashes");
    }
}

fn wait_for<T>(look: impl Fn() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("it did not happen");
}

// P-56
#[test]
fn a_review_and_a_triage_are_data() {
    let project = Project::new();
    let comment = |line: u64| json!({"path": "instances.go", "line": line, "severity": "major", "message": "No limit."});
    let review = |line| {
        let arguments =
            json!({"verdict": "request_changes", "summary": "One fault.", "comments": [comment(line)]});
        json!({"calls": [{"name": "review", "arguments": arguments}]})
    };
    let script =
        project.place.script("review.jsonl", &[review(400), review(14), json!({"say": "One fault."})]);
    let ran = project.run(&["review", "--description", "The last commit", "--model", &script]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let arguments =
        json!({"kind": "bug", "severity": "high", "reason": "It panics.", "files": ["instances.go"]});
    let triage = json!({"calls": [{"name": "triage", "arguments": arguments}]});
    let script = project.place.script("triage.jsonl", &[triage, json!({"say": "A bug."})]);
    let ran = project.run(&["triage", "--description", "It panics", "--model", &script, "--quiet"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let evidence: Vec<Value> = project.jobs().iter().map(|job| job["output"]["evidence"].clone()).collect();
    assert_eq!(evidence[0], json!([arguments]));
    assert_eq!(evidence[1][0]["comments"], json!([comment(14)]));
}

// P-56: a fault that no test showed was not removed.
#[test]
fn a_debugger_must_have_seen_the_fault() {
    let project = Project::new();
    let write = json!({"calls": [{"name": "write", "arguments": {"path": "fix.md", "content": "x\n"}}]});
    let say = json!({"say": "I removed the fault."});
    let script = project.place.script("steps.jsonl", &[write, say.clone(), say]);
    let ran = project.run(&[
        "debug",
        "--description",
        "It is off by one",
        "--permission",
        "full",
        "--model",
        &script,
    ]);
    assert_eq!(ran.code, 5, "{ran:?}");
    let reason = project.jobs().remove(0)["output"]["reason"].clone();
    assert_eq!(reason, "no run of the tests ever showed the fault");
}

#[test]
fn jobs_that_were_put_down_are_worked_on_in_turn() {
    let project = Project::new();
    let add = |words: &[&str]| {
        let ran = project.run(&[&["jobs", "add", "--kind", "triager"][..], words].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    add(&["--description", "first"]);
    add(&["--description", "second"]);
    let status =
        || project.jobs().iter().map(|job| job["status"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(status(), ["pending", "pending"]);
    let arguments = json!({"kind": "bug", "severity": "low", "reason": "So.", "files": []});
    let triage = json!({"calls": [{"name": "triage", "arguments": arguments}]});
    let script = project.place.script("triage.jsonl", &[triage, json!({"say": "A bug."})]);
    let ran = project.run(&["jobs", "serve", "--once", "--model", &script]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(status(), ["completed", "completed"]);
    add(&["--description", "each day", "--every", "1d"]);
    let put = project.run(&["jobs", "add", "--kind", "triager", "--description", "x", "--json"]);
    let put: Value = serde_json::from_str(&put.out).unwrap();
    assert_eq!(project.run(&["jobs", "cancel", put["job"].as_str().unwrap()]).code, 0);
    let plan = std::fs::read_dir(project.place.path().join("home/schedule"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    // Its time has come.
    let mut due: Value = serde_json::from_slice(&std::fs::read(&plan).unwrap()).unwrap();
    due["next"] = json!("2026-01-01T00:00:00Z");
    std::fs::write(&plan, due.to_string()).unwrap();
    for _ in 0..2 {
        assert_eq!(project.run(&["jobs", "serve", "--once", "--model", &script]).code, 0);
    }
    assert_eq!(project.jobs().len(), 5);
    assert_eq!(project.jobs()[0]["description"], "each day");
    let plan = project.jobs().pop().unwrap()["plan"].as_str().unwrap().to_owned();
    for name in [plan.as_str(), &plan[..plan.len() - 2]] {
        let shown = project.run(&["jobs", "show", name]);
        for line in ["status       planned", "description  each day", "begins       every 24h"] {
            assert!(shown.code == 0 && shown.out.contains(line), "{name}, {line}: {shown:?}");
        }
    }
    let shown: Value = serde_json::from_str(&project.run(&["jobs", "show", &plan, "--json"]).out).unwrap();
    assert_eq!((&shown["plan"], &shown["rhythm"]), (&json!(plan), &json!({"every": 86_400})));
    for command in ["logs", "retry"] {
        let refused = project.run(&["jobs", command, &plan]);
        assert!(refused.code == 2 && refused.err.contains("is a schedule"), "{command}: {refused:?}");
    }
    let deleted = project.run(&["jobs", "cancel", &plan[..plan.len() - 2]]);
    assert_eq!((deleted.code, deleted.out), (0, format!("{plan} deleted\n")));
    assert_eq!(project.jobs().len(), 4);
    let bad = project.run(&["jobs", "add", "--description", "x", "--every", "soon"]);
    assert!(bad.code == 2 && bad.err.contains("cannot read the interval `soon`"), "{bad:?}");
}

// What was there before is not work, whatever the remote has.
#[test]
fn commits_of_ones_own_are_no_evidence() {
    let project = Project::new();
    project.place.write("mine.txt", "not published yet\n");
    git(&project.place.work(), &["add", "."]);
    git(&project.place.work(), &["commit", "--quiet", "-m", "Mine"]);
    let script = project.place.script("steps.jsonl", &vec![json!({"say": "There is nothing to do."}); 4]);
    let ran = project.build(&script);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(project.opened.lock().unwrap().is_empty());
}

// D13: nothing of a repository's own runs, and nothing is told what looks like a key.
#[test]
fn a_repository_whose_settings_would_run_programs_gets_no_work_tree() {
    let project = Project::new();
    let work = project.place.work();
    git(&work, &["config", "filter.x.smudge", "touch pwned; cat"]);
    project.place.write(".gitattributes", "* filter=x\n");
    let script = project.place.script("steps.jsonl", &[json!({"say": "x"})]);
    let ran = project.build(&script);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("filter.x.smudge"), "{}", ran.err);
    assert!(project.place.read("pwned").is_none() && project.jobs().is_empty());
}

// The branch is fetched from the work tree into a repository whose settings name a program for its alternates.
#[test]
fn a_program_that_lists_alternates_is_not_run_for_a_job() {
    let project = Project::new();
    let work = project.place.work();
    let ran = project.place.path().join("ran");
    let head = git(&work, &["symbolic-ref", "--short", "HEAD"]);
    git(&work, &["init", "--quiet", "--bare", ".git/x"]);
    git(&work.join(".git/x"), &["fetch", "--quiet", "../..", &format!("{0}:{0}", head.trim())]);
    fs::write(work.join(".git/objects/info/alternates"), "../x/objects\n").unwrap();
    let marks = format!("echo >>'{}'; false", ran.display());
    git(&work, &["config", "core.alternateRefsCommand", &marks]);
    let script = project.place.script("steps.jsonl", &vec![json!({"say": "There is nothing to do."}); 4]);
    let built = project.build(&script);
    assert_eq!(project.jobs().len(), 1, "{built:?}");
    assert!(!ran.exists(), "{built:?}");
}

// Published, then changed again: that is not done, and the change is published as well.
#[test]
fn what_is_changed_after_publishing_is_published_too() {
    let project = Project::new();
    let write =
        |name: &str| json!({"calls": [{"name": "write", "arguments": {"path": name, "content": "x\n"}}]});
    let publish = json!({"calls": [{"name": "Publish", "arguments": {"title": "First"}}]});
    let steps = [write("a.txt"), publish, write("b.txt"), json!({"say": "Both files are there."})];
    let script = project.place.script("steps.jsonl", &steps);
    let ran = project.build(&script);
    assert_eq!(ran.code, 0, "{ran:?}");
    let job = project.jobs().remove(0);
    let commits = project.commits(job["branch"].as_str().unwrap());
    assert_eq!(commits, "Add tests for GenerateInstances\nFirst");
}

// Nothing was started, so that the code is that of wrong usage.
#[test]
fn a_name_that_nothing_has_is_wrong_usage() {
    let project = Project::new();
    for description in ["one", "two"] {
        let words = ["jobs", "add", "--kind", "triager", "--description", description];
        assert_eq!(project.run(&words).code, 0);
    }
    let table: [(&[&str], &str, &str); 10] = [
        (&["jobs", "show"], "there is no job `nope`", "is ambiguous"),
        (&["jobs", "logs"], "there is no job `nope`", "is ambiguous"),
        (&["jobs", "cancel"], "there is no job `nope`", "is ambiguous"),
        (&["jobs", "retry"], "there is no job `nope`", "is ambiguous"),
        (&["sessions", "show"], "there is no session `nope`", "is ambiguous"),
        (&["sessions", "export"], "there is no session `nope`", "is ambiguous"),
        (&["sessions", "resume"], "there is no session `nope`", "is ambiguous"),
        (&["undo"], "there is no session `nope`", "is ambiguous"),
        (&["redo"], "there is no session `nope`", "is ambiguous"),
        (&["run", "hi", "--session"], "there is no session `nope`", "is ambiguous"),
    ];
    for (words, missing, ambiguous) in table {
        // Names begin with the year.
        for (name, expected) in [("nope", missing), ("2", ambiguous)] {
            let ran = project.run(&[words, &[name]].concat());
            assert!(ran.code == 2 && ran.err.contains(expected), "{words:?} {name}: {ran:?}");
        }
    }
}

#[test]
fn an_error_names_the_directory_that_cannot_be_made() {
    let project = Project::new();
    let script = project.place.script("idle", &[json!({"say": "Done."})]);
    // A file, below which nothing can be made.
    let home = std::path::Path::new(script.strip_prefix("script/").unwrap()).join("home");
    let table: [(&[&str], &str); 3] = [
        (&["run", "hi", "--model", &script], "hint: free some space, or set HAFT_HOME to a directory"),
        (&["build", "x", "--model", &script], "cannot create the directory `"),
        (&["plugins", "add", "https://127.0.0.1:1/x.git"], "cannot create the directory `"),
    ];
    for (words, expected) in table {
        let ran = project.haft(words).env("HAFT_HOME", &home).output().unwrap();
        let err = String::from_utf8_lossy(&ran.stderr);
        assert!(err.contains(expected) && err.contains(home.to_str().unwrap()), "{words:?}: {err}");
        assert_eq!(ran.status.code(), Some(1), "{words:?}: {err}");
    }
}

// A job that cannot begin leaves nothing behind.
#[test]
fn what_is_wrong_shows_before_anything_is_made() {
    let project = Project::new();
    for words in [&["--model", "nosuch/model"][..], &["--model", "script/x", "--session", "abc"]] {
        let ran = project.run(&[&["build", "--description", "x"][..], words].concat());
        assert_eq!(ran.code, 2, "{ran:?}");
    }
    assert_eq!(git(&project.place.work(), &["branch", "--list", "haft/*"]), "");
}

// Asked for where nothing was ever committed, a job works in the same folder of its work tree.
#[test]
fn a_job_in_a_new_folder_works_there() {
    let project = Project::new();
    let sub = project.place.work().join("new/sub");
    std::fs::create_dir_all(&sub).unwrap();
    let write = json!({"calls": [{"name": "write", "arguments": {"path": "notes.md", "content": "x\n"}}]});
    let script = project.place.script("steps.jsonl", &[write, json!({"say": "Done."})]);
    let words = ["build", "--description", "Add notes", "--permission", "full", "--model", &script];
    let ran = Ran::from(project.haft(&words).current_dir(&sub).output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    let branch = project.jobs().remove(0)["branch"].as_str().unwrap().to_owned();
    let files = git(&project.place.work(), &["diff", "--name-only", &format!("main..{branch}")]);
    assert_eq!(files, "new/sub/notes.md");
}

// What a job's commands do to its repository is seen in a view like everything else, and the person's is not touched.
#[test]
fn commands_of_a_job_are_confined_and_what_they_commit_is_on_its_branch() {
    let project = Project::new();
    let work = project.place.work();
    git(&work, &["branch", "other"]);
    git(&work, &["config", "remote.near.url", "../near.git"]);
    let command = "git log --oneline other -- >/dev/null && git remote get-url near && git config user.name; \
                   echo x >new.txt; git add -A; git commit -qm 'By a command'; \
                   touch /var/lib/haft-outside || echo kept out";
    let steps = [
        json!({"calls": [{"name": "bash", "arguments": {"command": command}}]}),
        json!({"calls": [{"name": "git", "arguments": {"action": "commit", "message": "By the tool", "paths": []}}]}),
        json!({"say": "Done."}),
        json!({"say": "Done."}),
    ];
    let script = project.place.script("steps.jsonl", &steps);
    let options = ["--sandbox", "require", "--permission", "accept-edits", "--model", &script];
    let ran = project.run(&[&["build", "--description", "Add a file"], &options[..]].concat());
    let job = project.jobs().remove(0);
    let logs = project.run(&["jobs", "logs", job["job"].as_str().unwrap()]).out;
    let near = work.join("../near.git").display().to_string();
    assert!(
        logs.contains(r#""how":"staged""#) && logs.contains("kept out") && logs.contains(&near),
        "{logs}"
    );
    assert!(!logs.contains(r#""how":"untracked""#), "{ran:?}\n{logs}");
    let branch = job["branch"].as_str().unwrap();
    assert_eq!(git(&work, &["log", "-1", "--format=%s", branch]), "By a command");
    assert_eq!(git(&work, &["status", "--porcelain"]), "");
    assert_eq!(git(&work, &["branch", "--show-current"]), "main");
    git(&work, &["fsck", "--strict"]);
}

// Older versions made work trees of git's own.
#[test]
fn a_job_in_a_work_tree_of_an_older_version_goes_on_there() {
    let project = Project::new();
    let (work, place) = (project.place.work(), project.place.path());
    let words = ["jobs", "add", "--kind", "builder", "--description", "Add a file"];
    assert_eq!(project.run(&words).code, 0);
    let job = project.jobs().remove(0);
    let tree = std::fs::read_dir(place.join("home/worktrees")).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_dir_all(&tree).unwrap();
    git(&work, &["worktree", "add", "--quiet", tree.to_str().unwrap(), job["branch"].as_str().unwrap()]);
    let write = json!({"calls": [{"name": "write", "arguments": {"path": "notes.md", "content": "x\n"}}]});
    let script = project.place.script("steps.jsonl", &[write, json!({"say": "Done."})]);
    let options = ["--permission", "full", "--model", &script];
    let ran = project.run(&[&["jobs", "retry", job["job"].as_str().unwrap()], &options[..]].concat());
    assert_eq!((ran.code, tree.exists()), (0, false), "{ran:?}");
    assert_eq!(git(&work, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(project.commits(job["branch"].as_str().unwrap()), "Add a file");
}

// P-62: a reader of a work tree does not expect a job among their own files.
#[test]
fn a_job_that_can_have_no_work_tree_does_not_begin_and_leaves_nothing() {
    let project = Project::new();
    let place = project.place.path();
    let made = |name: &str| {
        let folder = place.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    };
    let (plain, unborn) = (made("plain"), made("unborn"));
    git(&unborn, &["init", "--quiet", "-b", "main"]);
    // In the last commit it is a link that leads out.
    let link = project.place.work().join("link");
    std::os::unix::fs::symlink(&plain, &link).unwrap();
    git(&project.place.work(), &["add", "link"]);
    git(&project.place.work(), &["commit", "--quiet", "-m", "Link"]);
    std::fs::remove_file(&link).unwrap();
    std::fs::create_dir(&link).unwrap();
    let table = [
        (&plain, "it is not in a readable Git repository", "git init"),
        (&unborn, "the repository has no commits", "git commit"),
        (&link, "it is not a directory in the last commit", "commit the directory"),
    ];
    let script = project.place.script("steps.jsonl", &[json!({"say": "x"})]);
    for (folder, why, hint) in table {
        for words in [&["build", "--model", &script][..], &["jobs", "add"]] {
            let words = [words, &["--description", "x"]].concat();
            let ran = Ran::from(project.haft(&words).current_dir(folder).output().unwrap());
            assert_eq!(ran.code, 2, "{words:?} {ran:?}");
            assert!(ran.err.contains(why) && ran.err.contains(hint), "{words:?} {ran:?}");
        }
    }
    assert!(project.jobs().is_empty());
    assert_eq!(git(&project.place.work(), &["branch", "--list", "haft/*"]), "");
    assert_eq!(git(&project.place.work(), &["worktree", "list"]).lines().count(), 1);
    assert!(std::fs::read_dir(&plain).unwrap().next().is_none());
    // Who only looks needs none.
    let words = ["triage", "--description", "x", "--model", &script];
    project.haft(&words).current_dir(&plain).output().unwrap();
    assert_eq!(project.jobs().len(), 1);
}
