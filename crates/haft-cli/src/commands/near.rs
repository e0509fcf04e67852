//! [`Mistaken`]: words that were meant as a command. As a prompt, they would cost money.

/// Words that look like a command of another program, or like a misspelled one of Haft.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mistaken {
    /// The words that look like a command: one word, or a noun and a verb.
    pub(crate) typed: String,
    /// The nearest command, without `haft`.
    pub(crate) nearest: Option<String>,
    /// `false` for a word that resembles no known command. With piped input, such a word is a prompt for the input.
    pub(crate) is_known: bool,
}

/// Nouns for which similar programs have commands, each with the nearest command of Haft.
const NOUNS: [(&str, &str); 17] = [
    ("template templates alias aliases", "commands list"),
    ("extension extensions addon addons marketplace", "plugins list"),
    ("hook hooks", "config show"),
    ("server servers daemon gateway web ui dashboard", "serve"),
    ("auth account accounts key keys token tokens credential credentials", "login status"),
    ("provider providers vendor vendors", "models list"),
    ("setting settings preference preferences theme themes env rule rules", "config show"),
    ("memories remember facts knowledge", "memory list"),
    ("permission permissions sandbox trust mode modes", "policy check"),
    ("history conversation conversations thread threads chats checkpoint checkpoints", "sessions list"),
    ("task tasks queue cron schedule schedules", "jobs list"),
    ("subagent subagents persona personas", "agents list"),
    ("benchmark benchmarks evals evaluation evaluations", "eval list"),
    ("cost costs stats budget billing", "usage"),
    ("log logs trace traces", "sessions show"),
    ("self cache workspace workspaces project projects", "doctor"),
    ("bot channel channels", "telegram"),
];

/// Verbs that are commands of their own in similar programs.
const VERBS: [(&str, &str); 12] = [
    ("status info check health diagnose diagnostics ping whoami", "doctor"),
    ("init setup onboard onboarding configure get set", "config show"),
    ("upgrade self-update selfupdate", "update"),
    ("version about", "--version"),
    ("signin sign-in authenticate connect", "login"),
    ("signout sign-out disconnect", "logout"),
    ("ls list ps show search open switch", "sessions list"),
    ("continue-session restore rewind", "resume"),
    ("start up listen", "serve"),
    ("exec execute ask query print", "run"),
    ("install uninstall enable disable add remove", "tools list"),
    ("repl interactive tui shell", "chat"),
];

/// Verbs that may follow a noun in a command.
const ACTIONS: &str = "list ls show get set add remove rm delete install uninstall update upgrade enable disable info search \
                       create new edit start stop restart status init import export clear reset rename login logout view \
                       connect disconnect on off path help use select refresh sync prune reload";

/// Verbs that may also precede the noun: `list skills`.
const LEADING: &str = "list ls show install uninstall enable disable";

/// Words that occur in sentences, but in no command.
const OF_SENTENCES: &str = "a an the my our your this that these it is are was not and or to for of in on with from by as at \
                            fails failed broken wrong please again";

/// Single words that users type as an answer.
const SAID: &str = "hello hi hey hallo hola salut bonjour ciao moin yes no ok okay sure thanks please go begin \
                    continue again next more";

/// Finds words that look like a command: a single word, or a noun before its verb (`skills list`). A verb before its
/// object is a sentence (`fix tests`), unless similar programs list such objects. A word with a space, a capital
/// letter, a symbol or a non-ASCII letter is not a command.
pub(crate) fn mistaken(words: &[String], commands: &clap::Command) -> Option<Mistaken> {
    let known = |count: usize, nearest: &str| Mistaken {
        typed: words[..count].join(" "),
        nearest: Some(nearest.to_owned()),
        is_known: true,
    };
    let found = foreign(words, commands).map(|(count, nearest)| known(count, &nearest));
    let slip = || near_command(words, commands).map(|near| known(1, near));
    let lone = || match words {
        [word] if is_small(word) && !has(SAID, word) => {
            Some(Mistaken { typed: word.clone(), nearest: None, is_known: false })
        }
        _ => None,
    };
    found.or_else(slip).or_else(lone)
}

