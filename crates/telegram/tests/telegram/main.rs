//! The bot against a Bot API of our own, with a real engine and scripted models.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod bot;
mod fake;

use bot::{KEY, OWNER, Place};
use fake::{Call, Fake, message, refused};
use haft_core::{Answer, Channel, Command, Fact, Image, Mode, Part, text_of};
use haft_telegram::Trouble;
use serde_json::{Value, json};
use std::{fs, time::Duration};

/// A group.
const GROUP: i64 = -100;

fn group(who: i64, text: &str, more: Value) -> Value {
    let mut said = message(who, json!({"text": text, "chat": {"id": GROUP, "type": "supergroup"}}));
    said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    said
}

// A-02, A-83, A-84, A-86, T-04
#[tokio::test]
async fn a_prompt_is_answered_once_and_typing_comes_first() {
    let (fake, place) = (Fake::start().await, Place::new());
    let bot = place.start(&fake, &[json!({"say": "Hello **you**."}), json!({"say": "Again."})]);
    fake.says(OWNER, "hi");
    fake.reads(OWNER, &["Hello you."]).await;
    fake.says(OWNER, "and?");
    fake.reads(OWNER, &["Hello you.", "Again."]).await;
    bot.stop().await.unwrap();
    let books = fake.books();
    let order: Vec<&str> = books.calls.iter().map(|call| call.method.as_str()).collect();
    let place_of = |method: &str| order.iter().position(|other| *other == method).unwrap();
    assert!(place_of("sendChatAction") < place_of("sendMessage"), "{order:?}");
    let last = &books.messages.values().next().unwrap().sent;
    assert_eq!(last, "Hello <b>you</b>.");
    let asked = books.calls_of("getUpdates").last().unwrap().parameters["offset"].clone();
    assert_eq!(asked, 103, "the last update and one");
    drop(books);
    let channels: Vec<_> = place
        .entries()
        .iter()
        .filter_map(|entry| match &entry.fact {
            Fact::Prompted { channel, .. } => channel.clone(),
            _ => None,
        })
        .collect();
    let expected = |message: &str| Channel {
        kind: "telegram".into(),
        chat: OWNER.to_string(),
        messages: vec![message.into()],
    };
    assert_eq!(channels, [expected("101"), expected("102")]);
}

// D54, X-31, A-86
#[tokio::test]
async fn whatever_telegram_refuses_the_answer_comes_once() {
    let wait =
        |seconds: u64| (429, json!({"ok": false, "error_code": 429, "parameters": {"retry_after": seconds}}));
    let table = [
        ("429 to a new message", "sendMessage", wait(1)),
        ("429 to an edit", "editMessageText", wait(1)),
        ("unreadable entities", "sendMessage", refused(400, "Bad Request: can't parse entities: x")),
        (
            "unreadable entities of an edit",
            "editMessageText",
            refused(400, "Bad Request: can't parse entities: x"),
        ),
        ("a server in trouble", "sendMessage", refused(502, "Bad Gateway")),
        ("no answer of the API at all", "editMessageText", (503, json!("<html>"))),
        (
            "an edit that changes nothing",
            "editMessageText",
            refused(400, "Bad Request: message is not modified: x"),
        ),
    ];
    for (what, method, (status, answer)) in table {
        let (fake, place) = (Fake::start().await, Place::new());
        fake.fault(method, status, answer);
        let text = format!("A *long* word: {}", "word ".repeat(50));
        // Long enough that the message is edited before it has its last text.
        let script =
            json!({"say": text, "pieces": 10, "delay_ms": if what.contains("edit") { 120 } else { 10 }});
        let bot = place.start(&fake, &[script]);
        fake.says(OWNER, "hi");
        let expected = text.replace('*', "");
        fake.reads(OWNER, &[expected.trim_end()]).await;
        bot.stop().await.unwrap();
        assert_eq!(fake.books().texts(OWNER), [expected.trim_end()], "{what}");
    }
}

// A-85, X-31
#[tokio::test]
async fn a_message_that_grows_is_edited_at_most_once_a_second() {
    let (fake, place) = (Fake::start().await, Place::new());
    let bot = place.start(&fake, &[json!({"say": "0123456789".repeat(40), "pieces": 4, "delay_ms": 40})]);
    fake.says(OWNER, "hi");
    fake.reads(OWNER, &[&"0123456789".repeat(40)]).await;
    bot.stop().await.unwrap();
    let books = fake.books();
    let written =
        books.calls.iter().filter(|call| ["sendMessage", "editMessageText"].contains(&call.method.as_str()));
    let moments: Vec<_> = written.map(|call| call.at).collect();
    assert!(moments.len() > 2, "it did not grow: {moments:?}");
    for pair in moments.windows(2) {
        assert!(pair[1] - pair[0] >= Duration::from_secs(1), "{moments:?}");
    }
    assert_eq!(books.calls_of("sendMessage").len(), 1);
}

// A-85, X-31
#[tokio::test]
async fn alfred_edits_for_more_than_50_characters_or_a_call_and_cuts_at_4000() {
    let (fake, mut place) = (Fake::start().await, Place::new());
    place.profile = "alfred";
    let long = "word ".repeat(1_000);
    let script = [
        json!({"say": "I look.", "calls": [{"name": "read", "arguments": {"path": "a.txt"}}]}),
        json!({"say": long, "pieces": 500, "delay_ms": 150}),
    ];
    let bot = place.start(&fake, &script);
    fake.says(OWNER, "hi");
    fake.until("both parts", |books| {
        (books.texts(OWNER).len() == 2 && books.texts(OWNER).concat().len() > 4_900).then_some(())
    })
    .await;
    bot.stop().await.unwrap();
    let books = fake.books();
    let first = &books.calls_of("sendMessage")[0].parameters["text"];
    assert!(first.as_str().unwrap().contains("[Executing 1 tool(s)...]"), "{first}");
    let texts = books.texts(OWNER);
    assert!(texts.iter().all(|text| text.len() <= 4_000), "{texts:?}");
    assert!(texts[0].starts_with("I look.\n\n[Executing 1 tool(s)...]\n[read] ✓\n\nword"), "{}", texts[0]);
}

// A-86, D54
#[tokio::test]
async fn a_long_answer_comes_in_several_messages() {
    let (fake, place) = (Fake::start().await, Place::new());
    let code: String = (0..600).map(|n| format!("let x{n} = \"<\";\n")).collect();
    let answer = format!("{}\n\n```rust\n{code}```\n\n{}", "word ".repeat(500), "😀".repeat(3_000));
    let bot = place.start(&fake, &[json!({"say": answer})]);
    fake.says(OWNER, "hi");
    let is_whole = |books: &fake::Books| books.texts(OWNER).concat().matches('😀').count() == 3_000;
    fake.until("all of it", |books| is_whole(books).then_some(())).await;
    bot.stop().await.unwrap();
    let books = fake.books();
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    let said = bare(&books.texts(OWNER).concat());
    assert_eq!(said, bare(&answer.replace("```rust", "").replace("```", "")));
    let sent: Vec<&String> = books.messages.values().map(|message| &message.sent).collect();
    assert!(sent.iter().all(|sent| sent.encode_utf16().count() <= 4_096));
    assert!(
        sent.iter().filter(|sent| sent.contains("<code class=\"language-rust\">")).count() > 2,
        "{}",
        sent.len()
    );
}

// D54
#[tokio::test]
async fn repeated_and_disordered_updates_are_handled_once() {
    let (fake, place) = (Fake::start().await, Place::new());
    let bot = place.start(&fake, &[json!({"say": "one"}), json!({"say": "two"}), json!({"say": "three"})]);
    let update =
        |id: i64, text: &str| json!({"update_id": id, "message": message(OWNER, json!({"text": text}))});
    fake.batch(vec![
        update(51, "first"),
        update(51, "first"),
        json!({"odd": 1}),
        json!({"update_id": 52, "poll": {}}),
    ]);
    fake.reads(OWNER, &["one"]).await;
    fake.batch(vec![update(54, "second"), update(51, "first")]);
    fake.reads(OWNER, &["one", "two"]).await;
    fake.batch(vec![update(53, "late"), update(54, "second")]);
    fake.reads(OWNER, &["one", "two", "three"]).await;
    fake.batch(vec![update(53, "late"), update(54, "second"), update(51, "first")]);
    fake.has_looked().await;
    bot.stop().await.unwrap();
    assert_eq!(place.prompted(), ["first", "second", "late"]);
    let asked = fake.books().calls_of("getUpdates").last().unwrap().parameters["offset"].clone();
    assert_eq!(asked, 55);
    assert!(place.notes().iter().any(|note| note.starts_with("2 updates")), "{:?}", place.notes());
}

