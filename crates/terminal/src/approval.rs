//! [`ask`]: asks the user at the terminal whether to allow a call.
use crate::{
    Editor,
    asking::Asking,
    diffs::Diffs,
    editor::{EDITED_FILE, NO_EDITOR},
    offers::{self, Offer, Proposed},
};
use haft_core::{Accepted, Answer, Command, Fact};
use haft_engine::Session;
use haft_present::{
    proposal::{
        Proposal,
        sentence::{NO, YES},
    },
    safe,
};
use std::io::{BufRead, Write};

/// Shows what the call of `fact` would do, and reads the answer. `None` if `fact` asks for no approval.
pub(crate) fn ask(session: &Session, fact: &Fact, diffs: Diffs, editor: Option<Editor>) -> Option<Asking> {
    let Fact::ApprovalAsked { call, changes, .. } = fact else { return None };
    let proposal = Proposal::of(session, fact)?;
    let (cut, whole) = (diffs.cut(session, changes, Some("s shows all")), diffs.whole(session, changes));
    let (called, below) = (proposal.called_with(&cut.plain), diffs.in_rows(&proposal.below_diff()));
    let head = proposal.brief_head();
    let is_whole = called.is_whole && (head.is_whole || !changes.is_empty());
    let head = if changes.is_empty() { diffs.in_rows(&head.text) } else { String::new() };
    let first = format!("{head}{}{}{below}", diffs.in_rows(&called.text), cut.shown);
    let called = diffs.in_rows(&proposal.called_with_all(&whole.plain));
    let all = format!("{}{called}{}{below}", diffs.in_rows(&proposal.head()), whole.shown);
    let is_said = proposal.sentence.is_whole && changes.is_empty();
    let whole = Some(all).filter(|_| !is_whole || cut.plain != whole.plain || cut.is_cut);
    let parts = Offer::all(session, changes);
    let proposed = Proposed::of(session, fact);
    let end = choice(&question(&proposal, diffs), whole.is_some(), parts.len() > 1, proposed.is_some());
    let first = if is_said { String::new() } else { first };
    let shown = Shown { first, whole, parts, proposed, editor, diffs, end: format!("{end} ") };
    let (session, call) = (session.clone(), call.clone());
    Some(Asking::begin(
        move |input, output| read_answer(shown, input, output),
        move |reply| {
            let command = match reply {
                Reply::Whole(Answer::No, instead) => Command::refuse(call, instead),
                Reply::Whole(answer, _) => Command::answer(call, answer),
                Reply::Part(accepted) => Command::accept(call, accepted),
            };
            let _session_is_closed = session.send(command);
        },
    ))
}

/// The question and the possible answers.
fn question(proposal: &Proposal, diffs: Diffs) -> String {
    let sentence = &proposal.sentence;
    let why = proposal.why.as_ref().map(|why| diffs.in_rows(&format!("  {why}\n"))).unwrap_or_default();
    let question = diffs.in_rows(&sentence.question);
    let question = question.trim_end();
    format!("{question}\n{why}  1. {YES}\n  2. {}\n  3. {NO}\n", sentence.always())
}

/// `question` with the keys that can be typed.
fn choice(question: &str, has_more: bool, has_parts: bool, has_text: bool) -> String {
    let more = if has_more { ", s shows all of it" } else { "" };
    let part = if has_parts { ", p accepts a part" } else { "" };
    let edit = if has_text { ", e edits it first" } else { "" };
    format!("{question}allow? y, a, n, or n WHAT TO DO INSTEAD{part}{edit}{more}:")
}

/// The user's reply to a proposal.
#[derive(Clone, Debug, PartialEq)]
enum Reply {
    /// An answer to the whole proposal, optionally with what to do instead.
    Whole(Answer, Option<String>),
    /// Accepts these parts of the proposal, or the text as the user edited it.
    Part(Accepted),
}

/// What can be shown of a question.
struct Shown {
    first: String,
    /// The whole proposal, if `first` is only a part of it.
    whole: Option<String>,
    /// The parts that can be accepted separately.
    parts: Vec<Offer>,
    /// The file that can be edited.
    proposed: Option<Proposed>,
    editor: Option<Editor>,
    diffs: Diffs,
    /// The text in front of the choices.
    end: String,
}

impl Shown {
    /// Accepts the proposed text as the user edits it. The error says why the text cannot be accepted.
    fn edited(&self) -> Result<Accepted, String> {
        let proposed = self.proposed.clone().ok_or("there is no text to edit")?;
        let text =
            self.editor.as_ref().ok_or(NO_EDITOR)?.edit(EDITED_FILE, &proposed.text, &proposed.path)?;
        proposed.accept(text).ok_or_else(|| "the text is unchanged; y accepts it as it is".into())
    }
}

