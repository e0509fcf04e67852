//! PedroCLI's tools for files and code, under `--profile pedro` with a model that calls them in fenced lines; and its parser.
use crate::kit::{
    Place,
    fenced::{fence, heard, run, says, system},
};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// What the model reads of the calls of `lines`.
fn results_of(place: &Place, lines: &str) -> String {
    let model = says(&[fence(lines).as_str(), "Task complete."]);
    run(place.haft(&["run", "go", "--permission", "accept-edits"]), &model);
    let results = heard(&model.asked()[1]);
    let results = results.strip_prefix("Tool results:\n\n").unwrap();
    results.strip_suffix("\n\nContinue with next steps.").unwrap().to_owned()
}

const GENERATOR: &str = "package recurrence\n\nimport \"errors\"\n\nvar ErrNone = errors.New(\"none\")\n\nfunc GenerateInstances(n int) error {\n\treturn ErrNone\n}\n";

/// "file: Read, write, and modify entire files"
// P-07, P-27
#[test]
fn file_reads_writes_and_modifies_whole_files() {
    let place = Place::new();
    let path = "--path pkg/notes.md";
    results_of(&place, &format!("file {path} --action write --content \"one\ntwo\n\""));
    assert_eq!(place.read("pkg/notes.md").as_deref(), Some("one\ntwo\n"));
    results_of(&place, &format!("file {path} --action append --content three"));
    assert_eq!(place.read("pkg/notes.md").as_deref(), Some("one\ntwo\nthree"));
    // What was not read is not written over.
    let unread = results_of(&place, &format!("file {path} --action write --content new"));
    assert!(
        unread.starts_with("Tool 1 (file) failed: ") || unread.starts_with("Tool 1 (file) error: "),
        "{unread}"
    );
    let lines = format!("file pkg/notes.md\nfile {path} --action write --content new");
    let read = "Tool 1 (file) output:\n     1\tone\n     2\ttwo\n     3\tthree\n\nTool 2 (file) output:\n";
    let told = results_of(&place, &lines);
    assert!(told.starts_with(read), "{told}");
    assert_eq!(place.read("pkg/notes.md").as_deref(), Some("new"));
    results_of(&place, &format!("file pkg/notes.md\nfile {path} --action delete"));
    assert_eq!(place.read("pkg/notes.md"), None);
    // However it is written.
    let quoted = "# It's `this`\n\n--- \"a\" $b\n";
    let table = [
        ("file --path a.md --content \"--- x\"", "--- x"),
        ("file a.md --action=write --content 'x y'", "x y"),
        ("file -path a.md -action write -content x", "x"),
        ("file write a.md 'x y'", "x y"),
        ("file a.md write x y", "x y"),
        ("file --action write a.md --content x", "x"),
        (&format!("file write a.md <<'EOF'\n{quoted}EOF"), quoted),
        ("code_edit -f a.md -a '-- x'", "-- x\n"),
        ("code_edit a.md --content x", "x\n"),
        ("code_edit --path a.md --action append --text \"x\ny\"", "x\ny\n"),
        (&format!("code_edit -f a.md -a <<EOF\n{quoted}EOF"), quoted),
    ];
    for (line, expected) in table {
        let place = Place::new();
        let told = results_of(&place, line);
        assert_eq!(place.read("a.md").as_deref(), Some(expected), "{line}: {told}");
    }
}

