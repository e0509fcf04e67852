//! The jobs of PedroCLI's four agents under `--profile pedro`: what a job is, what is left of it, and both ways to one.
use crate::kit::{
    fenced::{fence, heard, run, says},
    project::{Project, git},
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

const FULL: [&str; 2] = ["--permission", "full"];
const WRITE: &str = "file --path notes.md --action write --content x";

/// "Create("build", description, input)", then "StatusRunning"
// P-46
#[test]
fn a_job_has_a_type_a_description_and_its_input_and_runs() {
    let project = Project::new();
    let script = project.place.script("hang.jsonl", &[json!({"hang": true})]);
    for (word, kind) in
        [("build", "builder"), ("debug", "debugger"), ("review", "reviewer"), ("triage", "triager")]
    {
        let words = [word, "-description", "Add x", "--profile", "pedro", "--model", &script];
        let mut child = project.haft(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let job = (0..600).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            project.jobs().into_iter().find(|job| job["status"] == "running")
        });
        let job = job.unwrap();
        let fields = ["type", "kind", "description", "input"].map(|name| job[name].clone());
        let input = json!({"description": "Add x"});
        assert_eq!(fields, [json!(word), json!(kind), json!("Add x"), input]);
        let id = job["job"].as_str().unwrap();
        assert!(project.run(&["jobs", "show", id]).out.contains(&format!("type         {word}\n")));
        assert_eq!(project.run(&["jobs", "cancel", id]).code, 0);
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
}

/// "NewManager(job.ID, b.config.Debug.Enabled)", "defer contextMgr.Cleanup()"
// P-47
#[test]
fn what_a_job_kept_for_itself_goes_with_it_unless_somebody_debugs() {
    for debug in [false, true] {
        let project = Project::new();
        let model = says(&[
            fence(WRITE),
            fence("bash python3 -c 'print(\"line\\n\" * 9000)'"),
            "Task complete.".into(),
        ]);
        let more: &[&str] = if debug { &["--debug"] } else { &[] };
        let ran = run(project.haft(&[&["build", "-description", "Add x"], &FULL[..], more].concat()), &model);
        assert_eq!(ran.code, 0, "{ran:?}");
        let folder =
            project.place.path().join("home/sessions").join(project.jobs()[0]["job"].as_str().unwrap());
        let trees = std::fs::read_dir(project.place.path().join("home/worktrees")).unwrap().count();
        assert!(folder.join("journal.jsonl").exists());
        assert_eq!((folder.join("outputs").exists(), trees), (debug, usize::from(debug)));
    }
}

/// A client of `haft mcp` on its standard streams.
struct Client {
    child: std::process::Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Client {
    fn send(&mut self, message: &Value) {
        let mut line = message.to_string();
        line.push('\n');
        self.child.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.answers.read_line(&mut line).unwrap() > 0, "the server has left");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message["result"].clone();
            }
        }
    }
}

/// "pedrocli (MCP client) → JSON-RPC → pedrocli-server (MCP server) → Agent → Tools"
// P-51, P-52, P-53
#[test]
fn an_agent_is_a_tool_over_json_rpc() {
    let project = Project::new();
    let model = says(&[fence(WRITE).as_str(), "Task complete."]);
    let words = ["mcp", "--profile", "pedro", "--model", "openai/m", "--permission", "full"];
    let mut command = project.haft(&words);
    command.env("OPENAI_BASE_URL", format!("{}/v1", model.address)).env("OPENAI_API_KEY", "sk-x");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let answers = BufReader::new(child.stdout.take().unwrap());
    let mut client = Client { child, answers };
    let info = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "ide", "version": "1"}});
    client.ask(1, "initialize", &info);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let tools = client.ask(2, "tools/list", &json!({}))["tools"].clone();
    let mut names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["agent", "builder", "debugger", "reviewer", "triager"]);
    let lacking = client.ask(3, "tools/call", &json!({"name": "builder", "arguments": {}}));
    assert_eq!(lacking["content"][0]["text"], "missing 'description' in input");
    let called =
        client.ask(4, "tools/call", &json!({"name": "builder", "arguments": {"description": "Add x"}}));
    assert_eq!(called["content"][0]["text"], "completed: Task complete.", "{called}");
    drop(client.child.stdin.take());
    client.child.wait().unwrap();
    let job = project.jobs().remove(0);
    let made = &called["structuredContent"];
    assert_eq!(
        (&job["job"], &job["status"], &job["type"]),
        (&made["job"], &json!("completed"), &json!("build"))
    );
    assert_eq!(project.commits(job["branch"].as_str().unwrap()), "Add x");
    assert_eq!(heard(&model.asked()[0]), "Task: Build new feature\nDescription: Add x");
}

