//! A question to the person at the terminal: may this call do what it wants?
use crate::asking::Asking;
use haft_core::{Answer, Command, Fact};
use haft_engine::Session;
use haft_present::{diff, proposal::Proposal};
use std::io::{BufRead, Write};

/// Shows what the call of `fact` would do and reads the answer. Nothing where the fact asks for no approval.
pub(crate) fn ask(session: &Session, fact: &Fact) -> Option<Asking> {
    let Fact::ApprovalAsked { call, changes, .. } = fact else { return None };
    let proposal = Proposal::of(session, fact)?;
    let (cut, whole) = (diff::of_changes(session, changes), diff::of_all(session, changes));
    let brief = proposal.brief(&cut);
    let shown = Shown {
        first: brief.text,
        whole: Some(proposal.whole(&whole)).filter(|_| !brief.is_whole || cut != whole),
        end: format!("{}\n{}\n", proposal.always_line(), proposal.reason),
    };
    let (session, call) = (session.clone(), call.clone());
    Some(Asking::begin(
        move |input, output| read_answer(&shown, input, output),
        move |answer| {
            let _session_is_closed = session.send(Command::Answer { call, answer });
        },
    ))
}

/// What is shown of a question.
struct Shown {
    first: String,
    /// Everything, where that is more.
    whole: Option<String>,
    /// What stands in front of the choice.
    end: String,
}

/// Asks until it understands. The end of the input is a no.
fn read_answer(shown: &Shown, input: &mut dyn BufRead, output: &mut dyn Write) -> Answer {
    let more = if shown.whole.is_some() { ", [s]how all of it" } else { "" };
    let end = format!("{}allow? [y]es, [a]lways in this session, [n]o{more}: ", shown.end);
    let mut text = &shown.first;
    loop {
        let _no_terminal = write!(output, "{text}{end}").and_then(|()| output.flush());
        let mut line = String::new();
        if !input.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            return Answer::No;
        }
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Answer::Once,
            "a" | "always" => return Answer::Always,
            "n" | "no" | "" => return Answer::No,
            "s" | "show" => text = shown.whole.as_ref().unwrap_or(text),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(typed: &str, whole: Option<&str>) -> (Answer, String) {
        let whole = whole.map(str::to_owned);
        let shown = Shown { first: "a diff\n".into(), whole, end: "it asks\n".into() };
        let mut output = Vec::new();
        let answer = read_answer(&shown, &mut typed.as_bytes(), &mut output);
        (answer, String::from_utf8(output).unwrap())
    }

    #[test]
    fn an_answer_is_one_letter_or_word_and_silence_is_no() {
        let table = [
            ("y\n", Answer::Once),
            ("Always\n", Answer::Always),
            ("\n", Answer::No),
            ("", Answer::No),
            ("what?\nyes\n", Answer::Once),
        ];
        for (typed, expected) in table {
            assert_eq!(answered(typed, None).0, expected, "{typed:?}");
        }
    }

    #[test]
    fn what_is_cut_can_be_seen_before_the_answer() {
        let choice = "it asks\nallow? [y]es, [a]lways in this session, [n]o";
        let whole = "a diff\nto its end\n";
        let expected = format!("a diff\n{choice}, [s]how all of it: {whole}{choice}, [s]how all of it: ");
        assert_eq!(answered("s\ny\n", Some(whole)), (Answer::Once, expected));
        assert_eq!(answered("y\n", None), (Answer::Once, format!("a diff\n{choice}: ")));
    }
}
