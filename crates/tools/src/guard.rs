//! [`refusal`]: refuses commands that are obviously destructive mistakes, before they start.
//!
//! This prevents accidents of a model, not attacks: the same command can be written in other ways. What a command may
//! reach is decided by the policy and the sandbox.
use haft_shell::{Deed, Line, Word, behind, is_flag, is_interpreter, is_shell, name, unwrapped};

/// Maximum depth of nested shells that is checked.
const MAX_DEPTH: usize = 5;

/// Why `command` is refused, if it is.
pub fn refusal(command: &str) -> Option<&'static str> {
    refusal_at(command, MAX_DEPTH)
}

fn refusal_at(command: &str, depth: usize) -> Option<&'static str> {
    Line::read(command).deeds.iter().find_map(|deed| match deed {
        Deed::Run(words) => of_words(words, depth),
        Deed::Write(file) if is_disk(&file.text) => Some("it writes over a disk"),
        Deed::Pipe(programs) if runs_a_download(programs) => Some("it runs what it downloads, unseen"),
        Deed::Bomb => Some("it is a fork bomb"),
        Deed::Write(_) | Deed::Assign(_) | Deed::Pipe(_) | Deed::Background => None,
    })
}

fn of_words(words: &[Word], depth: usize) -> Option<&'static str> {
    let words = unwrapped(words);
    let (program, arguments) = words.split_first()?;
    let is_recursive = arguments
        .iter()
        .any(|word| is_flag(&word.text, 'r') || is_flag(&word.text, 'R') || word.text == "--recursive");
    let has_everything = arguments.iter().any(|word| is_everything(&word.pattern));
    let has = |wanted: &[&str]| arguments.iter().any(|word| wanted.contains(&word.text.as_str()));
    match name(program) {
        "rm" if is_recursive && has_everything => Some("it removes everything"),
        "chmod" | "chown" | "chgrp" if is_recursive && has_everything => {
            Some("it changes the rights of everything")
        }
        "dd" if arguments.iter().any(|word| word.text.strip_prefix("of=").is_some_and(is_disk)) => {
            Some("it writes over a disk")
        }
        "tee" | "shred" | "wipefs" if arguments.iter().any(|word| is_disk(&word.text)) => {
            Some("it writes over a disk")
        }
        "cp" if arguments.last().is_some_and(|word| is_disk(&word.text)) => Some("it writes over a disk"),
        "shutdown" | "reboot" | "halt" | "poweroff" => Some("it stops the machine"),
        "systemctl" if has(&["reboot", "poweroff", "halt", "kexec"]) => Some("it stops the machine"),
        "init" | "telinit" if has(&["0", "6"]) => Some("it stops the machine"),
        "find" if has_everything && removes_all(arguments) => Some("it removes everything"),
        program if program == "mkfs" || program.starts_with("mkfs.") => Some("it formats a disk"),
        _ if runs_a_substitution(program, arguments) => Some("it runs what it downloads, unseen"),
        _ => lines_in(words).iter().find_map(|line| refusal_at(line, depth.checked_sub(1)?)),
    }
}

/// Whether `find` removes everything that it finds, without a condition.
fn removes_all(arguments: &[Word]) -> bool {
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let narrows = |pair: &[&str]| {
        let is_test =
            ["-name", "-iname", "-path", "-ipath", "-regex", "-mtime", "-mmin", "-size", "-user", "-newer"];
        is_test.contains(&pair[0]) && !matches!(pair[1], "*" | ".*" | "*.*")
    };
    if texts.windows(2).any(narrows) || texts.contains(&"-empty") {
        return false;
    }
    let runs = texts.iter().position(|text| matches!(*text, "-exec" | "-execdir" | "-ok"));
    let is_removal =
        |words: &[Word]| words.first().is_some_and(|first| matches!(name(first), "rm" | "shred"));
    let removes = |at: usize| {
        let program = unwrapped(&arguments[at + 1..]);
        let lines = lines_in(program);
        let mut run = lines.iter().flat_map(|line| Line::read(line).deeds);
        is_removal(program)
            || run.any(|deed| matches!(deed, Deed::Run(words) if is_removal(unwrapped(&words))))
    };
    texts.contains(&"-delete") || runs.is_some_and(removes)
}

/// `bash <(curl …)`, `sh -c "$(curl …)"`, `eval "$(wget …)"`, `source <(curl …)`
fn runs_a_substitution(program: &Word, arguments: &[Word]) -> bool {
    let runs = matches!(name(program), "eval" | "source" | ".") || runs_input(program);
    let is_program = |deed: &Deed| matches!(deed, Deed::Run(words) if downloads(unwrapped(words)));
    let fetches = |word: &Word| {
        let line = word.pattern.trim_start();
        ["$(", "`", "<("].iter().any(|open| line.starts_with(open))
            && Line::read(line).deeds.iter().any(is_program)
    };
    runs && arguments.iter().any(fetches)
}

fn downloads(words: &[Word]) -> bool {
    words.first().is_some_and(|first| matches!(name(first), "curl" | "wget"))
}

/// Whether it is a shell, or an interpreter that runs code from a pipe.
fn runs_input(program: &Word) -> bool {
    is_shell(program) || is_interpreter(program)
}

/// The command lines among the arguments of a program.
fn lines_in(words: &[Word]) -> Vec<String> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let all = || arguments.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    match name(program) {
        "eval" => vec![all()],
        "su" | "script" => given(arguments),
        _ if is_shell(program) => given(arguments),
        _ => Vec::new(),
    }
}

/// The argument of `-c`.
fn given(arguments: &[Word]) -> Vec<String> {
    behind(arguments, |option| is_flag(option, 'c')).map(|line| line.text.clone()).into_iter().collect()
}

fn runs_a_download(programs: &[Vec<Word>]) -> bool {
    let programs: Vec<&[Word]> = programs.iter().map(|words| unwrapped(words)).collect();
    let download = programs.iter().position(|words| downloads(words));
    download.is_some_and(|place| {
        // A local script reads the download as data, and does not run it.
        let reads_it =
            |words: &[Word]| words[1..].iter().all(|word| word.text.starts_with('-') && word.text != "-c");
        programs[place + 1..].iter().any(|words| words.first().is_some_and(runs_input) && reads_it(words))
    })
}

/// Whether this is the root folder or the home folder, or everything in it.
fn is_everything(word: &str) -> bool {
    let word = word.strip_suffix('*').unwrap_or(word);
    let parts: Vec<&str> = word.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    match parts.as_slice() {
        [] => word.starts_with('/'),
        ["~" | "$HOME" | "${HOME}"] => true,
        _ => false,
    }
}

fn is_disk(path: &str) -> bool {
    ["/dev/sd", "/dev/hd", "/dev/vd", "/dev/xvd", "/dev/nvme", "/dev/mmcblk", "/dev/disk"]
        .iter()
        .any(|disk| path.starts_with(disk))
}
