//! `bash` in a folder.
use crate::kit::Kit;
use haft_core::{Clip, Keep, ToolErrorKind};
use haft_tools::{BashSettings, Settings};
use serde_json::json;
use std::time::{Duration, Instant};

fn with(bash: BashSettings) -> Kit {
    Kit::with(Settings { bash, ..Settings::default() })
}

// C-38, C-40, X-13
#[tokio::test]
async fn a_command_tells_its_output_and_how_it_ended() {
    let kit = Kit::new();
    let table = [
        ("echo hi", "hi", "hi\n", "", 0),
        ("echo out; echo err >&2", "out\nerr", "out\n", "err\n", 0),
        ("true", "(no output)", "", "", 0),
        ("exit 3", "(no output)\n[exit code: 3]", "", "", 3),
        ("echo bad >&2; exit 1", "bad\n[exit code: 1]", "", "bad\n", 1),
        ("kill -9 $$", "(no output)\n[killed by signal 9]", "", "", 137),
        ("echo $NAME; basename \"$PWD\"", "Ada\nw", "Ada\nw\n", "", 0),
    ];
    for (command, expected, stdout, stderr, code) in table {
        let told = kit.told("bash", json!({"command": command, "description": "d", "timeout": "60"})).await;
        assert_eq!(told.content, expected);
        let details = json!({
            "stdout": stdout, "stderr": stderr, "exit_code": code, "truncated": false,
        });
        assert_eq!((told.is_ok(), told.details), (true, details), "{command}");
    }
}

// C-34, C-62
// B04
#[tokio::test]
async fn what_a_command_leaves_is_ended_and_told() {
    let kit = Kit::new();
    let left = "\n[programs in the background end with the command; `background: true` starts a command that goes on]";
    for (command, expected) in [
        ("sleep 300 & echo started", format!("started{left}")),
        ("sleep 1234 >/dev/null 2>&1 & echo on", format!("on{left}")),
        ("sleep 0 & wait; echo over", "over".to_owned()),
        ("true && echo '1 & 2'", "1 & 2".to_owned()),
    ] {
        assert_eq!(kit.told("bash", json!({"command": command})).await.content, expected);
    }
}

#[tokio::test]
async fn output_is_shown_while_the_command_runs() {
    let kit = Kit::new();
    kit.call("bash", json!({"command": "echo one; echo two >&2"})).await.unwrap();
    assert_eq!(kit.shown().lines().count(), 2);
}

// O-39, A-82, B01, B11
#[tokio::test]
async fn a_command_that_takes_too_long_is_killed() {
    let kit = Kit::new();
    let start = Instant::now();
    let told =
        kit.told("bash", json!({"command": "trap '' TERM; echo so far; sleep 1234", "timeout": 1})).await;
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(
        told.content,
        "error: timed out after 1 s; the command was killed. Its output so far:\nso far\n\
         hint: give a longer `timeout`, or run it in the `background`"
    );
    assert_eq!(told.error.unwrap().kind, ToolErrorKind::System);
    assert_eq!((&told.details["timed_out"], &told.details["stdout"]), (&json!(true), &json!("so far\n")));
}

