//! PedroCLI's document, example by example, in its order: the real binary, `--profile pedro`, and a model on loopback that
//! knows no tools and writes what the document shows.
use crate::kit::{
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
    assert!(ran.err.contains("pull_request: https://example.org/octo/instances/pull/1"), "{}", ran.err);
}

/// "Option A", as it stands there, and its two calls.
// P-18, P-19, P-20, P-24, P-27, P-28, P-41, P-43, P-55
#[test]
fn both_calls_of_one_reply_are_run_in_their_order() {
    let project = project();
    let reply = "Let me search for the function:\n\n```bash\nsearch -t \"GenerateInstances\" pkg/recurrence/\n```\n\n\
                 Now let me read the file:\n\n```bash\nfile pkg/recurrence/generator.go\n```";
    let model = says(&[reply, "Task complete."]);
    let ran = run(project.haft(&["run", "go", "--json"]), &model);
    let found =
        "Found 1 match in 1 file\n\npkg/recurrence/generator.go\n3:func GenerateInstances(n int) []int {";
    let begin = format!("Tool results:\n\nTool 1 (search) output:\n{found}");
    let heard = heard(&model.asked()[1]);
    let (first, second) =
        heard.split_once("\n\nTool 2 (file) output:\n     1\tpackage recurrence\n").unwrap();
    assert!(first.starts_with(&begin) && second.ends_with("\n\nContinue with next steps."), "{heard}");
    let order = ran.recorded().into_iter().filter(|name| name.starts_with("tool_")).collect::<Vec<_>>();
    assert_eq!(order, ["tool_started", "tool_ended", "tool_started", "tool_ended"]);
}

/// "Option B" and "Option C", which are dialects of their own.
// P-21, P-22, P-23
#[test]
fn calls_in_json_and_in_elements_are_run_as_well() {
    let project = project();
    let json = "```json\n{\n  \"thoughts\": \"I need to understand the current implementation first\",\n  \"tool_calls\": [\n    \
                {\"tool\": \"search\", \"args\": {\"-t\": \"GenerateInstances\", \"path\": \"pkg/recurrence/\"}},\n    \
                {\"tool\": \"file\", \"args\": {\"path\": \"pkg/recurrence/generator.go\"}}\n  ]\n}\n```";
    let elements = "<thinking>I need to understand the current implementation first</thinking>\n<tool_use>\n  <tool>search</tool>\n  \
                    <args>\n    <pattern>GenerateInstances</pattern>\n    <path>pkg/recurrence/</path>\n  </args>\n</tool_use>";
    for (dialect, reply, calls) in [("thoughts_json", json, 2), ("tool_use_xml", elements, 1)] {
        let model = says(&[reply, "Task complete."]);
        let ran = run(project.haft(&["run", "go", "--dialect", dialect]), &model);
        let heard = heard(&model.asked()[1]);
        let found = "Tool 1 (search) output:\nFound 1 match in 1 file\n\npkg/recurrence/generator.go\n3:func GenerateInstances";
        assert!(ran.code == 0 && heard.contains(found), "{dialect}: {heard}");
        assert_eq!(heard.contains("Tool 2 (file) output:"), calls == 2, "{dialect}: {heard}");
    }
}

/// "toolResults = append(…)", for what went well, what is not there, and what cannot be called.
// P-25, P-26, P-39, P-40, P-41, P-64, P-65, X-07
#[test]
fn results_are_worded_as_the_loop_words_them() {
    let project = project();
    let lines = "bash echo hi\nfile nope.txt\ncode_edit -f a.go\ngit nothing\nfile 'open";
    let reply =
        format!("{}\n\nAnd a sample, which calls no tool:\n\n```bash\nnpm install\n```", fence(lines));
    let model = says(&[reply.as_str(), "Task complete."]);
    run(project.haft(&["run", "go", "--permission", "full"]), &model);
    let results = heard(&model.asked()[1]);
    let results: Vec<&str> =
        results.split("\n\n").filter(|part| part.starts_with("Tool ") && part.contains('(')).collect();
    let expected = [
        "Tool 1 (bash) output:\nhi",
        "Tool 2 (file) error: cannot read `nope.txt`: no such file",
        "Tool 3 (unreadable_call) failed: cannot call `unreadable_call`: failed to parse tool calls: `code_edit -f a.go`: ",
        "Tool 4 (git) failed: cannot call `git`: `action` must be one of ",
        "Tool 5 (unreadable_call) failed: cannot call `unreadable_call`: failed to parse tool calls: `file 'open`: a ' is never closed",
    ];
    assert_eq!(results.len(), expected.len(), "{results:?}");
    for (result, expected) in results.iter().zip(expected) {
        assert!(result.starts_with(expected), "{result}");
    }
}

