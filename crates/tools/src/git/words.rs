//! [`cleared`]: parses a `git` command line: the words after the action. Each word is used as Git uses it, or refused;
//! none is ignored.
use super::{Action, Args, repository::Repository, stash::Stash};
use haft_core::{ToolError, ToolErrorKind};

/// The options of each action, each with its aliases; the first name is passed to Git. Options with `=` take a value.
const KNOWN_OPTIONS: [(Action, &str); 11] = [
    (Action::Status, "--short,-s --branch,-b --porcelain"),
    (Action::Diff, "--cached,--staged --stat --name-only --name-status"),
    (Action::Log, "--oneline --all --max-count,-n= --since,--after= --until,--before= --author= --grep="),
    (Action::Show, "--stat --name-only --name-status"),
    (Action::Blame, "-L="),
    (Action::Add, "--all,-A --update,-u"),
    (
        Action::Commit,
        "--message,-m= --all,-a --amend --no-edit --allow-empty --signoff,-s --quiet,-q --no-verify,-n",
    ),
    (Action::Branch, "--list,-l --all,-a --verbose,-v --show-current"),
    (Action::Checkout, "-b= --quiet,-q"),
    (
        Action::Stash,
        "--message,-m= --include-untracked,-u --keep-index,-k --index --stat --name-only --name-status --quiet,-q",
    ),
    (Action::Push, "--set-upstream,-u --quiet,-q"),
];

/// Options for what Haft does anyway: a status is short, hooks do not run, the list of branches is complete.
const DEFAULT_OPTIONS: [&str; 7] =
    ["--short", "--branch", "--porcelain", "--quiet", "--no-verify", "--list", "--verbose"];