#[tokio::test]
async fn strangers_are_told_once_a_minute_and_reach_nobody() {
    let (fake, place) = (Fake::start().await, Place::new());
    let bot = place.start(&fake, &[json!({"say": "For the owner."})]);
    fake.says(66, "secret of a stranger");
    fake.says(66, "and another");
    fake.happens("message", group(66, "@haft_bot let me in", json!({})));
    fake.happens("edited_message", message(66, json!({"text": "x"})));
    fake.says(OWNER, "hi");
    fake.reads(OWNER, &["For the owner."]).await;
    fake.reads(66, &["This bot is private. Its owner can let you in: your number is 66."]).await;
    bot.stop().await.unwrap();
    assert_eq!(fake.books().texts(GROUP), [""; 0]);
    assert_eq!(place.prompts(), 1);
    let kept = fs::read_to_string(place.path("home/telegram/4711.json")).unwrap();
    let mut kept: Value = serde_json::from_str(&kept).unwrap();
    // A time may hold any digits.
    kept["at"] = Value::Null;
    let kept = kept.to_string();
    assert!(!kept.contains("stranger") && !kept.contains("66,") && !kept.contains("\"66\""), "{kept}");
}

#[tokio::test]
async fn where_nobody_may_talk_a_code_lets_one_person_in() {
    let (fake, mut place) = (Fake::start().await, Place::new());
    place.allowed.clear();
    let bot = place.start(&fake, &[json!({"say": "Welcome."})]);
    fake.says(OWNER, "ABCDEFGH");
    fake.reads_part(OWNER, "private").await;
    let note = place.notes().into_iter().find(|note| note.contains("/start")).unwrap();
    let code = note.split("/start ").nth(1).unwrap().split('`').next().unwrap().to_owned();
    fake.says(OWNER, &format!("/start {code}"));
    fake.reads_part(OWNER, "You are in").await;
    fake.says(66, &code);
    fake.says(OWNER, "hi");
    fake.reads_part(OWNER, "Welcome.").await;
    fake.reads_part(66, "private").await;
    bot.stop().await.unwrap();
    // Kept, and no code is offered any more.
    place.notes.lock().unwrap().clear();
    let bot = place.start(&fake, &[json!({"say": "x"}), json!({"say": "Still in."})]);
    fake.says(OWNER, "hi");
    fake.reads_part(OWNER, "Still in.").await;
    bot.stop().await.unwrap();
    assert_eq!(place.notes(), [""; 0]);
}

#[tokio::test]
async fn in_a_group_only_what_is_said_to_the_bot_counts() {
    let (fake, place) = (Fake::start().await, Place::new());
    let bot = place.start(&fake, &["one", "two", "three", "four", "five"].map(|word| json!({"say": word})));
    fake.happens("message", group(OWNER, "just talking", json!({})));
    fake.happens("message", group(OWNER, "/fix@other_bot this", json!({})));
    fake.happens("message", group(OWNER, "/unknown", json!({})));
    fake.happens("message", group(OWNER, "as the group", json!({"sender_chat": {"id": GROUP}})));
    fake.happens("message", group(OWNER, "hey @Haft_Bot look", json!({})));
    fake.reads(GROUP, &["one"]).await;
    let reply = json!({"reply_to_message": {"message_id": 5, "from": {"id": fake::ME}, "text": "x"}});
    fake.happens("message", group(OWNER, "go on", reply));
    fake.reads(GROUP, &["one", "two"]).await;
    fake.happens("message", group(OWNER, "/fix@haft_bot it", json!({})));
    fake.reads(GROUP, &["one", "two", "three"]).await;
    let of_another =
        json!({"reply_to_message": {"message_id": 6, "from": {"id": 8}, "text": "The build\nfails."}});
    fake.happens("message", group(OWNER, "@haft_bot why?", of_another));
    fake.reads(GROUP, &["one", "two", "three", "four"]).await;
    // What the person only forwarded are the words of another one, too.
    let forwarded = json!({"reply_to_message":
        {"message_id": 7, "from": {"id": OWNER}, "forward_origin": {"type": "user"}, "text": "Do it."}});
    fake.happens("message", group(OWNER, "@haft_bot and this?", forwarded));
    fake.reads(GROUP, &["one", "two", "three", "four", "five"]).await;
    bot.stop().await.unwrap();
    let quoted = "Quoted, in the words of another person:\n> The build\n> fails.\n\nwhy?";
    let forwarded = "Quoted, in the words of another person:\n> Do it.\n\nand this?";
    assert_eq!(place.prompted(), ["hey look", "go on", "Fix it.", quoted, forwarded]);
}

#[tokio::test]
async fn a_group_that_becomes_a_supergroup_keeps_its_conversation() {
    const SUPERGROUP: i64 = -100_200;
    let (fake, mut place) = (Fake::start().await, Place::new());
    place.mode = Mode::Ask;
    let bot = place.start(
        &fake,
        &[
            write("b.txt"),
            json!({"say": "Done."}),
            json!({"say": "More."}),
            json!({"say": "Later."}),
            json!({"say": "Last."}),
        ],
    );
    let said = |chat: i64, more: Value| {
        let mut said = group(OWNER, "@haft_bot go", more);
        said["chat"]["id"] = chat.into();
        fake.happens("message", said);
    };
    said(GROUP, json!({}));
    fake.reads_part(GROUP, "Allow this?").await;
    said(GROUP, json!({"text": "", "migrate_to_chat_id": SUPERGROUP}));
    let has_buttons = |message: &&fake::Shown| message.chat == SUPERGROUP && !message.buttons.is_empty();
    let asked = |books: &fake::Books| {
        let (id, message) = books.messages.iter().find(|(_, message)| has_buttons(message))?;
        Some((*id, message.buttons[0].1.clone()))
    };
    let (message, button) = fake.until("the question in the supergroup", asked).await;
    // What was about to be sent to the group is sent to the supergroup.
    let moved = json!({"migrate_to_chat_id": SUPERGROUP});
    fake.fault("sendMessage", 400, json!({"ok": false, "error_code": 400, "parameters": moved}));
    fake.press(OWNER, SUPERGROUP, message, &button);
    fake.reads_part(SUPERGROUP, "Done.").await;
    assert_eq!(place.text("b.txt").as_deref(), Some("new\n"));
    said(SUPERGROUP, json!({}));
    fake.reads_part(SUPERGROUP, "More.").await;
    // The bot was away when that update was there to be had.
    const NEXT: i64 = -100_300;
    let moved = json!({"migrate_to_chat_id": NEXT});
    fake.fault("sendMessage", 400, json!({"ok": false, "error_code": 400, "parameters": moved}));
    said(SUPERGROUP, json!({}));
    fake.reads_part(NEXT, "Later.").await;
    said(NEXT, json!({}));
    fake.reads_part(NEXT, "Last.").await;
    bot.stop().await.unwrap();
    assert_eq!(place.prompted(), ["go"; 4], "one session");
}

fn write(path: &str) -> Value {
    json!({"say": "I write.", "calls": [{"name": "write", "arguments": {"path": path, "content": "new\n"}}]})
}

#[tokio::test]
async fn an_approval_is_asked_with_the_diff_and_answered_with_a_button() {
    let (fake, mut place) = (Fake::start().await, Place::new());
    place.mode = Mode::Ask;
    place.allowed.push(8);
    let bot = place.start(
        &fake,
        &[write("b.txt"), json!({"say": "Done."}), write("c.txt"), json!({"say": "Not done."})],
    );
    fake.says(OWNER, "write");
    let asked = fake.reads_part(OWNER, "Allow this?").await;
    assert!(asked.contains("+++ b/b.txt") && asked.contains("+new"), "{asked}");
    fake.presses(66, "Allow once");
    fake.until("a refusal", |books| books.calls_of("answerCallbackQuery").pop()).await;
    fake.presses(OWNER, "Allow once");
    let done = fake.reads_part(OWNER, "Done.").await;
    assert_eq!(done, "✓ write b.txt\n\nDone.");
    let asked = fake.reads_part(OWNER, "Allow this?").await;
    assert!(asked.ends_with("Allowed once."), "{asked}");
    assert_eq!(place.text("b.txt").as_deref(), Some("new\n"));
    fake.says(OWNER, "write again");
    fake.until("the second question", |books| {
        books.messages.values().find(|message| !message.buttons.is_empty()).map(drop)
    })
    .await;
    fake.says(OWNER, "no");
    fake.reads_part(OWNER, "waits for one of the buttons below").await;
    // The question before may have been deleted.
    fake.reads_part(OWNER, "Asked again below.").await;
    fake.until("the question below it", |books| {
        let buttons = books.messages.values().rev().find(|message| !message.buttons.is_empty())?;
        Some(buttons.buttons.clone())
    })
    .await;
    fake.presses(OWNER, "No");
    fake.reads_part(OWNER, "Not done.").await;
    // A button of before.
    fake.press(OWNER, OWNER, 1_002, "a:1:once");
    fake.until("that it is over", |books| {
        books
            .calls_of("answerCallbackQuery")
            .iter()
            .find(|call| call.parameters["text"] == "This question is out of date.")
            .map(drop)
    })
    .await;
    bot.stop().await.unwrap();
    assert_eq!(place.text("c.txt"), None);
    let books = fake.books();
    assert!(books.messages.values().all(|message| message.buttons.is_empty()), "{:?}", books.messages);
    let notices: Vec<_> =
        books.calls_of("answerCallbackQuery").iter().map(|call| call.parameters["text"].clone()).collect();
    assert_eq!(notices[..2], ["Only those whom the owner let in can answer.", "Allowed once."]);
    let html = &books.messages.values().nth(1).unwrap().sent;
    assert!(html.contains("<pre><code class=\"language-diff\">--- a/b.txt"), "{html}");
}

