//! A key does what the help says that it does.
use crate::kit::{Begin, ask, edit, say};
use haft_terminal::tui::{Keys, Request};

/// Keys at an empty prompt, between turns.
#[tokio::test]
async fn keys_at_an_empty_prompt() {
    let table = [
        ("?", "Shift+Tab"),
        ("Ctrl+O", "conversation\n"),
        ("Ctrl+T", "no background command or subagent is running"),
        ("Ctrl+R", "history: "),
        ("Ctrl+G", "set VISUAL or EDITOR"),
        ("Ctrl+C", "press Ctrl+C again"),
        ("Esc", "press Esc again to go back to an earlier prompt"),
        ("Esc Esc", "go back to before: "),
        ("Shift+Tab", "script/test · accept-edits"),
        ("↑", "\n> hello\n"),
        ("↑ ↓", "what to do?"),
        ("Ctrl+J", "\n>\n"),
        ("x \\ Enter y", "\n> x\n  y\n"),
        ("x Esc", "press Esc again to clear the prompt"),
        ("x Esc Esc", "what to do?"),
        ("x Ctrl+C", "what to do?"),
        ("x Ctrl+D", "> x\n"),
        ("a b Ctrl+A Ctrl+D", "> b\n"),
        ("a Space ?", "> a ?\n"),
        ("a b Ctrl+U", "what to do?"),
    ];
    for (keys, expected) in table {
        let mut person = Begin { size: (80, 24), ..Begin::default() }.with(&[say("Hi.")]).await;
        person.say("hello");
        person.see("Hi.").await;
        person.no_longer_see("Esc to interrupt").await;
        person.keys(keys);
        person.see(expected).await;
        assert_eq!(person.request(), None, "{keys}");
    }
}

/// Keys that the terminal has a part in.
#[tokio::test]
async fn keys_that_leave_or_suspend() {
    let table = [
        ("Ctrl+D", Request::Leave),
        ("Ctrl+C Ctrl+C", Request::Leave),
        ("Ctrl+Z", Request::Suspend),
        ("? Ctrl+Z", Request::Suspend),
        ("Ctrl+R Ctrl+Z", Request::Suspend),
    ];
    for (keys, expected) in table {
        let mut person = Begin::default().with(&[say("unheard")]).await;
        person.say("/rename it");
        person.keys(keys);
        assert_eq!(person.request(), Some(expected), "{keys}");
    }
}

/// During a turn, Esc and Ctrl+C interrupt it.
#[tokio::test]
async fn keys_during_a_turn() {
    for keys in ["Esc", "Ctrl+C", "x Ctrl+C Ctrl+C"] {
        let hang = serde_json::json!({"say": "It hangs", "hang": true});
        let mut person = Begin::default().with(&[hang]).await;
        person.say("begin");
        person.see("It hangs").await;
        person.keys(keys);
        person.see("─ interrupted").await;
    }
}

/// A prompt that waits comes back into the line, with its picture or its paste, and is not sent.
#[tokio::test]
async fn a_prompt_that_waits_is_taken_back_and_changed() {
    let hang = serde_json::json!({"say": "It hangs", "hang": true});
    let files = vec![("a.png", "GIF89a".to_owned())];
    let mut person = Begin { files, ..Begin::default() }.with(&[hang]).await;
    person.say("begin");
    person.see("It hangs").await;
    person.type_in("look: ");
    let picture = person.path("a.png");
    person.paste(&picture);
    person.keys("Enter");
    person.see("next: look: [picture 1]  (↑ takes it back)").await;
    person.keys("↑");
    person.see("> look: [picture 1]\n").await;
    person.keys("Ctrl+U");
    person.say("first");
    person.see("next: first  (↑ takes it back)").await;
    person.type_in("second ");
    person.paste(&"line\n".repeat(30));
    person.keys("Enter");
    let screen = person.see("next: second [paste 1: 30 lines]  (↑ takes it back)").await;
    assert!(screen.contains("next: first\n"), "{screen}");
    person.keys("↑");
    person.see("> [paste 1: 30 lines]").await;
    person.keys("Ctrl+U");
    person.see("next: first  (↑ takes it back)").await;
    person.keys("↑");
    person.see("> first").await;
    person.type_in(" and more");
    person.keys("Enter");
    person.see("next: first and more  (↑ takes it back)").await;
    person.keys("Esc");
    person.see("─ interrupted").await;
}

