//! What shells and `man` are told, tried on them.

use crate::kit::Place;
use std::process::{Command, Stdio};

#[test]
fn bash_completes_commands_and_options() {
    let place = Place::new();
    let script = place.run(&["completions", "bash"]);
    let file = place.write("haft.bash", &script.out);
    let table = [("haft ses", "sessions"), ("haft run --perm", "--permission"), ("haft jobs can", "cancel")];
    for (line, expected) in table {
        let words: Vec<&str> = line.split(' ').collect();
        let complete = format!(
            "source {}; COMP_WORDS=({line}); COMP_CWORD={}; _haft haft '{}' '{}'; echo \"${{COMPREPLY[@]}}\"",
            file.display(),
            words.len() - 1,
            words[words.len() - 1],
            words[words.len() - 2],
        );
        let output = Command::new("bash").args(["--norc", "-c", &complete]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected, "{line}: {output:?}");
    }
}

#[test]
fn other_shells_can_read_theirs() {
    let place = Place::new();
    for shell in ["zsh", "fish"] {
        let script = place.run(&["completions", shell]);
        assert!(script.out.contains("sessions"), "{shell}");
        let file = place.write(shell, &script.out);
        let read = Command::new(shell).arg("-n").arg(file).stdin(Stdio::null()).output();
        assert!(read.map_or(true, |output| output.status.success()), "{shell}");
    }
}

#[test]
fn there_is_a_page_for_each_command() {
    let place = Place::new();
    let page = place.run(&["man"]).out;
    assert!(page.contains(".SH OPTIONS") && page.contains("permission"), "{page}");
    assert_eq!(place.run(&["man", "--to", "pages"]).code, 0);
    for page in ["haft.1", "haft-run.1", "haft-jobs-cancel.1"] {
        assert!(place.read(&format!("pages/{page}")).unwrap().starts_with(".ie"), "{page}");
    }
}
