//! [`Runs`]: the commands that a line runs, including nested ones, as far as its text shows them.
use crate::{
    Deed, Line, Word,
    hidden::is_git_variable,
    programs::{
        behind, is_flag, is_input, is_interpreter, is_runner, is_shell, is_wrapper, name, only_tells,
        plain_git, runs_inline_code, unwrapped,
    },
    readers::{is_long, only_reads},
};
use std::collections::VecDeque;

/// Maximum depth of nested lines (`sh -c '…'`) that are read.
const MAX_DEPTH: usize = 5;
/// Maximum commands, and words after a program that runs another one, that are distinguished.
const MAX_RUNS: usize = 20_000;
const MAX_WORDS: usize = 256;

/// A simple command. A word that a shell expands may become anything.
#[derive(Clone, Debug)]
pub struct Command {
    words: Vec<Word>,
    /// Whether further words come from elsewhere, as `xargs` adds them.
    has_more: bool,
}

/// The commands that a line would run.
#[derive(Debug, Default)]
pub struct Runs {
    /// Simple commands at any depth, and commands that other programs run.
    pub commands: Vec<Command>,
    /// Arguments in which a program might find something to run.
    pub texts: Vec<String>,
    /// Whether only these commands can run, apart from scripts and programs in files. `false` if the line cannot be
    /// parsed, names its program by a variable, or contains code of another language.
    pub is_whole: bool,
    /// Whether the line changes its folder.
    pub moves: bool,
    /// Whether the line writes no files and runs only programs that are known to change none.
    pub only_reads: bool,
}

impl Command {
    /// Whether it may be `words`, word for word; with `more`, whether it may begin with them. The program may be named
    /// with its folder.
    pub fn may_be(&self, words: &[&str], more: bool) -> bool {
        let mut own = self.words.iter();
        for (place, expected) in words.iter().enumerate() {
            match own.next() {
                None => return self.has_more,
                Some(word) if !word.is_literal => return may_become(word, expected),
                Some(word) => {
                    let is_program = place == 0 && name(word) == *expected;
                    if word.text != *expected && !is_program {
                        return false;
                    }
                }
            }
        }
        more || own.all(|word| !word.is_literal)
    }

    /// Whether it begins with `words`, and a shell expands none of these. The program may be named with its folder.
    pub fn begins_with(&self, words: &[&str]) -> bool {
        let is_it = |(place, (expected, own)): (usize, (&&str, &Word))| {
            own.is_literal && (own.text == **expected || place == 0 && name(own) == *expected)
        };
        self.words.len() >= words.len() && words.iter().zip(&self.words).enumerate().all(is_it)
    }

    /// Returns its words; `None` if a shell expands some of them.
    pub fn literal(&self) -> Option<String> {
        let is_known = !self.has_more && self.words.iter().all(|word| word.is_literal);
        let words = self.words.iter().map(|word| word.text.as_str());
        is_known.then(|| words.collect::<Vec<_>>().join(" "))
    }
}

/// Whether a shell may expand `word` to `expected`, or to several words that begin with it. The text before the first
/// special character stays unchanged.
fn may_become(word: &Word, expected: &str) -> bool {
    let mut before = String::new();
    let mut letters = word.pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => before.extend(letters.next()),
            '~' | '*' | '?' | '[' | '$' | '`' | '{' | '<' | '>' => break,
            plain => before.push(plain),
        }
    }
    expected.starts_with(&before)
}

impl Runs {
    /// Parses `line`, and the commands that its programs run.
    pub fn of(line: &str) -> Self {
        let mut runs = Self { is_whole: true, only_reads: true, ..Self::default() };
        let mut lines = VecDeque::from([(line.to_owned(), 0)]);
        while let Some((line, depth)) = lines.pop_front() {
            let read = Line::read(&line);
            runs.is_whole &= read.is_whole && depth < MAX_DEPTH && runs.commands.len() < MAX_RUNS;
            if depth >= MAX_DEPTH || runs.commands.len() >= MAX_RUNS {
                break;
            }
            for deed in read.deeds {
                match deed {
                    Deed::Run(words) => {
                        let found = runs.take(words);
                        lines.extend(found.into_iter().map(|line| (line, depth + 1)));
                    }
                    Deed::Write(file) => {
                        let is_shown =
                            ["/dev/null", "/dev/stdout", "/dev/stderr"].contains(&file.text.as_str());
                        runs.only_reads &= is_shown;
                    }
                    // Some programs run the values of variables.
                    Deed::Assign(value) => {
                        runs.is_whole &= !is_input(&value);
                        runs.texts.push(value.text);
                    }
                    Deed::Pipe(_) | Deed::Background | Deed::Bomb => {}
                }
            }
        }
        runs.only_reads &= runs.is_whole;
        runs
    }

