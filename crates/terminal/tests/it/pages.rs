//! A person reads what fills the screen, and leaves it for what was there.
use crate::kit::{Begin, Person, edit, say};
use haft_core::Mode;
use haft_terminal::tui::Request;
use serde_json::json;

async fn after_a_reply(size: (u16, u16), lines: usize) -> Person {
    let text: String = (1..=lines).map(|line| format!("row {line}\n\n")).collect();
    let mut person = Begin { size, ..Begin::default() }.with(&[say(&text)]).await;
    person.say("count");
    person.see(&format!("row {lines}")).await;
    person.no_longer_see("Esc to interrupt").await;
    person
}

#[tokio::test]
async fn the_help_has_all_commands_and_keys() {
    for (name, size) in [("help", (120, 100)), ("help_narrow", (50, 160))] {
        let mut person = Begin { size, ..Begin::default() }.with(&[say("unheard")]).await;
        person.keys("?");
        let screen = person.screen();
        let mut lines: Vec<&str> = screen.lines().collect();
        // The page is higher than the help.
        lines.dedup();
        insta::assert_snapshot!(name, lines.join("\n"));
        person.keys("Esc");
        assert!(person.screen().contains("what to do?"), "{}", person.screen());
    }
}

/// Each panel is left with Esc, and the conversation is still there.
#[tokio::test]
async fn panels_are_left_with_escape() {
    let mut person = after_a_reply((100, 24), 2).await;
    for (command, name) in [("/context", "context"), ("/mcp", "servers"), ("/permissions", "permissions")] {
        person.say(command);
        person.see(if name == "permissions" { "mode:" } else { "q to close" }).await;
        insta::assert_snapshot!(name, person.screen());
        person.keys("Esc");
        let screen = person.screen();
        assert!(screen.contains("row 2") && screen.contains("what to do?"), "{command}: {screen}");
    }
}

/// Every key that scrolls a page, from its end on.
#[tokio::test]
async fn a_page_is_scrolled_with_keys() {
    let mut person = after_a_reply((40, 12), 40).await;
    person.keys("Ctrl+O");
    let screen = person.screen();
    let end: usize = screen.lines().last().unwrap().split('–').next().unwrap().parse().unwrap();
    for (keys, expected) in [
        ("↑", end - 1),
        ("k", end - 2),
        ("↓", end - 1),
        ("j", end),
        ("Enter", end),
        ("PgUp", end - 10),
        ("b", end - 20),
        ("PgDn", end - 10),
        ("Space", end),
        ("f", end),
        ("Ctrl+U", end - 5),
        ("Ctrl+D", end),
        ("Home", 1),
        ("End", end),
        ("g", 1),
        ("G", end),
    ] {
        person.keys(keys);
        let screen = person.screen();
        let foot = screen.lines().last().unwrap();
        assert_eq!(foot.split('–').next().unwrap(), expected.to_string(), "{keys}: {screen}");
    }
    for keys in ["q", "Ctrl+O Esc", "Ctrl+O Ctrl+C", "Ctrl+O Ctrl+O", "Ctrl+O Ctrl+T"] {
        person.keys(keys);
        assert!(person.screen().contains("what to do?"), "{keys}: {}", person.screen());
    }
}

/// As in `less`: `/`, then `n` and `N`; small letters match capitals, too.
#[tokio::test]
async fn a_page_is_searched() {
    let mut person = after_a_reply((80, 12), 40).await;
    person.keys("Ctrl+O g /");
    let foot = |person: &mut Person| person.screen().lines().last().unwrap().to_owned();
    assert_eq!(foot(&mut person).trim_end(), "/▏");
    person.keys("r o w Space 3");
    assert_eq!(foot(&mut person).trim_end(), "/row 3▏");
    person.keys("Backspace 3 Enter");
    assert!(foot(&mut person).contains("n N for the next and previous match"), "{}", foot(&mut person));
    for (keys, expected) in
        [("n", "row 30"), ("n", "row 31"), ("N", "row 30"), ("N", "row 3"), ("N", "row 39"), ("n", "row 3")]
    {
        person.keys(keys);
        let screen = person.screen();
        assert!(screen.lines().any(|line| line.trim() == expected), "{keys}, {expected}: {screen}");
    }
    person.keys("/ R O W Enter");
    assert!(foot(&mut person).contains("no line has `ROW`"), "{}", foot(&mut person));
    // Esc leaves the search, then the page.
    person.keys("/ x Esc");
    assert!(foot(&mut person).contains("/ to search"), "{}", foot(&mut person));
    person.keys("Esc");
    assert!(person.screen().contains("what to do?"), "{}", person.screen());
}

#[tokio::test]
async fn the_files_of_a_diff_are_gone_to_one_by_one() {
    let write = |path: &str| {
        let content: String = (1..=30).map(|line| format!("{path} {line}\n")).collect();
        json!({"name": "write", "arguments": {"path": path, "content": content}})
    };
    let script = [json!({"calls": [write("a.txt"), write("b.txt"), write("c.txt")]}), say("Done.")];
    let mut person =
        Begin { mode: Mode::AcceptEdits, size: (100, 12), ..Begin::default() }.with(&script).await;
    person.say("go");
    person.see("Done.").await;
    person.no_longer_see("Esc to interrupt").await;
    person.say("/diff");
    person.see("3 files changed").await;
    for (keys, name) in
        [("]", "b.txt"), ("]", "c.txt"), ("]", "c.txt"), ("[", "b.txt"), ("[", "a.txt"), ("[", "a.txt")]
    {
        person.keys(keys);
        let screen = person.screen();
        let first = screen.lines().nth(1).unwrap();
        assert!(first.contains(&format!("Create {name}")), "{keys}, {name}: {screen}");
        assert!(screen.contains("] [ for files"), "{screen}");
    }
}