fn long_command() -> String {
    let lines: String = (0..400).map(|number| format!("echo {number}\n")).collect();
    format!("{lines}touch owned \u{202e}# end of it")
}

fn runs(command: &str) -> Value {
    json!({"say": "I run it.", "calls": [{"name": "bash", "arguments": {"command": command, "timeout": 7}}]})
}

// D60
#[tokio::test]
async fn what_does_not_fit_a_question_comes_as_a_file_before_its_buttons() {
    let (fake, mut place) = (Fake::start().await, Place::new());
    place.mode = Mode::Ask;
    let bot = place.start(&fake, &[runs(&long_command()), json!({"say": "Then not."})]);
    fake.says(OWNER, "run");
    let asked = fake.reads_part(OWNER, "Allow this?").await;
    assert!(asked.contains("echo 0\\n") && asked.contains("The file above has all of it."), "{asked}");
    fake.presses(OWNER, "No");
    fake.reads_part(OWNER, "Then not.").await;
    bot.stop().await.unwrap();
    let books = fake.books();
    let place_of = |method: &str, part: &str| {
        let is_it = |call: &Call| call.method == method && format!("{call:?}").contains(part);
        books.calls.iter().position(is_it)
    };
    let (file, buttons) =
        (place_of("sendDocument", "").unwrap(), place_of("sendMessage", "Allow once").unwrap());
    assert!(file < buttons, "{file} {buttons}");
    let sent = &books.calls[file].body;
    for expected in ["echo 0\\n", "echo 399\\n", "touch owned \\u{202e}# end of it", "timeout: 7", "always: "]
    {
        assert!(sent.contains(expected), "{expected} in {sent}");
    }
}

// D60
#[tokio::test]
async fn nobody_allows_what_could_not_be_sent() {
    let (fake, mut place) = (Fake::start().await, Place::new());
    place.mode = Mode::Ask;
    fake.fault("sendDocument", 413, json!("too large"));
    let bot = place.start(&fake, &[runs(&long_command()), json!({"say": "Then not."})]);
    fake.says(OWNER, "run");
    let asked = fake.reads_part(OWNER, "it cannot be allowed here").await;
    assert!(asked.contains("413"), "{asked}");
    let labels = fake.until("the buttons", |books| {
        let asked = books.messages.values().find(|message| !message.buttons.is_empty())?;
        Some(asked.buttons.iter().map(|(label, _)| label.clone()).collect::<Vec<_>>())
    });
    assert_eq!(labels.await, ["No"]);
    // A button that was not shown is none.
    let (id, no) = fake
        .books()
        .messages
        .iter()
        .find_map(|(id, message)| Some((*id, message.buttons.first()?.1.clone())))
        .unwrap();
    fake.press(OWNER, OWNER, id, &no.replace("no", "once"));
    fake.until("that it is over", |books| {
        books
            .calls_of("answerCallbackQuery")
            .iter()
            .find(|call| call.parameters["text"] == "This question is out of date.")
            .map(drop)
    })
    .await;
    fake.presses(OWNER, "No");
    fake.reads_part(OWNER, "Then not.").await;
    bot.stop().await.unwrap();
}

// D15, D60
#[tokio::test]
async fn a_short_question_is_whole_and_hides_nothing() {
    let (fake, mut place) = (Fake::start().await, Place::new());
    place.mode = Mode::Ask;
    let command = format!("touch owned\n{}echo \u{200b}ok", "\n".repeat(45));
    let bot = place.start(&fake, &[runs(&command), json!({"say": "Then not."})]);
    fake.says(OWNER, "run");
    let asked = fake.reads_part(OWNER, "Allow this?").await;
    for expected in ["touch owned\\n\\n", "echo \\u{200b}ok", "timeout: 7", "always: this command"] {
        assert!(asked.contains(expected), "{expected} in {asked}");
    }
    assert!(asked.lines().count() < 20, "{asked}");
    fake.presses(OWNER, "No");
    fake.reads_part(OWNER, "Then not.").await;
    bot.stop().await.unwrap();
    assert!(fake.books().calls_of("sendDocument").is_empty());
}

#[tokio::test]
async fn an_approval_that_somebody_else_answers_loses_its_buttons() {
    let (fake, mut place) = (Fake::start().await, Place::new());
    place.mode = Mode::Ask;
    let bot = place.start(&fake, &[write("b.txt"), json!({"say": "Done."})]);
    fake.says(OWNER, "write");
    fake.reads_part(OWNER, "Allow this?").await;
    let asked = place.entries().iter().find_map(|entry| match &entry.fact {
        Fact::ApprovalAsked { call, .. } => Some(call.clone()),
        _ => None,
    });
    let session = bot.session(&place.home().list()[0].id);
    session.send(Command::answer(asked.unwrap(), Answer::Always)).unwrap();
    drop(session);
    fake.reads_part(OWNER, "Allowed in this session.").await;
    fake.reads_part(OWNER, "Done.").await;
    bot.stop().await.unwrap();
    assert!(fake.books().messages.values().all(|message| message.buttons.is_empty()));
}

#[tokio::test]
async fn a_question_is_answered_with_a_button_or_in_words() {
    let (fake, place) = (Fake::start().await, Place::new());
    let ask = json!({"calls": [{"name": "ask", "arguments": {"question": "Which color?", "choices": ["red", "blue"]}}]});
    let script = [
        ask.clone(),
        json!({"expect": "blue", "say": "Blue it is."}),
        ask,
        json!({"expect": "green", "say": "Green it is."}),
    ];
    let bot = place.start(&fake, &script);
    fake.says(OWNER, "paint");
    fake.reads_part(OWNER, "Choose, or write your answer.").await;
    fake.presses(OWNER, "blue");
    fake.reads_part(OWNER, "Blue it is.").await;
    fake.reads_part(OWNER, "Answered: blue").await;
    fake.says(OWNER, "paint again");
    fake.until("the second question", |books| {
        books.messages.values().find(|message| !message.buttons.is_empty()).map(drop)
    })
    .await;
    fake.says(OWNER, "green");
    fake.reads_part(OWNER, "Green it is.").await;
    bot.stop().await.unwrap();
    assert_eq!(place.prompts(), 2);
}

