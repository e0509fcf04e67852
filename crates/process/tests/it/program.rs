//! Programs with arguments that a shell would read differently.
use haft_process::{Exit, Finished, Piped, Program};
use std::{fs, os::unix::fs::PermissionsExt, time::Duration};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn program(program: &str, arguments: &[&str]) -> Program {
    Program {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        folder: "/".into(),
        environment: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
        timeout: Some(Duration::from_secs(20)),
        capture: 1_000,
        confinement: None,
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
        // No signal is held or caught, and a broken pipe ends a program.
        (
            program("sed", &["-nE", "/^Sig(Blk|Cgt)/p", "/proc/self/status"]),
            "SigBlk:\t0000000000000000\nSigCgt:\t0000000000000000\n",
            Exit::Code(0),
        ),
        (program("bash", &["-c", "yes | head -n1; exit ${PIPESTATUS[0]}"]), "y\n", Exit::Code(141)),
    ];
    for (program, expected, end) in table {
        let Finished { stdout, exit, .. } = program.run(|_| ()).await.unwrap();
        assert_eq!((stdout.text.as_str(), exit), (expected, end));
    }
}

#[tokio::test]
async fn a_program_reads_what_it_is_given_or_not() {
    let long = "x".repeat(1 << 20);
    let table = [
        (program("cat", &[]), "hello", "hello", Exit::Code(0)),
        (program("cat", &[]), "", "", Exit::Code(0)),
        (program("wc", &["-c"]), &long, "1048576\n", Exit::Code(0)),
        (program("true", &[]), &long, "", Exit::Code(0)),
        (program("/bin/sh", &["-c", "sleep 1234 <&0 & exit 2"]), &long, "", Exit::Code(2)),
    ];
    for (program, input, expected, end) in table {
        let Finished { stdout, exit, .. } = program.run_with(input.as_bytes(), |_| ()).await.unwrap();
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

/// As `execvp` of the system's library looks for it.
#[tokio::test]
async fn a_program_is_looked_up_in_the_path_of_its_own_environment() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str, mode: u32| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    file("first/tool", "#!/bin/sh\necho first", 0o644);
    file("second/tool", "#!/bin/sh\necho second \"$@\"", 0o755);
    file("second/plain", "echo plain \"$@\"", 0o755);
    file("second/no-interpreter", "#!/no/such\n", 0o755);
    let path = ["first", "second", "no/such"].map(|name| folder.path().join(name).display().to_string());
    let path = path.join(":");
    let run = async |name: &str, path: &str| {
        let environment = [("PATH".to_owned(), path.to_owned())].into();
        let ran = Program { environment, ..program(name, &["a b", "c"]) }.run(|_| ()).await;
        ran.map_or_else(|error| error.to_string(), |Finished { stdout, .. }| stdout.text)
    };
    let table = [
        ("tool", path.as_str(), "second a b c\n"),
        ("plain", &path, "plain a b c\n"),
        (
            "tool",
            path.split(':').next().unwrap(),
            "cannot start `tool` in `/`: Permission denied (os error 13)",
        ),
        (
            "no-interpreter",
            &path,
            "cannot start `no-interpreter` in `/`: No such file or directory (os error 2)",
        ),
        ("true", &path, "cannot start `true` in `/`: No such file or directory (os error 2)"),
    ];
    for (name, path, expected) in table {
        assert_eq!(run(name, path).await, expected, "{name} in {path}");
    }
}

#[tokio::test]
async fn a_program_can_be_talked_to_and_ends_when_nobody_keeps_it() {
    let Piped { mut input, mut output, mut process, .. } = program("cat", &[]).start_piped().unwrap();
    input.write_all(b"hello").await.unwrap();
    let mut heard = [0; 5];
    output.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"hello");
    assert!(process.ended().unwrap().is_none());
    drop(process);
    // Its end of the pipe is closed although ours is open: it was killed.
    let mut rest = Vec::new();
    assert_eq!(output.read_to_end(&mut rest).await.unwrap(), 0);
}

// The number of a group is free once the group is empty: nothing is sent there later.
#[tokio::test]
async fn with_a_program_that_ended_its_children_are_killed() {
    let shell = program("/bin/sh", &["-c", "sleep 1235 & exit 3"]);
    let Piped { mut output, mut process, .. } = shell.start_piped().unwrap();
    let status = loop {
        match process.ended().unwrap() {
            Some(status) => break status,
            None => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    // The child held the pipe.
    let mut rest = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), output.read_to_end(&mut rest));
    assert_eq!((status.code(), read.await.unwrap().unwrap()), (Some(3), 0));
    assert_eq!(process.ended().unwrap(), Some(status));
}
