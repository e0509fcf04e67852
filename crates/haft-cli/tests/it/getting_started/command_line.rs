//! The first words on the command line: what becomes a prompt, what does not, and how one goes on.

use crate::kit::{Place, Ran, terminal::Terminal};
use serde_json::{Value, json};
use std::{os::fd::AsFd, process::Stdio};

fn prompted(place: &Place) -> Vec<String> {
    let journal = std::fs::read_to_string(place.journal()).unwrap();
    let entries = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let prompt = entries.rev().find(|entry| entry["type"] == "prompted").unwrap();
    prompt["parts"].as_array().unwrap().iter().map(|part| part["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_is_piped_in_joins_the_prompt() {
    let table: [(&[&str], &[u8], &[&str]); 6] = [
        (&["summarize"], b"one\ntwo\n", &["summarize", "\n\n<stdin bytes=\"8\">\none\ntwo\n</stdin>"]),
        (&["run", "summarize"], b"one", &["summarize", "\n\n<stdin bytes=\"3\">\none\n</stdin>"]),
        (&["prompt", "go"], b"a</stdin>b", &["go", "\n\n<stdin bytes=\"10\">\na&lt;/stdin>b\n</stdin>"]),
        (&["run", "-"], b"all of it", &["all of it"]),
        (&[], b"all of it", &["all of it"]),
        (&["run", "go"], b" \n", &["go"]),
    ];
    for (words, input, expected) in table {
        let place = Place::new();
        let model = place.script("m", &[json!({"say": "done"})]);
        let ran = place.run_with_input(&[words, &["--model", &model]].concat(), input);
        assert_eq!((ran.code, ran.out.as_str()), (0, "done\n"), "{words:?}: {ran:?}");
        assert_eq!(prompted(&place), expected, "{words:?}");
    }
}

#[test]
fn input_that_is_no_text_or_never_comes_ends_nothing() {
    let place = Place::new();
    let model = place.script("m", &[json!({"say": "done"})]);
    let ran = place.run_with_input(&["--model", &model, "go"], b"\xff\xfe\0");
    assert!(ran.code == 2 && ran.err.contains("is not UTF-8"), "{ran:?}");
    let ran = place.run_with_input(&["--model", &model, "go"], &vec![b'x'; (4 << 20) + 1]);
    assert!(ran.code == 2 && ran.err.contains("more than 4 MB"), "{ran:?}");
    // No process writes into this pipe or closes it.
    let mut command = place.haft(&["--model", &model, "go"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let open = child.stdin.take();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.out.as_str()), (0, "done\n"), "{ran:?}");
    assert!(ran.err.contains("no input on stdin"), "{ran:?}");
    drop(open);
}

/// As where a program starts another one at that moment, which has its pipes until it becomes itself.
#[test]
fn a_process_that_holds_the_pipe_for_a_while_holds_nothing_up_for_ever() {
    let place = Place::new();
    let model = place.script("m", &[json!({"say": "done"})]);
    let mut command = place.haft(&["--model", &model, "go"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let open = child.stdin.take().unwrap();
    let copy = open.as_fd().try_clone_to_owned().unwrap();
    let mut holder = std::process::Command::new("sleep").arg("5").stdout(copy).spawn().unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.out.as_str()), (0, "done\n"), "{ran:?}");
    assert!(ran.err.contains("no input on stdin"), "{ran:?}");
    drop(open);
    holder.wait().unwrap();
}

#[test]
fn a_command_of_a_pipeline_may_take_its_time() {
    let place = Place::new();
    let model = place.script("m", &[json!({"say": "done"})]);
    let line = format!("(sleep 4; echo late) | \"$HAFT\" --model {model} go");
    let haft = place.haft(&[]);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &line]).current_dir(place.work()).env_clear().env("HAFT", haft.get_program());
    for (name, value) in haft.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        shell.env(name, value);
    }
    let ran = Ran::from(shell.output().unwrap());
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "done\n", ""), "{ran:?}");
    assert_eq!(prompted(&place), ["go", "\n\n<stdin bytes=\"5\">\nlate\n</stdin>"]);
}

