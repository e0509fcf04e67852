//! [`commands`]: splits a shell line into commands, each as its words, without running or guessing anything.

/// Characters that separate commands.
const OPERATOR_CHARS: [char; 4] = [';', '&', '|', '\n'];

/// The commands of `line`, their words without quotes; `None` if it contains syntax that only a shell can evaluate: a
/// substitution, a group, a here-document, an unclosed quote, a redirection before the command.
pub(super) fn commands(line: &str) -> Option<Vec<String>> {
    let (mut all, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '`' | '(' | ')' | '{' | '}' => return None,
            '$' if letters.peek().is_some_and(|next| "({'\"".contains(*next)) => return None,
            '<' if letters.peek() == Some(&'<') => return None,
            '<' | '>' if words.is_empty() && word.is_none() => return None,
            '\'' | '"' => quoted(letter, &mut letters, word.get_or_insert_default())?,
            '\\' => match letters.next()? {
                '\n' => {}
                escaped => word.get_or_insert_default().push(escaped),
            },
            // `2>&1`, `&>log`, `>|log`
            '>' | '<' => {
                words.extend(word.take());
                letters.next_if(|next| "&|>".contains(*next));
            }
            '&' if letters.peek() == Some(&'>') => words.extend(word.take()),
            '#' if word.is_none() => while letters.next_if(|next| *next != '\n').is_some() {},
            letter if OPERATOR_CHARS.contains(&letter) => {
                words.extend(word.take());
                all.push(std::mem::take(&mut words));
            }
            ' ' | '\t' => words.extend(word.take()),
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    all.push(words);
    Some(all.into_iter().filter(|words| !words.is_empty()).map(|words| words.join(" ")).collect())
}

/// Builtins that change the meaning of the next command: they change the folder, or settings of the shell.
const CHANGERS: [&str; 22] = [
    ".",
    "alias",
    "cd",
    "declare",
    "enable",
    "eval",
    "export",
    "getopts",
    "hash",
    "let",
    "local",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "set",
    "shopt",
    "source",
    "typeset",
    "unset",
];

/// The commands of a line without quotes and substitutions: the texts between the operators. `None` if there is only
/// one command, or if one of them may change what another one runs.
pub(super) fn joined(line: &str) -> Option<Vec<&str>> {
    let changes = |command: &&str| {
        let mut words = command.split_whitespace();
        match words.next().unwrap_or_default() {
            "printf" => words.any(|word| word.starts_with("-v")),
            "builtin" | "command" => true,
            first => CHANGERS.contains(&first) || first.contains('='),
        }
    };
    let commands = line.split(OPERATOR_CHARS).map(str::trim).filter(|command| !command.is_empty());
    Some(commands.collect::<Vec<_>>()).filter(|all| all.len() > 1 && !all.iter().any(changes))
}

/// Adds the text before the closing quote to `word`.
fn quoted(quote: char, letters: &mut impl Iterator<Item = char>, word: &mut String) -> Option<()> {
    let mut before = None;
    loop {
        let letter = letters.next()?;
        match letter {
            end if end == quote => return Some(()),
            '\\' if quote == '"' => word.push(letters.next()?),
            '`' if quote == '"' => return None,
            '(' | '{' if quote == '"' && before == Some('$') => return None,
            plain => word.push(plain),
        }
        before = Some(letter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_not_joined_of_commands_that_change_the_next_one() {
        let table = [
            ("make && make test", true),
            ("printf x; safe a", true),
            ("make", false),
            ("cd x && make", false),
            ("printf -v PATH ./evil && safe a", false),
            ("export PATH=evil; safe a", false),
            ("builtin cd x; safe a", false),
            ("BASH_ENV=x; safe a", false),
        ];
        for (line, expected) in table {
            assert_eq!(joined(line).is_some(), expected, "{line}");
        }
    }

    #[test]
    fn each_command_of_a_line_is_told_or_none() {
        let table: [(&str, Option<&[&str]>); 28] = [
            ("go test ./...", Some(&["go test ./..."])),
            ("a && b || c; d | e & f\ng", Some(&["a", "b", "c", "d", "e", "f", "g"])),
            ("a|b&&c", Some(&["a", "b", "c"])),
            ("'r'\"m\" -r\\f 'x; y'", Some(&["rm -rf x; y"])),
            ("go vet ./... 2>&1 | tail -3", Some(&["go vet ./... 2 1", "tail -3"])),
            ("a >log 2>>b <c &>d >|e", Some(&["a log 2 b c d e"])),
            ("a # b; c\nd", Some(&["a", "d"])),
            ("a x#y", Some(&["a x#y"])),
            ("a \u{a0}#; b", Some(&["a \u{a0}#", "b"])),
            ("a \r#; b \u{b}#; c", Some(&["a \r#", "b \u{b}#", "c"])),
            ("a \\\n b", Some(&["a b"])),
            ("echo $HOME \"$x\"", Some(&["echo $HOME $x"])),
            ("X=1 a", Some(&["X=1 a"])),
            ("!a", Some(&["!a"])),
            ("", Some(&[])),
            ("a $(b)", None),
            ("a \"$(b)\"", None),
            ("a `b`", None),
            ("a \"`b`\"", None),
            ("a ${b:-c}", None),
            ("a <(b)", None),
            ("(a)", None),
            ("f() { a; }", None),
            ("a <<E\nb\nE", None),
            ("a 'b", None),
            (">a b", None),
            ("a; &>b c", None),
            ("a $'\\x41'", None),
        ];
        for (line, expected) in table {
            let expected = expected.map(|all| all.iter().map(|one| (*one).to_owned()).collect());
            assert_eq!(commands(line), expected, "{line}");
        }
        assert_eq!(commands("a '$(b)' \"\\$(b)\""), Some(vec!["a $(b) $(b)".into()]));
    }
}
