//! One session, three front-ends in three processes: begun on the screen, allowed from Telegram, taken back from the
//! command line.

#[expect(dead_code, reason = "this file uses its part")]
#[path = "../../../../telegram/tests/telegram/fake.rs"]
mod fake;

use crate::kit::{Place, terminal::Terminal};
use fake::{Fake, TOKEN};
use serde_json::{Value, json};
use std::process::{Child, Stdio};

/// Who may talk to the bot.
const PERSON: i64 = 7;

/// Ended by its id when the test is over.
struct Bot(Child);

impl Drop for Bot {
    fn drop(&mut self) {
        let _it_has_ended = self.0.kill();
        let _it_has_ended = self.0.wait();
    }
}

fn bot(place: &Place, fake: &Fake) -> Bot {
    let model = place.script("bot.jsonl", &[json!({"say": "unused"})]);
    let mut command = place.haft(&["telegram", "--allow", &PERSON.to_string(), "--model", &model]);
    command.env("TELEGRAM_BOT_TOKEN", TOKEN).env("TELEGRAM_BASE_URL", &fake.url).stderr(Stdio::null());
    Bot(command.spawn().unwrap())
}

fn newest_session(place: &Place) -> String {
    let list = place.run(&["sessions", "list", "--json"]).out;
    let newest: Value = serde_json::from_str(list.lines().next().unwrap()).unwrap();
    newest["session"].as_str().unwrap().to_owned()
}

/// O-11, A-83, C-73: what one front-end begins, the others go on with.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn begun_on_the_screen_allowed_from_telegram_taken_back_from_the_command_line() {
    let place = Place::new();
    place.write("a.txt", "hello\nworld\n");
    let edit = json!({"name": "edit", "arguments": {"path": "a.txt", "old": "world", "new": "Welt"}});
    place.script("model.jsonl", &[json!({"calls": [edit]}), json!({"say": "Translated."})]);
    let Some(terminal) = Terminal::open(&place, (70, 24)) else { return };
    terminal.haft(&place, "--model script/../model.jsonl");
    terminal.see("what to do?");
    terminal.say("translate it");
    terminal.see("1. Yes");

    let fake = Fake::start().await;
    let _bot = bot(&place, &fake);
    fake.says(PERSON, &format!("/join {}", newest_session(&place)));
    let question = fake.reads_part(PERSON, "Welt").await;
    assert!(question.contains("world"), "the diff is there: {question}");
    fake.presses(PERSON, "Allow once");
    let screen = terminal.see("Translated.");
    assert!(!screen.contains("1. Yes"), "{screen}");
    assert_eq!(place.read("a.txt").unwrap(), "hello\nWelt\n");
    fake.reads_part(PERSON, "Translated.").await;

    let undone = place.run(&["undo"]);
    assert_eq!(undone.code, 0, "{}", undone.err);
    assert!(undone.out.contains("~ a.txt put back"), "{}", undone.out);
    assert!(undone.err.contains("joined"), "{}", undone.err);
    assert_eq!(place.read("a.txt").unwrap(), "hello\nworld\n");
    terminal.see("went back");
}