// C-35
#[tokio::test]
async fn a_timeout_above_the_maximum_is_cut_and_said_so() {
    let kit = with(BashSettings { timeout_default: 5, timeout_max: 60, ..BashSettings::default() });
    let table = [
        (json!({"command": "echo a"}), "a"),
        (json!({"command": "echo a", "timeout": 0}), "a"),
        (json!({"command": "echo a", "timeout": 60}), "a"),
        (
            json!({"command": "echo a", "timeout": 61}),
            "a\n[a timeout of 61 s is too long: it was cut to 60 s]",
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(kit.told("bash", arguments).await.content, expected);
    }
}

// B06, B08
#[tokio::test]
async fn long_output_is_cut_in_both_streams() {
    let kit = Kit::new();
    let told = kit.told("bash", json!({"command": "seq 3000; seq 3000 >&2"})).await;
    let file = told.details["output_file"].as_str().unwrap();
    let note = format!(
        "\n500\n[9501 bytes, 2000 lines left out; all of it is in `{file}`: `read` or `grep` that]\n2501\n"
    );
    assert_eq!(told.content.matches(&note).count(), 2);
    assert_eq!(told.details["truncated"], true);
    let rest = kit.told("read", json!({"path": file, "offset": 1_500, "limit": 1})).await;
    assert!(rest.content.starts_with("  1500\t1500\n"), "{}", rest.content);
    let told = kit.told("bash", json!({"command": "head -c 10000000 /dev/zero | tr '\\0' x"})).await;
    assert!(told.content.len() < 25_400 && told.content.contains("\n[9975000 bytes, 0 lines left out; "));
    let file = told.details["output_file"].as_str().unwrap();
    assert_eq!(std::fs::metadata(file).unwrap().len(), 10_000_000);
}

// the accent of a profile
#[tokio::test]
async fn the_marker_of_a_profile_stands_at_the_cut() {
    let marker = "\n[Output truncated: use file redirection or grep for large outputs]";
    let clip = Clip { lines: 2, bytes: 50, keep: Keep::Head };
    let kit = with(BashSettings { clip, marker: Some(marker.into()), ..BashSettings::default() });
    let told = kit.told("bash", json!({"command": "seq 9"})).await;
    assert_eq!(told.content, format!("1\n2{marker}"));
}

// B07, B10
#[tokio::test]
async fn awkward_commands_give_results() {
    let kit = Kit::new();
    let start = Instant::now();
    let table = [
        ("read x 2>/dev/null </dev/tty; echo rc=$?", "rc=1"),
        ("printf '\\377'", "\u{fffd}"),
        ("cat", "(no output)"),
    ];
    for (command, expected) in table {
        assert_eq!(kit.told("bash", json!({"command": command})).await.content, expected);
    }
    let random = kit.told("bash", json!({"command": "head -c 1000000 /dev/urandom"})).await;
    assert!(serde_json::to_string(&random).unwrap().len() < 1_000_000);
    assert!(start.elapsed() < Duration::from_secs(100));
    let nul = kit.told("bash", json!({"command": "echo \0"})).await;
    assert_eq!(nul.content, "error: cannot run the command: it contains a NUL byte");
}

// C-37, C-39
#[tokio::test]
async fn a_command_starts_in_the_folder_that_it_names() {
    let kit = Kit::new();
    kit.put("sub/x", "");
    for (folder, expected) in [("sub", "sub"), (".", "w")] {
        let told = kit.told("bash", json!({"command": "basename \"$PWD\"", "working_dir": folder})).await;
        assert_eq!(told.content, expected);
    }
    let missing = kit.told("bash", json!({"command": "pwd", "working_dir": "nowhere"})).await;
    assert!(missing.content.ends_with("nowhere`: the folder does not exist"), "{}", missing.content);
}

// C-36, C-61
#[tokio::test]
async fn a_command_that_nobody_means_is_refused_before_it_starts() {
    let told = Kit::new().told("bash", json!({"command": "rm -rf /"})).await;
    let error = told.error.unwrap();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ToolErrorKind::Security, "cannot run the command: it removes everything")
    );
}

// T-14, T-18
#[tokio::test]
async fn in_the_background_it_is_a_job_in_the_real_workspace() {
    let kit = Kit::new();
    let arguments = json!({"command": "pwd; exit 2", "background": true, "description": "Say where"});
    let output = kit.call("bash", arguments).await.unwrap();
    assert_eq!(output.for_model, "Started as job 1. Its end will be reported.");
    assert_eq!(output.job.unwrap().0, "1");
    let (title, result) = kit.job().await;
    let expected = format!("{}\n[exit code: 2]", kit.workspace.display());
    assert_eq!((title.as_str(), result.unwrap().for_model), ("Say where", expected));
}