// D55
#[tokio::test]
async fn pictures_and_files_come_in_under_names_of_ours() {
    let (fake, place) = (Fake::start().await, Place::new());
    let png = b"\x89PNG\r\n\x1a\nxx".to_vec();
    fake.books().files.extend([
        ("small".to_owned(), b"tiny".to_vec()),
        ("large".to_owned(), png.clone()),
        ("second".to_owned(), b"\xff\xd8\xff\xe0yy".to_vec()),
        ("evil".to_owned(), b"alias ls=rm".to_vec()),
    ]);
    let bot = place
        .start(&fake, &[json!({"say": "Nice."}), json!({"say": "A file."}), json!({"say": "An album."})]);
    let size =
        |id: &str, width: u32| json!({"file_id": id, "file_unique_id": id, "width": width, "height": width});
    let photo = json!({"photo": [size("small", 9), size("large", 99)], "caption": "look"});
    fake.happens("message", message(OWNER, photo));
    fake.reads(OWNER, &["Nice."]).await;
    let document = |id: &str, name: &str, bytes: u64| json!({"document": {"file_id": id, "file_unique_id": id, "file_name": name, "mime_type": "image/png", "file_size": bytes}});
    fake.happens("message", message(OWNER, document("evil", "../../.bashrc", 11)));
    fake.reads(OWNER, &["Nice.", "A file."]).await;
    fake.happens("message", message(OWNER, document("evil", "huge.iso", 2_000_000_000)));
    let refusal = "I could not take the file \"huge.iso\": it has more than 20 MB.";
    fake.reads(OWNER, &["Nice.", "A file.", refusal]).await;
    let part =
        |id: &str, caption: &str| json!({"media_group_id": "g", "photo": [size(id, 9)], "caption": caption});
    fake.happens("message", message(OWNER, part("large", "both")));
    fake.happens("message", message(OWNER, part("second", "")));
    fake.reads(OWNER, &["Nice.", "A file.", refusal, "An album."]).await;
    bot.stop().await.unwrap();
    let prompts: Vec<Vec<Part>> = place
        .entries()
        .iter()
        .filter_map(|entry| match &entry.fact {
            Fact::Prompted { parts, .. } => Some(parts.clone()),
            _ => None,
        })
        .collect();
    let image = |mime: &str, bytes: &[u8]| Part::Image(Image { mime: mime.into(), data: base64(bytes) });
    assert_eq!(prompts[0], [Part::text("look"), image("image/png", &png)]);
    let session = place.home().list()[0].id.clone();
    let stored = place.home().folder(&session).join("outputs/received-102.bashrc");
    assert_eq!(fs::read_to_string(&stored).unwrap(), "alias ls=rm");
    let told =
        format!("Here is the file \".._.._.bashrc\" with 11 bytes; it lies in `{}`.", stored.display());
    assert_eq!(prompts[1], [Part::text(told)]);
    assert_eq!(
        prompts[2],
        [Part::text("both"), image("image/png", &png), image("image/jpeg", b"\xff\xd8\xff\xe0yy")]
    );
}

