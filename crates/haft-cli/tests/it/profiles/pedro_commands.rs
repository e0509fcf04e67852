//! What PedroCLI's `bash`, `git` and `test` run, under `--profile pedro` with a model that calls them in fenced lines.
use crate::kit::{
    fenced::{fence, heard, run, says},
    project::{Project, git},
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
    assert_eq!(result_of(&project, &["run", "go"], "bash uname"), "Tool 1 (bash) output:\nLinux");
    let asked = result_of(&project, &["run", "go", "--sandbox", "off"], "bash uname");
    assert!(
        asked.contains("`execute:uname` needs approval, and there is no person who could give it"),
        "{asked}"
    );
    project.place.configure("\n[rules]\nonly = [\"read:x\"]\n");
    let ran = run(project.haft(&["run", "go"]), &says(&["x"]));
    assert!(
        ran.code == 2 && ran.err.contains("line 3: cannot read the rule `read:x`: `only` is about"),
        "{ran:?}"
    );
}

/// "git: Execute git commands (status, diff, commit, push, etc.)"
// P-11, P-31
#[test]
fn git_does_what_is_typed() {
    let project = Project::new();
    let work = project.place.work();
    let said = |words: &[&str]| git(&work, words);
    let told = |line: &str| {
        let told = result_of(&project, &RUN, line);
        told.strip_prefix("Tool 1 (git) output:\n").unwrap_or_else(|| panic!("{line}: {told}")).to_owned()
    };
    told("git checkout -b feature");
    assert_eq!(said(&["branch", "--show-current"]), "feature");
    project.place.write("instances.go", "package instances\n");
    assert_eq!(told("git status -s"), "on `feature`\nnot staged:\n  M instances.go");
    assert_eq!(told("git diff --stat").trim_start(), said(&["diff", "--stat"]));
    assert_eq!(told("git diff --name-only HEAD"), "instances.go");
    told("git commit -am \"Make it short\" -m 'All of it.'");
    assert_eq!(said(&["log", "-1", "--format=%B"]), "Make it short\n\nAll of it.");
    assert_eq!(said(&["status", "--porcelain"]), "");
    assert_eq!(told("git log --oneline -1"), said(&["log", "--oneline", "-1"]));
    assert_eq!(told("git log --oneline -n 5 main"), said(&["log", "--oneline", "-n", "5", "main"]));
    assert_eq!(told("git diff --name-status main feature -- instances.go"), "M\tinstances.go");
    assert!(told("git show --stat HEAD").ends_with(&said(&["show", "--stat", "--format=", "HEAD"])));
    project.place.write("new.go", "package instances\n");
    let stashed = told("git stash -u -m 'for later'");
    assert!(
        stashed.starts_with("Saved working directory and index state On feature: for later\n"),
        "{stashed}"
    );
    assert_eq!((project.place.read("new.go"), told("git stash list")), (None, said(&["stash", "list"])));
    told("git stash pop");
    assert!(project.place.read("new.go").is_some() && told("git stash list") == "Nothing is stashed.");
    told("git add -A");
    told("git stash");
    assert_eq!((project.place.read("new.go"), said(&["status", "--porcelain"])), (None, String::new()));
    assert_eq!(told("git stash show --name-only"), "new.go");
    told("git stash apply");
    told("git stash drop 0");
    assert_eq!(said(&["stash", "list"]), "");
    told("git add -A");
    told("git commit --amend --no-edit");
    assert_eq!(said(&["show", "--name-only", "--format=%s"]), "Make it short\n\ninstances.go\nnew.go");

    // Another branch than the one that is named is never pushed.
    told("git checkout -b work main");
    assert_eq!(said(&["rev-parse", "work"]), said(&["rev-parse", "main"]));
    told("git push origin feature");
    let bare = project.place.path().join("remote.git");
    assert_eq!(git(&bare, &["branch", "--format=%(refname:short)"]), "feature\nmain");
    assert_eq!(git(&bare, &["rev-parse", "feature"]), said(&["rev-parse", "feature"]));
    told("git push -u origin work");
    assert_eq!(said(&["rev-parse", "--abbrev-ref", "work@{upstream}"]), "origin/work");
    told("git branch topic feature");
    assert_eq!(said(&["rev-parse", "topic"]), said(&["rev-parse", "feature"]));
    assert_eq!(told("git branch --show-current"), "work");
    told("git checkout feature -- new.go");
    assert!(project.place.read("new.go").is_some());
    told("git checkout -");
    assert_eq!(said(&["branch", "--show-current"]), "feature");
}

