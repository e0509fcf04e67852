//! A person reads what fills the screen, and leaves it for what was there.
use crate::kit::{Begin, Person, say};

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