/// The first hunk of a file begins with the head of the file.
#[tokio::test]
async fn the_hunks_of_a_diff_are_gone_to_one_by_one() {
    let before = (0..120).map(|line| match line % 40 {
        20 => format!("place {}\n", line / 40),
        _ => format!("{line}\n"),
    });
    let script = [
        edit("a.txt", "place 0", "PLACE"),
        edit("a.txt", "place 1", "PLACE"),
        edit("a.txt", "place 2", "PLACE"),
        json!({"calls": [{"name": "write", "arguments": {"path": "b.txt", "content": "new\n"}}]}),
        say("Done."),
    ];
    let files = vec![("a.txt", before.collect())];
    let begin = Begin { mode: Mode::AcceptEdits, size: (100, 12), files, ..Begin::default() };
    let mut person = begin.with(&script).await;
    person.say("go");
    person.see("Done.").await;
    person.no_longer_see("Esc to interrupt").await;
    person.say("/diff");
    person.see("2 files changed").await;
    let steps = [
        ("}", "⋮", "- place 1"),
        ("}", "⋮", "- place 2"),
        ("{", "⋮", "- place 1"),
        ("{", "Edit a.txt", "- place 0"),
    ];
    for (keys, first, shown) in [&steps[..], &steps[..1]].concat() {
        person.keys(keys);
        let screen = person.screen();
        assert!(screen.lines().nth(1).unwrap().contains(first), "{keys}, {first}: {screen}");
        assert!(screen.contains(shown) && screen.contains("} { for hunks"), "{keys}, {shown}: {screen}");
    }
}

/// The state of the session is one page, and the servers are on it once they have answered.
#[tokio::test]
async fn the_status_is_one_page() {
    let mut person = after_a_reply((80, 24), 2).await;
    person.say("/rename the first try");
    person.say("/status");
    let screen = person.see("files (2 tools), gone (failed; /mcp says why)").await;
    for expected in [
        "model        script/test",
        "effort       the model's default",
        "agent        haft",
        "mode         ask",
        "session      the first try (",
        "folder       PLACE/w",
        "% of 100.0k",
        " in (0 from the cache), ",
        "cost         unknown",
    ] {
        assert!(screen.contains(expected), "{expected}: {screen}");
    }
    person.keys("q");
    person.see("what to do?").await;
}

/// What became of each file since the session began: not what came and went in between.
#[tokio::test]
async fn the_changes_of_a_session_are_one_page_by_file() {
    let files = vec![("a.txt", "one\ntwo\n".to_owned()), ("b.txt", "x\n".to_owned())];
    let script = [
        edit("a.txt", "one", "first"),
        edit("a.txt", "first", "ONE"),
        edit("b.txt", "x", "y"),
        edit("b.txt", "y", "x"),
        json!({"calls": [{"name": "write", "arguments": {"path": "c.txt", "content": "new\n"}}]}),
        say("Done."),
    ];
    let begin = Begin { mode: Mode::AcceptEdits, size: (80, 24), files, ..Begin::default() };
    let mut person = begin.with(&script).await;
    person.say("/diff");
    person.see("no file was changed in this session").await;
    person.say("go");
    person.see("Done.").await;
    person.no_longer_see("Esc to interrupt").await;
    person.say("/diff");
    let screen = person.see("2 files changed since this session began").await;
    for expected in ["Edit a.txt  +1 −1", "- one", "+ ONE", "Create c.txt  +1", "+ new"] {
        assert!(screen.contains(expected), "{expected}: {screen}");
    }
    assert!(!screen.contains("b.txt") && !screen.contains("first"), "{screen}");
    person.keys("Esc");
    person.say("/undo");
    person.see("went back to before `go`, with these files:").await;
    person.say("/changes");
    person.see("no file was changed in this session").await;
}

/// Thoughts are hidden and shown by a command and by a key; the page of the conversation has them in any case.
#[tokio::test]
async fn thoughts_are_shown_or_hidden() {
    let thinks = || json!({"think": "Let me see.", "say": "So it is."});
    let mut person = Begin { size: (60, 40), ..Begin::default() }.with(&[thinks(), thinks(), thinks()]).await;
    for (replies, (hide, thoughts)) in (1..).zip([("", 1), ("/thinking", 1), ("Alt+T", 2)]) {
        match hide.strip_prefix('/') {
            Some(_) => person.say(hide),
            None => person.keys(hide),
        }
        person.say("think");
        let is_over = |screen: &str| screen.matches("─ N.N s").count() == replies;
        let screen = person.until("the end of the turn", is_over).await;
        assert_eq!(screen.matches("Let me see.").count(), thoughts, "{hide}: {screen}");
    }
    person.say("/thoughts");
    person.keys("Ctrl+O");
    assert_eq!(person.screen().matches("Let me see.").count(), 3, "{}", person.screen());
}

#[tokio::test]
async fn the_configuration_is_named_and_a_key_is_asked_for() {
    let mut person = after_a_reply((80, 24), 2).await;
    person.say("/config");
    person.see("config.toml  (missing)").await;
    assert_eq!(person.request(), None);
    person.say("/login openai");
    assert_eq!(person.request(), Some(Request::LogIn));
}
