//! `test` with the real runners, where they are on the machine.
//!
//! `vitest`, `jest` and `mocha` are looked for in the folder that `HAFT_NODE_MODULES` names.
use crate::kit::Kit;
use haft_core::{Effect, ToolErrorKind, ToolResult};
use serde_json::{Value, json};
use std::{os::unix::fs::symlink, process::Command};

/// With the programs of this machine.
fn kit() -> Kit {
    let mut kit = Kit::new();
    let known = ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "GOPATH", "GOCACHE"];
    let set = known.into_iter().filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)));
    kit.environment = set.collect();
    kit
}

fn has(program: &str, arguments: &[&str]) -> bool {
    let ran = Command::new(program).args(arguments).output();
    let found = ran.is_ok_and(|output| output.status.success());
    if !found {
        haft_testing::left_out(&format!("`{program} {}` does not run here", arguments.join(" ")));
    }
    found
}

/// Counts, then name, file, line and the first line of the message of each failure.
fn summary(told: &ToolResult) -> (String, Vec<String>) {
    let details = &told.details;
    let counts = ["passed", "failed", "skipped"].map(|name| details[name].to_string()).join(" ");
    let failures = details["failures"].as_array().unwrap_or_else(|| panic!("{}", told.content)).iter();
    let text =
        |value: &Value| value.as_str().unwrap_or_default().lines().next().unwrap_or_default().to_owned();
    let line = |failure: &Value| {
        let (name, file) = (text(&failure["name"]), text(&failure["file"]));
        format!("{name} {file}:{} {}", failure["line"], text(&failure["message"]))
    };
    (counts, failures.map(line).collect())
}

fn check(told: &ToolResult, counts: &str, failures: &[&str]) {
    let failures = failures.iter().map(|line| (*line).to_owned()).collect();
    assert_eq!(summary(told), (counts.to_owned(), failures), "{}", told.content);
    assert_eq!(told.details["ok"], json!(false));
}

// P-13, C-66, C-67
#[tokio::test]
async fn cargo() {
    if !has("cargo", &["--version"]) {
        return;
    }
    let kit = kit();
    kit.put(
        "Cargo.toml",
        "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
    );
    kit.put(
        "src/lib.rs",
        "#[test]\nfn adds() {}\n#[test]\nfn fails() {\n    assert!(false, \"no\");\n}\n#[test]\n#[ignore]\nfn slow() {}\n",
    );
    let told = kit.told("test", json!({})).await;
    check(&told, "1 1 1", &["fails src/lib.rs:5 no"]);
    assert_eq!(
        told.content,
        "1 passed, 1 failed, 1 skipped (`cargo test --no-fail-fast`)\n\nFAILED fails  src/lib.rs:5\n  no"
    );
    assert!(kit.shown().contains("running 3 tests"));
    let one = kit.told("run_tests", json!({"path": "src", "filter": "adds"})).await;
    assert_eq!(
        (one.content.as_str(), &one.details["ok"]),
        ("1 passed, 0 failed (`cargo test --no-fail-fast adds`)", &json!(true))
    );
    kit.put("tests/more.rs", "#[test]\nfn more() {}\n");
    let more = kit.told("test", json!({"path": "tests/more.rs"})).await;
    assert_eq!(more.content, "1 passed, 0 failed (`cargo test --test more --no-fail-fast`)");
    let none = kit.told("test", json!({"filter": "no-such-test"})).await;
    assert_eq!((&none.content[..12], &none.details["ok"]), ("no tests ran", &json!(false)));
    kit.put("src/lib.rs", "fn broken() -> u8 { \"\" }\n");
    let broken = kit.told("test", json!({})).await;
    assert!(broken.content.starts_with("0 passed, 0 failed, 1 not built or loaded"), "{}", broken.content);
    assert!(broken.content.contains("FAILED build  src/lib.rs:1\n  error[E0308]"), "{}", broken.content);
}

// P-13
#[tokio::test]
async fn go() {
    if !has("go", &["version"]) {
        return;
    }
    let kit = kit();
    kit.put("go.mod", "module example.org/sample\n\ngo 1.19\n");
    let test = "package sample\n\nimport \"testing\"\n\nfunc TestAdds(t *testing.T) {}\n\n\
        func TestFails(t *testing.T) {\n\tt.Error(\"no\")\n}\n\nfunc TestSlow(t *testing.T) { t.Skip() }\n";
    kit.put("a_test.go", test);
    for arguments in [json!({}), json!({"path": "./..."}), json!({"path": "..."})] {
        check(&kit.told("test", arguments).await, "1 1 1", &["TestFails a_test.go:8 a_test.go:8: no"]);
    }
    let one = kit.told("test", json!({"path": "a_test.go", "filter": "TestAdds"})).await;
    assert_eq!(one.content, "1 passed, 0 failed (`go test -json -run=TestAdds .`)");
    kit.put("a_test.go", "package sample\n\nfunc x() { y() }\n");
    check(&kit.told("test", json!({})).await, "0 0 0", &["example.org/sample ./a_test.go:3 undefined: y"]);
}

