//! Commands that nobody means: refused before they start (C-36).
//!
//! A seat belt against slips of a model, not a wall against malice: whoever wants to can write these in other words.
//! What a command may reach is for the policy and the sandbox to say.

/// Why `command` is refused, if it is.
pub(crate) fn refusal(command: &str) -> Option<&'static str> {
    let dense: String = command.chars().filter(|c| !c.is_whitespace()).collect();
    if dense.contains(":(){:|:&};:") {
        return Some("it is a fork bomb");
    }
    let simple = command.split(['\n', ';', '|', '&', '(', ')', '`']);
    simple.map(|part| part.split_whitespace().collect::<Vec<_>>()).find_map(|words| of_words(&words))
}

fn of_words(words: &[&str]) -> Option<&'static str> {
    let words = match words {
        ["sudo" | "exec" | "command" | "nohup", rest @ ..] => rest,
        words => words,
    };
    let (program, arguments) = words.split_first()?;
    let is_everything =
        |word: &&str| ["/", "/*", "~", "~/", "~/*", "$HOME", "$HOME/*", "\"$HOME\""].contains(word);
    let recursive =
        arguments.iter().any(|word| is_flag(word, 'r') || is_flag(word, 'R') || *word == "--recursive");
    match *program {
        "rm" if recursive && arguments.iter().any(is_everything) => Some("it removes everything"),
        "chmod" | "chown" if recursive && arguments.iter().any(is_everything) => {
            Some("it changes the rights of everything")
        }
        "dd" if arguments.iter().any(|word| word.strip_prefix("of=").is_some_and(is_disk)) => {
            Some("it writes over a disk")
        }
        "shutdown" | "reboot" | "halt" | "poweroff" => Some("it stops the machine"),
        program if program == "mkfs" || program.starts_with("mkfs.") => Some("it formats a disk"),
        _ if words.windows(2).any(|pair| matches!(pair[0], ">" | ">>") && is_disk(pair[1])) => {
            Some("it writes over a disk")
        }
        _ => None,
    }
}

fn is_flag(word: &str, letter: char) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
}

fn is_disk(path: &str) -> bool {
    ["/dev/sd", "/dev/hd", "/dev/vd", "/dev/nvme", "/dev/mmcblk"].iter().any(|disk| path.starts_with(disk))
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-36, C-61
    #[test]
    fn slips_are_refused_and_work_is_not() {
        let refused = [
            "rm -rf /",
            "cd x && rm -r -f ~",
            "sudo rm -fr /*",
            ":(){ :|:& };:",
            "mkfs.ext4 /dev/sda1",
            "dd if=/dev/zero of=/dev/nvme0n1",
            "echo x > /dev/sda",
            "true; reboot",
            "chmod -R 777 /",
        ];
        for command in refused {
            assert!(refusal(command).is_some(), "{command}");
        }
        let allowed = [
            "rm -rf target",
            "rm -rf /tmp/build",
            "rm /x",
            "ls /",
            "echo reboot",
            "dd if=a of=b",
            "cmd >/dev/null 2>&1",
            "grep -r mkfs .",
            "chmod -R u+w dist",
        ];
        for command in allowed {
            assert_eq!(refusal(command), None, "{command}");
        }
    }
}
