//! What is typed and pasted stands where one types, comes back, and is sent whole.
use crate::kit::{Begin, Person, ask, say};
use serde_json::json;

/// What stands in the line that is being typed, up to the status.
fn typed(person: &mut Person) -> String {
    let screen = person.screen();
    let rows: Vec<&str> = screen.lines().collect();
    let first = rows.iter().rposition(|row| row.starts_with('>')).unwrap();
    rows[first..rows.len() - 1].join("\n")
}

#[tokio::test]
async fn lines_wrap_and_the_cursor_is_where_one_types() {
    let table = [
        ("", (0, 2), 1),
        ("ab", (0, 4), 1),
        ("ab\nc", (1, 3), 2),
        ("漢字", (0, 6), 1),
        ("one two three", (1, 7), 2),
    ];
    for (text, cursor, height) in table {
        let mut person = Begin::default().with(&[say("unheard")]).await;
        person.resize(12, 24);
        for (place, line) in text.split('\n').enumerate() {
            person.keys(if place > 0 { "Alt+Enter" } else { "" });
            person.type_in(line);
        }
        let (rows, screen) = (typed(&mut person).lines().count(), person.screen());
        let first = screen.lines().position(|row| row.starts_with('>')).unwrap();
        let (row, column) = person.cursor();
        assert_eq!(((row - first, column), rows), (cursor, height), "{text:?} {screen}");
    }
}

#[tokio::test]
async fn the_history_is_left_where_one_came_from() {
    let mut person = Begin::default().with(&[say("First."), say("Second.")]).await;
    for (prompt, reply) in [("one", "First."), ("two", "Second.")] {
        person.say(prompt);
        person.see(reply).await;
        person.no_longer_see("Esc to interrupt").await;
    }
    person.type_in("draft");
    for (key, expected) in
        [("↑", "two"), ("↑", "one"), ("↑", "one"), ("↓", "two"), ("↓", "draft"), ("↓", "draft")]
    {
        person.keys(key);
        assert_eq!(typed(&mut person), format!("> {expected}"));
    }
}

#[tokio::test]
async fn a_long_paste_is_folded_and_sent_whole() {
    let mut person = Begin::default().with(&[say("Read.")]).await;
    person.paste("short ");
    person.paste(&"line\n".repeat(20));
    assert_eq!(typed(&mut person), "> short [paste 1: 20 lines]");
    person.keys("Enter");
    person.see("Read.").await;
    assert_eq!(person.prompts(), [format!("short {}", "line\n".repeat(20).trim_end())]);
    person.keys("↑");
    assert_eq!(typed(&mut person), "> [paste 1: 20 lines]");
}

#[tokio::test]
async fn a_paste_may_hold_a_mark() {
    let mut person = Begin::default().with(&[say("Read.")]).await;
    let first = format!("[paste 2: 20 lines]\n{}", "a\n".repeat(20));
    person.paste(&first);
    person.paste(&"b\n".repeat(20));
    person.keys("Enter");
    person.see("Read.").await;
    assert_eq!(person.prompts(), [format!("{first}{}", "b\n".repeat(20).trim_end())]);
}

/// What it is its content says, whatever its name.
#[tokio::test]
async fn a_picture_that_is_dropped_goes_along() {
    let files = vec![("a b.png", "GIF89a".to_owned())];
    let mut person = Begin { files, ..Begin::default() }.with(&[say("Seen.")]).await;
    let path = person.path("a b.png").replace(' ', "\\ ");
    person.paste(&path);
    assert_eq!(typed(&mut person), "> [picture 1]");
    person.keys("Enter");
    person.see("(with 1 picture)").await;
    person.see("Seen.").await;
    assert!(person.journals().contains("image/gif"));
}

#[tokio::test]
async fn what_is_dropped_is_attached_where_all_of_it_is_pictures() {
    let files = vec![("a b.png", "GIF89a".to_owned()), ("c.png", "GIF89a".to_owned())];
    let mut person = Begin { files, ..Begin::default() }.with(&[]).await;
    let (spaced, plain) = (person.path("a b.png"), person.path("c.png"));
    let both = "[picture 1][picture 2]";
    let table = [
        (spaced.clone(), "[picture 1]"),
        (format!("'{spaced}'"), "[picture 1]"),
        (format!("file://{}\n", spaced.replace(' ', "%20")), "[picture 1]"),
        (format!("'{spaced}' {plain} "), both),
        (format!("{} {plain}", spaced.replace(' ', "\\ ")), both),
        (format!("file://{}\r\nfile://{plain}\r\n", spaced.replace(' ', "%20")), both),
    ];
    for (dropped, expected) in table {
        person.paste(&dropped);
        assert_eq!(typed(&mut person), format!("> {expected}"), "{dropped}");
        person.keys("Ctrl+C");
    }
    let words = format!("see {plain}");
    person.paste(&words);
    assert!(!typed(&mut person).contains("[picture"), "{words}");
}

