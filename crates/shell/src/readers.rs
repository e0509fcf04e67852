//! [`only_reads`]: recognizes programs that change no files.
use crate::{
    Word,
    programs::{is_flag, is_shell, name},
};

/// Programs that change no file, whatever their arguments.
const READERS: [&str; 74] = [
    ":",
    "[",
    "b2sum",
    "basename",
    "break",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "column",
    "comm",
    "continue",
    "cut",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "exit",
    "expand",
    "false",
    "fgrep",
    "fmt",
    "fold",
    "free",
    "getent",
    "grep",
    "head",
    "id",
    "join",
    "jq",
    "local",
    "ls",
    "md5sum",
    "nl",
    "nproc",
    "od",
    "paste",
    "popd",
    "printenv",
    "printf",
    "ps",
    "pushd",
    "pwd",
    "read",
    "readlink",
    "realpath",
    "return",
    "rev",
    "seq",
    "set",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "shift",
    "sleep",
    "stat",
    "strings",
    "tac",
    "tail",
    "test",
    "tr",
    "true",
    "type",
    "uname",
    "unset",
    "uptime",
    "wait",
    "wc",
    "which",
    "whoami",
    "yes",
    "zcat",
];

/// Programs that only read, unless one of these options is given, alone or followed by `=`.
const CAREFUL: [(&str, &[&str]); 6] = [
    ("date", &["-s", "--set"]),
    ("file", &["-C", "--compile"]),
    ("find", &["-delete", "-fls", "-fprint", "-fprint0", "-fprintf"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("sort", &["-o", "--output", "--compress-program"]),
    ("tree", &["-o"]),
];

/// Git commands that print something without refreshing the index, which would write it.
const GIT: [&str; 14] = [
    "blame",
    "cat-file",
    "describe",
    "for-each-ref",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
];

/// Whether the program, which may be given further words if `has_more`, changes no file.
pub(crate) fn only_reads(words: &[Word], has_more: bool) -> bool {
    let Some((program, arguments)) = words.split_first() else { return !has_more };
    let is_plain = arguments.iter().all(|word| word.is_literal || !begins_unknown(word)) && !has_more;
    let program_name = name(program);
    let is_option = |word: &Word, option: &&str| {
        let is_short = option.len() == 2 && is_flag(&word.text, option.chars().last().unwrap_or('-'));
        is_long(word, option) || word.text == *option || is_short
    };
    match program_name {
        _ if READERS.contains(&program_name) => true,
        _ if !is_plain => false,
        "git" => {
            let verb = arguments.iter().find(|word| word.text != "--no-pager");
            let writes = |word: &Word| word.text.starts_with("--output") || word.text.starts_with("--ext");
            verb.is_some_and(|verb| GIT.contains(&verb.text.as_str())) && !arguments.iter().any(writes)
        }
        "sed" => {
            let is_range = |word: &Word| {
                word.text
                    .strip_suffix('p')
                    .is_some_and(|range| range.chars().all(|c| c.is_ascii_digit() || ",$".contains(c)))
            };
            matches!(arguments, [option, script, files @ ..]
                if option.text == "-n" && is_range(script) && !files.iter().any(|file| file.text.starts_with('-')))
        }
        "awk" | "gawk" | "mawk" | "nawk" => {
            let writes =
                |word: &Word| word.text.contains('>') || is_flag(&word.text, 'i') || is_flag(&word.text, 'f');
            !arguments.iter().any(writes)
        }
        "uniq" => arguments.iter().filter(|word| !word.text.starts_with('-')).count() < 2,
        _ if is_shell(program) => arguments.iter().any(|word| is_flag(&word.text, 'c')),
        _ => CAREFUL.iter().any(|(careful, options)| {
            let is_given = |word: &Word| options.iter().any(|option| is_option(word, option));
            *careful == program_name && !arguments.iter().any(is_given)
        }),
    }
}

/// Whether `word` is the option, with or without a value after `=`. GNU programs also accept the beginning of a long
/// name.
pub(crate) fn is_long(word: &Word, option: &str) -> bool {
    let name = word.text.split_once('=').map_or(word.text.as_str(), |(name, _)| name);
    name == option || (name.len() > 2 && name.starts_with("--") && option.starts_with(name))
}

/// Whether a shell may expand `word` to an option.
fn begins_unknown(word: &Word) -> bool {
    word.pattern.starts_with(['-', '$', '`', '*', '?', '[', '{', '<', '~'])
}
