//! Words that were meant as a command: as a prompt they would cost money.

/// The command that `words` begin with, but for a slip of the fingers. Where the words may be a sentence, only a smaller slip
/// counts: `what` is no `chat`.
pub(crate) fn near_command<'a>(words: &[String], commands: &'a clap::Command) -> Option<&'a str> {
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

/// How many letters are missing, too many or swapped with their neighbor; a wrong one is one missing and one too many.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_told_from_a_sentence() {
        let commands = crate::args::command();
        let table = [
            ("sesions list", Some("sessions")),
            ("sessoins", Some("sessions")),
            ("jbos list", Some("jobs")),
            ("chst", Some("chat")),
            ("biuld a parser", Some("build")),
            ("modles list", Some("models")),
            ("tool list", Some("tools")),
            ("rnu the tests", Some("run")),
            ("what does this do", None),
            ("can you fix the test", None),
            ("fix the test", None),
            ("add a test", None),
            ("hello", None),
            ("make it faster", None),
            ("that is wrong", None),
            ("test it", None),
            ("Erkläre main.rs", None),
        ];
        for (line, expected) in table {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(near_command(&words, &commands), expected, "{line}");
        }
    }
}