/// With what its marks stand for, after the history and after a question.
#[tokio::test]
async fn a_draft_comes_back_with_what_its_marks_stand_for() {
    for what in ["the history", "a question"] {
        let question = ask("Red or blue?", &[]);
        let reply = json!({"say": "Seen.", "calls": question["calls"]});
        let files = vec![("a.png", "GIF89a".to_owned())];
        let mut person =
            Begin { files, ..Begin::default() }.with(&[reply, say("Noted."), say("Read.")]).await;
        person.say("long\n");
        if what == "the history" {
            person.see("? Red or blue?").await;
            person.say("blue");
            person.see("Noted.").await;
            person.no_longer_see("Esc to interrupt").await;
        }
        person.type_in("look: ");
        person.paste(&"line\n".repeat(20));
        let picture = person.path("a.png");
        person.paste(&picture);
        if what == "the history" {
            person.keys("↑ ↑ ↓ ↓");
        } else {
            person.see("? Red or blue?").await;
            person.say("blue");
            person.see("Noted.").await;
            person.no_longer_see("Esc to interrupt").await;
        }
        assert_eq!(typed(&mut person), "> look: [paste 1: 20 lines][picture 1]", "{what}");
        person.keys("Enter");
        person.see("Read.").await;
        let expected = format!("look: {}[picture 1]", "line\n".repeat(20));
        assert_eq!(person.prompts().last(), Some(&expected), "{what}");
        assert!(person.journals().contains("image/gif"), "{what}");
    }
}

/// With the keys of vi, Esc leads to a mode in which letters are commands; the status line names it, and sending leads back.
#[tokio::test]
async fn a_prompt_is_edited_with_the_keys_of_vi() {
    let script = [say("One."), say("Two.")];
    let mut person = Begin { is_vim: true, ..Begin::default() }.with(&script).await;
    assert!(person.screen().contains("INSERT · script/test"), "{}", person.screen());
    person.type_in("say nothing");
    person.keys("Esc");
    assert!(person.screen().contains("NORMAL · script/test"), "{}", person.screen());
    person.type_in("bcwsomething");
    assert!(person.screen().contains("> say something\n  INSERT"), "{}", person.screen());
    person.keys("Esc Enter");
    person.see("One.").await;
    person.no_longer_see("Esc to interrupt").await;
    assert!(person.screen().contains("INSERT · script/test"), "{}", person.screen());
    person.keys("Esc");
    person.type_in("kccagain");
    person.keys("Enter");
    person.see("Two.").await;
    assert_eq!(person.prompts(), ["say something", "again"]);
    person.no_longer_see("Esc to interrupt").await;
    // Commands of the screen are a key away.
    person.keys("Esc");
    person.type_in("/mo");
    person.see("❯ /model").await;
    person.keys("Esc");
    assert!(
        person.screen().contains("NORMAL") && !person.screen().contains("❯ /model"),
        "{}",
        person.screen()
    );
    person.type_in("dd?");
    person.see("q to close").await;
}

/// A line that is a command looks other than a prompt while it is typed; an answer that begins so does not.
#[tokio::test]
async fn a_command_looks_other_than_a_prompt_while_it_is_typed() {
    let script = [ask("Which one?", &[]), say("Noted.")];
    let mut person = Begin { size: (100, 24), ..Begin::default() }.with(&script).await;
    for (typed, expected) in [
        ("!", "$ !\n  Enter runs this command"),
        ("make", "$ !make\n  Enter runs this command"),
        (" it", "$ !make it\n  Enter runs this command"),
    ] {
        person.type_in(typed);
        assert!(person.screen().contains(expected), "{typed}: {}", person.screen());
    }
    person.keys("Ctrl+U");
    person.say("ask me");
    person.see("? Which one?").await;
    person.type_in("!important");
    assert!(person.screen().contains("> !important\n"), "{}", person.screen());
}
