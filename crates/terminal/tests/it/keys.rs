//! A key does what the help says that it does.
use crate::kit::{Begin, say};
use haft_terminal::tui::Request;

/// Keys at an empty prompt, between turns.
#[tokio::test]
async fn keys_at_an_empty_prompt() {
    let table = [
        ("?", "commands"),
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