    /// Whether `text` contains `words`, one after the other.
    pub fn mentions(text: &str, words: &[&str]) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || "_./-".contains(c);
        let parts: Vec<&str> = text.split(|c| !is_part(c)).filter(|part| !part.is_empty()).collect();
        let last = |part: &str| part.rsplit('/').next().unwrap_or_default().to_owned();
        parts.windows(words.len().max(1)).any(|found| {
            let first = found.first().zip(words.first()).is_none_or(|(part, word)| last(part) == last(word));
            first && found.iter().zip(words).skip(1).all(|(part, word)| part == word)
        })
    }

    /// Adds a command and the commands that it runs. Returns the lines that it passes to a shell.
    fn take(&mut self, words: Vec<Word>) -> Vec<String> {
        let Some(first) = words.first() else { return Vec::new() };
        if !is_runner(first) {
            self.is_whole &= first.is_literal;
            self.only_reads &= only_reads(&words, false);
            return self.add(words, false);
        }
        let (appends, place) = match name(first) {
            "xargs" => (true, placeholder(&words[1..])),
            "parallel" => (true, Some("{}".to_owned())),
            _ => (false, None),
        };
        let words: Vec<Word> = words.into_iter().map(|word| replaced(word, place.as_deref())).collect();
        self.only_reads &= only_reads(unwrapped(&words), appends);
        let is_given = !is_wrapper(&words[0])
            || match unwrapped(&words).first() {
                Some(program) => program.is_literal,
                None => !appends || !words[1..].iter().any(is_wrapper),
            };
        self.is_whole &= words.len() <= MAX_WORDS && is_given;
        // Any word may begin the command that is run, whatever the options before it mean.
        let begins = |place: &usize| words[*place].is_literal && !words[*place].text.starts_with('-');
        let places: Vec<usize> = (1..words.len().min(MAX_WORDS)).filter(begins).collect();
        let mut lines = self.add(words.clone(), appends);
        let program = words.len() - unwrapped(&words).len();
        for place in places {
            let rest = words[place..].to_vec();
            // A last word is the program only where that is its place: `timeout 60 apt-get install bash` runs no shell.
            match rest.len() > 1 || place == program {
                true => lines.extend(self.add(rest, appends)),
                false => self.commands.push(Command { words: rest, has_more: appends }),
            }
        }
        lines
    }

    /// Adds one command, without the commands in its arguments. Returns the lines that it passes to a shell.
    fn add(&mut self, words: Vec<Word>, has_more: bool) -> Vec<String> {
        let Some((program, arguments)) = words.split_first() else { return Vec::new() };
        let mut lines = Vec::new();
        match name(program) {
            "cd" | "pushd" | "popd" => self.moves = true,
            "eval" | "alias" | "trap" => {
                self.is_whole &= arguments.iter().all(|word| word.is_literal) && !has_more;
                lines = joined(arguments);
            }
            "watch" | "ssh" | "tmux" | "screen" | "parallel" => lines = joined(arguments),
            "env" => {
                lines.extend(behind_option(arguments, 'S'));
                // `BASH_FUNC_ls%%=() { … }`
                let assigned = arguments.iter().filter(|word| word.text.contains('='));
                self.is_whole &= !assigned.clone().any(|word| is_git_variable(&word.text));
                self.texts.extend(assigned.map(|word| word.text.clone()));
            }
            "mapfile" | "readarray" | "compgen" | "complete" => {
                self.is_whole &= !arguments.iter().any(|word| is_git_variable(&word.text));
                lines.extend(behind_option(arguments, 'C'));
            }
            "su" | "script" | "flock" | "runuser" => {
                let is_it = |option: &str| is_flag(option, 'c') || option == "--command";
                if let Some(line) = behind(arguments, is_it) {
                    self.is_whole &= line.is_literal;
                    lines.push(line.text.clone());
                }
                let joined = arguments.iter().filter_map(|word| match word.text.split_once('=') {
                    Some((option, line)) if option.starts_with("--c") => Some(line),
                    _ => word.text.strip_prefix("-c"),
                });
                lines.extend(joined.map(str::to_owned));
            }
            "rg" | "sort" => lines.extend(given_programs(program, arguments)),
            "tar" | "scp" | "sftp" | "rsync" => {
                lines.extend(given_programs(program, arguments));
                self.tell(arguments);
            }
            "find" | "fd" | "fdfind" => self.take_found(arguments, &mut lines),
            "git" => self.take_git(arguments, &mut lines),
            _ if is_shell(program) => self.take_shell(arguments, has_more, &mut lines),
            _ if reads_commands(program, arguments, has_more) => self.is_whole = false,
            "printf" | "read" | "getopts" | "let" | "wait" | "exec"
                if arguments.iter().any(|word| is_git_variable(&word.text)) =>
            {
                self.is_whole = false
            }
            // These print or search text, and run nothing.
            "echo" | "printf" | "grep" | "egrep" | "fgrep" | "ag" | "test" | "[" | "gh" | "jq" => {}
            _ if is_awk(program) => {}
            _ => self.tell(arguments),
        }
        let plain = plain_git(&words).map(|words| Command { words, has_more });
        self.commands.extend(plain.into_iter().chain([Command { words, has_more }]));
        lines
    }

    /// Adds arguments in which a program might find something to run.
    fn tell(&mut self, arguments: &[Word]) {
        let texts = arguments.iter().map(|word| &word.text).filter(|text| !is_name(text));
        self.texts.extend(texts.cloned());
    }

    fn take_shell(&mut self, arguments: &[Word], has_more: bool, lines: &mut Vec<String>) {
        if let Some(place) = arguments.iter().position(|word| is_flag(&word.text, 'c')) {
            let line = arguments[place + 1..].iter().find(|word| !word.text.starts_with(['-', '+']));
            self.is_whole &= line.is_some_and(|line| line.is_literal);
            // `sh -c '"$@"' sh touch x`
            let behind = arguments[place + 1..].iter().filter(|word| word.is_literal);
            lines.extend(behind.map(|word| word.text.clone()));
            return;
        }
        let mut rest = arguments.iter();
        let script = loop {
            match rest.next() {
                Some(word)
                    if matches!(
                        word.text.as_str(),
                        "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file"
                    ) =>
                {
                    rest.next();
                }
                Some(word) if word.text.starts_with(['-', '+']) && word.text != "-" => {}
                other => break other,
            }
        };
        let reads_input =
            arguments.iter().any(|word| is_flag(&word.text, 's')) || script.is_none_or(is_input);
        self.is_whole &= !reads_input || only_tells(arguments) || (has_more && script.is_none());
    }

    fn take_found(&mut self, arguments: &[Word], lines: &mut Vec<String>) {
        let runs = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
        let begins = (0..arguments.len()).filter(|place| runs.contains(&arguments[*place].text.as_str()));
        for place in begins.take(MAX_WORDS).collect::<Vec<_>>() {
            let run = arguments[place + 1..].iter().take(MAX_WORDS);
            let run = run.take_while(|word| !matches!(word.text.as_str(), ";" | "+"));
            let run: Vec<Word> = run.map(|word| replaced(word.clone(), Some("{}"))).collect();
            lines.extend(self.take(run));
        }
    }

    /// `git bisect run …`, `git submodule foreach …`, `git rebase --exec …`, `git -c alias.x='!…' x`
    fn take_git(&mut self, arguments: &[Word], lines: &mut Vec<String>) {
        for (place, word) in arguments.iter().enumerate() {
            let next = arguments.get(place + 1).filter(|_| {
                matches!(
                    word.text.as_str(),
                    "-c" | "-u" | "-x" | "--exec" | "--upload-pack" | "--receive-pack"
                ) || (word.text.starts_with("--") && word.text.ends_with("-filter"))
            });
            let joined = word.text.starts_with("--").then(|| word.text.split_once('=')).flatten();
            lines.extend(next.map(|next| assigned(&next.text)));
            lines.extend(joined.map(|(_, value)| value.to_owned()));
            let short =
                ["-x", "-O", "-u", "ext::"].into_iter().find_map(|begin| word.text.strip_prefix(begin));
            lines.extend(short.map(str::to_owned));
        }
        // An alias hides the command that it stands for.
        let renames = |word: &Word| word.text.starts_with("alias.") || word.text.starts_with("--config-env");
        self.is_whole &= !arguments.iter().any(renames);
        let run = arguments.iter().position(|word| matches!(word.text.as_str(), "run" | "foreach"));
        if let Some(place) = run {
            let run = arguments[place + 1..].iter().skip_while(|word| word.text.starts_with('-'));
            let run: Vec<Word> = run.cloned().collect();
            lines.extend(run.first().map(|first| first.text.clone()));
            if run.len() > 1 {
                lines.extend(self.take(run));
            }
        }
    }
}

