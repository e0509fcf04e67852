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

#[test]
fn the_overview_names_every_command_and_fits_a_screen() {
    let place = Place::new();
    let page = place.run(&["--help"]).out;
    assert!(page.lines().count() <= 40 && page.lines().all(|line| line.len() < 80), "{page}");
    assert_eq!(place.run(&["man", "--to", "pages"]).code, 0);
    let pages = std::fs::read_dir(place.work().join("pages")).unwrap().map(|page| page.unwrap().file_name());
    let names = pages.map(|page| page.to_string_lossy().trim_end_matches(".1").to_owned());
    let commands: Vec<String> = names
        .filter_map(|name| Some(name.strip_prefix("haft-")?.to_owned()))
        .filter(|name| !name.contains('-'))
        .collect();
    assert!(commands.len() >= 30, "{commands:?}");
    for command in commands {
        let is_named =
            |line: &str| line.starts_with("  ") && line.split([' ', ',']).any(|word| word == command);
        assert!(page.lines().any(is_named), "{command}: {page}");
    }
    // Its options are those of a command, too.
    let options = place.run(&["run", "--help"]).out;
    let words = page.lines().filter(|line| line.starts_with("  ")).flat_map(|line| line.split(' '));
    let named: Vec<&str> = words.filter(|word| word.starts_with("--")).collect();
    assert!(named.len() >= 3 && named.iter().all(|long| options.contains(long)), "{named:?}");
}
