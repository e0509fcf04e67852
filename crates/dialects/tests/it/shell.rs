//! What is read in calls in a fenced shell block.
use crate::kit::{a_call, named, problem, said, text};
use haft_dialects::{Said, Setting, ToolSchema, read};
use serde_json::{Value, json};

fn setting() -> Setting {
    let tool = |name: &str, parameters: Value| ToolSchema::new(name, parameters);
    let plain = ["search", "code_edit", "navigate", "git", "bash", "test"];
    let mut tools: Vec<ToolSchema> = plain.iter().map(|name| tool(name, json!({}))).collect();
    let text = json!({"type": "string"});
    tools.push(tool("file", json!({"properties": {"path": text, "action": text, "content": text}})));
    tools.push(tool(
        "fetch",
        json!({"properties": {"url": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["url"]}),
    ));
    Setting { tools: tools.into(), ..Setting::default() }
}

fn check(text: &str, expected: &[Said]) {
    assert_eq!(said(named("fenced_shell"), &setting(), text), expected, "{text}");
}

fn called(name: &str, arguments: Value) -> Said {
    Said::Call(a_call(name, arguments))
}

fn one(line: &str) -> Said {
    let said = read(named("fenced_shell"), &setting(), [format!("```bash\n{line}\n```").as_str()]);
    said.into_iter().find(|said| !matches!(said, Said::Text(_))).unwrap()
}

fn check_lines(table: &[(&str, Said)]) {
    for (line, expected) in table {
        assert_eq!(one(line), *expected, "{line}");
    }
}

// P-18, P-20, P-24
#[test]
fn blocks_in_prose_are_calls_in_their_order() {
    check(
        "I will look.\n\n```bash\nsearch -t \"New\" pkg/\n```\nThen:\n  ```sh\nfile a.go\n```",
        &[
            text("I will look.\n\n"),
            called("search", json!({"query": "New", "path": "pkg/"})),
            text("Then:\n"),
            called("file", json!({"path": "a.go"})),
        ],
    );
}

// X-07
#[test]
fn a_block_that_calls_no_tool_is_prose() {
    for prose in [
        "```bash\ncargo build\nfile a.go\n```\n",
        "```bash\n```\n",
        "```bash\n\n# only a comment\n```",
        "```go\nfile a.go\n```\n",
        "````md\n```bash\nfile a.go\n```\n````\n",
        "`` ```bash\nfile a.go\n",
        "```bash file a.go```\n",
        "Write ```bash file a.go``` or `` ```bash\nfile a.go\n",
        "Begin with ```bash, then\nfile a.go\n",
        "Begin with ```bash",
        "> ```bash\n> file a.go\n> ```\n",
        "> So: ```bash\n> file a.go\n> ```\n",
        "See ```rust\nlet a = ```bash\nfile a.go\n```\n",
        "    ``",
    ] {
        check(prose, &[text(prose)]);
    }
}

// P-18, P-24
#[test]
fn a_fence_may_open_behind_words_and_close_before_some() {
    let call = |path: &str| called("file", json!({"path": path}));
    for (before, after) in [
        ("Let me read: ", "Then on."),
        ("With `a` and ``b`c``: ", "Then on."),
        ("1. ", "\n"),
        ("See ```rust\nfn a() {}\n``` and\n", " Then `on`."),
        ("See: ```rust\nfn a() {}\n```\n", "— on."),
    ] {
        let reply = format!("{before}```bash\nfile a.go\n```{after}\n```bash\nfile b.go\n``` On.");
        let between = if after == "\n" { "\n".to_owned() } else { format!("{after}\n") };
        check(&reply, &[text(before), call("a.go"), text(&between), call("b.go"), text(" On.")]);
    }
    let content = "```bash\nfile --path a.md --action write --content \"\n```sh\nls\n\"\n```";
    check(content, &[called("file", json!({"path": "a.md", "action": "write", "content": "\n```sh\nls\n"}))]);
    let cut = "So: ```bash\nfile a.go\n";
    check(cut, &[text(cut), problem("the block was cut off before its end")]);
}

// P-25, X-07
#[test]
fn what_cannot_be_read_is_reported_and_the_rest_is_done() {
    check(
        "```bash\nfile\nls -l\nfile a.go\n```",
        &[
            text("file\n"),
            problem("`file`: `file` needs a path"),
            text("ls -l\n"),
            problem("`ls -l`: `ls` is not a tool"),
            called("file", json!({"path": "a.go"})),
        ],
    );
    check(
        "```bash\nfile a.go\n",
        &[text("```bash\nfile a.go\n"), problem("the block was cut off before its end")],
    );
}

// P-32
#[test]
fn a_line_is_a_call_and_a_quote_may_span_lines() {
    check(
        "```bash\nfile a.go\n\n# then\ncode_edit -f a.go -l 1:2 -r \"x\n  y\"\nfile \\\n  b.go\n```",
        &[
            called("file", json!({"path": "a.go"})),
            called(
                "code_edit",
                json!({"path": "a.go", "action": "replace", "start": 1, "end": 2, "text": "x\n  y"}),
            ),
            called("file", json!({"path": "b.go"})),
        ],
    );
}

// P-26
#[test]
fn words_keep_their_quotes_together() {
    let table = [
        ("b\tc", json!(["b", "c"])),
        (r#""b c" 'd "e"' f"g"h"#, json!(["b c", "d \"e\"", "fgh"])),
        (r#""b \"c\" \\ \n" 'd\'"#, json!([r#"b "c" \ \n"#, r"d\"])),
        (r"b\ c ''", json!(["b c", ""])),
        ("\\\n b", json!(["b"])),
        ("'é\n'", json!(["é\n"])),
    ];
    for (words, expected) in table {
        let line = format!("git ü  {words}");
        assert_eq!(one(&line), called("git", json!({"action": "ü", "words": expected})), "{line}");
    }
    assert_eq!(one("file 'b"), problem("`file 'b`: a ' is never closed"));
}

// P-27
#[test]
fn file_takes_a_path() {
    check_lines(&[
        ("file pkg/recurrence/generator.go", called("file", json!({"path": "pkg/recurrence/generator.go"}))),
        ("file 'my file.txt'", called("file", json!({"path": "my file.txt"}))),
        ("file a b", problem("`file a b`: `file` takes one path; quote it if it has blanks")),
        (
            "file -p a.txt",
            problem("`file -p a.txt`: there is no flag `-p`, only `--path`, `--action` and `--content`"),
        ),
    ]);
    let write =
        |action: &str, text: &str| called("file", json!({"path": "a.md", "action": action, "content": text}));
    check_lines(&[
        ("file --path a.md --action write --content \"-- one\ntwo\"", write("write", "-- one\ntwo")),
        ("file -path a.md -action=append -content 5", write("append", "5")),
        ("file write a.md \"- x\"", write("write", "- x")),
        ("file a.md append 'one more'", write("append", "one more")),
        ("file write a.md <<'EOF'\n# `x`\n'\nEOF", write("write", "# `x`\n'\n")),
        ("file a.md --content x", called("file", json!({"path": "a.md", "content": "x"}))),
        ("file read", called("file", json!({"path": "read"}))),
        ("file a.md --content", problem("`file a.md --content`: `--content` needs a value")),
    ]);
}

// P-28
#[test]
fn search_takes_a_pattern_and_a_path() {
    check_lines(&[
        ("search -t \"func New\" pkg/", called("search", json!({"query": "func New", "path": "pkg/"}))),
        ("search -t New", called("search", json!({"query": "New"}))),
        ("search New pkg/", called("search", json!({"query": "New", "path": "pkg/"}))),
        ("search -d New", called("search", json!({"type": "definitions", "query": "New"}))),
        (
            "search -d New pkg/",
            called("search", json!({"type": "definitions", "query": "New", "path": "pkg/"})),
        ),
        ("search New -d", called("search", json!({"type": "definitions", "query": "New"}))),
        ("search -f '*.go' pkg", called("search", json!({"type": "files", "query": "*.go", "path": "pkg"}))),
        ("search --type definitions New", called("search", json!({"type": "definitions", "query": "New"}))),
        (
            "search --type=files go pkg",
            called("search", json!({"type": "files", "query": "go", "path": "pkg"})),
        ),
        ("search -t \"--flag\" pkg", called("search", json!({"query": "--flag", "path": "pkg"}))),
        ("search", problem("`search`: `search` needs `-t PATTERN`")),
        ("search -t", problem("`search -t`: `search` needs `-t PATTERN`")),
        ("search -t \"\" pkg", problem("`search -t \"\" pkg`: `search` needs `-t PATTERN`")),
        ("search '-> x' pkg", called("search", json!({"query": "-> x", "path": "pkg"}))),
    ]);
    for (line, flag) in
        [("search -i generate pkg", "-i"), ("search -n -t fmt pkg", "-n"), ("search a -n", "-n")]
    {
        let why =
            format!("`{line}`: there is no flag `{flag}`, only `-t`, `-d`, `-f`, `--type` and `--path`");
        check_lines(&[(line, problem(&why))]);
    }
}

// P-29
#[test]
fn code_edit_replaces_lines() {
    check_lines(&[
        (
            "code_edit -f a.go -l 10:12 -r \"say(\\\"hi\\\")\"",
            called(
                "code_edit",
                json!({"path": "a.go", "action": "replace", "start": 10, "end": 12, "text": "say(\"hi\")"}),
            ),
        ),
        (
            "code_edit -r x -l 7 -f a.go",
            called(
                "code_edit",
                json!({"path": "a.go", "action": "replace", "start": 7, "end": 7, "text": "x"}),
            ),
        ),
        (
            "code_edit -f a.sql -l 1 -r '-- none'",
            called(
                "code_edit",
                json!({"path": "a.sql", "action": "replace", "start": 1, "end": 1, "text": "-- none"}),
            ),
        ),
        (
            "code_edit -f a.go -l 4 -i x",
            called("code_edit", json!({"path": "a.go", "action": "insert", "start": 4, "text": "x"})),
        ),
        (
            "code_edit -f a.go -l 2:3 -d",
            called("code_edit", json!({"path": "a.go", "action": "delete", "start": 2, "end": 3})),
        ),
        (
            "code_edit delete a.go --start 2 --end 3",
            called("code_edit", json!({"path": "a.go", "action": "delete", "start": 2, "end": 3})),
        ),
        (
            "code_edit --path a.go --start 1 --end 2 --content x",
            called(
                "code_edit",
                json!({"path": "a.go", "action": "replace", "start": 1, "end": 2, "text": "x"}),
            ),
        ),
        (
            "code_edit -f a.go -l 1:2 -r <<EOF\n\"a\"\nb\nEOF",
            called(
                "code_edit",
                json!({"path": "a.go", "action": "replace", "start": 1, "end": 2, "text": "\"a\"\nb"}),
            ),
        ),
        (
            "code_edit -f a.go -r x -a y",
            problem(
                "`code_edit -f a.go -r x -a y`: `-r` and `-a` do not go together; `-l START:END` is missing to replace",
            ),
        ),
        (
            "code_edit -l 1:x -r y",
            problem("`code_edit -l 1:x -r y`: `-f FILE` is missing; `-l` takes `START:END`, not `1:x`"),
        ),
    ]);
}

// P-30
#[test]
fn code_edit_appends() {
    let append =
        |text: &str| called("code_edit", json!({"path": "a_test.go", "action": "append", "text": text}));
    check_lines(&[
        ("code_edit -f a_test.go -a 'package a'", append("package a")),
        ("code_edit -f a_test.go -a package a", append("package a")),
        ("code_edit -f a_test.go --content 'package a'", append("package a")),
        ("code_edit a_test.go -a '-- package a'", append("-- package a")),
        ("code_edit -f a_test.go -a <<EOF\npackage a\nEOF", append("package a")),
    ]);
}

// P-31
#[test]
fn every_other_tool_has_a_grammar_too() {
    check_lines(&[
        ("navigate outline a.go", called("navigate", json!({"action": "outline", "path": "a.go"}))),
        ("navigate pkg/", called("navigate", json!({"path": "pkg/"}))),
        (
            "git commit -m \"one thing\" a.go",
            called("git", json!({"action": "commit", "words": ["-m", "one thing", "a.go"]})),
        ),
        ("git push -u origin x", called("git", json!({"action": "push", "words": ["-u", "origin", "x"]}))),
        ("git status", called("git", json!({"action": "status"}))),
        ("git --action status", called("git", json!({"action": "status"}))),
        (
            "git -C x status",
            problem("`git -C x status`: `git` takes its command first, such as `git status`, not `-C`"),
        ),
        (
            "navigate -x pkg/",
            problem("`navigate -x pkg/`: there is no flag `-x`, only `--action` and `--path`"),
        ),
        ("bash \"\"", problem("`bash \"\"`: empty command")),
        ("bash ' '", problem("`bash ' '`: empty command")),
        ("bash go vet ./... | tail -3", called("bash", json!({"command": "go vet ./... | tail -3"}))),
        ("bash cat >a <<EOF\nit's\nEOF", called("bash", json!({"command": "cat >a <<EOF\nit's\nEOF"}))),
        ("bash --command 'go vet'", called("bash", json!({"command": "go vet"}))),
        ("bash echo $((1<<2))", called("bash", json!({"command": "echo $((1<<2))"}))),
        ("bash echo it's", called("bash", json!({"command": "echo it's"}))),
        ("bash -c \"go test 'a b'\"", called("bash", json!({"command": "go test 'a b'"}))),
        ("test ./pkg -run TestNew", called("test", json!({"path": "./pkg", "filter": "TestNew"}))),
        ("test", called("test", json!({}))),
        ("test -v ./...", called("test", json!({"path": "./..."}))),
        ("test --verbose -run TestNew", called("test", json!({"filter": "TestNew"}))),
        ("test -count=1", called("test", json!({}))),
        ("fetch http://a.b --limit 3", called("fetch", json!({"url": "http://a.b", "limit": 3}))),
        ("fetch a b", problem("`fetch a b`: `fetch` takes no `b`")),
    ]);
}
