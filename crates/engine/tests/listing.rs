//! What is read of the journals of sessions, to list them and to find the newest one. A binary of its own: it counts what
//! its process reads.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
use haft_core::{Entry, Fact, Part, Seq, SessionId, SessionOpened, event::JOURNAL_VERSION};
use haft_engine::{Home, Summary};
use std::{fs, path::Path};

/// As much as many rounds with long results leave.
const LONG: usize = 4 << 20;

fn write(home: &Home, id: &str, text: &str) {
    let folder = home.folder(&SessionId(id.into()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("journal.jsonl"), text).unwrap();
}

fn line(seq: u64, at: u64, fact: Fact) -> String {
    serde_json::to_string(&Entry { seq: Seq(seq), parent: None, at, fact, chain: None }).unwrap() + "\n"
}

fn opened(id: &str, at: u64, workspace: &str) -> String {
    let fact = Fact::SessionOpened(SessionOpened {
        version: JOURNAL_VERSION,
        session: SessionId(id.into()),
        agent: "haft".into(),
        model: "script/m".into(),
        effort: None,
        workspace: workspace.into(),
        profile: "default".into(),
        delegated_by: None,
        order: None,
        forked_from: None,
        user: None,
        commit: None,
    });
    line(0, at, fact)
}

fn prompted(seq: u64, at: u64, text: &str) -> String {
    line(seq, at, Fact::Prompted { parts: vec![Part::text(text)], channel: None })
}

fn failed(seq: u64, at: u64, length: usize) -> String {
    line(seq, at, Fact::ModelFailed { message: "x".repeat(length), hint: None, reason: None })
}

/// How many bytes this process has read so far.
#[cfg(target_os = "linux")]
fn read_so_far() -> usize {
    let counters = fs::read_to_string("/proc/self/io").unwrap();
    let line = counters.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn of_a_long_journal_only_its_ends_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home(folder.path().to_owned());
    for number in 0..10 {
        let id = format!("2026010{number}-long");
        let text = opened(&id, number, &format!("/work/{number}"))
            + &prompted(1, number, "Fix it.\nAll of it.")
            + &failed(2, number, LONG)
            + &failed(3, 1_000 - number, 1);
        write(&home, &id, &text);
    }
    let before = read_so_far();
    let list = home.list();
    let listed = read_so_far();
    let newest = home.newest(Path::new("/work/3"), |_| true);
    let found = read_so_far();
    assert!(listed - before < LONG / 2, "{} bytes were read to list", listed - before);
    assert!(found - listed < LONG / 2, "{} bytes were read to find one", found - listed);
    assert_eq!(newest, Some(SessionId("20260103-long".into())));
    let expected = Summary {
        id: SessionId("20260109-long".into()),
        opened_at: 9,
        last_at: 991,
        workspace: "/work/9".into(),
        model: "script/m".into(),
        name: None,
        title: "Fix it.".into(),
        entries: 4,
        delegated_by: None,
        forked_from: None,
        user: None,
    };
    assert_eq!((list.len(), list.first()), (10, Some(&expected)));
}

#[test]
fn a_list_says_the_same_of_journals_of_every_kind() {
    let newer = opened("a", 1, "/w")
        .replace(&format!("\"version\":{JOURNAL_VERSION}"), &format!("\"version\":{}", JOURNAL_VERSION + 1));
    let begun = opened("a", 1, "/w");
    let talk = begun.clone() + &failed(1, 2, 1) + &prompted(2, 3, "one") + &prompted(3, 4, "two");
    let table = [
        ("nothing", String::new(), None),
        ("half a line", begun.trim_end().into(), None),
        ("a newer version", newer, None),
        ("no journal", "junk\n".into(), None),
        ("begun", begun.clone(), Some((1, "", 1))),
        ("a talk", talk.clone(), Some((4, "one", 4))),
        ("a torn end", talk.clone() + &prompted(4, 9, "three")[..40], Some((4, "one", 4))),
        ("zeros at the end", talk.clone() + &"\0".repeat(4096), Some((4, "one", 4))),
        ("a line that stands there twice", talk.clone() + &prompted(3, 4, "two"), Some((4, "one", 4))),
        ("an empty prompt", begun.clone() + &prompted(1, 2, ""), Some((2, "", 2))),
        ("a long prompt", begun + &prompted(1, 2, &"ü".repeat(20_000)), Some((2, &*"ü".repeat(60), 2))),
    ];
    for (what, text, expected) in table {
        let folder = tempfile::tempdir().unwrap();
        let home = Home(folder.path().to_owned());
        write(&home, "a", &text);
        let list = home.list();
        let found = list.first().map(|session| (session.last_at, session.title.as_str(), session.entries));
        assert_eq!(found, expected, "{what}");
        let newest = home.newest(Path::new("/w"), |_| true);
        assert_eq!(newest.is_some(), expected.is_some(), "{what}");
        assert_eq!(home.newest(Path::new("/other"), |_| true), None, "{what}");
    }
}