// P-13
#[tokio::test]
async fn pytest() {
    if !has("python3", &["-m", "pytest", "--version"]) {
        return;
    }
    let kit = kit();
    kit.put(
        "tests/test_a.py",
        "import pytest\n\ndef test_adds():\n    pass\n\ndef test_fails():\n    assert 1 == 2\n\n\
         @pytest.mark.skip\ndef test_slow():\n    pass\n",
    );
    let failure = "tests/test_a.py::test_fails tests/test_a.py:7 assert 1 == 2";
    check(&kit.told("test", json!({})).await, "1 1 1", &[failure]);
    let one = kit.told("test", json!({"path": "tests/test_a.py", "filter": "adds"})).await;
    assert_eq!(one.details["ok"], json!(true), "{}", one.content);
    kit.put("tests/test_b.py", "import no_such_module\n");
    let broken = "tests/test_b.py tests/test_b.py:1 ModuleNotFoundError: No module named 'no_such_module'";
    check(&kit.told("test", json!({"path": "tests/test_b.py"})).await, "0 1 0", &[broken]);
}

const SAMPLE: &str = "test(\"adds\", () => {});\ntest(\"fails\", () => {\n  throw new Error(\"no\");\n});\n";

// P-13
#[tokio::test]
async fn node() {
    if !has("node", &["--version"]) || !has("npm", &["--version"]) {
        return;
    }
    let kit = kit();
    kit.put("a.test.js", format!("const test = require(\"node:test\");\n{SAMPLE}test.skip(\"slow\");\n"));
    let asked = kit.told("test", json!({"framework": "node"})).await;
    check(&asked, "1 1 1", &["fails a.test.js:4 no"]);
    kit.put("package.json", "{\"scripts\": {\"test\": \"node --test\"}}");
    let found = kit.told("test", json!({})).await;
    check(&found, "1 1 1", &["fails a.test.js:4 no"]);
    assert!(found.content.contains("(`npm test --silent -- --test-reporter=tap`)"), "{}", found.content);
}

// P-13
#[tokio::test]
async fn vitest_jest_and_mocha() {
    let Ok(modules) = std::env::var("HAFT_NODE_MODULES") else {
        return haft_testing::left_out(
            "vitest, jest and mocha: `HAFT_NODE_MODULES` names no folder that has them",
        );
    };
    let table = [
        ("vitest", "import { test } from \"vitest\"; ", "test.skip(\"slow\");", "vitest", "Error: no"),
        ("jest", "", "test.skip(\"slow\", () => {});", "jest --silent", "Error: no"),
        ("mocha", "const test = it; ", "it.skip(\"slow\");", "mocha *.test.js", "Error: no"),
    ];
    for (name, before, after, script, message) in table {
        let kit = kit();
        symlink(&modules, kit.workspace.join("node_modules")).unwrap();
        kit.put("a.test.js", format!("{before}{SAMPLE}{after}\n"));
        for package in [json!({"scripts": {"test": script}}), json!({"devDependencies": {name: "1"}})] {
            if name == "mocha" && package["scripts"].is_null() {
                continue;
            }
            kit.put("package.json", package.to_string());
            let told = kit.told("test", json!({})).await;
            check(&told, "1 1 1", &[&format!("fails a.test.js:3 {message}")]);
        }
        let one = kit.told("test", json!({"filter": "adds"})).await;
        assert_eq!(
            (&one.details["failed"], &one.details["passed"]),
            (&json!(0), &json!(1)),
            "{}",
            one.content
        );
    }
}

// P-13
#[tokio::test]
async fn what_cannot_be_run_or_read_says_why() {
    let kit = kit();
    let told = kit.told("test", json!({})).await.content;
    assert!(told.starts_with("error: cannot find tests in `"), "{told}");
    assert!(kit.told("test", json!({"path": "no"})).await.content.contains("No such file"));
    let told = kit.told("test", json!({"filter": "--x", "path": "-p"})).await;
    assert!(told.content.contains("`path` cannot be `-p`; `filter` cannot be `--x`"), "{}", told.content);
    assert_eq!(told.error.unwrap().kind, ToolErrorKind::Validation);
    kit.put("go.mod", "");
    kit.put("Cargo.toml", "nonsense");
    let told = kit.told("test", json!({})).await.content;
    assert!(
        told.contains("there are `cargo test` and `go test`\nhint: give a narrower `path`, or `framework`"),
        "{told}"
    );
    if has("cargo", &["--version"]) {
        let told = self::kit().told("test", json!({"framework": "cargo"})).await;
        let expected =
            "cannot tell what the tests came to; `cargo test --no-fail-fast` ended with exit code 101:\n";
        assert!(told.content.starts_with(expected), "{}", told.content);
        assert_eq!(told.details["ok"], json!(false));
    }
}

// P-13
#[test]
fn the_effect_is_a_command() {
    let table = [
        (json!({}), "test", ""),
        (json!({"path": "src", "filter": "x"}), "test src x", "src"),
        (json!({"framework": "cargo", "filter": "x"}), "cargo test x", ""),
    ];
    for (arguments, command, folder) in table {
        let expected = [Effect::execute_in(command, folder).confined()];
        assert_eq!(Kit::new().effects("test", &arguments).unwrap(), expected);
    }
}