/// A key that would interrupt what runs is pressed twice to leave.
#[tokio::test]
async fn leaving_during_a_turn_takes_two_keys() {
    let hang = serde_json::json!({"say": "It hangs", "hang": true});
    let mut person = Begin::default().with(&[hang]).await;
    person.say("begin");
    person.see("It hangs").await;
    person.keys("Ctrl+D");
    person.see("press Ctrl+D again to interrupt and quit").await;
    assert_eq!(person.request(), None);
    person.keys("x Backspace Ctrl+D");
    assert_eq!(person.request(), None, "another key came between");
    person.keys("Ctrl+D");
    assert_eq!(person.request(), Some(Request::Leave));
}

/// Keys while a question of a tool has choices.
#[tokio::test]
async fn keys_at_a_question_with_choices() {
    let table = [
        ("Enter", "answer: red"),
        ("↓ Enter", "answer: blue"),
        ("↓ ↓ ↓ Enter", "answer: red"),
        ("↑ Tab Tab Enter", "answer: blue"),
        ("↓ 3 Backspace Enter", "answer: blue"),
        ("↓ 1 Enter", "answer: red"),
        ("↓ n o Enter", "answer: no"),
    ];
    for (keys, expected) in table {
        let script = [ask("Which color?", &["red", "blue", "green"]), say("Noted.")];
        let mut person = Begin::default().with(&script).await;
        person.say("ask me");
        person.see("❯ 1. red").await;
        person.keys(keys);
        person.see(expected).await;
    }
}

/// Keys while a list of completions is shown.
#[tokio::test]
async fn keys_in_a_completion() {
    let table = [
        ("", "❯ /model  "),
        ("↓", "❯ /mode  "),
        ("↓ ↑", "❯ /model  "),
        ("↑", "❯ /"),
        ("Tab", "> /model\n"),
        ("Enter", "model: type to search"),
        ("↓ Enter", "mode: type to search"),
        ("Esc", "> /mo\n  script/test"),
        ("Esc Esc Esc", "what to do?"),
        ("Ctrl+C", "what to do?"),
    ];
    for (keys, expected) in table {
        let mut person = Begin::default().with(&[say("unheard")]).await;
        person.type_in("/mo");
        person.keys(keys);
        assert!(person.screen().contains(expected), "{keys}: {}", person.screen());
    }
}

/// Keys while a person chooses from a list.
#[tokio::test]
async fn keys_in_a_list() {
    let table = [
        ("", "❯ terminal  current"),
        ("↓", "❯ dark"),
        ("↑", "❯ plain"),
        ("↑ ↓", "❯ terminal"),
        ("d", "theme: d\n❯ dark\n"),
        ("d Backspace", "theme: type to search\n❯ terminal"),
        ("Backspace", "theme: type to search\n❯ terminal"),
        ("z z", "no matches"),
        ("Esc", "what to do?"),
        ("Ctrl+C", "what to do?"),
        ("Ctrl+O", "conversation\n"),
        ("Ctrl+O q", "❯ terminal  current"),
        ("Enter", "what to do?"),
        ("↓ Enter", "· theme: dark"),
    ];
    for (keys, expected) in table {
        let mut person = Begin::default().with(&[say("unheard")]).await;
        person.say("/theme");
        person.keys(keys);
        assert!(person.screen().contains(expected), "{keys}: {}", person.screen());
    }
}

/// Keys while a person types what the model should do instead of the call.
#[tokio::test]
async fn keys_while_refusing() {
    let table = [
        ("", "> what to do instead ("),
        ("Esc", "❯ 3. No"),
        ("Ctrl+C", "❯ 3. No"),
        ("Esc y", "✓ Edit a.txt"),
        ("Ctrl+O", "proposed call"),
        ("Ctrl+O Esc", "> what to do instead ("),
        ("a Alt+Enter b", "> a\n  b\n"),
        ("a Ctrl+J b", "> a\n  b\n"),
        ("↑", "> translate it\n  script"),
        ("↑ ↓", "> what to do instead ("),
        ("Enter", "✗ Edit a.txt  +1 −1  refused"),
        ("x Enter", "> x\n"),
    ];
    for (keys, expected) in table {
        let files = vec![("a.txt", "hello\nworld\n".to_owned())];
        let script = [edit("a.txt", "world", "Welt"), say("Then so.")];
        let mut person = Begin { files, ..Begin::default() }.with(&script).await;
        person.say("translate it");
        person.see("1. Yes").await;
        person.keys("n");
        person.keys(keys);
        person.see(expected).await;
    }
}

