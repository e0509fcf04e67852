//! A gate for what replies claim: asked once, then told as unproven.
use crate::kit::{Place, calls, prompt, says, scripted, tell};
use haft_core::Fact;
use haft_engine::Engine;
use serde_json::json;

// E-5, X-04, X-32
#[tokio::test]
async fn a_claim_that_nothing_shows_is_asked_about_once() {
    let wrong = says("I created `a.txt`, and all tests pass.");
    let write = calls(&[("write", json!({"path": "a.txt", "content": "x"}))]);
    let test = calls(&[("bash", json!({"command": "true test"}))]);
    let wrote = "replied\ntool_started write-0\nstaged write-0\ntool_ended write-0=ok";
    let tested = "replied\ntool_started bash-0\ntool_ended bash-0=ok";
    let table = [
        (
            "shown",
            true,
            write.clone() + &says("I created `a.txt`."),
            format!("{wrote}\nreplied\nturn_ended=finished"),
        ),
        ("off", false, wrong.clone(), "replied\nturn_ended=finished".into()),
        (
            "taken back",
            true,
            wrong.clone() + &says("I did nothing."),
            "replied\nreminded\nreplied\nturn_ended=finished".into(),
        ),
        (
            "made up for",
            true,
            wrong.clone()
                + &write
                + &test.replace("true test", "test -e a.txt")
                + &says("I created `a.txt`, and all tests pass."),
            format!("replied\nreminded\n{wrote}\n{tested}\nreplied\nturn_ended=finished"),
        ),
        (
            "said again",
            true,
            wrong.clone() + &wrong,
            "replied\nreminded\nreplied\nturn_ended=unproven".into(),
        ),
    ];
    for (what, evidence, script, expected) in table {
        let place = Place::new();
        let model = scripted(&script);
        let mut setup = place.setup(model.clone());
        setup.profile.limits.evidence = evidence;
        let session = Engine::new(setup).create("haft").unwrap();
        let told = tell(&session, prompt("go"), 1, None).await;
        assert_eq!(told, format!("prompted\n{expected}"), "{what}");
        let reminded = session.entries().iter().find_map(|entry| match &entry.fact {
            Fact::Reminded { claims, text } => Some((claims.len(), text.clone())),
            _ => None,
        });
        let Some((claims, text)) = reminded else { continue };
        assert!(claims == 2 && text.contains("no call changed `a.txt`"), "{what}: {text}");
        let haft_core::Message::User { parts } = &*model.requests()[1].messages[2] else { panic!("{what}") };
        assert_eq!(haft_core::text_of(parts), text, "{what}");
    }
}
