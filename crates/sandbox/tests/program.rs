//! Programs with arguments that a shell would read differently.
use haft_sandbox::{Exit, Finished, Program};
use std::time::Duration;

fn program(program: &str, arguments: &[&str]) -> Program {
    Program {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        folder: "/".into(),
        environment: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
        timeout: Some(Duration::from_secs(20)),
        capture: 1_000,
    }
}

#[tokio::test]
async fn arguments_arrive_as_they_are() {
    let table = [
        (
            program("printf", &["%s|", "a b", "$(touch x)", "", "'\"*"]),
            "a b|$(touch x)||'\"*|",
            Exit::Code(0),
        ),
        (program("pwd", &[]), "/\n", Exit::Code(0)),
        (program("cat", &[]), "", Exit::Code(0)),
        (program("/bin/sh", &["-c", "exit 3"]), "", Exit::Code(3)),
    ];
    for (program, expected, end) in table {
        let Finished { stdout, exit, .. } = program.run(|_| ()).await.unwrap();
        assert_eq!((stdout.text.as_str(), exit), (expected, end));
    }
}

#[tokio::test]
async fn a_program_that_takes_too_long_is_killed() {
    let sleep = Program { timeout: Some(Duration::from_millis(50)), ..program("sleep", &["1234"]) };
    assert_eq!(sleep.run(|_| ()).await.unwrap().exit, Exit::TimedOut);
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let table = [
        (
            program("no-such-program", &[]),
            "cannot start `no-such-program` in `/`: No such file or directory (os error 2)",
        ),
        (
            Program { folder: "/no/such".into(), ..program("true", &[]) },
            "cannot start `true` in `/no/such`: the folder does not exist",
        ),
        (program("echo", &["a\0b"]), "cannot run the command: it contains a NUL byte"),
    ];
    for (program, expected) in table {
        assert_eq!(program.run(|_| ()).await.unwrap_err().to_string(), expected);
    }
}
