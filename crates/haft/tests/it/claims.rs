//! Replies of a turn that changed a file and ran no test, with evidence wanted: `claims/success.txt` has those that say that
//! all is well, `claims/harmless.txt` those that do not.
use haft::{prelude::*, providers::Scripted};
use serde_json::json;

/// Writes a file.
#[tool(writes = "path")]
fn put(path: String, context: &ToolContext) -> Result<&'static str, std::io::Error> {
    std::fs::write(context.path(path), "x").map(|()| "written")
}

/// How a turn ends whose model writes a file and says this, also when it is asked once more.
async fn outcome(reply: &str) -> Option<Outcome> {
    let folder = tempfile::tempdir().unwrap();
    let model = Scripted::new([]).calls([("put", json!({"path": "new.txt"}))]).says(reply).says(reply);
    let limits = Limits { evidence: true, ..Limits::default() };
    let builder = Haft::builder().provider(model).tool(put).limits(limits).mode(Mode::AcceptEdits);
    let agent = builder.workspace(folder.path()).in_memory().build().await.unwrap();
    let report = agent.session().unwrap().prompt("go").await.unwrap();
    agent.close().await;
    assert!(folder.path().join("new.txt").exists(), "{reply}");
    report.outcome
}

/// The phrases of a file that end a turn otherwise, and how many there are.
async fn otherwise(file: &str, expected: Outcome) -> (Vec<&str>, usize) {
    let phrases: Vec<&str> =
        file.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")).collect();
    let mut otherwise = Vec::new();
    for phrase in &phrases {
        if outcome(phrase).await != Some(expected) {
            otherwise.push(*phrase);
        }
    }
    (otherwise, phrases.len())
}

// E-5
#[tokio::test]
async fn success_is_a_claim_in_whatever_words() {
    let (missed, all) = otherwise(include_str!("claims/success.txt"), Outcome::Unproven).await;
    assert!(missed.is_empty() && all >= 200, "{missed:?} of {all}");
}

// E-5
#[tokio::test]
async fn harmless_replies_raise_no_alarm() {
    let (alarms, all) = otherwise(include_str!("claims/harmless.txt"), Outcome::Finished).await;
    assert!(alarms.is_empty() && alarms.len() * 50 < all, "{alarms:?} of {all}");
}
