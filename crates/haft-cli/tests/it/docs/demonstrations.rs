//! `docs/demonstrations.md`: its commands run, and print what the page says.
use crate::kit::Place;
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/demonstrations.md")
}

/// The variable that names the folder with language servers; a section that shows one needs it.
const NODE_MODULES: &str = "HAFT_NODE_MODULES";

/// Splits a `console` block into commands (`$ …`, more lines of one as `> …`), each with what it prints.
fn commands(block: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push((command.to_owned(), String::new()));
            continue;
        }
        let (command, output) = commands.last_mut().expect("a block begins with a command");
        match line.strip_prefix("> ") {
            Some(more) if output.is_empty() => *command += &format!("\n{more}"),
            _ => *output += &format!("{line}\n"),
        }
    }
    commands
}

/// Runs `command` in the workspace as a person would in a shell, and returns all that it prints.
fn print_of(place: &Place, command: &str) -> String {
    let programs = place.path().join("bin");
    if !programs.exists() {
        fs::create_dir(&programs).unwrap();
        symlink(place.haft(&[]).get_program(), programs.join("haft")).unwrap();
    }
    let servers = std::env::var(NODE_MODULES).map(|modules| format!(":{modules}/.bin")).unwrap_or_default();
    let path = format!("{}:{}{servers}", programs.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("exec 2>&1\n{command}")]).current_dir(place.work()).env_clear();
    shell.envs(place.haft(&[]).get_envs().filter_map(|(name, value)| Some((name, value?)))).env("PATH", path);
    String::from_utf8(shell.stdin(std::process::Stdio::null()).output().unwrap().stdout).unwrap()
}

/// Returns whether `printed` is what the page says; `…` at the end of a line stands for any rest of it.
fn is_same(said: &str, printed: &str) -> bool {
    said.lines().count() == printed.lines().count()
        && said.lines().zip(printed.lines()).all(|(said, printed)| match said.strip_suffix('…') {
            Some(beginning) => printed.starts_with(beginning),
            None => said == printed.trim_end(),
        })
}

// Run with UPDATE_DOCS=1, it writes what the commands print into the page.
#[test]
fn the_demonstrations_print_what_the_page_says() {
    let place = Place::new();
    if !place.run(&["doctor"]).out.contains("commands: can be confined here") {
        return haft_testing::left_out("the demonstrations: commands cannot be confined here");
    }
    fs::create_dir_all(place.path().join("person")).unwrap();
    let text = fs::read_to_string(page()).unwrap();
    let (mut updated, mut count, mut is_left_out) = (String::new(), 0, false);
    for (index, part) in text.split("```").enumerate() {
        let (language, block) = part.split_once('\n').unwrap_or((part, ""));
        let mut part = part.to_owned();
        if let Some((_, heading)) = part.rsplit_once("\n## ").filter(|_| index % 2 == 0) {
            is_left_out = heading.contains("language server") && std::env::var_os(NODE_MODULES).is_none();
            if is_left_out {
                haft_testing::left_out("the demonstration of a language server: none is installed");
            }
        }
        if index % 2 == 1 && !is_left_out {
            if let Some((name, content)) = block.strip_prefix("# ").and_then(|block| block.split_once('\n')) {
                place.write(name, content);
            }
            if language == "console" {
                part = "console\n".to_owned();
                for (command, said) in commands(block) {
                    let printed = print_of(&place, &command);
                    count += 1;
                    let same = is_same(&said, &printed);
                    assert!(
                        same || std::env::var_os("UPDATE_DOCS").is_some(),
                        "$ {command}\n{printed}instead of\n{said}"
                    );
                    let printed: String =
                        printed.lines().map(|line| format!("{}\n", line.trim_end())).collect();
                    let output = if same { &said } else { &printed };
                    part += &format!("$ {}\n{output}", command.replace('\n', "\n> "));
                }
            }
        }
        updated += if index == 0 { "" } else { "```" };
        updated += &part;
    }
    assert!(count >= 25, "{count} commands");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(page(), updated).unwrap();
    }
}