/// The number of `words` that are a command of another program, and the nearest command of Haft.
fn foreign(words: &[String], commands: &clap::Command) -> Option<(usize, String)> {
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    let thing = |word: &str| {
        let own = commands.find_subcommand(word).map(|own| own.get_name().to_owned());
        own.or_else(|| row(&NOUNS, word).map(str::to_owned))
    };
    let is_call =
        |operands: &[&str]| operands.len() <= 2 && !operands.iter().any(|word| has(OF_SENTENCES, word));
    // `export 20261123-101500-…`
    let of_sessions = |word: &str| {
        let sessions = commands.find_subcommand("sessions")?;
        sessions.find_subcommand(word).map(|own| format!("sessions {}", own.get_name()))
    };
    match lower.as_slice() {
        [word] => row(&VERBS, word)
            .or_else(|| row(&NOUNS, word))
            .map(str::to_owned)
            .or_else(|| of_sessions(word))
            .map(|near| (1, near)),
        [word, id] if is_session_id(id) => {
            of_sessions(word).or_else(|| row(&NOUNS, word).map(str::to_owned)).map(|near| (1, near))
        }
        [action, noun, rest @ ..] if has(LEADING, action) && is_call(rest) && thing(noun).is_some() => {
            thing(noun).map(|near| (2, near))
        }
        [noun, action, rest @ ..] if has(ACTIONS, action) && is_call(rest) => {
            row(&NOUNS, noun).map(|near| (2, near.to_owned()))
        }
        // `plugin marketplace add x`
        [noun, second, action, rest @ ..] if has(ACTIONS, action) && is_call(rest) => {
            row(&NOUNS, second).and(row(&NOUNS, noun)).map(|near| (3, near.to_owned()))
        }
        _ => None,
    }
}

/// Whether `word` begins like the ID of a session: with a date of eight digits.
fn is_session_id(word: &str) -> bool {
    let (date, rest) = word.split_at_checked(8).unwrap_or((word, ""));
    let is_date = date.len() == 8 && date.starts_with("20") && date.bytes().all(|byte| byte.is_ascii_digit());
    is_date && (rest.is_empty() || rest.starts_with('-'))
}

fn row(table: &[(&str, &'static str)], word: &str) -> Option<&'static str> {
    table.iter().find(|(words, _)| has(words, word)).map(|(_, nearest)| *nearest)
}

fn has(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

/// Whether `word` is one word of lower-case ASCII letters, digits, `-` and `_`. A single letter is excluded: users type
/// it to try things out.
fn is_small(word: &str) -> bool {
    let is_small = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    word.len() > 1 && word.starts_with(|c: char| c.is_ascii_lowercase()) && word.bytes().all(is_small)
}

/// The command that the first of `words` is a misspelling of. If the words may be a sentence, only a smaller difference
/// counts: `what` does not mean `chat`.
fn near_command<'a>(words: &[String], commands: &'a clap::Command) -> Option<&'a str> {
    let first = words.first()?.to_lowercase();
    if !first.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let known = commands.get_subcommands().filter(|command| !command.is_hide_set());
    let near = known.filter_map(|command| {
        let slips = slips(first.as_bytes(), command.get_name().as_bytes());
        (slips <= most(command, words)).then_some((slips, command.get_name()))
    });
    near.min().map(|(_, name)| name)
}

fn most(command: &clap::Command, words: &[String]) -> usize {
    let is_call = match words {
        [_] => true,
        [_, second, ..] => command.find_subcommand(second).is_some(),
        [] => false,
    };
    if is_call || command.get_name().len() > 4 { 2 } else { 1 }
}

/// The number of letters that are missing, extra or swapped with a neighbor. A wrong letter counts as one missing and
/// one extra.
fn slips(typed: &[u8], meant: &[u8]) -> usize {
    let (rows, columns) = (typed.len(), meant.len());
    let mut table = vec![vec![0; columns + 1]; rows + 1];
    for row in 0..=rows {
        for column in 0..=columns {
            table[row][column] = match (row, column) {
                (0, other) | (other, 0) => other,
                _ if typed[row - 1] == meant[column - 1] => table[row - 1][column - 1],
                _ => 1 + table[row - 1][column].min(table[row][column - 1]),
            };
            let is_swapped = row > 1
                && column > 1
                && typed[row - 1] == meant[column - 2]
                && typed[row - 2] == meant[column - 1];
            if is_swapped {
                table[row][column] = table[row][column].min(1 + table[row - 2][column - 2]);
            }
        }
    }
    table[rows][columns]
}