/// Whether a program runs commands from its input or code of another language, or gives a program another name.
fn reads_commands(program: &Word, arguments: &[Word], has_more: bool) -> bool {
    match name(program) {
        "at" | "batch" | "crontab" | "ed" | "enable" | "ex" | "hash" | "red" => true,
        "make" | "gmake" | "cmake" => arguments
            .iter()
            .any(|word| word.text.ends_with('-') || word.text.starts_with("--ev") || is_input(word)),
        "." | "source" => arguments.first().is_some_and(is_input),
        _ if is_awk(program) => {
            let starts = |word: &Word| ["system", "|", "@"].iter().any(|sign| word.text.contains(sign));
            arguments.iter().any(starts)
        }
        _ if is_interpreter(program) => {
            runs_inline_code(program, arguments) || (has_more && arguments.is_empty())
        }
        _ => false,
    }
}

/// Options of programs whose value is another program to run.
const PROGRAM_OPTIONS: [(&str, &[&str]); 6] = [
    ("rg", &["--pre", "--hostname-bin"]),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("scp", &["-S"]),
    ("sftp", &["-S"]),
    ("sort", &["--compress-program"]),
    (
        "tar",
        &[
            "-F",
            "-I",
            "--checkpoint-action",
            "--info-script",
            "--new-volume-script",
            "--rmt-command",
            "--rsh-command",
            "--to-command",
            "--use-compress-program",
        ],
    ),
];