/// "code_edit: Precise line-based editing (edit/insert/delete specific lines)"
// P-08, P-29, P-30, P-32
#[test]
fn code_edit_edits_inserts_and_deletes_lines() {
    let table = [
        ("code_edit -f a.go -l 2:3 -r \"x\"", "1\nx\n4\n"),
        ("code_edit -f a.go -l 2:2 -r \"x\ny\"", "1\nx\ny\n3\n4\n"),
        ("code_edit -f a.go -a \"5\"", "1\n2\n3\n4\n5\n"),
        ("code_edit --path a.go --action insert --start 1 --text 0", "0\n1\n2\n3\n4\n"),
        ("code_edit --path a.go --action delete --start 2 --end 3", "1\n4\n"),
        ("code_edit -f a.go -l 2:3 -d", "1\n4\n"),
        ("code_edit -f a.go -l 2 -i '-- x'", "1\n-- x\n2\n3\n4\n"),
        ("code_edit insert a.go --start 2 --content x", "1\nx\n2\n3\n4\n"),
        ("code_edit -file a.go -lines 2:3 -r <<EOF\n\"x\"\nEOF", "1\n\"x\"\n4\n"),
        (
            "code_edit -f a.go -l 1:1 -r 'a \"b\"'\n# and another\ncode_edit -f a.go \\\n  -l 4:4 -r c",
            "a \"b\"\n2\n3\nc\n",
        ),
    ];
    for (lines, expected) in table {
        let place = Place::new();
        place.write("a.go", "1\n2\n3\n4\n");
        let told = results_of(&place, lines);
        assert_eq!(place.read("a.go").as_deref(), Some(expected), "{lines}: {told}");
    }
    let place = Place::new();
    results_of(&place, "code_edit -f new_test.go -a \"package new\"");
    assert_eq!(place.read("new_test.go").as_deref(), Some("package new\n"));
    place.write("a.go", "1\n");
    let beyond = results_of(&place, "code_edit -f a.go -l 7:9 -r x");
    assert!(beyond.starts_with("Tool 1 (code_edit) ") && beyond.contains("1 line"), "{beyond}");
}

/// "search: Search code (grep patterns, find files, find definitions)",
/// "navigate: Navigate code structure (list directories, get file outlines, find imports)"
// P-09, P-10, P-28
#[test]
fn search_and_navigate_find_what_there_is() {
    let place = Place::new();
    place.write("pkg/recurrence/generator.go", GENERATOR);
    place.write("pkg/other.go", "package pkg\n");
    let found =
        "Found 1 match in 1 file\n\npkg/recurrence/generator.go\n7:func GenerateInstances(n int) error {";
    let table = [
        ("search -t \"func Generate\\w+\" pkg/", "search", found),
        (
            "search --type files --query '*.go' --path pkg",
            "search",
            "pkg/other.go\npkg/recurrence/generator.go",
        ),
        (
            "search --type definitions --query GenerateInstances",
            "search",
            "func GenerateInstances(n int) error",
        ),
        ("search -d GenerateInstances", "search", "func GenerateInstances(n int) error"),
        ("search -d GenerateInstances pkg/", "search", "func GenerateInstances(n int) error"),
        ("search --type definitions GenerateInstances", "search", "func GenerateInstances(n int) error"),
        ("search -type definitions GenerateInstances pkg", "search", "func GenerateInstances(n int) error"),
        ("search -f '*.go' pkg", "search", "pkg/other.go\npkg/recurrence/generator.go"),
        ("search --type=files other", "search", "pkg/other.go"),
        ("search -t '-- none' pkg", "search", "No match"),
        ("navigate list pkg", "navigate", "recurrence/"),
        ("navigate outline pkg/recurrence/generator.go", "navigate", "func GenerateInstances(n int) error"),
        ("navigate imports pkg/recurrence/generator.go", "navigate", "errors"),
    ];
    for (line, tool, expected) in table {
        let told = results_of(&place, line);
        let begin = format!("Tool 1 ({tool}) output:\n");
        assert!(told.starts_with(&begin) && told.contains(expected), "{line}: {told}");
    }
}