impl Args {
    /// Parses the words of the call; the error names everything in them that is not supported.
    pub(super) fn read(&self) -> Result<Self, Vec<String>> {
        let mut args = Self { words: Vec::new(), ..self.clone() };
        let (mut plain, mut problems) = (Vec::new(), Vec::new());
        let mut words = self.words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "--" => args.paths.extend(words.by_ref().map(Into::into)),
                option if option.len() > 1 && option.starts_with('-') => {
                    if let Err(why) = args.option(option, &mut words) {
                        problems.push(why);
                    }
                }
                plain_word => plain.push(plain_word.to_owned()),
            }
        }
        if let Err(why) = args.place(plain) {
            problems.push(why);
        }
        if problems.is_empty() { Ok(args) } else { Err(problems) }
    }

    fn option<'a>(&mut self, word: &'a str, rest: &mut impl Iterator<Item = &'a str>) -> Result<(), String> {
        let none = || format!("`{word}` is not done here");
        if let (Action::Log, Ok(count)) = (self.action, word[1..].parse::<u32>()) {
            return self.count(count);
        }
        let (name, value) = word.split_once('=').filter(|_| word.starts_with("--")).unzip();
        if let Some((first, takes_value)) = self.known(name.unwrap_or(word)) {
            let value = if takes_value { value.or_else(|| rest.next()) } else { value };
            return match (takes_value, value) {
                (true, None) => Err(format!("`{word}` needs a value")),
                (false, Some(_)) => Err(none()),
                (_, value) => self.take(first, value),
            };
        }
        // `-am MESSAGE`, `-n5`: several letters in one word; the last one may have a value.
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-')).ok_or_else(none)?;
        for (at, letter) in letters.char_indices() {
            let (first, takes_value) = self.known(&format!("-{letter}")).ok_or_else(none)?;
            if !takes_value {
                self.take(first, None)?;
                continue;
            }
            let behind = Some(&letters[at + letter.len_utf8()..]).filter(|behind| !behind.is_empty());
            let value = behind.or_else(|| rest.next()).ok_or_else(|| format!("`{word}` needs a value"))?;
            return self.take(first, Some(value));
        }
        Ok(())
    }

    /// The name that is passed to Git, and whether a value follows.
    fn known(&self, name: &str) -> Option<(&'static str, bool)> {
        let (_, options) = KNOWN_OPTIONS.iter().find(|(action, _)| *action == self.action)?;
        options.split(' ').find_map(|option| {
            let (names, takes_value) =
                option.strip_suffix('=').map_or((option, false), |names| (names, true));
            let is_it = names.split(',').any(|known| known == name);
            is_it.then(|| (names.split(',').next().unwrap_or(names), takes_value))
        })
    }

    fn take(&mut self, option: &'static str, value: Option<&str>) -> Result<(), String> {
        match (option, value) {
            ("--cached", _) => self.staged = Some(true),
            ("--message", Some(text)) => {
                let before = self.message.take().map(|before| format!("{before}\n\n"));
                self.message = Some(before.unwrap_or_default() + text);
            }
            ("--max-count", Some(count)) => {
                let count = count.parse().map_err(|_| format!("`{count}` is no number of entries"))?;
                self.count(count)?;
            }
            ("-b", Some(name)) => {
                self.revision = Some(name.to_owned());
                self.options.push(option.to_owned());
            }
            ("-L", Some(lines)) => self.options.push(format!("-L{lines}")),
            (option, Some(value)) => self.options.push(format!("{option}={value}")),
            // `git branch` lists all branches anyway.
            ("--all", None) if self.action == Action::Branch => {}
            (option, None) if DEFAULT_OPTIONS.contains(&option) => {}
            (option, None) => self.options.push(option.to_owned()),
        }
        Ok(())
    }

    fn count(&mut self, count: u32) -> Result<(), String> {
        if count > super::look::MAX_ENTRIES {
            return Err(format!("more than {} entries are not shown at once", super::look::MAX_ENTRIES));
        }
        self.limit = Some(count);
        Ok(())
    }

    /// Assigns the words that are not options, depending on the action.
    fn place(&mut self, plain: Vec<String>) -> Result<(), String> {
        let mut words = plain.into_iter();
        match self.action {
            Action::Status | Action::Add | Action::Commit => {
                self.paths.extend(words.by_ref().map(Into::into))
            }
            Action::Checkout if self.has("-b") => self.start = words.next(),
            Action::Diff | Action::Log | Action::Show | Action::Blame | Action::Checkout => {
                self.unclear = words.by_ref().collect();
            }
            Action::Branch => {
                self.revision = words.next().or(self.revision.take());
                self.start = words.next();
            }
            Action::Stash => return self.place_stash(words.collect()),
            Action::Push => {
                self.remote = words.next().or(self.remote.take());
                self.revision = words.next().or(self.revision.take());
            }
        }
        match words.next() {
            None => Ok(()),
            Some(more) => Err(format!("`{more}` is one word too many")),
        }
    }

    /// `stash`, `stash push FILES`, `stash save MESSAGE`, `stash pop ENTRY`.
    fn place_stash(&mut self, words: Vec<String>) -> Result<(), String> {
        // In a call that is not a command line, `revision` holds this word.
        let mut words: Vec<String> = self.revision.take().into_iter().chain(words).collect();
        let verb = words.first().cloned().unwrap_or_default();
        self.stash = match Stash::named(&verb) {
            Some(stash) => {
                words.remove(0);
                stash
            }
            None if verb.is_empty() => Stash::Push,
            None => return Err(format!("`{verb}` is not done here")),
        };
        match self.stash {
            Stash::Push if verb == "save" && !words.is_empty() => self.message = Some(words.join(" ")),
            Stash::Push => self.paths.extend(words.into_iter().map(Into::into)),
            Stash::List if words.is_empty() => {}
            Stash::Pop | Stash::Apply | Stash::Drop | Stash::Show if words.len() < 2 => {
                if let Some(word) = words.pop() {
                    let number = word.strip_prefix("stash@{").and_then(|word| word.strip_suffix('}'));
                    let entry: u32 =
                        number.unwrap_or(&word).parse().map_err(|_| format!("`{word}` is no entry"))?;
                    self.revision = Some(entry.to_string());
                }
            }
            Stash::List | Stash::Pop | Stash::Apply | Stash::Drop | Stash::Show => {
                return Err(format!("`{}` is one word too many", words.join(" ")));
            }
        }
        Ok(())
    }

    /// Whether this option is passed to Git.
    pub(super) fn has(&self, option: &str) -> bool {
        self.options.iter().any(|known| known == option)
    }
}

/// Decides for each unclear word whether it is a revision or a file. As in Git, a word that is both is refused.
pub(super) async fn cleared(repository: &Repository, mut args: Args) -> Result<Args, ToolError> {
    let mut revisions: Vec<String> = args.revision.take().into_iter().collect();
    for word in std::mem::take(&mut args.unclear) {
        let named = repository.git(["rev-parse", "--quiet", "--revs-only", &word]).await?;
        let is_revision = named.ok && !named.stdout.trim().is_empty();
        let is_file = repository.folder.join(&word).symlink_metadata().is_ok();
        match (is_revision, is_file) {
            (true, true) => return Err(unclear(format!("`{word}` is a revision and a file"))),
            (false, true) => args.paths.push(word.into()),
            (true, false) => revisions.push(word),
            // Git may find the branch in a remote.
            (false, false) if args.action == Action::Checkout => revisions.push(word),
            (false, false) => return Err(unclear(format!("`{word}` is neither a revision nor a file"))),
        }
    }
    args.revision = match (args.action, revisions.as_slice()) {
        (Action::Diff, [from, to]) => Some(format!("{from}..{to}")),
        (_, [] | [_]) => revisions.pop(),
        _ => return Err(unclear(format!("there is more than one revision: {}", revisions.join(", ")))),
    };
    Ok(args)
}