fn base64(bytes: &[u8]) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, at| bits << 8 | u32::from(*chunk.get(at).unwrap_or(&0)));
        for at in 0..4 {
            let letter = letters[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

// D55
#[tokio::test]
async fn a_file_of_the_workspace_goes_out_and_no_other() {
    let (fake, place) = (Fake::start().await, Place::new());
    fs::write(place.path("outside.txt"), "secret").unwrap();
    std::os::unix::fs::symlink(place.path("outside.txt"), place.path("w/link.txt")).unwrap();
    let bot = place.start(&fake, &[]);
    for path in ["../outside.txt", "link.txt", "/etc/passwd"] {
        fake.says(OWNER, &format!("/file {path}"));
        fake.reads_part(OWNER, &format!("I cannot send `{path}`: it lies outside of the workspace.")).await;
    }
    fake.says(OWNER, "/file nothing.txt");
    fake.reads_part(OWNER, "I cannot send `nothing.txt`").await;
    fs::write(place.path("w/.env"), format!("KEY={KEY}\n")).unwrap();
    fake.says(OWNER, "/file .env");
    fake.reads_part(OWNER, "I cannot send `.env`: it holds a key").await;
    fake.says(OWNER, "/file a.txt");
    let sent = fake.until("the file", |books| books.calls_of("sendDocument").pop()).await;
    assert!(
        sent.body.contains("filename=\"a.txt\"") && sent.body.contains("\r\n\r\nhello\r\n--"),
        "{}",
        sent.body
    );
    bot.stop().await.unwrap();
    assert_eq!(fake.books().calls_of("sendDocument").len(), 1);
}

// A-84
#[tokio::test]
async fn what_is_no_text_is_told_so_in_a_sentence() {
    let (fake, place) = (Fake::start().await, Place::new());
    let bot = place.start(&fake, &[json!({"say": "Hm."})]);
    fake.happens("message", message(OWNER, json!({"voice": {"file_id": "x"}})));
    fake.happens("message", message(OWNER, json!({"new_chat_title": "x"})));
    fake.happens("edited_message", message(OWNER, json!({"text": "other"})));
    fake.happens("edited_message", message(OWNER, json!({"text": "another"})));
    fake.happens("message", message(OWNER, json!({"text": "/new", "forward_origin": {"type": "user"}})));
    let expected = [
        "I understand text, pictures and files, but no voice messages.",
        "What is edited is not read again: please send it anew.",
        "Hm.",
    ];
    fake.reads(OWNER, &expected).await;
    bot.stop().await.unwrap();
    let entries = place.entries();
    let prompt = entries.iter().find_map(|entry| match &entry.fact {
        Fact::Prompted { parts, .. } => Some(text_of(parts)),
        _ => None,
    });
    // A forwarded message is not a command of the person who forwards it.
    assert_eq!(prompt.as_deref(), Some("Forwarded, in the words of another person:\n/new"));
}

#[tokio::test]
async fn undo_and_redo_tell_which_files() {
    let (fake, place) = (Fake::start().await, Place::new());
    let bot = place.start(&fake, &[write("b.txt"), json!({"say": "Done."})]);
    fake.says(OWNER, "/undo");
    fake.reads_part(OWNER, "Nothing has been said yet.").await;
    fake.says(OWNER, "write");
    fake.reads_part(OWNER, "Done.").await;
    fake.says(OWNER, "/undo");
    let listed = fake.reads_part(OWNER, "What is to be undone?").await;
    assert!(listed.contains("1  write b.txt  + b.txt"), "{listed}");
    fake.presses(OWNER, "The last turn");
    fake.reads_part(OWNER, "- b.txt").await;
    assert_eq!(place.text("b.txt"), None);
    fake.says(OWNER, "/redo");
    fake.until("the redo", |books| books.texts(OWNER).iter().any(|text| text == "+ b.txt").then_some(()))
        .await;
    assert_eq!(place.text("b.txt").as_deref(), Some("new\n"));
    fake.says(OWNER, "/redo");
    fake.reads_part(OWNER, "There is nothing to redo.").await;
    bot.stop().await.unwrap();
}

// H-25
#[tokio::test]
async fn a_call_is_undone_by_its_number_and_those_that_depend_on_it_have_buttons() {
    let (fake, place) = (Fake::start().await, Place::new());
    let edit = json!({"path": "b.txt", "old_text": "new", "new_text": "newer"});
    let edit = json!({"calls": [{"name": "edit", "arguments": edit}]});
    let bot = place.start(&fake, &[write("b.txt"), edit, write("c.txt"), json!({"say": "Done."})]);
    fake.says(OWNER, "write");
    fake.reads_part(OWNER, "Done.").await;
    fake.says(OWNER, "/undo");
    fake.reads_part(OWNER, "What is to be undone?").await;
    fake.presses(OWNER, "1  write b.txt");
    let why = fake.reads_part(OWNER, "call 2 (`edit b.txt`) depends on it").await;
    assert!(why.contains("call 1 cannot be undone alone"), "{why}");
    let files = || (place.text("b.txt"), place.text("c.txt"));
    assert_eq!(files(), (Some("newer\n".into()), Some("new\n".into())));
    fake.presses(OWNER, "Also undo call 2");
    fake.reads_part(OWNER, "calls 1, 2 are undone; the conversation stays as it is").await;
    assert_eq!(files(), (None, Some("new\n".into())));
    // A list counts until something else happens.
    fake.says(OWNER, "/undo");
    fake.reads_part(OWNER, "3  write c.txt  + c.txt").await;
    fake.says(OWNER, "/undo 3");
    fake.reads_part(OWNER, "call 3 is undone").await;
    fake.presses(OWNER, "The last turn");
    let is_over = |books: &fake::Books| {
        let told = books.calls_of("answerCallbackQuery");
        told.iter().any(|call| call.parameters["text"] == "This question is out of date.").then_some(())
    };
    fake.until("the note", is_over).await;
    for (text, expected) in
        [("/undo 9", "there is no call 9 in this session."), ("/undo it", "`it` is no call; type")]
    {
        fake.says(OWNER, text);
        fake.reads_part(OWNER, expected).await;
    }
    assert_eq!(files(), (None, None));
    bot.stop().await.unwrap();
}

#[tokio::test]
async fn a_turn_is_stopped_and_a_conversation_begun_anew() {
    let (fake, place) = (Fake::start().await, Place::new());
    let script = [json!({"say": "I am at it", "hang": true}), json!({"say": "Second."})];
    let bot = place.start(&fake, &script);
    fake.says(OWNER, "/stop");
    fake.reads_part(OWNER, "Nothing is going on.").await;
    fake.says(OWNER, "work");
    fake.reads_part(OWNER, "I am at it").await;
    fake.says(OWNER, "/undo");
    fake.reads_part(OWNER, "Something is going on").await;
    fake.says(OWNER, "/stop");
    fake.reads_part(OWNER, "(interrupted)").await;
    fake.says(OWNER, "/model test/nothing");
    fake.reads_part(OWNER, "there is no model `test/nothing`.").await;
    fake.says(OWNER, "/model test/other");
    fake.reads_part(OWNER, "test/other from the next conversation on").await;
    fake.says(OWNER, "/new");
    fake.reads_part(OWNER, "A new conversation with test/other").await;
    fake.says(OWNER, "hi");
    fake.reads_part(OWNER, "I am the other one.").await;
    fake.says(OWNER, "/model");
    fake.reads_part(OWNER, "The model of this conversation: test/other.").await;
    fake.says(OWNER, "/cost");
    fake.reads_part(OWNER, "tokens so far").await;
    fake.says(OWNER, "/jobs");
    fake.reads_part(OWNER, "There are no jobs in this workspace.").await;
    fake.says(OWNER, "/help");
    fake.reads_part(OWNER, "/fix – mends").await;
    fake.says(OWNER, "/nonsense");
    fake.reads_part(OWNER, "there is no command `/nonsense`").await;
    bot.stop().await.unwrap();
    assert_eq!(place.home().list().len(), 2);
    let commands = fake.books().calls_of("setMyCommands")[0].parameters["commands"].clone();
    assert!(commands.as_array().unwrap().iter().any(|command| command["command"] == "undo"), "{commands}");
}

#[tokio::test]
async fn a_chat_goes_on_with_another_conversation() {
    let (fake, place) = (Fake::start().await, Place::new());
    let bot = place.start(&fake, &[json!({"say": "First."}), json!({"say": "Second."})]);
    fake.says(OWNER, "remember me");
    fake.reads_part(OWNER, "First.").await;
    fake.says(OWNER, "/new");
    fake.reads_part(OWNER, "A new conversation").await;
    fake.says(OWNER, "/sessions");
    fake.reads_part(OWNER, "Conversations in this workspace").await;
    fake.presses(OWNER, "remember me");
    fake.reads_part(OWNER, "From here on we go on with").await;
    fake.says(OWNER, "still there?");
    fake.reads_part(OWNER, "Second.").await;
    fake.says(OWNER, "/join nonsense");
    fake.reads_part(OWNER, "there is no session `nonsense`").await;
    bot.stop().await.unwrap();
    assert_eq!((place.home().list().len(), place.prompts()), (1, 2));
}

// What is said during a turn steers it, and what comes of it stands below.
#[tokio::test]
async fn a_word_in_between_steers() {
    let (fake, place) = (Fake::start().await, Place::new());
    let script = [
        json!({"say": "First I wait.", "calls": [{"name": "bash", "arguments": {"command": "until [ -e go ]; do sleep 0.1; done"}}]}),
        json!({"expect": "hurry", "say": "I hurry."}),
    ];
    let bot = place.start(&fake, &script);
    fake.says(OWNER, "work");
    fake.reads_part(OWNER, "First I wait.").await;
    fake.says(OWNER, "hurry");
    fake.has_looked().await;
    fake.has_looked().await;
    fs::write(place.path("w/go"), "").unwrap();
    fake.reads_part(OWNER, "I hurry.").await;
    bot.stop().await.unwrap();
    let texts = fake.books().texts(OWNER);
    assert_eq!((texts.len(), texts[1].as_str()), (2, "I hurry."), "{texts:?}");
}

// D54
#[tokio::test]
async fn a_turn_that_died_with_the_bot_is_answered_once_after_a_restart() {
    let (fake, place) = (Fake::start().await, Place::new());
    let slow = [
        json!({"say": "I look.", "calls": [{"name": "read", "arguments": {"path": "a.txt"}}]}),
        json!({"say": "It says", "hang": true}),
    ];
    let bot = place.start(&fake, &slow);
    fake.says(OWNER, "read it");
    fake.reads_part(OWNER, "It says").await;
    bot.kill().await;
    let quick = [slow[0].clone(), json!({"say": "It says hello."})];
    let bot = place.start(&fake, &quick);
    fake.reads(OWNER, &["I look.\n\n✓ read a.txt\n\nIt says hello."]).await;
    bot.stop().await.unwrap();
    let bot = place.start(&fake, &quick);
    fake.has_looked().await;
    bot.stop().await.unwrap();
    assert_eq!(fake.books().texts(OWNER).len(), 1);
    assert_eq!(place.prompts(), 1);
}

#[tokio::test]
async fn of_two_chats_in_a_session_one_takes_up_its_turn_after_a_restart() {
    const OTHER: i64 = 8;
    let (fake, mut place) = (Fake::start().await, Place::new());
    place.allowed = vec![OWNER, OTHER];
    let bot = place.start(&fake, &[json!({"say": "It says", "hang": true})]);
    fake.says(OWNER, "read it");
    fake.reads_part(OWNER, "It says").await;
    bot.kill().await;
    place.change_state(|state| {
        let mut other = state["chats"][OWNER.to_string()].clone();
        other["message"] = Value::Null;
        state["chats"][OTHER.to_string()] = other;
    });
    let bot = place.start(&fake, &[json!({"say": "It says hello."})]);
    for chat in [OWNER, OTHER] {
        fake.reads_part(chat, "It says hello.").await;
    }
    bot.stop().await.unwrap();
    let entries = place.entries();
    let continued = entries.iter().filter(|entry| matches!(entry.fact, Fact::Continued));
    assert_eq!(continued.count(), 1);
    assert!(!fake.books().texts(OTHER).iter().any(|text| text.contains("nothing was said")));
}

#[tokio::test]
async fn a_damaged_journal_and_one_that_is_gone_are_told() {
    let (fake, place) = (Fake::start().await, Place::new());
    let script = [json!({"say": "First."}), json!({"say": "Second."})];
    let bot = place.start(&fake, &script);
    fake.says(OWNER, "hi");
    fake.reads_part(OWNER, "First.").await;
    bot.stop().await.unwrap();
    let folder = place.home().folder(&place.home().list()[0].id);
    let journal = fs::read_to_string(folder.join("journal.jsonl")).unwrap();
    let mut lines: Vec<&str> = journal.lines().collect();
    lines[1] = "{";
    fs::write(folder.join("journal.jsonl"), lines.join("\n") + "\n").unwrap();
    let bot = place.start(&fake, &script);
    fake.says(OWNER, "and?");
    fake.reads_part(OWNER, "damaged: line 2 cannot be read and was left out").await;
    fake.reads_part(OWNER, "Second.").await;
    bot.stop().await.unwrap();
    fs::remove_dir_all(folder).unwrap();
    let bot = place.start(&fake, &script);
    fake.says(OWNER, "and now?");
    fake.reads_part(OWNER, "is no longer there: another one begins").await;
    bot.stop().await.unwrap();
}

// D54
#[tokio::test]
async fn an_answer_that_telegram_did_not_take_comes_after_a_restart() {
    let (fake, place) = (Fake::start().await, Place::new());
    let script = [json!({"say": "An answer."})];
    for _ in 0..3 {
        fake.fault("sendMessage", 500, json!({"ok": false, "error_code": 500, "description": "down"}));
    }
    let bot = place.start(&fake, &script);
    fake.says(OWNER, "hi");
    fake.until("a try", |books| books.calls_of("sendMessage").pop()).await;
    fake.until("the turn's end", |_| {
        place.entries().iter().any(|entry| matches!(entry.fact, Fact::TurnEnded { .. })).then_some(())
    })
    .await;
    bot.kill().await;
    assert_eq!(fake.books().texts(OWNER), [""; 0]);
    let bot = place.start(&fake, &script);
    fake.reads(OWNER, &["An answer."]).await;
    bot.stop().await.unwrap();
    assert_eq!(place.prompts(), 1);
}

#[tokio::test]
async fn buttons_of_before_are_over_after_a_restart() {
    let (fake, mut place) = (Fake::start().await, Place::new());
    place.mode = Mode::Ask;
    let script = [write("b.txt"), json!({"say": "Done."})];
    let bot = place.start(&fake, &script);
    fake.says(OWNER, "write");
    fake.reads_part(OWNER, "Allow this?").await;
    let (id, old) = fake
        .books()
        .messages
        .iter()
        .find_map(|(id, message)| Some((*id, message.buttons.first()?.1.clone())))
        .unwrap();
    bot.kill().await;
    let bot = place.start(&fake, &script);
    let fresh = |books: &fake::Books| {
        books.messages.iter().filter(|(other, message)| **other != id && !message.buttons.is_empty()).count()
    };
    fake.until("the question anew", |books| (fresh(books) == 1).then_some(())).await;
    fake.press(OWNER, OWNER, id, &old);
    fake.until("that it is over", |books| {
        books
            .calls_of("answerCallbackQuery")
            .iter()
            .find(|call| call.parameters["text"] == "This question is out of date.")
            .map(drop)
    })
    .await;
    assert!(fake.books().messages[&id].buttons.is_empty());
    fake.presses(OWNER, "Allow once");
    fake.reads_part(OWNER, "Done.").await;
    bot.stop().await.unwrap();
    assert_eq!(place.text("b.txt").as_deref(), Some("new\n"));
}

#[tokio::test]
async fn why_a_bot_cannot_run_is_told_without_its_token() {
    let table = [
        ("getMe", refused(401, "Unauthorized"), "Telegram refuses the token: Unauthorized", 1),
        (
            "getUpdates",
            refused(409, "Conflict: terminated by other getUpdates request"),
            "cannot ask for updates: Conflict",
            4,
        ),
        (
            "getUpdates",
            refused(409, "Conflict: can't use getUpdates method while webhook is active"),
            "cannot ask for updates: Conflict",
            1,
        ),
    ];
    for (method, (status, answer), expected, times) in table {
        let (fake, place) = (Fake::start().await, Place::new());
        (0..times).for_each(|_| fake.fault(method, status, answer.clone()));
        let bot = place.start(&fake, &[]);
        let ended = bot.ended().await.unwrap_err();
        assert!(ended.to_string().starts_with(expected), "{ended}");
        assert!(!format!("{ended} {ended:?} {}", ended.hint()).contains("secret"));
    }
    let (fake, place) = (Fake::start().await, Place::new());
    let first = place.start(&fake, &[]);
    fake.until("a look", |books| books.calls_of("getUpdates").pop()).await;
    let second = place.start(&fake, &[]);
    let ended = second.ended().await;
    assert!(matches!(ended, Err(Trouble::Taken)), "{ended:?}");
    first.stop().await.unwrap();
}

#[tokio::test]
async fn where_telegram_is_away_it_is_waited_for() {
    let (fake, place) = (Fake::start().await, Place::new());
    fake.books().outage = Some(refused(502, "Bad Gateway"));
    let bot = place.start(&fake, &[json!({"say": "Back."})]);
    fake.until("two tries", |books| (books.calls_of("getMe").len() > 1).then_some(())).await;
    fake.books().outage = None;
    fake.says(OWNER, "hi");
    fake.reads(OWNER, &["Back."]).await;
    bot.stop().await.unwrap();
    let away: Vec<_> = place.notes().into_iter().filter(|note| note.contains("cannot be asked")).collect();
    assert_eq!(away.len(), 1, "{away:?}");
    assert!(!away[0].contains("secret"), "{away:?}");
}

// A picture that a call gives is seen by people, too.
#[tokio::test]
async fn pictures_of_calls_go_out() {
    let (fake, place) = (Fake::start().await, Place::new());
    let png = [b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 40]].concat();
    fs::write(place.path("w/p.png"), &png).unwrap();
    let script =
        [json!({"calls": [{"name": "read", "arguments": {"path": "p.png"}}]}), json!({"say": "A picture."})];
    let bot = place.start(&fake, &script);
    fake.says(OWNER, "show it");
    let sent = fake.until("the picture", |books| books.calls_of("sendPhoto").pop()).await;
    assert!(sent.body.to_lowercase().contains("content-type: image/png"), "{}", sent.body);
    fake.reads_part(OWNER, "A picture.").await;
    bot.stop().await.unwrap();
}

#[tokio::test]
async fn a_chat_joins_a_session_that_another_process_has_open() {
    let (fake, mut place) = (Fake::start().await, Place::new());
    place.mode = Mode::Ask;
    let other = place.engine_of(&[write("b.txt"), json!({"say": "Done."}), json!({"say": "For both."})]);
    let session = other.create("haft").unwrap();
    session.send(Command::Prompt { parts: vec![Part::text("write")], channel: None }).unwrap();
    let asked = || session.entries().iter().any(|entry| matches!(entry.fact, Fact::ApprovalAsked { .. }));
    fake.until("the question", |_| asked().then_some(())).await;
    let bot = place.start(&fake, &[]);
    fake.says(OWNER, &format!("/join {}", session.id()));
    fake.reads_part(OWNER, "+++ b/b.txt").await;
    fake.presses(OWNER, "Allow once");
    fake.reads_part(OWNER, "Allowed once.").await;
    fake.reads_part(OWNER, "Done.").await;
    assert_eq!(place.text("b.txt").as_deref(), Some("new\n"));
    fake.says(OWNER, "and now?");
    fake.reads_part(OWNER, "For both.").await;
    bot.stop().await.unwrap();
    other.shut_down().await;
    assert_eq!((place.home().list().len(), place.prompts()), (1, 2));
}

/// A bot gives no orders to a session that another process has open in a wider mode than its own.
// H-127
#[tokio::test]
async fn a_session_in_a_wider_mode_elsewhere_takes_no_orders_from_a_bot() {
    let (fake, mut place) = (Fake::start().await, Place::new());
    let other = place.engine_of(&[json!({"say": "First."}), json!({"say": "Second."}), write("b.txt")]);
    let session = other.create("haft").unwrap();
    session.prompt("begin").await.unwrap();
    place.mode = Mode::ReadOnly;
    let bot = place.start(&fake, &[]);
    let join = format!("/join {}", session.id());
    fake.says(OWNER, &join);
    fake.reads_part(OWNER, "in the mode `full`, and I allow `read-only` at most").await;
    session.start(Command::SetMode { mode: Mode::ReadOnly }).report().await;
    fake.says(OWNER, &join);
    fake.reads_part(OWNER, "From here on").await;
    fake.says(OWNER, "go on");
    fake.reads_part(OWNER, "Second.").await;
    session.start(Command::SetMode { mode: Mode::Full }).report().await;
    fake.says(OWNER, "write it");
    fake.until("the refusal", |books| {
        let refusals = books.texts(OWNER).iter().filter(|text| text.contains("I allow `read-only`")).count();
        (refusals == 2).then_some(())
    })
    .await;
    bot.stop().await.unwrap();
    other.shut_down().await;
    assert_eq!((place.text("b.txt"), place.prompts()), (None, 2));
}

#[tokio::test]
async fn a_bot_that_is_ended_says_so_in_its_chats() {
    let (fake, place) = (Fake::start().await, Place::new());
    // What was interrupted counts as a reply of the script.
    let script = [json!({"say": "I am at it", "hang": true}), json!({"say": ""}), json!({"say": "Again."})];
    let bot = place.start(&fake, &script);
    fake.says(OWNER, "work");
    fake.reads(OWNER, &["I am at it"]).await;
    bot.stop().await.unwrap();
    assert_eq!(fake.books().texts(OWNER), ["I am at it\n\n(interrupted)"]);
    let bot = place.start(&fake, &script);
    fake.has_looked().await;
    fake.says(OWNER, "and now?");
    fake.reads(OWNER, &["I am at it\n\n(interrupted)", "Again."]).await;
    bot.stop().await.unwrap();
}

// D54
#[tokio::test]
async fn what_was_said_and_not_recorded_is_heard_after_a_restart() {
    let (fake, place) = (Fake::start().await, Place::new());
    let bot = place.start(&fake, &[]);
    fake.books().files.insert("a".into(), b"some text".to_vec());
    // A file that Telegram gives out late: the bot dies before it has it.
    fake.fault("getFile", 429, json!({"ok": false, "error_code": 429, "parameters": {"retry_after": 600}}));
    let document = json!({"document": {"file_id": "a", "file_unique_id": "a", "file_name": "a.txt"}, "caption": "read this"});
    fake.happens("message", message(OWNER, document));
    fake.says(OWNER, "and then this");
    fake.until("a try", |books| books.calls_of("getFile").pop()).await;
    fake.has_looked().await;
    bot.kill().await;
    let bot = place.start(&fake, &[json!({"say": "One."}), json!({"say": "Two."}), json!({"say": "Three."})]);
    fake.reads_part(OWNER, "One.").await;
    fake.until("both", |_| (place.prompts() == 2).then_some(())).await;
    bot.stop().await.unwrap();
    let bot = place.start(&fake, &[]);
    fake.has_looked().await;
    bot.stop().await.unwrap();
    assert_eq!(place.prompts(), 2);
    let kept = fs::read_to_string(place.path("home/telegram/4711.json")).unwrap();
    assert!(kept.contains("\"unsent\": []"), "{kept}");
}

// D54
#[tokio::test]
async fn what_the_journal_has_is_not_said_again_after_a_restart() {
    let (fake, place) = (Fake::start().await, Place::new());
    let script = |last: Value| [json!({"say": "I am at it", "hang": true}), last];
    let bot = place.start(&fake, &script(json!({"say": "x"})));
    fake.says(OWNER, "work");
    fake.reads_part(OWNER, "I am at it").await;
    bot.kill().await;
    // As it is where the bot dies between the journal's entry and its own.
    place.change_state(|state| {
        state["chats"]["7"]["unsent"] = json!([{"id": 101, "chat": OWNER, "is_private": true, "from": {"id": OWNER, "name": "Ada"}, "text": "work", "is_forwarded": false}]);
    });
    let bot = place.start(&fake, &[json!({"say": "Done."}), json!({"say": "Twice."})]);
    fake.reads_part(OWNER, "Done.").await;
    fake.says(OWNER, "/cost");
    fake.reads_part(OWNER, "tokens so far").await;
    bot.stop().await.unwrap();
    assert_eq!(place.prompts(), 1);
    assert_eq!(place.state()["chats"]["7"]["unsent"], json!([]));
}

// D54: a chat that waits for something has not looked at it yet.
#[tokio::test]
async fn what_was_handed_over_and_not_looked_at_is_heard_after_a_restart() {
    let (fake, place) = (Fake::start().await, Place::new());
    let bot = place.start(&fake, &[]);
    fake.says(OWNER, "/model test/slow");
    fake.says(OWNER, "work");
    fake.says(OWNER, "/cost");
    fake.has_looked().await;
    bot.kill().await;
    let bot = place.start(&fake, &[json!({"say": "Done."})]);
    fake.reads_part(OWNER, "Done.").await;
    fake.reads_part(OWNER, "tokens so far").await;
    bot.stop().await.unwrap();
    assert_eq!(place.prompts(), 1);
    assert_eq!(place.state()["chats"]["7"]["unsent"], json!([]));
}

#[tokio::test]
async fn chats_of_those_who_may_no_longer_talk_are_forgotten() {
    let (fake, mut place) = (Fake::start().await, Place::new());
    place.allowed.push(8);
    let bot = place.start(&fake, &[json!({"say": "I am at it", "hang": true})]);
    fake.says(OWNER, "work");
    fake.reads_part(OWNER, "I am at it").await;
    fake.happens("message", group(OWNER, "/cost@haft_bot", json!({})));
    fake.reads_part(GROUP, "Nothing has been said yet.").await;
    bot.kill().await;
    let before = place.entries().len();
    place.change_state(|state| {
        let unsent = |who: i64| json!({"id": who, "chat": GROUP, "is_private": false, "from": {"id": who, "name": "x"}, "text": "hi", "is_forwarded": false});
        state["chats"]["-100"]["people"] = json!([OWNER, 8]);
        state["chats"]["-100"]["unsent"] = json!([unsent(OWNER)]);
        state["chats"]["-200"] = json!({"is_group": true, "people": [OWNER], "unsent": [unsent(OWNER)]});
    });
    place.allowed = vec![8];
    let bot = place.start(&fake, &[json!({"say": "Done."})]);
    fake.says(8, "/help");
    fake.reads_part(8, "/undo").await;
    bot.stop().await.unwrap();
    assert_eq!((place.entries().len(), place.home().list().len()), (before, 1));
    let chats = place.state()["chats"].clone();
    assert_eq!(chats.as_object().unwrap().keys().collect::<Vec<_>>(), ["-100", "8"]);
    assert_eq!(chats["-100"]["unsent"], json!([]));
    assert!(
        place.notes().iter().any(|note| note.starts_with("2 chats are forgotten")),
        "{:?}",
        place.notes()
    );
}

// A forwarded message answers no question, and an answer holds nothing that a terminal obeys.
#[tokio::test]
async fn a_question_is_answered_in_the_person_s_own_words() {
    let (fake, place) = (Fake::start().await, Place::new());
    let ask = json!({"calls": [{"name": "ask", "arguments": {"question": "Which color?"}}]});
    let bot = place.start(&fake, &[ask, json!({"say": "Done."}), json!({"say": "Done, too."})]);
    fake.says(OWNER, "paint");
    fake.reads_part(OWNER, "Which color?").await;
    fake.happens("message", message(OWNER, json!({"text": "red", "forward_origin": {"type": "user"}})));
    fake.says(OWNER, "gr\u{1b}[31meen");
    fake.reads_part(OWNER, "Done").await;
    bot.stop().await.unwrap();
    let answers: Vec<String> = place
        .entries()
        .iter()
        .filter_map(|entry| match &entry.fact {
            Fact::QuestionAnswered { answer, .. } => answer.clone(),
            _ => None,
        })
        .collect();
    assert!(matches!(&answers[..], [one] if one.ends_with("een") && !one.contains('\u{1b}')), "{answers:?}");
}

#[tokio::test]
async fn a_chat_takes_no_model_from_a_file_and_few_engines_are_kept() {
    let (fake, place) = (Fake::start().await, Place::new());
    let bot = place.start(&fake, &[]);
    for spec in ["script//etc/passwd", "script/a.json", "local/../x.gguf", "local/~/x", "exec//bin/sh"] {
        fake.says(OWNER, &format!("/model {spec}"));
        fake.reads_part(OWNER, &format!("`{spec}` names a file")).await;
    }
    assert_eq!(*place.opened.lock().unwrap(), [""; 0]);
    for n in [0, 1, 2, 3, 4, 4, 0] {
        fake.says(OWNER, &format!("/model test/other{n}"));
        fake.says(OWNER, "/model");
        fake.reads_part(OWNER, &format!("The next one: test/other{n}.")).await;
        fake.books().messages.clear();
    }
    bot.stop().await.unwrap();
    let opened = place.opened.lock().unwrap().clone();
    assert_eq!(opened.iter().filter(|spec| *spec == "test/other0").count(), 2, "{opened:?}");
    assert_eq!(opened.iter().filter(|spec| *spec == "test/other4").count(), 1, "{opened:?}");
}

fn too_many(retry_after: u64) -> Value {
    json!({"ok": false, "error_code": 429, "description": "Too Many Requests", "parameters": {"retry_after": retry_after}})
}

// A-86
#[tokio::test]
async fn an_answer_is_told_also_where_the_chat_has_begun_anew() {
    let (fake, place) = (Fake::start().await, Place::new());
    fake.fault("sendMessage", 429, too_many(3));
    let bot = place.start(&fake, &[json!({"say": "An answer."})]);
    // The answer waits behind it.
    fake.says(OWNER, "/stop");
    fake.says(OWNER, "hi");
    fake.until("the turn's end", |_| {
        place.entries().iter().any(|entry| matches!(entry.fact, Fact::TurnEnded { .. })).then_some(())
    })
    .await;
    fake.says(OWNER, "/new");
    fake.says(OWNER, "and?");
    let begun = "A new conversation: what is to be done?";
    let expected = ["Nothing is going on.", "An answer.", begun, "An answer."];
    fake.reads(OWNER, &expected).await;
    bot.stop().await.unwrap();
    // Nothing more of it at the next start.
    let bot = place.start(&fake, &[]);
    fake.has_looked().await;
    bot.stop().await.unwrap();
    assert_eq!(fake.books().texts(OWNER), expected);
}

/// A file that is still on its way belongs to the conversation that it was sent to.
#[tokio::test]
async fn what_is_being_fetched_does_not_land_in_the_next_conversation() {
    let (fake, place) = (Fake::start().await, Place::new());
    let bot = place.start(&fake, &[json!({"say": "An answer."})]);
    let file = json!({"file_id": "slow", "file_unique_id": "slow", "file_name": "a.txt"});
    fake.happens("message", message(OWNER, json!({"document": file, "caption": "read this"})));
    fake.until("the file is asked for", |books| {
        books.calls.iter().any(|call| call.method == "getFile").then_some(())
    })
    .await;
    fake.says(OWNER, "and this");
    fake.says(OWNER, "/new");
    let left = "What you sent just before is left out: please send it again if it still matters.";
    let begun = "A new conversation: what is to be done?";
    fake.reads(OWNER, &[left, begun]).await;
    fake.books().files.insert("slow".into(), b"some text".to_vec());
    fake.says(OWNER, "hi");
    fake.reads(OWNER, &[left, begun, "An answer."]).await;
    bot.stop().await.unwrap();
    // Nor in one after the next start.
    let bot = place.start(&fake, &[]);
    fake.has_looked().await;
    bot.stop().await.unwrap();
    assert_eq!(fake.books().texts(OWNER), [left, begun, "An answer."]);
}

#[tokio::test]
async fn odd_numbers_of_a_server_end_nothing() {
    let (fake, mut place) = (Fake::start().await, Place::new());
    place.allowed.push(8);
    let bot = place.start(&fake, &[json!({"say": "Hi."})]);
    fake.batch(vec![json!({"update_id": i64::MAX, "message": message(OWNER, json!({"text": "odd"}))})]);
    fake.has_looked().await;
    fake.fault("sendMessage", 429, too_many(u64::MAX));
    fake.says(OWNER, "/help");
    let is_told = |part: &str| place.notes().iter().any(|note| note.contains(part)).then_some(());
    fake.until("the note", |_| is_told("before 3600 s")).await;
    fake.says(8, "hi");
    fake.reads(8, &["Hi."]).await;
    bot.kill().await;
    let bot = place.start(&fake, &[]);
    fake.has_looked().await;
    bot.stop().await.unwrap();
    assert_eq!(place.prompts(), 1);
}

// X-31
#[tokio::test]
async fn what_telegram_asks_to_wait_is_waited_also_by_what_is_whole() {
    let (fake, place) = (Fake::start().await, Place::new());
    fake.fault("editMessageText", 429, too_many(4));
    let answer = "word ".repeat(40);
    let bot = place.start(&fake, &[json!({"say": answer, "pieces": 20, "delay_ms": 150})]);
    fake.says(OWNER, "hi");
    fake.reads(OWNER, &[answer.trim_end()]).await;
    bot.stop().await.unwrap();
    let edits = fake.books().calls_of("editMessageText");
    assert!(edits[1].at - edits[0].at >= Duration::from_secs(4), "{edits:#?}");
}

#[tokio::test]
async fn a_file_that_does_not_go_out_is_told_and_holds_nothing_up() {
    let table = [(1, 413, json!("too large"), "413"), (9, 502, json!("bad gateway"), "502")];
    for (times, status, answer, part) in table {
        let (fake, place) = (Fake::start().await, Place::new());
        (0..times).for_each(|_| fake.fault("sendDocument", status, answer.clone()));
        let bot = place.start(&fake, &[]);
        fake.says(OWNER, "/file a.txt");
        fake.says(OWNER, "/stop");
        let told = fake.reads_part(OWNER, "I could not send the file a.txt").await;
        assert!(told.contains(part), "{told}");
        fake.reads_part(OWNER, "Nothing is going on.").await;
        bot.stop().await.unwrap();
        let tries = place.notes().iter().filter(|note| note.contains("trying on")).count();
        assert_eq!(tries, usize::from(times > 1), "{:?}", place.notes());
    }
}

#[tokio::test]
async fn no_other_model_answers_without_a_word() {
    let (fake, place) = (Fake::start().await, Place::new());
    let bot = place.start(&fake, &[json!({"say": "The usual one."})]);
    fake.says(OWNER, "/model test/other");
    fake.says(OWNER, "hi");
    fake.reads_part(OWNER, "I am the other one.").await;
    bot.stop().await.unwrap();
    place.change_state(|state| state["chats"]["7"]["model"] = json!("test/gone"));
    let bot = place.start(&fake, &[json!({"say": "The usual one."})]);
    fake.says(OWNER, "and now?");
    let told = fake.reads_part(OWNER, "cannot be had").await;
    assert!(told.starts_with("`test/gone` cannot be had: there is no model `test/gone`."), "{told}");
    fake.says(OWNER, "/new");
    fake.says(OWNER, "/model script/test");
    fake.says(OWNER, &format!("/join {}", place.home().list()[0].id));
    fake.reads_part(OWNER, "; script/test answers.").await;
    bot.stop().await.unwrap();
    assert_eq!(place.prompts(), 1);
}

#[tokio::test]
async fn a_question_stays_open_whatever_is_told_of_before() {
    let (fake, mut place) = (Fake::start().await, Place::new());
    place.mode = Mode::Ask;
    let other = place.engine_of(&[
        json!({"say": "First."}),
        json!({"say": "Second."}),
        write("b.txt"),
        json!({"say": "Done."}),
    ]);
    let session = other.create("haft").unwrap();
    let prompt = || Command::Prompt { parts: vec![Part::text("go on")], channel: None };
    let ends =
        || session.entries().iter().filter(|entry| matches!(entry.fact, Fact::TurnEnded { .. })).count();
    session.send(prompt()).unwrap();
    fake.until("the first turn's end", |_| (ends() == 1).then_some(())).await;
    let bot = place.start(&fake, &[]);
    fake.says(OWNER, &format!("/join {}", session.id()));
    fake.reads_part(OWNER, "From here on").await;
    bot.stop().await.unwrap();
    // Meanwhile, elsewhere.
    session.send(prompt()).unwrap();
    fake.until("the second turn's end", |_| (ends() == 2).then_some(())).await;
    session.send(prompt()).unwrap();
    let asked = || session.entries().iter().any(|entry| matches!(entry.fact, Fact::ApprovalAsked { .. }));
    fake.until("the question", |_| asked().then_some(())).await;
    let bot = place.start(&fake, &[]);
    fake.reads_part(OWNER, "Second.").await;
    fake.reads_part(OWNER, "+++ b/b.txt").await;
    fake.says(OWNER, "/help");
    fake.reads_part(OWNER, "/undo").await;
    fake.presses(OWNER, "Allow once");
    fake.reads_part(OWNER, "Done.").await;
    bot.stop().await.unwrap();
    other.shut_down().await;
    assert_eq!(place.text("b.txt").as_deref(), Some("new\n"));
}

#[tokio::test]
async fn what_the_owner_of_a_session_did_not_take_is_said_here() {
    let (fake, place) = (Fake::start().await, Place::new());
    let waits = json!({"say": "I look.", "calls": [{"name": "bash", "arguments": {"command": "until [ -e go ]; do sleep 0.1; done"}}]});
    let script = [waits, json!({"say": "Taken up."}), json!({"say": "Taken up."})];
    let (kill, killed) = tokio::sync::oneshot::channel::<()>();
    let (tell, told) = tokio::sync::oneshot::channel();
    let owner = place.engine_of(&script);
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let session = owner.create("haft").unwrap();
            session.send(Command::Prompt { parts: vec![Part::text("work")], channel: None }).unwrap();
            tell.send(session.id().clone()).unwrap();
            let _nobody_says_goodbye = killed.await;
        });
    });
    let id = told.await.unwrap();
    let runs = || place.entries().iter().any(|entry| matches!(entry.fact, Fact::ToolStarted { .. }));
    fake.until("the call", |_| runs().then_some(())).await;
    let bot = place.start(&fake, &script);
    fake.says(OWNER, &format!("/join {id}"));
    fake.reads_part(OWNER, "From here on").await;
    fake.says(OWNER, "hear me");
    fake.has_looked().await;
    fake.has_looked().await;
    kill.send(()).unwrap();
    tokio::task::spawn_blocking(move || thread.join().unwrap()).await.unwrap();
    fake.reads_part(OWNER, "Taken up.").await;
    fs::write(place.path("w/go"), "").unwrap();
    bot.stop().await.unwrap();
    assert_eq!(place.prompts(), 2);
    assert_eq!(place.state()["chats"]["7"]["unsent"], json!([]));
}

