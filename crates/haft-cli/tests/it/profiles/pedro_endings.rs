//! How prompts and jobs end under `--profile pedro`, in the words of PedroCLI's document.
use crate::kit::{
    Ran, Reply, Server,
    fenced::{fence, heard, run, says},
    openai_text,
    project::{Project, git},
};
use serde_json::{Value, json};
use std::process::Command;

const TRIAGE: [&str; 3] = ["triage", "-description", "It crashes"];

fn object(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"))
}

fn reason(project: &Project) -> String {
    project.jobs().remove(0)["output"]["reason"].as_str().unwrap().to_owned()
}

/// "inference round %d failed: %w"
// P-34, P-49
#[test]
fn a_model_that_cannot_be_asked_is_the_reason_with_its_round() {
    let refuses =
        || Reply(400, "application/json", json!({"error": {"message": "no such luck"}}).to_string());
    let project = Project::new();
    let ran = run(project.haft(&["run", "go", "--output", "json"]), &Server::start(vec![refuses()]));
    let expected = "inference round 0 failed: OpenAI rejected the request: no such luck (HTTP 400)";
    assert_eq!((ran.code, &object(&ran)["error"]), (1, &json!(expected)), "{ran:?}");
    let model = Server::start(vec![openai_text(&fence("navigate .")), refuses()]);
    let ran = run(project.haft(&TRIAGE), &model);
    let expected = "inference round 1 failed: OpenAI rejected the request: no such luck (HTTP 400)";
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!((project.jobs()[0]["status"].clone(), reason(&project).as_str()), (json!("failed"), expected));
    assert!(ran.err.contains(&format!("✗ failed: {expected}")), "{}", ran.err);
}

/// "max rounds (%d) exceeded"
// P-44, P-48, P-49
#[test]
fn rounds_that_are_used_up_are_the_reason_and_0_means_twenty() {
    let call = |number: usize| fence(&format!("bash echo {number}"));
    let talks = || says(&(0..30).map(call).collect::<Vec<_>>());
    let project = Project::new();
    let json = ["--permission", "full", "--output", "json"];
    for (file, more, rounds) in [
        ("", vec![], 20),
        ("max_rounds = 0", vec![], 20),
        ("max_rounds = 0", vec!["--max-rounds", "0"], 20),
        ("max_rounds = 4", vec![], 4),
        ("", vec!["--max-rounds", "3"], 3),
    ] {
        project.place.configure(file);
        let expected = format!("max rounds ({rounds}) exceeded");
        let model = talks();
        let ran = run(project.haft(&[&["run", "go"], &json[..], &more].concat()), &model);
        assert_eq!((ran.code, &object(&ran)["error"]), (3, &json!(expected)), "{ran:?}");
        assert_eq!(model.asked().len(), rounds);
        let model = talks();
        let ran = run(project.haft(&[&TRIAGE, &more[..]].concat()), &model);
        assert_eq!((ran.code, reason(&project)), (3, expected.clone()), "{ran:?}");
        assert!(ran.err.contains(&format!("✗ failed: {expected}")), "{}", ran.err);
        assert_eq!(model.asked().len(), rounds);
    }
}

/// "Otherwise, continue with empty tool results", and stop where there are "no tool calls for 2 rounds".
// P-36, P-37, P-38
#[test]
fn an_idle_round_is_answered_with_empty_results() {
    let project = Project::new();
    let nothing = "Tool results:\n\n\n\nContinue with next steps.";
    let table: [(&[&str], &[&str], i32); 4] = [
        (&["Let me think.", "I am still thinking.", "never asked"], &["go", nothing], 0),
        (&["Let me think.", "All good: TASK COMPLETE!", "never asked"], &["go", nothing], 0),
        (&["Task complete.", "never asked"], &["go"], 0),
        (
            &["Let me think.", "```bash\nbash echo 1\n```", "Hm.", "Hm.", "never asked"],
            &[
                "go",
                nothing,
                "Tool results:\n\nTool 1 (bash) output:\n1\n\nContinue with next steps.",
                nothing,
            ],
            0,
        ),
    ];
    for (replies, expected, code) in table {
        let model = says(replies);
        let ran = run(project.haft(&["run", "go", "--permission", "full"]), &model);
        let asked = model.asked();
        assert_eq!(
            (ran.code, asked.iter().map(heard).collect::<Vec<_>>()),
            (code, strings(expected)),
            "{ran:?}"
        );
        let messages = asked.last().unwrap()["messages"].as_array().unwrap();
        let roles: Vec<&str> =
            messages[1..].iter().map(|message| message["role"].as_str().unwrap()).collect();
        assert!(roles.iter().zip(["user", "assistant"].iter().cycle()).all(|(a, b)| a == b), "{roles:?}");
    }
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// "failed to save tool results: %w"
// P-42
#[test]
fn what_cannot_be_saved_ends_the_work_and_says_so() {
    let project = Project::new();
    project.place.write("large.txt", "0123456789\n".repeat(4_000));
    for words in [&["run", "go"][..], &TRIAGE] {
        let model = says(&[fence("file large.txt").as_str(), "Task complete."]);
        let haft = project.haft(words);
        // Files may not grow over 20 blocks of 512 bytes, and who tries is told so instead of killed.
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; ulimit -f 20; exec \"$@\"", "sh"]).arg(haft.get_program());
        command.args(haft.get_args()).current_dir(haft.get_current_dir().unwrap()).env_clear();
        command.envs(haft.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ran = run(command, &model);
        assert_eq!((ran.code, model.asked().len()), (1, 1), "{ran:?}");
        let expected = "failed to save tool results: cannot write the journal `";
        assert!(ran.err.contains(expected) && ran.err.contains("File too large"), "{words:?}: {}", ran.err);
    }
}

