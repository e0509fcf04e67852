//! Sessions that are begun at the same time are sessions of their own.
mod kit;
use kit::Place;
use serde_json::{Value, json};
use std::{collections::BTreeSet, process::Stdio};

const AT_ONCE: usize = 16;

#[test]
fn runs_that_begin_together_share_no_session() {
    let place = Place::new();
    let model = place.script("m", &[json!({"say": "hello"})]);
    let runs = (0..AT_ONCE).map(|number| {
        let prompt = format!("prompt {number}");
        let mut command = place.haft(&["run", "-q", "--model", &model, &prompt]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    });
    for run in runs.collect::<Vec<_>>() {
        let output = run.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let listed = place.run(&["sessions", "list", "--json"]);
    let sessions: Vec<Value> = listed.events();
    let text = |field: &str| -> BTreeSet<String> {
        sessions.iter().map(|session| session[field].as_str().unwrap().to_owned()).collect()
    };
    let prompts: BTreeSet<String> = (0..AT_ONCE).map(|number| format!("prompt {number}")).collect();
    assert_eq!((text("session").len(), text("title")), (AT_ONCE, prompts));
    assert!(sessions.iter().all(|session| session["entries"] == 4), "{listed:?}");
    // Any beginning that one name alone has is enough.
    let name = text("session").pop_first().unwrap();
    let next = text("session").into_iter().nth(1).unwrap();
    let alike = name.bytes().zip(next.bytes()).take_while(|(one, other)| one == other).count();
    assert_eq!(place.run(&["sessions", "show", &name[..=alike]]).code, 0);
    let refused = place.run(&["sessions", "show", &name[..alike]]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("is the beginning of several sessions: "), "{refused:?}");
    assert!(refused.err.contains(&name), "{refused:?}");
}
