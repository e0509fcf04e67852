//! The journal of a session is a hash chain, also where it was damaged, is a copy, or began without one.
use crate::kit::{Place, prompt, says, tell, wait_until_free};
use haft_core::{
    SessionOpened,
    chain::{self, Chain, ChainFault, Cuts},
};
use haft_engine::Home;
use std::fs;

/// A session with one turn that has ended, and its journal.
async fn recorded(place: &Place) -> (String, Vec<u8>) {
    let session = place.session(&says("hi"));
    tell(&session, prompt("go"), 1, None).await;
    let (id, path) = (session.id().0.clone(), session.journal().path().to_owned());
    drop(session);
    wait_until_free(place, &id).await;
    (id, fs::read(path).unwrap())
}

/// The chain of the journal `bytes` after one more turn.
async fn goes_on(place: &Place, id: &str, bytes: &[u8]) -> Result<Chain, ChainFault> {
    wait_until_free(place, id).await;
    let path = Home(place.home()).folder(&haft_core::SessionId(id.to_owned())).join("journal.jsonl");
    fs::write(&path, bytes).unwrap();
    let session = place.engine(&(says("hi") + &says("again"))).resume(id, "haft").unwrap();
    tell(&session, prompt("more"), 1, None).await;
    chain::check(&fs::read(&path).unwrap(), Cuts::Refused)
}

#[tokio::test]
async fn the_chain_goes_on_behind_a_torn_line_and_shows_a_changed_one() {
    let place = Place::new();
    let (id, whole) = recorded(&place).await;
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let bare: Vec<u8> = lines[..2].iter().flat_map(|line| bare(line)).collect();
    let mut flipped = whole.clone();
    flipped[lines[0].len() + 3] ^= 1;
    let table = [
        ("whole", whole.clone(), Ok(0)),
        ("torn", whole[..whole.len() - 7].to_vec(), Ok(0)),
        ("without a chain", bare, Ok(2)),
        ("a flipped byte", flipped, Err(ChainFault::Broken { line: 2 })),
    ];
    for (what, bytes, expected) in table {
        let chain = goes_on(&place, &id, &bytes).await;
        assert_eq!(chain.map(|chain| chain.unchained), expected, "{what}");
    }
}

/// As an older Haft wrote it.
fn bare(line: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(line.to_vec()).unwrap();
    (text[..text.rfind(",\"chain\"").unwrap()].to_owned() + "}\n").into_bytes()
}

#[tokio::test]
async fn a_fork_begins_a_chain_that_names_the_value_it_branched_off() {
    let place = Place::new();
    let (id, whole) = recorded(&place).await;
    let home = Home(place.home());
    let forked = home.fork(&id, None).unwrap();
    let journal = fs::read(home.folder(&forked).join("journal.jsonl")).unwrap();
    assert!(chain::check(&journal, Cuts::Refused).is_ok_and(|chain| chain.unchained == 0));
    let entries = home.peek(&forked.0).unwrap();
    let from = SessionOpened::of(&entries).unwrap().forked_from.clone().unwrap();
    assert_eq!(from.chain, Some(chain::end(&whole).to_string()));
    let chain = goes_on(&place, &forked.0, &journal).await;
    assert!(chain.is_ok(), "{chain:?}");
}

#[tokio::test]
async fn a_session_records_the_commit_it_begins_at() {
    let place = Place::new();
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let (packed, loose) = (format!("# pack-refs\n{commit} refs/heads/main\n"), format!("{commit}\n"));
    let main = ("HEAD", "ref: refs/heads/main\n");
    let table = [
        (vec![main], None),
        (vec![main, ("packed-refs", &packed)], Some(commit)),
        (vec![main, ("refs/heads/main", &loose)], Some(commit)),
        (vec![("HEAD", &loose)], Some(commit)),
        (vec![("HEAD", "ref: ../secret\n")], None),
        (vec![("HEAD", "0123\n")], None),
    ];
    place.write("secret", commit);
    fs::create_dir_all(place.work().join(".git/refs/heads")).unwrap();
    for (files, expected) in table {
        for (name, text) in &files {
            place.write(&format!(".git/{name}"), text);
        }
        let session = place.session("");
        let opened = session.entries()[0].opened().unwrap().commit.clone();
        assert_eq!(opened.as_deref(), expected, "{files:?}");
    }
}