/// Asks until the answer is valid; also returns what to do instead. The end of the input refuses.
fn read_answer(shown: Shown, input: &mut dyn BufRead, output: &mut dyn Write) -> Reply {
    let mut text = shown.first.clone();
    loop {
        let _no_terminal = write!(output, "{text}{}", shown.end).and_then(|()| output.flush());
        let mut line = String::new();
        if !input.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            return Reply::Whole(Answer::No, None);
        }
        let (word, instead) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        match (word.trim_end_matches([',', '.']).to_lowercase().as_str(), instead) {
            ("y" | "yes" | "1", "") => return Reply::Whole(Answer::Once, None),
            ("a" | "always" | "2", "") => return Reply::Whole(Answer::Always, None),
            ("" | "n" | "no" | "3", "") => return Reply::Whole(Answer::No, None),
            ("n" | "no" | "3", instead) => return Reply::Whole(Answer::No, Some(instead.trim().to_owned())),
            ("p" | "part", "") if shown.parts.len() > 1 => {
                if let Some(accepted) = offers::read(&shown.parts, shown.diffs, input, output) {
                    return Reply::Part(accepted);
                }
            }
            ("e" | "edit", "") if shown.proposed.is_some() => match shown.edited() {
                Ok(accepted) => return Reply::Part(accepted),
                Err(why) => text = format!("{}\n", safe::text(&why)),
            },
            ("s" | "show", "") => text = shown.whole.clone().unwrap_or(text),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::AcceptedFile;

    fn replied(typed: &str, whole: Option<&str>, parts: Vec<Offer>) -> (Reply, String) {
        let end = format!("{} ", choice("it asks\n", whole.is_some(), parts.len() > 1, false));
        let (first, whole) = ("a diff\n".into(), whole.map(str::to_owned));
        let shown = Shown { first, whole, parts, proposed: None, editor: None, diffs: Diffs(None), end };
        let mut output = Vec::new();
        let answer = read_answer(shown, &mut typed.as_bytes(), &mut output);
        (answer, String::from_utf8(output).unwrap())
    }

    fn answered(typed: &str, whole: Option<&str>) -> ((Answer, Option<String>), String) {
        match replied(typed, whole, Vec::new()) {
            (Reply::Whole(answer, instead), output) => ((answer, instead), output),
            (Reply::Part(_), output) => panic!("{output}"),
        }
    }

    #[test]
    fn parts_are_chosen_by_their_numbers() {
        let offer = |path: &str, hunk| Offer { path: path.into(), hunk, name: path.into(), diff: None };
        let offers = || vec![offer("a", Some(0)), offer("a", Some(1)), offer("b", None)];
        let part = |files: &[(&str, Option<&[usize]>)]| {
            let file = |(path, hunks): &(&str, Option<&[usize]>)| AcceptedFile {
                path: path.into(),
                hunks: hunks.map(<[usize]>::to_vec),
                text: None,
            };
            Reply::Part(Accepted { files: files.iter().map(file).collect() })
        };
        let table = [
            ("p\n2\n", part(&[("a", Some(&[1]))])),
            ("p\n1, 3\n", part(&[("a", Some(&[0])), ("b", None)])),
            ("p\n1 2\n", part(&[("a", Some(&[0, 1]))])),
            ("p\n4\n0\nb\n3\n", part(&[("b", None)])),
            ("p\n\ny\n", Reply::Whole(Answer::Once, None)),
            ("p\n", Reply::Whole(Answer::No, None)),
        ];
        for (typed, expected) in table {
            assert_eq!(replied(typed, None, offers()).0, expected, "{typed:?}");
        }
        let (_, output) = replied("p\n3\n", None, offers());
        let choice = "a diff\nit asks\nallow? y, a, n, or n WHAT TO DO INSTEAD, p accepts a part: ";
        assert_eq!(
            output,
            format!("{choice}1. a\n2. a\n3. b\naccept which? numbers such as 1 3, or Enter to go back: ")
        );
    }

    #[test]
    fn an_answer_is_one_letter_or_word_and_silence_is_no() {
        let instead = |text: &str| (Answer::No, Some(text.to_owned()));
        let table = [
            ("y\n", (Answer::Once, None)),
            ("1\n", (Answer::Once, None)),
            ("Always\n", (Answer::Always, None)),
            ("\n", (Answer::No, None)),
            ("", (Answer::No, None)),
            ("n use a sum\n", instead("use a sum")),
            ("No, use a sum\n", instead("use a sum")),
            ("what?\nyes\n", (Answer::Once, None)),
            ("yes and no\nyes\n", (Answer::Once, None)),
        ];
        for (typed, expected) in table {
            assert_eq!(answered(typed, None).0, expected, "{typed:?}");
        }
    }

    #[test]
    fn what_is_cut_can_be_seen_before_the_answer() {
        let choice = "it asks\nallow? y, a, n, or n WHAT TO DO INSTEAD";
        let whole = "a diff\nto its end\n";
        let expected = format!("a diff\n{choice}, s shows all of it: {whole}{choice}, s shows all of it: ");
        let once = (Answer::Once, None);
        assert_eq!(answered("s\ny\n", Some(whole)), (once.clone(), expected));
        assert_eq!(answered("y\n", None), (once, format!("a diff\n{choice}: ")));
    }
}
