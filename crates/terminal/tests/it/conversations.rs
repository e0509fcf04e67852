//! A person says something and reads what comes of it.
use crate::kit::{Begin, edit, say};
use haft_core::Mode;
use haft_terminal::tui::Request;
use serde_json::json;

/// O-11, C-74: a conversation with its Markdown, calls and results.
#[tokio::test]
async fn a_prompt_is_answered() {
    let markdown = "# Plan\n\nI **look** at `a.txt`:\n\n1. first\n2. then\n   - below\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 漢字 |\n\n```rust\nfn main() {}\n```\n";
    let script = [
        json!({"think": "hm", "say": markdown, "pieces": 3, "usage": {"input": 1000, "output": 50},
               "calls": [{"name": "read", "arguments": {"path": "a.txt"}}]}),
        json!({"say": "It has five lines. cafe\u{301} \u{1b}]0;evil\u{7}", "usage": {"input": 1100, "output": 9}}),
    ];
    let files = vec![("a.txt", "one\ntwo\nthree\nfour\nfive\n".to_owned())];
    let mut person = Begin { size: (60, 40), files, ..Begin::default() }.with(&script).await;
    person.say("how long is it?");
    person.see("2 rounds").await;
    let screen = person.see("what to do?").await;
    insta::assert_snapshot!("conversation", screen);
}

/// O-11: Esc stops a reply that hangs, and what was said meanwhile steers the turn.
#[tokio::test]
async fn escape_interrupts_and_words_steer() {
    let script =
        [edit("a.txt", "one", "two"), json!({"say": "It waits for", "expect": "hurry", "hang": true})];
    let files = vec![("a.txt", "one\n".to_owned())];
    let mut person = Begin { files, ..Begin::default() }.with(&script).await;
    person.say("begin");
    person.see("1. Yes").await;
    // While a call asks, what is typed is sent, and is no answer.
    person.say("hurry");
    person.see("next: hurry").await;
    person.keys("y");
    person.see("It waits for").await;
    let steered = person.no_longer_see("next: hurry").await;
    assert!(steered.contains("> hurry"), "{steered}");
    person.keys("Esc");
    let screen = person.see("─ interrupted").await;
    assert!(screen.contains("It waits for"), "{screen}");
}

/// C-72, C-73: back and forward again, and twice Esc to an earlier prompt.
#[tokio::test]
async fn a_turn_is_taken_back_with_its_files() {
    let script =
        [edit("a.txt", "one", "two"), say("It is two."), edit("a.txt", "two", "three"), say("It is three.")];
    let files = vec![("a.txt", "one\n".to_owned())];
    let mut person = Begin { mode: Mode::Full, files, ..Begin::default() }.with(&script).await;
    for (prompt, answer) in [("make it two", "It is two."), ("make it three", "It is three.")] {
        person.say(prompt);
        person.see(answer).await;
        person.no_longer_see("Esc to interrupt").await;
    }
    person.say("/undo");
    person.see("went back to before `make it three`, with these files:").await;
    assert_eq!(person.read("a.txt").unwrap(), "two\n");
    person.say("/redo");
    person.see("went forward again to `make it three`, with these files:").await;
    assert_eq!(person.read("a.txt").unwrap(), "three\n");
    person.keys("Esc Esc");
    let screen = person.see("go back to before").await;
    assert!(screen.contains("❯ make it three"), "{screen}");
    person.keys("↓ Enter");
    person.see("> make it two").await;
    person.see("went back to before `make it two`, with these files:").await;
    assert_eq!(person.read("a.txt").unwrap(), "one\n");
}

#[tokio::test]
async fn one_call_is_taken_back_by_its_number() {
    let script = [edit("a.txt", "one", "1"), edit("a.txt", "nine", "9"), say("Both are digits.")];
    let files = vec![("a.txt", "one\n\n\n\n\n\nnine\n".to_owned())];
    let mut person = Begin { mode: Mode::Full, files, ..Begin::default() }.with(&script).await;
    person.say("make them digits");
    person.see("Both are digits.").await;
    person.no_longer_see("Esc to interrupt").await;
    person.say("/undo 9");
    person.see("there is no call 9 in this session").await;
    person.say("/undo list");
    let screen = person.see("undo one call").await;
    assert!(screen.contains("❯ 2  edit a.txt") && screen.contains("1  edit a.txt"), "{screen}");
    person.keys("↓ Enter");
    person.see("went back").await;
    assert_eq!(person.read("a.txt").unwrap(), "one\n\n\n\n\n\n9\n");
}

/// Several lines, a long paste, the history.
#[tokio::test]
async fn what_is_typed_may_have_several_lines() {
    let script = [
        json!({"say": "Two lines.", "expect": "one\ntwo"}),
        json!({"say": "Thirty lines.", "expect": "line 29"}),
        json!({"say": "Again.", "expect": "one\ntwo"}),
    ];
    let mut person = Begin { size: (60, 30), ..Begin::default() }.with(&script).await;
    person.type_in("one");
    person.keys("Alt+Enter");
    person.say("two");
    person.see("Two lines.").await;
    person.paste(&(0..30).map(|line| format!("line {line}\n")).collect::<String>());
    person.see("[paste 1: 30 lines]").await;
    person.keys("Enter");
    person.see("Thirty lines.").await;
    let all = person.all();
    assert!(all.contains("> [paste 1: 30 lines]") && !all.contains("line 3"), "{all}");
    person.keys("↑ ↑ ↑ Enter");
    person.see("Again.").await;
}