/// "pedrocli (direct executor) → Agent → Tools", the default: with `--direct` and without it the work is done when the
/// command has ended, and nothing listens.
// P-04, P-52, P-53, P-61
#[test]
fn a_job_is_done_in_this_process_whether_that_is_said_or_not() {
    for direct in [&[][..], &["--direct"]] {
        let project = Project::new();
        let model = says(&[fence(WRITE).as_str(), "Task complete."]);
        let words = [&["build", "-description", "Add x"], &FULL[..], direct].concat();
        let ran = run(project.haft(&words), &model);
        assert_eq!((ran.code, &project.jobs()[0]["status"]), (0, &json!("completed")), "{ran:?}");
    }
}

/// "Update DebuggerAgent.Execute()"
// P-56
#[test]
fn a_debugger_shows_the_fault_removes_it_and_publishes() {
    let project = Project::new();
    let fault = "package instances\n\nfunc Last(n int) int {\n\treturn n\n}\n";
    project.place.write("last.go", fault);
    git(&project.place.work(), &["add", "."]);
    git(&project.place.work(), &["commit", "--quiet", "-m", "Last"]);
    let test = "package instances\n\nimport \\\"testing\\\"\n\nfunc TestLast(t *testing.T) {\n\tif Last(3) != 2 {\n\t\tt.Fatal(Last(3))\n\t}\n}\n";
    let model = says(&[
        fence(&format!("code_edit -f last_test.go -a \"{test}\"")),
        fence("test -run TestLast"),
        fence("code_edit -f last.go -l 4:4 -r \"\treturn n - 1\""),
        fence("test"),
        "Task complete. It was off by one.".to_owned(),
    ]);
    let ran =
        run(project.haft(&[&["debug", "-description", "It is off by one"], &FULL[..]].concat()), &model);
    let asked = model.asked();
    assert_eq!(heard(&asked[0]), "Task: Debug issue\nDescription: It is off by one");
    assert!(
        heard(&asked[2]).contains("0 passed, 1 failed (`go test -json -run=TestLast ./...`)"),
        "{}",
        heard(&asked[2])
    );
    assert!(heard(&asked[4]).contains("1 passed, 0 failed"), "{}", heard(&asked[4]));
    assert_eq!(ran.code, 0, "{ran:?}");
    let job = project.jobs().remove(0);
    assert_eq!((&job["status"], project.opened.lock().unwrap().len()), (&json!("completed"), 1));
    let files = &job["output"]["evidence"][0]["files"];
    assert_eq!(files, &json!(["last.go", "last_test.go"]));
}

/// "Update ReviewerAgent.Execute()", "Update TriagerAgent.Execute()"
// P-56
#[test]
fn a_review_and_a_triage_are_given_in_fenced_lines() {
    let project = Project::new();
    let comments =
        "[{\"path\": \"instances.go\", \"line\": 14, \"severity\": \"major\", \"message\": \"No limit.\"}]";
    let table = [
        (
            "review",
            "Task: Review code\nDescription: x",
            format!("review --verdict request_changes --summary \"One fault.\" --comments '{comments}'"),
            json!({"line": 14, "message": "No limit.", "path": "instances.go", "severity": "major"}),
        ),
        (
            "triage",
            "Task: Triage issue\nDescription: x",
            "triage --kind bug --severity high --reason \"It panics.\" --files '[\"instances.go\"]'"
                .to_owned(),
            json!({"kind": "bug", "severity": "high", "reason": "It panics.", "files": ["instances.go"]}),
        ),
    ];
    for (job, prompt, line, expected) in table {
        let model = says(&[fence(&line).as_str(), "Task complete."]);
        let ran = run(project.haft(&[job, "-description", "x"]), &model);
        assert_eq!((ran.code, heard(&model.asked()[0]).as_str()), (0, prompt), "{ran:?}");
        let evidence = project.jobs()[0]["output"]["evidence"][0].clone();
        let found = if job == "review" { &evidence["comments"][0] } else { &evidence };
        assert_eq!(found, &expected);
    }
}