/// The lines that a program of [`PROGRAM_OPTIONS`] runs: the values of such options.
fn given_programs(program: &Word, arguments: &[Word]) -> Vec<String> {
    let known = PROGRAM_OPTIONS.iter().find(|(known, _)| *known == name(program));
    let options = known.map_or(&[][..], |(_, options)| options);
    let value = |(place, word): (usize, &Word)| {
        let next = || arguments.get(place + 1).map(|next| next.text.clone());
        options.iter().find_map(|option| match word.text.split_once('=') {
            Some((_, value)) if is_long(word, option) => {
                Some(value.strip_prefix("exec=").unwrap_or(value).to_owned())
            }
            None if is_long(word, option) => next(),
            _ if option.len() == 2 => {
                let letter = option.chars().last()?;
                let (_, value) = is_flag(&word.text, letter).then(|| word.text.split_once(letter))??;
                if value.is_empty() { next() } else { Some(value.to_owned()) }
            }
            _ => None,
        })
    };
    arguments.iter().enumerate().filter_map(value).collect()
}

fn is_awk(program: &Word) -> bool {
    ["awk", "gawk", "mawk", "nawk"].contains(&name(program))
}

/// The lines that a program reads in its arguments: each that is more than a name, and all of them joined.
fn joined(arguments: &[Word]) -> Vec<String> {
    let texts: Vec<&str> =
        arguments.iter().map(|word| word.text.as_str()).filter(|text| !text.starts_with('-')).collect();
    let each = texts.iter().filter(|text| !is_name(text)).map(|text| assigned(text));
    each.chain([texts.join(" ")]).collect()
}

/// The line after the option `letter`, in the same word or the next one, or after `env --split-string`, which may be
/// abbreviated.
fn behind_option(arguments: &[Word], letter: char) -> Option<String> {
    let split = |text: &str| {
        let (option, value) = text.split_once('=').unwrap_or((text, ""));
        let is_it = option.len() > 2 && "--split-string".starts_with(option);
        is_it.then(|| value.to_owned())
    };
    let value = |text: &str| {
        let short = is_flag(text, letter).then(|| text.split_once(letter)).flatten();
        short.map(|(_, value)| value.to_owned()).or_else(|| split(text))
    };
    let (place, value) =
        arguments.iter().enumerate().find_map(|(place, word)| Some((place, value(&word.text)?)))?;
    let rest = arguments[place + 1..].iter().map(|word| word.text.clone());
    Some([value].into_iter().chain(rest).collect::<Vec<_>>().join(" "))
}

/// The placeholder that `xargs` replaces by its input.
fn placeholder(arguments: &[Word]) -> Option<String> {
    arguments.iter().enumerate().find_map(|(place, word)| match word.text.as_str() {
        "-I" => arguments.get(place + 1).map(|next| next.text.clone()),
        "-i" | "--replace" => Some("{}".to_owned()),
        text => text.strip_prefix("-I").or_else(|| text.strip_prefix("--replace=")).map(str::to_owned),
    })
}

fn replaced(word: Word, place: Option<&str>) -> Word {
    let is_replaced = place.is_some_and(|place| !place.is_empty() && word.text.contains(place));
    let pattern = if is_replaced { "*".to_owned() } else { word.pattern.clone() };
    Word { is_literal: word.is_literal && !is_replaced, pattern, ..word }
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c))
}

/// The value in `name=value`, without a leading `!`, with which git runs it.
fn assigned(text: &str) -> String {
    let value = match text.split_once('=') {
        Some((name, value)) if !name.contains(char::is_whitespace) => value,
        _ => text,
    };
    value.trim_start_matches('!').to_owned()
}