/// What the document does not say: the profile's name and line in lists, its limits of a reply and of a result, and that
/// no other notes are told.
// P-16, P-17, X-21
#[test]
fn what_else_the_profile_sets() {
    let project = Project::new();
    let title = "pedro     as PedroCLI's document describes it: seven tools for text models, called in fenced lines, until the task is complete\n";
    let profiles = project.run(&["profiles", "list"]).out;
    assert!(profiles.contains(title), "{profiles}");
    project.place.write("AGENTS.md", "Speak like a pirate.\n");
    let clip = "clip = { lines = 9000, bytes = 900000, keep = \"both\" }";
    project.place.configure(&format!("[tools.bash]\n{clip}\n"));
    let lines = "bash python3 -c 'print(*range(3000), sep=\"\\n\")'";
    let bytes = "bash python3 -c 'print(*[\"x\" * 99] * 2000, sep=\"\\n\")'";
    let model = says(&[fence(lines).as_str(), fence(bytes).as_str(), "Task complete."]);
    let ran = run(project.haft(&["run", "go", "--permission", "full", "--output", "json"]), &model);
    let asked = model.asked();
    assert!(!system(&asked[0]).contains("pirate"));
    assert_eq!(asked[0]["max_completion_tokens"], 4096);
    let cut = heard(&asked[1]);
    let numbers: Vec<u32> = cut.lines().filter_map(|line| line.parse().ok()).collect();
    let expected: Vec<u32> = (0..1100).chain(1900..3000).collect();
    assert_eq!(numbers, expected);
    let kept = heard(&asked[2]).matches('x').count();
    assert!((54_000..56_000).contains(&kept), "{kept}");
    let usage: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(usage["usage"]["output"], 15);
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
    let published = "Then say \"Task complete.\" and what you did; it is committed, pushed and proposed as a pull request.";
    let table = [
        (
            "build",
            &[][..],
            format!("Build what the task says and nothing beside it, with tests. Run the tests until they pass. {published}"),
        ),
        (
            "debug",
            &[],
            format!(
                "Write a test that fails because of the fault, and run it with `test`. Then find the cause, remove it and \
                 run the tests until they pass. {published}"
            ),
        ),
        (
            "review",
            &["review"],
            "Review the change that the task means; change nothing. Call `review` with your verdict and a comment for each \
             fault. Then say \"Task complete.\"."
                .to_owned(),
        ),
        (
            "triage",
            &["triage"],
            "Find out what the task reports; change nothing. Call `triage` with its kind, its severity, the reason for both \
             and the files to look at first. Then say \"Task complete.\"."
                .to_owned(),
        ),
    ];
    for (job, more, own) in table {
        let model = says(&["Task complete."]);
        run(project.haft(&[job, "-description", "x"]), &model);
        let asked = model.asked();
        let prompt = system(&asked[0]);
        let before = format!("{sentence}\n\n{own}\n\n");
        assert!(prompt.starts_with(&before) && prompt.contains(list), "{job}: {prompt}");
        assert_eq!(told(&prompt), [&seven[..], more].concat(), "{job}");
        assert!(!prompt.contains("publish"), "{job}: {prompt}");
        assert!(asked[0]["tools"].is_null(), "{job}");
    }
}
