//! PedroCLI's document, example by example, in its order: the real binary, `--profile pedro`, and a model on loopback that
//! knows no tools and writes what the document shows.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
mod kit;
use kit::{
    fenced::{fence, heard, run, says, system},
    project::{Project, git},
};
use serde_json::{Value, json};

const GENERATOR: &str = "package recurrence\n\nfunc GenerateInstances(n int) []int {\n\tvar all []int\n\tfor i := 0; i < n; i++ {\n\t\tall = append(all, i)\n\t}\n\treturn all\n}\n";
const GENERATOR_TEST: &str = "package recurrence\n\nimport \"testing\"\n\nfunc TestGenerateInstances(t *testing.T) {\n\tif len(GenerateInstances(3)) != 3 {\n\t\tt.Fatal(\"three instances\")\n\t}\n}\n";

/// The repository of the document's examples.
fn project() -> Project {
    let project = Project::new();
    project.place.write("pkg/recurrence/generator.go", GENERATOR);
    git(&project.place.work(), &["add", "."]);
    git(&project.place.work(), &["commit", "--quiet", "-m", "Generate"]);
    git(&project.place.work(), &["push", "--quiet", "origin", "main"]);
    project
}

/// "Example End-to-End Flow"
// P-01, P-05, P-59, P-60, P-61, P-62, P-63
#[test]
fn the_flow_from_end_to_end() {
    let project = project();
    let quoted = GENERATOR_TEST.replace('\\', "\\\\").replace('"', "\\\"");
    let model = says(&[
        "I'll start by reading the file:\n```bash\nfile pkg/recurrence/generator.go\n```".to_owned(),
        format!(
            "Now I'll create the test file:\n```bash\ncode_edit -f pkg/recurrence/generator_test.go -a \"{quoted}\"\n```"
        ),
        fence("test"),
        "Task complete. Created PR #123 with comprehensive tests.".to_owned(),
    ]);
    let words =
        ["build", "-description", "Add tests for GenerateInstances", "--direct", "--permission", "full"];
    let ran = run(project.haft(&words), &model);
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = model.asked();
    assert_eq!(asked.len(), 4);
    assert_eq!(heard(&asked[0]), "Task: Build new feature\nDescription: Add tests for GenerateInstances");
    let numbered: Vec<String> =
        GENERATOR.lines().enumerate().map(|(at, line)| format!("{:>6}\t{line}", at + 1)).collect();
    assert_eq!(
        heard(&asked[1]),
        format!(
            "Tool results:\n\nTool 1 (file) output:\n{}\n\nContinue with next steps.",
            numbered.join("\n")
        )
    );
    assert!(
        heard(&asked[2]).starts_with("Tool results:\n\nTool 1 (code_edit) output:\n"),
        "{}",
        heard(&asked[2])
    );
    assert!(heard(&asked[3]).contains("Tool 1 (test) output:\n1 passed, 0 failed"), "{}", heard(&asked[3]));
    let job = project.jobs().remove(0);
    let branch = job["branch"].as_str().unwrap();
    assert_eq!((&job["status"], &job["output"]["status"]), (&json!("completed"), &json!("completed")));
    assert_eq!(project.commits(branch), "Add tests for GenerateInstances");
    let bare = project.place.path().join("remote.git");
    let made = git(&bare, &["show", &format!("{branch}:pkg/recurrence/generator_test.go")]);
    assert_eq!(made, GENERATOR_TEST.trim_end());
    assert_eq!(project.opened.lock().unwrap().len(), 1);
    let told = "✓ completed: Task complete. Created PR #123 with comprehensive tests.";
    assert!(ran.err.contains(told), "{}", ran.err);
    assert!(ran.err.contains("pull_request: https://example.org/somebody/instances/pull/1"), "{}", ran.err);
}

/// "System Prompt"
const PROMPT: &str = "\
You are an autonomous coding agent. You can execute tools to interact with code, run tests, and make changes.

Available tools:
- file: Read, write, and modify entire files
- code_edit: Precise line-based editing (edit/insert/delete specific lines)
- search: Search code (grep patterns, find files, find definitions)
- navigate: Navigate code structure (list directories, get file outlines, find imports)
- git: Execute git commands (status, diff, commit, push, etc.)
- bash: Run safe shell commands (limited to allowed commands)
- test: Run tests and parse results (Go, npm, Python)
";

/// The names of the tools that a system prompt tells.
fn told(system: &str) -> Vec<String> {
    let specs = system.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    specs.map(|spec| spec["name"].as_str().unwrap().to_owned()).collect()
}

/// "Tool Registration", "System Prompt"
// P-02, P-05, P-06, P-56
#[test]
fn the_system_prompt_and_its_seven_tools_for_prompts_and_for_each_agent() {
    let seven = ["file", "code_edit", "search", "navigate", "git", "bash", "test"];
    let project = Project::new();
    let model = says(&["Task complete."]);
    run(project.haft(&["run", "hello"]), &model);
    let prompt = system(&model.asked()[0]);
    assert!(prompt.starts_with(PROMPT), "{prompt}");
    assert_eq!(told(&prompt), seven);
    let (sentence, list) = PROMPT.split_once("\n\n").unwrap();
    // What a review and a triage come to only a call can say.
    let table = [("build", &[][..]), ("debug", &[]), ("review", &["review"]), ("triage", &["triage"])];
    for (job, more) in table {
        let model = says(&["Task complete."]);
        run(project.haft(&[job, "-description", "x"]), &model);
        let asked = model.asked();
        let prompt = system(&asked[0]);
        assert!(prompt.starts_with(sentence) && prompt.contains(list), "{job}: {prompt}");
        assert_eq!(told(&prompt), [&seven[..], more].concat(), "{job}");
        assert!(!prompt.contains("publish"), "{job}: {prompt}");
        assert!(asked[0]["tools"].is_null(), "{job}");
    }
}
