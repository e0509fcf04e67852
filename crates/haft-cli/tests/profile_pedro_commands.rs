//! What PedroCLI's `bash`, `git` and `test` run, under `--profile pedro` with a model that calls them in fenced lines.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
mod kit;
use kit::{
    fenced::{fence, heard, run, says},
    project::Project,
};

/// What the model reads of one call in a turn of `words`.
fn result_of(project: &Project, words: &[&str], lines: &str) -> String {
    let model = says(&[fence(lines).as_str(), "Task complete."]);
    run(project.haft(words), &model);
    let results = heard(&model.asked()[1]);
    let results = results.strip_prefix("Tool results:\n\n").unwrap();
    results.strip_suffix("\n\nContinue with next steps.").unwrap().to_owned()
}

const RUN: [&str; 4] = ["run", "go", "--permission", "full"];
const BUILD: [&str; 5] = ["build", "-description", "x", "--permission", "full"];

/// "bash: Run safe shell commands (limited to allowed commands)"
// P-12, X-23
#[test]
fn only_the_listed_commands_run_whatever_is_permitted() {
    let listed = [
        "cargo", "cat", "diff", "echo", "gh", "git", "go", "gofmt", "grep", "head", "ls", "make", "mkdir",
        "node", "npm", "pwd", "pytest", "python", "python3", "rg", "sort", "tail", "test", "true", "uniq",
        "wc",
    ];
    let names = listed.map(|name| format!("`execute:{name} *`")).join(", ");
    let denied = |command: &str| {
        format!("Tool 1 (bash) failed: `execute:{command}` is denied: the rules allow only {names}")
    };
    let project = Project::new();
    for words in [&RUN[..], &BUILD] {
        for command in [
            "curl http://127.0.0.1:1/",
            "rm -rf instances.go",
            "echo $(rm instances.go)",
            "echo a && rm instances.go",
            ">echo rm instances.go",
            "sh -c 'rm instances.go'",
            "GOFLAGS=-x go version",
        ] {
            assert_eq!(result_of(&project, words, &format!("bash {command}")), denied(command));
        }
        let told = result_of(&project, words, "bash echo one two | wc -w && pwd >where.txt 2>&1");
        assert_eq!(told.lines().nth(1), Some("2"), "{told}");
    }
    assert!(project.place.read("instances.go").is_some() && project.place.read("where.txt").is_some());
    // A list of one's own stands in its place, and a mode still says who is asked.
    project.place.configure("[rules]\nonly = [\"execute:uname *\"]\n");
    assert_eq!(result_of(&project, &RUN, "bash uname"), "Tool 1 (bash) output:\nLinux");
    let other = "Tool 1 (bash) failed: `execute:echo a` is denied: the rules allow only `execute:uname *`";
    assert_eq!(result_of(&project, &RUN, "bash echo a"), other);
    let asked = result_of(&project, &["run", "go"], "bash uname");
    assert!(
        asked.contains("`execute:uname` needs approval, and there is nobody who could give it"),
        "{asked}"
    );
    project.place.configure("\n[rules]\nonly = [\"read:x\"]\n");
    let ran = run(project.haft(&["run", "go"]), &says(&["x"]));
    assert!(
        ran.code == 2 && ran.err.contains("line 3: cannot read the rule `read:x`: `only` is about"),
        "{ran:?}"
    );
}
