//! A call that is made without a model, `haft tools call` and `haft mcp`: its result says what happened, once.

use crate::kit::{Place, Ran};
use serde_json::{Value, json};
use std::process::Command;

const PROFILES: [&str; 6] = ["default", "alfred", "pedro", "ally", "opencode", "picoclaw"];

fn call(place: &Place, words: &[&str]) -> (Ran, Value) {
    let ran = place.run(&[&["tools", "call"], words].concat());
    let told = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{words:?}: {ran:?}"));
    (ran, told)
}

/// What a client is told that calls one tool over standard streams.
fn over_mcp(place: &Place, options: &[&str], name: &str, arguments: &Value) -> Value {
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}}),
    ];
    let mut words = vec!["mcp", "--no-agents", "--expose", name, "--permission", "full"];
    words.extend(options);
    let mut child = place
        .haft(&words)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for line in lines {
        use std::io::Write;
        writeln!(stdin, "{line}").unwrap();
    }
    use std::io::BufRead;
    let out = std::io::BufReader::new(child.stdout.take().unwrap());
    let answers = out.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let answer = answers.into_iter().find(|answer| answer["id"] == 2).unwrap();
    drop(stdin);
    child.wait().unwrap();
    answer["result"].clone()
}

// P-36, P-37, P-38 are about turns of a model; a call that was made is told as it ended, whatever ends a turn.
#[test]
fn a_call_that_ran_is_told_as_it_ended_under_every_profile() {
    let settings = ["", "max_rounds = 1\n", "evidence = true\n", "max_cost = 0.01\n"];
    for profile in PROFILES {
        for settings in settings {
            let place = Place::new();
            place.configure(settings);
            let own = format!("HAFT {profile}");
            let command = json!({"command": format!("echo '{own}' >> made; cat made")}).to_string();
            let words = ["bash", &command, "--profile", profile, "--permission", "full"];
            let (ran, told) = call(&place, &words);
            let made = place.read("made");
            assert_eq!(made, Some(format!("{own}\n")), "{profile} {settings}: {ran:?}");
            let is_ok = told["ok"] == true || told["is_error"] == false;
            assert!(ran.code == 0 && is_ok, "{profile} {settings}: {ran:?}");
            assert!(!ran.out.contains("not run") && ran.out.contains(&own), "{profile} {settings}: {ran:?}");
        }
        let place = Place::new();
        let told = over_mcp(&place, &["--profile", profile], "bash", &json!({"command": "echo x >> made"}));
        assert_ne!(told["isError"], true, "{profile}: {told}");
        assert_eq!(place.read("made").as_deref(), Some("x\n"), "{profile}: {told}");
        let told = over_mcp(&place, &["--profile", profile], "bash", &json!({"command": 7}));
        let is_refused = told["isError"] == true || profile == "picoclaw";
        assert!(is_refused && !told.to_string().contains("again and again"), "{profile}: {told}");
    }
}

/// A program that runs tests, what is tried, whether they pass, and files with their contents.
type Project = (&'static str, &'static str, bool, Vec<(&'static str, String)>);

fn projects() -> Vec<Project> {
    let mut all = Vec::new();
    for passes in [true, false] {
        let sum = if passes { 4 } else { 5 };
        all.push((
            "npm",
            "npm",
            passes,
            vec![
                ("package.json", "{\"scripts\": {\"test\": \"node check.js\"}}".to_owned()),
                ("check.js", format!("process.exit(2 + 2 === {sum} ? 0 : 3)\n")),
            ],
        ));
        all.push((
            "go",
            "go",
            passes,
            vec![
                ("go.mod", "module sums\n".to_owned()),
                (
                    "sums_test.go",
                    format!(
                        "package sums\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {{\n\tif 2+2 != {sum} {{\n\t\tt.Fatal(\"no\")\n\t}}\n}}\n"
                    ),
                ),
            ],
        ));
        all.push((
            "cargo",
            "cargo",
            passes,
            vec![
                ("Cargo.toml", "[package]\nname = \"sums\"\nedition = \"2021\"\n".to_owned()),
                ("src/lib.rs", format!("#[test]\nfn sums() {{\n    assert_eq!(2 + 2, {sum});\n}}\n")),
            ],
        ));
    }
    // What does not even begin to run is no green run either.
    all.push((
        "go",
        "go that does not compile",
        false,
        vec![
            ("go.mod", "module sums\n".to_owned()),
            ("sums_test.go", "package sums\n\nfunc TestSum(\n".to_owned()),
        ],
    ));
    all
}

#[test]
fn a_red_run_of_tests_is_not_ok() {
    for (program, what, passes, files) in projects() {
        if Command::new(program).arg("version").output().is_err() {
            haft_testing::left_out(&format!("there is no `{program}` on the PATH"));
            continue;
        }
        let place = Place::new();
        files.iter().for_each(|(name, text)| drop(place.write(name, text)));
        let home = std::env::var("HOME").unwrap();
        let toolchain = ["CARGO_HOME", "RUSTUP_HOME"].map(|name| (name, std::env::var(name)));
        let of = |words: &[&str]| {
            let mut haft = place.haft(words);
            for (name, value) in &toolchain {
                let own = if *name == "CARGO_HOME" { ".cargo" } else { ".rustup" };
                haft.env(name, value.clone().unwrap_or_else(|_| format!("{home}/{own}")));
            }
            Ran::from(haft.output().unwrap())
        };
        for profile in ["default", "pedro", "ally", "picoclaw"] {
            let ran = of(&["tools", "call", "test", "{}", "--permission", "full", "--profile", profile]);
            let told: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{what}: {ran:?}"));
            assert_eq!(ran.code, if passes { 0 } else { 1 }, "{what} {profile}: {ran:?}");
            let said = if profile == "picoclaw" { told["is_error"] == false } else { told["ok"] == true };
            assert_eq!(said, passes, "{what} {profile}: {told}");
            if profile == "ally" {
                let read: Value = serde_json::from_str(told["content"].as_str().unwrap()).unwrap();
                let error = read["error"].as_str().unwrap();
                assert_eq!((&read["success"], error.is_empty()), (&json!(passes), passes), "{read}");
            }
        }
    }
    if Command::new("npm").arg("version").output().is_ok() {
        let place = Place::new();
        place.write("package.json", "{\"scripts\": {\"test\": \"exit 1\"}}");
        assert_eq!(over_mcp(&place, &[], "test", &json!({}))["isError"], true);
    }
}