fn unclear(why: String) -> ToolError {
    ToolError::new(ToolErrorKind::User, format!("git refused: {why}")).hint("put `--` before the files")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(line: &str) -> Result<Args, Vec<String>> {
        let mut words = line.split(' ');
        let action = words.next().expect("a split has a first part");
        let words: Vec<&str> = words.map(|word| if word == "_" { "a message" } else { word }).collect();
        let args: Args =
            serde_json::from_value(json!({"action": action, "words": words})).expect("it is a call");
        args.read()
    }

    // P-11, P-31
    #[test]
    fn words_are_read_as_git_reads_them() {
        type Check = fn(&Args) -> bool;
        let table: [(&str, Check); 29] = [
            ("push origin feature", |a| a.remote() == "origin" && a.revision.as_deref() == Some("feature")),
            ("push -u origin feature", |a| {
                a.has("--set-upstream") && a.revision.as_deref() == Some("feature")
            }),
            ("push", |a| a.remote() == "origin" && a.revision.is_none()),
            ("commit -am _", |a| a.has("--all") && a.message.as_deref() == Some("a message")),
            ("commit -m one -m two a.go", |a| {
                a.message.as_deref() == Some("one\n\ntwo") && a.paths.len() == 1
            }),
            ("commit --message=one", |a| a.message.as_deref() == Some("one")),
            ("commit -mone", |a| a.message.as_deref() == Some("one")),
            ("commit --amend --no-edit", |a| a.has("--amend") && a.has("--no-edit")),
            ("checkout -b feature", |a| a.has("-b") && a.revision.as_deref() == Some("feature")),
            ("checkout -b feature main", |a| a.start.as_deref() == Some("main")),
            ("checkout main", |a| a.unclear == ["main"]),
            ("checkout main -- a.go", |a| a.unclear == ["main"] && a.paths.len() == 1),
            ("log --oneline -5", |a| a.has("--oneline") && a.limit == Some(5)),
            ("log -n 3 main", |a| a.limit == Some(3) && a.unclear == ["main"]),
            ("log -n3 --since=monday", |a| a.limit == Some(3) && a.has("--since=monday")),
            ("diff --cached --stat", |a| a.staged == Some(true) && a.has("--stat")),
            ("diff main HEAD -- a.go", |a| a.unclear == ["main", "HEAD"] && a.paths.len() == 1),
            ("status -sb", |a| a.options.is_empty()),
            ("add -A", |a| a.has("--all") && a.paths.is_empty()),
            ("blame -L 1,3 a.go", |a| a.has("-L1,3") && a.unclear == ["a.go"]),
            ("stash", |a| a.stash == Stash::Push && a.paths.is_empty()),
            ("stash -u -m _", |a| a.has("--include-untracked") && a.message.as_deref() == Some("a message")),
            ("stash push a.go", |a| a.stash == Stash::Push && a.paths.len() == 1),
            ("stash save for later", |a| a.message.as_deref() == Some("for later")),
            ("stash pop", |a| a.stash == Stash::Pop && a.revision.is_none()),
            ("stash drop stash@{1}", |a| a.stash == Stash::Drop && a.revision.as_deref() == Some("1")),
            ("stash show --stat", |a| a.stash == Stash::Show && a.has("--stat") && a.only_looks()),
            ("branch -a", |a| a.revision.is_none() && a.options.is_empty()),
            ("branch topic main", |a| a.start.as_deref() == Some("main")),
        ];
        for (line, expected) in table {
            let args = read(line).unwrap_or_else(|why| panic!("{line}: {why:?}"));
            assert!(expected(&args) && args.words.is_empty(), "{line}: {args:?}");
        }
    }

    // P-11, P-31
    #[test]
    fn what_is_not_done_is_named() {
        let table: [(&str, &[&str]); 15] = [
            ("push --force origin main", &["`--force` is not done here"]),
            ("push -f", &["`-f` is not done here"]),
            ("push origin a b", &["`b` is one word too many"]),
            ("push --delete origin x", &["`--delete` is not done here"]),
            ("commit -p -m x", &["`-p` is not done here"]),
            ("commit -ap", &["`-ap` is not done here"]),
            ("commit -m", &["`-m` needs a value"]),
            ("log --graph -x", &["`--graph` is not done here", "`-x` is not done here"]),
            ("log -n x", &["`x` is no number of entries"]),
            ("log -501", &["more than 500 entries are not shown at once"]),
            ("stash clear", &["`clear` is not done here"]),
            ("stash pop x", &["`x` is no entry"]),
            ("stash pop 1 2", &["`1 2` is one word too many"]),
            ("branch -D x", &["`-D` is not done here"]),
            ("add --all=x", &["`--all=x` is not done here"]),
        ];
        for (line, expected) in table {
            assert_eq!(read(line).err().unwrap_or_default(), expected, "{line}");
        }
    }
}