// P-11, P-25, P-31, P-35: nothing else is done in its place.
#[test]
fn what_git_is_not_let_do_is_refused_with_the_reason() {
    let project = Project::new();
    let work = project.place.work();
    let table = [
        ("git push --force origin main", "cannot push: `--force` is not done here"),
        ("git push origin --delete main", "cannot push: `--delete` is not done here"),
        ("git push origin main:other", "cannot push `main:other`: it would force, rename or remove"),
        ("git push origin nowhere", "git refused: error: src refspec nowhere does not match any"),
        ("git commit -m x --author=me", "cannot commit: `--author=me` is not done here"),
        ("git commit -a", "cannot commit: `message` is required"),
        ("git log --graph -p", "cannot log: `--graph` is not done here; `-p` is not done here"),
        ("git diff nowhere", "git refused: `nowhere` is neither a revision nor a file"),
        ("git branch -D main", "cannot branch: `-D` is not done here"),
        ("git stash clear", "cannot stash: `clear` is not done here"),
        ("git stash pop", "git refused: "),
        ("git bisect", "cannot call `git`: `action` must be one of [\"status\",\"diff\","),
        (
            "git -C .. status",
            "cannot call `unreadable_call`: failed to parse tool calls: `git -C .. status`: `git` takes its command first",
        ),
    ];
    let before = ["log --all --oneline", "branch --all", "status --porcelain"]
        .map(|line| git(&work, &line.split(' ').collect::<Vec<_>>()));
    for (line, expected) in table {
        let told = result_of(&project, &RUN, line);
        let why = told.split_once(": ").map_or("", |(_, why)| why);
        assert!(why.starts_with(expected), "{line}: {told}");
    }
    let after = ["log --all --oneline", "branch --all", "status --porcelain"]
        .map(|line| git(&work, &line.split(' ').collect::<Vec<_>>()));
    assert_eq!(before, after);
}

/// "test: Run tests and parse results (Go, npm, Python)"
// P-13
#[test]
fn a_plain_npm_test_is_run_and_told_by_its_exit_code_and_the_end_of_its_output() {
    if std::process::Command::new("npm").arg("--version").output().is_err() {
        return haft_testing::left_out("there is no `npm` on the PATH");
    }
    let project = Project::new();
    std::fs::remove_file(project.place.work().join("go.mod")).unwrap();
    project.place.write("package.json", "{\"scripts\": {\"test\": \"node check.js\"}}");
    let lines = "for (let i = 1; i <= 300; i++) console.log(`check ${i}`);\n";
    for code in [0, 3] {
        project.place.write("check.js", format!("{lines}process.exit({code});\n"));
        let told = result_of(&project, &RUN, "test");
        let begin = format!("Tool 1 (test) output:\n`npm test` ended with exit code {code}:\n");
        assert!(told.starts_with(&begin), "{told}");
        assert!(told.contains("check 300") && !told.contains("check 50\n"), "{told}");
        let called = project.run(&["tools", "call", "test", "{}", "--permission", "full"]);
        let result: serde_json::Value = serde_json::from_str(&called.out).unwrap();
        assert_eq!(result["details"]["ok"], serde_json::json!(code == 0), "{result}");
    }
    let part = result_of(&project, &RUN, "test -run one");
    assert!(part.contains("error: cannot run a part of the tests: the script `test` of `"), "{part}");
}
