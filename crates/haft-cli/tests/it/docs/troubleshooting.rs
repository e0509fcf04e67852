//! `docs/troubleshooting.md` and `docs/jobs.md`: what they quote is what people see.
use crate::kit::{
    Place,
    fenced::{fence, run, says},
    project::Project,
};
use serde_json::json;

const PAGE: &str = include_str!("../../../../../docs/troubleshooting.md");
const JOBS: &str = include_str!("../../../../../docs/jobs.md");

/// Cells of the column "what you see".
fn quoted() -> Vec<String> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    rows.map(|(quoted, _)| quoted.trim_end_matches('…').trim_end().to_owned()).collect()
}

// P-58
#[test]
fn what_the_page_of_troubles_quotes_is_what_people_see() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let call = json!({"calls": [{"name": "bash", "arguments": {"command": "ls"}}]});
    let script = place.script("s.jsonl", &[call, json!({"say": "ok"})]);
    let write = json!({"calls": [{"name": "bash", "arguments": {"command": "echo two >a.txt"}},
                                 {"name": "edit", "arguments": {"path": "a.txt", "old_text": "one", "new_text": "two"}}]});
    let read = json!({"calls": [{"name": "read", "arguments": {"path": "a.txt"}}]});
    let stale = place.script("w.jsonl", &[read, write, json!({"say": "ok"})]);
    let near = |words: &[&str]| {
        let mut command = place.haft(words);
        command.env("OLLAMA_BASE_URL", "http://127.0.0.1:1/v1");
        let ran = crate::kit::Ran::from(command.output().expect("it can be started"));
        ran.out + &ran.err
    };
    let mut seen = vec![
        near(&["run", "hi"]),
        near(&["run", "hi", "--model", "openai/gpt-5"]),
        near(&["models", "list", "ollama"]).replace("127.0.0.1:1/", "127.0.0.1:11434/"),
        near(&["run", "hi", "--model", &script]),
        near(&["undo"]),
        near(&["build", "--description", "x", "--model", &script]),
        near(&["run", "hi", "--model", &stale, "--permission", "full"]),
    ];
    let project = Project::new();
    let build = ["build", "-description", "x", "--permission", "full"];
    let red = "package instances\n\nimport \\\"testing\\\"\n\nfunc TestNew(t *testing.T) { t.Fatal(1) }\n";
    let red = format!("code_edit -f new_test.go -a \"{red}\"");
    for (replies, more) in [
        (vec![fence(&red), fence("test"), "Task complete.".to_owned()], &[][..]),
        (vec![fence("file --path n.md --action write --content x"), "Task complete.".to_owned()], &[]),
        ((0..25).map(|number| fence(&format!("bash echo {number}"))).collect(), &[]),
        (vec![fence("bash curl x"), "Task complete.".to_owned()], &[]),
    ] {
        let ran = run(project.place.haft(&[&build[..], more].concat()), &says(&replies));
        let logs: Vec<String> = project
            .jobs()
            .iter()
            .map(|job| project.run(&["jobs", "logs", job["job"].as_str().unwrap_or_default()]).out)
            .collect();
        seen.push(ran.err + &logs.concat());
    }
    let mut command = project.haft(&["run", "hi", "--profile", "pedro", "--model", "ollama/x"]);
    command.env("OLLAMA_BASE_URL", "http://127.0.0.1:1/v1");
    seen.push(crate::kit::Ran::from(command.output().expect("it can be started")).err);
    // Shown by tests of their own, or by programs that are not ours.
    let elsewhere = [
        "404",
        "had an internal error",
        "the reply was ended: it said nothing new for too long",
        "--permission full",
        "joined the session, which another process has open",
        "the system does not let a command be confined",
        "failed to save tool results:",
        "Unable to find libclang",
        "make test",
    ];
    let seen = seen.concat();
    let unseen: Vec<String> = quoted()
        .into_iter()
        .filter(|text| !seen.contains(text.as_str()) && !elsewhere.contains(&text.as_str()))
        .collect();
    assert!(unseen.is_empty(), "{unseen:?} was not seen in {seen}");
}

/// The words of a command line; what stands in quotes is one.
fn words_of(line: &str) -> Vec<String> {
    let parts = line.split('"').enumerate();
    let words = parts.flat_map(|(place, part)| match place % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

// P-58: the examples of the page of jobs are commands that there are.
#[test]
fn the_examples_of_the_page_of_jobs_are_understood() {
    let place = Place::new();
    let lines = JOBS.lines().filter_map(|line| line.strip_prefix("haft "));
    let commands: Vec<Vec<String>> =
        lines.map(|line| line.split(" #").next().unwrap_or_default()).map(words_of).collect();
    assert!(commands.len() >= 8, "{commands:?}");
    for words in commands {
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        words.push("--help");
        let ran = place.run(&words);
        assert!(ran.code == 0 && ran.out.contains("Usage: haft "), "{words:?}: {ran:?}");
    }
}
