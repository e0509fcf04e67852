//! What is drawn fits the terminal, however small it is and whatever it becomes.
use crate::kit::{Begin, ask, edit, say};
use haft_core::Mode;
use serde_json::json;

/// In every mode, from one cell on: nothing runs into the next row, and nothing is drawn twice.
#[tokio::test]
async fn every_mode_fits_every_size() {
    let sizes = [(1, 1), (2, 3), (7, 2), (10, 5), (20, 6), (39, 11), (200, 3), (8, 60)];
    let keys = ["", "/", "Ctrl+R", "Ctrl+O", "?", "n"];
    for keys in keys {
        for first in [say("unheard"), edit("a.txt", "漢字", "字漢"), ask("Which one? 漢字", &["red", "漢字"])]
        {
            let files = vec![("a.txt", "漢字\n".to_owned())];
            let mut person = Begin { files, ..Begin::default() }.with(&[first]).await;
            person.say("begin 漢字");
            person.see("begin").await;
            person.no_longer_see("waiting for the model").await;
            person.keys(keys);
            for (columns, rows) in sizes {
                person.resize(columns, rows);
                person.screen();
            }
            person.resize(60, 24);
            person.screen();
        }
    }
}

#[tokio::test]
async fn a_narrow_terminal_cuts_rows_and_wraps_text() {
    let text = "漢字漢字漢字漢字漢字漢字 cafe\u{301} and a sentence that is longer than a row";
    let mut person = Begin { size: (24, 20), ..Begin::default() }.with(&[say(text)]).await;
    person.say("a prompt that is longer than a row");
    person.see("a row").await;
    person.no_longer_see("Esc").await;
    let screen = person.screen();
    insta::assert_snapshot!("narrow", &screen[screen.find("> a prompt").unwrap()..]);
}

/// E06: however long an answer is, each line is there once and in order.
#[tokio::test]
async fn ten_thousand_lines_go_into_the_scrollback() {
    let lines: String = (0..10_000).map(|line| format!("row {line:05}\n")).collect();
    let script = [json!({"say": lines, "pieces": 11})];
    let mut person = Begin { size: (80, 24), ..Begin::default() }.with(&script).await;
    person.say("count");
    person.see("row 09999").await;
    person.no_longer_see("Esc to interrupt").await;
    let all = person.all();
    let rows: Vec<&str> = all.lines().filter(|line| line.starts_with("row ")).collect();
    let expected: Vec<String> = (0..10_000).map(|line| format!("row {line:05}")).collect();
    assert!(rows == expected, "{} rows", rows.len());
}

/// From 80×24 to 40×12 and back, in the middle of a reply: nothing stands there twice.
#[tokio::test]
async fn a_resize_draws_anew_what_is_live() {
    let long = "These words are wider than forty columns, so they take several rows on a small terminal.";
    let wide = "漢字".repeat(12);
    let script = [json!({"say": format!("{long}\n\n{wide} e\u{301}\n\nEnd"), "hang": true})];
    let mut person = Begin { size: (80, 24), mode: Mode::Ask, ..Begin::default() }.with(&script).await;
    person.say("talk");
    person.see("End").await;
    for size in [(40, 12), (30, 30), (80, 24)] {
        person.resize(size.0, size.1);
        person.screen();
    }
    person.keys("Esc");
    let screen = person.see("─ interrupted").await;
    for once in ["End", "what to do?", "─ interrupted", wide.as_str()] {
        assert_eq!(screen.matches(once).count(), 1, "{once}:\n{screen}");
    }
}

/// D15, A22: what is hidden in entities, names and errors stays text.
#[tokio::test]
async fn nothing_that_others_wrote_reaches_the_terminal_raw() {
    let reply = json!({"say": "hello &#27;]0;ENTITY&#7; [x](http://a&#27;]0;LINK&#7;)",
        "fail": "boom \u{1b}]0;ERROR\u{7}\nline", "kind": "rejected"});
    let files = vec![("evil\u{1b}]0;FILE\u{7}.txt", "x".to_owned())];
    let mut person = Begin { files, ..Begin::default() }.with(&[reply]).await;
    person.say("go");
    person.see("boom").await;
    person.type_in("@evil");
    person.see("❯ evil").await;
    assert_eq!(person.commands(), [""; 0]);
}
