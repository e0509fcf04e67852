//! [`unwrapped`]: programs that run other programs, and how their arguments name these.
use crate::Word;

/// Programs that run another one, and their options that take a value.
const WRAPPERS: [(&str, &[&str]); 38] = [
    ("sudo", &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t"]),
    ("doas", &["-u", "-C"]),
    ("env", &["-u", "-C", "--unset", "--chdir"]),
    ("exec", &["-a"]),
    ("command", &[]),
    ("builtin", &[]),
    ("coproc", &[]),
    ("jobs", &[]),
    ("nohup", &[]),
    ("setsid", &[]),
    ("nice", &["-n"]),
    ("ionice", &["-c", "-n", "-p"]),
    ("time", &["-f", "-o"]),
    ("timeout", &["-k", "-s"]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("xargs", &["-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a"]),
    ("parallel", &["-j", "-I", "-a", "-n", "-N"]),
    ("busybox", &[]),
    ("toybox", &[]),
    ("chroot", &[]),
    ("unshare", &["-w", "-S", "-G"]),
    ("flock", &["-w", "-E"]),
    ("strace", &["-o", "-e", "-p", "-s", "-u"]),
    ("ltrace", &["-o", "-e", "-p", "-s", "-u"]),
    ("taskset", &[]),
    ("chrt", &["-T", "-P", "-D"]),
    ("setpriv", &[]),
    ("prlimit", &[]),
    ("watch", &["-n"]),
    ("runuser", &["-u", "-g"]),
    ("fakeroot", &["-i", "-s"]),
    ("setarch", &[]),
    ("linux32", &[]),
    ("linux64", &[]),
    ("numactl", &["-N", "-m", "-i", "-C", "-p"]),
    ("choom", &["-n"]),
    ("chronic", &[]),
    ("pkexec", &["--user"]),
];

/// Wrappers that have an argument of their own before the program, such as a duration or a folder.
const POSITIONAL: [&str; 6] = ["timeout", "chroot", "flock", "taskset", "chrt", "setarch"];

/// Programs that run another one somewhere among their arguments.
const RUNNERS: [&str; 47] = [
    "asdf",
    "bundle",
    "bunx",
    "bwrap",
    "cgexec",
    "cmake",
    "concurrently",
    "conda",
    "dbus-run-session",
    "direnv",
    "docker",
    "doppler",
    "dotenv",
    "entr",
    "firejail",
    "gdb",
    "guix",
    "hatch",
    "hyperfine",
    "ip",
    "kubectl",
    "ld-linux-x86-64.so.2",
    "micromamba",
    "mise",
    "nix",
    "nodemon",
    "npm",
    "npx",
    "nsenter",
    "perf",
    "pipenv",
    "pixi",
    "pnpm",
    "podman",
    "poetry",
    "proot",
    "rye",
    "screen",
    "ssh",
    "ssh-agent",
    "start-stop-daemon",
    "systemd-run",
    "tmux",
    "uv",
    "valgrind",
    "xvfb-run",
    "yarn",
];

/// Whether the arguments of `program` may contain another program and its arguments.
pub(crate) fn is_runner(program: &Word) -> bool {
    RUNNERS.contains(&name(program)) || is_wrapper(program)
}

/// Whether `program` runs the program that its arguments name.
pub(crate) fn is_wrapper(program: &Word) -> bool {
    WRAPPERS.iter().any(|(wrapper, _)| *wrapper == name(program))
}

/// The program that is finally run, with its arguments.
pub fn unwrapped(words: &[Word]) -> &[Word] {
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        let Some((wrapper, valued)) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name(first)) else {
            break;
        };
        rest = after;
        while let Some((option, after)) = rest.split_first() {
            let is_assignment = matches!(*wrapper, "sudo" | "env" | "doas") && is_assignment(&option.text);
            match option.text.starts_with('-') {
                true if valued.contains(&option.text.as_str()) => rest = after.get(1..).unwrap_or_default(),
                true => rest = after,
                false if is_assignment => rest = after,
                false => break,
            }
        }
        if POSITIONAL.contains(wrapper) {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    rest
}

fn is_assignment(word: &str) -> bool {
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// Shells that read the same language as `sh`, or nearly.
const SHELLS: [&str; 10] = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "yash", "rbash", "fish"];

/// Whether `program` is a shell.
pub fn is_shell(program: &Word) -> bool {
    SHELLS.contains(&name(program))
}

/// Interpreters of other languages, and the options whose value is code.
const INTERPRETERS: [(&str, &[char], &[&str]); 24] = [
    ("python", &['c'], &[]),
    ("ipython", &['c'], &[]),
    ("pypy", &['c'], &[]),
    ("perl", &['e', 'E'], &[]),
    ("ruby", &['e'], &[]),
    ("node", &['e', 'p'], &["--eval", "--print"]),
    ("nodejs", &['e', 'p'], &["--eval", "--print"]),
    ("bun", &['e', 'p'], &["--eval", "--print"]),
    ("deno", &[], &["eval"]),
    ("php", &['r', 'B', 'R', 'E'], &[]),
    ("lua", &['e'], &[]),
    ("luajit", &['e'], &[]),
    ("tclsh", &[], &[]),
    ("Rscript", &['e'], &[]),
    ("R", &['e'], &[]),
    ("julia", &['e', 'E'], &["--eval", "--print"]),
    ("guile", &['c'], &[]),
    ("elixir", &['e'], &["--eval"]),
    ("ghc", &['e'], &[]),
    ("groovy", &['e'], &[]),
    ("pwsh", &['c'], &["-Command", "-command"]),
    ("osascript", &['e'], &[]),
    ("csh", &['c'], &[]),
    ("tcsh", &['c'], &[]),
];

/// Whether `program` runs code of a language other than a shell's.
pub fn is_interpreter(program: &Word) -> bool {
    interpreter(program).is_some()
}

fn interpreter(program: &Word) -> Option<(&'static [char], &'static [&'static str])> {
    let name = name(program).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.iter().find(|(known, ..)| *known == name).map(|(_, flags, options)| (*flags, *options))
}

/// Whether an interpreter runs code from the line or from its input.
pub(crate) fn runs_inline_code(program: &Word, arguments: &[Word]) -> bool {
    let Some((flags, options)) = interpreter(program) else { return false };
    let is_code = |word: &Word| {
        let text = &word.text;
        flags.iter().any(|flag| is_flag(text, *flag))
            || text.contains("data:")
            || options.iter().any(|option| {
                text.strip_prefix(option).is_some_and(|rest| matches!(rest.chars().next(), None | Some('=')))
            })
    };
    // Arguments after the script belong to the script.
    let is_value = |place: usize| {
        place > 0 && matches!(arguments[place - 1].text.as_str(), "-W" | "-X") && is_python(program)
    };
    let script = (0..arguments.len()).find(|place| {
        let text = arguments[*place].text.as_str();
        (!text.starts_with('-') || text == "-") && !is_value(*place)
    });
    let before = &arguments[..script.unwrap_or(arguments.len())];
    if before.iter().any(is_code)
        || arguments.first().is_some_and(|first| options.contains(&first.text.as_str()))
    {
        return true;
    }
    match script {
        Some(place) => is_input(&arguments[place]) || is_code(&arguments[place]),
        None => !only_tells(arguments) && !arguments.iter().any(|word| is_flag(&word.text, 'm')),
    }
}

/// Whether the program is Python, whose options `-W` and `-X` take a value.
fn is_python(program: &Word) -> bool {
    ["python", "pypy"].iter().any(|python| name(program).starts_with(python))
}

/// `--version`, `-V`, `--help`, `-h`: nothing is run.
pub(crate) fn only_tells(arguments: &[Word]) -> bool {
    let tells = |word: &Word| matches!(word.text.as_str(), "--version" | "-V" | "-v" | "--help" | "-h");
    arguments.len() == 1 && arguments.iter().all(tells)
}

/// Whether `word` names input from another program as a file: standard input or a descriptor, by any path, or a process
/// substitution.
pub(crate) fn is_input(word: &Word) -> bool {
    let parts: Vec<&str> = word.text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let is_below = |above: &[&str]| word.text.starts_with('/') && parts.starts_with(above);
    let is_handle = parts.last() == Some(&"stdin") || is_below(&["proc"]) || is_below(&["dev", "fd"]);
    word.text == "-" || is_handle || word.pattern.starts_with("<(")
}

/// `/sbin/reboot` is `reboot`.
pub fn name(word: &Word) -> &str {
    word.text.rsplit('/').next().unwrap_or_default()
}

/// Normalizes a git command: removes the options before the verb, and turns a program such as `git-push` into its verb;
/// `None` if nothing changes.
pub(crate) fn plain_git(words: &[Word]) -> Option<Vec<Word>> {
    // Options whose value is a word of its own, of all versions up to 2.51.
    const VALUED: [&str; 9] = [
        "-C",
        "-c",
        "--attr-source",
        "--config-env",
        "--git-dir",
        "--namespace",
        "--shallow-file",
        "--super-prefix",
        "--work-tree",
    ];
    let (program, mut rest) = words.split_first()?;
    let as_git = |text: &str| Word { text: text.to_owned(), pattern: text.to_owned(), is_literal: true };
    if let Some(verb) = name(program).strip_prefix("git-") {
        return Some([as_git("git"), as_git(verb)].into_iter().chain(rest.iter().cloned()).collect());
    }
    if name(program) != "git" || !rest.first()?.text.starts_with('-') {
        return None;
    }
    while let Some((option, after)) = rest.split_first().filter(|(option, _)| option.text.starts_with('-')) {
        let has_value = VALUED.contains(&option.text.as_str());
        rest = after.get(usize::from(has_value)..).unwrap_or_default();
    }
    Some(std::iter::once(program).chain(rest).cloned().collect())
}

/// Whether `word` is `-x`, or has `x` among several letters.
pub fn is_flag(word: &str, letter: char) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
}

/// Returns the first word after an option that is not an option itself.
pub fn behind(words: &[Word], is_it: impl Fn(&str) -> bool) -> Option<&Word> {
    let place = words.iter().position(|word| is_it(&word.text))?;
    words[place + 1..].iter().find(|word| !word.text.starts_with('-'))
}