/// Each line that the prompt shows is a call that can be made as it stands.
// P-20, P-31
#[test]
fn what_the_prompt_teaches_is_understood() {
    let place = Place::new();
    let model = says(&["Task complete."]);
    run(place.haft(&["run", "go"]), &model);
    let prompt = system(&model.asked()[0]);
    let (_, block) = prompt.split_once("```bash\n").unwrap();
    let (block, _) = block.split_once("\n```").unwrap();
    for tool in ["file", "code_edit", "search", "navigate", "git", "bash", "test"] {
        let lines: Vec<&str> = block.lines().filter(|line| line.split(' ').next() == Some(tool)).collect();
        assert!(!lines.is_empty(), "{tool}: {block}");
        for line in lines {
            let place = Place::new();
            place.write("notes.md", "1\n2\n3\n");
            place.write("main.go", "package main\n\nfunc New() {}\n");
            place.write("pkg/a.go", "package pkg\n");
            place.write("go.mod", "module main\n");
            let git = Command::new("git").args(["init", "-q"]).current_dir(place.work()).status().unwrap();
            assert!(git.success());
            let told = results_of(&place, &format!("file notes.md\n{line}"));
            let (_, told) = told.split_once("\n\n").unwrap();
            let expected = format!("Tool 2 ({tool}) ");
            let is_told = told.starts_with(&expected) && !told.contains("cannot call");
            // What may run is another matter.
            let has_run = told.starts_with(&format!("{expected}output:")) || ["bash", "test"].contains(&tool);
            assert!(is_told && has_run, "{line}: {told}");
        }
    }
}

/// "executeLoop(ctx context.Context, …)"
// P-33
#[test]
fn the_loop_can_be_stopped_while_a_tool_runs() {
    let place = Place::new();
    let wait = "import pathlib, time; pathlib.Path(\"begun\").touch(); time.sleep(60)";
    let model = says(&[fence(&format!("bash python3 -c '{wait}'")).as_str(), "never said"]);
    let mut command =
        place.haft(&["run", "go", "--permission", "full", "--profile", "pedro", "--model", "openai/m"]);
    command.env("OPENAI_BASE_URL", format!("{}/v1", model.address)).env("OPENAI_API_KEY", "sk-x");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let has_begun = (0..600).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        place.has_made("begun")
    });
    assert!(has_begun);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(model.asked().len(), 1);
    let journal = std::fs::read_to_string(place.journal()).unwrap();
    let entries: Vec<Value> = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ended: Vec<&Value> = entries.iter().filter(|entry| entry["type"] == "tool_ended").collect();
    assert_eq!((ended.len(), &ended[0]["ok"]), (1, &json!(false)));
    assert_eq!(entries.last().unwrap()["outcome"], "interrupted");
}

/// "ParseToolCalls", without a model: a block of the document, one that is prose, and one that cannot be read.
// P-18, P-24, P-25, P-27, P-28, P-54
#[test]
fn the_parser_alone_finds_the_calls_of_a_text() {
    let place = Place::new();
    let text = "Let me search for the function:\n\n```bash\nsearch -t \"GenerateInstances\" pkg/recurrence/\n```\n\nNow let me read the \
                file:\n\n```bash\nfile pkg/recurrence/generator.go\n```\n```bash\nls -la\n```\n```bash\nfile\n```\n";
    let words = ["parse", "--dialect", "fenced_shell", "-"];
    place.configure("profile = \"pedro\"");
    let ran = place.run_with_input(&words, text.as_bytes());
    let parsed: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    let calls: Vec<Value> = parsed["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| json!({"tool": call["name"], "args": call["arguments"]}))
        .collect();
    let expected = json!([
        {"tool": "search", "args": {"query": "GenerateInstances", "path": "pkg/recurrence/"}},
        {"tool": "file", "args": {"path": "pkg/recurrence/generator.go"}},
    ]);
    assert_eq!(json!(calls), expected, "{parsed}");
    assert!(parsed["content"].as_str().unwrap().contains("ls -la"), "{parsed}");
    assert_eq!(parsed["problems"], json!(["`file`: `file` needs a path"]), "{parsed}");
    let listed = place.run(&["parse", "--dialect", "?"]);
    assert!(listed.code == 0 && listed.out.lines().any(|name| name == "fenced_shell"), "{listed:?}");
    let unknown = place.run(&["parse", "--dialect", "fenced_shel"]);
    assert!(unknown.code == 2 && unknown.err.contains("did you mean `fenced_shell`?"), "{unknown:?}");
}