const BUILD: [&str; 5] = ["build", "-description", "Add x", "--permission", "full"];

/// A line that makes a Go test which fails, or passes.
fn go_test(name: &str, passes: bool) -> String {
    let body = if passes { " " } else { " t.Fatal(1) " };
    let text = format!("package instances\n\nimport \"testing\"\n\nfunc {name}(t *testing.T) {{{body}}}\n");
    format!("file --path {}_test.go --action write --content '{text}'", name.to_lowercase())
}

/// "continues until tests pass and PR created"
// P-50, P-59
#[test]
fn tests_that_fail_after_the_last_change_are_no_completed_job() {
    let (bad, good) = (go_test("TestNew", false), go_test("TestNew", true));
    let done = "Task complete.";
    let by_name = "the last run of the tests failed: `TestNew`";
    let by_command = "the last run of the tests failed: `go test ./...`";
    let slow = good.replace("{ }", "{ select {} }");
    let stopped = "bash --timeout 2 --command 'go test ./...'";
    let table: [(&str, Vec<&str>, Option<&str>); 7] = [
        ("red", vec![&bad, "test"], Some(by_name)),
        ("stopped before they ended", vec![&slow, stopped], Some(by_command)),
        ("red by a command", vec![&bad, "bash go test ./..."], Some(by_command)),
        ("changed since, and not run", vec![&bad, "test", &good], Some(by_name)),
        ("repaired", vec![&bad, "test", &good, "test"], None),
        ("never run", vec![&good], None),
        (
            "red before anything was changed",
            vec!["test", "file --path n.md --action write --content x", "test"],
            None,
        ),
    ];
    for (what, lines, expected) in table {
        let project = Project::new();
        if what == "red before anything was changed" {
            project.place.write(
                "old_test.go",
                "package instances\n\nimport \"testing\"\n\nfunc TestOld(t *testing.T) { t.Fatal(1) }\n",
            );
            git(&project.place.work(), &["add", "."]);
            git(&project.place.work(), &["commit", "--quiet", "-m", "Old"]);
        }
        let replies = lines.iter().map(|line| fence(line)).chain([done.to_owned()]);
        let model = says(&replies.collect::<Vec<_>>());
        let ran = run(project.haft(&BUILD), &model);
        let job = project.jobs().remove(0);
        let reason = job["output"]["reason"].as_str().unwrap();
        match expected {
            None => assert_eq!(
                (ran.code, &job["status"], reason),
                (0, &json!("completed"), done),
                "{what}: {ran:?}"
            ),
            Some(expected) => {
                assert_eq!(
                    (ran.code, &job["status"], reason),
                    (5, &json!("failed"), expected),
                    "{what}: {ran:?}"
                );
                let reminder = format!(
                    "The job is not done: {expected}. Do what is missing, or say why it cannot be done."
                );
                assert_eq!(heard(model.asked().last().unwrap()), reminder, "{what}");
                assert!(project.opened.lock().unwrap().is_empty(), "{what}");
            }
        }
    }
}

/// "Agent creates PR / commits changes"
// P-60, P-63
#[test]
fn a_job_without_a_pull_request_says_so() {
    for (remote, why) in [
        (true, "No pull request: the remote is not a repository of GitHub."),
        (false, "No pull request: there is no remote `origin` to push to."),
    ] {
        let project = Project::new();
        if !remote {
            git(&project.place.work(), &["remote", "remove", "origin"]);
        }
        let model = says(&[fence("file --path n.md --action write --content x").as_str(), "Task complete."]);
        let ran = run(project.place.haft(&BUILD), &model);
        let expected = format!("Task complete. {why}");
        assert_eq!((ran.code, reason(&project)), (0, expected.clone()), "{ran:?}");
        assert!(ran.err.contains(&format!("✓ completed: {expected}\n  commit: ")), "{}", ran.err);
    }
}