/// In a list a paste is searched for; on a page it goes nowhere; where a key answers, into the prompt.
#[tokio::test]
async fn a_paste_goes_where_one_types() {
    let files = vec![("a.txt", "hello\nworld\n".to_owned())];
    let mut person = Begin { files, ..Begin::default() }.with(&[edit("a.txt", "world", "Welt")]).await;
    person.say("/theme");
    person.paste("da\nrk");
    assert!(person.screen().contains("theme: da\n❯ dark\n"), "{}", person.screen());
    person.keys("Esc ?");
    person.paste("nowhere");
    person.keys("Esc");
    person.paste("some words");
    assert!(person.screen().contains("\n> some words\n"), "{}", person.screen());
    person.keys("Enter");
    person.see("1. Yes").await;
    person.paste("y");
    let screen = person.screen();
    assert!(screen.contains("❯ 1. Yes") && screen.contains("\n> y\n"), "{screen}");
    person.keys("n");
    person.paste("use another word");
    assert!(person.screen().contains("\n> use another word\n"), "{}", person.screen());
}

/// The mark of a paste goes as one character, with what it stands for.
#[tokio::test]
async fn backspace_takes_the_mark_of_a_paste_whole() {
    let mut person = Begin::default().with(&[say("Read.")]).await;
    let lines = (1..=40).map(|line| format!("line {line}\n")).collect::<String>();
    person.type_in("a ");
    person.paste(&lines);
    assert!(person.screen().contains("> a [paste 1: 40 lines]\n"), "{}", person.screen());
    person.keys("Backspace");
    assert!(person.screen().contains("> a\n"), "{}", person.screen());
    person.paste(&lines);
    person.type_in("x");
    person.keys("Backspace Enter");
    person.see("Read.").await;
    assert_eq!(person.prompts(), [format!("a {}", lines.trim_end())]);
}

/// Keys of the user's own do what they are bound to, the help shows them, and the old ones are free.
#[tokio::test]
async fn keys_of_ones_own() {
    let own = |tables: &[(&str, &[(&str, &str)])]| {
        let names = |actions: &[(&str, &str)]| {
            actions.iter().map(|(action, key)| ((*action).to_owned(), vec![(*key).to_owned()])).collect()
        };
        Keys::of(&tables.iter().map(|(place, actions)| ((*place).to_owned(), names(actions))).collect())
    };
    let keys = own(&[
        ("prompt", &[("submit", "Alt+Enter"), ("new_line", "Enter")]),
        ("conversation", &[("show_all", "F2")]),
        ("approval", &[("allow", "j")]),
    ]);
    let files = vec![("a.txt", "hello\nworld\n".to_owned())];
    let begin = Begin { size: (80, 70), files, keys: keys.unwrap(), ..Begin::default() };
    let mut person = begin.with(&[edit("a.txt", "world", "Welt"), say("Done.")]).await;
    person.type_in("translate");
    person.keys("Enter");
    person.type_in("it");
    assert!(person.screen().contains("> translate\n  it\n"), "{}", person.screen());
    person.keys("Alt+Enter");
    person.see("1. Yes  (j").await;
    person.keys("y");
    person.see("pause typing, then press j, a or n").await;
    person.keys("Ctrl+U");
    person.keys("j");
    person.see("Done.").await;
    person.keys("Ctrl+O");
    assert!(!person.screen().contains("q to close"), "{}", person.screen());
    person.keys("F2");
    assert!(person.screen().contains("q to close"), "{}", person.screen());
    person.keys("Esc ?");
    let screen = person.screen();
    assert!(screen.contains("Alt+Enter  send;") && screen.contains("F2         show the whole"), "{screen}");
}