// B02, X-01: what takes too long, or falls silent, goes on in the background
#[tokio::test]
async fn a_command_without_a_timeout_is_handed_over() {
    let silent = BashSettings { idle: 3, ..BashSettings::default() };
    let long = BashSettings { timeout_default: 3, idle: 0, ..BashSettings::default() };
    let go = "until [ -e go ]; do sleep 0.1; done; echo last";
    let table = [
        (silent, format!("echo first; {go}"), "no output for 3 s, still running"),
        (long, format!("echo first; {go}"), "still running after 3 s"),
    ];
    for (settings, command, why) in table {
        let kit = with(settings);
        let output = kit.call("bash", json!({"command": command})).await.unwrap();
        let expected = format!(
            "first\n[{why}; it goes on as job 1, and its end will be reported; `job` shows more or stops it]"
        );
        assert_eq!((output.for_model, output.job.unwrap().0), (expected, "1".to_owned()));
        kit.put("go", "");
        let (title, result) = kit.job().await;
        assert_eq!((title.as_str(), result.unwrap().for_model.as_str()), (command.as_str(), "first\nlast"));
        let look = kit.told("job", json!({"id": 1})).await.content;
        assert_eq!(look, format!("job 1 (ended): {command}\nlast"));
        assert_eq!(kit.shown(), "first\n", "a call that is over is not watched");
    }
}

#[tokio::test]
async fn a_silent_command_that_speaks_again_is_waited_for() {
    let kit = with(BashSettings { idle: 5, ..BashSettings::default() });
    let command = "for i in 1 2 3 4; do echo $i; sleep 1.5; done";
    assert_eq!(kit.told("bash", json!({"command": command})).await.content, "1\n2\n3\n4");
}

// T-18
#[tokio::test]
async fn a_job_can_be_looked_at_and_stopped() {
    let kit = Kit::new();
    let told = |arguments| async { kit.told("job", arguments).await.content };
    assert_eq!(told(json!({})).await, "There are no jobs.");
    kit.call("bash", json!({"command": "sleep 300", "background": true})).await.unwrap();
    let table = [
        (json!({}), "job 1 (running): sleep 300"),
        (json!({"bash_id": "1", "wait": 1}), "job 1 (running): sleep 300\n(no new output)"),
        (json!({"id": "7"}), "error: there is no job `7`\nhint: job 1 (running): sleep 300"),
        (json!({"id": "1", "stop": true}), "job 1 (ended): sleep 300\n(no new output)"),
    ];
    for (arguments, expected) in table {
        assert_eq!(told(arguments.clone()).await, expected, "{arguments}");
    }
}

//
#[tokio::test]
async fn a_command_may_come_as_words_and_under_other_names() {
    let kit = Kit::new();
    let table = [
        ("shell", json!({"command": ["bash", "-lc", "echo a b"]}), "a b"),
        ("shell", json!({"command": ["printf", "%s|", "a b", "c'd"]}), "a b|c'd|"),
        ("run_shell_command", json!({"cmd": "basename \"$PWD\"", "cwd": "."}), "w"),
    ];
    for (name, arguments, expected) in table {
        assert_eq!(kit.told(name, arguments.clone()).await.content, expected, "{arguments}");
    }
}

#[tokio::test]
async fn a_question_is_put_to_the_person() {
    let kit = Kit::new();
    kit.answer("yes");
    let told = kit.told("ask", json!({"question": "Really?", "choices": ["yes", "no"]})).await;
    assert_eq!(told.content, "The person answers: yes to Really?");
    let alone = kit.told("ask_user", json!({"question": "And now?"})).await;
    assert_eq!(
        alone.content,
        "error: the question was not answered\n\
         hint: decide by yourself, and say in the end what you took for granted"
    );
}

#[tokio::test]
async fn a_command_may_have_a_terminal_of_its_own() {
    let kit = Kit::new();
    if !std::path::Path::new("/usr/bin/script").exists() {
        return haft_testing::left_out("a terminal for a command: there is no `script` here");
    }
    let command = "test -t 1 && printf '\\033[32mgreen\\033[0m\\n 10%%\\r100%%\\n'; exit 3";
    let told = kit.told("bash", json!({"command": command, "pty": true})).await;
    assert_eq!(told.content, "green\n100%\n[exit code: 3]");
}