/// Who sits there may allow more, and less; everything at once only in words.
#[tokio::test]
async fn the_mode_is_changed_by_a_key_or_in_words_and_shown_in_one_place() {
    let mut person = Begin::default().with(&[say("unheard")]).await;
    for mode in ["accept-edits", "read-only", "plan", "ask", "accept-edits"] {
        person.keys("Shift+Tab");
        person.see(&format!("script/test · {mode}")).await;
    }
    person.say("/mode full");
    person.see("· full").await;
    person.keys("Shift+Tab");
    person.see("· read-only").await;
    person.say("/mode nosuch");
    person.see("unknown mode `nosuch`").await;
    assert!(!person.all().contains("what is allowed"), "{}", person.all());
}

#[tokio::test]
async fn another_model_and_another_session_are_a_word_away() {
    let script = [say("The first one.")];
    let mut person = Begin { size: (70, 40), ..Begin::default() }.with(&script).await;
    person.say("hello");
    person.see("The first one.").await;
    person.no_longer_see("Esc to interrupt").await;
    person.say("/model ollama/qwen");
    person.see("now using ollama/qwen").await;
    person.say("again");
    let screen = person.see("> again").await;
    assert_eq!(screen.matches("> hello").count(), 1, "{screen}");
    person.no_longer_see("Esc to interrupt").await;
    person.say("/model no/such");
    let screen = person.see("there is no model `no/such`").await;
    assert!(screen.contains("session"), "{screen}");
    assert_eq!(
        person.all().matches("now using").count(),
        1,
        "a failed switch does not say so: {}",
        person.all()
    );
    person.say("/new");
    person.see("haft  ollama/qwen").await;
    person.see("what to do?").await;
    person.say("/sessions");
    let list = person.see("session:").await;
    assert!(list.contains("❯ hello  now · "), "{list}");
    person.keys("Enter");
    person.see("opening …").await;
    person.no_longer_see("opening …").await;
    person.say("/rename the first try");
    person.see("`the first try`").await;
    person.say("/fork");
    person.see("haft  ollama/qwen").await;
}

/// A list of steps is boxes, and the step at work is seen while the turn goes.
#[tokio::test]
async fn a_plan_is_a_list_of_boxes() {
    let steps = [("find it", "done"), ("mend it", "in_progress"), ("test it", "pending")];
    let items = steps.map(|(text, status)| json!({"text": text, "status": status}));
    let script = [
        json!({"calls": [{"name": "todo", "arguments": {"items": items}}]}),
        json!({"say": "At work", "hang": true}),
    ];
    let mut person = Begin::default().with(&script).await;
    person.say("plan it");
    let screen = person.see("At work").await;
    let boxes = "✓ todo 1 of 3 done\n  ☑ find it\n  ◐ mend it\n  ☐ test it\n";
    assert!(screen.contains(boxes) && screen.contains("1 of 3 done: mend it"), "{screen}");
    person.keys("Esc");
    let screen = person.see("─ interrupted").await;
    assert!(!screen.contains("1 of 3 done: mend it"), "{screen}");
}

#[tokio::test]
async fn the_status_names_what_goes_on() {
    for (status, reply) in [
        ("thinking", json!({"think": "Let me see", "hang": true})),
        ("responding", json!({"say": "I see", "hang": true})),
    ] {
        let mut person = Begin::default().with(&[reply]).await;
        person.say("begin");
        person.see(status).await;
    }
}

#[tokio::test]
async fn a_command_that_is_not_known_is_told_where_all_are_listed() {
    let mut person = Begin::default().with(&[say("unheard")]).await;
    person.say("/modle");
    person.see("did you mean `/mode").await;
    for (line, why) in
        [("/rename", "`/rename` needs NAME behind it"), ("/fork it", "`/fork` takes nothing behind it")]
    {
        person.say(line);
        person.see(why).await;
    }
    for line in ["/quit", "exit", "/q"] {
        assert_eq!(person.request(), None);
        person.say(line);
        assert_eq!(person.request(), Some(Request::Leave), "{line}");
    }
}

/// What is entered before another session is open is said in that one, and comes back where it does not open.
#[tokio::test]
async fn a_prompt_waits_for_the_session_that_is_opening() {
    let mut person = Begin { size: (100, 40), ..Begin::default() }.with(&[say("Here I am.")]).await;
    person.say("/new");
    person.paste(&"word ".repeat(300));
    person.keys("Enter");
    person.type_in("and then");
    let screen = person.see("Here I am.").await;
    assert!(screen.contains("> [paste 1: 1 line]\n") && screen.contains("> and then\n"), "{screen}");
    assert_eq!(person.prompts(), ["word ".repeat(300).trim()]);
    person.no_longer_see("Esc to interrupt").await;
    let failures = |screen: &str| screen.matches("the session continues as before").count();
    person.keys("Ctrl+U");
    person.say("/model no/such");
    person.say("hello");
    let screen = person.until("the first failure", |screen| failures(screen) == 1).await;
    assert!(screen.contains("> hello\n"), "{screen}");
    // One waits at a time; what is typed behind it stays where it is.
    person.keys("Ctrl+U");
    person.say("/model no/such");
    person.say("hello");
    person.say("more");
    let screen = person.until("the second failure", |screen| failures(screen) == 2).await;
    assert!(screen.contains("> more\n") && screen.contains("press Up"), "{screen}");
    person.keys("↑");
    assert!(person.screen().contains("> hello\n"), "{}", person.screen());
    assert_eq!(person.prompts().len(), 1);
}
