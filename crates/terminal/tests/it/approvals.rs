//! A person who is asked says yes, no, or something else, and sees what they say it to.
use crate::kit::{Begin, Person, ask, edit, say};
use haft_core::Mode;
use haft_terminal::tui::{Notifications, Request};

async fn greeting(size: (u16, u16), script: &[serde_json::Value]) -> Person {
    let files = vec![("a.txt", "hello\nworld\n".to_owned()), ("b.txt", "one\n".to_owned())];
    Begin { size, files, ..Begin::default() }.with(script).await
}

/// While a person is asked the clock goes on.
fn without_time(screen: &str) -> String {
    let line = |line: &str| match line.split_once("waiting for you") {
        Some((before, _)) => format!("{before}waiting for you"),
        None => line.to_owned(),
    };
    screen.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// O-11, C-51: a call that asks, with its diff; the answer is one key.
#[tokio::test]
async fn an_approval_shows_its_diff_and_takes_one_key() {
    let change = || edit("a.txt", "world", "Welt");
    let script = [change(), say("Then not."), change(), say("Changed.")];
    let mut person = greeting((60, 24), &script).await;
    person.say("translate it");
    let screen = person.see("1. Yes").await;
    insta::assert_snapshot!("approval", without_time(&screen));
    person.keys("Esc");
    let screen = person.see("Then not.").await;
    assert!(screen.contains("✗ Edit a.txt  +1 −1  refused") && screen.contains("+ Welt"), "{screen}");
    assert_eq!(person.read("a.txt").unwrap(), "hello\nworld\n");
    person.say("do it");
    person.see("1. Yes").await;
    person.resize(40, 12);
    insta::assert_snapshot!("approval_small", without_time(&person.see("1. Yes").await));
    person.keys("Ctrl+O");
    insta::assert_snapshot!("approval_page", person.screen());
    person.keys("q y");
    person.see("Changed.").await;
    assert_eq!(person.read("a.txt").unwrap(), "hello\nWelt\n");
}

/// Three answers: by arrows and Enter, by numbers, by letters; the second says what it covers before it is given.
#[tokio::test]
async fn an_approval_is_answered_with_arrows_numbers_or_letters() {
    let table = [
        ("Enter", "Done.", "Welt"),
        ("y", "Done.", "Welt"),
        ("1", "Done.", "Welt"),
        ("↓ ↑ Enter", "Done.", "Welt"),
        ("a", "Done.", "Welt"),
        ("2", "Done.", "Welt"),
        ("Tab Enter", "Done.", "Welt"),
        ("↓ ↓ ↓ Enter", "Done.", "Welt"),
        ("Esc", "Done.", "world"),
        ("↑ Enter", "what to do instead (", "world"),
        ("n", "what to do instead (", "world"),
        ("3", "what to do instead (", "world"),
        ("Ctrl+A", "y, a or n", "world"),
    ];
    for (keys, seen, expected) in table {
        let script = [edit("a.txt", "world", "Welt"), say("Done.")];
        let mut person = greeting((80, 24), &script).await;
        person.say("translate it");
        let screen = person.see("? Edit a.txt?").await;
        let always = "  2. Yes, and do not ask again for edits of a.txt in this session  (a)\n";
        assert!(screen.contains(always) && screen.contains("❯ 1. Yes  (y"), "{screen}");
        person.keys(keys);
        person.see(seen).await;
        assert!(person.read("a.txt").unwrap().contains(expected), "{keys}");
    }
}

/// What the second answer covers is not asked again.
#[tokio::test]
async fn what_is_allowed_for_the_session_is_not_asked_again() {
    let script = [
        edit("a.txt", "world", "Welt"),
        edit("a.txt", "hello", "Hallo"),
        edit("b.txt", "one", "eins"),
        say("Done."),
    ];
    let mut person = greeting((80, 24), &script).await;
    person.say("translate all");
    person.see("? Edit a.txt?").await;
    person.keys("a");
    person.see("? Edit b.txt?").await;
    assert_eq!(person.read("a.txt").unwrap(), "Hallo\nWelt\n");
}

/// The words behind a no are read by the model with the refusal, and the refused diff stays.
#[tokio::test]
async fn a_no_says_what_to_do_instead() {
    let reply = serde_json::json!({"expect": "in French", "say": "Alors."});
    let mut person = greeting((60, 24), &[edit("a.txt", "world", "Welt"), reply]).await;
    person.say("translate it");
    person.see("1. Yes").await;
    person.keys("n");
    insta::assert_snapshot!("refusing", without_time(&person.screen()));
    // Back to the question, which is still there.
    person.type_in("in Spa");
    person.keys("Esc");
    assert!(person.screen().contains("❯ 3. No"), "{}", person.screen());
    person.keys("n");
    person.say("in French");
    let screen = person.see("Alors.").await;
    assert!(screen.contains("✗ Edit a.txt  +1 −1  refused"), "{screen}");
    assert!(person.journals().contains("and the user said no"));
    assert_eq!(person.read("a.txt").unwrap(), "hello\nworld\n");
}

/// Shift+Tab allows this change and all further ones: the mode says so.
#[tokio::test]
async fn one_key_allows_this_change_and_all_further_ones() {
    let script = [edit("a.txt", "world", "Welt"), edit("b.txt", "one", "eins"), say("Mended.")];
    let mut person = greeting((80, 24), &script).await;
    person.say("fix");
    person.see("1. Yes  (y; Shift+Tab to allow all edits)").await;
    person.keys("Shift+Tab");
    person.see("Mended.").await;
    person.see("· accept-edits").await;
    assert_eq!(person.read("b.txt").unwrap(), "eins\n");
}

/// Letters of a word are not answers, and what is typed is still there afterwards.
#[tokio::test]
async fn what_is_typed_while_a_call_asks_is_no_answer() {
    let mut person = greeting((60, 24), &[edit("a.txt", "world", "Welt"), say("Then not.")]).await;
    person.say("translate it");
    person.see("1. Yes").await;
    person.type_in("say yes and no");
    let screen = person.see("> say yes and no").await;
    assert!(screen.contains("pause") && screen.contains("1. Yes"), "{screen}");
    assert_eq!(person.read("a.txt").unwrap(), "hello\nworld\n");
}

// H-133
/// What is typed for the prompt, or for the question before, answers none that has just appeared.
#[tokio::test]
async fn a_key_that_comes_with_a_question_is_no_answer() {
    for keys in ["y", "a", "1", "Enter", "Shift+Tab", "Esc"] {
        // On a busy machine the key may come later than a person's would: then it is one that counts.
        let mut was_early = false;
        for _ in 0..20 {
            let mut person = greeting((80, 24), &[edit("a.txt", "world", "Welt"), say("Done.")]).await;
            let begun = std::time::Instant::now();
            person.say("translate it");
            person.see("? Edit a.txt?").await;
            person.keys_at_once(keys);
            if begun.elapsed() < std::time::Duration::from_millis(400) {
                let screen = person.see("pause").await;
                assert!(screen.contains("1. Yes"), "{keys}: {screen}");
                assert_eq!(person.read("a.txt").unwrap(), "hello\nworld\n", "{keys}");
                was_early = true;
                break;
            }
        }
        assert!(was_early, "no key came early enough");
    }
}

/// However small the terminal and long the line, what was there and what comes are both seen, with what differs.
#[tokio::test]
async fn both_sides_of_a_change_are_seen_on_a_small_terminal() {
    let long = "let total_of_everything = first_operand_of_the_sum";
    let table = [
        ("world".to_owned(), "Welt".to_owned()),
        (format!("{long} - second_operand;"), format!("{long} + second_operand;")),
        (format!("{} old", "word ".repeat(30)), format!("{} new", "word ".repeat(30))),
    ];
    for (old, new) in table {
        for name in ["a.txt", "source/of/some/rather/deep/folder/with_a_long_name.txt"] {
            let files = vec![(name, format!("one\ntwo\nthree\n{old}\nfive\nsix\nseven\n"))];
            let mut person =
                Begin { size: (40, 12), files, ..Begin::default() }.with(&[edit(name, &old, &new)]).await;
            person.say("change it");
            let screen = person.see("3. No").await;
            let side = |sign: &str| screen.lines().find(|line| line.contains(sign)).unwrap_or_default();
            let (last_old, last_new) = (&old[old.len() - 3..], &new[new.len() - 3..]);
            assert!(side(" - ").contains(last_old) || side(" - ").contains(" - second"), "{name}: {screen}");
            assert!(side(" + ").contains(last_new) || side(" + ").contains(" + second"), "{name}: {screen}");
            assert!(screen.contains("Ctrl+O shows all"), "{screen}");
            for answer in ["? Edit", "1. Yes", "2. Yes", "3. No"] {
                assert!(screen.contains(answer), "{answer}: {screen}");
            }
        }
    }
}

#[tokio::test]
async fn questions_of_tools_are_answered_with_a_number_or_in_words() {
    let colors = ["red", "blue"];
    let long = ["a color that takes more room than a row of this terminal has, to its very END"];
    let script = [ask("Which color?", &colors), ask("And then?", &long), ask("Or none?", &[]), say("Noted.")];
    let mut person = Begin::default().with(&script).await;
    person.say("ask me");
    let screen = person.see("? Which color?").await;
    insta::assert_snapshot!("question", without_time(&screen));
    person.say("2");
    let screen = person.see("? And then?").await;
    assert!(screen.contains("END"), "a choice is shown whole: {screen}");
    // As an answer, it is a letter like others.
    person.say("? green, I think");
    person.see("? Or none?").await;
    person.keys("Esc");
    let screen = person.see("Noted.").await;
    let at = |text: &str| screen.find(text).unwrap_or_else(|| panic!("{text}: {screen}"));
    let places = [
        "✓ ask Which color?",
        "answer: blue",
        "✓ ask And then?",
        "answer: ? green, I think",
        "✗ ask Or none?",
        "the question was not answered",
    ];
    assert!(places.map(at).is_sorted(), "{screen}");
}

/// What is being typed when a question comes is no answer to it, and comes back, with what was pasted.
#[tokio::test]
async fn a_draft_comes_back_after_a_question() {
    let slow = serde_json::json!({"say": "one two", "pieces": 2, "delay_ms": 40,
        "calls": [{"name": "ask", "arguments": {"question": "Red or blue?", "choices": ["red", "blue"]}}]});
    let mut person = Begin::default().with(&[slow, say("Noted.")]).await;
    person.say("ask me");
    person.type_in("look: ");
    person.paste(&"line\n".repeat(30));
    let screen = person.see("? Red or blue?").await;
    assert!(!screen.contains("look:") && screen.contains("comes back"), "{screen}");
    // An Enter that was meant for the draft answers nothing.
    person.keys("Enter");
    let screen = person.screen();
    assert!(screen.contains("? Red or blue?") && !screen.contains('❯'), "{screen}");
    person.keys("↑ Enter");
    person.see("answer: blue").await;
    person.see("Noted.").await;
    person.see("> look: [paste 1: 30 lines]").await;
}

/// A page over a question, and a list over it, lead back to it.
#[tokio::test]
async fn what_covers_a_question_leads_back_to_it() {
    for keys in ["Ctrl+O", "Ctrl+R", "Ctrl+R Ctrl+O Esc"] {
        let mut person = greeting((60, 24), &[edit("a.txt", "world", "Welt"), say("Changed.")]).await;
        person.say("translate it");
        person.see("1. Yes").await;
        person.keys("↓");
        person.keys(keys);
        assert!(!person.screen().contains("1. Yes"), "{}", person.screen());
        person.keys("Esc");
        assert!(person.screen().contains("❯ 2. Yes"), "{keys}: {}", person.screen());
        person.keys("y");
        person.see("Changed.").await;
    }
}

/// Nothing is asked in a mode that allows the change.
#[tokio::test]
async fn a_mode_that_allows_a_change_asks_nothing() {
    let files = vec![("a.txt", "one\n".to_owned())];
    let begin = Begin { mode: Mode::AcceptEdits, files, ..Begin::default() };
    let mut person = begin.with(&[edit("a.txt", "one", "two"), say("Done.")]).await;
    person.say("go");
    let screen = person.see("Done.").await;
    assert!(screen.contains("✓ Edit a.txt  +1 −1\n"), "{screen}");
}

fn many_lines(first: &str, last: &str) -> String {
    let middle: String = (2..20).map(|number| format!("line {number}\n")).collect();
    format!("{first}\n{middle}{last}\n")
}

fn multi_edit(path: &str, changes: &[(&str, &str)]) -> serde_json::Value {
    let edits: Vec<_> =
        changes.iter().map(|(old, new)| serde_json::json!({"old": old, "new": new})).collect();
    serde_json::json!({"calls": [{"name": "multi_edit", "arguments": {"path": path, "edits": edits}}]})
}

/// Parts are ticked in a list, with the lines of the one at the cursor below it; what is not ticked does not happen.
#[tokio::test]
async fn parts_of_a_change_are_ticked_and_accepted() {
    let (old, new) = (many_lines("first", "last"), many_lines("FIRST", "LAST"));
    let table = [
        ("Space", "1 of 2 ticked", "Enter", many_lines("FIRST", "last")),
        ("↓ Space", "1 of 2 ticked", "Enter", many_lines("first", "LAST")),
        ("↑ Space", "1 of 2 ticked", "Enter", many_lines("first", "LAST")),
        ("a", "2 of 2 ticked", "Enter", new.clone()),
        ("a a Space", "1 of 2 ticked", "Enter", many_lines("FIRST", "last")),
        ("", "0 of 2 ticked", "Esc y", new),
        ("a", "2 of 2 ticked", "Ctrl+C Esc", old.clone()),
    ];
    for (ticks, seen, end, expected) in table {
        let script = [multi_edit("t.txt", &[("first", "FIRST"), ("last", "LAST")]), say("Done.")];
        let begin = Begin { size: (80, 24), files: vec![("t.txt", old.clone())], ..Begin::default() };
        let mut person = begin.with(&script).await;
        person.say("shout");
        person.see("p accepts parts of it").await;
        person.keys("p");
        person.keys(ticks);
        assert!(person.screen().contains(seen), "{ticks}: {}", person.screen());
        person.keys(end);
        person.see("Done.").await;
        assert_eq!(person.read("t.txt").unwrap(), expected, "{ticks} {end}");
    }
}

/// Keys in the list of parts.
#[tokio::test]
async fn keys_in_the_list_of_parts() {
    let table = [
        ("", "❯ [ ] ~ t.txt, hunk 1  +1 −1"),
        ("", "- first"),
        ("↓", "- last"),
        ("Space", "❯ [x] ~ t.txt, hunk 1"),
        ("Space Space", "❯ [ ] ~ t.txt, hunk 1"),
        ("Enter", "no part is ticked"),
        ("x", "0 of 2 ticked"),
        ("Ctrl+O", "~ t.txt, hunk 1\n"),
        ("Ctrl+O q", "0 of 2 ticked"),
        ("Space Ctrl+O q", "1 of 2 ticked"),
        ("Esc", "❯ 1. Yes"),
        ("Ctrl+C", "❯ 1. Yes"),
    ];
    for (keys, expected) in table {
        let script = [multi_edit("t.txt", &[("first", "FIRST"), ("last", "LAST")]), say("Done.")];
        let files = vec![("t.txt", many_lines("first", "last"))];
        let mut person = Begin { size: (80, 24), files, ..Begin::default() }.with(&script).await;
        person.say("shout");
        person.see("1. Yes").await;
        person.keys("p");
        person.keys(keys);
        assert!(person.screen().contains(expected), "{keys}: {}", person.screen());
    }
}

#[tokio::test]
async fn a_change_of_one_part_is_accepted_whole() {
    let mut person = greeting((80, 24), &[edit("a.txt", "world", "Welt"), say("Done.")]).await;
    person.say("translate it");
    let screen = person.see("1. Yes").await;
    assert!(!screen.contains("p accepts parts"), "{screen}");
    person.keys("p");
    person.see("this change has one part only").await;
    person.keys("y");
    person.see("Done.").await;
}

/// A name that hides something is shown with what it hides, and a list longer than the screen stays on it.
#[tokio::test]
async fn the_list_of_parts_hides_nothing_and_fits_the_screen() {
    let patch = |name: &str| format!("*** Add File: {name}\n+new\n");
    let names = (1..=12).map(|number| format!("f{number}.txt")).chain(["z\u{202e}txt.exe".to_owned()]);
    let patch =
        format!("*** Begin Patch\n{}*** End Patch", names.map(|name| patch(&name)).collect::<String>());
    let script = [
        serde_json::json!({"calls": [{"name": "apply_patch", "arguments": {"input": patch}}]}),
        say("Done."),
    ];
    let mut person = Begin { size: (40, 12), ..Begin::default() }.with(&script).await;
    person.say("go");
    person.see("1. Yes").await;
    person.keys("p ↑");
    let screen = person.screen();
    assert!(screen.contains("❯ [ ] + z\\u{202e}txt.exe"), "{screen}");
    assert!(screen.contains("Accept which parts?") && screen.contains("+ new"), "{screen}");
    person.keys("Space Enter");
    person.see("Done.").await;
    assert_eq!((person.read("f1.txt"), person.read("z\u{202e}txt.exe")), (None, Some("new\n".to_owned())));
}

/// Only the text of one file can be edited, and only where there is an editor.
#[tokio::test]
async fn what_cannot_be_edited_is_said() {
    let files = || vec![("a.txt", "hello\nworld\n".to_owned())];
    let patch = "*** Begin Patch\n*** Add File: x\n+x\n*** Add File: y\n+y\n*** End Patch";
    let two = serde_json::json!({"calls": [{"name": "apply_patch", "arguments": {"patch": patch}}]});
    let table = [
        (edit("a.txt", "world", "Welt"), None, "set VISUAL or EDITOR", None),
        (two, Some("true"), "only a change of a single text file can be edited", None),
        (edit("a.txt", "world", "Welt"), Some("true"), "1. Yes", Some(Request::Edit)),
    ];
    for (call, editor, expected, request) in table {
        let begin = Begin { size: (80, 24), files: files(), editor, ..Begin::default() };
        let mut person = begin.with(&[call, say("Done.")]).await;
        person.say("go");
        person.see("1. Yes").await;
        person.keys("e");
        person.see(expected).await;
        assert_eq!(person.request(), request, "{expected}");
    }
}

/// A question that comes while the terminal is not focused is notified of, as the user has chosen.
#[tokio::test]
async fn a_question_that_waits_is_notified_of() {
    let table = [
        (false, Notifications::Osc9, &["9;haft: a question waits for you"][..]),
        (false, Notifications::Osc777, &["777;notify;haft;a question waits for you"]),
        (false, Notifications::Off, &[]),
        (true, Notifications::Osc9, &[]),
    ];
    for (has_focus, notifications, expected) in table {
        let begin = Begin { notifications, ..Begin::default() };
        let mut person = begin.with(&[ask("Which one?", &[]), say("Noted.")]).await;
        person.focus(has_focus);
        person.say("ask me");
        person.see("? Which one?").await;
        assert_eq!(person.commands(), expected, "{notifications:?}");
    }
}