#[test]
fn a_run_without_words_takes_its_prompt_from_a_pipe() {
    let place = Place::new();
    let model = place.script("m", &[json!({"say": "done"})]);
    let ran = place.run_with_input(&["run", "--model", &model], b"fix it\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "done\n"), "{}", ran.err);
    assert_eq!(prompted(&place), ["fix it\n"]);
    let ran = place.run(&["run", "--model", &model]);
    assert!(ran.code == 2 && ran.err.starts_with("error: there is no prompt\nhint: "), "{ran:?}");
}

#[test]
fn a_mistyped_command_is_no_prompt() {
    let place = Place::new();
    let model = place.script("m", &[json!({"say": "done"})]);
    for (words, meant) in
        [(&["sesions", "list"][..], "sessions"), (&["jbos"], "jobs"), (&["biuld", "a", "parser"], "build")]
    {
        let ran = place.run(&[&["--model", &model], words].concat());
        let expected = format!("error: there is no command `{}`; did you mean `{meant}`?", words[0]);
        assert!(ran.code == 2 && ran.err.starts_with(&expected), "{words:?}: {ran:?}");
        assert!(ran.err.contains(&format!("`haft run \"{}\"`", words.join(" "))), "{ran:?}");
        assert!(!place.path().join("home/sessions").exists());
    }
    let ran = place.run(&["--model", &model, "run", "hi"]);
    assert!(
        ran.code == 2 && ran.err.starts_with("error: the command `run` stands behind an option\n"),
        "{ran:?}"
    );
    assert!(ran.err.contains("`haft run OPTIONS hi`"), "{ran:?}");
    let ran = place.run(&["--model", &model, "what", "does", "it", "do"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "done\n"), "{ran:?}");
}

/// Lines as they are typed behind `haft`, quotes included. What a command of another program looks like is refused with the
/// nearest one of ours; sentences are sent, however short.
#[test]
fn words_that_look_like_a_command_are_not_sent() {
    let place = Place::new();
    let model = place.script("m", &[json!({"say": "done"})]);
    let run = |line: &str| {
        let words = match line.strip_prefix('"') {
            Some(quoted) => vec![quoted.trim_end_matches('"')],
            None => line.split(' ').collect(),
        };
        let mut command = place.haft(&words);
        Ran::from(command.env("HAFT_MODEL", &model).output().unwrap())
    };
    let refused = [
        ("status", "status", "`doctor`"),
        ("init", "init", "`config show`"),
        ("upgrade", "upgrade", "`update`"),
        ("version", "version", "`--version`"),
        ("Status", "Status", "`doctor`"),
        ("whoami", "whoami", "`doctor`"),
        ("setup", "setup", "`config show`"),
        ("skill list", "skill", "`skills`"),
        ("templates", "templates", "`commands list`"),
        ("plugin install x", "plugin", "`plugins`"),
        ("extensions list --json", "extensions list", "`plugins list`"),
        ("hooks list", "hooks list", "`config show`"),
        ("auth login", "auth login", "`login status`"),
        ("server start", "server start", "`serve`"),
        ("memories", "memories", "`memory list`"),
        ("permissions", "permissions", "`policy check`"),
        ("history", "history", "`sessions list`"),
        ("list skills", "list skills", "`skills`"),
        ("list models", "list models", "`models`"),
        ("session list", "session", "`sessions`"),
        ("tool list", "tool", "`tools`"),
        ("sessoins", "sessoins", "`sessions`"),
        ("chst", "chst", "`chat`"),
        ("modles list", "modles", "`models`"),
        ("rnu the tests", "rnu", "`run`"),
        ("provider list", "provider list", "`models list`"),
        ("cron", "cron", "`jobs list`"),
        ("personas", "personas", "`agents list`"),
        ("evals", "evals", "`eval list`"),
        ("stats", "stats", "`usage`"),
        ("logs", "logs", "`sessions show`"),
        ("bot", "bot", "`telegram`"),
        ("signin", "signin", "`login`"),
        ("signout", "signout", "`logout`"),
        ("restore", "restore", "`resume`"),
        ("exec", "exec", "`run`"),
        ("enable", "enable", "`tools list`"),
        ("repl", "repl", "`chat`"),
        ("replay", "replay", "`sessions replay`"),
        ("export 20261123-101500-abc", "export", "`sessions export`"),
        ("log 20261123", "log", "`sessions show`"),
    ];
    for (line, typed, near) in refused {
        let ran = run(line);
        let expected =
            format!("error: there is no command `{typed}`; did you mean {near}?\nhint: `haft run \"");
        assert!(ran.code == 2 && ran.err.starts_with(&expected), "{line}: {ran:?}");
        // What is named can be typed.
        let near: Vec<&str> = near.trim_matches('`').split(' ').collect();
        assert_eq!(place.run(&[&near[..], &["--help"]].concat()).code, 0, "{near:?}");
    }
    for line in ["frobnicate", "self-destruct", "deploy"] {
        let ran = run(line);
        let hint =
            format!("hint: `haft help` lists the commands; `haft run \"{line}\"` sends it as a prompt\n");
        let expected = format!("error: there is no command `{line}`\n{hint}");
        assert_eq!((ran.code, ran.err), (2, expected), "{line}");
    }
    // Commands of ours that do not go on like this.
    let of_ours = [
        "mcp show",
        "policy explain",
        "models add x",
        "doctor now",
        "sessions open",
        "update check",
        "update haft",
    ];
    for line in of_ours {
        let ran = run(line);
        let hint = format!("hint: `haft run \"{line}\"` sends it as a prompt\n");
        assert!(
            ran.code == 2 && ran.err.starts_with("error: ") && ran.err.ends_with(&hint),
            "{line}: {ran:?}"
        );
    }
    // What has come so far into a command is no sentence.
    let below = run("fleet owner ann bob");
    assert!(below.code == 2 && !below.err.contains("as a prompt"), "{below:?}");
    assert!(!place.path().join("home/sessions").exists(), "nothing was started");
    let sent = [
        "fix the tests",
        "\"fix the tests\"",
        "fix tests",
        "\"status\u{20}\"",
        "\"skills list\"",
        "run status",
        "run init",
        "run skills list",
        "update the readme",
        "update dependencies",
        "init a git repository",
        "add a test",
        "add tests",
        "what does this do",
        "can you fix the test",
        "make it faster",
        "that is wrong",
        "test it",
        "install the dependencies and build",
        "install numpy",
        "status of the build?",
        "status?",
        "extension system design",
        "templates are not found",
        "memory leak in main.rs",
        "hook install fails",
        "list all files",
        "list tests",
        "show me the code",
        "explain main.rs",
        "setup ci for this",
        "hello",
        "hi",
        "x",
        "Hello",
        "erkläre",
        "why?",
    ];
    for line in sent {
        let ran = run(line);
        assert_eq!((ran.code, ran.out.as_str()), (0, "done\n"), "{line}: {ran:?}");
    }
    // A person who goes on with a session or pipes something in speaks to a model.
    let model = place.script("m", &vec![json!({"say": "done"}); 9]);
    let model = ["--model", &model];
    let ran = place.run(&[&["-c", "status"], &model[..]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (0, "done\n"), "{ran:?}");
    let ran = place.run_with_input(&[&["translate"], &model[..]].concat(), b"one");
    assert_eq!((ran.code, ran.out.as_str()), (0, "done\n"), "{ran:?}");
    for input in [&b""[..], b"one"] {
        let ran = place.run_with_input(&[&["status"], &model[..]].concat(), input);
        assert_eq!(ran.code, 2, "{ran:?}");
    }
}

#[test]
fn a_conversation_goes_on_by_name_or_as_the_newest() {
    let place = Place::new();
    let again = || json!({"say": "second", "expect": "again"});
    let model = place.script("m", &[json!({"say": "first"}), again(), again(), again(), again(), again()]);
    assert_eq!(place.run(&["--model", &model, "hello"]).code, 0);
    let id = place.journal().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    for words in [vec!["resume"], vec!["resume", "--last"], vec!["resume", &id], vec!["resume", &id[..17]]] {
        let ran = place.run_with_input(&[&words[..], &["--model", &model]].concat(), b"again\nexit\n");
        assert!(ran.code == 0 && ran.out.contains("second"), "{words:?}: {ran:?}");
    }
    let ran = place.run(&["-c", "--model", &model, "again"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "second\n"), "{ran:?}");
    let other = Place::new();
    let ran = other.run(&["resume"]);
    assert!(ran.code == 2 && ran.err.contains("there is no session in"), "{ran:?}");
}

#[test]
fn who_leaves_is_told_how_to_go_on() {
    let place = Place::new();
    place.script("model.jsonl", &[json!({"say": "Answer."})]);
    let Some(terminal) = Terminal::open(&place, (100, 24)) else { return };
    for (options, ready) in [("--plain", "Type `/help`"), ("", "what to do?")] {
        terminal.haft(&place, &format!("{options} --model script/../model.jsonl"));
        terminal.see(ready);
        terminal.keys(&["-l", "a question"]);
        terminal.keys(&["Enter"]);
        terminal.see("Answer.");
        terminal.keys(&["C-d"]);
        terminal.see("left 0");
        terminal.see("To continue this conversation: haft resume 20");
    }
}

#[test]
fn a_job_is_described_in_plain_words() {
    let place = Place::new();
    let model = place.script("m", &[json!({"say": "It is a question."})]);
    let ran = place.run(&["triage", "The", "parser fails", "--model", &model, "--output", "json"]);
    let shown: Value = serde_json::from_str(&place.run(&["jobs", "list", "--json"]).out).unwrap();
    assert_eq!(shown["description"], "The parser fails", "{ran:?} {shown}");
    let ran = place.run(&["triage", "x", "--description", "y"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    for (command, example) in
        [("triage", "haft triage \"the tests hang"), ("build", "haft build \"Add a test")]
    {
        let ran = place.run(&[command]);
        assert!(ran.code == 2 && ran.err.contains(example), "{ran:?}");
    }
}

#[test]
fn sessions_are_listed_found_and_deleted() {
    let place = Place::new();
    let none = place.run(&["sessions", "list"]);
    assert_eq!((none.code, none.out.as_str()), (0, "There are no sessions yet: `haft` starts one.\n"));
    assert_eq!(place.run(&["sessions", "list", "--json"]).out, "");
    let model = place.script("m", &[json!({"say": "It is the Größe of the parser."})]);
    assert_eq!(place.run(&["--model", &model, "why is it slow?"]).code, 0);
    let id = place.journal().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let listed = place.run(&["sessions", "list"]).out;
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].starts_with("SESSION ") && lines[0].ends_with("  TITLE"), "{listed}");
    assert!(
        lines[1].starts_with(&id) && lines[1].contains("  now ") && lines[1].ends_with("why is it slow?")
    );
    assert!(lines[1].contains(&place.work().display().to_string()), "{listed}");
    for (text, count) in [("GRÖSSE", 0), ("größe OF", 1), ("SLOW", 1), ("never said", 0)] {
        let found = place.run(&["sessions", "search", text, "--json"]).events();
        assert_eq!(found.len(), count, "{text}: {found:?}");
        assert!(found.iter().all(|found| found["session"] == id));
    }
    let found = place.run(&["sessions", "search", "parser"]).out;
    assert!(found.contains("It is the Größe of the parser."), "{found}");
    let gone = place.run(&["sessions", "rm", &id[..18]]);
    assert_eq!((gone.code, gone.out), (0, format!("deleted {id}\n")), "{}", gone.err);
    assert_eq!(place.run(&["sessions", "list", "--json"]).out, "");
    assert_eq!(place.run(&["sessions", "rm", &id]).code, 2);
}