#[tokio::test]
async fn what_another_chat_follows_goes_on() {
    let (fake, mut place) = (Fake::start().await, Place::new());
    place.allowed.push(8);
    let script = [
        json!({"say": "I wait.", "calls": [{"name": "bash", "arguments": {"command": "until [ -e go ]; do sleep 0.1; done"}}]}),
        json!({"say": "Done."}),
    ];
    let bot = place.start(&fake, &script);
    fake.says(OWNER, "work");
    fake.reads_part(OWNER, "I wait.").await;
    fake.says(8, &format!("/join {}", place.home().list()[0].id));
    fake.reads_part(8, "From here on").await;
    fake.says(OWNER, "/new");
    fake.reads_part(OWNER, "A new conversation").await;
    fs::write(place.path("w/go"), "").unwrap();
    fake.reads_part(8, "Done.").await;
    bot.stop().await.unwrap();
}

#[tokio::test]
async fn a_message_that_somebody_deletes_while_it_grows_comes_anew() {
    let (fake, place) = (Fake::start().await, Place::new());
    let script = json!({"say": "A **long** word. ".repeat(20), "pieces": 20, "delay_ms": 120});
    let bot = place.start(&fake, &[script]);
    fake.says(OWNER, "hi");
    fake.reads_part(OWNER, "A long").await;
    fake.books().messages.clear();
    fake.reads(OWNER, &["A long word. ".repeat(20).trim_end()]).await;
    bot.stop().await.unwrap();
}
